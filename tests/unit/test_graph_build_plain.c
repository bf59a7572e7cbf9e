/* SPDX-License-Identifier: Apache-2.0 */
/* The fast builder against the general one: same graph, same report, on seeded graphs and on long rows. */
#include "tests/support/gnt_test.h"
#include "tests/support/prop.h"

#include "graph/graph_build_plain.h"

#include <string.h>

static const char *compare(int64_t num_nodes, const gnti_arc_list *arcs, const gnti_build_options *options)
{
    gnti_build_report fast_report, slow_report;
    gnti_graph *fast = NULL, *slow = NULL;
    int64_t *origin = NULL;
    const char *law = NULL;

    memset(&fast_report, 0, sizeof fast_report);
    memset(&slow_report, 0, sizeof slow_report);
    gnt_assert_ok(gnti_graph_build_plain(num_nodes, arcs, options, &fast_report, &fast));
    gnt_assert_ok(gnti_graph_build(num_nodes, arcs, options, &slow_report, &origin,
                                   &slow)); /* origin: the general way */
    if (memcmp(&fast_report, &slow_report, sizeof fast_report) != 0)
        law = "reports differ";
    else if (memcmp(fast->offsets, slow->offsets, (size_t)(num_nodes + 1) * sizeof *fast->offsets) != 0)
        law = "offsets differ";
    else if (memcmp(fast->columns, slow->columns, (size_t)slow->num_arcs * sizeof *fast->columns) != 0)
        law = "columns differ";
    else if (fast->weights != NULL || fast->num_arcs != slow->num_arcs || fast->num_cols != num_nodes)
        law = "shapes differ";
    gnti_graph_free(&fast);
    gnti_graph_free(&slow);
    gnti_free(origin);
    return law;
}

static const char *both_builders_agree(const gnt_prop_graph *p, void *user)
{
    const gnti_arc_list arcs = { .num_arcs = p->num_arcs, .source = p->source, .target = p->target };
    const char *law = NULL;

    (void)user;
    for (int i = 0; i < 4 && law == NULL; i++) {
        const gnti_build_options options = { .symmetrise = i & 1, .drop_loops = i & 2 };

        law = compare(p->num_nodes, &arcs, &options);
    }
    return law;
}

static void builders_agree_on_seeded_graphs(void **state)
{
    (void)state;
    gnt_prop_run("fast build = general build", both_builders_agree, NULL, 20, 200);
}

/* Rows beyond the limit of the simple sort, with repeats, both ways and loops. */
static void builders_agree_on_long_rows(void **state)
{
    enum { NODES = 3000, ARCS = 40000 };
    gnti_arc_list arcs = { .num_arcs = ARCS };
    uint32_t x = 1;

    (void)state;
    gnt_assert_ok(gnti_alloc_array(&arcs.source, ARCS));
    gnt_assert_ok(gnti_alloc_array(&arcs.target, ARCS));
    for (int64_t i = 0; i < ARCS; i++) {
        x = x * 1664525u + 1013904223u;
        arcs.source[i] = i % 3 == 0 ? 7 : x >> 8 & 1 ? 7 : (x >> 10) % NODES;
        arcs.target[i] = i % 5 == 0 ? 7 : (x >> 12) % NODES;
    }
    for (int i = 0; i < 4; i++) {
        const gnti_build_options options = { .symmetrise = i & 1, .drop_loops = i & 2 };

        assert_null(compare(NODES, &arcs, &options));
    }
    gnti_free(arcs.source);
    gnti_free(arcs.target);
}

static void bad_records_are_named(void **state)
{
    int64_t source[] = { 0, 1, -1 }, target[] = { 1, 2, 0 };
    gnti_arc_list arcs = { .num_arcs = 2, .source = source, .target = target };
    const gnti_build_options options = { .symmetrise = true };
    gnti_graph *g = NULL;

    (void)state;
    gnt_assert_status(gnti_graph_build(2, &arcs, &options, NULL, NULL, &g), GNT_ERR_FORMAT);
    gnt_assert_error_has("record 1", "from 1 to 2");
    arcs.num_arcs = 3;
    gnt_assert_status(gnti_graph_build(3, &arcs, &options, NULL, NULL, &g), GNT_ERR_FORMAT);
    gnt_assert_error_has("record 2", "from -1 to 0");
    assert_null(g);
}

static void every_allocation_may_fail(void **state)
{
    int64_t source[] = { 0, 1, 1 }, target[] = { 1, 2, 1 };
    const gnti_arc_list arcs = { .num_arcs = 3, .source = source, .target = target };
    const gnti_build_options options = { .symmetrise = true };
    gnti_build_report report;
    gnti_graph *g = NULL;

    (void)state;
    GNT_BRUTAL_OUT(gnti_graph_build_plain(3, &arcs, &options, &report, &g), g);
    gnti_graph_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builders_agree_on_seeded_graphs),
        cmocka_unit_test(builders_agree_on_long_rows),
        cmocka_unit_test(bad_records_are_named),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
