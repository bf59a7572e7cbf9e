/* SPDX-License-Identifier: Apache-2.0 */
/* Digests are of plain text: one line "u v" a pair, one label or node a line, one "row column" a non-zero. */
#include "tests/support/facts.h"

#include "tests/support/gnt_test.h"

#include "base/sha256.h"
#include "base/text.h"

#include <string.h>

gntx_import_options gnt_facts_options(void)
{
    return (gntx_import_options){ .num_nodes = -1 };
}

gnt_dataset *gnt_facts_import(const char *relative, const gntx_import_options *options)
{
    char path[GNT_TEST_PATH_BYTES];
    const char *const paths[] = { gnt_test_data(path, relative) };
    gnt_dataset *data = NULL;

    gnt_assert_ok(gntx_import(NULL, paths, 1, options, &data, NULL));
    return data;
}

gnti_json *gnt_facts_load(const char *relative)
{
    char path[GNT_TEST_PATH_BYTES];
    gnti_json *json = NULL;

    gnt_assert_ok(gnti_json_read(gnt_test_data(path, relative), &json));
    return json;
}

/* Compares the digest of a text with facts' member "sha256" (of `facts` itself). */
static void check_digest(gnti_text *text, const gnti_json *facts, const char *what, const char *part)
{
    char got[GNTI_SHA256_HEX_BYTES];
    const char *want = NULL;

    assert_int_equal(text->status, GNT_OK);
    gnt_assert_ok(gnti_sha256_of(text->data != NULL ? text->data : "", (size_t)text->length, got));
    gnt_assert_ok(gnti_json_get_text(facts, "sha256", &want));
    if (strcmp(got, want) != 0)
        fail_msg("%s: digest of %s is %s, expected %s (%lld bytes)", what, part, got, want,
                 (long long)text->length);
    gnti_text_free(text);
}

static int64_t *compact_numbers(const gnti_graph *g, bool compact)
{
    int64_t *number = NULL, next = 0;

    gnt_assert_ok(gnti_calloc_array(&number, g->num_rows));
    for (int64_t r = 0; r < g->num_rows; r++) {
        number[r] += g->offsets[r + 1] > g->offsets[r];
        for (int64_t a = g->offsets[r]; a < g->offsets[r + 1]; a++)
            number[g->columns[a]]++;
    }
    for (int64_t r = 0; r < g->num_rows; r++)
        number[r] = !compact ? r : number[r] > 0 ? next++ : -1;
    return number;
}

static int64_t count_nodes(const int64_t *number, int64_t n)
{
    int64_t count = 0;

    for (int64_t r = 0; r < n; r++)
        count += number[r] >= 0;
    return count;
}

static void check_counts(const gnt_dataset *data, const gnti_json *graph, const int64_t *number,
                         const char *what)
{
    int64_t want = 0;

    gnt_assert_ok(gnti_json_get_int(graph, "num_nodes", &want));
    if (count_nodes(number, data->num_nodes) != want)
        fail_msg("%s: %lld nodes, expected %lld", what, (long long)count_nodes(number, data->num_nodes),
                 (long long)want);
    gnt_assert_ok(gnti_json_get_int(graph, "unique_self_loops", &want));
    for (int64_t r = 0; r < data->num_nodes; r++)
        for (int64_t a = data->graph->offsets[r]; a < data->graph->offsets[r + 1]; a++)
            want -= data->graph->columns[a] == r;
    if (want != 0)
        fail_msg("%s: %lld self loops are missing", what, (long long)want);
}

void gnt_facts_graph(const gnt_dataset *data, const gnti_json *graph, bool compact, const char *what)
{
    const gnti_graph *g = data->graph;
    gnti_graph *whole = NULL;
    gnti_arc_list arcs = { .num_arcs = g->num_arcs };
    const gnti_build_options both = { .symmetrise = true };
    int64_t *number = compact_numbers(g, compact);
    gnti_text directed = { 0 }, pairs = { 0 };

    check_counts(data, graph, number, what);
    gnt_assert_ok(gnti_alloc_array(&arcs.source, g->num_arcs));
    gnt_assert_ok(gnti_alloc_array(&arcs.target, g->num_arcs));
    for (int64_t r = 0; r < g->num_rows; r++) {
        for (int64_t a = g->offsets[r]; a < g->offsets[r + 1]; a++) {
            arcs.source[a] = r;
            arcs.target[a] = g->columns[a];
            gnti_text_printf(&directed, "%lld %lld\n", (long long)number[r],
                             (long long)number[g->columns[a]]);
        }
    }
    gnt_assert_ok(gnti_graph_build(g->num_rows, &arcs, &both, NULL, NULL, &whole));
    for (int64_t r = 0; r < whole->num_rows; r++)
        for (int64_t a = whole->offsets[r]; a < whole->offsets[r + 1]; a++)
            if (whole->columns[a] > r)
                gnti_text_printf(&pairs, "%lld %lld\n", (long long)number[r],
                                 (long long)number[whole->columns[a]]);
    check_digest(&pairs, gnti_json_find(graph, "undirected_edge_list"), what, "pairs");
    if (data->directed)
        check_digest(&directed, gnti_json_find(graph, "directed_edge_list"), what, "arcs");
    gnti_text_free(&directed);
    gnti_free(arcs.source);
    gnti_free(arcs.target);
    gnti_free(number);
    gnti_graph_free(&whole);
}

void gnt_facts_labels(const gnt_dataset *data, const gnti_json *labels, const char *what)
{
    gnti_text list = { 0 };
    int64_t want = 0;

    gnt_assert_ok(gnti_json_get_int(labels, "num_classes", &want));
    if (data->y.kind != GNT_LABELS_CLASS || data->y.num_classes != want)
        fail_msg("%s: %lld classes, expected %lld", what, (long long)data->y.num_classes, (long long)want);
    for (int64_t n = 0; n < data->num_nodes; n++)
        gnti_text_printf(&list, "%d\n", data->y.class_of[n]);
    check_digest(&list, gnti_json_find(labels, "label_list"), what, "labels");
}

void gnt_facts_features(const gnt_dataset *data, const gnti_json *features, const char *what)
{
    const gnti_features *x = &data->x;
    gnti_text pattern = { 0 };
    double sum = 0.0, want_sum = 0.0;
    int64_t width = 0;

    for (int64_t r = 0; r < x->rows; r++) {
        const int64_t begin = x->sparse != NULL ? x->sparse->offsets[r] : r * x->width;
        const int64_t end = x->sparse != NULL ? x->sparse->offsets[r + 1] : begin + x->width;

        for (int64_t i = begin; i < end; i++) {
            const double value = x->dense != NULL             ? (double)x->dense[i]
                                 : x->sparse->weights != NULL ? (double)x->sparse->weights[i]
                                                              : 1.0;

            sum += value;
            if (value < 0.0 || value > 0.0)
                gnti_text_printf(&pattern, "%lld %lld\n", (long long)r,
                                 (long long)(x->dense != NULL ? i - begin : x->sparse->columns[i]));
        }
    }
    gnt_assert_ok(gnti_json_get_int(features, "cols", &width));
    gnt_assert_ok(gnti_json_get_number(features, "sum", &want_sum));
    if (x->width != width || sum < want_sum * (1 - 1e-6) || sum > want_sum * (1 + 1e-6))
        fail_msg("%s: %lld columns of sum %g, expected %lld and %g", what, (long long)x->width, sum,
                 (long long)width, want_sum);
    check_digest(&pattern, gnti_json_find(features, "nonzero_pattern"), what, "features");
}

void gnt_facts_split(const gnt_dataset *data, const char *name, const gnti_json *parts, const char *what)
{
    static const char *const keys[3] = { "train", "val", "test" };
    const gnti_split *split = NULL;

    gnt_assert_ok(gnti_dataset_find_split(data, name, &split));
    for (int part = 0; part < 3; part++) {
        gnti_text list = { 0 };

        for (int64_t i = 0; i < split->num_nodes[part]; i++)
            gnti_text_printf(&list, "%lld\n", (long long)split->nodes[part][i]);
        check_digest(&list, gnti_json_find(gnti_json_find(parts, keys[part]), "list"), what, keys[part]);
    }
}
