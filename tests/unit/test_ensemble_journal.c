/* SPDX-License-Identifier: Apache-2.0 */
/* The journal: lines come back, a torn end is cut wherever it was torn, damage before it is named. */
#include "tests/support/gnt_test.h"

#include "base/file.h"
#include "ensemble/journal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { NUM_LINES = 5 };

static void add(gnti_journal *j, int64_t epoch, bool sync)
{
    gnti_json *o = NULL;

    gnt_assert_ok(gnti_json_create_object(&o));
    gnt_assert_ok(gnti_json_set_text(o, "member", "m\"0\n1"));
    gnt_assert_ok(gnti_json_set_int(o, "epoch", epoch));
    gnt_assert_ok(gnti_journal_add(j, "saved", o, sync));
    gnti_json_free(&o);
}

/* A journal of NUM_LINES lines, as text. */
static char *make(const char *name, char path[GNT_TEST_PATH_BYTES], int64_t *bytes)
{
    gnti_journal *j = NULL;

    gnt_test_path(path, name);
    remove(path);
    gnt_assert_ok(gnti_journal_open(path, &j));
    assert_int_equal(gnti_journal_num_lines(j), 0);
    for (int64_t i = 0; i < NUM_LINES; i++)
        add(j, i, i % 2 == 0);
    gnti_journal_close(&j);
    return gnt_test_read(path, bytes);
}

static void check_line(const gnti_journal *j, int64_t index)
{
    const gnti_json *o = gnti_journal_line(j, index);
    const char *text = NULL;
    int64_t number = -1;

    gnt_assert_ok(gnti_json_get_int(o, "line", &number));
    assert_int_equal(number, index + 1);
    gnt_assert_ok(gnti_json_get_int(o, "epoch", &number));
    assert_int_equal(number, index);
    gnt_assert_ok(gnti_json_get_text(o, "event", &text));
    assert_string_equal(text, "saved");
    gnt_assert_ok(gnti_json_get_text(o, "member", &text));
    assert_string_equal(text, "m\"0\n1");
}

static void lines_come_back(void **state)
{
    char path[GNT_TEST_PATH_BYTES];
    gnti_journal *j = NULL;

    (void)state;
    gnti_free(make("come-back.jsonl", path, NULL));
    gnt_assert_ok(gnti_journal_open(path, &j));
    assert_int_equal(gnti_journal_num_lines(j), NUM_LINES);
    for (int64_t i = 0; i < NUM_LINES; i++)
        check_line(j, i);
    add(j, NUM_LINES, true); /* goes on with the next number */
    gnti_journal_close(&j);
    gnt_assert_ok(gnti_journal_read(path, &j));
    assert_int_equal(gnti_journal_num_lines(j), NUM_LINES + 1);
    check_line(j, NUM_LINES);
    gnt_assert_status(gnti_journal_add(j, "saved", NULL, false), GNT_ERR_STATE);
    gnti_journal_close(&j);
}

/* The file ends after any number of its bytes: all whole lines are there, and what is added then is read again. */
static void torn_end_is_cut(void **state)
{
    char path[GNT_TEST_PATH_BYTES];
    int64_t bytes = 0;
    char *text = make("torn.jsonl", path, &bytes);

    (void)state;
    for (int64_t length = 0; length <= bytes; length++) {
        gnti_journal *j = NULL;
        int64_t whole = 0;

        for (int64_t i = 0; i < length; i++)
            whole += text[i] == '\n';
        gnt_test_write(path, "torn.jsonl", text, length);
        gnt_assert_ok(gnti_journal_open(path, &j));
        assert_int_equal(gnti_journal_num_lines(j), whole);
        if (whole == NUM_LINES - 1) {
            add(j, whole, false);
            gnti_journal_close(&j);
            gnt_assert_ok(gnti_journal_read(path, &j));
            assert_int_equal(gnti_journal_num_lines(j), NUM_LINES);
            check_line(j, whole);
        }
        gnti_journal_close(&j);
    }
    gnti_free(text);
}

/* Any changed byte: of the last line it costs that line, before it the file is refused with the line's number. */
static void damage_is_named(void **state)
{
    char path[GNT_TEST_PATH_BYTES], number[32];
    int64_t bytes = 0, line = 1;
    char *text = make("damaged.jsonl", path, &bytes);

    (void)state;
    for (int64_t at = 0; at < bytes; at++) {
        gnti_journal *j = NULL;
        const bool ends = text[at] == '\n';

        text[at] ^= 1;
        gnt_test_write(path, "damaged.jsonl", text, bytes);
        text[at] ^= 1;
        if (line == NUM_LINES) {
            gnt_assert_ok(gnti_journal_read(path, &j));
            assert_int_equal(gnti_journal_num_lines(j), NUM_LINES - 1);
            gnti_journal_close(&j);
        } else if (!(ends && line == NUM_LINES - 1)) { /* there two lines become one that is torn */
            snprintf(number, sizeof number, "line %lld ", (long long)line);
            gnt_assert_status(gnti_journal_read(path, &j), GNT_ERR_FORMAT);
            gnt_assert_error_has(number, "damaged.jsonl");
        }
        line += ends;
    }
    gnti_free(text);
}

static void missing_line_is_named(void **state)
{
    char path[GNT_TEST_PATH_BYTES];
    int64_t bytes = 0;
    char *text = make("missing.jsonl", path, &bytes), *second = strchr(text, '\n') + 1,
         *third = strchr(second, '\n') + 1;
    gnti_journal *j = NULL;

    (void)state;
    memmove(second, third, strlen(third) + 1);
    gnt_test_write(path, "missing.jsonl", text, -1);
    gnt_assert_status(gnti_journal_open(path, &j), GNT_ERR_FORMAT);
    gnt_assert_error_has("line 2 of", "line 3", "missing.jsonl");
    gnti_free(text);
}

/* A full disk: the line that failed is not there, later ones are. */
static void failed_line_is_taken_back(void **state)
{
    char path[GNT_TEST_PATH_BYTES];
    gnti_journal *j = NULL;

    (void)state;
    gnti_free(make("full.jsonl", path, NULL));
    gnt_assert_ok(gnti_journal_open(path, &j));
    gnti_file_fail_at(0, ENOSPC);
    gnt_assert_status(gnti_journal_add(j, "saved", NULL, false), GNT_ERR_DISK_FULL);
    gnti_file_fail_at(1, ENOSPC); /* the flush: the line is written, but nobody may rely on it */
    gnt_assert_status(gnti_journal_add(j, "saved", NULL, true), GNT_ERR_DISK_FULL);
    gnti_file_fail_at(-1, 0);
    add(j, NUM_LINES, true);
    gnti_journal_close(&j);
    gnt_assert_ok(gnti_journal_read(path, &j));
    assert_int_equal(gnti_journal_num_lines(j), NUM_LINES + 1);
    check_line(j, NUM_LINES);
    gnti_journal_close(&j);
}

static void survives_failing_allocations(void **state)
{
    char path[GNT_TEST_PATH_BYTES];
    gnti_journal *j = NULL;

    (void)state;
    gnti_free(make("brutal.jsonl", path, NULL));
    GNT_BRUTAL_OUT(gnti_journal_read(path, &j), j);
    gnti_journal_close(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_come_back),           cmocka_unit_test(torn_end_is_cut),
        cmocka_unit_test(damage_is_named),           cmocka_unit_test(missing_line_is_named),
        cmocka_unit_test(failed_line_is_taken_back), cmocka_unit_test(survives_failing_allocations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
