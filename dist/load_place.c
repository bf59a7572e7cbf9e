/* SPDX-License-Identifier: Apache-2.0 */
/* Where the rows of a file lie. In a file stored in chunk order row i has the position i and nothing needs to be kept; in any
 * other the position of every row is, 4 bytes a node. Positions follow the rows of the imported dataset, which a file in
 * another order names in /nodes/origin.
 */
#include "dist/load.h"

#include "base/alloc.h"

#include <string.h>

enum { WINDOW_ROWS = 1 << 16, GAP_BYTES = 64 << 10 };

static bool in_chunk_order(const gnti_load *l)
{
    const gnti_chunk_order *o = &l->head->chunks;

    return o->num_chunks > 0 && o->num_chunks == l->config->partition->num_chunks &&
           strcmp(o->partition_sha256, l->config->partition->sha256) == 0;
}

static gnt_status place_chunks(gnti_load *l)
{
    gnt_status st = GNT_OK;
    const gnti_chunk_order *o = &l->head->chunks;
    int64_t *nodes = NULL;

    GNT_TRY(gnti_alloc_array(&nodes, o->num_chunks));
    for (int32_t c = 0; c < o->num_chunks; c++)
        nodes[c] = o->first[c + 1] - o->first[c];
    GNT_TRY(
        gnti_part_layout_create(nodes, l->config->owner, o->num_chunks, l->config->num_ranks, &l->layout));
done:
    gnti_free(nodes);
    return st;
}

/* position[v] of row v of the imported dataset. */
static gnt_status place_imported(gnti_load *l, int32_t **out)
{
    gnt_status st = GNT_OK;
    const gnti_partition *p = l->config->partition;
    int64_t *next = NULL;
    int32_t *position = NULL;

    GNT_TRY(gnti_calloc_array(&next, p->num_chunks));
    for (int64_t v = 0; v < p->num_nodes; v++)
        next[p->chunk_of[v]]++;
    GNT_TRY(gnti_part_layout_create(next, l->config->owner, p->num_chunks, l->config->num_ranks, &l->layout));
    memcpy(next, l->layout->first, (size_t)p->num_chunks * sizeof *next);
    GNT_TRY(gnti_alloc_array(&position, p->num_nodes));
    for (int64_t v = 0; v < p->num_nodes; v++)
        position[v] = (int32_t)next[p->chunk_of[v]]++;
    *out = position;
done:
    gnti_free(next);
    return st;
}

/* position[row] = of_imported[origin[row]]; is_permutation false: /nodes/origin names rows of a larger dataset. */
static gnt_status place_origin(const gnti_load *l, const int32_t *of_imported, int32_t *position,
                               bool *is_permutation)
{
    gnt_status st = GNT_OK;
    const int64_t n = l->head->num_nodes;
    int64_t *origin = NULL;
    uint8_t *seen = NULL;

    *is_permutation = false;
    GNT_TRY(gnti_h5_expect(l->file, "/nodes/origin", n, 1, NULL));
    GNT_TRY(gnti_alloc_array(&origin, WINDOW_ROWS));
    GNT_TRY(gnti_calloc_array(&seen, n / 8 + 1));
    for (int64_t first = 0; first < n; first += WINDOW_ROWS) {
        const int64_t count = gnti_min_i64(WINDOW_ROWS, n - first);

        GNT_TRY(gnti_h5_read_rows(l->file, "/nodes/origin", GNTI_FILE_I64, first, count, origin));
        for (int64_t i = 0; i < count; i++) {
            const int64_t v = origin[i];

            if (v < 0 || v >= n || (seen[v >> 3] >> (v & 7) & 1) != 0)
                goto done;
            seen[v >> 3] = (uint8_t)(seen[v >> 3] | 1u << (v & 7));
            position[first + i] = of_imported[v];
        }
    }
    *is_permutation = true;
done:
    gnti_free(origin);
    gnti_free(seen);
    return st;
}

static gnt_status place_rows(gnti_load *l)
{
    gnt_status st = GNT_OK;
    int32_t *of_imported = NULL;
    bool moved = false;

    GNT_TRY(place_imported(l, &of_imported));
    if (gnti_h5_kind_of(l->file, "/nodes/origin") == GNTI_H5_DATASET) {
        GNT_TRY(gnti_alloc_array(&l->position, l->head->num_nodes));
        GNT_TRY(place_origin(l, of_imported, l->position, &moved));
    }
    if (!moved) {
        gnti_free(l->position);
        l->position = of_imported;
        of_imported = NULL;
    }
done:
    gnti_free(of_imported);
    return st;
}

gnt_status gnti_load_own_start(const gnti_part_layout *layout, int32_t rank, int64_t **own_start)
{
    gnt_status st = GNT_OK;
    int64_t own = 0;

    GNT_TRY(gnti_alloc_array(own_start, layout->num_chunks));
    for (int32_t c = 0; c < layout->num_chunks; c++) {
        (*own_start)[c] = layout->owner[c] == rank ? own : -1;
        own += layout->owner[c] == rank ? layout->first[c + 1] - layout->first[c] : 0;
    }
done:
    return st;
}

int64_t gnti_load_own_row(const gnti_part_layout *layout, const int64_t *own_start, int64_t position)
{
    const int32_t c = gnti_part_layout_chunk(layout, position);

    return own_start[c] < 0 ? -1 : own_start[c] + position - layout->first[c];
}

gnt_status gnti_load_place(gnti_load *l)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(l->config->num_ranks == l->comm->size, GNT_ERR_ARG, "chunks for %d ranks in a job of %d",
              (int)l->config->num_ranks, (int)l->comm->size);
    GNT_CHECK(l->config->partition->num_nodes == l->head->num_nodes, GNT_ERR_FORMAT,
              "the partition is of %lld nodes but dataset '%s' has %lld: cut this dataset",
              (long long)l->config->partition->num_nodes, l->head->path, (long long)l->head->num_nodes);
    if (in_chunk_order(l))
        GNT_TRY(place_chunks(l));
    else
        GNT_TRY(place_rows(l));
    GNT_TRY(gnti_load_own_start(l->layout, l->comm->rank, &l->own_start));
    l->num_own = gnti_part_layout_num_own(l->layout, l->comm->rank);
done:
    return st;
}

void gnti_load_clear(gnti_load *l)
{
    gnti_h5_close(&l->file);
    gnti_part_layout_free(&l->layout);
    gnti_free(l->position);
    gnti_free(l->own_start);
    gnti_free(l->ids);
    memset(l, 0, sizeof *l);
}

bool gnti_load_next_run(gnti_load_runs *runs, int64_t *row, int64_t *count, int64_t *own)
{
    const gnti_load *l = runs->load;

    while (l->position == NULL && runs->next < l->layout->num_chunks) {
        const int64_t c = runs->next++;

        *row = l->layout->first[c];
        *count = l->layout->first[c + 1] - *row;
        *own = l->own_start[c];
        if (*own >= 0 && *count > 0)
            return true;
    }
    while (l->position != NULL && runs->next < l->head->num_nodes) {
        *row = runs->next++;
        *count = 1;
        *own = gnti_load_own_row(l->layout, l->own_start, l->position[*row]);
        if (*own >= 0)
            return true;
    }
    return false;
}

bool gnti_load_next_range(void *user, gnti_h5_range *out)
{
    return gnti_load_next_run(user, &out->first, &out->count, &out->to);
}

int64_t gnti_load_gap(const gnti_load *l)
{
    return l->position != NULL ? GAP_BYTES : 0;
}
