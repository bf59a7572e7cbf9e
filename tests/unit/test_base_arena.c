/* SPDX-License-Identifier: Apache-2.0 */
/* Arena: alignment, zeroing, mark and release, sticky failure. */
#include "tests/support/gnt_test.h"

#include "base/arena.h"

#include <string.h>

static void objects_are_apart_aligned_and_zero(void **state)
{
    gnti_arena *a = NULL;
    char *last = NULL;

    (void)state;
    gnt_assert_ok(gnti_arena_create(&a));
    for (size_t i = 0; i < 3000; i++) {
        const size_t bytes = i % 97 == 0 ? 20000 : i % 50;
        char *p = gnti_arena_alloc(a, bytes);

        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t j = 0; j < bytes; j++)
            assert_int_equal(p[j], 0);
        memset(p, 0xff, bytes); /* under AddressSanitizer a step into a neighbour's zone is reported */
        assert_true(p != last);
        last = p;
    }
    assert_string_equal(gnti_arena_strdup(a, "words"), "words");
    gnt_assert_ok(gnti_arena_status(a));
    gnti_arena_free(&a);
    gnti_arena_free(&a);
}

static void release_goes_back_to_the_mark(void **state)
{
    gnti_arena *a = NULL;
    gnti_alloc_stats marked, after;
    gnti_arena_mark mark;
    char *kept, *first, *again;

    (void)state;
    gnt_assert_ok(gnti_arena_create(&a));
    gnti_arena_release(a, gnti_arena_get_mark(a)); /* an empty one */
    kept = gnti_arena_strdup(a, "kept");
    mark = gnti_arena_get_mark(a);
    gnti_alloc_get_stats(&marked);
    first = gnti_arena_alloc(a, 8);
    assert_non_null(first);
    for (int i = 0; i < 100; i++)
        assert_non_null(gnti_arena_alloc(a, 5000));
    gnti_arena_release(a, mark);
    gnti_alloc_get_stats(&after);
    assert_int_equal(after.live_blocks, marked.live_blocks);
    again = gnti_arena_alloc(a, 8);
    assert_ptr_equal(again, first);
    assert_string_equal(kept, "kept");
    gnti_arena_free(&a);
}

static void failure_sticks_with_its_text(void **state)
{
    gnti_arena *a = NULL;

    (void)state;
    gnt_assert_ok(gnti_arena_create(&a));
    assert_non_null(gnti_arena_alloc(a, 1));
    gnti_alloc_fail_at(0);
    assert_null(gnti_arena_alloc(a, 40000));
    assert_true(gnti_alloc_fail_at(-1));
    assert_null(gnti_arena_alloc(a, 1));
    gnt_clear_error();
    gnt_assert_status(gnti_arena_status(a), GNT_ERR_NOMEM);
    gnt_assert_error_has("40");
    gnti_arena_free(&a);
    gnt_assert_ok(gnti_arena_create(&a));
    assert_null(gnti_arena_array(a, INT64_MAX, 16));
    gnt_assert_status(gnti_arena_status(a), GNT_ERR_LIMIT);
    gnti_arena_free(&a);
}

static gnt_status some_objects(void)
{
    gnt_status st = GNT_OK;
    gnti_arena *a = NULL;

    GNT_TRY(gnti_arena_create(&a));
    for (int i = 0; i < 10; i++)
        (void)gnti_arena_array(a, 1000, sizeof(double));
    GNT_TRY(gnti_arena_status(a));
done:
    gnti_arena_free(&a);
    return st;
}

static void every_failing_allocation_is_survived(void **state)
{
    (void)state;
    GNT_BRUTAL(some_objects());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_are_apart_aligned_and_zero),
        cmocka_unit_test(release_goes_back_to_the_mark),
        cmocka_unit_test(failure_sticks_with_its_text),
        cmocka_unit_test(every_failing_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
