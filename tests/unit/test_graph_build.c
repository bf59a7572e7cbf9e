/* SPDX-License-Identifier: Apache-2.0 */
/* Building canonical CSR, against a dense matrix that is filled record by record. */
#include "tests/support/gnt_test.h"
#include "tests/support/prop.h"

#include "graph/graph.h"

#include <math.h>
#include <string.h>

/* How one run differs from the next: weights, policy, direction, loops. */
typedef struct variant {
    bool weighted;
    gnti_build_options options;
} variant;

/* What the slow version makes: (n, n) presence, weight and first record. */
typedef struct dense {
    int64_t n;
    bool *has;
    double *weight;
    int64_t *first;
} dense;

static dense dense_create(int64_t n)
{
    dense d = { .n = n };

    gnt_assert_ok(gnti_calloc_array(&d.has, n * n + 1));
    gnt_assert_ok(gnti_calloc_array(&d.weight, n * n + 1));
    gnt_assert_ok(gnti_calloc_array(&d.first, n * n + 1));
    return d;
}

static void dense_free(dense *d)
{
    gnti_free(d->has);
    gnti_free(d->weight);
    gnti_free(d->first);
}

static void dense_add(dense *d, const gnt_prop_graph *p, const variant *v)
{
    for (int64_t i = 0; i < p->num_arcs; i++) {
        const int64_t at = p->source[i] * d->n + p->target[i];
        const double w = v->weighted ? (double)p->weight[i] : 1.0;

        if (p->source[i] == p->target[i] && v->options.drop_loops)
            continue;
        if (!d->has[at]) {
            d->has[at] = true;
            d->first[at] = i;
            d->weight[at] = w;
        } else if (v->weighted && v->options.duplicates == GNTI_DUPLICATES_SUM) {
            d->weight[at] += w;
        }
    }
}

/* Both halves of a pair, from the state before. */
static void dense_symmetrise(dense *d, const variant *v)
{
    for (int64_t i = 0; i < d->n; i++) {
        for (int64_t j = 0; j < i; j++) {
            const int64_t a = i * d->n + j, b = j * d->n + i;
            double w;

            if (!d->has[a] && !d->has[b])
                continue;
            if (d->has[a] && d->has[b]) {
                if (v->options.duplicates == GNTI_DUPLICATES_FIRST)
                    w = d->first[a] < d->first[b] ? d->weight[a] : d->weight[b];
                else
                    w = fmax((double)(float)d->weight[a], (double)(float)d->weight[b]);
            } else {
                w = d->has[a] ? d->weight[a] : d->weight[b];
                d->first[d->has[a] ? b : a] = d->first[d->has[a] ? a : b];
            }
            d->has[a] = d->has[b] = true;
            d->weight[a] = d->weight[b] = w;
        }
    }
}

static const char *compare(const dense *d, const gnti_graph *g, const int64_t *origin)
{
    int64_t a = 0;

    for (int64_t i = 0; i < d->n; i++) {
        for (int64_t j = 0; j < d->n; j++) {
            const int64_t at = i * d->n + j;

            if (!d->has[at])
                continue;
            if (a >= g->offsets[i + 1] || a < g->offsets[i])
                return "a row has too few arcs";
            if (g->columns[a] != j)
                return "another column";
            if ((g->weights != NULL ? g->weights[a] : 1.0f) != (float)d->weight[at])
                return "another weight";
            if (origin[a] != d->first[at])
                return "another origin";
            a++;
        }
    }
    return a == g->num_arcs ? NULL : "too many arcs";
}

static const char *equals_dense(const gnt_prop_graph *p, void *user)
{
    const variant *v = user;
    const gnti_arc_list arcs = { .num_arcs = p->num_arcs,
                                 .source = p->source,
                                 .target = p->target,
                                 .weight = v->weighted ? p->weight : NULL };
    gnti_graph *g = NULL;
    int64_t *origin = NULL;
    gnti_build_report report;
    dense d = dense_create(p->num_nodes);
    const char *bad;

    dense_add(&d, p, v);
    if (v->options.symmetrise)
        dense_symmetrise(&d, v);
    gnt_assert_ok(gnti_graph_build(p->num_nodes, &arcs, &v->options, &report, &origin, &g));
    gnt_assert_ok(gnti_graph_validate(g));
    bad = compare(&d, g, origin);
    if (report.num_records != p->num_arcs || report.num_arcs != g->num_arcs)
        bad = "a wrong report";
    gnti_free(origin);
    gnti_graph_free(&g);
    dense_free(&d);
    return bad;
}

static void builds_like_a_dense_matrix(void **state)
{
    (void)state;
    for (int bits = 0; bits < 16; bits++) {
        variant v = { .weighted = bits & 1,
                      .options = { .symmetrise = bits & 2,
                                   .drop_loops = bits & 4,
                                   .duplicates = bits & 8 ? GNTI_DUPLICATES_FIRST : GNTI_DUPLICATES_SUM } };

        gnt_prop_run("build equals a dense matrix", equals_dense, &v, 6, 24);
    }
}

static void report_counts_records(void **state)
{
    int64_t source[] = { 0, 0, 1, 2, 2, 3 }, target[] = { 1, 1, 0, 2, 2, 0 };
    const gnti_arc_list arcs = { .num_arcs = 6, .source = source, .target = target };
    const gnti_build_options options = { .symmetrise = true, .duplicates = GNTI_DUPLICATES_FIRST };
    gnti_build_report r;
    gnti_graph *g = NULL;

    (void)state;
    gnt_assert_ok(gnti_graph_build(4, &arcs, &options, &r, NULL, &g));
    assert_int_equal(r.num_records, 6);
    assert_int_equal(r.num_repeated, 2); /* 0-1 and the loop */
    assert_int_equal(r.num_loops, 2);
    assert_int_equal(r.num_reversed_added, 1); /* 0-3 */
    assert_int_equal(r.num_arcs, 5);
    assert_null(g->weights);
    gnti_graph_free(&g);
}

static void bad_records_are_named(void **state)
{
    int64_t source[] = { 0, 5, 1 }, target[] = { 1, 1, -1 };
    float weight[] = { 1.0f, NAN, 3.0f };
    gnti_arc_list arcs = { .num_arcs = 3, .source = source, .target = target };
    gnti_build_options options = { .symmetrise = false };
    gnti_graph *g = NULL;

    (void)state;
    gnt_assert_status(gnti_graph_build(5, &arcs, &options, NULL, NULL, &g), GNT_ERR_FORMAT);
    gnt_assert_error_has("record 1", "5", "0 .. 4");
    gnt_assert_status(gnti_graph_build(6, &arcs, &options, NULL, NULL, &g), GNT_ERR_FORMAT);
    gnt_assert_error_has("record 2", "-1");
    arcs.num_arcs = 2;
    arcs.weight = weight;
    gnt_assert_status(gnti_graph_build(6, &arcs, &options, NULL, NULL, &g), GNT_ERR_FORMAT);
    gnt_assert_error_has("record 1", "nan");
    gnt_assert_status(gnti_graph_build((int64_t)INT32_MAX + 1, &arcs, &options, NULL, NULL, &g),
                      GNT_ERR_LIMIT);
    assert_null(g);
}

static void error_policy_names_both_records(void **state)
{
    int64_t source[] = { 0, 1, 0 }, target[] = { 1, 0, 1 };
    float weight[] = { 1.0f, 2.0f, 1.0f };
    gnti_arc_list arcs = { .num_arcs = 3, .source = source, .target = target, .weight = weight };
    gnti_build_options options = { .symmetrise = true, .duplicates = GNTI_DUPLICATES_ERROR };
    gnti_graph *g = NULL;

    (void)state;
    gnt_assert_status(gnti_graph_build(2, &arcs, &options, NULL, NULL, &g), GNT_ERR_FORMAT);
    gnt_assert_error_has("records 0 and 2");
    arcs.num_arcs = 2;
    gnt_assert_status(gnti_graph_build(2, &arcs, &options, NULL, NULL, &g), GNT_ERR_FORMAT);
    gnt_assert_error_has("weighs", "undirected");
    assert_null(g);
}

static void sums_that_overflow_are_refused(void **state)
{
    int64_t source[] = { 0, 0 }, target[] = { 1, 1 };
    float weight[] = { 3e38f, 3e38f };
    const gnti_arc_list arcs = { .num_arcs = 2, .source = source, .target = target, .weight = weight };
    const gnti_build_options options = { .duplicates = GNTI_DUPLICATES_SUM };
    gnti_graph *g = NULL;

    (void)state;
    gnt_assert_status(gnti_graph_build(2, &arcs, &options, NULL, NULL, &g), GNT_ERR_FORMAT);
    gnt_assert_error_has("0 to 1", "float32");
}

/* Each of these arrays breaks one rule; the message must name the row and what is wrong. */
static void validation_names_the_row(void **state)
{
    int64_t offsets[] = { 0, 2, 3, 4 };
    int32_t columns[] = { 0, 2, 1, 0 };
    float weights[] = { 1, 1, 1, 1 };
    gnti_graph g = { .num_rows = 3,
                     .num_cols = 3,
                     .num_arcs = 4,
                     .offsets = offsets,
                     .columns = columns,
                     .weights = weights,
                     .borrowed = true };

    (void)state;
    gnt_assert_ok(gnti_graph_validate(&g));
    offsets[1] = -2147483646; /* a 32-bit pointer that wrapped */
    gnt_assert_status(gnti_graph_validate(&g), GNT_ERR_FORMAT);
    gnt_assert_error_has("indptr not monotone at row 0", "-2147483646");
    offsets[1] = 2;
    offsets[3] = 5;
    gnt_assert_status(gnti_graph_validate(&g), GNT_ERR_FORMAT);
    gnt_assert_error_has("ends at 5", "4 arcs");
    offsets[3] = 4;
    offsets[0] = 1;
    gnt_assert_status(gnti_graph_validate(&g), GNT_ERR_FORMAT);
    offsets[0] = 0;
    columns[2] = 3;
    gnt_assert_status(gnti_graph_validate(&g), GNT_ERR_FORMAT);
    gnt_assert_error_has("row 1", "column 3");
    columns[2] = -1;
    gnt_assert_status(gnti_graph_validate(&g), GNT_ERR_FORMAT);
    columns[2] = 1;
    columns[1] = 0;
    gnt_assert_status(gnti_graph_validate(&g), GNT_ERR_FORMAT);
    gnt_assert_error_has("row 0", "twice");
    columns[0] = 2;
    gnt_assert_status(gnti_graph_validate(&g), GNT_ERR_FORMAT);
    gnt_assert_error_has("row 0", "not sorted");
    columns[0] = 0;
    columns[1] = 2;
    weights[3] = INFINITY;
    gnt_assert_status(gnti_graph_validate(&g), GNT_ERR_FORMAT);
    gnt_assert_error_has("from 2 to 0", "inf");
}

static void every_allocation_may_fail(void **state)
{
    gnt_prop_graph p;
    gnti_graph *g = NULL;
    int64_t *origin = NULL;
    const gnti_build_options options = { .symmetrise = true };

    (void)state;
    gnt_prop_graph_make(GNT_PROP_DUPLICATES, 7, 20, &p);
    const gnti_arc_list arcs = {
        .num_arcs = p.num_arcs, .source = p.source, .target = p.target, .weight = p.weight
    };

    GNT_BRUTAL_OUT(gnti_graph_build(p.num_nodes, &arcs, &options, NULL, &origin, &g), g);
    gnti_graph_free(&g);
    gnti_free(origin);
    gnt_prop_graph_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builds_like_a_dense_matrix),     cmocka_unit_test(report_counts_records),
        cmocka_unit_test(bad_records_are_named),          cmocka_unit_test(error_policy_names_both_records),
        cmocka_unit_test(sums_that_overflow_are_refused), cmocka_unit_test(validation_names_the_row),
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
