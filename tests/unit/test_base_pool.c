/* SPDX-License-Identifier: Apache-2.0 */
/* Pools: blocks come back to their pool whoever frees them, the smallest that is large enough is taken, growth is room for
 * larger requests, and what is freed last frees the pool.
 */
#include "tests/support/gnt_test.h"

#include "base/pool.h"

#include <pthread.h>
#include <string.h>

static char *make(gnti_pool *pool, int64_t bytes)
{
    gnti_pool *before = gnti_pool_enter(pool);
    char *block = NULL;

    gnt_assert_ok(gnti_alloc_array(&block, bytes));
    memset(block, 7, (size_t)bytes);
    assert_int_equal((uintptr_t)block % 64, 0);
    assert_ptr_equal(gnti_pool_enter(before), pool);
    return block;
}

static void test_the_smallest_idle_block_serves(void **state)
{
    gnti_pool *pool = NULL;
    char *small, *middle, *large, *again;

    (void)state;
    GNT_BRUTAL_OUT(gnti_pool_create(&pool), pool);
    small = make(pool, 1000);
    middle = make(pool, 10000);
    large = make(pool, 100000);
    gnti_free(large);
    gnti_free(small);
    gnti_free(middle);
    again = make(pool, 9000);
    assert_ptr_equal(again, middle);
    assert_ptr_equal(make(pool, 14000), large); /* half as large again fits middle, which is taken */
    assert_ptr_equal(make(pool, 10), small);
    gnti_free(small);
    gnti_free(middle);
    gnti_free(large);
    gnti_pool_free(&pool);
    assert_null(pool);
    gnti_pool_free(&pool);
}

static void test_growth_is_room_for_larger_requests(void **state)
{
    gnti_pool *pool = NULL;
    char *block;

    (void)state;
    gnt_assert_ok(gnti_pool_create(&pool));
    gnti_pool_set_growth(pool, 10.0);
    block = make(pool, 1000);
    gnti_free(block);
    assert_ptr_equal(make(pool, 10000), block);
    gnti_free(block);
    gnti_pool_set_growth(pool, 0.0); /* half as large again, never less */
    block = make(pool, 40000);
    gnti_free(block);
    assert_ptr_equal(make(pool, 60000), block);
    gnti_free(block);
    gnti_pool_free(&pool);
}

static void *free_elsewhere(void *block)
{
    gnti_free(block);
    return NULL;
}

static void test_blocks_find_their_pool(void **state)
{
    gnti_pool *pool = NULL;
    char *block, *outside, *kept;
    pthread_t thread;

    (void)state;
    gnt_assert_ok(gnti_pool_create(&pool));
    block = make(pool, 5000);
    assert_int_equal(pthread_create(&thread, NULL, free_elsewhere, block), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    outside = make(NULL, 5000);
    kept = make(pool, 5000);
    assert_ptr_equal(kept, block);
    assert_ptr_not_equal(outside, block);
    gnti_pool_free(&pool);
    memset(kept, 1, 5000); /* still valid */
    gnt_assert_ok(gnti_realloc_array(&kept, 9000));
    assert_int_equal(kept[4999], 1);
    gnti_free(kept);
    gnti_free(outside);
}

static void test_a_failure_leaves_the_pool_whole(void **state)
{
    gnti_pool *pool = NULL;
    char *block = NULL;

    (void)state;
    gnt_assert_ok(gnti_pool_create(&pool));
    gnti_pool_enter(pool);
    GNT_BRUTAL_OUT(gnti_alloc_array(&block, 100), block);
    gnti_free(block);
    block = NULL;
    gnt_assert_status(gnti_alloc_array(&block, (int64_t)1 << 55), GNT_ERR_NOMEM);
    assert_null(block);
    gnti_pool_enter(NULL);
    gnti_pool_free(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_smallest_idle_block_serves),
        cmocka_unit_test(test_growth_is_room_for_larger_requests),
        cmocka_unit_test(test_blocks_find_their_pool),
        cmocka_unit_test(test_a_failure_leaves_the_pool_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
