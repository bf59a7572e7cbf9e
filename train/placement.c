/* SPDX-License-Identifier: Apache-2.0 */
/* See placement.h. The corrections end when no speed changes by more than half a percent; the map with the shortest forecast
 * of a step stays.
 */
#include "train/placement.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

#define SETTLED      0.002
#define CORRECTIONS  4
#define TINY_SECONDS 1e-15 /* a halo row costs something, so that halo decides between equals */
#define CUT_MORE     1.1   /* of what is over a memory limit */
enum { MEMORY_TRIES = 12 };

typedef struct work {
    gnti_placing *p;
    gnti_forecast_slopes slopes;
    gnti_map_config config;
    gnti_map_device *devices;
    gnti_load *loads;
    int32_t *trial;
} work;

static void clear(work *w)
{
    gnti_free(w->devices);
    gnti_free(w->loads);
    gnti_free(w->trial);
}

/* ---- loads --------------------------------------------------------------------------------------------------------- */

static int32_t count_peers(const gnti_chunk_facts *f, const int32_t *owner, int32_t num, int32_t device,
                           uint8_t *seen)
{
    int32_t peers = 0;

    memset(seen, 0, (size_t)num);
    for (int32_t k = 0; k < f->num_chunks; k++)
        for (int64_t e = f->offsets[k]; owner[k] == device && e < f->offsets[k + 1]; e++)
            seen[owner[f->neighbour[e]]] = 1;
    for (int32_t d = 0; d < num; d++)
        peers += d != device && seen[d];
    return peers;
}

gnt_status gnti_placing_loads(const gnti_placing *p, const int32_t *owner, bool exact, gnti_load *loads)
{
    gnt_status st = GNT_OK;
    const gnti_chunk_facts *f = p->facts;
    int64_t *halo = NULL;
    uint8_t *seen = NULL;
    double most = 0.0, most_rows = 0.0;

    GNT_TRY(gnti_alloc_array(&halo, p->num_devices));
    GNT_TRY(gnti_alloc_array(&seen, p->num_devices));
    for (int32_t d = 0; d < p->num_devices; d++)
        loads[d] = (gnti_load){ .num_ranks = p->num_devices };
    for (int32_t k = 0; k < f->num_chunks; k++) {
        gnti_load *l = &loads[owner[k]];

        l->rows += (double)f->rows[k];
        l->arcs_in += (double)f->arcs[k];
        l->arcs_out += (double)f->arcs_out[k];
        for (int64_t e = f->offsets[k]; e < f->offsets[k + 1]; e++)
            l->halo_rows += owner[f->neighbour[e]] != owner[k] ? f->halo_rows[e] : 0.0;
    }
    if (exact)
        GNT_TRY(gnti_chunk_owner_halo(p->data, p->partition, owner, p->num_devices, halo));
    for (int32_t d = 0; d < p->num_devices; d++) {
        gnti_load *l = &loads[d];

        l->halo_rows *= p->halo_share > 0.0 ? p->halo_share : 1.0;
        l->halo_rows = exact ? (double)halo[d] : fmin(l->halo_rows, (double)p->data->num_nodes - l->rows);
        l->num_peers = count_peers(f, owner, p->num_devices, d, seen);
        most = fmax(most, l->halo_rows);
        most_rows = fmax(most_rows, l->rows);
    }
    for (int32_t d = 0; d < p->num_devices; d++) {
        loads[d].most_halo = most;
        loads[d].most_rows = most_rows;
    }
done:
    gnti_free(halo);
    gnti_free(seen);
    return st;
}

/* Seconds of a step. */
static double step_of(const work *w)
{
    const gnti_placing *p = w->p;

    return gnti_forecast_step(p->forecast, w->loads, p->rates, p->num_devices, &p->link, p->apart);
}

/* ---- weights and speeds -------------------------------------------------------------------------------------------- */

/* Even ranges: halo rows counted once over those summed by chunks; the load of a device in mean. */
static gnt_status look_at_ranges(work *w, gnti_load *even)
{
    gnt_status st = GNT_OK;
    gnti_placing *p = w->p;
    double summed = 0.0, once = 0.0;

    for (int32_t k = 0; k < p->facts->num_chunks; k++)
        w->trial[k] = (int32_t)((int64_t)k * p->num_devices / p->facts->num_chunks);
    GNT_TRY(gnti_placing_loads(p, w->trial, false, w->loads));
    for (int32_t d = 0; d < p->num_devices; d++)
        summed += w->loads[d].halo_rows;
    GNT_TRY(gnti_placing_loads(p, w->trial, true, w->loads));
    for (int32_t d = 0; d < p->num_devices; d++)
        once += w->loads[d].halo_rows;
    p->halo_share = summed > 0.0 ? once / summed : 1.0;
    *even = gnti_forecast_whole(p->forecast, p->num_devices);
    even->rows /= p->num_devices;
    even->arcs_in /= p->num_devices;
    even->arcs_out /= p->num_devices;
    even->halo_rows = once / p->num_devices;
    even->num_peers = w->loads[0].num_peers;
done:
    return st;
}

static gnt_status prepare(work *w)
{
    gnt_status st = GNT_OK;
    gnti_placing *p = w->p;
    gnti_load even;

    GNT_TRY(gnti_alloc_array(&w->devices, p->num_devices));
    GNT_TRY(gnti_alloc_array(&w->loads, p->num_devices));
    GNT_TRY(gnti_alloc_array(&w->trial, p->facts->num_chunks));
    GNT_TRY(look_at_ranges(w, &even));
    GNT_TRY(gnti_forecast_get_slopes(p->forecast, &even, &p->rates[0], &p->link, p->apart, &w->slopes));
    gnti_chunk_facts_weigh(p->facts, &w->slopes.chunk);
    for (int32_t d = 0; d < p->num_devices; d++) {
        const double first = gnti_forecast_compute(p->forecast, &even, &p->rates[0]),
                     own = gnti_forecast_compute(p->forecast, &even, &p->rates[d]);

        w->devices[d] = (gnti_map_device){ p->speeds != NULL ? p->speeds[d]
                                           : first > 0.0     ? first / own
                                                             : 1.0,
                                           0.0 };
    }
    w->config = (gnti_map_config){ .devices = w->devices,
                                   .num_devices = p->num_devices,
                                   .halo_seconds = fmax(w->slopes.halo_seconds * p->halo_share, TINY_SECONDS),
                                   .tolerance = p->tolerance,
                                   .allow_idle = p->may_leave_out };
done:
    return st;
}

static gnt_status make_map(const work *w, int32_t *owner, gnti_moves *moved)
{
    const gnti_placing *p = w->p;

    return p->old_owner != NULL ? gnti_chunk_map_resize(p->facts, &w->config, p->old_owner, p->new_of_old,
                                                        p->num_old, owner, moved)
                                : gnti_chunk_map_first(p->facts, &w->config, owner);
}

/* Speeds by which the sum of a device's weights is the forecast of its load; answers the largest change. */
static double correct_speeds(work *w, const int32_t *owner)
{
    const gnti_placing *p = w->p;
    double largest = 0.0;

    for (int32_t d = 0; d < p->num_devices; d++) {
        const double real = gnti_forecast_compute(p->forecast, &w->loads[d], &p->rates[d]);
        double weight = 0.0, speed;

        for (int32_t k = 0; k < p->facts->num_chunks; k++)
            weight += owner[k] == d ? p->facts->cost[k] : 0.0;
        if (weight <= 0.0 || real <= 0.0)
            continue;
        speed = weight / real;
        largest = fmax(largest, fabs(speed / w->devices[d].speed - 1.0));
        w->devices[d].speed = speed;
    }
    return largest;
}

/* Maps until speeds settle; the best one in owner. */
static gnt_status settle(work *w, int32_t *owner, gnti_moves *moved)
{
    gnt_status st = GNT_OK;
    const gnti_placing *p = w->p;
    double best, change;

    GNT_TRY(make_map(w, owner, moved));
    GNT_TRY(gnti_placing_loads(p, owner, false, w->loads));
    if (p->speeds != NULL || p->old_owner != NULL)
        return GNT_OK;
    best = step_of(w);
    memcpy(w->trial, owner, (size_t)p->facts->num_chunks * sizeof *owner);
    for (int i = 0; i < CORRECTIONS; i++) {
        change = correct_speeds(w, w->trial);
        if (change < SETTLED)
            break;
        GNT_TRY(make_map(w, w->trial, NULL));
        GNT_TRY(gnti_placing_loads(p, w->trial, false, w->loads));
        if (step_of(w) < best) {
            best = step_of(w);
            memcpy(owner, w->trial, (size_t)p->facts->num_chunks * sizeof *owner);
        }
    }
    GNT_TRY(gnti_placing_loads(p, owner, false, w->loads));
done:
    return st;
}

/* All chunks to one device when that is faster than the map in owner. */
static gnt_status try_alone(work *w, int32_t *owner)
{
    gnt_status st = GNT_OK;
    const gnti_placing *p = w->p;
    const gnti_load whole = gnti_forecast_whole(p->forecast, p->num_devices);
    const double together = step_of(w);
    int32_t fastest = 0;

    if (p->speeds != NULL || p->old_owner != NULL || !p->may_leave_out)
        return GNT_OK;
    for (int32_t d = 1; d < p->num_devices; d++)
        if (gnti_forecast_compute(p->forecast, &whole, &p->rates[d]) <
            gnti_forecast_compute(p->forecast, &whole, &p->rates[fastest]))
            fastest = d;
    for (int32_t k = 0; k < p->facts->num_chunks; k++)
        w->trial[k] = fastest;
    GNT_TRY(gnti_placing_loads(p, w->trial, false, w->loads));
    if (step_of(w) < together)
        memcpy(owner, w->trial, (size_t)p->facts->num_chunks * sizeof *owner);
done:
    return st;
}

/* ---- memory -------------------------------------------------------------------------------------------------------- */

static bool has_limits(const gnti_placing *p)
{
    for (int32_t d = 0; d < p->num_devices; d++)
        if (p->specs[d].memory > 0)
            return true;
    return false;
}

static gnt_status refuse(const gnti_placing *p, int32_t device, int64_t needed, const char *for_what)
{
    return gnti_error_set(
        GNT_ERR_DEVICE_NOMEM, __FILE__, __LINE__, __func__,
        "device %d of %d needs %lld bytes for %s but has a limit of %zu bytes: raise its mem, "
        "add more devices, or take narrower layers",
        (int)device, (int)p->num_devices, (long long)needed, for_what, p->specs[device].memory);
}

/* The device that is most over its limit with what it would own, -1: all fit. Others' limits are cut by what is too much. */
static gnt_status check_fit(work *w, const int32_t *owner, int32_t *worst, int64_t *needed)
{
    gnt_status st = GNT_OK;
    const gnti_placing *p = w->p;
    double most = 0.0;

    *worst = -1;
    GNT_TRY(gnti_placing_loads(p, owner, true, w->loads));
    for (int32_t d = 0; d < p->num_devices; d++) {
        gnti_forecast_bytes bytes;
        double over;

        if (p->specs[d].memory == 0)
            continue;
        GNT_TRY(gnti_forecast_memory(p->forecast, &w->loads[d], &bytes));
        over = (double)bytes.device - (double)p->specs[d].memory;
        if (over <= 0.0)
            continue;
        w->devices[d].memory = fmax(w->devices[d].memory - CUT_MORE * over, 1.0);
        if (over > most) {
            most = over;
            *worst = d;
            *needed = bytes.device;
        }
    }
done:
    return st;
}

/* No map keeps the limits: tells of the device that an unlimited one would ask too much of. */
static gnt_status tell_needed(work *w, int32_t *owner)
{
    gnt_status st = GNT_OK;
    int32_t worst = -1;
    int64_t needed = 0;

    for (int32_t d = 0; d < w->p->num_devices; d++)
        w->devices[d].memory = 0.0;
    GNT_TRY(make_map(w, owner, NULL));
    GNT_TRY(check_fit(w, owner, &worst, &needed));
    GNT_CHECK(worst >= 0, GNT_ERR_LIMIT,
              "no whole chunks keep the memory limits of %d devices: partition with more --chunks",
              (int)w->p->num_devices);
    return refuse(w->p, worst, needed, "its share of the graph");
done:
    return st;
}

static gnt_status place_in_memory(work *w, int32_t *owner, gnti_moves *moved)
{
    gnt_status st = GNT_OK;
    const gnti_placing *p = w->p;
    int32_t worst = -1;
    int64_t needed = 0;

    for (int32_t d = 0; d < p->num_devices; d++) {
        const double limit = (double)p->specs[d].memory;

        if (limit > 0.0 && w->slopes.fixed_bytes > limit)
            return refuse(p, d, (int64_t)w->slopes.fixed_bytes, "the weights alone");
        w->devices[d].memory = limit > 0.0 ? fmax(limit - w->slopes.fixed_bytes, 1.0) : 0.0;
    }
    for (int i = 0; i < MEMORY_TRIES; i++) {
        st = settle(w, owner, moved);
        if (st == GNT_ERR_LIMIT) {
            gnt_clear_error();
            return tell_needed(w, owner);
        }
        GNT_TRY(st);
        GNT_TRY(check_fit(w, owner, &worst, &needed));
        if (worst < 0)
            return GNT_OK;
    }
    return refuse(p, worst, needed, "its share of the graph");
done:
    return st;
}

gnt_status gnti_place_chunks(gnti_placing *p, int32_t *owner, gnti_moves *moved)
{
    gnt_status st = GNT_OK;
    work w = { .p = p };

    GNT_TRY(prepare(&w));
    if (has_limits(p)) {
        GNT_TRY(place_in_memory(&w, owner, moved));
    } else {
        GNT_TRY(settle(&w, owner, moved));
        GNT_TRY(try_alone(&w, owner));
    }
done:
    clear(&w);
    return st;
}
