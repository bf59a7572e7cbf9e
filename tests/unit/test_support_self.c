/* SPDX-License-Identifier: Apache-2.0 */
/* The test support tested: comparisons that must fail do fail, brutal rounds see a leak, graphs keep their
 * kind. A comparison that is meant to fail runs in a child process of its own, since cmocka leaves a failing
 * test by a jump.
 */
#include "tests/support/gnt_test.h"
#include "tests/support/prop.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs one test function in a child; true when that test failed there. */
static bool fails(CMUnitTestFunction function)
{
    const struct CMUnitTest tests[] = { { "expected to fail", function, NULL, NULL, NULL } };
    int status = 0;
    const pid_t child = fork();

    if (child == 0) {
        if (freopen("/dev/null", "w", stdout) == NULL || freopen("/dev/null", "w", stderr) == NULL)
            _exit(0);
        _exit(_cmocka_run_group_tests("child", tests, 1, NULL, NULL) == 1 ? 1 : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

static void far_values(void **state)
{
    const float a[] = { 1.0f, 2.0f, 3.0f }, b[] = { 1.0f, 2.1f, 3.0f };

    (void)state;
    gnt_assert_close(a, b, 3, 1e-3, 0.0);
}

static void nan_value(void **state)
{
    const float a[] = { 1.0f, NAN }, b[] = { 1.0f, 2.0f };

    (void)state;
    gnt_assert_nmse(a, b, 2, 1e9);
}

static void bits_differ(void **state)
{
    const float a[] = { 0.0f }, b[] = { -0.0f };

    (void)state;
    gnt_assert_same_bits(a, b, 1);
}

static gnt_status careful(int64_t **out)
{
    gnt_status st = GNT_OK;
    int64_t *a = NULL, *b = NULL;

    GNT_TRY(gnti_alloc_array(&a, 10));
    GNT_TRY(gnti_alloc_array(&b, 10));
    *out = a;
    a = NULL;
done:
    gnti_free(a);
    gnti_free(b);
    return st;
}

static gnt_status leaky(int64_t **out)
{
    gnt_status st = GNT_OK;
    int64_t *a = NULL;

    GNT_TRY(gnti_alloc_array(&a, 10));
    GNT_TRY(gnti_alloc_array(out, 10));
    gnti_free(a);
done:
    return st;
}

static gnt_status hasty(int64_t **out)
{
    gnt_status st = GNT_OK;
    int64_t *a = NULL;

    *out = (int64_t *)1;
    GNT_TRY(gnti_alloc_array(&a, 10));
    *out = NULL;
done:
    gnti_free(a);
    return st;
}

static void brutal_leak(void **state)
{
    int64_t *out = NULL;

    (void)state;
    GNT_BRUTAL_OUT(leaky(&out), out);
}

static void brutal_output(void **state)
{
    int64_t *out = NULL;

    (void)state;
    GNT_BRUTAL_OUT(hasty(&out), out);
}

static void failures_are_seen(void **state)
{
    (void)state;
    assert_true(fails(far_values));
    assert_true(fails(nan_value));
    assert_true(fails(bits_differ));
    assert_true(fails(brutal_leak));
    assert_true(fails(brutal_output));
}

static void good_calls_pass(void **state)
{
    const float a[] = { 1.0f, 2.0f, INFINITY }, b[] = { 1.0f, 2.0001f, INFINITY };
    const double c[] = { 1.0, 2.0, INFINITY };
    int64_t *out = NULL;

    (void)state;
    gnt_assert_close(a, b, 3, 1e-4, 0.0);
    gnt_assert_close_f64(a, c, 3, 0.0, 0.0);
    gnt_assert_same_bits(a, a, 3);
    GNT_BRUTAL_OUT(careful(&out), out);
    assert_non_null(out);
    gnti_free(out);
}

static void files_live_in_a_folder_of_their_own(void **state)
{
    char path[GNT_TEST_PATH_BYTES];
    char *text;
    int64_t bytes;

    (void)state;
    text = gnt_test_read(gnt_test_write(path, "a.txt", "hello", -1), &bytes);
    assert_string_equal(text, "hello");
    assert_int_equal(bytes, 5);
    gnti_free(text);
}

static const char *ends_are_nodes(const gnt_prop_graph *g, void *user)
{
    int *seen = user;

    seen[g->kind]++;
    for (int64_t i = 0; i < g->num_arcs; i++) {
        if (g->source[i] < 0 || g->source[i] >= g->num_nodes || g->target[i] < 0 ||
            g->target[i] >= g->num_nodes)
            return "an arc ends outside the graph";
        if (!(g->weight[i] > 0.0f && g->weight[i] <= 1.0f))
            return "a weight lies outside (0, 1]";
    }
    return NULL;
}

static const char *no_loops(const gnt_prop_graph *g, void *user)
{
    (void)user;
    for (int64_t i = 0; i < g->num_arcs; i++) {
        if (g->source[i] == g->target[i])
            return "a loop";
    }
    return NULL;
}

static void false_law(void **state)
{
    (void)state;
    gnt_prop_run("graphs have no loops", no_loops, NULL, 3, 50);
}

static void graphs_are_valid(void **state)
{
    int seen[GNT_PROP_NUM_KINDS] = { 0 };

    (void)state;
    gnt_prop_run("arcs end at nodes", ends_are_nodes, seen, 10, 60);
    for (int kind = 0; kind < GNT_PROP_NUM_KINDS; kind++)
        assert_true(seen[kind] >= 1);
    assert_true(fails(false_law));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failures_are_seen),
        cmocka_unit_test(good_calls_pass),
        cmocka_unit_test(files_live_in_a_folder_of_their_own),
        cmocka_unit_test(graphs_are_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
