/* SPDX-License-Identifier: Apache-2.0 */
/* Makes and compares datasets with all optional members. Node i lies in graph 0 (first third), 1 or 2; arcs stay inside
 * their graph; per-arc values depend on the two ends, so that a reordering that loses track of arcs shows.
 */
#include "full_dataset.h"

#include "gnt_test.h"

#include "datasets/h5_value.h"

#include "base/philox.h"

#include <stdio.h>
#include <string.h>

static uint32_t draw(uint64_t seed, int64_t id, uint32_t column)
{
    return gnti_draw_word(gnti_seed_key(seed), GNTI_DRAW_GENERATE, 7, 0, id, column);
}

static int64_t graph_begin(int64_t n, int64_t g)
{
    return n * g / 3;
}

static void make_graph(const gnt_full_options *o, gnt_dataset *d)
{
    gnti_arc_list arcs = { 0 };
    const gnti_build_options options = { .symmetrise = !o->directed };
    const int64_t n = o->num_nodes;

    gnt_assert_ok(gnti_alloc_array(&arcs.source, 4 * n));
    gnt_assert_ok(gnti_alloc_array(&arcs.target, 4 * n));
    gnt_assert_ok(gnti_alloc_array(&arcs.weight, 4 * n));
    for (int64_t g = 0; g < 3; g++) {
        const int64_t begin = graph_begin(n, g), size = graph_begin(n, g + 1) - begin;

        for (int64_t k = 0; k < 4 * size && size > 0; k++) {
            const int64_t i = arcs.num_arcs++;

            arcs.source[i] = begin + (int64_t)gnti_below(draw(o->seed, i, 0), (uint32_t)size);
            arcs.target[i] = begin + (int64_t)gnti_below(draw(o->seed, i, 1), (uint32_t)size);
            arcs.weight[i] = 0.5f + gnti_uniform(draw(o->seed, i, 2));
        }
    }
    if (!o->weighted) {
        gnti_free(arcs.weight);
        arcs.weight = NULL;
    }
    gnt_assert_ok(gnti_graph_build(n, &arcs, &options, NULL, NULL, &d->graph));
    d->directed = o->directed;
    gnti_free(arcs.source);
    gnti_free(arcs.target);
    gnti_free(arcs.weight);
}

static void make_features(const gnt_full_options *o, gnt_dataset *d)
{
    const int64_t n = o->num_nodes, width = 5;
    gnti_graph *s = NULL;

    d->x.rows = n;
    d->x.width = width;
    gnt_assert_ok(gnti_calloc_array(&d->x.dense, n * width));
    for (int64_t i = 0; i < n * width; i++)
        if (draw(o->seed, i, 3) % 2)
            d->x.dense[i] = gnti_uniform(draw(o->seed, i, 4));
    if (!o->sparse)
        return;
    gnt_assert_ok(gnti_graph_alloc(n, width, n * width, true, &s));
    s->num_arcs = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int32_t c = 0; c < width; c++) {
            if (d->x.dense[i * width + c] == 0.0f)
                continue;
            s->columns[s->num_arcs] = c;
            s->weights[s->num_arcs++] = d->x.dense[i * width + c];
        }
        s->offsets[i + 1] = s->num_arcs;
    }
    gnti_free(d->x.dense);
    d->x.dense = NULL;
    d->x.sparse = s;
}

static void make_labels(const gnt_full_options *o, gnt_dataset *d)
{
    const int64_t n = o->num_nodes;
    gnti_labels *y = &d->y;
    char name[32];

    y->kind = o->labels;
    if (o->labels == GNT_LABELS_NONE)
        return;
    y->num_classes = 3;
    if (o->labels == GNT_LABELS_CLASS) {
        gnt_assert_ok(gnti_alloc_array(&y->class_of, n));
        for (int64_t i = 0; i < n; i++)
            y->class_of[i] = (int32_t)(i % 4) - 1;
    } else {
        gnt_assert_ok(gnti_alloc_array(&y->rows, 3 * n));
        for (int64_t i = 0; i < 3 * n; i++)
            y->rows[i] = o->labels == GNT_LABELS_MULTI ? (float)(draw(o->seed, i, 5) % 2)
                                                       : gnti_uniform(draw(o->seed, i, 5));
    }
    gnt_assert_ok(gnti_calloc_array(&y->names, 3));
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "class %d", i);
        gnt_assert_ok(gnti_strdup(&y->names[i], name));
    }
}

static void make_ids(const gnt_full_options *o, gnt_dataset *d)
{
    char name[32];

    if (!o->text_ids) {
        gnt_assert_ok(gnti_alloc_array(&d->id, o->num_nodes));
        for (int64_t i = 0; i < o->num_nodes; i++)
            d->id[i] = 1000 + 7 * i;
        return;
    }
    gnt_assert_ok(gnti_calloc_array(&d->id_text, o->num_nodes));
    for (int64_t i = 0; i < o->num_nodes; i++) {
        snprintf(name, sizeof name, "paper-%lld", (long long)i);
        gnt_assert_ok(gnti_strdup(&d->id_text[i], name));
    }
}

static void make_split(gnt_dataset *d, const char *name, bool inductive)
{
    gnti_split s = { .seed = 42, .inductive = inductive };

    gnt_assert_ok(gnti_strdup(&s.name, name));
    gnt_assert_ok(gnti_strdup(&s.kind, "random"));
    gnt_assert_ok(gnti_strdup(&s.source, "test"));
    for (int part = 0; part < 3; part++) {
        gnt_assert_ok(gnti_alloc_array(&s.nodes[part], d->num_nodes));
        for (int64_t i = part; i < d->num_nodes; i += 4)
            s.nodes[part][s.num_nodes[part]++] = i;
    }
    gnt_assert_ok(gnti_dataset_take_split(d, &s));
}

/* A carried array with zeroed values; answers them. */
static void *add(gnt_dataset *d, const char *path, gnti_axis axis, gnti_dtype_file type, int64_t rows,
                 int64_t width)
{
    gnti_array a = { .axis = axis, .dtype = type, .rows = rows, .width = width };
    void *values;

    gnt_assert_ok(gnti_strdup(&a.path, path));
    gnt_assert_ok(gnti_array_bytes(&a.data, rows * width, gnti_file_dtype_bytes(type), true));
    if (strstr(path, "type") != NULL)
        gnt_assert_ok(gnti_strdup(&a.attributes, "{\"names\":[\"a\",\"b\"]}"));
    values = a.data;
    gnt_assert_ok(gnti_dataset_take_array(d, &a));
    return values;
}

static void make_arrays(const gnt_full_options *o, gnt_dataset *d)
{
    const int64_t n = o->num_nodes, m = d->graph->num_arcs;
    int64_t *ptr = add(d, "/graphs/ptr", GNTI_AXIS_OTHER, GNTI_FILE_I64, 4, 1);
    int32_t *node_type = add(d, "/nodes/type", GNTI_AXIS_NODE, GNTI_FILE_I32, n, 1);
    int32_t *arc_type = add(d, "/edges/type", GNTI_AXIS_ARC, GNTI_FILE_I32, m, 1);
    int64_t *arc_id = add(d, "/edges/id", GNTI_AXIS_ARC, GNTI_FILE_I64, m, 1);
    double *arc_time = add(d, "/edges/time", GNTI_AXIS_ARC, GNTI_FILE_F64, m, 1);
    uint16_t *arc_x = add(d, "/edges/x", GNTI_AXIS_ARC, GNTI_FILE_F16, m, 2);
    int64_t *pairs = add(d, "/pairs/nodes", GNTI_AXIS_PAIR, GNTI_FILE_I64, n, 2);
    float *pair_y = add(d, "/pairs/y", GNTI_AXIS_PAIR, GNTI_FILE_F32, n, 1);
    uint8_t *graph_kind = add(d, "/graphs/kind", GNTI_AXIS_GRAPH, GNTI_FILE_U8, 3, 1);

    for (int64_t g = 0; g <= 3; g++)
        ptr[g] = graph_begin(n, g);
    for (int64_t r = 0; r < n; r++) {
        node_type[r] = (int32_t)(r % 2);
        pairs[2 * r] = r;
        pairs[2 * r + 1] = n - 1 - r;
        pair_y[r] = (float)r;
        for (int64_t a = d->graph->offsets[r]; a < d->graph->offsets[r + 1]; a++) {
            const int64_t ends = 1000 * r + d->graph->columns[a];

            arc_type[a] = (int32_t)(ends % 2);
            arc_id[a] = ends;
            arc_time[a] = (double)ends + 0.25;
            arc_x[2 * a] = (uint16_t)(ends & 0x3fff);
            arc_x[2 * a + 1] = (uint16_t)(r & 0x3fff);
        }
    }
    for (int g = 0; g < 3; g++)
        graph_kind[g] = (uint8_t)(g + 1);
}

gnt_dataset *gnt_full_dataset(const gnt_full_options *options)
{
    gnt_dataset *d = NULL;

    gnt_assert_ok(gnti_dataset_create(NULL, options->num_nodes, &d));
    make_graph(options, d);
    make_features(options, d);
    make_labels(options, d);
    make_ids(options, d);
    make_arrays(options, d);
    make_split(d, "public", false);
    make_split(d, "inductive", true);
    gnt_assert_ok(gnti_strdup(&d->provenance, "{\"made\":\"by a test\"}"));
    gnt_assert_ok(gnti_dataset_validate(d));
    gnt_assert_ok(gnti_dataset_hash(d));
    return d;
}

/* Both NULL, or equal bytes. */
static bool same(const void *a, const void *b, int64_t count, size_t item_bytes)
{
    if (a == NULL || b == NULL)
        return a == b || count == 0;
    return memcmp(a, b, (size_t)count * item_bytes) == 0;
}

static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool same_texts(char *const *a, char *const *b, int64_t count)
{
    if (a == NULL || b == NULL)
        return a == b;
    for (int64_t i = 0; i < count; i++)
        if (strcmp(a[i], b[i]) != 0)
            return false;
    return true;
}

static bool same_graph(const gnti_graph *a, const gnti_graph *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return a->num_rows == b->num_rows && a->num_cols == b->num_cols && a->num_arcs == b->num_arcs &&
           (a->weights == NULL) == (b->weights == NULL) && same(a->offsets, b->offsets, a->num_rows + 1, 8) &&
           same(a->columns, b->columns, a->num_arcs, 4) && same(a->weights, b->weights, a->num_arcs, 4);
}

static const char *split_difference(const gnt_dataset *a, const gnt_dataset *b)
{
    if (a->num_splits != b->num_splits)
        return "the number of splits";
    for (int64_t i = 0; i < a->num_splits; i++) {
        const gnti_split *s = &a->splits[i], *t = NULL;

        if (gnti_dataset_find_split(b, s->name, &t) != GNT_OK)
            return "a split's name";
        if (!same_text(s->kind, t->kind) || !same_text(s->source, t->source) || s->seed != t->seed ||
            s->inductive != t->inductive)
            return "a split's attributes";
        for (int part = 0; part < 3; part++)
            if (s->num_nodes[part] != t->num_nodes[part] ||
                !same(s->nodes[part], t->nodes[part], s->num_nodes[part], 8))
                return "a split's nodes";
    }
    return NULL;
}

static const char *array_difference(const gnt_dataset *a, const gnt_dataset *b)
{
    if (a->num_arrays != b->num_arrays)
        return "the number of arrays";
    for (int64_t i = 0; i < a->num_arrays; i++) {
        const gnti_array *x = &a->arrays[i], *y = gnti_dataset_find_array(b, x->path);

        if (y == NULL || x->axis != y->axis || x->dtype != y->dtype || x->rows != y->rows ||
            x->width != y->width || !same_text(x->attributes, y->attributes) ||
            !same(x->data, y->data, x->rows * x->width, gnti_file_dtype_bytes(x->dtype))) {
            print_error("array '%s'\n", x->path);
            return "an array";
        }
    }
    return NULL;
}

const char *gnt_dataset_difference(const gnt_dataset *a, const gnt_dataset *b)
{
    const int64_t n = a->num_nodes;
    const char *difference;

    if (n != b->num_nodes || a->directed != b->directed || !same_graph(a->graph, b->graph))
        return "the graph";
    if (a->x.rows != b->x.rows || a->x.width != b->x.width ||
        !same(a->x.dense, b->x.dense, n * a->x.width, 4) || !same_graph(a->x.sparse, b->x.sparse))
        return "the features";
    if (a->y.kind != b->y.kind || a->y.num_classes != b->y.num_classes ||
        !same(a->y.class_of, b->y.class_of, n, 4) || !same(a->y.rows, b->y.rows, n * a->y.num_classes, 4) ||
        !same_texts(a->y.names, b->y.names, a->y.num_classes))
        return "the labels";
    if (!same(a->id, b->id, n, 8) || !same_texts(a->id_text, b->id_text, n))
        return "the ids";
    difference = split_difference(a, b);
    return difference != NULL ? difference : array_difference(a, b);
}
