/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a dataset file: what it holds, without reading what it holds. Shapes are checked against each other as the
 * whole reader does (dataset_read.c); values are not, whoever reads them checks them.
 *
 * Only two things need arrays: masks in place of split lists are counted, and labels without num_classes are looked through.
 */
#include "datasets/chunk_order.h"
#include "datasets/dataset_read.h"

#include <stdio.h>
#include <string.h>

enum {
    MAX_DEPTH = 4,
    PATH_BYTES = 1024,
    TEXT_BYTES = 144
}; /* a text: its pointer and a block with its head */

/* Values of a CSR group; those that were never written are all 1 and take no room, however many they are. */
static gnt_status expect_values(const gnti_h5 *file, const char *path, int64_t num, bool *weighted)
{
    gnt_status st = GNT_OK;
    gnti_h5_info info;

    GNT_TRY(gnti_h5_inspect(file, path, NULL, &info));
    *weighted = info.stored_bytes > 0 || !info.fill_is_one;
    if (*weighted)
        GNT_TRY(gnti_h5_expect(file, path, num, 1, NULL));
    GNT_CHECK(info.num_values == num, GNT_ERR_FORMAT, "'%s' of file '%s' has %lld values, expected %lld",
              path, gnti_h5_path(file), (long long)info.num_values, (long long)num);
done:
    return st;
}

static gnt_status header_of_graph(const gnti_h5 *file, gnt_dataset **out)
{
    gnt_status st = GNT_OK;
    gnt_dataset *d = NULL;
    gnti_h5_info info;
    int64_t shape[2], directed = 1, loops = 1;
    bool found;

    GNT_TRY(gnti_dataset_read_shape(file, "/graph/adj", shape));
    GNT_CHECK(shape[0] == shape[1], GNT_ERR_FORMAT,
              "'/graph/adj' of file '%s' is %lld x %lld, expected a square", gnti_h5_path(file),
              (long long)shape[0], (long long)shape[1]);
    GNT_TRY(gnti_dataset_create(NULL, shape[0], &d));
    GNT_TRY(gnti_calloc_array(&d->header, 1));
    GNT_TRY(gnti_h5_expect(file, "/graph/adj/indptr", shape[0] + 1, 1, NULL));
    GNT_TRY(gnti_h5_expect(file, "/graph/adj/indices", -1, 1, &info));
    d->header->num_arcs = info.num_values;
    GNT_TRY(gnti_dataset_check_count(file, "num_nodes", shape[0]));
    GNT_TRY(gnti_dataset_check_count(file, "num_arcs", info.num_values));
    GNT_TRY(gnti_h5_get_int(file, "/", "directed", &found, &directed));
    GNT_TRY(gnti_h5_get_int(file, "/", "has_self_loops", &found, &loops));
    d->directed = directed != 0;
    d->header->has_loops = loops != 0;
    if (gnti_h5_kind_of(file, "/graph/adj/data") != GNTI_H5_NOTHING) {
        GNT_TRY(expect_values(file, "/graph/adj/data", d->header->num_arcs, &d->header->weighted));
    }
    *out = d;
    d = NULL;
done:
    gnt_dataset_free(&d);
    return st;
}

static gnt_status header_of_features(const gnti_h5 *file, gnt_dataset *d)
{
    gnt_status st = GNT_OK;
    gnti_h5_info info;
    int64_t shape[2];

    switch (gnti_h5_kind_of(file, "/nodes/x")) {
    case GNTI_H5_NOTHING:
        return GNT_OK;
    case GNTI_H5_GROUP:
        GNT_TRY(gnti_dataset_read_shape(file, "/nodes/x", shape));
        GNT_TRY(gnti_h5_expect(file, "/nodes/x/indptr", shape[0] + 1, 1, NULL));
        GNT_TRY(gnti_h5_expect(file, "/nodes/x/indices", -1, 1, &info));
        d->header->sparse_x = true;
        d->header->num_entries = info.num_values;
        if (gnti_h5_kind_of(file, "/nodes/x/data") != GNTI_H5_NOTHING) {
            GNT_TRY(expect_values(file, "/nodes/x/data", d->header->num_entries, &d->header->weighted_x));
        }
        break;
    case GNTI_H5_DATASET:
        GNT_TRY(gnti_h5_expect(file, "/nodes/x", -1, -1, &info));
        GNT_TRY(gnti_dataset_check_rank(file, "/nodes/x", &info, d->num_nodes));
        shape[0] = info.rank == 0 ? info.num_values : info.dims[0];
        shape[1] = info.dims[1] * info.dims[2] * info.dims[3];
        GNT_CHECK(shape[1] <= INT32_MAX, GNT_ERR_FORMAT, "'/nodes/x' of file '%s' has %lld columns",
                  gnti_h5_path(file), (long long)shape[1]);
        break;
    }
    GNT_CHECK(shape[0] == d->num_nodes, GNT_ERR_FORMAT,
              "features have %lld rows but the graph has %lld nodes (file '%s', dataset '/nodes/x')",
              (long long)shape[0], (long long)d->num_nodes, gnti_h5_path(file));
    d->x.rows = shape[0];
    d->x.width = shape[1];
done:
    return st;
}

/* 1 + the largest class, where the file does not state it. */
static gnt_status count_classes(const gnti_h5 *file, int64_t num_nodes, int64_t *out)
{
    gnt_status st = GNT_OK;
    int32_t *y = NULL, most = -1;

    GNT_TRY(gnti_alloc_array(&y, num_nodes));
    GNT_TRY(gnti_h5_read_i32(file, "/nodes/y", num_nodes, y));
    for (int64_t i = 0; i < num_nodes; i++)
        most = y[i] > most ? y[i] : most;
    *out = (int64_t)most + 1;
done:
    gnti_free(y);
    return st;
}

static gnt_status header_of_labels(const gnti_h5 *file, gnt_dataset *d)
{
    gnt_status st = GNT_OK;
    gnti_h5_info info;
    bool found = true;

    if (gnti_h5_kind_of(file, "/nodes/y") != GNTI_H5_DATASET)
        return GNT_OK;
    GNT_TRY(gnti_h5_expect(file, "/nodes/y", d->num_nodes, -1, &info));
    GNT_CHECK(info.type != GNTI_H5_TEXT, GNT_ERR_FORMAT,
              "'/nodes/y' of file '%s' holds texts: store class numbers and their names in '/nodes/classes'",
              gnti_h5_path(file));
    GNT_TRY(gnti_dataset_check_rank(file, "/nodes/y", &info, d->num_nodes));
    d->y.kind = gnti_dataset_kind_of_labels(&info);
    d->y.num_classes = info.dims[1] * info.dims[2] * info.dims[3];
    if (d->y.kind == GNT_LABELS_CLASS)
        GNT_TRY(gnti_h5_get_int(file, "/nodes/y", "num_classes", &found, &d->y.num_classes));
    if (!found)
        GNT_TRY(count_classes(file, d->num_nodes, &d->y.num_classes));
    GNT_CHECK(d->y.num_classes >= 0 && d->y.num_classes <= INT32_MAX, GNT_ERR_LIMIT,
              "%lld classes, at most %d are possible ('/nodes/y')", (long long)d->y.num_classes, INT32_MAX);
    GNT_TRY(gnti_dataset_read_names(file, d));
done:
    return st;
}

/* Whether splits list graphs shows in the names of these two. */
static gnt_status header_of_graphs(const gnti_h5 *file, const char *path, gnt_dataset *d)
{
    gnt_status st = GNT_OK;
    gnti_array a = { .axis = GNTI_AXIS_OTHER, .width = 1 };
    gnti_h5_info info;

    if (gnti_h5_kind_of(file, path) != GNTI_H5_DATASET)
        return GNT_OK;
    GNT_TRY(gnti_h5_expect(file, path, -1, -1, &info));
    GNT_TRY(gnti_strdup(&a.path, path));
    a.dtype = GNTI_FILE_I64;
    a.rows = info.dims[0];
    GNT_TRY(gnti_dataset_take_array(d, &a));
done:
    gnti_array_free(&a);
    return st;
}

/* Bytes in memory of all datasets below a group but features, labels and class names; texts are blocks of their own. */
static gnt_status bytes_below(const gnti_h5 *file, const char *group, int depth, int64_t *bytes)
{
    static const char *const counted[] = { "/nodes/x", "/nodes/y", "/nodes/classes" };
    gnt_status st = GNT_OK;
    char **names = NULL, path[PATH_BYTES];
    int64_t num = 0;

    GNT_TRY(gnti_h5_list(file, group, &names, &num));
    for (int64_t i = 0; i < num; i++) {
        const bool fits = (size_t)snprintf(path, sizeof path, "%s/%s", group, names[i]) < sizeof path;
        const gnti_h5_kind kind = fits ? gnti_h5_kind_of(file, path) : GNTI_H5_NOTHING;
        bool elsewhere = false;
        gnti_h5_info info;

        for (int k = 0; k < 3; k++)
            elsewhere = elsewhere || strcmp(path, counted[k]) == 0;
        if (elsewhere || kind == GNTI_H5_NOTHING)
            continue;
        if (kind == GNTI_H5_GROUP && depth < MAX_DEPTH)
            GNT_TRY(bytes_below(file, path, depth + 1, bytes));
        if (kind != GNTI_H5_DATASET)
            continue;
        GNT_TRY(gnti_h5_inspect(file, path, NULL, &info));
        *bytes += info.num_values * (info.type == GNTI_H5_TEXT ? TEXT_BYTES : (int64_t)info.item_bytes);
    }
done:
    gnti_h5_free_texts(&names, num);
    return st;
}

static gnt_status read_header(const gnti_h5 *file, gnt_dataset **out)
{
    gnt_status st = GNT_OK;
    gnt_dataset *d = NULL;

    GNT_TRY(gnti_dataset_read_heading(file));
    GNT_TRY(header_of_graph(file, &d));
    GNT_TRY(header_of_features(file, d));
    GNT_TRY(header_of_labels(file, d));
    GNT_TRY(header_of_graphs(file, "/graphs/ptr", d));
    GNT_TRY(header_of_graphs(file, "/graphs/y", d));
    GNT_TRY(gnti_dataset_read_splits(file, false, d));
    GNT_TRY(gnti_chunk_order_read(file, d->num_nodes, &d->chunks));
    GNT_TRY(gnti_dataset_read_marks(file, d));
    for (int i = 0; i < 4; i++)
        GNT_TRY(bytes_below(file, (const char *const[]){ "/nodes", "/edges", "/graphs", "/pairs" }[i], 1,
                            &d->header->other_bytes));
    *out = d;
    d = NULL;
done:
    gnt_dataset_free(&d);
    return st;
}

gnt_status gnti_dataset_read_header(gnt_context *ctx, const char *path, gnt_dataset **out)
{
    gnt_status st = GNT_OK;
    gnti_h5 *file = NULL;
    gnt_dataset *d = NULL;

    GNT_TRY(gnti_h5_open(path, &file));
    GNT_TRY(read_header(file, &d));
    gnti_dataset_set_context(d, ctx);
    GNT_TRY(gnti_strdup(&d->path, path));
    *out = d;
    d = NULL;
done:
    gnt_dataset_free(&d);
    gnti_h5_close(&file);
    return st;
}

void gnti_dataset_get_header(const gnt_dataset *data, gnti_dataset_header *out)
{
    const gnti_graph *g = data->graph;

    if (data->header != NULL) {
        *out = *data->header;
        return;
    }
    *out = (gnti_dataset_header){ .num_arcs = g->num_arcs, .weighted = g->weights != NULL };
    out->sparse_x = data->x.sparse != NULL;
    out->num_entries = out->sparse_x ? data->x.sparse->num_arcs : 0;
    out->weighted_x = out->sparse_x && data->x.sparse->weights != NULL;
    for (int64_t r = 0; r < g->num_rows && !out->has_loops; r++)
        for (int64_t a = g->offsets[r]; a < g->offsets[r + 1] && !out->has_loops; a++)
            out->has_loops = g->columns[a] == r;
}
