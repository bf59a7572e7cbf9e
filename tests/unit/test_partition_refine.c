/* SPDX-License-Identifier: Apache-2.0 */
/* The running halo against a recount, quality against the definition, own bisection and tree order on graphs with known
 * answers, refinement that is never worse and stays in its groups.
 */
#include "tests/support/cut_case.h"

#include "partition/bisect.h"
#include "partition/refine.h"

#include "base/philox.h"

#include <string.h>

static uint32_t draw(uint64_t seed, int64_t i, uint32_t below)
{
    return gnti_below(gnti_draw_word(gnti_seed_key(seed), GNTI_DRAW_GENERATE, 7, 0, i, 0), below);
}

static gnti_cut_graph *clean(const gnti_graph *g, int32_t num_chunks, const uint8_t *train)
{
    const gnti_partition_config config = { .train = train };
    gnti_cut_graph *c = NULL;
    int32_t *isolated = NULL, num_isolated, weight;

    gnt_assert_ok(gnti_cut_graph_clean(g, &config, num_chunks, &c, &isolated, &num_isolated, &weight));
    gnti_free(isolated);
    return c;
}

/* As gnti_quality sees the cut graph. */
static void recount(const gnti_cut_graph *c, const int32_t *part, int32_t num_parts, int64_t *volume,
                    int64_t *cut)
{
    gnti_graph *g = NULL;
    gnti_quality *q = NULL;

    gnt_assert_ok(gnti_graph_alloc(c->num_nodes, c->num_nodes, c->num_arcs, false, &g));
    for (int32_t v = 0; v <= c->num_nodes; v++)
        g->offsets[v] = c->offsets[v];
    memcpy(g->columns, c->columns, (size_t)c->num_arcs * sizeof *c->columns);
    gnt_assert_ok(gnti_graph_validate(g));
    gnt_assert_ok(gnti_quality_measure(g, part, num_parts, NULL, &q));
    *volume = q->volume;
    *cut = q->cut;
    gnti_quality_free(&q);
    gnti_graph_free(&g);
}

static int32_t *random_parts(int32_t num_nodes, int32_t num_parts, uint64_t seed)
{
    int32_t *part = NULL;

    gnt_assert_ok(gnti_alloc_array(&part, num_nodes));
    for (int32_t v = 0; v < num_nodes; v++)
        part[v] = (int32_t)draw(seed, v, (uint32_t)num_parts);
    return part;
}

/* No part that would not raise the halo is missing among the candidates, and where they say to be exact they are. */
static bool candidates_are_all(gnti_halo_table *t, int32_t v, uint64_t among)
{
    gnti_halo_sets sets;

    gnti_halo_candidates(t, v, among, &sets);
    if (t->num_parts > GNTI_HALO_MASK_PARTS && sets.exact)
        return false;
    for (int32_t to = 0; to < t->num_parts; to++) {
        const bool asked = (among >> (to % GNTI_HALO_MASK_PARTS) & 1) != 0;
        const bool said = (sets.all >> (to % GNTI_HALO_MASK_PARTS) & 1) != 0;
        int64_t gain;

        if (to == t->part[v] || gnti_halo_neighbours(t, v, to) == 0 || !asked)
            continue;
        gnti_halo_weigh(t, v, UINT64_MAX, -1);
        gain = gnti_halo_gain(t, v, to);
        if (gain >= 0 && !said)
            return false;
        if (sets.exact && (said != (gain >= 0) || (said && gnti_halo_sets_gain(&sets, to) != gain)))
            return false;
    }
    return true;
}

/* Any moves, to any part: halo, cut, counts and work stay those of a recount. */
static const char *running_halo(const gnt_prop_graph *p, void *user)
{
    gnti_graph *g = gnt_cut_as_listed(p);
    gnti_cut_graph *c = clean(g, 4, NULL);
    const int32_t parts =
        p->seed % 3 == 0 ? 70 : 2 + (int32_t)(p->seed % 6); /* more and fewer than masks have bits */
    int32_t *part = random_parts(c->num_nodes, parts, p->seed);
    gnti_halo_table *t = NULL;
    int64_t volume, cut;
    const char *bad = NULL;

    (void)user;
    gnt_assert_ok(gnti_halo_table_create(c, parts, &t));
    gnti_halo_table_load(t, parts, part);
    for (int64_t i = 0; i < 60 && c->num_nodes > 0 && bad == NULL; i++) {
        const int32_t v = (int32_t)draw(p->seed + 1, i, (uint32_t)c->num_nodes),
                      to = (int32_t)draw(p->seed + 2, i, (uint32_t)parts);
        const int64_t before = t->halo;

        if (!candidates_are_all(
                t, v, ~((uint64_t)1 << (part[v] % 64)) & (i % 3 == 0 ? UINT64_MAX / 3 : UINT64_MAX)))
            bad = "a move that pays is not among the candidates";
        if (to != part[v]) {
            gnti_halo_weigh(t, v, UINT64_MAX, to);
            const int64_t gain = gnti_halo_gain(t, v, to);

            gnti_halo_move(t, v, to);
            if (before - t->halo != gain)
                bad = "the halo did not change by the gain";
        }
        recount(c, part, parts, &volume, &cut);
        if (t->halo != volume)
            bad = "the running halo differs from a recount";
        if (t->cut != cut)
            bad = "the running cut differs from a recount";
    }
    gnti_halo_table_free(&t);
    gnti_free(part);
    gnti_cut_graph_free(&c);
    gnti_graph_free(&g);
    return bad;
}

static void test_running_halo(void **state)
{
    (void)state;
    gnt_prop_run("running halo", running_halo, NULL, 12, 40);
}

static const char *quality_by_definition(const gnt_prop_graph *p, void *user)
{
    gnti_graph *g = gnt_cut_as_listed(p);
    const int32_t parts = 1 + (int32_t)(p->seed % 5);
    int32_t *part = random_parts((int32_t)p->num_nodes, parts, p->seed);
    gnti_quality *q = NULL;
    int64_t volume, cut, sum = 0;
    const char *bad = NULL;

    (void)user;
    gnt_assert_ok(gnti_quality_measure(g, part, parts, NULL, &q));
    gnt_cut_recount(g, part, parts, &volume, &cut);
    for (int32_t i = 0; i < parts * parts; i++)
        sum += q->send[i];
    if (q->volume != volume || sum != volume)
        bad = "the volume differs from the definition";
    if (q->cut != cut)
        bad = "the cut differs from the definition";
    gnti_quality_free(&q);
    gnti_free(part);
    gnti_graph_free(&g);
    return bad;
}

static void test_quality(void **state)
{
    (void)state;
    gnt_prop_run("quality", quality_by_definition, NULL, 12, 40);
}

/* Refinement: the halo never rises, bounds hold, nodes stay in their groups; training nodes count too. */
static void test_never_worse(void **state)
{
    const int32_t group[8] = { 0, 0, 1, 1, 1, 2, 2, 2 };
    double share[8];
    const double tolerance[2] = { 1.05, 1.10 };

    (void)state;
    for (int i = 0; i < 8; i++)
        share[i] = 0.125;
    for (uint64_t seed = 0; seed < 6; seed++) {
        gnti_graph *g = gnt_cut_random(800, 3000, seed);
        uint8_t train[800];

        for (int v = 0; v < 800; v++)
            train[v] = draw(seed + 9, v, 3) == 0;
        gnti_cut_graph *c = clean(g, 8, seed % 2 ? train : NULL);
        int32_t *part = random_parts(c->num_nodes, 8, seed), *first = random_parts(c->num_nodes, 8, seed);
        gnti_halo_table *t = NULL;
        gnti_balance *b = NULL;
        int64_t volume, cut, before;
        bool over, over_before;

        gnt_assert_ok(gnti_balance_make(c, 8, share, tolerance, &b));
        gnt_assert_ok(gnti_halo_table_create(c, 8, &t));
        gnti_halo_table_load(t, 8, part);
        before = t->halo;
        (void)gnti_balance_worst(b, t, &over_before);
        gnt_assert_ok(gnti_refine_volume(t, b, group, NULL, 8));
        assert_true(t->halo < before);
        recount(c, part, 8, &volume, &cut);
        assert_int_equal(volume, t->halo);
        for (int32_t v = 0; v < c->num_nodes; v++)
            assert_int_equal(group[part[v]], group[first[v]]);
        (void)gnti_balance_worst(b, t, &over);
        assert_true(over_before || !over);
        gnt_assert_ok(gnti_repair(t, b));
        (void)gnti_balance_worst(b, t, &over);
        assert_false(over);
        before = t->halo;
        gnt_assert_ok(gnti_refine_climb(t, b, NULL));
        assert_true(t->halo <= before);
        recount(c, part, 8, &volume, &cut);
        assert_int_equal(volume, t->halo);
        gnti_balance_free(&b);
        gnti_halo_table_free(&t);
        gnti_free(part);
        gnti_free(first);
        gnti_cut_graph_free(&c);
        gnti_graph_free(&g);
    }
}

/* All in one part of sixteen: repair fills the others. */
static void test_repair_empty(void **state)
{
    gnti_graph *g = gnt_cut_grid(30, 30);
    gnti_cut_graph *c = clean(g, 16, NULL);
    const double tolerance[1] = { 1.05 };
    double share[16];
    int32_t *part = NULL;
    gnti_halo_table *t = NULL;
    gnti_balance *b = NULL;
    bool over;

    (void)state;
    for (int i = 0; i < 16; i++)
        share[i] = 1.0 / 16;
    gnt_assert_ok(gnti_calloc_array(&part, c->num_nodes));
    gnt_assert_ok(gnti_balance_make(c, 16, share, tolerance, &b));
    gnt_assert_ok(gnti_halo_table_create(c, 16, &t));
    gnti_halo_table_load(t, 16, part);
    gnt_assert_ok(gnti_repair(t, b));
    for (int i = 0; i < 16; i++)
        assert_true(t->count[i] > 0);
    assert_true(gnti_balance_worst(b, t, &over) < 1.5);
    assert_true(t->halo < 1500); /* in pieces; node by node it would be 3300 */
    gnti_balance_free(&b);
    gnti_halo_table_free(&t);
    gnti_free(part);
    gnti_cut_graph_free(&c);
    gnti_graph_free(&g);
}

static void test_bisect(void **state)
{
    gnti_graph *graphs[] = { gnt_cut_grid(10, 20), gnt_cut_cliques(20), gnt_cut_path(101) };
    const int64_t volumes[] = { 20, 2, 2 }; /* a straight cut of the grid; a slanted one has less */

    (void)state;
    for (int i = 0; i < 3; i++) {
        gnti_cut_graph *c = clean(graphs[i], 2, NULL);
        const gnti_bisect_goal goal = { 0.5, 0.02, { 1, 1 } };
        uint8_t *side = NULL;
        int32_t *part = NULL;
        int64_t volume, cut;

        gnt_assert_ok(gnti_alloc_array(&side, c->num_nodes));
        gnt_assert_ok(gnti_alloc_array(&part, c->num_nodes));
        gnt_assert_ok(gnti_bisect(c, &goal, side));
        for (int32_t v = 0; v < c->num_nodes; v++)
            part[v] = side[v];
        recount(c, part, 2, &volume, &cut);
        assert_true(volume <= volumes[i]);
        gnti_free(side);
        gnti_free(part);
        gnti_cut_graph_free(&c);
        gnti_graph_free(&graphs[i]);
    }
}

/* Chunks along a path, named at random: the tree finds the order of the path, in either direction at each split. */
static void test_tree_order(void **state)
{
    enum { K = 64 };
    int32_t name[K], rank[K];
    gnti_quotient *q = NULL;

    (void)state;
    for (int i = 0; i < K; i++)
        name[i] = (i * 37 + 11) % K;
    gnt_assert_ok(gnti_quotient_create(K, &q));
    for (int i = 0; i + 1 < K; i++)
        gnt_assert_ok(gnti_quotient_add(q, name[i], name[i + 1], 5));
    gnt_assert_ok(gnti_tree_order(q, 0, NULL, rank));
    for (int size = 2; size <= K / 2; size *= 2) /* every block of the tree is a stretch of the path */
        for (int i = 0; i < K; i++)
            assert_int_equal(rank[name[i]] / size, rank[name[i / size * size]] / size);
    gnti_quotient_free(&q);
    assert_int_equal(gnti_tree_split(0, 64, 0, NULL), 32);
    assert_int_equal(gnti_tree_split(0, 7, 0, NULL), 4);
    assert_int_equal(gnti_tree_split(3, 5, 0, NULL), 4);
    assert_int_equal(gnti_tree_split(0, 64, 3, (int32_t[]){ 0, 37, 55, 64 }), 37);
    assert_int_equal(gnti_tree_split(37, 64, 3, (int32_t[]){ 0, 37, 55, 64 }), 55);
    assert_int_equal(gnti_tree_split(37, 55, 3, (int32_t[]){ 0, 37, 55, 64 }), 53);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_running_halo), cmocka_unit_test(test_quality),
        cmocka_unit_test(test_never_worse),  cmocka_unit_test(test_repair_empty),
        cmocka_unit_test(test_bisect),       cmocka_unit_test(test_tree_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
