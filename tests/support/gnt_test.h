/* SPDX-License-Identifier: Apache-2.0 */
/* What every unit test includes: cmocka with its four headers, tensor comparison, GNT_BRUTAL, temporary
 * folders and the folder of shared data. A failed comparison prints index, both values and norms before it
 * fails the test.
 */
#ifndef GNT_TEST_H
#define GNT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/alloc.h"

/* GNT_TEST_FILTER names the tests of a program that run ("grow*"); without it all do. */
#undef cmocka_run_group_tests
#define cmocka_run_group_tests(tests, setup, teardown)                                                       \
    (cmocka_set_test_filter(getenv("GNT_TEST_FILTER")),                                                      \
     _cmocka_run_group_tests(#tests, tests, sizeof(tests) / sizeof((tests)[0]), setup, teardown))

/* ---- Status ---- */

/* Fails with the newest error's text and trace unless call answers the code. */
#define gnt_assert_status(call, code) gnt_test_status((call), (code), #call, __FILE__, __LINE__)
#define gnt_assert_ok(call)           gnt_assert_status(call, GNT_OK)
void gnt_test_status(gnt_status got, gnt_status want, const char *call, const char *file, int line);

/* The newest error's text contains every one of the words (a NULL ends the list). */
#define gnt_assert_error_has(...) gnt_test_error_has(__FILE__, __LINE__, __VA_ARGS__, (const char *)NULL)
void gnt_test_error_has(const char *file, int line, ...);

/* ---- Float tensors ---- */

/* max|got - want| <= relative * max|want| + absolute; NaN and infinity only where want has the same. */
#define gnt_assert_close(got, want, count, relative, absolute)                                               \
    gnt_test_close((got), (want), (int64_t)(count), (relative), (absolute), #got, __FILE__, __LINE__)
void gnt_test_close(const float *got, const float *want, int64_t count, double relative, double absolute,
                    const char *what, const char *file, int line);

/* The same against an oracle in double. */
#define gnt_assert_close_f64(got, want, count, relative, absolute)                                           \
    gnt_test_close_f64((got), (want), (int64_t)(count), (relative), (absolute), #got, __FILE__, __LINE__)
void gnt_test_close_f64(const float *got, const double *want, int64_t count, double relative, double absolute,
                        const char *what, const char *file, int line);

/* sum (got - want)^2 / sum want^2 <= bound. */
#define gnt_assert_nmse(got, want, count, bound)                                                             \
    gnt_test_nmse((got), (want), (int64_t)(count), (bound), #got, __FILE__, __LINE__)
void gnt_test_nmse(const float *got, const float *want, int64_t count, double bound, const char *what,
                   const char *file, int line);

/* Equal bit for bit; prints the first index that differs with both values in hexadecimal notation. */
#define gnt_assert_same_bits(got, want, count)                                                               \
    gnt_test_same_bits((got), (want), (int64_t)(count), #got, __FILE__, __LINE__)
void gnt_test_same_bits(const float *got, const float *want, int64_t count, const char *what,
                        const char *file, int line);

/* Equal integers; prints the first index that differs. */
#define gnt_assert_same_i64(got, want, count)                                                                \
    gnt_test_same_i64((got), (want), (int64_t)(count), #got, __FILE__, __LINE__)
void gnt_test_same_i64(const int64_t *got, const int64_t *want, int64_t count, const char *what,
                       const char *file, int line);
#define gnt_assert_same_i32(got, want, count)                                                                \
    gnt_test_same_i32((got), (want), (int64_t)(count), #got, __FILE__, __LINE__)
void gnt_test_same_i32(const int32_t *got, const int32_t *want, int64_t count, const char *what,
                       const char *file, int line);

/* Reproducible values in [-1, 1): element i depends on seed and i alone. */
void gnt_test_fill(float *out, int64_t count, uint64_t seed);

/* ---- Failing allocations ---- */

/* Runs call with allocation k failing, k = 0, 1, 2, ..., until it succeeds undisturbed. Each failed round
 * must answer ERR_NOMEM and give back every block; GNT_BRUTAL_OUT also demands that the variable `out` keeps
 * its bytes. What the last, successful round made belongs to the caller. */
#define GNT_BRUTAL(run)               GNT_BRUTAL_BYTES(run, NULL, 0)
#define GNT_BRUTAL_OUT(run, variable) GNT_BRUTAL_BYTES(run, &(variable), sizeof(variable))
#define GNT_BRUTAL_BYTES(run, bytes, size)                                                                   \
    do {                                                                                                     \
        gnt_brutal brutal_ = { (bytes), (size), #run, __FILE__, __LINE__, 0, 0, { 0 } };                     \
        gnt_status brutal_st_;                                                                               \
        do {                                                                                                 \
            gnt_brutal_begin(&brutal_);                                                                      \
            brutal_st_ = (run);                                                                              \
        } while (!gnt_brutal_end(&brutal_, brutal_st_));                                                     \
    } while (0)

typedef struct gnt_brutal {
    const void *out;
    size_t out_bytes;
    const char *call, *file;
    int line;
    int64_t k, live_blocks;
    unsigned char saved[512];
} gnt_brutal;

void gnt_brutal_begin(gnt_brutal *b);
bool gnt_brutal_end(gnt_brutal *b, gnt_status st); /* true: done */

/* ---- Files ---- */

enum { GNT_TEST_PATH_BYTES = 4096 };

/* A folder of this process' own, made at the first call and removed with its content at exit. */
const char *gnt_test_folder(void);

/* Path of a file in that folder, in a buffer of the caller. Answers out. */
char *gnt_test_path(char out[GNT_TEST_PATH_BYTES], const char *name);

/* Writes a file there (bytes < 0: up to the text's end) and answers its path in out. */
char *gnt_test_write(char out[GNT_TEST_PATH_BYTES], const char *name, const void *content, int64_t bytes);

/* Whole file as a string that the caller frees with gnti_free; *bytes may be NULL. */
char *gnt_test_read(const char *path, int64_t *bytes);

/* Path below the shared data folder (environment GNT_SHARED_DATA, else ../shared/data beside the source
 * root). Skips the calling test, visibly, when there is no such file. */
char *gnt_test_data(char out[GNT_TEST_PATH_BYTES], const char *relative);

/* The same without the skip: false when missing. */
bool gnt_test_data_find(char out[GNT_TEST_PATH_BYTES], const char *relative);

#endif
