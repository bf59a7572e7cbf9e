/* SPDX-License-Identifier: Apache-2.0 */
/* What every dataset must satisfy, whoever made it. Errors name the HDF5 path of the member, which is also
 * what the member is called when it never was in a file.
 */
#include "datasets/dataset.h"

#include <math.h>
#include <string.h>

static gnt_status check_graph(const gnt_dataset *d)
{
    gnt_status st = GNT_OK;
    bool symmetric = true;

    GNT_CHECK(d->graph != NULL, GNT_ERR_FORMAT, "there is no graph ('/graph/adj')");
    GNT_CHECK(d->graph->num_rows == d->num_nodes && d->graph->num_cols == d->num_nodes, GNT_ERR_FORMAT,
              "the graph is %lld x %lld but there are %lld nodes ('/graph/adj')",
              (long long)d->graph->num_rows, (long long)d->graph->num_cols, (long long)d->num_nodes);
    st = gnti_graph_validate(d->graph);
    if (st != GNT_OK) {
        gnti_error_prefix("'/graph/adj': ");
        GNT_TRY(st);
    }
    if (!d->directed)
        GNT_TRY(gnti_graph_is_symmetric(d->graph, &symmetric));
    GNT_CHECK(symmetric, GNT_ERR_FORMAT,
              "'/graph/adj' is said to be undirected but some arc has no equal reverse: store both "
              "directions with the "
              "same weight or say that it is directed");
done:
    return st;
}

static gnt_status check_features(const gnti_features *x, int64_t num_nodes)
{
    gnt_status st = GNT_OK;

    if (x->dense == NULL && x->sparse == NULL) {
        GNT_CHECK(x->width == 0 || num_nodes == 0, GNT_ERR_FORMAT,
                  "%lld features are named but none is there", (long long)x->width);
        return GNT_OK;
    }
    GNT_CHECK(x->rows == num_nodes, GNT_ERR_FORMAT,
              "features have %lld rows but the graph has %lld nodes ('/nodes/x')", (long long)x->rows,
              (long long)num_nodes);
    if (x->sparse == NULL)
        return GNT_OK;
    GNT_CHECK(x->sparse->num_rows == x->rows && x->sparse->num_cols == x->width, GNT_ERR_FORMAT,
              "sparse features are %lld x %lld, expected %lld x %lld ('/nodes/x')",
              (long long)x->sparse->num_rows, (long long)x->sparse->num_cols, (long long)x->rows,
              (long long)x->width);
done:
    return st;
}

static gnt_status check_classes(const gnti_labels *y, int64_t num_nodes)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(y->class_of != NULL || num_nodes == 0, GNT_ERR_FORMAT, "there are no labels ('/nodes/y')");
    for (int64_t i = 0; i < num_nodes; i++)
        GNT_CHECK(y->class_of[i] >= -1 && y->class_of[i] < y->num_classes, GNT_ERR_FORMAT,
                  "node %lld has the label %d, labels are 0 .. %lld, or -1 for unlabelled ('/nodes/y')",
                  (long long)i, y->class_of[i], (long long)y->num_classes - 1);
done:
    return st;
}

static gnt_status check_labels(const gnti_labels *y, int64_t num_nodes)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(y->num_classes >= 0 && y->num_classes <= INT32_MAX, GNT_ERR_LIMIT,
              "%lld classes, at most %d are possible ('/nodes/y')", (long long)y->num_classes, INT32_MAX);
    if (y->kind == GNT_LABELS_NONE)
        return GNT_OK;
    if (y->kind == GNT_LABELS_CLASS) {
        GNT_TRY(check_classes(y, num_nodes));
        return GNT_OK;
    }
    GNT_CHECK(y->rows != NULL || num_nodes == 0 || y->num_classes == 0, GNT_ERR_FORMAT,
              "there are no labels ('/nodes/y')");
    for (int64_t i = 0; y->kind == GNT_LABELS_MULTI && i < num_nodes * y->num_classes; i++)
        GNT_CHECK(y->rows[i] == 0.0f || y->rows[i] == 1.0f, GNT_ERR_FORMAT,
                  "node %lld has %g for label %lld, multi-label rows hold 0 and 1 ('/nodes/y')",
                  (long long)(i / y->num_classes), (double)y->rows[i], (long long)(i % y->num_classes));
done:
    return st;
}

static gnt_status check_split(const gnti_split *s, int64_t limit, const char *unit)
{
    static const char *const parts[] = { "train", "valid", "test" };
    gnt_status st = GNT_OK;

    for (int part = 0; part < 3; part++) {
        for (int64_t i = 0; i < s->num_nodes[part]; i++) {
            const int64_t v = s->nodes[part][i];

            GNT_CHECK(v >= 0 && v < limit, GNT_ERR_FORMAT,
                      "'/splits/%s/%s' lists %s %lld, they are 0 .. %lld", s->name, parts[part], unit,
                      (long long)v, (long long)limit - 1);
            GNT_CHECK(i == 0 || v > s->nodes[part][i - 1], GNT_ERR_FORMAT,
                      "'/splits/%s/%s' is not ascending at place %lld (%lld after %lld)", s->name,
                      parts[part], (long long)i, (long long)v, (long long)s->nodes[part][i - 1]);
        }
    }
done:
    return st;
}

static gnt_status check_pointers(const gnti_array *ptr, int64_t num_nodes)
{
    gnt_status st = GNT_OK;
    const int64_t *p = ptr->data;

    GNT_CHECK(ptr->dtype == GNTI_FILE_I64 && ptr->width == 1 && ptr->rows >= 1, GNT_ERR_FORMAT,
              "'/graphs/ptr' must be a vector of int64");
    GNT_CHECK(p[0] == 0 && p[ptr->rows - 1] == num_nodes, GNT_ERR_FORMAT,
              "'/graphs/ptr' goes from %lld to %lld, expected 0 to %lld", (long long)p[0],
              (long long)p[ptr->rows - 1], (long long)num_nodes);
    for (int64_t g = 1; g < ptr->rows; g++)
        GNT_CHECK(p[g] >= p[g - 1], GNT_ERR_FORMAT,
                  "'/graphs/ptr' not monotone at graph %lld: %lld is followed by %lld", (long long)g - 1,
                  (long long)p[g - 1], (long long)p[g]);
done:
    return st;
}

static gnt_status check_array(const gnt_dataset *d, const gnti_array *a)
{
    gnt_status st = GNT_OK;
    const gnti_array *pairs = gnti_dataset_find_array(d, "/pairs/nodes");
    int64_t want = a->rows;

    if (strcmp(a->path, "/graphs/ptr") == 0)
        return GNT_OK; /* has been looked at */
    if (a->axis == GNTI_AXIS_NODE)
        want = d->num_nodes;
    else if (a->axis == GNTI_AXIS_ARC)
        want = d->graph->num_arcs;
    else if (a->axis == GNTI_AXIS_GRAPH)
        want = gnti_dataset_num_graphs(d);
    else if (a->axis == GNTI_AXIS_PAIR)
        want = pairs != NULL ? pairs->rows : -1;
    GNT_CHECK(a->rows == want, GNT_ERR_FORMAT, "'%s' has %lld rows, expected %lld", a->path,
              (long long)a->rows, (long long)want);
    if (a == pairs) {
        GNT_CHECK(a->dtype == GNTI_FILE_I64 && a->width == 2, GNT_ERR_FORMAT,
                  "'/pairs/nodes' must hold int64 rows of 2 nodes");
        for (int64_t i = 0; i < 2 * a->rows; i++)
            GNT_CHECK(((int64_t *)a->data)[i] >= 0 && ((int64_t *)a->data)[i] < d->num_nodes, GNT_ERR_FORMAT,
                      "'/pairs/nodes' names node %lld in row %lld, nodes are 0 .. %lld",
                      (long long)((int64_t *)a->data)[i], (long long)i / 2, (long long)d->num_nodes - 1);
    }
done:
    return st;
}

gnt_status gnti_dataset_validate(const gnt_dataset *data)
{
    gnt_status st = GNT_OK;
    const gnti_array *ptr = gnti_dataset_find_array(data, "/graphs/ptr");
    const bool graphs = gnti_dataset_splits_graphs(data);

    GNT_TRY(check_graph(data));
    GNT_TRY(check_features(&data->x, data->num_nodes));
    GNT_TRY(check_labels(&data->y, data->num_nodes));
    if (ptr != NULL)
        GNT_TRY(check_pointers(ptr, data->num_nodes));
    for (int64_t i = 0; i < data->num_arrays; i++)
        GNT_TRY(check_array(data, &data->arrays[i]));
    for (int64_t i = 0; i < data->num_splits; i++)
        GNT_TRY(check_split(&data->splits[i], graphs ? gnti_dataset_num_graphs(data) : data->num_nodes,
                            graphs ? "graph" : "node"));
done:
    return st;
}

int64_t gnti_split_overlap(const gnti_split *split, int *first_part, int *second_part)
{
    for (int a = 0; a < 3; a++) {
        for (int b = a + 1; b < 3; b++) {
            int64_t i = 0, j = 0;

            while (i < split->num_nodes[a] && j < split->num_nodes[b]) {
                const int64_t u = split->nodes[a][i], v = split->nodes[b][j];

                if (u == v) {
                    *first_part = a;
                    *second_part = b;
                    return u;
                }
                i += u < v;
                j += v < u;
            }
        }
    }
    return -1;
}

int64_t gnti_features_find_nonfinite(const gnti_features *x, int64_t *column)
{
    for (int64_t r = 0; x->dense != NULL && r < x->rows; r++) {
        for (int64_t c = 0; c < x->width; c++) {
            if (isfinite(x->dense[r * x->width + c]))
                continue;
            if (column != NULL)
                *column = c;
            return r;
        }
    }
    for (int64_t r = 0; x->sparse != NULL && x->sparse->weights != NULL && r < x->rows; r++) {
        for (int64_t a = x->sparse->offsets[r]; a < x->sparse->offsets[r + 1]; a++) {
            if (isfinite(x->sparse->weights[a]))
                continue;
            if (column != NULL)
                *column = x->sparse->columns[a];
            return r;
        }
    }
    return -1;
}
