/* SPDX-License-Identifier: Apache-2.0 */
/* Ids, features and labels of own rows: ranges of the file that land in the order of the part. */
#include "dist/load.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

static gnt_status read_own(gnti_load *l, const char *path, gnti_dtype_file type, int64_t width, void *out)
{
    gnt_status st = GNT_OK;
    gnti_load_runs runs = { l, 0 };
    const gnti_h5_ranges ranges = { gnti_load_next_range, &runs, gnti_load_gap(l) };

    GNT_TRY(gnti_h5_expect(l->file, path, l->head->num_nodes, width, NULL));
    GNT_TRY(gnti_h5_read_ranges(l->file, path, type, width, &ranges, out));
done:
    return st;
}

/* ---- ids ------------------------------------------------------------------------------------------------------------ */

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 29;
}

/* In chunk order: origin ascends in a chunk, and all ranks' origins together are all rows (their sums of hashes agree). */
static gnt_status check_order(const gnti_load *l)
{
    gnt_status st = GNT_OK;
    gnti_load_runs runs = { l, 0 };
    int64_t row, count, own, sums[2];
    uint64_t difference = 0;

    while (gnti_load_next_run(&runs, &row, &count, &own))
        for (int64_t i = 0; i < count; i++) {
            const int64_t id = l->ids[own + i];

            GNT_CHECK(
                id >= 0 && id < l->head->num_nodes && (i == 0 || id > l->ids[own + i - 1]), GNT_ERR_FORMAT,
                "'/nodes/origin' of file '%s' has %lld in row %lld: rows of a chunk must ascend in 0 .. "
                "%lld",
                l->head->path, (long long)id, (long long)(row + i), (long long)l->head->num_nodes - 1);
            difference += mix((uint64_t)id + 1) - mix((uint64_t)(row + i) + 1);
        }
    sums[0] = (int64_t)(difference & UINT32_MAX);
    sums[1] = (int64_t)(difference >> 32);
    GNT_TRY(gnti_load_sum(l->comm, sums, 2));
    GNT_CHECK((uint64_t)sums[0] + ((uint64_t)sums[1] << 32) == 0, GNT_ERR_FORMAT,
              "'/nodes/origin' of file '%s' names some rows twice and others never", l->head->path);
done:
    return st;
}

/* The row of the imported dataset: /nodes/origin, or, found by place, the one with that position. */
static gnt_status ids_by_place(gnti_load *l)
{
    gnt_status st = GNT_OK;
    const gnti_partition *p = l->config->partition;
    int64_t *next = NULL;

    GNT_TRY(gnti_alloc_array(&next, p->num_chunks));
    memcpy(next, l->own_start, (size_t)p->num_chunks * sizeof *next);
    for (int64_t v = 0; v < p->num_nodes; v++)
        if (next[p->chunk_of[v]] >= 0)
            l->ids[next[p->chunk_of[v]]++] = v;
done:
    gnti_free(next);
    return st;
}

gnt_status gnti_load_ids(gnti_load *l)
{
    gnt_status st = GNT_OK;
    gnti_load_runs runs = { l, 0 };
    int64_t row, count, own;

    GNT_TRY(gnti_alloc_array(&l->ids, l->num_own));
    if (l->position != NULL) { /* positions follow the imported rows, whatever the order of the file */
        GNT_TRY(ids_by_place(l));
        return GNT_OK;
    }
    if (gnti_h5_kind_of(l->file, "/nodes/origin") == GNTI_H5_DATASET) {
        GNT_TRY(read_own(l, "/nodes/origin", GNTI_FILE_I64, 1, l->ids));
    } else { /* nothing had moved */
        while (gnti_load_next_run(&runs, &row, &count, &own))
            for (int64_t i = 0; i < count; i++)
                l->ids[own + i] = row + i;
    }
    GNT_TRY(check_order(l));
done:
    return st;
}

/* ---- features and labels ---------------------------------------------------------------------------------------------- */

static gnt_status read_sparse(gnti_load *l, gnti_features *x)
{
    gnt_status st = GNT_OK;
    gnti_graph *g = NULL;

    GNT_TRY(gnti_load_csr(l, "/nodes/x", l->head->header->num_entries, x->width, &g));
    GNT_TRY(gnti_load_sort_rows(g));
    for (int64_t r = 0; r < g->num_rows; r++)
        for (int64_t a = g->offsets[r] + 1; a < g->offsets[r + 1]; a++)
            GNT_CHECK(g->columns[a] > g->columns[a - 1], GNT_ERR_FORMAT,
                      "'/nodes/x' of file '%s' names a column twice in one row: add them up", l->head->path);
    x->sparse = g;
    g = NULL;
done:
    gnti_graph_free(&g);
    return st;
}

gnt_status gnti_load_features(gnti_load *l, gnti_features *x)
{
    gnt_status st = GNT_OK;

    x->rows = l->num_own;
    x->width = l->head->x.width;
    if (l->head->header->sparse_x) {
        GNT_TRY(read_sparse(l, x));
    } else if (gnti_h5_kind_of(l->file, "/nodes/x") == GNTI_H5_DATASET) {
        GNT_TRY(
            gnti_array_bytes((void **)(void *)&x->dense, x->rows, (size_t)x->width * sizeof(float), false));
        GNT_TRY(read_own(l, "/nodes/x", GNTI_FILE_F32, x->width, x->dense));
    }
done:
    return st;
}

static gnt_status check_labels(const gnti_load *l, const gnti_labels *y)
{
    gnt_status st = GNT_OK;

    for (int64_t i = 0; y->class_of != NULL && i < l->num_own; i++)
        GNT_CHECK(y->class_of[i] >= -1 && y->class_of[i] < y->num_classes, GNT_ERR_FORMAT,
                  "node %lld has the label %d, labels are 0 .. %lld, or -1 for unlabelled ('/nodes/y')",
                  (long long)l->ids[i], y->class_of[i], (long long)y->num_classes - 1);
    for (int64_t i = 0; y->kind == GNT_LABELS_MULTI && i < l->num_own * y->num_classes; i++)
        GNT_CHECK(y->rows[i] == 0.0f || y->rows[i] == 1.0f, GNT_ERR_FORMAT,
                  "node %lld has %g for label %lld, multi-label rows hold 0 and 1 ('/nodes/y')",
                  (long long)l->ids[i / y->num_classes], (double)y->rows[i], (long long)(i % y->num_classes));
done:
    return st;
}

gnt_status gnti_load_labels(gnti_load *l, gnti_labels *y)
{
    gnt_status st = GNT_OK;

    y->kind = l->head->y.kind;
    y->num_classes = l->head->y.num_classes;
    if (y->kind == GNT_LABELS_NONE)
        return GNT_OK;
    if (y->kind == GNT_LABELS_CLASS) {
        GNT_TRY(gnti_alloc_array(&y->class_of, l->num_own));
        GNT_TRY(read_own(l, "/nodes/y", GNTI_FILE_I32, 1, y->class_of));
    } else {
        GNT_TRY(gnti_array_bytes((void **)(void *)&y->rows, l->num_own,
                                 (size_t)y->num_classes * sizeof(float), false));
        GNT_TRY(read_own(l, "/nodes/y", GNTI_FILE_F32, y->num_classes, y->rows));
    }
    GNT_TRY(check_labels(l, y));
done:
    return st;
}
