/* SPDX-License-Identifier: Apache-2.0 */
/* Counted allocation: sizes, growth, the failing-call hook. */
#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void arrays_are_counted_and_aligned(void **state)
{
    gnti_alloc_stats before, during, after;
    int64_t *a = NULL;

    (void)state;
    gnti_alloc_get_stats(&before);
    assert_int_equal(gnti_calloc_array(&a, 1000), GNT_OK);
    assert_int_equal((uintptr_t)a % 64, 0);
    assert_int_equal(a[999], 0);
    gnti_alloc_get_stats(&during);
    assert_int_equal(during.live_blocks, before.live_blocks + 1);
    assert_int_equal(during.live_bytes, before.live_bytes + 8000);
    gnti_free(a);
    gnti_alloc_get_stats(&after);
    assert_int_equal(after.live_bytes, before.live_bytes);
}

static void impossible_sizes_are_refused(void **state)
{
    int64_t *a = NULL;

    (void)state;
    assert_int_equal(gnti_alloc_array(&a, INT64_MAX), GNT_ERR_LIMIT);
    assert_int_equal(gnti_alloc_array(&a, -1), GNT_ERR_ARG);
    assert_int_equal(gnti_alloc_array(&a, INT64_MAX / 16), GNT_ERR_NOMEM);
    assert_null(a);
    assert_non_null(strstr(gnt_last_error(), "bytes"));
}

static void hook_fails_the_kth_call(void **state)
{
    char *a = NULL, *b = NULL;

    (void)state;
    gnti_alloc_fail_at(1);
    assert_int_equal(gnti_alloc_array(&a, 10), GNT_OK);
    assert_int_equal(gnti_alloc_array(&b, 10), GNT_ERR_NOMEM);
    assert_null(b);
    assert_true(gnti_alloc_fail_at(-1));
    gnti_free(a);
}

static void growth_keeps_content(void **state)
{
    int32_t *a = NULL;
    int64_t capacity = 0;

    (void)state;
    for (int32_t i = 0; i < 1000; i++) {
        assert_int_equal(gnti_grow_array(&a, &capacity, i + 1), GNT_OK);
        a[i] = i;
    }
    for (int32_t i = 0; i < 1000; i++)
        assert_int_equal(a[i], i);
    gnti_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_are_counted_and_aligned),
        cmocka_unit_test(impossible_sizes_are_refused),
        cmocka_unit_test(hook_fails_the_kth_call),
        cmocka_unit_test(growth_keeps_content),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
