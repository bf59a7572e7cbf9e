/* SPDX-License-Identifier: Apache-2.0 */
/* The HDF5 layer: files of other writers (tests/data/h5), round trips, sums, errors, atomic writing. */
#include "tests/support/gnt_test.h"

#include "datasets/h5_value.h"
#include "datasets/half.h"

#include "base/clock.h"
#include "base/file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static gnti_h5 *open_fixture(const char *name)
{
    char path[GNT_TEST_PATH_BYTES];
    gnti_h5 *f = NULL;

    snprintf(path, sizeof path, "%s/tests/data/h5/%s", GNT_SOURCE_DIR, name);
    gnt_assert_ok(gnti_h5_open(path, &f));
    return f;
}

static void foreign_numbers_are_read(void **state)
{
    gnti_h5 *f = open_fixture("values.h5");
    int64_t i[3];
    int32_t n[3];
    float x[4];

    (void)state;
    gnt_assert_ok(gnti_h5_read_i64(f, "/be_i64", 3, i));
    assert_true(i[0] == 1 && i[1] == -2 && i[2] == (int64_t)3 << 40);
    gnt_assert_ok(gnti_h5_read_floats(f, "/be_f32", 2, 1, x));
    assert_true(x[0] == 1.5f && x[1] == -2.25f);
    gnt_assert_ok(gnti_h5_read_i32(f, "/u16", 2, n));
    assert_int_equal(n[1], 65535);
    gnt_assert_ok(gnti_h5_read_i64(f, "/u32", 2, i));
    assert_true(i[1] == 4000000000);
    gnt_assert_ok(gnti_h5_read_i64(f, "/u64", 2, i));
    assert_true(i[1] == INT64_MAX);
    gnt_assert_ok(gnti_h5_read_i32(f, "/bool", 3, n));
    assert_true(n[0] == 1 && n[1] == 0 && n[2] == 1);
    gnt_assert_ok(gnti_h5_read_i32(f, "/column", 2, n));
    assert_int_equal(n[1], 4);
    gnt_assert_ok(gnti_h5_read_floats(f, "/f16", 2, 2, x));
    assert_true(x[0] == 1.0f && x[1] == -0.5f && x[2] == 65504.0f && x[3] == 0x1p-24f);
    gnt_assert_ok(gnti_h5_read_floats(f, "/f64", 2, 1, x));
    assert_true(x[0] == 0.1f && x[1] == -1e30f);
    gnt_assert_ok(gnti_h5_read_floats(f, "/bool", 3, 1, x));
    assert_true(x[0] == 1.0f && x[1] == 0.0f);
    gnt_assert_ok(gnti_h5_read_floats(f, "/empty", 0, 3, x));
    gnti_h5_close(&f);
}

static void what_does_not_fit_is_named(void **state)
{
    gnti_h5 *f = open_fixture("values.h5");
    int64_t i[3];
    int32_t n[3];
    float x[4];

    (void)state;
    gnt_assert_status(gnti_h5_read_i64(f, "/u64_big", 2, i), GNT_ERR_FORMAT);
    gnt_assert_error_has("9223372036854775808", "place 1", "/u64_big", "values.h5");
    gnt_assert_status(gnti_h5_read_i32(f, "/i64_big", 2, n), GNT_ERR_FORMAT);
    gnt_assert_error_has("2147483648", "place 1");
    gnt_assert_status(gnti_h5_read_i32(f, "/u32", 2, n), GNT_ERR_FORMAT);
    gnt_assert_error_has("4000000000", "32-bit");
    gnt_assert_status(gnti_h5_read_floats(f, "/f64_big", 2, 2, x), GNT_ERR_FORMAT);
    gnt_assert_error_has("row 1", "float32");
    gnt_assert_status(gnti_h5_read_i32(f, "/be_f32", 2, n), GNT_ERR_FORMAT);
    gnt_assert_error_has("must hold integers");
    gnt_assert_status(gnti_h5_read_floats(f, "/texts", 3, 1, x), GNT_ERR_FORMAT);
    gnt_assert_error_has("must hold numbers");
    gnt_assert_status(gnti_h5_read_floats(f, "/f16", 3, 2, x), GNT_ERR_FORMAT);
    gnt_assert_error_has("2 rows of 2", "expected 3 of 2");
    gnt_assert_status(gnti_h5_read_floats(f, "/compound", 2, 1, x), GNT_ERR_FORMAT);
    gnt_assert_error_has("neither numbers nor texts");
    gnt_assert_status(gnti_h5_read_floats(f, "/lzf", 1000, 1, x), GNT_ERR_FORMAT);
    gnt_assert_error_has("lzf", "gzip");
    gnt_assert_status(gnti_h5_read_floats(f, "/claim", -1, 1, x), GNT_ERR_FORMAT);
    gnt_assert_error_has("claims 1099511627776", "0 bytes");
    gnt_assert_status(gnti_h5_read_floats(f, "/rank5", -1, -1, x), GNT_ERR_FORMAT);
    gnt_assert_error_has("5 dimensions");
    gnt_assert_status(gnti_h5_read_floats(f, "/nothing/here", 1, 1, x), GNT_ERR_FORMAT);
    gnt_assert_error_has("no '/nothing/here'");
    gnt_assert_status(gnti_h5_read_floats(f, "/", 1, 1, x), GNT_ERR_FORMAT);
    gnt_assert_error_has("is a group");
    gnti_h5_close(&f);
}

static void compressed_values_and_null_spaces_are_read(void **state)
{
    gnti_h5 *f = open_fixture("values.h5");
    int32_t *n = NULL;
    gnti_h5_info info;

    (void)state;
    gnt_assert_ok(gnti_alloc_array(&n, 1000));
    gnt_assert_ok(gnti_h5_read_i32(f, "/gzip", 1000, n));
    assert_true(n[0] == 0 && n[999] == 999);
    gnt_assert_ok(gnti_h5_inspect(f, "/null", NULL, &info));
    assert_int_equal(info.num_values, 0);
    gnti_free(n);
    gnti_h5_close(&f);
}

static void texts_of_both_kinds_are_read(void **state)
{
    gnti_h5 *f = open_fixture("values.h5");
    char **texts = NULL;
    int64_t num = 0;

    (void)state;
    gnt_assert_ok(gnti_h5_read_texts(f, "/texts", &texts, &num));
    assert_int_equal(num, 3);
    assert_string_equal(texts[2], "drei \xc3\xa4");
    gnti_h5_free_texts(&texts, num);
    gnt_assert_ok(gnti_h5_read_texts(f, "/fixed", &texts, &num));
    assert_int_equal(num, 3);
    assert_string_equal(texts[0], "ab");
    assert_string_equal(texts[1], "cdefg");
    assert_string_equal(texts[2], "");
    gnti_h5_free_texts(&texts, num);
    gnt_assert_status(gnti_h5_read_texts(f, "/u16", &texts, &num), GNT_ERR_FORMAT);
    gnti_h5_close(&f);
}

static void attributes_are_carried(void **state)
{
    const char *want =
        "{\"fixed\":\"bytes\",\"flag\":1,\"float\":0.25,\"floats\":[0.5,1.5],\"int\":7,\"ints\":[1,2,3],"
        "\"names\":[\"a\",\"b\xc3\xbc\"],\"text\":\"hello\"}";
    gnti_h5 *f = open_fixture("values.h5"), *w = NULL;
    char path[GNT_TEST_PATH_BYTES], *json = NULL, *again = NULL;
    const int64_t dims[] = { 1 };
    const float x = 1.0f;

    (void)state;
    gnt_assert_ok(gnti_h5_get_attributes(f, "/u16", &json));
    assert_string_equal(json, want);
    gnt_assert_ok(gnti_h5_create(gnt_test_path(path, "attributes.h5"), &w));
    gnt_assert_ok(gnti_h5_write_values(w, "/a/b/x", GNTI_FILE_F32, 1, dims, &x));
    gnt_assert_ok(gnti_h5_set_attributes(w, "/a/b/x", json));
    gnt_assert_ok(gnti_h5_commit(&w, NULL));
    gnti_h5_close(&f);
    gnt_assert_ok(gnti_h5_open(path, &f));
    gnt_assert_ok(gnti_h5_get_attributes(f, "/a/b/x", &again));
    assert_string_equal(again, want);
    gnti_free(json);
    gnti_free(again);
    gnt_assert_ok(gnti_h5_get_attributes(f, "/a", &json));
    assert_null(json);
    gnti_h5_close(&f);
}

static void members_are_listed(void **state)
{
    gnti_h5 *f = open_fixture("values.h5");
    char **names = NULL;
    int64_t num = 0;

    (void)state;
    gnt_assert_ok(gnti_h5_list(f, "/", &names, &num));
    assert_int_equal(num, 22);
    assert_string_equal(names[0], "be_f32");
    gnti_h5_free_texts(&names, num);
    gnt_assert_ok(gnti_h5_list(f, "/missing", &names, &num));
    assert_int_equal(num, 0);
    assert_int_equal(gnti_h5_kind_of(f, "/u16"), GNTI_H5_DATASET);
    assert_int_equal(gnti_h5_kind_of(f, "/u16/deeper"), GNTI_H5_NOTHING);
    assert_int_equal(gnti_h5_kind_of(f, "/"), GNTI_H5_GROUP);
    gnti_h5_close(&f);
}

/* All types, written and read back as they are. */
static void values_come_back(void **state)
{
    const uint8_t u8[] = { 0, 255 };
    const int32_t i32[] = { INT32_MIN, 5 };
    const int64_t i64[] = { INT64_MIN, 5 };
    const uint16_t half[] = { 0x3c00, 0xbf80 };
    const float f32[] = { 1.5f, NAN };
    const double f64[] = { 1e300, -0.0 };
    const char *text[] = { "a", "" };
    const struct {
        gnti_dtype_file type;
        const void *data;
    } all[] = { { GNTI_FILE_U8, u8 },    { GNTI_FILE_I32, i32 },   { GNTI_FILE_I64, i64 },
                { GNTI_FILE_F16, half }, { GNTI_FILE_BF16, half }, { GNTI_FILE_F32, f32 },
                { GNTI_FILE_F64, f64 },  { GNTI_FILE_TEXT, text } };
    const int64_t dims[] = { 2, 1 };
    char path[GNT_TEST_PATH_BYTES], name[16];
    gnti_h5 *f = NULL;
    float back[2];

    (void)state;
    gnt_assert_ok(gnti_h5_create(gnt_test_path(path, "types.h5"), &f));
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "/%d", i);
        gnt_assert_ok(gnti_h5_write_values(f, name, all[i].type, all[i].type == GNTI_FILE_TEXT ? 1 : 2, dims,
                                           all[i].data));
    }
    gnt_assert_ok(gnti_h5_commit(&f, NULL));
    assert_null(f);
    gnt_assert_ok(gnti_h5_open(path, &f));
    for (int i = 0; i < 8; i++) {
        gnti_dtype_file type;
        int64_t rows, width;
        void *values = NULL;

        snprintf(name, sizeof name, "/%d", i);
        gnt_assert_ok(gnti_h5_read_values(f, name, &type, &rows, &width, &values));
        assert_true(type == all[i].type && rows == 2 && width == 1);
        if (type == GNTI_FILE_TEXT)
            assert_string_equal(((char **)values)[0], "a");
        else
            assert_memory_equal(values, all[i].data, 2 * gnti_file_dtype_bytes(type));
        gnti_h5_free_values(type, 2, &values);
    }
    gnt_assert_ok(gnti_h5_read_floats(f, "/4", 2, 1, back));
    assert_true(back[1] == -1.0f);
    gnti_h5_close(&f);
}

static void unwritten_ones_take_no_space(void **state)
{
    const int64_t dims[] = { 4000000 }, none[] = { 0 };
    char path[GNT_TEST_PATH_BYTES];
    gnti_h5 *f = NULL;
    gnti_h5_info info;
    int64_t bytes;
    uint8_t last;

    (void)state;
    gnt_assert_ok(gnti_h5_create(gnt_test_path(path, "ones.h5"), &f));
    gnt_assert_ok(gnti_h5_make_dataset(f, "/data", GNTI_FILE_U8, 1, dims, true));
    gnt_assert_ok(gnti_h5_make_dataset(f, "/none", GNTI_FILE_U8, 1, none, true));
    gnt_assert_ok(gnti_h5_commit(&f, NULL));
    gnt_assert_ok(gnti_file_size(path, &bytes));
    assert_true(bytes < 8192);
    gnt_assert_ok(gnti_h5_open(path, &f));
    gnt_assert_ok(gnti_h5_inspect(f, "/data", NULL, &info));
    assert_true(info.stored_bytes == 0 && info.fill_is_one);
    gnt_assert_ok(gnti_h5_read_rows(f, "/data", GNTI_FILE_U8, 3999999, 1, &last));
    assert_int_equal(last, 1);
    gnti_h5_close(&f);
}

static void sums_catch_flipped_bits(void **state)
{
    const int64_t dims[] = { 2, 3, 4 }, other[] = { 2, 4, 3 };
    char path[GNT_TEST_PATH_BYTES], *bytes;
    float x[24], y[24];
    gnti_h5 *f = NULL;
    int64_t size, at = 0;

    (void)state;
    assert_true(gnti_crc32(0, "123456789", 9) == 0xCBF43926u); /* the check value of CRC-32 */
    gnt_test_fill(x, 24, 3);
    gnt_assert_ok(gnti_h5_create(gnt_test_path(path, "sum.h5"), &f));
    gnt_assert_ok(gnti_h5_write_summed(f, "/w", GNTI_FILE_F32, 3, dims, x));
    gnt_assert_ok(gnti_h5_commit(&f, NULL));
    gnt_assert_ok(gnti_h5_open(path, &f));
    gnt_assert_ok(gnti_h5_read_summed(f, "/w", GNTI_FILE_F32, 3, dims, y));
    assert_memory_equal(x, y, sizeof x);
    gnt_assert_status(gnti_h5_read_summed(f, "/w", GNTI_FILE_F32, 3, other, y), GNT_ERR_FORMAT);
    gnt_assert_error_has("(2, 3, 4)", "(2, 4, 3)");
    gnti_h5_close(&f);
    bytes = gnt_test_read(path, &size);
    while (at + (int64_t)sizeof x <= size && memcmp(bytes + at, x, sizeof x) != 0)
        at++;
    assert_true(at + (int64_t)sizeof x <= size);
    bytes[at + 17] ^= 4;
    gnt_test_write(path, "sum.h5", bytes, size);
    gnti_free(bytes);
    gnt_assert_ok(gnti_h5_open(path, &f));
    gnt_assert_status(gnti_h5_read_summed(f, "/w", GNTI_FILE_F32, 3, dims, y), GNT_ERR_FORMAT);
    gnt_assert_error_has("damaged", "/w");
    gnti_h5_close(&f);
}

static void unreadable_files_are_explained(void **state)
{
    char path[GNT_TEST_PATH_BYTES];
    gnti_h5 *f = NULL;
    float x[1000];

    (void)state;
    gnt_assert_status(gnti_h5_open(gnt_test_path(path, "missing.h5"), &f), GNT_ERR_IO);
    gnt_assert_error_has("missing.h5", "No such file");
    gnt_assert_status(gnti_h5_open(gnt_test_folder(), &f), GNT_ERR_IO);
    gnt_assert_error_has("no ordinary file");
    gnt_assert_status(gnti_h5_open(gnt_test_write(path, "text.h5", "hello", -1), &f), GNT_ERR_FORMAT);
    gnt_assert_error_has("no HDF5 file");
    f = open_fixture("latest.h5");
    if (gnti_h5_read_floats(f, "/x", 1000, 1, x) != GNT_OK) /* a newer library may know the layout */
        gnt_assert_error_has("newer HDF5", "libver");
    gnti_h5_close(&f);
}

/* Files whose heap of strings is broken: HDF5 1.10 crashes on the one (a reference to object 2147483647) and loops on the
 * other (a free object of 0 bytes). A child finds out. */
static void damaged_heaps_are_refused(void **state)
{
    char path[GNT_TEST_PATH_BYTES];
    gnti_h5 *f = NULL;

    (void)state;
    snprintf(path, sizeof path, "%s/tests/data/h5/heap_crash.h5", GNT_SOURCE_DIR);
    gnt_assert_status(gnti_h5_open(path, &f), GNT_ERR_FORMAT);
    gnt_assert_error_has("heap_crash.h5", "damaged", "crashes");
    snprintf(path, sizeof path, "%s/tests/data/h5/heap_loop.h5", GNT_SOURCE_DIR);
    gnt_assert_status(gnti_h5_open(path, &f), GNT_ERR_FORMAT);
    gnt_assert_error_has("heap_loop.h5", "damaged", "no end");
    assert_null(f);
}

/* Scenario 16 of the users' reports: a read-only folder, nothing is written beside the data. */
static void read_only_folders_are_fine(void **state)
{
    char folder[GNT_TEST_PATH_BYTES], path[GNT_TEST_PATH_BYTES + 16];
    const int64_t dims[] = { 1 };
    const float one = 1.0f;
    float x = 0.0f;
    gnti_h5 *f = NULL;

    (void)state;
    gnt_assert_ok(gnti_folder_create(gnt_test_path(folder, "locked")));
    snprintf(path, sizeof path, "%s/a.h5", folder);
    gnt_assert_ok(gnti_h5_create(path, &f));
    gnt_assert_ok(gnti_h5_write_values(f, "/x", GNTI_FILE_F32, 1, dims, &one));
    gnt_assert_ok(gnti_h5_commit(&f, NULL));
    assert_int_equal(chmod(path, 0444), 0);
    assert_int_equal(chmod(folder, 0555), 0);
    gnt_assert_ok(gnti_h5_open(path, &f));
    gnt_assert_ok(gnti_h5_read_floats(f, "/x", 1, 1, &x));
    gnti_h5_close(&f);
    if (geteuid() != 0) /* root writes everywhere */
        gnt_assert_status(gnti_h5_create(path, &f), GNT_ERR_OUTPUT);
    assert_int_equal(chmod(folder, 0755), 0);
    assert_true(x == 1.0f);
}

/* Nothing under the final name until commit; abandoned files leave nothing; the old file survives a failure.
 */
static void writing_is_atomic(void **state)
{
    const int64_t dims[] = { 1 };
    const float one = 1.0f, two = 2.0f;
    char path[GNT_TEST_PATH_BYTES], previous[GNT_TEST_PATH_BYTES];
    gnti_h5 *f = NULL;
    float x = 0.0f;

    (void)state;
    gnt_assert_ok(gnti_h5_create(gnt_test_path(path, "atomic.h5"), &f));
    gnt_assert_ok(gnti_h5_write_values(f, "/x", GNTI_FILE_F32, 1, dims, &one));
    assert_false(gnti_file_exists(path));
    gnti_h5_close(&f);
    assert_false(gnti_file_exists(path));
    gnt_assert_ok(gnti_h5_create(path, &f));
    gnt_assert_ok(gnti_h5_write_values(f, "/x", GNTI_FILE_F32, 1, dims, &one));
    gnt_assert_ok(gnti_h5_commit(&f, NULL));
    gnt_assert_ok(gnti_h5_create(path, &f));
    gnt_assert_ok(gnti_h5_write_values(f, "/x", GNTI_FILE_F32, 1, dims, &two));
    gnti_file_fail_at(0, ENOSPC);
    gnt_assert_status(gnti_h5_commit(&f, NULL), GNT_ERR_DISK_FULL);
    gnti_file_fail_at(-1, 0);
    assert_null(f);
    gnt_assert_ok(gnti_h5_open(path, &f));
    gnt_assert_ok(gnti_h5_read_floats(f, "/x", 1, 1, &x));
    gnti_h5_close(&f);
    assert_true(x == 1.0f);
    gnt_assert_ok(gnti_h5_create(path, &f));
    gnt_assert_ok(gnti_h5_commit(&f, gnt_test_path(previous, "atomic.prev.h5")));
    gnt_assert_ok(gnti_h5_open(previous, &f));
    gnt_assert_ok(gnti_h5_read_floats(f, "/x", 1, 1, &x));
    gnti_h5_close(&f);
    assert_true(x == 1.0f);
    gnt_assert_status(gnti_h5_create("/nonexistent-folder/a.h5", &f), GNT_ERR_OUTPUT);
}

/* Our copies of rows are instrumented under the thread sanitizer, the library's reads are not: no time to compare. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define NO_TIMES
#endif
#endif
#if defined(NO_TIMES)
enum { COMPARES_TIMES = 0 };
#else
enum { COMPARES_TIMES = 1 };
#endif

/* Scenario 17 of the users' reports, a fifth of its size: every tenth row or so of a matrix, in less than twice the time
 * of reading it all. */
static void random_rows_cost_less_than_two_full_reads(void **state)
{
    enum { ROWS = 200000, WIDTH = 64, CHOSEN = 20000 };
    const int64_t dims[] = { ROWS, WIDTH };
    char path[GNT_TEST_PATH_BYTES];
    float *x = NULL, *all = NULL, *some = NULL;
    int64_t *rows = NULL;
    double full = 1e9, gathered = 1e9;
    gnti_alloc_stats before, after;
    gnti_h5 *f = NULL;

    (void)state;
    gnt_assert_ok(gnti_alloc_array(&x, ROWS * WIDTH));
    gnt_assert_ok(gnti_alloc_array(&all, ROWS * WIDTH));
    gnt_assert_ok(gnti_alloc_array(&some, CHOSEN * WIDTH));
    gnt_assert_ok(gnti_alloc_array(&rows, CHOSEN));
    for (int64_t i = 0; i < ROWS * WIDTH; i++)
        x[i] = (float)i;
    for (int64_t i = 0; i < CHOSEN; i++)
        rows[i] = i * (ROWS / CHOSEN) + i * 7 % (ROWS / CHOSEN);
    gnt_assert_ok(gnti_h5_create(gnt_test_path(path, "rows.h5"), &f));
    gnt_assert_ok(gnti_h5_write_values(f, "/x", GNTI_FILE_F32, 2, dims, x));
    gnt_assert_ok(gnti_h5_commit(&f, NULL));
    gnt_assert_ok(gnti_h5_open(path, &f));
    for (int round = 0; round < 5 || (COMPARES_TIMES && gathered >= 2.0 * full && round < 150);
         round++) { /* the best: others are busy too */
        double start = gnti_clock_seconds();

        gnt_assert_ok(gnti_h5_read_floats(f, "/x", ROWS, WIDTH, all));
        full = fmin(full, gnti_clock_seconds() - start);
        gnti_alloc_reset_peak();
        gnti_alloc_get_stats(&before);
        start = gnti_clock_seconds();
        gnt_assert_ok(gnti_h5_gather_floats(f, "/x", rows, CHOSEN, WIDTH, some));
        gathered = fmin(gathered, gnti_clock_seconds() - start);
        gnti_alloc_get_stats(&after);
        assert_true(after.peak_bytes - before.live_bytes <= (size_t)64 << 20);
    }
    for (int64_t i = 0; i < CHOSEN; i++)
        assert_memory_equal(some + i * WIDTH, x + rows[i] * WIDTH, WIDTH * sizeof(float));
    print_message("all rows %.1f ms, chosen ones %.1f ms\n", 1e3 * full, 1e3 * gathered);
    assert_true(!COMPARES_TIMES || gathered < 2.0 * full);
    rows[1] = rows[0];
    gnt_assert_status(gnti_h5_gather_floats(f, "/x", rows, CHOSEN, WIDTH, some), GNT_ERR_ARG);
    gnti_h5_close(&f);
    gnti_free(x);
    gnti_free(all);
    gnti_free(some);
    gnti_free(rows);
}

/* Halves are widened, and rows far apart are read alone. */
static void gathered_halves_are_widened(void **state)
{
    const int64_t rows[] = { 0, 1 }, last[] = { 1 };
    gnti_h5 *f = open_fixture("values.h5");
    float x[4];

    (void)state;
    gnt_assert_ok(gnti_h5_gather_floats(f, "/f16", rows, 2, 2, x));
    assert_true(x[0] == 1.0f && x[1] == -0.5f && x[2] == 65504.0f);
    gnt_assert_ok(gnti_h5_gather_floats(f, "/f64", last, 1, 1, x));
    assert_true(x[0] == -1e30f);
    gnti_h5_close(&f);
}

static void halves_are_exact(void **state)
{
    (void)state;
    assert_true(gnti_f16_to_float(0x3c00) == 1.0f && gnti_f16_to_float(0xc000) == -2.0f);
    assert_true(gnti_f16_to_float(0x7bff) == 65504.0f && gnti_f16_to_float(0x0001) == 0x1p-24f);
    assert_true(gnti_f16_to_float(0x03ff) == 1023 * 0x1p-24f && gnti_f16_to_float(0x0400) == 0x1p-14f);
    assert_true(isinf(gnti_f16_to_float(0x7c00)) && isnan(gnti_f16_to_float(0x7e00)));
    assert_true(signbit(gnti_f16_to_float(0x8000)) && gnti_f16_to_float(0x8000) == 0.0f);
    assert_true(gnti_bf16_to_float(0x3f80) == 1.0f && gnti_bf16_to_float(0xc049) == -3.140625f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(foreign_numbers_are_read),
        cmocka_unit_test(what_does_not_fit_is_named),
        cmocka_unit_test(compressed_values_and_null_spaces_are_read),
        cmocka_unit_test(texts_of_both_kinds_are_read),
        cmocka_unit_test(attributes_are_carried),
        cmocka_unit_test(members_are_listed),
        cmocka_unit_test(values_come_back),
        cmocka_unit_test(unwritten_ones_take_no_space),
        cmocka_unit_test(sums_catch_flipped_bits),
        cmocka_unit_test(unreadable_files_are_explained),
        cmocka_unit_test(read_only_folders_are_fine),
        cmocka_unit_test(writing_is_atomic),
        cmocka_unit_test(halves_are_exact),
        cmocka_unit_test(random_rows_cost_less_than_two_full_reads),
        cmocka_unit_test(gathered_halves_are_widened),
        cmocka_unit_test(damaged_heaps_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
