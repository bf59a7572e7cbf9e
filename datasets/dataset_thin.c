/* SPDX-License-Identifier: Apache-2.0 */
/* A dataset with less in it: some arcs gone, some columns of the features 0. Nodes, labels and splits stay.
 *
 * The copy is compacted in place: kept entry k of a row moves to the front, arrays by arc move with their arcs. A chunk order is lost,
 * since the graph is no longer the one that was cut; /nodes/origin stays, by which random numbers are keyed.
 */
#include "datasets/chunk_order.h"
#include "datasets/dataset.h"
#include "datasets/h5_value.h"

#include <string.h>

/* Entries of a CSR with keep[entry] != 0. */
static void compact(gnti_graph *g, const uint8_t *keep)
{
    int64_t to = 0, begin = 0;

    for (int64_t r = 0; r < g->num_rows; r++) {
        const int64_t end = g->offsets[r + 1];

        for (int64_t a = begin; a < end; a++) {
            if (keep[a] == 0)
                continue;
            g->columns[to] = g->columns[a];
            if (g->weights != NULL)
                g->weights[to] = g->weights[a];
            to++;
        }
        begin = end;
        g->offsets[r + 1] = to;
    }
    g->num_arcs = to;
}

static void compact_array(gnti_array *a, const uint8_t *keep)
{
    const size_t bytes = (size_t)a->width * gnti_file_dtype_bytes(a->dtype);
    int64_t to = 0;

    for (int64_t i = 0; i < a->rows; i++) {
        char *from = (char *)a->data + (size_t)i * bytes;

        if (keep[i] != 0)
            memmove((char *)a->data + (size_t)to++ * bytes, from, bytes);
        else
            for (int64_t c = 0; a->dtype == GNTI_FILE_TEXT && c < a->width; c++)
                gnti_free(((char **)(void *)from)[c]);
    }
    a->rows = to;
}

static void drop_arcs(gnt_dataset *d, const uint8_t *keep)
{
    for (int64_t i = 0; i < d->num_arrays; i++)
        if (d->arrays[i].axis == GNTI_AXIS_ARC)
            compact_array(&d->arrays[i], keep);
    compact(d->graph, keep);
}

static gnt_status drop_columns(gnti_features *x, const uint8_t *keep)
{
    gnt_status st = GNT_OK;
    uint8_t *entry = NULL;

    for (int64_t i = 0; x->dense != NULL && i < x->rows; i++)
        for (int64_t c = 0; c < x->width; c++)
            x->dense[i * x->width + c] = keep[c] != 0 ? x->dense[i * x->width + c] : 0.0f;
    if (x->sparse != NULL) {
        GNT_TRY(gnti_alloc_array(&entry, x->sparse->num_arcs));
        for (int64_t a = 0; a < x->sparse->num_arcs; a++)
            entry[a] = keep[x->sparse->columns[a]];
        compact(x->sparse, entry);
    }
done:
    gnti_free(entry);
    return st;
}

gnt_status gnti_dataset_thin(const gnt_dataset *data, const uint8_t *keep_arc, const uint8_t *keep_column,
                             gnt_dataset **out)
{
    gnt_status st = GNT_OK;
    gnt_dataset *d = NULL;

    GNT_CHECK(data->header == NULL, GNT_ERR_STATE, "of dataset '%s' the header alone is in memory",
              data->path == NULL ? "" : data->path);
    GNT_TRY(gnti_dataset_copy(data, &d));
    gnti_chunk_order_clear(&d->chunks);
    if (keep_arc != NULL)
        drop_arcs(d, keep_arc);
    if (keep_column != NULL)
        GNT_TRY(drop_columns(&d->x, keep_column));
    GNT_TRY(gnti_dataset_hash(d));
    *out = d;
    d = NULL;
done:
    gnt_dataset_free(&d);
    return st;
}
