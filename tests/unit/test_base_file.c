/* SPDX-License-Identifier: Apache-2.0 */
/* Atomic files: what is under the final name is the old file or the whole new one, whatever fails. */
#include "tests/support/gnt_test.h"

#include "base/file.h"
#include "base/sha256.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int files_in(const char *folder)
{
    DIR *d = opendir(folder);
    int n = 0;

    assert_non_null(d);
    for (struct dirent *e = readdir(d); e != NULL; e = readdir(d))
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return n;
}

static void assert_content(const char *path, const char *want)
{
    char *text = NULL;
    size_t length = 0;

    gnt_assert_ok(gnti_file_read_all(path, 1 << 20, &text, &length));
    assert_int_equal(length, strlen(want));
    assert_string_equal(text, want);
    gnti_free(text);
}

/* A folder of its own for one test. */
static char *fresh_folder(char out[GNT_TEST_PATH_BYTES], const char *name)
{
    gnt_test_path(out, name);
    gnt_assert_ok(gnti_folder_create(out));
    return out;
}

static void a_file_appears_whole_or_not_at_all(void **state)
{
    char folder[GNT_TEST_PATH_BYTES], *path = NULL;
    gnti_file_writer *w = NULL;
    struct stat s;

    (void)state;
    gnt_assert_ok(gnti_path_join(fresh_folder(folder, "whole"), "a.txt", &path));
    gnt_assert_ok(gnti_file_writer_open(path, &w));
    gnt_assert_ok(gnti_file_writer_printf(w, "%s %d\n", "line", 1));
    assert_false(gnti_file_exists(path));
    gnti_file_writer_abandon(&w);
    assert_null(w);
    assert_int_equal(files_in(folder), 0);
    gnt_assert_ok(gnti_file_write_all(path, "new", 3));
    assert_content(path, "new");
    assert_int_equal(stat(path, &s), 0);
    assert_int_equal(s.st_mode & 0400, 0400);
    gnt_assert_ok(gnti_file_write_all(path, "newer", 5));
    assert_content(path, "newer");
    assert_int_equal(files_in(folder), 1);
    gnti_free(path);
}

static void large_pieces_pass_the_buffer(void **state)
{
    char path[GNT_TEST_PATH_BYTES], want[GNTI_SHA256_HEX_BYTES], got[GNTI_SHA256_HEX_BYTES];
    gnti_file_writer *w = NULL;
    gnti_sha256 *hash = NULL;
    char *text = NULL, piece[3000];
    static char large[200000];
    size_t length = 0;

    (void)state;
    gnt_test_path(path, "large.bin");
    gnt_assert_ok(gnti_file_writer_open(path, &w));
    gnt_assert_ok(gnti_sha256_create(&hash));
    for (int i = 0; i < 100; i++) {
        memset(piece, i, sizeof piece);
        memset(large, i + 100, sizeof large);
        const size_t n = i % 10 == 9 ? sizeof large : sizeof piece - (size_t)i;
        const char *from = i % 10 == 9 ? large : piece;

        gnt_assert_ok(gnti_file_writer_write(w, from, n));
        gnt_assert_ok(gnti_sha256_update(hash, from, n));
    }
    gnt_assert_ok(gnti_file_writer_commit(&w));
    gnt_assert_ok(gnti_sha256_finish(hash, want));
    gnti_sha256_free(&hash);
    gnt_assert_ok(gnti_file_read_all(path, 1 << 24, &text, &length));
    gnt_assert_ok(gnti_sha256_of(text, length, got));
    assert_string_equal(got, want);
    gnti_free(text);
}

/* Each of the few calls that reach the disk fails once, with each kind of errno. */
static void every_failing_write_leaves_the_old_file(void **state)
{
    static const struct {
        int error;
        gnt_status want;
    } kinds[] = { { ENOSPC, GNT_ERR_DISK_FULL }, { EDQUOT, GNT_ERR_DISK_FULL }, { EIO, GNT_ERR_OUTPUT } };
    char folder[GNT_TEST_PATH_BYTES], *path = NULL;
    static char large[100000];

    (void)state;
    gnt_assert_ok(gnti_path_join(fresh_folder(folder, "full"), "a.txt", &path));
    gnt_assert_ok(gnti_file_write_all(path, "old", 3));
    for (size_t i = 0; i < 3; i++) {
        gnt_status st = GNT_ERR_INTERNAL;
        int64_t k = 0;

        for (; k < 10 && st != GNT_OK; k++) {
            gnti_file_fail_at(k, kinds[i].error);
            st = gnti_file_write_all(path, large, sizeof large);
            gnti_file_fail_at(-1, 0);
            if (st == GNT_OK)
                break;
            assert_int_equal(st, kinds[i].want);
            gnt_assert_error_has(k < 2 ? "a.txt" : folder);
            assert_int_equal(files_in(folder), 1);
            if (k < 2) /* the last failing call syncs the folder: then the new file is there already */
                assert_content(path, "old");
        }
        assert_int_equal(k, 3);
        gnt_assert_ok(gnti_file_write_all(path, "old", 3));
    }
    gnti_free(path);
}

static void the_previous_file_is_kept(void **state)
{
    char folder[GNT_TEST_PATH_BYTES], *path = NULL, *previous = NULL, *temporary = NULL;

    (void)state;
    fresh_folder(folder, "keep");
    gnt_assert_ok(gnti_path_join(folder, "c.h5", &path));
    gnt_assert_ok(gnti_path_join(folder, "c.prev.h5", &previous));
    for (int i = 0; i < 3; i++) {
        FILE *f;

        gnt_assert_ok(gnti_atomic_begin(path, &temporary));
        f = fopen(temporary, "w");
        assert_non_null(f);
        fprintf(f, "%d", i);
        fclose(f);
        gnt_assert_ok(gnti_atomic_commit_keep(&temporary, path, previous));
        assert_null(temporary);
    }
    assert_content(path, "2");
    assert_content(previous, "1");
    gnt_assert_ok(gnti_atomic_begin(path, &temporary));
    gnti_atomic_abandon(&temporary);
    gnti_atomic_abandon(&temporary);
    assert_int_equal(files_in(folder), 2);
    gnti_free(path);
    gnti_free(previous);
}

static void errors_name_what_and_where(void **state)
{
    char folder[GNT_TEST_PATH_BYTES], path[GNT_TEST_PATH_BYTES], *text = NULL;
    gnti_file_writer *w = NULL;
    size_t length = 0;
    int64_t size = 0;

    (void)state;
    gnt_assert_status(gnti_file_read_all("/nonexistent/x", 10, &text, &length), GNT_ERR_IO);
    gnt_assert_error_has("/nonexistent/x", "No such file");
    gnt_assert_status(gnti_file_size("/nonexistent/x", &size), GNT_ERR_IO);
    gnt_assert_status(gnti_file_writer_open("/nonexistent/x", &w), GNT_ERR_OUTPUT);
    gnt_assert_error_has("create", "/nonexistent/x");
    fresh_folder(folder, "folder");
    gnt_assert_status(gnti_file_writer_open(folder, &w), GNT_ERR_OUTPUT);
    gnt_assert_error_has("is a folder");
    gnt_assert_status(gnti_file_read_all(folder, 10, &text, &length), GNT_ERR_IO);
    gnt_test_write(path, "eleven", "12345678901", -1);
    gnt_assert_status(gnti_file_read_all(path, 10, &text, &length), GNT_ERR_LIMIT);
    gnt_assert_ok(gnti_file_read_all(path, 11, &text, &length));
    gnti_free(text);
    gnt_assert_status(gnti_folder_create(path), GNT_ERR_OUTPUT);
    gnt_assert_error_has("is a file");
    assert_null(w);
}

static void folders_are_made_down_the_path(void **state)
{
    char path[GNT_TEST_PATH_BYTES];

    (void)state;
    gnt_test_path(path, "one/two//three/");
    gnt_assert_ok(gnti_folder_create(path));
    gnt_assert_ok(gnti_folder_create(path));
    assert_true(gnti_file_exists(path));
    gnt_assert_ok(gnti_folder_create("/"));
    gnt_assert_status(gnti_folder_create(""), GNT_ERR_ARG);
}

static void unreadable_folder_is_an_output_error(void **state)
{
    char folder[GNT_TEST_PATH_BYTES], *path = NULL;

    (void)state;
    if (geteuid() == 0)
        skip(); /* root may write everywhere */
    gnt_assert_ok(gnti_path_join(fresh_folder(folder, "locked"), "a.txt", &path));
    assert_int_equal(chmod(folder, 0500), 0);
    gnt_assert_status(gnti_file_write_all(path, "x", 1), GNT_ERR_OUTPUT);
    assert_int_equal(chmod(folder, 0700), 0);
    gnti_free(path);
}

static void every_failing_allocation_is_survived(void **state)
{
    char path[GNT_TEST_PATH_BYTES];

    (void)state;
    gnt_test_path(path, "brutal.txt");
    GNT_BRUTAL(gnti_file_write_all(path, "text", 4));
    assert_content(path, "text");
}

static void sha256_has_its_published_values(void **state)
{
    char hex[GNTI_SHA256_HEX_BYTES];
    gnti_sha256 *hash = NULL;

    (void)state; /* FIPS 180-2, appendix B.1 and B.2 */
    gnt_assert_ok(gnti_sha256_of("abc", 3, hex));
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    gnt_assert_ok(gnti_sha256_of("", 0, hex));
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    gnt_assert_ok(gnti_sha256_create(&hash));
    gnt_assert_ok(gnti_sha256_update(hash, "abcdbcdecdefdefgefghfghighij", 28));
    gnt_assert_ok(gnti_sha256_update(hash, "hijkijkljklmklmnlmnomnopnopq", 28));
    gnt_assert_ok(gnti_sha256_finish(hash, hex));
    assert_string_equal(hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    gnti_sha256_free(&hash);
}

static bool is_old(const char *path, const char *name)
{
    return strstr(path, name) != NULL && name[0] == 'o';
}

static void sweep(void **state)
{
    char folder[GNT_TEST_PATH_BYTES], file[GNT_TEST_PATH_BYTES + 8];
    static const char *const names[] = { "old", "older", "new" };

    (void)state;
    gnt_assert_ok(gnti_folder_create(gnt_test_path(folder, "sweep")));
    for (int i = 0; i < 3; i++) {
        snprintf(file, sizeof file, "%s/%s", folder, names[i]);
        fclose(fopen(file, "w"));
    }
    gnt_assert_ok(gnti_folder_sweep(folder, is_old));
    for (int i = 0; i < 3; i++) {
        snprintf(file, sizeof file, "%s/%s", folder, names[i]);
        assert_int_equal(gnti_file_exists(file), i == 2);
    }
    gnt_assert_ok(gnti_folder_sweep("/nowhere", is_old));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sweep),
        cmocka_unit_test(a_file_appears_whole_or_not_at_all),
        cmocka_unit_test(large_pieces_pass_the_buffer),
        cmocka_unit_test(every_failing_write_leaves_the_old_file),
        cmocka_unit_test(the_previous_file_is_kept),
        cmocka_unit_test(errors_name_what_and_where),
        cmocka_unit_test(folders_are_made_down_the_path),
        cmocka_unit_test(unreadable_folder_is_an_output_error),
        cmocka_unit_test(every_failing_allocation_is_survived),
        cmocka_unit_test(sha256_has_its_published_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
