/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 120 */
/* Threads that open datasets at once while others read, write and use the HDF5 library themselves: every trial child comes to
 * its end (one that inherited a closed lock would stay until the limit of ten minutes), and everybody gets what is there.
 */
#include "tests/support/gnt_test.h"

#include "base/clock.h"
#include "datasets/dataset.h"
#include "datasets/h5_value.h"

#include <hdf5.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

/* A fork copies the thread sanitizer's tables, half a second each: fewer rounds there. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
enum { ROUNDS = 6 };
#define FEW_ROUNDS
#endif
#endif
#if !defined(FEW_ROUNDS)
enum { ROUNDS = 60 };
#endif
enum { OPENERS = 3, NUM = 5000, MOST_SECONDS = 60 };

typedef struct shared {
    char path[GNT_TEST_PATH_BYTES], other[GNT_TEST_PATH_BYTES];
    atomic_bool ending;
    atomic_int failures;
} shared;

static void write_numbers(const char *path)
{
    gnti_h5 *f = NULL;
    const int64_t dims[1] = { NUM };
    int64_t *numbers = NULL;

    gnt_assert_ok(gnti_alloc_array(&numbers, NUM));
    for (int64_t i = 0; i < NUM; i++)
        numbers[i] = 3 * i;
    gnt_assert_ok(gnti_h5_create(path, &f));
    gnt_assert_ok(gnti_h5_make_dataset(f, "/a/numbers", GNTI_FILE_I64, 1, dims, true));
    gnt_assert_ok(gnti_h5_write_rows(f, "/a/numbers", GNTI_FILE_I64, 0, NUM, numbers));
    gnt_assert_ok(gnti_h5_commit(&f, NULL));
    gnti_free(numbers);
}

/* A thread answers a count of what went wrong; only the main thread asserts. */
static bool open_and_read(const char *path)
{
    gnti_h5 *f = NULL;
    int64_t *numbers = NULL;
    bool good = gnti_alloc_array(&numbers, NUM) == GNT_OK && gnti_h5_open(path, &f) == GNT_OK &&
                gnti_h5_read_i64(f, "/a/numbers", NUM, numbers) == GNT_OK &&
                numbers[NUM - 1] == 3 * (NUM - 1);

    gnti_h5_close(&f);
    gnti_free(numbers);
    return good;
}

static void *open_often(void *user)
{
    shared *s = user;

    for (int i = 0; i < ROUNDS; i++)
        if (!open_and_read(s->path))
            atomic_fetch_add(&s->failures, 1);
    return NULL;
}

static void *write_often(void *user)
{
    shared *s = user;
    gnti_h5 *f = NULL;

    while (!atomic_load(&s->ending))
        if (gnti_h5_create(s->other, &f) != GNT_OK || gnti_h5_make_group(f, "/a/b/c") != GNT_OK ||
            gnti_h5_commit(&f, NULL) != GNT_OK)
            atomic_fetch_add(&s->failures, 1);
    return NULL;
}

static herr_t stay(hid_t list, const char *name, void *user)
{
    const struct timespec pause = { 0, 1000000 };

    (void)list;
    (void)name;
    (void)user;
    nanosleep(&pause, NULL);
    return 1;
}

/* The caller's own use of the library: inside of it half the time. */
static void *use_library(void *user)
{
    shared *s = user;

    while (!atomic_load(&s->ending)) {
        if (H5Piterate(H5P_DATASET_CREATE, NULL, stay, NULL) != 1)
            atomic_fetch_add(&s->failures, 1);
        (void)stay(H5P_DEFAULT, "", NULL);
    }
    return NULL;
}

static void test_threads_open_at_once(void **state)
{
    shared s = { .failures = 0 };
    pthread_t openers[OPENERS], others[2];
    const double begin = gnti_clock_seconds();

    (void)state;
    write_numbers(gnt_test_path(s.path, "numbers.h5"));
    gnt_test_path(s.other, "other.h5");
    assert_int_equal(pthread_create(&others[0], NULL, write_often, &s), 0);
    assert_int_equal(pthread_create(&others[1], NULL, use_library, &s), 0);
    for (int i = 0; i < OPENERS; i++)
        assert_int_equal(pthread_create(&openers[i], NULL, open_often, &s), 0);
    for (int i = 0; i < OPENERS; i++)
        assert_int_equal(pthread_join(openers[i], NULL), 0);
    atomic_store(&s.ending, true);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(others[i], NULL), 0);
    assert_int_equal(atomic_load(&s.failures), 0);
    assert_true(gnti_clock_seconds() - begin < MOST_SECONDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_threads_open_at_once) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
