/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged dataset files and failing allocations: never a crash, a hang, a leak or an output half made. label: medium, cost: 14 timeout: 900 */
#include "tests/support/full_dataset.h"
#include "tests/support/gnt_test.h"

#include "base/file.h"
#include "base/philox.h"

#include <errno.h>
#include <string.h>

enum { NUM_FLIPS = 240, NUM_CUTS = 200 };

static char *full_file(int bits, int64_t *size)
{
    const gnt_full_options o = { .seed = 2,
                                 .num_nodes = 12,
                                 .weighted = bits & 1,
                                 .sparse = bits & 2,
                                 .text_ids = bits & 1,
                                 .labels = bits & 1 ? GNT_LABELS_CLASS : GNT_LABELS_MULTI };
    gnt_dataset *d = gnt_full_dataset(&o);
    char path[GNT_TEST_PATH_BYTES], *bytes;

    gnt_assert_ok(gnt_dataset_save(d, gnt_test_path(path, "whole.h5")));
    gnt_dataset_free(&d);
    bytes = gnt_test_read(path, size);
    return bytes;
}

/* Opens what may be anything: an error must be one that the caller expects, and nothing may leak. */
static gnt_status open_anything(const char *path)
{
    gnti_alloc_stats before, after;
    gnt_dataset *d = NULL;
    gnt_status st;

    gnti_alloc_get_stats(&before);
    st = gnt_dataset_open(NULL, path, &d);
    if (st == GNT_OK)
        gnt_assert_ok(gnti_dataset_validate(d));
    else if (st != GNT_ERR_FORMAT && st != GNT_ERR_IO && st != GNT_ERR_NOMEM && st != GNT_ERR_LIMIT)
        gnt_assert_ok(st); /* prints what came */
    else
        assert_null(d);
    gnt_dataset_free(&d);
    gnti_alloc_get_stats(&after);
    assert_int_equal(after.live_blocks, before.live_blocks);
    return st;
}

static void cut_files_are_refused(void **state)
{
    char path[GNT_TEST_PATH_BYTES];
    int64_t size, refused = 0;
    char *bytes = full_file(1, &size);

    (void)state;
    for (int64_t i = 0; i < NUM_CUTS; i++) {
        gnt_test_write(path, "cut.h5", bytes, size * i / NUM_CUTS);
        refused += open_anything(path) != GNT_OK;
    }
    assert_int_equal(refused, NUM_CUTS);
    gnt_test_write(path, "cut.h5", bytes, size - 1);
    gnt_assert_status(open_anything(path), GNT_ERR_FORMAT);
    gnt_assert_error_has("cut.h5", "cut off");
    gnti_free(bytes);
}

/* One bit of many places, then runs of several bytes; most hit the structures at the file's begin. */
static void flipped_bytes_never_crash(void **state)
{
    char path[GNT_TEST_PATH_BYTES];
    int64_t size, refused = 0;

    (void)state;
    for (int bits = 0; bits < 4; bits++) {
        char *bytes = full_file(bits, &size);

        for (int64_t i = 0; i < NUM_FLIPS / 4; i++) {
            uint32_t w[4];
            int64_t at;
            char saved[8];

            gnti_draw_quad(gnti_seed_key(9), GNTI_DRAW_GENERATE, 1, 0, i, (uint32_t)bits, w);
            at = (int64_t)gnti_below(w[0], (uint32_t)(w[3] % 2 ? size - 8 : gnti_min_i64(size - 8, 6000)));
            memcpy(saved, bytes + at, 8);
            if (i % 3 == 0)
                memset(bytes + at, (int)(w[1] % 3) * 127, w[2] % 8 + 1);
            else
                bytes[at] = (char)(bytes[at] ^ (1 << w[1] % 8));
            gnt_test_write(path, "flip.h5", bytes, size);
            refused += open_anything(path) != GNT_OK;
            memcpy(bytes + at, saved, 8);
        }
        gnti_free(bytes);
    }
    assert_in_range(refused, NUM_FLIPS / 20, NUM_FLIPS - 1); /* some matter, some do not */
}

static void reading_survives_any_failed_allocation(void **state)
{
    char path[GNT_TEST_PATH_BYTES];
    int64_t size;

    (void)state;
    for (int bits = 0; bits < 4; bits++) {
        gnt_dataset *d = NULL;

        gnti_free(full_file(bits, &size));
        gnt_test_path(path, "whole.h5");
        GNT_BRUTAL_OUT(gnt_dataset_open(NULL, path, &d), d);
        gnt_dataset_free(&d);
    }
}

static void writing_survives_any_failed_allocation(void **state)
{
    char path[GNT_TEST_PATH_BYTES];

    (void)state;
    for (int bits = 0; bits < 2; bits++) {
        const gnt_full_options o = { .seed = 2,
                                     .num_nodes = 9,
                                     .weighted = bits,
                                     .sparse = bits,
                                     .text_ids = bits,
                                     .labels = GNT_LABELS_MULTI };
        gnt_dataset *d = gnt_full_dataset(&o), *back = NULL;

        gnt_test_path(path, "brutal.h5");
        GNT_BRUTAL(gnt_dataset_save(d, path));
        gnt_assert_ok(gnt_dataset_open(NULL, path, &back));
        assert_null(gnt_dataset_difference(d, back));
        gnt_dataset_free(&d);
        gnt_dataset_free(&back);
    }
}

/* The disk is full at any flush: the code says so and the old file is intact. */
static void full_disks_leave_the_old_file(void **state)
{
    const gnt_full_options o = { .seed = 2, .num_nodes = 9 }, p = { .seed = 3, .num_nodes = 9 };
    gnt_dataset *old = gnt_full_dataset(&o), *fresh = gnt_full_dataset(&p), *back = NULL;
    char path[GNT_TEST_PATH_BYTES];

    (void)state;
    gnt_assert_ok(gnt_dataset_save(old, gnt_test_path(path, "disk.h5")));
    gnti_file_fail_at(0, ENOSPC);
    gnt_assert_status(gnt_dataset_save(fresh, path), GNT_ERR_DISK_FULL);
    gnti_file_fail_at(-1, 0);
    gnt_assert_ok(gnt_dataset_open(NULL, path, &back));
    assert_null(gnt_dataset_difference(old, back));
    gnt_dataset_free(&old);
    gnt_dataset_free(&fresh);
    gnt_dataset_free(&back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_files_are_refused),
        cmocka_unit_test(flipped_bytes_never_crash),
        cmocka_unit_test(reading_survives_any_failed_allocation),
        cmocka_unit_test(writing_survives_any_failed_allocation),
        cmocka_unit_test(full_disks_leave_the_old_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
