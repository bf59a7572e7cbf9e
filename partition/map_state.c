/* SPDX-License-Identifier: Apache-2.0 */
/* Bookkeeping of a chunk map under change; see the header for the formulas. */
#include "partition/map_state.h"

#include <math.h>

gnt_status gnti_chunk_readers_make(const gnti_chunk_facts *f, gnti_chunk_readers *out)
{
    gnt_status st = GNT_OK;
    const int32_t num_chunks = f->num_chunks;
    gnti_chunk_readers r = { .offsets = NULL };
    int64_t *next = NULL;

    GNT_TRY(gnti_calloc_array(&r.offsets, (int64_t)num_chunks + 1));
    GNT_TRY(gnti_alloc_array(&r.neighbour, f->offsets[num_chunks]));
    GNT_TRY(gnti_alloc_array(&r.halo_rows, f->offsets[num_chunks]));
    GNT_TRY(gnti_alloc_array(&next, num_chunks));
    for (int64_t e = 0; e < f->offsets[num_chunks]; e++)
        r.offsets[f->neighbour[e] + 1]++;
    for (int32_t p = 0; p < num_chunks; p++) {
        next[p] = r.offsets[p];
        r.offsets[p + 1] += r.offsets[p];
    }
    for (int32_t p = 0; p < num_chunks; p++) {
        for (int64_t e = f->offsets[p]; e < f->offsets[p + 1]; e++) {
            const int64_t at = next[f->neighbour[e]]++;

            r.neighbour[at] = p;
            r.halo_rows[at] = f->halo_rows[e];
        }
    }
    *out = r;
    r = (gnti_chunk_readers){ .offsets = NULL };
done:
    gnti_free(next);
    gnti_chunk_readers_clear(&r);
    return st;
}

void gnti_chunk_readers_clear(gnti_chunk_readers *r)
{
    gnti_free(r->offsets);
    gnti_free(r->neighbour);
    gnti_free(r->halo_rows);
    *r = (gnti_chunk_readers){ .offsets = NULL };
}

gnt_status gnti_map_state_make(const gnti_chunk_facts *f, const gnti_map_config *c, int32_t *owner,
                               gnti_map_state *out)
{
    gnt_status st = GNT_OK;
    gnti_map_state s = { .f = f, .c = c, .owner = owner };

    GNT_TRY(gnti_chunk_readers_make(f, &s.readers));
    GNT_TRY(gnti_calloc_array(&s.load, c->num_devices));
    GNT_TRY(gnti_calloc_array(&s.bytes, c->num_devices));
    GNT_TRY(gnti_calloc_array(&s.count, c->num_devices));
    for (int32_t p = 0; p < f->num_chunks; p++) {
        for (int64_t e = f->offsets[p]; e < f->offsets[p + 1]; e++)
            if (owner[p] < 0 || owner[f->neighbour[e]] != owner[p])
                s.halo += f->halo_rows[e];
        if (owner[p] < 0)
            continue;
        s.load[owner[p]] += f->cost[p];
        s.bytes[owner[p]] += f->bytes[p];
        s.count[owner[p]]++;
    }
    *out = s;
    s = (gnti_map_state){ .f = NULL };
done:
    gnti_map_state_clear(&s);
    return st;
}

void gnti_map_state_clear(gnti_map_state *s)
{
    gnti_chunk_readers_clear(&s->readers);
    gnti_free(s->load);
    gnti_free(s->bytes);
    gnti_free(s->count);
    s->load = NULL;
    s->bytes = NULL;
    s->count = NULL;
}

double gnti_map_affinity(const gnti_map_state *s, int32_t p, int32_t device)
{
    const gnti_chunk_facts *f = s->f;
    double rows = 0.0;

    if (device < 0)
        return 0.0;
    for (int64_t e = f->offsets[p]; e < f->offsets[p + 1]; e++)
        if (f->neighbour[e] != p && s->owner[f->neighbour[e]] == device)
            rows += f->halo_rows[e];
    for (int64_t e = s->readers.offsets[p]; e < s->readers.offsets[p + 1]; e++)
        if (s->readers.neighbour[e] != p && s->owner[s->readers.neighbour[e]] == device)
            rows += s->readers.halo_rows[e];
    return rows;
}

double gnti_chunk_affinity(const gnti_map_state *s, int32_t p, int32_t other)
{
    const gnti_chunk_facts *f = s->f;
    double rows = 0.0;

    for (int64_t e = f->offsets[p]; e < f->offsets[p + 1]; e++)
        if (f->neighbour[e] == other)
            rows += f->halo_rows[e];
    for (int64_t e = f->offsets[other]; e < f->offsets[other + 1]; e++)
        if (f->neighbour[e] == p)
            rows += f->halo_rows[e];
    return rows;
}

void gnti_map_state_put(gnti_map_state *s, int32_t p, int32_t device)
{
    const int32_t from = s->owner[p];

    if (from == device)
        return;
    s->halo += gnti_map_affinity(s, p, from) - gnti_map_affinity(s, p, device);
    if (from >= 0) {
        s->load[from] -= s->f->cost[p];
        s->bytes[from] -= s->f->bytes[p];
        s->count[from]--;
    }
    if (device >= 0) {
        s->load[device] += s->f->cost[p];
        s->bytes[device] += s->f->bytes[p];
        s->count[device]++;
    }
    s->owner[p] = device;
}

gnt_status gnti_chunk_map_check(const gnti_chunk_facts *f, const gnti_map_config *c)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(f != NULL && c != NULL && c->devices != NULL, GNT_ERR_ARG,
              "facts, configuration and devices must not be NULL");
    GNT_CHECK(c->num_devices >= 1, GNT_ERR_ARG, "%d devices", c->num_devices);
    GNT_CHECK(c->num_devices <= f->num_chunks, GNT_ERR_USAGE,
              "%d devices but only %d chunks: partition with --chunks %d or more, or use fewer devices",
              c->num_devices, f->num_chunks, c->num_devices);
    GNT_CHECK(c->halo_seconds >= 0.0 && isfinite(c->halo_seconds) && c->tolerance >= 0.0, GNT_ERR_ARG,
              "%g seconds a halo row, tolerance %g: neither may be negative", c->halo_seconds, c->tolerance);
    for (int32_t d = 0; d < c->num_devices; d++)
        GNT_CHECK(c->devices[d].speed > 0.0 && isfinite(c->devices[d].speed), GNT_ERR_ARG,
                  "device %d has the speed %g, it must be above 0", d, c->devices[d].speed);
    for (int32_t p = 0; p < f->num_chunks; p++)
        GNT_CHECK(f->cost[p] >= 0.0 && isfinite(f->cost[p]) && f->bytes[p] >= 0.0 && isfinite(f->bytes[p]),
                  GNT_ERR_ARG, "chunk %d has cost %g and %g bytes", p, f->cost[p], f->bytes[p]);
done:
    return st;
}
