/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a dataset file (docs/file-format.md): heading, adjacency, features, labels, ids.
 *
 * Unknown members are carried (dataset_read_more.c), unknown attributes ignored, so files of later minor
 * versions can be read. Files of other writers need not be canonical: rows are sorted and repeated arcs
 * merged here, and what belongs to arcs follows through `origin`. Sizes come from the adjacency, whose arrays
 * must really be in the file; everything else is measured against them before memory is taken for it.
 */
#include "datasets/chunk_order.h"
#include "datasets/dataset_read.h"

#include "base/log.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

enum { FORMAT_MAJOR = 1 };

static gnt_status check_version(const gnti_h5 *file, const char *version)
{
    gnt_status st = GNT_OK;
    const size_t digits = strspn(version, "0123456789");
    int64_t major = 0;

    GNT_CHECK(digits > 0 && (version[digits] == '.' || version[digits] == '\0') &&
                  gnti_parse_int64(version, digits, &major) == GNTI_PARSE_OK,
              GNT_ERR_FORMAT, "format_version '%s' of file '%s' is no version", version, gnti_h5_path(file));
    GNT_CHECK(major <= FORMAT_MAJOR, GNT_ERR_FORMAT,
              "file '%s' has format version %s, this program reads version %d.x: use a newer gnntrain",
              gnti_h5_path(file), version, FORMAT_MAJOR);
    GNT_CHECK(major == FORMAT_MAJOR, GNT_ERR_FORMAT,
              "file '%s' has format version %s, this program reads version %d.x", gnti_h5_path(file), version,
              FORMAT_MAJOR);
done:
    return st;
}

gnt_status gnti_dataset_read_heading(const gnti_h5 *file)
{
    gnt_status st = GNT_OK;
    char *format = NULL, *version = NULL;
    bool found;

    GNT_TRY(gnti_h5_get_text(file, "/", "format", &found, &format));
    GNT_CHECK(
        found && strcmp(format, "gnntrain-graph") == 0, GNT_ERR_FORMAT,
        "file '%s' has format '%s', expected 'gnntrain-graph': make a dataset of it with 'gnntrain import'",
        gnti_h5_path(file), found ? format : "");
    GNT_TRY(gnti_h5_get_text(file, "/", "format_version", NULL, &version));
    GNT_TRY(check_version(file, version));
done:
    gnti_free(format);
    gnti_free(version);
    return st;
}

/* --- the adjacency --- */

gnt_status gnti_dataset_read_shape(const gnti_h5 *file, const char *group, int64_t shape[2])
{
    gnt_status st = GNT_OK;
    gnti_h5_info info;
    char *encoding = NULL;
    bool found;

    GNT_CHECK(gnti_h5_kind_of(file, group) == GNTI_H5_GROUP, GNT_ERR_FORMAT, "file '%s' has no group '%s'",
              gnti_h5_path(file), group);
    GNT_TRY(gnti_h5_get_text(file, group, "encoding-type", &found, &encoding));
    GNT_CHECK(!found || strcmp(encoding, "csr_matrix") == 0, GNT_ERR_FORMAT,
              "'%s' of file '%s' is encoded as '%s', expected csr_matrix", group, gnti_h5_path(file),
              encoding);
    GNT_TRY(gnti_h5_inspect(file, group, "shape", &info));
    GNT_CHECK(info.type == GNTI_H5_INT && info.num_values == 2, GNT_ERR_FORMAT,
              "attribute 'shape' of '%s' of file '%s' has %lld values, expected 2 integers", group,
              gnti_h5_path(file), (long long)info.num_values);
    GNT_TRY(gnti_h5_read_attribute(file, group, "shape", GNTI_FILE_I64, shape));
    GNT_CHECK(shape[0] >= 0 && shape[1] >= 0 && shape[0] <= INT32_MAX && shape[1] <= INT32_MAX,
              GNT_ERR_FORMAT, "'%s' of file '%s' has the shape %lld x %lld, each side is 0 .. %d", group,
              gnti_h5_path(file), (long long)shape[0], (long long)shape[1], INT32_MAX);
done:
    gnti_free(encoding);
    return st;
}

/* Values of a csr_matrix group; weights stay NULL when all are 1, and unwritten ones are not even read. */
static gnt_status read_weights(const gnti_h5 *file, const char *path, gnti_graph *g)
{
    gnt_status st = GNT_OK;
    gnti_h5_info info;
    bool ones = true;

    if (gnti_h5_kind_of(file, path) == GNTI_H5_NOTHING)
        return GNT_OK;
    GNT_TRY(gnti_h5_inspect(file, path, NULL, &info));
    if (info.rank == 1 && info.dims[0] == g->num_arcs && info.stored_bytes == 0 && info.fill_is_one)
        return GNT_OK;
    GNT_TRY(gnti_h5_expect(file, path, g->num_arcs, 1, NULL));
    GNT_TRY(gnti_alloc_array(&g->weights, g->num_arcs));
    GNT_TRY(gnti_h5_read_floats(file, path, g->num_arcs, 1, g->weights));
    for (int64_t a = 0; a < g->num_arcs && ones; a++)
        ones = g->weights[a] == 1.0f;
    if (ones) {
        gnti_free(g->weights);
        g->weights = NULL;
    }
done:
    return st;
}

static gnt_status read_csr(const gnti_h5 *file, const char *group, gnti_graph **out)
{
    gnt_status st = GNT_OK;
    gnti_graph *g = NULL;
    gnti_h5_info indices;
    int64_t shape[2];
    char path[128];

    GNT_TRY(gnti_dataset_read_shape(file, group, shape));
    snprintf(path, sizeof path, "%s/indptr", group);
    GNT_TRY(gnti_h5_expect(file, path, shape[0] + 1, 1, NULL));
    snprintf(path, sizeof path, "%s/indices", group);
    GNT_TRY(gnti_h5_expect(file, path, -1, 1, &indices));
    GNT_TRY(gnti_graph_alloc(shape[0], shape[1], indices.num_values, false, &g));
    GNT_TRY(gnti_h5_read_i32(file, path, g->num_arcs, g->columns));
    snprintf(path, sizeof path, "%s/indptr", group);
    GNT_TRY(gnti_h5_read_i64(file, path, shape[0] + 1, g->offsets));
    snprintf(path, sizeof path, "%s/data", group);
    GNT_TRY(read_weights(file, path, g));
    *out = g;
    g = NULL;
done:
    gnti_graph_free(&g);
    return st;
}

/* Offsets and columns in range, whatever the order in a row; answers whether rows are sorted without repeats.
 */
static gnt_status check_csr(const gnti_h5 *file, const char *group, const gnti_graph *g, bool *canonical)
{
    gnt_status st = GNT_OK;

    *canonical = true;
    GNT_CHECK(g->offsets[0] == 0 && g->offsets[g->num_rows] == g->num_arcs, GNT_ERR_FORMAT,
              "'%s/indptr' of file '%s' goes from %lld to %lld, expected 0 to %lld", group,
              gnti_h5_path(file), (long long)g->offsets[0], (long long)g->offsets[g->num_rows],
              (long long)g->num_arcs);
    for (int64_t r = 0; r < g->num_rows; r++)
        GNT_CHECK(g->offsets[r] <= g->offsets[r + 1], GNT_ERR_FORMAT,
                  "'%s' of file '%s': indptr not monotone at row %lld: %lld is followed by %lld", group,
                  gnti_h5_path(file), (long long)r, (long long)g->offsets[r], (long long)g->offsets[r + 1]);
    for (int64_t r = 0; r < g->num_rows; r++) {
        for (int64_t a = g->offsets[r]; a < g->offsets[r + 1]; a++) {
            GNT_CHECK(g->columns[a] >= 0 && g->columns[a] < g->num_cols, GNT_ERR_FORMAT,
                      "'%s/indices' of file '%s': row %lld names column %d, columns are 0 .. %lld", group,
                      gnti_h5_path(file), (long long)r, g->columns[a], (long long)g->num_cols - 1);
            if (a > g->offsets[r] && g->columns[a] <= g->columns[a - 1])
                *canonical = false;
        }
    }
done:
    return st;
}

/* Sorts and merges the rows of a square graph; *origin gets the stored arc of each kept one. */
static gnt_status make_canonical(gnti_graph **graph, int64_t **origin)
{
    gnt_status st = GNT_OK;
    gnti_graph *g = *graph, *sorted = NULL;
    gnti_arc_list arcs = { .num_arcs = g->num_arcs, .weight = g->weights };
    const gnti_build_options options = { .duplicates = GNTI_DUPLICATES_SUM };

    GNT_TRY(gnti_alloc_array(&arcs.source, g->num_arcs));
    GNT_TRY(gnti_alloc_array(&arcs.target, g->num_arcs));
    for (int64_t r = 0; r < g->num_rows; r++) {
        for (int64_t a = g->offsets[r]; a < g->offsets[r + 1]; a++) {
            arcs.source[a] = r;
            arcs.target[a] = g->columns[a];
        }
    }
    GNT_TRY(gnti_graph_build(g->num_rows, &arcs, &options, NULL, origin, &sorted));
    gnti_graph_free(graph);
    *graph = sorted;
done:
    gnti_free(arcs.source);
    gnti_free(arcs.target);
    return st;
}

gnt_status gnti_dataset_check_count(const gnti_h5 *file, const char *attribute, int64_t found)
{
    gnt_status st = GNT_OK;
    int64_t stated = found;
    bool there;

    GNT_TRY(gnti_h5_get_int(file, "/", attribute, &there, &stated));
    GNT_CHECK(stated == found, GNT_ERR_FORMAT, "file '%s' states %s=%lld but '/graph/adj' has %lld",
              gnti_h5_path(file), attribute, (long long)stated, (long long)found);
done:
    return st;
}

static gnt_status read_graph(const gnti_h5 *file, gnt_dataset **out, int64_t **origin, int64_t *num_stored)
{
    gnt_status st = GNT_OK;
    gnt_dataset *d = NULL;
    gnti_graph *g = NULL;
    bool canonical, found, symmetric;
    int64_t directed = 0;

    GNT_TRY(read_csr(file, "/graph/adj", &g));
    GNT_CHECK(g->num_rows == g->num_cols, GNT_ERR_FORMAT,
              "'/graph/adj' of file '%s' is %lld x %lld, expected a square", gnti_h5_path(file),
              (long long)g->num_rows, (long long)g->num_cols);
    GNT_TRY(gnti_dataset_check_count(file, "num_nodes", g->num_rows));
    GNT_TRY(gnti_dataset_check_count(file, "num_arcs", g->num_arcs));
    GNT_TRY(check_csr(file, "/graph/adj", g, &canonical));
    *num_stored = g->num_arcs;
    if (!canonical)
        GNT_TRY(make_canonical(&g, origin));
    GNT_TRY(gnti_dataset_create(NULL, g->num_rows, &d));
    d->graph = g;
    g = NULL;
    GNT_TRY(gnti_h5_get_int(file, "/", "directed", &found, &directed));
    if (!found) {
        GNT_TRY(gnti_graph_is_symmetric(d->graph, &symmetric));
        directed = !symmetric;
    }
    d->directed = directed != 0;
    *out = d;
    d = NULL;
done:
    gnti_graph_free(&g);
    gnt_dataset_free(&d);
    return st;
}

/* --- features and labels --- */

/* Sorts the rows of sparse features in place of a build: two transpositions, repeats are refused. */
static gnt_status read_sparse_features(const gnti_h5 *file, gnti_features *x)
{
    gnt_status st = GNT_OK;
    gnti_graph *g = NULL, *once = NULL;
    bool canonical;

    GNT_TRY(read_csr(file, "/nodes/x", &g));
    GNT_TRY(check_csr(file, "/nodes/x", g, &canonical));
    if (!canonical) {
        GNT_TRY(gnti_graph_transpose(g, NULL, &once));
        gnti_graph_free(&g);
        GNT_TRY(gnti_graph_transpose(once, NULL, &g));
        GNT_TRY(check_csr(file, "/nodes/x", g, &canonical));
        GNT_CHECK(canonical, GNT_ERR_FORMAT,
                  "'/nodes/x' of file '%s' names a column twice in one row: add them up", gnti_h5_path(file));
    }
    *x = (gnti_features){ .rows = g->num_rows, .width = g->num_cols, .sparse = g };
    g = NULL;
done:
    gnti_graph_free(&once);
    gnti_graph_free(&g);
    return st;
}

gnt_status gnti_dataset_check_rank(const gnti_h5 *file, const char *path, const gnti_h5_info *info,
                                   int64_t num_nodes)
{
    gnt_status st = GNT_OK;
    gnti_text shape = { 0 };

    for (int32_t i = 0; i < info->rank && i < 4; i++)
        gnti_text_printf(&shape, "%s%lld", i > 0 ? ", " : "", (long long)info->dims[i]);
    GNT_TRY(shape.status);
    GNT_CHECK(
        info->rank <= 2, GNT_ERR_FORMAT,
        "'%s' of file '%s' has the shape (%s), expected (%lld, columns): store one row of numbers a node",
        path, gnti_h5_path(file), shape.data, (long long)num_nodes);
done:
    gnti_text_free(&shape);
    return st;
}

static gnt_status read_features(const gnti_h5 *file, gnt_dataset *d)
{
    gnt_status st = GNT_OK;
    const gnti_h5_kind kind = gnti_h5_kind_of(file, "/nodes/x");
    gnti_h5_info info;
    gnti_features *x = &d->x;

    if (kind == GNTI_H5_NOTHING)
        return GNT_OK;
    if (kind == GNTI_H5_GROUP) {
        GNT_TRY(read_sparse_features(file, x));
    } else {
        GNT_TRY(gnti_h5_expect(file, "/nodes/x", -1, -1, &info));
        GNT_TRY(gnti_dataset_check_rank(file, "/nodes/x", &info, d->num_nodes));
        x->rows = info.rank == 0 ? info.num_values : info.dims[0];
        x->width = info.dims[1];
        GNT_CHECK(x->width <= INT32_MAX, GNT_ERR_FORMAT, "'/nodes/x' of file '%s' has %lld columns",
                  gnti_h5_path(file), (long long)x->width);
    }
    GNT_CHECK(x->rows == d->num_nodes, GNT_ERR_FORMAT,
              "features have %lld rows but the graph has %lld nodes (file '%s', dataset '/nodes/x')",
              (long long)x->rows, (long long)d->num_nodes, gnti_h5_path(file));
    if (kind == GNTI_H5_DATASET) {
        if (info.type == GNTI_H5_FLOAT && info.item_bytes > 4)
            gnti_log(GNT_LOG_INFO, "datasets", "'/nodes/x' of '%s' is float64 and is read as float32",
                     gnti_h5_path(file));
        GNT_TRY(gnti_array_bytes((void **)(void *)&x->dense, x->rows * x->width, sizeof(float), false));
        GNT_TRY(gnti_h5_read_floats(file, "/nodes/x", x->rows, -1, x->dense));
    }
done:
    return st;
}

static gnt_status read_classes(const gnti_h5 *file, gnt_dataset *d)
{
    gnt_status st = GNT_OK;
    gnti_labels *y = &d->y;
    int32_t most = -1;
    bool found;

    GNT_TRY(gnti_alloc_array(&y->class_of, d->num_nodes));
    GNT_TRY(gnti_h5_read_i32(file, "/nodes/y", d->num_nodes, y->class_of));
    GNT_TRY(gnti_h5_get_int(file, "/nodes/y", "num_classes", &found, &y->num_classes));
    for (int64_t i = 0; i < d->num_nodes; i++)
        most = y->class_of[i] > most ? y->class_of[i] : most;
    if (!found)
        y->num_classes = (int64_t)most + 1;
done:
    return st;
}

gnt_label_kind gnti_dataset_kind_of_labels(const gnti_h5_info *info)
{
    const int64_t width = info->dims[1] * info->dims[2] * info->dims[3];

    if (info->type == GNTI_H5_INT && (info->rank < 2 || (width == 1 && info->item_bytes > 1)))
        return GNT_LABELS_CLASS;
    return info->type == GNTI_H5_INT ? GNT_LABELS_MULTI : GNT_LABELS_REGRESSION;
}

static gnt_status read_labels(const gnti_h5 *file, gnt_dataset *d)
{
    gnt_status st = GNT_OK;
    gnti_h5_info info;
    gnti_labels *y = &d->y;
    int64_t width;

    if (gnti_h5_kind_of(file, "/nodes/y") != GNTI_H5_DATASET)
        return GNT_OK;
    GNT_TRY(gnti_h5_expect(file, "/nodes/y", d->num_nodes, -1, &info));
    GNT_TRY(gnti_dataset_check_rank(file, "/nodes/y", &info, d->num_nodes));
    GNT_CHECK(info.type != GNTI_H5_TEXT, GNT_ERR_FORMAT,
              "'/nodes/y' of file '%s' holds texts: store class numbers and their names in '/nodes/classes'",
              gnti_h5_path(file));
    width = info.dims[1] * info.dims[2] * info.dims[3];
    y->kind = gnti_dataset_kind_of_labels(&info);
    if (y->kind == GNT_LABELS_CLASS) {
        GNT_TRY(read_classes(file, d));
        return GNT_OK;
    }
    GNT_CHECK(width <= INT32_MAX, GNT_ERR_FORMAT, "'/nodes/y' of file '%s' has %lld columns",
              gnti_h5_path(file), (long long)width);
    GNT_TRY(gnti_array_bytes((void **)(void *)&y->rows, d->num_nodes * width, sizeof(float), false));
    y->num_classes = width;
    GNT_TRY(gnti_h5_read_floats(file, "/nodes/y", d->num_nodes, width, y->rows));
done:
    return st;
}

gnt_status gnti_dataset_read_names(const gnti_h5 *file, gnt_dataset *d)
{
    gnt_status st = GNT_OK;
    char **names = NULL;
    int64_t num = 0;

    if (gnti_h5_kind_of(file, "/nodes/classes") != GNTI_H5_DATASET)
        return GNT_OK;
    GNT_TRY(gnti_h5_read_texts(file, "/nodes/classes", &names, &num));
    GNT_CHECK(num == d->y.num_classes, GNT_ERR_FORMAT,
              "'/nodes/classes' of file '%s' names %lld classes but '/nodes/y' has %lld", gnti_h5_path(file),
              (long long)num, (long long)d->y.num_classes);
    d->y.names = names;
    names = NULL;
done:
    gnti_h5_free_texts(&names, num);
    return st;
}

static gnt_status read_ids(const gnti_h5 *file, gnt_dataset *d)
{
    gnt_status st = GNT_OK;
    gnti_h5_info info;
    char **texts = NULL;
    int64_t num = 0;

    if (gnti_h5_kind_of(file, "/nodes/id") != GNTI_H5_DATASET)
        return GNT_OK;
    GNT_TRY(gnti_h5_expect(file, "/nodes/id", d->num_nodes, 1, &info));
    if (info.type == GNTI_H5_TEXT) {
        GNT_TRY(gnti_h5_read_texts(file, "/nodes/id", &texts, &num));
        d->id_text = texts;
        texts = NULL;
    } else {
        GNT_TRY(gnti_alloc_array(&d->id, d->num_nodes));
        GNT_TRY(gnti_h5_read_i64(file, "/nodes/id", d->num_nodes, d->id));
    }
done:
    return st;
}

/* A text attribute of at most size - 1 bytes; a longer or missing one leaves out empty. */
static gnt_status read_mark(const gnti_h5 *file, const char *attribute, char *out, size_t size)
{
    gnt_status st = GNT_OK;
    char *text = NULL;
    bool found;

    GNT_TRY(gnti_h5_get_text(file, "/", attribute, &found, &text));
    if (found && strlen(text) < size)
        memcpy(out, text, strlen(text) + 1);
done:
    gnti_free(text);
    return st;
}

gnt_status gnti_dataset_read_marks(const gnti_h5 *file, gnt_dataset *d)
{
    gnt_status st = GNT_OK;

    GNT_TRY(read_mark(file, "uuid", d->uuid, sizeof d->uuid));
    GNT_TRY(read_mark(file, "graph_sha256", d->graph_sha256, sizeof d->graph_sha256));
    GNT_TRY(read_mark(file, "content_sha256", d->content_sha256, sizeof d->content_sha256));
done:
    return st;
}

static gnt_status read_all(const gnti_h5 *file, gnt_dataset **out)
{
    gnt_status st = GNT_OK;
    gnt_dataset *d = NULL;
    int64_t *origin = NULL, num_stored = 0;

    GNT_TRY(gnti_dataset_read_heading(file));
    GNT_TRY(read_graph(file, &d, &origin, &num_stored));
    GNT_TRY(read_features(file, d));
    GNT_TRY(read_labels(file, d));
    GNT_TRY(gnti_dataset_read_names(file, d));
    GNT_TRY(read_ids(file, d));
    GNT_TRY(gnti_dataset_read_arrays(file, origin, num_stored, d));
    GNT_TRY(gnti_dataset_read_splits(file, true, d));
    GNT_TRY(gnti_chunk_order_read(file, d->num_nodes, &d->chunks));
    GNT_TRY(gnti_dataset_read_provenance(file, d));
    GNT_TRY(gnti_dataset_read_marks(file, d));
    st = gnti_dataset_validate(d);
    if (st != GNT_OK) {
        gnti_error_prefix("file '%s': ", gnti_h5_path(file));
        GNT_TRY(st);
    }
    if (d->content_sha256[0] == '\0' || origin != NULL)
        GNT_TRY(gnti_dataset_hash(d));
    *out = d;
    d = NULL;
done:
    gnti_free(origin);
    gnt_dataset_free(&d);
    return st;
}

gnt_status gnti_dataset_read(gnt_context *ctx, const char *path, gnt_dataset **out)
{
    gnt_status st = GNT_OK;
    gnti_h5 *file = NULL;
    gnt_dataset *d = NULL;

    GNT_TRY(gnti_h5_open(path, &file));
    GNT_TRY(read_all(file, &d));
    gnti_dataset_set_context(d, ctx);
    GNT_TRY(gnti_strdup(&d->path, path));
    *out = d;
    d = NULL;
done:
    gnt_dataset_free(&d);
    gnti_h5_close(&file);
    return st;
}
