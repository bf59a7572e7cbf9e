/* SPDX-License-Identifier: Apache-2.0 */
/* Measured choices: what a run carries and what the user's file has, who comes first, another process that measures meanwhile,
 * a folder that cannot be written, and failing allocations. Which choices are made: tests/hostcuda/test_cuda_choose.c.
 */
#include "tests/support/gnt_test.h"

#include "base/file.h"
#include "kernels/choices.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static gnti_choices *open_at(const char *path)
{
    gnti_choices *c = NULL;

    gnt_assert_ok(gnti_choices_create(
        &(gnti_choices_config){ .path = path, .determinism = GNTI_DET_RUN, .measures = true }, &c));
    return c;
}

static gnti_choice measured(const char *value)
{
    gnti_choice c = { .why = "a 1 us, b 2 us", .origin = GNTI_CHOICE_MEASURED };

    snprintf(c.value, sizeof c.value, "%s", value);
    return c;
}

static void test_first_comes_first(void **state)
{
    char path[GNT_TEST_PATH_BYTES];
    gnti_choice choice = measured("a"), found;
    gnti_choices *one, *two;

    (void)state;
    gnt_test_write(path, "both.json", "", 0);
    assert_int_equal(unlink(path), 0);
    one = open_at(path);
    two = open_at(path);
    gnt_assert_ok(gnti_choices_find(two, "k:1", &found)); /* it has read the file, and found none */
    assert_int_equal(found.value[0], 0);
    gnt_assert_ok(gnti_choices_set(one, "k:1", false, &choice));
    choice = measured("b");
    gnt_assert_ok(gnti_choices_set(two, "k:1", false, &choice)); /* another was quicker */
    assert_string_equal(choice.value, "a");
    assert_int_equal(choice.origin, GNTI_CHOICE_STORED);
    choice = measured("b");
    gnt_assert_ok(gnti_choices_set(two, "k:1", true, &choice));
    assert_string_equal(choice.value, "b");
    choice = measured("c");
    gnt_assert_ok(gnti_choices_set(one, "k:1", false, &choice)); /* what this one uses stays */
    assert_string_equal(choice.value, "a");
    gnti_choices_free(&one);
    gnti_choices_free(&two);
    one = open_at(path);
    gnt_assert_ok(gnti_choices_take(one, "k:2=z"));
    gnt_assert_ok(gnti_choices_find(one, "k:1", &found));
    assert_string_equal(found.value, "b");
    gnt_assert_ok(gnti_choices_find(one, "k:2", &found));
    assert_string_equal(found.value, "z");
    assert_int_equal(found.origin, GNTI_CHOICE_OF_RUN);
    choice = measured("x");
    gnt_assert_status(gnti_choices_set(one, "k=3", false, &choice), GNT_ERR_ARG);
    gnti_choices_free(&one);
    gnti_choices_free(&one);
}

static void test_text_of_a_run(void **state)
{
    gnti_choices *c = open_at("/nowhere/that/is/writable.json");
    gnti_choice rule = { .value = "own", .why = "a rule", .origin = GNTI_CHOICE_BY_RULE };
    gnti_text t = { 0 };
    char *text = NULL;

    (void)state;
    gnt_assert_ok(gnti_choices_take(c, "spmm:x:rows 2^3=csr_alg3;;no pair;=;k=;k=Upper;spmm:y=own;"));
    gnt_assert_ok(gnti_choices_take(c, ""));
    gnt_assert_ok(gnti_choices_take(c, NULL));
    gnt_assert_ok(gnti_choices_set(c, "r", false, &rule));
    gnti_choices_put(c, &t);
    gnt_assert_ok(gnti_text_take(&t, &text));
    assert_string_equal(text, ";spmm:x:rows 2^3=csr_alg3;spmm:y=own");
    gnti_free(text);
    gnti_choices_tell(c, &t);
    gnt_assert_ok(gnti_text_take(&t, &text));
    assert_string_equal(text, "choice r: own (rule: a rule)\n"); /* the others were not asked for */
    gnti_free(text);
    gnti_choices_free(&c);
}

/* Many processes that add at once lose nothing. */
static void test_processes(void **state)
{
    enum { PROCESSES = 6, EACH = 5 };
    char path[GNT_TEST_PATH_BYTES], key[32];
    gnti_choices *c;
    gnti_choice found;

    (void)state;
    gnt_test_write(path, "many.json", "{", 1); /* damaged, too */
    for (int p = 0; p < PROCESSES; p++)
        if (fork() == 0) {
            gnti_choices *mine = NULL;
            bool fine =
                gnti_choices_create(
                    &(gnti_choices_config){ .path = path, .determinism = GNTI_DET_RUN, .measures = true },
                    &mine) == GNT_OK;

            for (int i = 0; i < EACH; i++) {
                gnti_choice choice = measured("a");

                snprintf(key, sizeof key, "k:%d:%d", p, i);
                fine =
                    gnti_choices_set(mine, key, false, &choice) == GNT_OK && choice.value[0] == 'a' && fine;
            }
            _exit(fine ? 0 : 1);
        }
    for (int p = 0, status = 0; p < PROCESSES; p++)
        assert_true(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    c = open_at(path);
    for (int p = 0; p < PROCESSES; p++)
        for (int i = 0; i < EACH; i++) {
            snprintf(key, sizeof key, "k:%d:%d", p, i);
            gnt_assert_ok(gnti_choices_find(c, key, &found));
            assert_string_equal(found.value, "a");
        }
    gnti_choices_free(&c);
}

static gnt_status use(const char *path)
{
    gnt_status st = GNT_OK;
    gnti_choices *c = NULL;
    gnti_choice choice = measured("a");
    gnti_json *list = NULL;

    GNT_TRY(gnti_choices_create(
        &(gnti_choices_config){ .path = path, .determinism = GNTI_DET_OFF, .measures = true }, &c));
    GNT_TRY(gnti_choices_take(c, "p=q"));
    GNT_TRY(gnti_choices_find(c, "k:1", &choice));
    choice = measured("a");
    GNT_TRY(gnti_choices_set(c, "k:2", false, &choice));
    GNT_TRY(gnti_json_create_array(&list));
    GNT_TRY(gnti_choices_tell_json(c, list));
done:
    gnti_json_free(&list);
    gnti_choices_free(&c);
    return st;
}

/* A file that cannot be written for want of memory is told and does not end the run, so rounds may succeed. */
static void test_no_memory(void **state)
{
    char path[GNT_TEST_PATH_BYTES];
    gnti_alloc_stats before, after;

    (void)state;
    gnt_test_write(path, "memory.json", "{", 1);
    gnti_alloc_get_stats(&before);
    for (int64_t k = 0; k < 60; k++) {
        gnt_status st;

        gnti_alloc_fail_at(k);
        st = use(path);
        gnti_alloc_fail_at(-1);
        assert_true(st == GNT_OK || st == GNT_ERR_NOMEM);
        gnt_clear_error();
        gnti_alloc_get_stats(&after);
        assert_int_equal(after.live_blocks, before.live_blocks);
    }
    gnt_assert_ok(use(path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_comes_first),
        cmocka_unit_test(test_text_of_a_run),
        cmocka_unit_test(test_processes),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
