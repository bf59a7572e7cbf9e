/* SPDX-License-Identifier: Apache-2.0 */
/* Operators against dense matrices: sum, mean and sym of the whole graph, of induced subgraphs and of blocks.
 */
#include "tests/support/gnt_test.h"
#include "tests/support/prop.h"

#include "graph/operator.h"

#include "base/philox.h"

#include <math.h>
#include <string.h>

typedef enum kind { SUM, MEAN, SYM, NUM_KINDS } kind;

static gnti_graph *build(const gnt_prop_graph *p, bool symmetrise, bool weighted)
{
    const gnti_arc_list arcs = { .num_arcs = p->num_arcs,
                                 .source = p->source,
                                 .target = p->target,
                                 .weight = weighted ? p->weight : NULL };
    const gnti_build_options options = { .symmetrise = symmetrise };
    gnti_graph *g = NULL;

    gnt_assert_ok(gnti_graph_build(p->num_nodes, &arcs, &options, NULL, NULL, &g));
    return g;
}

/* The dense operator of a graph whose rows are sources: out (n, n), rows are destinations. */
static double *dense_of(const gnti_graph *g, kind k)
{
    const int64_t n = g->num_rows;
    double *m = NULL, *t = NULL;

    gnt_assert_ok(gnti_calloc_array(&m, n * n + 1));
    gnt_assert_ok(gnti_calloc_array(&t, n + 1));
    for (int64_t u = 0; u < n; u++)
        for (int64_t a = g->offsets[u]; a < g->offsets[u + 1]; a++)
            m[g->columns[a] * n + u] = g->weights != NULL ? (double)g->weights[a] : 1.0;
    for (int64_t i = 0; i < n; i++) {
        if (k == SYM && m[i * n + i] == 0.0)
            m[i * n + i] = 1.0; /* "+ I" adds the loops that are missing */
        for (int64_t j = 0; j < n; j++)
            t[i] += m[i * n + j];
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            if (k == MEAN)
                m[i * n + j] /= t[i] > 0.0 ? t[i] : 1.0;
            if (k == SYM)
                m[i * n + j] /= sqrt(t[i]) * sqrt(t[j]);
        }
    gnti_free(t);
    return m;
}

/* y = op x for one column, by the formulas in graph/operator.h. */
static void apply(const gnti_operator *op, kind k, const double *x, double *y)
{
    for (int64_t i = 0; i < op->num_dst; i++) {
        const double ti = k == SYM ? (double)op->sym_scale[i] : 1.0;
        const double loop = op->loop != NULL ? (double)op->loop[i] : 0.0;
        const double self = op->self != NULL ? (double)op->self[i] : 1.0;
        double sum = k == SYM ? self * ti * x[i] : loop * x[i];

        for (int64_t a = op->forward->offsets[i]; a < op->forward->offsets[i + 1]; a++) {
            const int32_t j = op->forward->columns[a];
            const double w = op->forward->weights != NULL ? (double)op->forward->weights[a] : 1.0;

            sum += w * (k == SYM ? (double)op->sym_scale[j] : 1.0) * x[j];
        }
        y[i] = k == MEAN ? (double)op->mean_scale[i] * sum : ti * sum;
    }
}

static double value_of(int64_t id)
{
    return (double)gnti_uniform(gnti_draw_word(gnti_seed_key(5), GNTI_DRAW_GENERATE, 0, 0, id, 0)) - 0.5;
}

/* Compares op on rows (row[i] = row of the dense n x n matrix, column[j] likewise) with the dense product. */
static const char *compare(const gnti_operator *op, const double *m, int64_t n, kind k, const int64_t *row,
                           const int64_t *column)
{
    double *x = NULL, *y = NULL;
    const char *bad = NULL;

    gnt_assert_ok(gnti_alloc_array(&x, op->num_src + 1));
    gnt_assert_ok(gnti_alloc_array(&y, op->num_dst + 1));
    for (int64_t j = 0; j < op->num_src; j++)
        x[j] = value_of(column != NULL ? column[j] : j);
    apply(op, k, x, y);
    for (int64_t i = 0; i < op->num_dst && bad == NULL; i++) {
        double want = 0.0;

        for (int64_t j = 0; j < n; j++)
            want += m[(row != NULL ? row[i] : i) * n + j] * value_of(j);
        if (!(fabs(want - y[i]) <= 1e-5 * (1.0 + fabs(want))))
            bad = "a row differs from the dense product";
    }
    gnti_free(x);
    gnti_free(y);
    return bad;
}

static const char *transpose_fits(const gnti_operator *op)
{
    gnti_graph *t = NULL;
    const char *bad = NULL;

    gnt_assert_ok(gnti_graph_transpose(op->forward, NULL, &t));
    if (t->num_arcs != op->transposed->num_arcs ||
        memcmp(t->offsets, op->transposed->offsets, (size_t)(t->num_rows + 1) * 8) != 0 ||
        memcmp(t->columns, op->transposed->columns, (size_t)t->num_arcs * 4) != 0)
        bad = "transposed is not the transpose of forward";
    gnti_graph_free(&t);
    return bad;
}

static const char *whole_equals_dense(const gnt_prop_graph *p, void *user)
{
    gnti_graph *g = build(p, p->seed % 2 == 0, *(bool *)user);
    gnti_operator *op = NULL;
    const char *bad = NULL;
    bool symmetric;

    gnt_assert_ok(gnti_operator_create(g, &op));
    gnt_assert_ok(gnti_graph_is_symmetric(g, &symmetric));
    if (op->symmetric != symmetric || (symmetric && op->transposed != op->forward))
        bad = "a wrong symmetry";
    for (int k = 0; k < NUM_KINDS && bad == NULL; k++) {
        double *m = dense_of(g, (kind)k);

        bad = compare(op, m, g->num_rows, (kind)k, NULL, NULL);
        gnti_free(m);
    }
    if (bad == NULL)
        bad = transpose_fits(op);
    for (int64_t r = 0; r < op->num_dst && bad == NULL; r++)
        for (int64_t a = op->forward->offsets[r]; a < op->forward->offsets[r + 1]; a++)
            if (op->forward->columns[a] == r)
                bad = "a loop is left among the arcs";
    gnti_operator_free(&op);
    gnti_graph_free(&g);
    return bad;
}

/* Every second node, from the last to the first. */
static int64_t *choose(int64_t n, int64_t *num)
{
    int64_t *nodes = NULL;

    gnt_assert_ok(gnti_alloc_array(&nodes, n + 1));
    *num = 0;
    for (int64_t v = n - 1; v >= 0; v -= 2)
        nodes[(*num)++] = v;
    return nodes;
}

static const char *induced_equals_dense(const gnt_prop_graph *p, void *user)
{
    gnti_graph *g = build(p, p->seed % 2 == 0, *(bool *)user), *s = NULL;
    gnti_operator *op = NULL;
    const char *bad = NULL;
    int64_t num, *nodes = choose(g->num_rows, &num);

    gnt_assert_ok(gnti_graph_subgraph(g, nodes, num, NULL, &s));
    gnt_assert_ok(gnti_operator_induced(g, nodes, num, &op));
    for (int64_t i = 0; i < num; i++)
        if (op->src_ids[i] != nodes[i])
            bad = "a row has another id";
    for (int k = 0; k < NUM_KINDS && bad == NULL; k++) {
        double *m = dense_of(s, (kind)k);

        bad = compare(op, m, num, (kind)k, NULL, NULL);
        gnti_free(m);
    }
    gnti_free(nodes);
    gnti_operator_free(&op);
    gnti_graph_free(&s);
    gnti_graph_free(&g);
    return bad;
}

static const char *block_equals_whole(const gnt_prop_graph *p, void *user)
{
    gnti_graph *g = build(p, p->seed % 2 == 0, *(bool *)user);
    gnti_operator *whole = NULL, *op = NULL;
    const char *bad = NULL;
    int64_t num, *roots = choose(g->num_rows, &num);

    gnt_assert_ok(gnti_operator_create(g, &whole));
    gnt_assert_ok(gnti_operator_block(whole, roots, num, &op));
    for (int64_t i = 0; i < op->num_src; i++)
        if (i < num ? op->src_ids[i] != roots[i] : i > num && op->src_ids[i] <= op->src_ids[i - 1])
            bad = "sources are not the roots, then the others ascending";
    for (int k = 0; k < NUM_KINDS && bad == NULL; k++) {
        double *m = dense_of(g, (kind)k);

        bad = compare(op, m, g->num_rows, (kind)k, roots, op->src_ids);
        gnti_free(m);
    }
    if (bad == NULL && op->transposed->num_arcs != op->forward->num_arcs)
        bad = "the transpose has other arcs";
    for (int64_t c = 0; c < op->num_src && bad == NULL; c++)
        for (int64_t a = op->transposed->offsets[c] + 1; a < op->transposed->offsets[c + 1]; a++)
            if (roots[op->transposed->columns[a]] <= roots[op->transposed->columns[a - 1]])
                bad = "a row of the transpose is not in the order of ids";
    gnti_free(roots);
    gnti_operator_free(&op);
    gnti_operator_free(&whole);
    gnti_graph_free(&g);
    return bad;
}

static void operators_equal_dense_ones(void **state)
{
    bool weighted[] = { false, true };

    (void)state;
    for (int i = 0; i < 2; i++) {
        gnt_prop_run("whole operator", whole_equals_dense, &weighted[i], 12, 24);
        gnt_prop_run("induced operator", induced_equals_dense, &weighted[i], 12, 24);
        gnt_prop_run("block", block_equals_whole, &weighted[i], 12, 24);
    }
}

/* Scenario 8a and 8b of the users' reports: no edges at all, and weights 1 and -3 that meet at a node. */
static void lonely_nodes_are_fine_negative_degrees_are_not(void **state)
{
    int64_t source[] = { 0, 2, 1, 1 }, target[] = { 1, 1, 0, 2 };
    float weight[] = { 1.0f, -3.0f, 1.0f, -3.0f };
    gnti_arc_list arcs = { .source = source, .target = target, .weight = weight };
    const gnti_build_options options = { .symmetrise = true };
    gnti_graph *g = NULL;
    gnti_operator *op = NULL;

    (void)state;
    gnt_assert_ok(gnti_graph_build(2, &arcs, &options, NULL, NULL, &g));
    gnt_assert_ok(gnti_operator_create(g, &op));
    assert_true(op->sym_scale[0] == 1.0f && op->sym_scale[1] == 1.0f && op->mean_scale[0] == 0.0f);
    gnti_operator_free(&op);
    gnti_graph_free(&g);
    arcs.num_arcs = 4;
    gnt_assert_ok(gnti_graph_build(3, &arcs, &options, NULL, NULL, &g));
    gnt_assert_status(gnti_operator_create(g, &op), GNT_ERR_FORMAT);
    gnt_assert_error_has("node 1", "-2");
    assert_null(op);
    gnti_graph_free(&g);
}

static void bad_roots_are_refused(void **state)
{
    gnt_prop_graph p;
    gnti_graph *g;
    gnti_operator *whole = NULL, *op = NULL;
    int64_t roots[] = { 1, 1, 9 };

    (void)state;
    gnt_prop_graph_make(GNT_PROP_PATH, 1, 5, &p);
    g = build(&p, true, false);
    gnt_assert_ok(gnti_operator_create(g, &whole));
    gnt_assert_status(gnti_operator_block(whole, roots, 2, &op), GNT_ERR_ARG);
    gnt_assert_error_has("root 1", "twice");
    gnt_assert_status(gnti_operator_block(whole, roots + 1, 2, &op), GNT_ERR_ARG);
    gnt_assert_error_has("root 9", "5");
    gnti_operator_free(&whole);
    gnti_graph_free(&g);
    gnt_prop_graph_free(&p);
}

static void every_allocation_may_fail(void **state)
{
    gnt_prop_graph p;
    gnti_graph *g;
    gnti_operator *whole = NULL, *part = NULL, *block = NULL;
    int64_t num, *nodes;

    (void)state;
    gnt_prop_graph_make(GNT_PROP_LOOPS, 1, 20, &p);
    for (int symmetrise = 0; symmetrise < 2; symmetrise++) {
        g = build(&p, symmetrise, true);
        nodes = choose(g->num_rows, &num);
        GNT_BRUTAL_OUT(gnti_operator_create(g, &whole), whole);
        GNT_BRUTAL_OUT(gnti_operator_induced(g, nodes, num, &part), part);
        GNT_BRUTAL_OUT(gnti_operator_block(whole, nodes, num, &block), block);
        gnti_free(nodes);
        gnti_operator_free(&whole);
        gnti_operator_free(&part);
        gnti_operator_free(&block);
        gnti_graph_free(&g);
    }
    gnt_prop_graph_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_equal_dense_ones),
        cmocka_unit_test(lonely_nodes_are_fine_negative_degrees_are_not),
        cmocka_unit_test(bad_roots_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
