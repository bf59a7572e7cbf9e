/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the simulator that are wrong: each error names file, line and what it is about. Tasks that fit nothing. The files of
 * examples/ensembles are simulated.
 */
#include "tests/support/simulate_case.h"

#include <stdio.h>
#include <string.h>

typedef struct wrong {
    const char *inventory, *trace, *words[3];
} wrong;

#define TYPES "types:\n  - { name: d }\n"
#define TASKS "tasks:\n  - { name: t }\n"

static const wrong wrongs[] = {
    { "", TASKS, { "inventory.yaml", "no devices", "types" } },
    { "types: 3\n", TASKS, { "inventory.yaml", "list", "types" } },
    { "types: []\n", TASKS, { "inventory.yaml", "0 devices", "line 1" } },
    { "types:\n  - { count: 2 }\n", TASKS, { "line 2", "no name", "types[0]" } },
    { "types:\n  - { name: 'a b' }\n", TASKS, { "'a b'", "no name", "letters" } },
    { "types:\n  - { name: d, sped: 2 }\n", TASKS, { "sped", "speed", "line 2" } },
    { "types:\n  - { name: d, speed: 0 }\n", TASKS, { "speed", "0", "line 2" } },
    { "types:\n  - { name: d, speed: fast }\n", TASKS, { "speed", "fast", "line 2" } },
    { "types:\n  - { name: d }\n  - { name: d }\n", TASKS, { "'d'", "already", "line 3" } },
    { "types:\n  - { name: d, busy-watts: 1, idle-watts: 2 }\n",
      TASKS,
      { "busy-watts", "idle-watts", "line 2" } },
    { "polcy: makespan\n" TYPES, TASKS, { "polcy", "policy", "line 1" } },
    { "policy: best\n" TYPES, TASKS, { "best", "makespan", "line 1" } },
    { "noise: 2\n" TYPES, TASKS, { "noise", "2", "line 1" } },
    { TYPES, "", { "trace.yaml", "no tasks", "tasks" } },
    { TYPES, "tasks:\n  - 3\n", { "trace.yaml", "map", "line 2" } },
    { TYPES, "tasks:\n  - { name: t, epochs: [5, 2] }\n", { "epochs", "from 5 to 2", "line 2" } },
    { TYPES, "tasks:\n  - { name: t, epochs: [1, 2, 3] }\n", { "epochs", "one number", "line 2" } },
    { TYPES, "tasks:\n  - { name: t, seconds: -1 }\n", { "seconds", "-1", "line 2" } },
    { TYPES, "tasks:\n  - { name: t, ends: 1.5 }\n", { "ends", "1.5", "line 2" } },
    { TYPES, "tasks:\n  - { name: t, speeds: { e: 1 } }\n", { "'e'", "no type", "line 2" } },
    { TYPES, "tasks:\n  - { name: t, speeds: { d: 0 } }\n", { "no type", "run", "line 2" } },
    { TYPES, "tasks:\n  - { name: t, count: 0 }\n", { "count", "0", "line 2" } },
    { TYPES, TASKS "events:\n  - { at: 3 }\n", { "nothing", "lose", "line 4" } },
    { TYPES, TASKS "events:\n  - { at: 3, lose: d-1 }\n", { "d-1", "no device", "line 4" } },
    { TYPES, TASKS "events:\n  - { at: 3, fail: u }\n", { "'u'", "no task", "line 4" } },
    { TYPES, TASKS "events:\n  - { at: 3, lose: d-0, add: d-0 }\n", { "lose", "add", "one thing" } },
    { TYPES, TASKS "events:\n  - { at: 3, shrink: t, factor: 2 }\n", { "factor", "2", "line 4" } },
    { TYPES, TASKS "events: 7\n", { "events", "list", "line 3" } },
    { TYPES, TASKS "evnts: []\n", { "evnts", "events", "line 3" } },
};

static void test_wrong_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
        const wrong *w = &wrongs[i];
        gnti_json *facts = NULL;

        gnt_assert_status(gnt_simulate_texts(w->inventory, w->trace, gnt_simulate_as_written(1), &facts),
                          GNT_ERR_FORMAT);
        gnt_assert_error_has(w->words[0], w->words[1], w->words[2]);
        assert_null(facts);
    }
}

/* A task that fits nothing waits as long as its patience, and the others go on. */
static void test_fits_nothing(void **state)
{
    static const char inventory[] = "patience: 10\ntypes:\n  - { name: d, memory: 1 }\n";
    static const char trace[] = "tasks:\n  - { name: t, count: 2 }\n  - { name: big, lasting: 2 }\n";
    gnti_json *facts = NULL;

    (void)state;
    gnt_assert_ok(gnt_simulate_texts(inventory, trace, gnt_simulate_as_written(1), &facts));
    assert_true(gnt_simulated_fact(facts, "ended") == 2.0 && gnt_simulated_fact(facts, "given_up") == 1.0);
    gnti_json_free(&facts);
}

/* What never ends is no hang: a device that fails ten times an epoch. */
static void test_no_progress(void **state)
{
    static const char inventory[] =
        "failures: exponential\nfailure-mean: 1\nrepair: 0\ntypes:\n  - { name: d }\n";
    static const char trace[] = "tasks:\n  - { name: t, seconds: 1000 }\n";
    gnti_simulation s = gnt_simulate_as_written(1);
    gnti_json *facts = NULL;

    (void)state;
    s.check = false;
    gnt_assert_status(gnt_simulate_texts(inventory, trace, s, &facts), GNT_ERR_LIMIT);
    gnt_assert_error_has("faster than epochs end", "simulated seconds");
    gnt_assert_status(gnt_simulate_texts(TYPES, "tasks:\n  - { name: t, epochs: 1e9 }\n", s, &facts),
                      GNT_ERR_LIMIT);
    gnt_assert_error_has("1e+09 epochs", "line 2");
}

static void test_examples(void **state)
{
    static const char *const pairs[][3] = { { "421", "24", "member-23" },
                                            { "421", "24-loss", "fast-0" },
                                            { "spot", "24", "spot-3" },
                                            { "lanes", "lanes", "foreground" } };

    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        char inventory[GNT_TEST_PATH_BYTES], trace[GNT_TEST_PATH_BYTES], chart[GNT_TEST_PATH_BYTES];
        char *svg;
        gnti_simulation s = gnt_simulate_as_written(1);
        gnti_json *facts = NULL;

        gnt_test_path(chart, "chart.svg");
        snprintf(inventory, sizeof inventory, "%s/examples/ensembles/inventory-%s.yaml", GNT_SOURCE_DIR,
                 pairs[i][0]);
        snprintf(trace, sizeof trace, "%s/examples/ensembles/trace-%s.yaml", GNT_SOURCE_DIR, pairs[i][1]);
        s.inventory = inventory;
        s.trace = trace;
        s.chart = chart;
        gnt_assert_ok(gnti_simulate(&s, &facts));
        assert_true(gnt_simulated_fact(facts, "ended") == gnt_simulated_fact(facts, "tasks"));
        assert_true(gnt_simulated_fact(facts, "makespan_over_bound") >= 1.0);
        svg = gnt_test_read(chart, NULL);
        assert_non_null(strstr(svg, pairs[i][2]));
        assert_non_null(strstr(svg, "lower bound"));
        gnti_free(svg);
        gnti_json_free(&facts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_files),
        cmocka_unit_test(test_fits_nothing),
        cmocka_unit_test(test_no_progress),
        cmocka_unit_test(test_examples),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
