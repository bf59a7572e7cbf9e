/* SPDX-License-Identifier: Apache-2.0 */
/* npz files: a zip of numpy arrays, told apart by the names in it.
 *
 *   adj_data, adj_indices, adj_indptr, adj_shape     gnn-benchmark; also spelt adj_matrix.data, ...
 *   data, indices, indptr, shape, format             scipy.sparse.save_npz: csr, csc; coo has row, col
 *   edges, node_features, node_labels, train_masks   the heterophilous sets
 *
 * Beside them: attr_* (features, sparse or dense), labels, node_names, class_names, idx_train or train_mask
 * and so on. Members that hold pickled objects are skipped when not needed and refused when they are.
 */
#include "datasets/import_npz.h"

#include <stdio.h>
#include <string.h>

enum { KEY_BYTES = 64 };

typedef struct csr_arrays {
    const gnti_npy *data, *indices, *indptr, *shape;
    int64_t rows, columns;
} csr_arrays;

/* ---- compressed rows ---- */

static gnt_status find_part(const gnti_npz *npz, const char *prefix, const char *part, const gnti_npy **out)
{
    char key[KEY_BYTES];

    snprintf(key, sizeof key, "%s%s", prefix, part);
    return gnti_npz_find_readable(npz, key, out);
}

/* The arrays of a matrix of that prefix; indptr stays NULL when there is none. */
static gnt_status find_csr(const gnti_npz *npz, const char *prefix, csr_arrays *out)
{
    gnt_status st = GNT_OK;

    memset(out, 0, sizeof *out);
    GNT_TRY(find_part(npz, prefix, "indptr", &out->indptr));
    if (out->indptr == NULL)
        goto done;
    GNT_TRY(find_part(npz, prefix, "indices", &out->indices));
    GNT_TRY(find_part(npz, prefix, "data", &out->data));
    GNT_TRY(find_part(npz, prefix, "shape", &out->shape));
    GNT_CHECK(out->indices != NULL && out->shape != NULL && out->shape->count == 2, GNT_ERR_FORMAT,
              "'%s' has '%sindptr' but no '%sindices' or no '%sshape' of two numbers", npz->source, prefix,
              prefix, prefix);
    GNT_TRY(gnti_npy_i64(npz, out->shape, 0, &out->rows));
    GNT_TRY(gnti_npy_i64(npz, out->shape, 1, &out->columns));
    GNT_CHECK(out->rows >= 0 && out->columns >= 0 && out->columns < INT32_MAX && out->rows < INT32_MAX,
              GNT_ERR_FORMAT, "'%s', array '%sshape': %lld x %lld is no size of a matrix", npz->source,
              prefix, (long long)out->rows, (long long)out->columns);
    GNT_CHECK(out->data == NULL || out->data->count == out->indices->count, GNT_ERR_FORMAT,
              "'%s': '%sdata' has %lld items but '%sindices' has %lld", npz->source, prefix,
              (long long)out->data->count, prefix, (long long)out->indices->count);
done:
    return st;
}

/* Calls take for each stored value of major rows; checks pointers and indices. */
typedef gnt_status (*take_value)(gnti_raw *raw, int64_t major, int64_t minor, float value, bool row_ends);

static gnt_status read_major(const gnti_npz *npz, const csr_arrays *m, int64_t row, int64_t num_minor,
                             int64_t *begin, take_value take, gnti_raw *raw)
{
    gnt_status st = GNT_OK;
    int64_t end = 0, minor = 0;
    float value = 1.0f;

    GNT_TRY(gnti_npy_i64(npz, m->indptr, row + 1, &end));
    GNT_CHECK(end >= *begin && end <= m->indices->count, GNT_ERR_FORMAT,
              "'%s', array '%s': %lld at row %lld behind %lld, with %lld entries in all", npz->source,
              m->indptr->name, (long long)end, (long long)row, (long long)*begin,
              (long long)m->indices->count);
    for (int64_t i = *begin; i < end; i++) {
        GNT_TRY(gnti_npy_i64(npz, m->indices, i, &minor));
        GNT_CHECK(minor >= 0 && minor < num_minor, GNT_ERR_FORMAT,
                  "'%s', array '%s': index %lld at row %lld is outside 0..%lld", npz->source,
                  m->indices->name, (long long)minor, (long long)row, (long long)num_minor - 1);
        if (m->data != NULL)
            GNT_TRY(gnti_npy_float(npz, m->data, i, &value));
        GNT_TRY(take(raw, row, minor, value, false));
    }
    GNT_TRY(take(raw, row, 0, 0.0f, true));
    *begin = end;
done:
    return st;
}

static gnt_status read_csr(const gnti_npz *npz, const csr_arrays *m, bool by_column, take_value take,
                           gnti_raw *raw)
{
    gnt_status st = GNT_OK;
    const int64_t num_major = by_column ? m->columns : m->rows, num_minor = by_column ? m->rows : m->columns;
    int64_t begin = 0;

    GNT_CHECK(m->indptr->count == num_major + 1, GNT_ERR_FORMAT,
              "'%s', array '%s' has %lld items, %lld were expected", npz->source, m->indptr->name,
              (long long)m->indptr->count, (long long)num_major + 1);
    GNT_TRY(gnti_npy_i64(npz, m->indptr, 0, &begin));
    GNT_CHECK(begin == 0, GNT_ERR_FORMAT, "'%s', array '%s' starts with %lld, not 0", npz->source,
              m->indptr->name, (long long)begin);
    for (int64_t r = 0; r < num_major; r++)
        GNT_TRY(read_major(npz, m, r, num_minor, &begin, take, raw));
    GNT_CHECK(begin == m->indices->count, GNT_ERR_FORMAT,
              "'%s', array '%s' ends with %lld, but there are %lld entries", npz->source, m->indptr->name,
              (long long)begin, (long long)m->indices->count);
done:
    return st;
}

static gnt_status take_arc(gnti_raw *raw, int64_t major, int64_t minor, float value, bool row_ends)
{
    return row_ends ? GNT_OK : gnti_raw_add_weighted(raw, major, minor, value);
}

static gnt_status take_reversed(gnti_raw *raw, int64_t major, int64_t minor, float value, bool row_ends)
{
    return row_ends ? GNT_OK : gnti_raw_add_weighted(raw, minor, major, value);
}

static gnt_status take_feature(gnti_raw *raw, int64_t major, int64_t minor, float value, bool row_ends)
{
    (void)major;
    return row_ends ? gnti_feature_rows_end(&raw->x) : gnti_feature_rows_add(&raw->x, minor, value);
}

/* ---- the graph ---- */

static gnt_status check_square(const gnti_npz *npz, int64_t rows, int64_t columns, gnti_raw *raw)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(rows == columns, GNT_ERR_FORMAT, "'%s': the matrix is %lld x %lld, a graph needs a square one",
              npz->source, (long long)rows, (long long)columns);
    raw->id_rule = GNTI_IDS_DENSE;
    raw->num_nodes = rows;
done:
    return st;
}

static gnt_status read_coo(const gnti_npz *npz, const gnti_npy *row, gnti_raw *raw)
{
    gnt_status st = GNT_OK;
    const gnti_npy *column, *data, *shape;
    int64_t size[2] = { 0, 0 }, source = 0, target = 0;
    float value = 1.0f;

    GNT_TRY(gnti_npz_find_readable(npz, "col", &column));
    GNT_TRY(gnti_npz_find_readable(npz, "data", &data));
    GNT_TRY(gnti_npz_find_readable(npz, "shape", &shape));
    GNT_CHECK(column != NULL && shape != NULL && shape->count == 2 && column->count == row->count &&
                  (data == NULL || data->count == row->count),
              GNT_ERR_FORMAT, "'%s': row, col, data and shape do not make a matrix", npz->source);
    GNT_TRY(gnti_npy_i64(npz, shape, 0, &size[0]));
    GNT_TRY(gnti_npy_i64(npz, shape, 1, &size[1]));
    GNT_TRY(check_square(npz, size[0], size[1], raw));
    for (int64_t i = 0; i < row->count; i++) {
        GNT_TRY(gnti_npy_i64(npz, row, i, &source));
        GNT_TRY(gnti_npy_i64(npz, column, i, &target));
        if (data != NULL)
            GNT_TRY(gnti_npy_float(npz, data, i, &value));
        GNT_TRY(gnti_raw_add_weighted(raw, source, target, value));
    }
done:
    return st;
}

/* (E, 2) pairs */
static gnt_status read_pairs(const gnti_npz *npz, const gnti_npy *edges, gnti_raw *raw)
{
    gnt_status st = GNT_OK;
    int64_t source = 0, target = 0;

    GNT_CHECK(edges->num_dimensions == 2 && edges->shape[1] == 2, GNT_ERR_FORMAT,
              "'%s', array 'edges': two columns were expected", npz->source);
    raw->id_rule = GNTI_IDS_DENSE;
    for (int64_t e = 0; e < edges->shape[0]; e++) {
        GNT_TRY(gnti_npy_i64(npz, edges, 2 * e, &source));
        GNT_TRY(gnti_npy_i64(npz, edges, 2 * e + 1, &target));
        GNT_TRY(gnti_raw_add_arc(raw, source, target));
    }
done:
    return st;
}

/* Whether the member "format" says csc. */
static gnt_status is_by_column(const gnti_npy *format, bool *out)
{
    gnt_status st = GNT_OK;
    char *text = NULL;
    int64_t capacity = 0;

    if (format == NULL || (format->kind != 'S' && format->kind != 'U') || format->count != 1)
        goto done;
    GNT_TRY(gnti_npy_text(format, 0, &text, &capacity));
    *out = strcmp(text, "csc") == 0;
done:
    gnti_free(text);
    return st;
}

static gnt_status read_graph(const gnti_npz *npz, gnti_raw *raw)
{
    static const char *const prefixes[] = { "adj_matrix.", "adj_", "" };
    gnt_status st = GNT_OK;
    csr_arrays adj = { .indptr = NULL };
    const gnti_npy *format, *row, *edges, *object;

    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes && adj.indptr == NULL; i++)
        GNT_TRY(find_csr(npz, prefixes[i], &adj));
    GNT_TRY(gnti_npz_find_readable(npz, "format", &format));
    GNT_TRY(gnti_npz_find_readable(npz, "row", &row));
    GNT_TRY(gnti_npz_find_readable(npz, "edges", &edges));
    if (adj.indptr != NULL) {
        bool by_column = false;

        GNT_TRY(is_by_column(format, &by_column));
        GNT_TRY(check_square(npz, adj.rows, adj.columns, raw));
        GNT_TRY(read_csr(npz, &adj, by_column, by_column ? take_reversed : take_arc, raw));
    } else if (row != NULL) {
        GNT_TRY(read_coo(npz, row, raw));
    } else if (edges != NULL) {
        GNT_TRY(read_pairs(npz, edges, raw));
    } else {
        GNT_TRY(gnti_npz_find_readable(npz, "adj_matrix",
                                       &object)); /* a pickled one is refused with its reason */
        GNT_FAIL(GNT_ERR_FORMAT,
                 "'%s' has no graph that we know: none of adj_indptr, adj_matrix.indptr, indptr, row, edges",
                 npz->source);
    }
done:
    return st;
}

/* ---- what describes nodes ---- */

gnt_status gnti_npz_dense_features(const gnti_npz *npz, const gnti_npy *x, gnti_raw *raw)
{
    gnt_status st = GNT_OK;
    const int64_t width = x->num_dimensions == 2 ? x->shape[1] : 1;
    float value = 0.0f;

    GNT_CHECK(x->num_dimensions == 1 || x->num_dimensions == 2, GNT_ERR_FORMAT,
              "'%s', array '%s': features need two dimensions", npz->source, x->name);
    for (int64_t r = 0; r < x->shape[0]; r++) {
        for (int64_t c = 0; c < width; c++) {
            GNT_TRY(gnti_npy_float(npz, x, r * width + c, &value));
            GNT_TRY(gnti_feature_rows_add(&raw->x, c, value));
        }
        GNT_TRY(gnti_feature_rows_end(&raw->x));
    }
done:
    return st;
}

static gnt_status read_features(const gnti_npz *npz, gnti_raw *raw)
{
    static const char *const prefixes[] = { "attr_matrix.", "attr_" };
    static const char *const dense_names[] = { "node_features", "attr_matrix", "features" };
    gnt_status st = GNT_OK;
    csr_arrays attr = { .indptr = NULL };
    const gnti_npy *dense = NULL;

    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes && attr.indptr == NULL; i++)
        GNT_TRY(find_csr(npz, prefixes[i], &attr));
    if (attr.indptr != NULL) {
        raw->x.width = attr.columns;
        GNT_TRY(read_csr(npz, &attr, false, take_feature, raw));
        goto done;
    }
    for (size_t i = 0; i < sizeof dense_names / sizeof *dense_names && dense == NULL; i++)
        GNT_TRY(gnti_npz_find_readable(npz, dense_names[i], &dense));
    if (dense != NULL)
        GNT_TRY(gnti_npz_dense_features(npz, dense, raw));
done:
    return st;
}

/* (N), (N, 1): a class a node. (N, C) of zeros and ones: the only one of a row is its class, else several
 * labels. */
static gnt_status read_label_matrix(const gnti_npz *npz, const gnti_npy *y, gnti_raw *raw)
{
    gnt_status st = GNT_OK;
    const int64_t rows = y->shape[0], width = y->shape[1];
    float *cells = NULL;
    bool one_hot = true;

    GNT_TRY(gnti_alloc_array(&cells, y->count));
    for (int64_t r = 0; r < rows; r++) {
        int64_t hot = -1, number = 0;

        for (int64_t c = 0; c < width; c++) {
            GNT_TRY(gnti_npy_i64(npz, y, r * width + c, &number));
            GNT_CHECK(number == 0 || number == 1, GNT_ERR_FORMAT,
                      "'%s', array '%s': %lld in a row of 0/1 labels", npz->source, y->name,
                      (long long)number);
            cells[r * width + c] = (float)number;
            one_hot = one_hot && !(number == 1 && hot >= 0);
            hot = number == 1 ? c : hot;
        }
        GNT_TRY(gnti_raw_add_class(raw, hot));
    }
    if (!one_hot) {
        raw->y.count = 0;
        raw->y_rows = (gnti_labels){ .kind = GNT_LABELS_MULTI, .num_classes = width, .rows = cells };
        cells = NULL; /* handed over */
    }
done:
    gnti_free(cells);
    return st;
}

static gnt_status read_labels(const gnti_npz *npz, gnti_raw *raw)
{
    static const char *const names[] = { "labels", "node_labels" };
    gnt_status st = GNT_OK;
    const gnti_npy *y = NULL;
    int64_t value = 0;

    for (size_t i = 0; i < sizeof names / sizeof *names && y == NULL; i++)
        GNT_TRY(gnti_npz_find_readable(npz, names[i], &y));
    if (y == NULL)
        goto done;
    if (y->num_dimensions == 2 && y->shape[1] > 1) {
        GNT_TRY(read_label_matrix(npz, y, raw));
        goto done;
    }
    for (int64_t i = 0; i < y->count; i++) {
        GNT_TRY(gnti_npy_i64(npz, y, i, &value));
        GNT_TRY(gnti_raw_add_class(raw, value));
    }
done:
    return st;
}

static gnt_status read_class_names(const gnti_npz *npz, gnti_raw *raw)
{
    gnt_status st = GNT_OK;
    const gnti_npy *names = gnti_npz_find(npz, "class_names");
    char *buffer = NULL;
    int64_t capacity = 0;

    if (names == NULL || (names->kind != 'U' && names->kind != 'S'))
        goto done;
    GNT_TRY(gnti_calloc_array(&raw->y.class_names, names->count));
    raw->y.num_class_names = names->count;
    for (int64_t i = 0; i < names->count; i++) {
        GNT_TRY(gnti_npy_text(names, i, &buffer, &capacity));
        GNT_TRY(gnti_strdup(&raw->y.class_names[i], buffer));
    }
done:
    gnti_free(buffer);
    return st;
}

/* Names of nodes become their ids when there is one for each and no two are equal. */
static gnt_status read_node_names(const gnti_npz *npz, gnti_raw *raw)
{
    gnt_status st = GNT_OK;
    const gnti_npy *names = gnti_npz_find(npz, "node_names");
    char *buffer = NULL;
    int64_t capacity = 0, number = 0;

    if (names == NULL || (names->kind != 'U' && names->kind != 'S') || names->count != raw->num_nodes)
        goto done;
    for (int64_t i = 0; i < names->count; i++) {
        const char *begin, *end;

        GNT_TRY(gnti_npy_text(names, i, &buffer, &capacity));
        begin = buffer;
        end = begin + strlen(begin);
        gnti_trim(&begin, &end); /* some files keep the line ends of their source */
        GNT_TRY(gnti_string_table_add(&raw->names, begin, (size_t)(end - begin), &number));
    }
    if (raw->names.num_strings == names->count)
        raw->id_rule = GNTI_IDS_TEXT;
    else
        gnti_text_printf(&raw->notes, "node_names has only %lld different names and is not kept\n",
                         (long long)raw->names.num_strings);
done:
    gnti_free(buffer);
    return st;
}

static gnt_status npz_read(const gnti_import_input *in, gnti_raw *raw)
{
    gnt_status st = GNT_OK;
    gnti_npz npz = { .members = NULL };

    GNT_CHECK(in->source != NULL, GNT_ERR_USAGE, "format npz reads one file");
    GNT_TRY(gnti_npz_read(in->source, &npz));
    for (int64_t i = 0; i < npz.num_members; i++)
        if (npz.members[i].kind == 'O')
            gnti_text_printf(&raw->notes, "array '%s' holds pickled objects and is not read\n",
                             npz.members[i].name);
    GNT_TRY(read_graph(&npz, raw));
    GNT_TRY(read_features(&npz, raw));
    GNT_TRY(read_labels(&npz, raw));
    GNT_TRY(read_class_names(&npz, raw));
    if (raw->num_nodes < 0) /* a list of pairs: rows tell the number of nodes */
        raw->num_nodes = raw->x.num_rows > 0 ? raw->x.num_rows : raw->y.count > 0 ? raw->y.count : -1;
    GNT_TRY(read_node_names(&npz, raw));
    GNT_TRY(gnti_npz_add_splits(&npz, NULL, raw));
done:
    gnti_npz_clear(&npz);
    return st;
}

static gnt_status npz_matches(const gnti_import_input *in, bool *out)
{
    *out = in->source != NULL && gnti_byte_source_is_zip(in->source);
    return GNT_OK;
}

const gnti_importer gnti_import_npz = {
    .name = "npz",
    .matches = npz_matches,
    .read = npz_read,
};
