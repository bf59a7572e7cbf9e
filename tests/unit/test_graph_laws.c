/* SPDX-License-Identifier: Apache-2.0 */
/* Laws of transposition, symmetry, subgraphs, renaming, degrees and components on seeded graphs of every
 * kind. */
#include "tests/support/gnt_test.h"
#include "tests/support/prop.h"

#include "graph/graph.h"

#include "base/philox.h"

#include <string.h>

static gnti_graph *build(const gnt_prop_graph *p, bool symmetrise)
{
    const gnti_arc_list arcs = { .num_arcs = p->num_arcs,
                                 .source = p->source,
                                 .target = p->target,
                                 .weight = p->seed % 2 ? p->weight : NULL };
    const gnti_build_options options = { .symmetrise = symmetrise };
    gnti_graph *g = NULL;

    gnt_assert_ok(gnti_graph_build(p->num_nodes, &arcs, &options, NULL, NULL, &g));
    return g;
}

static bool equal(const gnti_graph *a, const gnti_graph *b)
{
    if (a->num_rows != b->num_rows || a->num_cols != b->num_cols || a->num_arcs != b->num_arcs ||
        (a->weights == NULL) != (b->weights == NULL))
        return false;
    return memcmp(a->offsets, b->offsets, (size_t)(a->num_rows + 1) * 8) == 0 &&
           memcmp(a->columns, b->columns, (size_t)a->num_arcs * 4) == 0 &&
           (a->weights == NULL || memcmp(a->weights, b->weights, (size_t)a->num_arcs * 4) == 0);
}

/* The weight of arc (u, v), 0 when there is none. */
static float weight_of(const gnti_graph *g, int64_t u, int64_t v)
{
    for (int64_t a = g->offsets[u]; a < g->offsets[u + 1]; a++)
        if (g->columns[a] == v)
            return g->weights != NULL ? g->weights[a] : 1.0f;
    return 0.0f;
}

static const char *twice_is_the_same(const gnt_prop_graph *p, void *user)
{
    gnti_graph *g = build(p, false), *t = NULL, *back = NULL;
    int64_t *arc = NULL;
    const char *bad = NULL;

    (void)user;
    gnt_assert_ok(gnti_graph_transpose(g, &arc, &t));
    gnt_assert_ok(gnti_graph_transpose(t, NULL, &back));
    gnt_assert_ok(gnti_graph_validate(t));
    if (!equal(g, back))
        bad = "transposed twice differs";
    for (int64_t c = 0; c < t->num_rows && bad == NULL; c++)
        for (int64_t a = t->offsets[c]; a < t->offsets[c + 1]; a++)
            if (g->columns[arc[a]] != c || arc[a] < g->offsets[t->columns[a]] ||
                arc[a] >= g->offsets[t->columns[a] + 1])
                bad = "an arc of the transpose names another arc";
    gnti_free(arc);
    gnti_graph_free(&g);
    gnti_graph_free(&t);
    gnti_graph_free(&back);
    return bad;
}

static const char *symmetry_is_seen(const gnt_prop_graph *p, void *user)
{
    gnti_graph *g = build(p, *(bool *)user), *t = NULL;
    const char *bad = NULL;
    bool said;

    gnt_assert_ok(gnti_graph_transpose(g, NULL, &t));
    gnt_assert_ok(gnti_graph_is_symmetric(g, &said));
    if (said != equal(g, t))
        bad = "symmetry is misjudged";
    if (*(bool *)user && !said)
        bad = "a symmetrised graph is not symmetric";
    gnti_graph_free(&g);
    gnti_graph_free(&t);
    return bad;
}

/* A permutation of 0..n-1 from a seed. */
static int64_t *shuffle(int64_t n, uint64_t seed)
{
    int64_t *rank = NULL;

    gnt_assert_ok(gnti_alloc_array(&rank, n + 1));
    for (int64_t i = 0; i < n; i++) {
        const int64_t j = (int64_t)gnti_below(
            gnti_draw_word(gnti_seed_key(seed), GNTI_DRAW_PERMUTE, 0, 0, i, 0), (uint32_t)(i + 1));

        rank[i] = rank[j];
        rank[j] = i;
    }
    return rank;
}

static const char *renaming_keeps_arcs(const gnt_prop_graph *p, void *user)
{
    const int64_t n = p->num_nodes;
    int64_t *rank = shuffle(n, p->seed), *back = NULL, *arc = NULL;
    gnti_graph *g = build(p, false), *r = NULL, *again = NULL;
    const char *bad = NULL;

    (void)user;
    gnt_assert_ok(gnti_alloc_array(&back, n + 1));
    for (int64_t i = 0; i < n; i++)
        back[rank[i]] = i;
    gnt_assert_ok(gnti_graph_permute(g, rank, &arc, &r));
    gnt_assert_ok(gnti_graph_permute(r, back, NULL, &again));
    gnt_assert_ok(gnti_graph_validate(r));
    for (int64_t u = 0; u < n && bad == NULL; u++)
        for (int64_t v = 0; v < n; v++)
            if (weight_of(g, u, v) != weight_of(r, rank[u], rank[v]))
                bad = "an arc is lost or changed";
    for (int64_t a = 0; a < r->num_arcs && bad == NULL; a++)
        if (rank[g->columns[arc[a]]] != r->columns[a])
            bad = "an arc names another arc";
    if (!equal(g, again))
        bad = "renamed there and back differs";
    gnti_free(rank);
    gnti_free(back);
    gnti_free(arc);
    gnti_graph_free(&g);
    gnti_graph_free(&r);
    gnti_graph_free(&again);
    return bad;
}

static const char *subgraph_is_induced(const gnt_prop_graph *p, void *user)
{
    const int64_t n = p->num_nodes, k = n / 2;
    int64_t *nodes = shuffle(n, p->seed + 1), *arc = NULL;
    gnti_graph *g = build(p, false), *s = NULL;
    const char *bad = NULL;

    (void)user;
    gnt_assert_ok(gnti_graph_subgraph(g, nodes, k, &arc, &s));
    gnt_assert_ok(gnti_graph_validate(s));
    for (int64_t i = 0; i < k && bad == NULL; i++)
        for (int64_t j = 0; j < k; j++)
            if (weight_of(s, i, j) != weight_of(g, nodes[i], nodes[j]))
                bad = "an arc is lost, added or changed";
    for (int64_t a = 0; a < s->num_arcs && bad == NULL; a++)
        if (g->columns[arc[a]] != nodes[s->columns[a]])
            bad = "an arc names another arc";
    gnti_free(nodes);
    gnti_free(arc);
    gnti_graph_free(&g);
    gnti_graph_free(&s);
    return bad;
}

/* Slow components: the smallest label floods until nothing changes. */
static const char *components_flood(const gnt_prop_graph *p, void *user)
{
    const int64_t n = p->num_nodes;
    gnti_graph *g = build(p, false);
    int64_t *component = NULL, *label = NULL, num = 0, roots = 0;
    const char *bad = NULL;
    bool moved = true;

    (void)user;
    gnt_assert_ok(gnti_graph_components(g, &component, &num));
    gnt_assert_ok(gnti_alloc_array(&label, n + 1));
    for (int64_t v = 0; v < n; v++)
        label[v] = v;
    while (moved) {
        moved = false;
        for (int64_t u = 0; u < n; u++)
            for (int64_t a = g->offsets[u]; a < g->offsets[u + 1]; a++) {
                int64_t *x = &label[u], *y = &label[g->columns[a]];

                moved = moved || *x != *y;
                *x = *y = gnti_min_i64(*x, *y);
            }
    }
    for (int64_t v = 0; v < n; v++) {
        if (label[v] == v && component[v] != roots++)
            bad = "components are not numbered by their smallest node";
        if (component[v] != component[label[v]])
            bad = "connected nodes lie in two components";
    }
    if (roots != num)
        bad = "a wrong number of components";
    gnti_free(component);
    gnti_free(label);
    gnti_graph_free(&g);
    return bad;
}

static const char *degrees_are_sums(const gnt_prop_graph *p, void *user)
{
    gnti_graph *g = build(p, false);
    double *degree = NULL;
    const char *bad = NULL;

    (void)user;
    gnt_assert_ok(gnti_graph_degrees(g, &degree));
    for (int64_t u = 0; u < g->num_rows; u++) {
        double sum = 0.0;

        for (int64_t v = 0; v < g->num_cols; v++)
            sum += (double)weight_of(g, u, v);
        if (sum != degree[u])
            bad = "a degree is not the sum of its row";
    }
    gnti_free(degree);
    gnti_graph_free(&g);
    return bad;
}

static void laws_hold(void **state)
{
    bool yes = true, no = false;

    (void)state;
    gnt_prop_run("transposed twice is the same", twice_is_the_same, NULL, 20, 40);
    gnt_prop_run("symmetry is proven", symmetry_is_seen, &no, 20, 30);
    gnt_prop_run("symmetrised is symmetric", symmetry_is_seen, &yes, 20, 30);
    gnt_prop_run("renaming keeps arcs", renaming_keeps_arcs, NULL, 20, 30);
    gnt_prop_run("subgraphs are induced", subgraph_is_induced, NULL, 20, 30);
    gnt_prop_run("components flood", components_flood, NULL, 20, 40);
    gnt_prop_run("degrees are sums", degrees_are_sums, NULL, 20, 30);
}

static void bad_choices_are_refused(void **state)
{
    gnt_prop_graph p;
    gnti_graph *g, *out = NULL;
    int64_t nodes[] = { 0, 2, 0 }, rank[] = { 0, 1, 1, 2 };

    (void)state;
    gnt_prop_graph_make(GNT_PROP_PATH, 1, 4, &p);
    g = build(&p, false);
    gnt_assert_status(gnti_graph_subgraph(g, nodes, 3, NULL, &out), GNT_ERR_ARG);
    gnt_assert_error_has("node 0", "twice");
    nodes[2] = 4;
    gnt_assert_status(gnti_graph_subgraph(g, nodes, 3, NULL, &out), GNT_ERR_ARG);
    gnt_assert_status(gnti_graph_subgraph(g, nodes, 5, NULL, &out), GNT_ERR_ARG);
    gnt_assert_status(gnti_graph_permute(g, rank, NULL, &out), GNT_ERR_ARG);
    gnt_assert_error_has("1 and 2", "number 1");
    rank[2] = 4;
    gnt_assert_status(gnti_graph_permute(g, rank, NULL, &out), GNT_ERR_ARG);
    assert_null(out);
    gnti_graph_free(&g);
    gnt_prop_graph_free(&p);
}

static void every_allocation_may_fail(void **state)
{
    gnt_prop_graph p;
    gnti_graph *g, *t = NULL, *s = NULL, *r = NULL;
    int64_t *arc = NULL, *component = NULL, *nodes, num;
    bool symmetric;

    (void)state;
    gnt_prop_graph_make(GNT_PROP_POWER_LAW, 1, 30, &p);
    g = build(&p, true);
    nodes = shuffle(g->num_rows, 3);
    GNT_BRUTAL_OUT(gnti_graph_transpose(g, &arc, &t), t);
    gnti_free(arc);
    GNT_BRUTAL_OUT(gnti_graph_subgraph(g, nodes, g->num_rows / 2, &arc, &s), s);
    gnti_free(arc);
    GNT_BRUTAL_OUT(gnti_graph_permute(g, nodes, &arc, &r), r);
    gnti_free(arc);
    GNT_BRUTAL_OUT(gnti_graph_components(g, &component, &num), component);
    GNT_BRUTAL(gnti_graph_is_symmetric(g, &symmetric));
    gnti_free(component);
    gnti_free(nodes);
    gnti_graph_free(&g);
    gnti_graph_free(&t);
    gnti_graph_free(&s);
    gnti_graph_free(&r);
    gnt_prop_graph_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(laws_hold),
        cmocka_unit_test(bad_choices_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
