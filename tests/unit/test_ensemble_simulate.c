/* SPDX-License-Identifier: Apache-2.0 */
/* The simulator: equal inputs give equal bytes; whatever fails, no task is lost and none trained twice, which its file of events must show
 * by itself; schedules of a few tasks against all assignments; what costs of moves do.
 */
#include "tests/support/simulate_case.h"

#include "ensemble/simulate_state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 8192 };

/* Of equal times the first that was pushed comes first: 1000 moments at 7 times. */
static void test_moments(void **state)
{
    gnti_moments h = { 0 };
    gnti_moment m, last = { .time = -1.0 };
    int count = 0;

    (void)state;
    for (int32_t i = 0; i < 1000; i++)
        gnt_assert_ok(gnti_moments_push(&h, GNTI_MOMENT_EPOCH, (double)(i * 37 % 7), i, i));
    for (; gnti_moments_pop(&h, &m); last = m, count++)
        assert_true(m.time > last.time || (m.time == last.time && m.index > last.index));
    assert_int_equal(count, 1000);
    assert_null(gnti_moments_peek(&h));
    gnti_free(h.heap);
}

/* ---- everything that can fail ---- */

static const char rough_inventory[] =
    "noise: 0.1\n"
    "retries: 1\n"
    "start: 1\n"
    "pause: 0.1\n"
    "bandwidth: 1\n"
    "disk: 0.5\n"
    "checkpoint-every: 3\n"
    "round: 10\n"
    "stragglers: 0.2\n"
    "failures: weibull\n"
    "failure-mean: 150\n"
    "repair: 20\n"
    "departure-mean: 200\n"
    "notice: 5\n"
    "away: 30\n"
    "task-failure-mean: 200\n"
    "types:\n"
    "  - { name: big, count: 2, speed: 4, memory: 16, idle-watts: 10, busy-watts: 100 }\n"
    "  - { name: shared, count: 2, speed: 2, memory: 8, lanes: 3 }\n"
    "  - { name: small-one, speed: 1, memory: 4 }\n";
static const char rough_trace[] =
    "tasks:\n"
    "  - { name: a, count: 6, epochs: [3, 20], seconds: [1, 8], given: rough, max-devices: 3,\n"
    "      shared: 1, lasting: 0.5, scratch: 1, switch: 0.5 }\n"
    "  - { name: b, count: 5, epochs: [5, 10], seconds: 3, given: unknown, arrival: 5, every: 4,\n"
    "      gaps: exponential, speeds: { big: 1, small-one: 0 }, use: 0.4, ends: [0.5, 1], lasting: 2 }\n"
    "  - { name: alone, epochs: 8, seconds: 2, foreground: true }\n"
    "events:\n"
    "  - { at: 4, slow: big-0, factor: 0.3 }\n"
    "  - { at: 6, lose: shared-1 }\n"
    "  - { at: 9, leave: big-1, notice: 10 }\n"
    "  - { at: 12, fail: a-2 }\n"
    "  - { at: 13, shrink: a-3, factor: 0.5 }\n"
    "  - { at: 15, end: a-4 }\n"
    "  - { at: 30, add: shared-1 }\n"
    "  - { at: 40, leave: small-one-0 }\n"
    "  - { at: 41, add: small-one-0 }\n";

static void simulate_to(uint64_t seed, const char *events, char **facts, char **log)
{
    gnti_simulation s = gnt_simulate_as_written(seed);
    gnti_json *json = NULL;

    s.events = events;
    gnt_assert_ok(gnt_simulate_texts(rough_inventory, rough_trace, s, &json));
    gnt_assert_ok(gnti_json_print(json, true, facts));
    *log = gnt_test_read(events, NULL);
    gnti_json_free(&json);
}

static void test_same_bytes(void **state)
{
    char path[GNT_TEST_PATH_BYTES], *facts[3], *log[3];

    (void)state;
    gnt_test_path(path, "events.jsonl");
    simulate_to(5, path, &facts[0], &log[0]);
    simulate_to(5, path, &facts[1], &log[1]);
    simulate_to(6, path, &facts[2], &log[2]);
    assert_string_equal(facts[0], facts[1]);
    assert_string_equal(log[0], log[1]);
    assert_true(strcmp(log[0], log[2]) != 0);
    for (int i = 0; i < 3; i++) {
        gnti_free(facts[i]);
        gnti_free(log[i]);
    }
}

/* What the file of events says of one task. */
typedef struct story {
    char name[32];
    double epochs;
    bool ended, given_up, fell;
} story;

static story *story_of(story *stories, int *num, const char *name)
{
    for (int i = 0; i < *num; i++)
        if (strcmp(stories[i].name, name) == 0)
            return &stories[i];
    assert_true(*num < 16);
    memset(&stories[*num], 0, sizeof stories[0]);
    snprintf(stories[*num].name, sizeof stories[0].name, "%s", name);
    return &stories[(*num)++];
}

static void read_line(const gnti_json *line, story *stories, int *num)
{
    const char *event = gnti_json_to_text(gnti_json_find(line, "event"));
    const char *action = gnti_json_to_text(gnti_json_find(line, "action"));
    const char *name = gnti_json_to_text(gnti_json_find(line, "task"));
    story *s = name == NULL ? NULL : story_of(stories, num, name);

    for (int i = 0; event != NULL && strcmp(event, "device-lost") == 0 && i < *num; i++)
        stories[i].fell = true; /* it may have been on it */
    if (s == NULL)
        return;
    assert_false(s->ended || s->given_up); /* nothing after the end */
    s->given_up = action != NULL && strcmp(action, "give-up") == 0;
    s->ended = event != NULL && strcmp(event, "task-ended") == 0;
    if (event != NULL && strcmp(event, "task-failed") == 0)
        s->epochs = gnt_simulated_fact(line, "epochs");
    if (event == NULL || strcmp(event, "epoch-done") != 0)
        return;
    if (s->fell && gnt_simulated_fact(line, "epochs") <= s->epochs)
        s->epochs = gnt_simulated_fact(line, "epochs") - 1.0; /* from the last checkpoint */
    assert_true(gnt_simulated_fact(line, "epochs") == s->epochs + 1.0);
    s->epochs += 1.0;
    s->fell = false;
}

static void check_story(char *log, double ended, double given_up)
{
    story stories[16];
    int num = 0;

    for (char *line = log, *end; *line != '\0'; line = end + 1) {
        gnti_json *json = NULL;

        end = strchr(line, '\n');
        assert_non_null(end);
        gnt_assert_ok(gnti_json_parse(line, (size_t)(end - line), "events", &json));
        read_line(json, stories, &num);
        gnti_json_free(&json);
    }
    assert_int_equal(num, 12);
    for (int i = 0; i < num; i++) {
        assert_true(stories[i].ended != stories[i].given_up);
        ended -= stories[i].ended;
        given_up -= stories[i].given_up;
    }
    assert_true(ended == 0.0 && given_up == 0.0);
}

static void test_nothing_lost(void **state)
{
    char path[GNT_TEST_PATH_BYTES];
    double interrupted = 0.0, retries = 0.0, lost = 0.0, given_up = 0.0;

    (void)state;
    gnt_test_path(path, "events.jsonl");
    for (uint64_t seed = 1; seed <= 120; seed++) {
        gnti_simulation s = gnt_simulate_as_written(seed);
        gnti_json *facts = NULL;
        char *log;

        s.policy = (int32_t)(seed % GNTI_NUM_POLICIES);
        s.moves = seed / GNTI_NUM_POLICIES % 2;
        s.events = path;
        gnt_assert_ok(gnt_simulate_texts(rough_inventory, rough_trace, s, &facts));
        log = gnt_test_read(path, NULL);
        check_story(log, gnt_simulated_fact(facts, "ended"), gnt_simulated_fact(facts, "given_up"));
        assert_true(gnt_simulated_fact(facts, "left") == 0.0 &&
                    gnt_simulated_fact(facts, "utilisation") <= 1.0 + 1e-9);
        interrupted += gnt_simulated_fact(facts, "interrupted");
        retries += gnt_simulated_fact(facts, "retries");
        lost += gnt_simulated_fact(facts, "epochs_lost");
        given_up += gnt_simulated_fact(facts, "given_up");
        gnti_json_free(&facts);
        gnti_free(log);
    }
    if (interrupted < 100.0 || retries < 100.0 || lost < 100.0 || given_up < 1.0)
        fail_msg("too tame: %g interrupted, %g retries, %g epochs lost, %g given up", interrupted, retries,
                 lost, given_up);
}

/* ---- schedules ---- */

static const double speeds[4] = { 4.0, 2.0, 2.0, 1.0 };

/* The least makespan of all assignments of whole tasks. */
static double best_makespan(const double *work, int num_tasks, int num_devices)
{
    double best = INFINITY;
    int total = 1;

    for (int j = 0; j < num_tasks; j++)
        total *= num_devices;
    for (int code = 0; code < total; code++) {
        double load[4] = { 0 }, most = 0.0;

        for (int j = 0, c = code; j < num_tasks; j++, c /= num_devices)
            load[c % num_devices] += work[j] / speeds[c % num_devices];
        for (int d = 0; d < num_devices; d++)
            most = load[d] > most ? load[d] : most;
        best = most < best ? most : best;
    }
    return best;
}

static double simulated_makespan(const double *work, int num_tasks, int num_devices)
{
    char inventory[TEXT_BYTES], trace[TEXT_BYTES];
    gnti_json *facts = NULL;
    int n = snprintf(inventory, sizeof inventory, "types:\n");
    double seconds;

    for (int d = 0; d < num_devices; d++)
        n += snprintf(inventory + n, sizeof inventory - (size_t)n, "  - { name: d%d, speed: %g }\n", d,
                      speeds[d]);
    n = snprintf(trace, sizeof trace, "tasks:\n");
    for (int j = 0; j < num_tasks; j++) /* many short epochs: waiting for a boundary is nothing */
        n += snprintf(trace + n, sizeof trace - (size_t)n,
                      "  - { name: t%d, epochs: 200, seconds: %.17g, switch: 1e6 }\n", j, work[j] / 200.0);
    gnt_assert_ok(gnt_simulate_texts(inventory, trace, gnt_simulate_as_written(1), &facts));
    assert_true(gnt_simulated_fact(facts, "left") == 0.0);
    seconds = gnt_simulated_fact(facts, "makespan_seconds");
    assert_true(seconds >= gnt_simulated_fact(facts, "lower_bound_seconds") * (1.0 - 1e-9));
    gnti_json_free(&facts);
    return seconds;
}

/* Tasks that never move (a move costs more than anything) in an order that the policy finds, against all assignments. */
static void test_few_tasks(void **state)
{
    double sum = 0.0, worst = 0.0;
    int count = 0;

    (void)state;
    for (int num_tasks = 1; num_tasks <= 4; num_tasks++)
        for (int num_devices = 1; num_devices <= 4; num_devices++)
            for (int k = 0; k < 6; k++) {
                double work[4], ratio;

                for (int j = 0; j < 4; j++)
                    work[j] = 20.0 + fmod(37.0 * (k + 1) * (j + 2) + 11.0 * j * j, 100.0);
                ratio = simulated_makespan(work, num_tasks, num_devices) /
                        best_makespan(work, num_tasks, num_devices);
                assert_true(ratio >= 1.0 - 1e-9);
                worst = ratio > worst ? ratio : worst;
                sum += ratio;
                count++;
            }
    if (worst > 4.0 / 3.0 || sum / count > 1.05)
        fail_msg("makespan over the optimum: %.3f on average, %.3f at worst", sum / count, worst);
}

static const char inventory_421[] = "noise: 0.05\n"
                                    "start: 2\n"
                                    "pause: 0.05\n"
                                    "bandwidth: 1\n"
                                    "disk: 0.2\n"
                                    "types:\n"
                                    "  - { name: fast, speed: 4 }\n"
                                    "  - { name: middle, speed: 2 }\n"
                                    "  - { name: slow, speed: 1 }\n";
static const char trace_24[] =
    "tasks:\n"
    "  - { name: m, count: 24, epochs: [50, 200], seconds: [0.5, 4], given: unknown,\n"
    "      max-devices: 3, lasting: 0.05 }\n";

/* The manager learns speeds that it was never told. */
static void test_learns_speeds(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        gnti_json *facts = NULL;

        gnt_assert_ok(gnt_simulate_texts(inventory_421, trace_24, gnt_simulate_as_written(seed), &facts));
        assert_true(gnt_simulated_fact(facts, "makespan_over_bound") <= 1.1 &&
                    gnt_simulated_fact(facts, "makespan_over_bound") >= 1.0);
        assert_true(gnt_simulated_fact(facts, "utilisation") >= 0.9);
        gnti_json_free(&facts);
    }
}

static void test_loses_fastest(void **state)
{
    char trace[TEXT_BYTES];

    (void)state;
    snprintf(trace, sizeof trace, "%sevents:\n  - { at: 300, lose: fast-0 }\n", trace_24);
    for (uint64_t seed = 1; seed <= 5; seed++) {
        gnti_json *facts = NULL;

        gnt_assert_ok(gnt_simulate_texts(inventory_421, trace, gnt_simulate_as_written(seed), &facts));
        assert_true(gnt_simulated_fact(facts, "makespan_over_bound") <= 1.2 &&
                    gnt_simulated_fact(facts, "interrupted") == 1.0);
        gnti_json_free(&facts);
    }
}

/* A device becomes ten times slower: left to it, its task would take twice the makespan of all. */
static void test_slow_device(void **state)
{
    static const char inventory[] = "noise: 0.05\ntypes:\n  - { name: d, count: 4 }\n";
    static const char trace[] = "tasks:\n  - { name: t, count: 12, epochs: 100, seconds: [0.8, 1.2] }\n"
                                "events:\n  - { at: 50, slow: d-0, factor: 0.1 }\n";

    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        gnti_json *facts = NULL;

        gnt_assert_ok(gnt_simulate_texts(inventory, trace, gnt_simulate_as_written(seed), &facts));
        assert_true(gnt_simulated_fact(facts, "moves_made") >= 1.0);
        /* the bound takes the device to be as its type is: 4 devices, of which 3.1 are left */
        assert_true(gnt_simulated_fact(facts, "makespan_over_bound") <= 1.1 * 4.0 / 3.1);
        gnti_json_free(&facts);
    }
}

/* A task that moves off a device which leaves is paused by its bytes' way (resize), or by a whole start (restart). */
static void test_costs_of_moves(void **state)
{
    static const char inventory[] =
        "start: 20\npause: 0.1\nbandwidth: 2\ndisk: 0.5\ntypes:\n  - { name: d, count: 2 }\n";
    static const char trace[] =
        "tasks:\n  - { name: t, epochs: 100, lasting: 1 }\nevents:\n  - { at: 50, leave: d-0 }\n";
    const double pauses[2] = { 0.1 + 0.5, 20.0 + 4.0 };

    (void)state;
    for (int32_t moves = 0; moves < 2; moves++) {
        gnti_simulation s = gnt_simulate_as_written(1);
        gnti_json *facts = NULL;

        s.moves = moves;
        gnt_assert_ok(gnt_simulate_texts(inventory, trace, s, &facts));
        assert_true(gnt_simulated_fact(facts, "moves_made") == 1.0);
        assert_true(fabs(gnt_simulated_fact(facts, "move_seconds") - 20.0 - pauses[moves]) <
                    1e-9); /* 20: the first start */
        assert_true(fabs(gnt_simulated_fact(facts, "makespan_seconds") - 120.0 - pauses[moves]) < 1e-9);
        gnti_json_free(&facts);
    }
}

static void test_allocations_fail(void **state)
{
    char inventory[GNT_TEST_PATH_BYTES], trace[GNT_TEST_PATH_BYTES], events[GNT_TEST_PATH_BYTES];
    gnti_simulation s = gnt_simulate_as_written(3);
    gnti_json *facts = NULL;

    (void)state;
    s.inventory = gnt_test_write(inventory, "inventory.yaml", rough_inventory, -1);
    s.trace = gnt_test_write(trace, "trace.yaml", rough_trace, -1);
    s.events = gnt_test_path(events, "events.jsonl");
    for (int64_t k = 0; k < 400; k++) {
        gnti_alloc_fail_at(k * k / 8);
        if (gnti_simulate(&s, &facts) == GNT_OK) {
            gnti_json_free(&facts);
            break;
        }
        assert_null(facts);
    }
    gnti_alloc_fail_at(-1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moments),          cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_nothing_lost),     cmocka_unit_test(test_few_tasks),
        cmocka_unit_test(test_learns_speeds),    cmocka_unit_test(test_loses_fastest),
        cmocka_unit_test(test_costs_of_moves),   cmocka_unit_test(test_slow_device),
        cmocka_unit_test(test_allocations_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
