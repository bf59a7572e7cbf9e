/* SPDX-License-Identifier: Apache-2.0 */
/* Byte sources and the tokenizer: compression by content, zip members, lines, tokens, numbers, places in messages. */
#include "tests/support/gnt_test.h"

#include "datasets/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char EDGES[] = "# five nodes, a loop, a repeat\n0 1\n1 2\n2 0\n3 3\n0 1\n";

/* A file of tests/data/import. */
static char *fixture(char out[GNT_TEST_PATH_BYTES], const char *name)
{
    snprintf(out, GNT_TEST_PATH_BYTES, "%s/tests/data/import/%s", GNT_SOURCE_DIR, name);
    return out;
}

static void read_all(const char *path, char *out, size_t room)
{
    gnti_byte_source *source = NULL;
    const char *block;
    size_t bytes = 1, used = 0;

    gnt_assert_ok(gnti_byte_source_open(path, &source));
    while (bytes > 0) {
        gnt_assert_ok(gnti_byte_source_next(source, &block, &bytes));
        assert_true(used + bytes < room);
        memcpy(out + used, block, bytes);
        used += bytes;
    }
    out[used] = '\0';
    gnti_byte_source_free(&source);
}

static void compression_is_told_by_content(void **state)
{
    static const char *const suffixes[] = { "", ".gz", ".bz2", ".xz", ".zst", ".lz4" };
    char path[GNT_TEST_PATH_BYTES], name[64], text[256];
    int64_t bytes = 0;

    (void)state;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        char *content;

        snprintf(name, sizeof name, "edges.txt%s", suffixes[i]);
        read_all(fixture(path, name), text, sizeof text);
        assert_string_equal(text, EDGES);
        content = gnt_test_read(path, &bytes); /* and under a name that says nothing */
        read_all(gnt_test_write(path, "unnamed", content, bytes), text, sizeof text);
        assert_string_equal(text, EDGES);
        gnti_free(content);
    }
}

static void an_empty_file_has_no_bytes(void **state)
{
    char path[GNT_TEST_PATH_BYTES], text[16] = "x";

    (void)state;
    read_all(gnt_test_write(path, "empty", "", 0), text, sizeof text);
    assert_string_equal(text, "");
}

static void peeking_consumes_nothing(void **state)
{
    gnti_byte_source *source = NULL;
    const char *peeked, *block;
    size_t peeked_bytes, bytes;

    (void)state;
    gnt_assert_ok(gnti_byte_source_open_memory("memory", EDGES, strlen(EDGES), &source));
    for (int i = 0; i < 2; i++) {
        gnt_assert_ok(gnti_byte_source_peek(source, &peeked, &peeked_bytes));
        assert_int_equal(peeked_bytes, strlen(EDGES));
    }
    gnt_assert_ok(gnti_byte_source_next(source, &block, &bytes));
    assert_ptr_equal(block, peeked);
    gnt_assert_ok(gnti_byte_source_next(source, &block, &bytes));
    assert_int_equal(bytes, 0);
    gnti_byte_source_free(&source);
}

static void cut_compression_is_damage_not_an_end(void **state)
{
    static const char *const names[] = { "edges.txt.gz", "edges.txt.bz2", "edges.txt.xz", "edges.txt.zst",
                                         "edges.txt.lz4" };
    char path[GNT_TEST_PATH_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int64_t bytes = 0;
        char *content = gnt_test_read(fixture(path, names[i]), &bytes);
        gnti_byte_source *source = NULL;
        const char *block;
        size_t got = 1;
        gnt_status st = gnti_byte_source_open_memory(names[i], content, (size_t)bytes - 20, &source);

        while (st == GNT_OK && got > 0)
            st = gnti_byte_source_next(source, &block, &got);
        assert_int_equal(st, GNT_ERR_FORMAT);
        gnt_assert_error_has(names[i]);
        gnti_byte_source_free(&source);
        gnti_free(content);
    }
}

/* A changed bit may be harmless (a time in a header) but never gives another text. */
static void changed_bits_never_give_another_text(void **state)
{
    static const char *const names[] = { "edges.txt.gz", "edges.txt.bz2", "edges.txt.xz", "edges.txt.zst",
                                         "edges.txt.lz4" };
    char path[GNT_TEST_PATH_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int64_t bytes = 0;
        char *content = gnt_test_read(fixture(path, names[i]), &bytes);

        for (int64_t bit = 8 * 4; bit < 8 * bytes;
             bit++) { /* behind the magic, which makes it another format */
            gnti_byte_source *source = NULL;
            const char *block;
            char text[256];
            size_t got = 1, used = 0;
            gnt_status st;

            content[bit / 8] = (char)(content[bit / 8] ^ 1 << bit % 8);
            st = gnti_byte_source_open_memory(names[i], content, (size_t)bytes, &source);
            while (st == GNT_OK && got > 0) {
                st = gnti_byte_source_next(source, &block, &got);
                if (st == GNT_OK && used + got < sizeof text) {
                    memcpy(text + used, block, got);
                    used += got;
                }
            }
            if (st == GNT_OK && !(used == strlen(EDGES) && memcmp(text, EDGES, used) == 0) &&
                !(used == (size_t)bytes &&
                  memcmp(text, content, used) == 0)) /* no magic any more: passed on */
                fail_msg("%s: bit %lld changes the text unseen", names[i], (long long)bit);
            gnti_byte_source_free(&source);
            content[bit / 8] = (char)(content[bit / 8] ^ 1 << bit % 8);
        }
        gnti_free(content);
    }
}

static void members_of_gzip_are_one_text(void **state)
{
    char path[GNT_TEST_PATH_BYTES], twice[256] = { 0 }, text[256], want[256];
    int64_t bytes = 0;
    char *content = gnt_test_read(fixture(path, "edges.txt.gz"), &bytes);

    (void)state;
    memcpy(twice, content, (size_t)bytes);
    memcpy(twice + bytes, content, (size_t)bytes);
    read_all(gnt_test_write(path, "twice", twice, 2 * bytes + 8), text, sizeof text); /* with padding */
    snprintf(want, sizeof want, "%s%s", EDGES, EDGES);
    assert_string_equal(text, want);
    gnti_free(content);
}

static void missing_files_and_folders_are_told_apart(void **state)
{
    gnti_byte_source *source = NULL;

    (void)state;
    gnt_assert_status(gnti_byte_source_open("/no/such/file", &source), GNT_ERR_IO);
    gnt_assert_error_has("/no/such/file", "No such file");
    gnt_assert_status(gnti_byte_source_open(gnt_test_folder(), &source), GNT_ERR_IO);
    gnt_assert_error_has("directory");
    assert_null(source);
}

static void standard_input_is_a_dash(void **state)
{
    const int saved = dup(STDIN_FILENO);
    char text[256];
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], EDGES, strlen(EDGES)), (ssize_t)strlen(EDGES));
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    read_all("-", text, sizeof text);
    dup2(saved, STDIN_FILENO);
    close(saved);
    assert_string_equal(text, EDGES);
}

/* ---- lines and tokens ---- */

static gnti_byte_source *open_text(const char *text, gnti_reader *reader)
{
    gnti_byte_source *source = NULL;

    gnt_assert_ok(gnti_byte_source_open_memory("text", text, strlen(text), &source));
    gnt_assert_ok(gnti_reader_from_source(source, reader));
    return source;
}

static void expect_tokens(gnti_reader *reader, const char *const *want)
{
    gnti_token token;

    for (; *want != NULL; want++) {
        assert_true(gnti_reader_token(reader, &token));
        if (!gnti_token_equals(&token, *want))
            fail_msg("token '%s', expected '%s'", gnti_reader_show(reader, &token), *want);
    }
    assert_false(gnti_reader_token(reader, &token));
}

static void lines_end_in_every_usual_way(void **state)
{
    gnti_reader r;
    gnti_byte_source *s = open_text("\xef\xbb\xbf"
                                    "a b\r\n\n\r\n  % no\n# no\nlast",
                                    &r);

    (void)state;
    assert_true(gnti_reader_next_data(&r, "#%"));
    assert_int_equal(r.line_number, 1);
    expect_tokens(&r, (const char *const[]){ "a", "b", NULL });
    assert_true(gnti_reader_next_data(&r, "#%"));
    assert_int_equal(r.line_number, 6);
    assert_string_equal(r.line, "last");
    assert_false(gnti_reader_next_data(&r, "#%"));
    gnt_assert_ok(gnti_reader_status(&r));
    gnti_reader_close(&r);
    gnti_byte_source_free(&s);
}

static void tokens_are_parted_by_blanks_tabs_and_one_comma(void **state)
{
    static const struct {
        const char *line;
        const char *want[6];
    } cases[] = {
        { "1 2\t3", { "1", "2", "3" } },
        { "  1 , 2  ", { "1", "2" } },
        { "1,,2", { "1", "", "2" } },
        { ",1", { "", "1" } },
        { "1,", { "1", "" } },
        { "\"a b\",c", { "a b", "c" } },
        { "\"open x", { "\"open", "x" } },
        { "", { NULL } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gnti_reader r;
        char text[64];
        gnti_byte_source *s;

        snprintf(text, sizeof text, "%s\n", cases[i].line);
        s = open_text(text, &r);

        assert_true(gnti_reader_next(&r));
        expect_tokens(&r, cases[i].want);
        gnti_reader_close(&r);
        gnti_byte_source_free(&s);
    }
}

/* A line longer than the reader's buffer, and lines across its refills. */
static void long_lines_are_whole(void **state)
{
    enum { LONG = 3 << 20, SHORT_LINES = 200000 };
    char *text = NULL;
    gnti_reader r;
    gnti_byte_source *s;
    size_t used = LONG;
    int64_t value, sum = 0;

    (void)state;
    gnt_assert_ok(gnti_alloc_array(&text, LONG + 8 * SHORT_LINES + 1));
    memset(text, 'x', LONG - 1);
    text[LONG - 1] = '\n';
    for (int i = 0; i < SHORT_LINES; i++)
        used += (size_t)sprintf(text + used, "%d\n", i % 1000);
    text[used] = '\0';
    s = open_text(text, &r);
    assert_true(gnti_reader_next(&r));
    assert_int_equal(r.length, LONG - 1);
    while (gnti_reader_next(&r)) {
        gnt_assert_ok(gnti_reader_i64(&r, "number", &value));
        sum += value;
    }
    gnt_assert_ok(gnti_reader_status(&r));
    assert_int_equal(sum, (int64_t)SHORT_LINES / 1000 * 999 * 500);
    assert_int_equal(r.line_number, SHORT_LINES + 1);
    gnti_reader_close(&r);
    gnti_byte_source_free(&s);
    gnti_free(text);
}

static void wrong_numbers_name_file_line_and_text(void **state)
{
    gnti_reader r;
    gnti_byte_source *s = open_text("1\n9223372036854775808\n1.5 nan 1e39\n2 3\n", &r);
    int64_t value;
    float real;

    (void)state;
    assert_true(gnti_reader_next(&r) && gnti_reader_next(&r));
    gnt_assert_status(gnti_reader_i64(&r, "node number", &value), GNT_ERR_FORMAT);
    gnt_assert_error_has("'text'", "line 2", "9223372036854775808", "node number");
    assert_true(gnti_reader_next(&r));
    gnt_assert_status(gnti_reader_i64(&r, "node number", &value), GNT_ERR_FORMAT);
    gnt_assert_status(gnti_reader_float(&r, "weight", &real), GNT_ERR_FORMAT);
    gnt_assert_error_has("line 3", "'nan'", "finite");
    gnt_assert_status(gnti_reader_float(&r, "weight", &real), GNT_ERR_FORMAT);
    gnt_assert_status(gnti_reader_float(&r, "weight", &real), GNT_ERR_FORMAT);
    gnt_assert_error_has("the line ends");
    assert_true(gnti_reader_next(&r));
    gnt_assert_ok(gnti_reader_i64(&r, "node number", &value));
    gnt_assert_status(gnti_reader_line_done(&r), GNT_ERR_FORMAT);
    gnt_assert_error_has("line 4", "'3'");
    gnti_reader_close(&r);
    gnti_byte_source_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compression_is_told_by_content),
        cmocka_unit_test(an_empty_file_has_no_bytes),
        cmocka_unit_test(peeking_consumes_nothing),
        cmocka_unit_test(cut_compression_is_damage_not_an_end),
        cmocka_unit_test(changed_bits_never_give_another_text),
        cmocka_unit_test(members_of_gzip_are_one_text),
        cmocka_unit_test(missing_files_and_folders_are_told_apart),
        cmocka_unit_test(standard_input_is_a_dash),
        cmocka_unit_test(lines_end_in_every_usual_way),
        cmocka_unit_test(tokens_are_parted_by_blanks_tabs_and_one_comma),
        cmocka_unit_test(long_lines_are_whole),
        cmocka_unit_test(wrong_numbers_name_file_line_and_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
