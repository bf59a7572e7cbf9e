/* SPDX-License-Identifier: Apache-2.0 */
/* Target shares, chunk facts and the first map: contiguous ranges, equal to a search of all ranges (K <= 10, D <= 3), memory
 * caps kept, a device left out only when that is faster.
 */
#include "tests/support/map_case.h"
#include "tests/support/prop.h"

#include <math.h>
#include <string.h>

enum { MAX_K = 4096, MAX_D = 64 };

static void check_ranges(const int32_t *owner, int32_t num_chunks, int32_t num_devices)
{
    for (int32_t p = 0; p < num_chunks; p++) {
        assert_in_range(owner[p], 0, num_devices - 1);
        if (p > 0)
            assert_true(owner[p] >= owner[p - 1]);
    }
}

static void test_shares(void **state)
{
    const gnti_map_device even[] = { { 4.0, 0.0 }, { 2.0, 0.0 }, { 1.0, 0.0 } };
    const gnti_map_device capped[] = { { 4.0, 20.0 }, { 2.0, 0.0 }, { 1.0, 22.0 } };
    const gnti_map_device small[] = { { 1.0, 20.0 }, { 1.0, 30.0 } };
    const gnti_map_device exact[] = { { 1.0, 50.0 }, { 1.0, 50.0 } };
    double w[3];

    (void)state;
    gnt_assert_ok(gnti_target_shares(even, 3, 1e12, w));
    assert_true(fabs(w[0] - 4.0 / 7.0) < 1e-12 && fabs(w[2] - 1.0 / 7.0) < 1e-12);
    gnt_assert_ok(gnti_target_shares(capped, 3, 100.0, w)); /* 20, then 80 as 2 : 1 is 26.7 > 22 */
    assert_true(fabs(w[0] - 0.20) < 1e-12 && fabs(w[1] - 0.58) < 1e-12 && fabs(w[2] - 0.22) < 1e-12);
    gnt_assert_ok(gnti_target_shares(exact, 2, 100.0, w));
    gnt_assert_status(gnti_target_shares(small, 2, 100.0, w), GNT_ERR_LIMIT);
    gnt_assert_error_has("100", "50");
}

/* Every way to cut K chunks into D ranges: the smallest predicted time. */
static double search_ranges(const gnti_chunk_facts *f, const gnti_map_config *c, bool *idle)
{
    double least = INFINITY, full = INFINITY;
    int32_t owner[10];
    const int32_t k = f->num_chunks;

    for (int32_t a = 0; a <= k; a++) {
        for (int32_t b = a; b <= k; b++) {
            double bytes[3] = { 0.0, 0.0, 0.0 }, t;
            int32_t count[3] = { 0, 0, 0 };
            bool fits = true, all = true;

            for (int32_t p = 0; p < k; p++) {
                owner[p] = p < a ? 0 : p < b ? 1 : 2;
                if (owner[p] >= c->num_devices)
                    fits = false;
                bytes[owner[p]] += f->bytes[p];
                count[owner[p]]++;
            }
            for (int32_t d = 0; d < c->num_devices; d++) {
                fits = fits && (c->devices[d].memory <= 0.0 || bytes[d] <= c->devices[d].memory);
                all = all && count[d] > 0;
            }
            t = fits ? gnti_chunk_map_time(f, c, owner, NULL) : INFINITY;
            least = fmin(least, t);
            full = all ? fmin(full, t) : full;
        }
    }
    *idle = c->allow_idle && least < full * (1.0 - 1e-9);
    return *idle ? least : full;
}

static void test_brute_force(void **state)
{
    int num_idle = 0, num_packed = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 600; seed++) {
        uint64_t s = seed + 1;
        const int32_t k = 3 + (int32_t)(seed % 8), num_devices = 1 + (int32_t)(seed / 8 % 3);
        gnti_map_device devices[3];
        gnti_map_config c = { devices, num_devices, seed % 5 == 0 ? 0.0 : 0.02 * gnt_map_draw(&s), 0.05,
                              seed % 2 == 0 };
        gnti_chunk_facts *f = gnt_map_case(k, seed, 1.0);
        int32_t owner[10], used = 0;
        bool idle;
        double want, got;

        for (int32_t d = 0; d < num_devices; d++)
            devices[d] = (gnti_map_device){ seed % 7 == 0 && d == 1 ? 0.05 : 1.0 + 3.0 * gnt_map_draw(&s),
                                            seed % 4 == 3 ? 1000.0 * k * (0.4 + gnt_map_draw(&s)) : 0.0 };
        want = search_ranges(f, &c, &idle);
        if (!isfinite(want)) { /* no ranges; packing may still find a map or tell that there is none */
            const gnt_status st = gnti_chunk_map_first(f, &c, owner);

            assert_true(st == GNT_OK || st == GNT_ERR_LIMIT);
            num_packed += st == GNT_OK;
            gnti_chunk_facts_free(&f);
            continue;
        }
        gnt_assert_ok(gnti_chunk_map_first(f, &c, owner));
        check_ranges(owner, k, num_devices);
        got = gnti_chunk_map_time(f, &c, owner, NULL);
        if (fabs(got - want) > 1e-9 * want)
            fail_msg("seed %d: %g, the best ranges have %g", (int)seed, got, want);
        for (int32_t d = 0; d < num_devices; d++) {
            bool any = false;

            for (int32_t p = 0; p < k; p++)
                any = any || owner[p] == d;
            used += any;
        }
        assert_true(idle ? used < num_devices : used == num_devices);
        num_idle += idle;
        gnti_chunk_facts_free(&f);
    }
    assert_true(num_idle >= 20); /* the case was met */
}

static void test_many_chunks(void **state)
{
    static int32_t owner[MAX_K];
    static gnti_map_device devices[MAX_D];

    (void)state;
    for (int32_t k = 64; k <= MAX_K; k *= 4) {
        for (int32_t num_devices = 1; num_devices <= 64; num_devices = num_devices * 3 + 1) {
            const gnti_map_config c = { devices, num_devices, 1e-4, 0.05, false };
            gnti_chunk_facts *f = gnt_map_case(k, (uint64_t)k, 0.5);
            double total = 0.0, speeds = 0.0, slowest = INFINITY, most;

            for (int32_t d = 0; d < num_devices; d++) {
                devices[d].speed = d % 3 == 0 ? 4.0 : d % 3 == 1 ? 2.0 : 1.0;
                speeds += devices[d].speed;
                slowest = fmin(slowest, devices[d].speed);
            }
            for (int32_t p = 0; p < k; p++)
                total += f->cost[p];
            gnt_assert_ok(gnti_chunk_map_first(f, &c, owner));
            check_ranges(owner, k, num_devices);
            most = gnti_chunk_map_time(f, &c, owner, NULL);
            assert_true(most <=
                        total / speeds + 1.5 / slowest + 0.5); /* one chunk and the exchange over the ideal */
            gnti_chunk_facts_free(&f);
        }
    }
}

static void test_refusals(void **state)
{
    gnti_map_device devices[] = { { 1.0, 0.0 }, { 1.0, 0.0 }, { 1.0, 0.0 }, { 1.0, 0.0 } };
    gnti_map_config c = { devices, 4, 0.0, 0.05, false };
    gnti_chunk_facts *f = gnt_map_case(3, 1, 0.0);
    int32_t owner[3];

    (void)state;
    gnt_assert_status(gnti_chunk_map_first(f, &c, owner), GNT_ERR_USAGE);
    gnt_assert_error_has("4 devices", "3 chunks", "--chunks");
    c.num_devices = 2;
    devices[0].speed = 0.0;
    gnt_assert_status(gnti_chunk_map_first(f, &c, owner), GNT_ERR_ARG);
    devices[0] = devices[1] = (gnti_map_device){ 1.0, 1600.0 }; /* 3200 in all, but 3 pieces of 1000 */
    gnt_assert_status(gnti_chunk_map_first(f, &c, owner), GNT_ERR_LIMIT);
    gnt_assert_error_has("chunk", "1000", "600");
    devices[0].memory = 2500.0; /* now 2 + 1 */
    gnt_assert_ok(gnti_chunk_map_first(f, &c, owner));
    assert_int_equal(owner[0] + owner[1] + owner[2], 1);
    devices[0].memory = 500.0;
    gnt_assert_status(gnti_chunk_map_first(f, &c, owner), GNT_ERR_LIMIT);
    gnt_assert_error_has("3000", "2100");
    gnti_chunk_facts_free(&f);
}

/* Facts against counts by the definition. */
static const char *check_facts(const gnt_prop_graph *g, void *user)
{
    const gnti_arc_list arcs = { g->num_arcs, g->num_arcs, g->source, g->target, NULL };
    const gnti_build_options options = { .duplicates = GNTI_DUPLICATES_FIRST };
    const gnti_chunk_rates rates = { 0.5, 2.0, 8.0, 4.0 };
    enum { K = 5 };
    gnti_build_report report;
    gnti_graph *graph = NULL;
    gnti_partition p = { .num_nodes = g->num_nodes, .num_chunks = K };
    gnti_chunk_facts *f = NULL;
    double q[K][K] = { { 0.0 } }, got[K][K] = { { 0.0 } };
    const char *broken = NULL;
    bool seen[K];

    (void)user;
    gnt_assert_ok(gnti_graph_build(g->num_nodes, &arcs, &options, &report, NULL, &graph));
    gnt_assert_ok(gnti_alloc_array(&p.chunk_of, g->num_nodes));
    for (int64_t v = 0; v < g->num_nodes; v++)
        p.chunk_of[v] = (int32_t)(v * 7 % K);
    for (int64_t u = 0; u < g->num_nodes; u++) {
        memset(seen, 0, sizeof seen);
        for (int64_t a = graph->offsets[u]; a < graph->offsets[u + 1]; a++)
            seen[p.chunk_of[graph->columns[a]]] = true;
        for (int32_t r = 0; r < K; r++)
            q[r][p.chunk_of[u]] += seen[r] && r != p.chunk_of[u] ? 1.0 : 0.0;
    }
    gnt_assert_ok(gnti_chunk_facts_make(graph, &p, &rates, &f));
    for (int32_t c = 0; c < K; c++) {
        double cost = 2.0 * (double)f->rows[c];

        for (int64_t e = f->offsets[c]; e < f->offsets[c + 1]; e++)
            got[c][f->neighbour[e]] += f->halo_rows[e];
        for (int64_t u = 0; u < g->num_nodes; u++)
            for (int64_t a = graph->offsets[u]; a < graph->offsets[u + 1]; a++)
                cost += 0.25 * ((p.chunk_of[u] == c) + (p.chunk_of[graph->columns[a]] == c));
        if (fabs(cost - f->cost[c]) > 1e-9 * (1.0 + cost))
            broken = "a chunk's cost";
    }
    if (memcmp(q, got, sizeof q) != 0)
        broken = "the rows that chunks read of each other";
    gnti_chunk_facts_free(&f);
    gnti_graph_free(&graph);
    gnti_free(p.chunk_of);
    return broken;
}

static void test_facts(void **state)
{
    (void)state;
    gnt_prop_run("facts are what the definition counts", check_facts, NULL, 3, 60);
}

static void test_memory(void **state)
{
    gnti_map_device devices[] = { { 1.0, 0.0 }, { 2.0, 0.0 } };
    const gnti_map_config c = { devices, 2, 1e-3, 0.05, true };
    gnti_chunk_facts *f = gnt_map_case(8, 3, 1.0);
    int32_t owner[8];

    (void)state;
    GNT_BRUTAL(gnti_chunk_map_first(f, &c, owner));
    gnti_chunk_facts_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares),      cmocka_unit_test(test_brute_force),
        cmocka_unit_test(test_many_chunks), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_facts),       cmocka_unit_test(test_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
