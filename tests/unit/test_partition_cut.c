/* SPDX-License-Identifier: Apache-2.0 */
/* label: medium */
/* Cutting graphs in memory: public reports 1, 2, 3 and 5 as scenarios, shapes with known answers, shares, mistakes, and that the
 * same input gives the same vector.
 */
#include "tests/support/cut_case.h"

#include "partition/partition_internal.h"

#include "base/philox.h"

#include <math.h>
#include <string.h>
#include <sys/resource.h>

static gnti_partition *cut(const gnti_graph *g, const gnti_partition_config *config)
{
    gnti_partition *p = NULL;

    gnt_assert_ok(gnti_partition_make(g, config, &p));
    return p;
}

static double made(const gnti_partition *p, const char *key)
{
    double value = NAN;

    gnt_assert_ok(gnti_json_get_number(gnti_json_find(p->quality, "made"), key, &value));
    return value;
}

static int64_t fact(const gnti_partition *p, const char *key)
{
    int64_t value = -1;

    gnt_assert_ok(gnti_json_get_int(p->quality, key, &value));
    return value;
}

/* dgl#3224, pyg#3222: K5, each edge three times, in one direction, with loops. */
static void test_scenario_1(void **state)
{
    int64_t source[45], target[45];
    gnt_prop_graph list = { .num_nodes = 5, .source = source, .target = target };
    gnti_graph *clean = gnt_cut_cliques(5), *k5 = NULL, *listed;
    const gnti_partition_config config = { .num_chunks = 2 };

    (void)state;
    for (int copy = 0; copy < 3; copy++)
        for (int64_t u = 0; u < 5; u++)
            for (int64_t v = u; v < 5; v++) {
                source[list.num_arcs] = u;
                target[list.num_arcs++] = v;
            }
    listed = gnt_cut_as_listed(&list);
    gnt_assert_ok(gnti_graph_subgraph(clean, (int64_t[]){ 0, 1, 2, 3, 4 }, 5, NULL, &k5));
    gnti_partition *a = cut(listed, &config), *b = cut(k5, &config);

    gnt_cut_check(a, 5, 2);
    gnt_cut_check(b, 5, 2);
    assert_int_equal(fact(a, "cut"), fact(b, "cut"));
    assert_int_equal(fact(b, "cut"), 6);    /* 3 and 2 nodes */
    assert_int_equal(listed->num_arcs, 45); /* still there for training */
    gnti_partition_free(&a);
    gnti_partition_free(&b);
    gnti_graph_free(&listed);
    gnti_graph_free(&k5);
    gnti_graph_free(&clean);
}

/* METIS#86, #91, #42: one part, nearly as many parts as nodes, a long path. */
static void test_scenario_2(void **state)
{
    gnti_graph *grid = gnt_cut_grid(17, 17), *path = gnt_cut_path(1000000);
    int64_t smallest, largest;
    gnti_partition *p = cut(grid, &(gnti_partition_config){ .num_chunks = 1 });
    struct rlimit stack;

    (void)state;
    gnt_cut_check(p, 289, 1);
    assert_string_equal(p->method, "one");
    gnti_partition_free(&p);
    for (int equal = 0; equal < 2; equal++) {
        p = cut(grid, &(gnti_partition_config){ .num_chunks = 64, .row_work = equal });
        gnt_cut_check(p, 289, 64);
        gnt_cut_sizes(p, &smallest, &largest);
        assert_in_range(smallest, 4, 6);
        assert_in_range(largest, 4, 6);
        gnti_partition_free(&p);
    }
    /* a stack of 256 KiB would not hold a frame a node */
    assert_int_equal(getrlimit(RLIMIT_STACK, &stack), 0);
    stack.rlim_cur = 256 << 10;
    assert_int_equal(setrlimit(RLIMIT_STACK, &stack), 0);
    p = cut(path, &(gnti_partition_config){ .num_chunks = 8 });
    gnt_cut_check(p, 1000000, 8);
    assert_in_range(fact(p, "cut"), 7, 9);
    gnti_partition_free(&p);
    gnti_graph_free(&grid);
    gnti_graph_free(&path);
}

/* ParMETIS#3, gunrock#328: counts that 32-bit indices cannot hold are refused by the counts alone. */
static void test_scenario_3(void **state)
{
    gnti_graph huge = { .num_rows = 100000000, .num_cols = 100000000, .num_arcs = 2400000000 };
    gnti_partition *p = NULL;
    const gnti_partition_config config = { .num_chunks = 8 },
                                heavy = { .num_chunks = 2, .arc_work = 1e9, .row_work = 1.0 };
    gnti_graph *small = gnt_cut_path(10);

    (void)state;
    gnt_assert_status(gnti_partition_make(&huge, &config, &p),
                      GNT_ERR_LIMIT); /* it has no arrays to look at */
    gnt_assert_error_has("32-bit", "2400000000", "ldg", "range");
    gnt_assert_status(gnti_partition_make(small, &heavy, &p), GNT_ERR_LIMIT);
    gnt_assert_ok(gnti_metis_check_limits(2147483646, 2147483646, 2147483646.0));
    gnt_assert_status(gnti_metis_check_limits(2147483647, 1, 1.0), GNT_ERR_LIMIT);
    gnt_assert_status(gnti_metis_check_limits(1, 2147483647, 1.0), GNT_ERR_LIMIT);
    gnt_assert_status(gnti_metis_check_limits(1, 1, 2147483647.0), GNT_ERR_LIMIT);
    gnti_graph_free(&small);
}

/* graphstorm#715: training nodes nearly all in one of two communities. */
static void test_scenario_5(void **state)
{
    gnti_graph *g = gnt_cut_communities(1000, 5);
    uint8_t train[1000] = { 0 };
    gnti_partition_config config = { .num_chunks = 4, .train = train };
    gnti_quality *q = NULL;

    (void)state;
    for (int v = 0; v < 200; v++)
        train[v < 180 ? 2 * v : 2 * (v - 180) + 1] = 1;
    gnti_partition *p = cut(g, &config);

    gnt_assert_ok(gnti_quality_measure(g, p->chunk_of, 4, train, &q));
    for (int c = 0; c < 4; c++)
        assert_in_range(q->train[c], 45, 55);
    assert_true(made(p, "volume_after_refinement") <= made(p, "volume_before_refinement"));
    assert_true(made(p, "cut_before_refinement") > 0.0);
    assert_int_equal(fact(p, "volume"), (int64_t)made(p, "volume_after_refinement"));
    gnti_quality_free(&q);
    gnti_partition_free(&p);
    memset(train, 0, sizeof train);
    train[7] = train[8] = 1; /* fewer than parts: a warning */
    p = cut(g, &config);
    gnt_cut_check(p, 1000, 4);
    gnti_partition_free(&p);
    memset(train, 0, sizeof train); /* METIS divides by the sum of each weight */
    p = cut(g, &config);
    gnt_cut_check(p, 1000, 4);
    gnti_partition_free(&p);
    gnti_graph_free(&g);
}

static void test_shapes(void **state)
{
    gnti_graph *star = gnt_cut_star(1000), *cliques = gnt_cut_cliques(40);
    int64_t smallest, largest;
    gnti_partition *p = cut(cliques, &(gnti_partition_config){ .num_chunks = 2 });

    (void)state;
    assert_int_equal(fact(p, "cut"), 1);
    assert_int_equal(fact(p, "volume"), 2);
    gnti_partition_free(&p);
    p = cut(star, &(gnti_partition_config){ .num_chunks = 8 });
    gnt_cut_check(p, 1000, 8);
    assert_true(fact(p, "volume") <= 1000 + 7);
    gnti_partition_free(&p);
    p = cut(star,
            &(gnti_partition_config){ .num_chunks = 8, .row_work = 1.0 }); /* the hub weighs what others do */
    gnt_cut_sizes(p, &smallest, &largest);
    assert_true(largest <= 132 && smallest >= 118);
    gnti_partition_free(&p);
    gnti_graph_free(&star);
    gnti_graph_free(&cliques);
}

/* Isolated nodes are dealt out to fill up what chunks lack; graphs of nothing else are cut too. */
static void test_isolated(void **state)
{
    gnti_graph *g = gnt_cut_random(5000, 4000, 3), *none = NULL, *empty = NULL;
    int64_t smallest, largest;
    gnti_partition *p = cut(g, &(gnti_partition_config){ .num_chunks = 16, .row_work = 1.0 });

    (void)state;
    gnt_cut_check(p, 5000, 16);
    gnt_cut_sizes(p, &smallest, &largest);
    assert_true(smallest >= 5000 / 16 * 0.9 && largest <= 5000 / 16 * 1.1);
    gnti_partition_free(&p);
    gnt_assert_ok(gnti_graph_alloc(100, 100, 0, false, &none));
    p = cut(none, &(gnti_partition_config){ .num_chunks = 8 });
    gnt_cut_check(p, 100, 8);
    gnt_cut_sizes(p, &smallest, &largest);
    assert_true(smallest >= 12 && largest <= 13);
    gnti_partition_free(&p);
    gnt_assert_ok(gnti_graph_alloc(0, 0, 0, false, &empty));
    p = cut(empty, &(gnti_partition_config){ .num_chunks = 0 });
    gnt_cut_check(p, 0, 1);
    gnti_partition_free(&p);
    gnti_graph_free(&g);
    gnti_graph_free(&none);
    gnti_graph_free(&empty);
}

/* Work of each share is what was asked for, and the shares' borders are the cheap ones. */
static void test_shares(void **state)
{
    gnti_graph *g = gnt_cut_grid(100, 100);
    const double shares[] = { 4.0 / 7, 2.0 / 7, 1.0 / 7 };
    gnti_partition *p =
        cut(g, &(gnti_partition_config){ .num_chunks = 64, .shares = shares, .num_shares = 3 });
    int32_t *share_of = NULL;
    gnti_quality *q = NULL;

    (void)state;
    gnt_cut_check(p, 10000, 64);
    assert_int_equal(p->num_shares, 3);
    assert_int_equal(p->share_chunks[0], 0);
    assert_int_equal(p->share_chunks[3], 64);
    gnt_assert_ok(gnti_alloc_array(&share_of, 10000));
    for (int v = 0; v < 10000; v++)
        share_of[v] = (p->chunk_of[v] >= p->share_chunks[1]) + (p->chunk_of[v] >= p->share_chunks[2]);
    gnt_assert_ok(gnti_quality_measure(g, share_of, 3, NULL, &q));
    for (int s = 0; s < 3; s++) {
        const double work = (double)(q->arcs[s] + q->rows[s]) / (double)(g->num_arcs + g->num_rows);

        assert_true(fabs(p->shares[s] - shares[s]) < 1e-12);
        assert_true(fabs(work / shares[s] - 1.0) < 0.05);
    }
    assert_true(q->volume <= 330); /* a straight border has 200 rows */
    gnti_quality_free(&q);
    gnti_free(share_of);
    gnti_partition_free(&p);
    gnti_graph_free(&g);
}

static void test_same_again(void **state)
{
    gnti_graph *graphs[] = { gnt_cut_grid(60, 60), gnt_cut_random(3000, 12000, 9),
                             gnt_cut_communities(600, 2) };
    const double shares[] = { 0.5, 0.3, 0.2 };

    (void)state;
    for (int i = 0; i < 3; i++)
        for (int with = 0; with < 2; with++) {
            const gnti_partition_config config = {
                .num_chunks = 20 + i, .shares = with ? shares : NULL, .num_shares = 3 * with, .seed = 11
            };
            gnti_partition *a = cut(graphs[i], &config), *b = cut(graphs[i], &config);

            gnt_assert_same_i32(a->chunk_of, b->chunk_of, a->num_nodes);
            assert_string_equal(a->sha256, b->sha256);
            gnti_partition_free(&a);
            gnti_partition_free(&b);
        }
    for (int i = 0; i < 3; i++)
        gnti_graph_free(&graphs[i]);
}

static void expect(const gnti_graph *g, gnti_partition_config config, gnt_status status, const char *word)
{
    gnti_partition *p = NULL;

    gnt_assert_status(gnti_partition_make(g, &config, &p), status);
    gnt_assert_error_has(word);
    assert_null(p);
}

static void test_mistakes(void **state)
{
    gnti_graph *g = gnt_cut_grid(4, 4);
    const double negative[] = { 1.5, -0.5 }, short_sum[] = { 0.5, 0.4 }, many[] = { 0.25, 0.25, 0.25, 0.25 };

    (void)state;
    expect(g, (gnti_partition_config){ .num_chunks = 17 }, GNT_ERR_USAGE, "--chunks");
    expect(g, (gnti_partition_config){ .num_chunks = -1 }, GNT_ERR_USAGE, "--chunks");
    expect(g, (gnti_partition_config){ .num_chunks = 2, .tolerance = 0.9 }, GNT_ERR_USAGE, "tolerance");
    expect(g, (gnti_partition_config){ .num_chunks = 2, .shares = negative, .num_shares = 2 }, GNT_ERR_USAGE,
           "share 1");
    expect(g, (gnti_partition_config){ .num_chunks = 2, .shares = short_sum, .num_shares = 2 }, GNT_ERR_USAGE,
           "sum to 0.9");
    expect(g, (gnti_partition_config){ .num_chunks = 2, .shares = many, .num_shares = 4 }, GNT_ERR_USAGE,
           "--chunks 4");
    expect(g, (gnti_partition_config){ .num_chunks = 2, .arc_work = -1.0 }, GNT_ERR_USAGE, "negative");
    gnti_graph_free(&g);
}

/* Default work, seconds as work, and large whole numbers give balanced chunks alike. */
static void test_work(void **state)
{
    gnti_graph *g = gnt_cut_random(4000, 20000, 4);
    const double work[][2] = { { 0, 0 }, { 1.3e-9, 4.1e-9 }, { 20000.0, 3.0 }, { 0.0, 1e-7 } };

    (void)state;
    for (int i = 0; i < 4; i++) {
        gnti_partition *p = cut(
            g, &(gnti_partition_config){ .num_chunks = 16, .arc_work = work[i][0], .row_work = work[i][1] });

        gnt_cut_check(p, 4000, 16);
        assert_true(made(p, "largest_work_over_target") < 1.06);
        gnti_partition_free(&p);
    }
    gnti_graph_free(&g);
}

/* One edge in a hundred leads elsewhere now: the old chunks refined are nearly as good as fresh ones. */
static void test_update(void **state)
{
    enum { SIDE = 120, N = SIDE * SIDE };
    gnti_graph *grid = gnt_cut_grid(SIDE, SIDE), *changed = NULL;
    const gnti_partition_config config = { .num_chunks = 64 };
    gnti_partition *old = cut(grid, &config), *fresh, *p = NULL;
    gnti_arc_list list = { .num_arcs = 0 };
    uint8_t touched[N] = { 0 };
    int64_t moved = 0;

    (void)state;
    gnt_assert_ok(gnti_alloc_array(&list.source, grid->num_arcs));
    gnt_assert_ok(gnti_alloc_array(&list.target, grid->num_arcs));
    for (int64_t v = 0; v < N; v++)
        for (int64_t a = grid->offsets[v]; a < grid->offsets[v + 1]; a++) {
            int64_t u = grid->columns[a];

            if (u < v)
                continue;
            if (a % 100 == 7) {
                touched[u] = touched[v] = 1;
                u = gnti_below(gnti_draw_word(gnti_seed_key(3), GNTI_DRAW_GENERATE, 2, 0, a, 0), N);
                touched[u] = 1;
            }
            list.source[list.num_arcs] = v;
            list.target[list.num_arcs++] = u;
        }
    gnt_assert_ok(gnti_graph_build(N, &list, &(gnti_build_options){ .symmetrise = true, .drop_loops = true },
                                   NULL, NULL, &changed));
    fresh = cut(changed, &config);
    gnt_assert_ok(gnti_partition_update(changed, old, touched, &config, &p));
    gnt_cut_check(p, N, 64);
    for (int64_t v = 0; v < N; v++)
        moved += p->chunk_of[v] != old->chunk_of[v];
    print_message("volume %lld, fresh %lld; %lld of %d nodes moved; %.4f s, fresh %.4f s\n",
                  (long long)fact(p, "volume"), (long long)fact(fresh, "volume"), (long long)moved, N,
                  made(p, "seconds"), made(fresh, "seconds"));
    assert_true((double)fact(p, "volume") <= 1.05 * (double)fact(fresh, "volume"));
    assert_true(made(p, "volume_after_refinement") < made(p, "volume_before_refinement"));
    assert_true(moved > 0 && moved < N / 10);
    assert_true(made(p, "largest_work_over_target") < 1.06);
    gnti_partition_free(&p);
    gnti_partition_free(&fresh);
    gnti_partition_free(&old);
    gnti_free(list.source);
    gnti_free(list.target);
    gnti_graph_free(&changed);
    gnti_graph_free(&grid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scenario_1), cmocka_unit_test(test_scenario_2),
        cmocka_unit_test(test_scenario_3), cmocka_unit_test(test_scenario_5),
        cmocka_unit_test(test_shapes),     cmocka_unit_test(test_isolated),
        cmocka_unit_test(test_shares),     cmocka_unit_test(test_same_again),
        cmocka_unit_test(test_mistakes),   cmocka_unit_test(test_work),
        cmocka_unit_test(test_update),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
