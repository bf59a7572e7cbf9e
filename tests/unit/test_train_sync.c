/* SPDX-License-Identifier: Apache-2.0 */
/* Whom the loop waits for: one rank waits for nobody; over a communicator that claims four ranks, bulk
 * synchronous order names exactly the ranks whose share is missing. */
#include "tests/support/gnt_test.h"

#include "train/sync.h"

static void test_one_rank_waits_for_nobody_but_itself(void **state)
{
    gnti_comm *c = NULL;
    gnti_sync *s = NULL;
    int32_t ranks[1] = { -1 };
    bool stop = false;

    (void)state;
    gnt_assert_ok(gnti_comm_self_create(&c));
    gnt_assert_ok(gnti_sync_create("bsp", c, &s));
    for (int64_t step = 5; step < 8; step++) {
        gnt_assert_ok(gnti_sync_begin(s, step));
        assert_int_equal(gnti_sync_whom(s, step, ranks), 1);
        assert_int_equal(ranks[0], 0);
        gnti_sync_local_done(s, step);
        assert_int_equal(gnti_sync_whom(s, step, ranks), 0);
        stop = step == 7;
        gnt_assert_ok(gnti_sync_merge(s, step, &stop));
        assert_int_equal(stop, step == 7);
    }
    gnti_sync_free(&s);
    gnti_comm_free(&c);
}

static void test_bsp_names_the_missing_of_four(void **state)
{
    gnti_comm *c = NULL;
    gnti_sync *s = NULL;
    int32_t ranks[4];

    (void)state;
    gnt_assert_ok(gnti_comm_self_create(&c));
    c->size = 4;
    c->rank = 1;
    gnt_assert_ok(gnti_sync_create("bsp", c, &s));
    gnt_assert_ok(gnti_sync_begin(s, 0));
    gnti_sync_local_done(s, 0);
    gnti_sync_peer_done(s, 3, 0);
    assert_int_equal(gnti_sync_whom(s, 0, ranks), 2);
    assert_int_equal(ranks[0], 0);
    assert_int_equal(ranks[1], 2);
    gnti_sync_membership(s, 2, false);
    gnti_sync_peer_done(s, 0, 0);
    assert_int_equal(gnti_sync_whom(s, 0, ranks), 0);
    gnt_assert_ok(gnti_sync_begin(s, 1));
    gnti_sync_peer_done(s, 0, 1);
    gnti_sync_peer_done(s, 3, 1);
    gnt_assert_status(gnti_sync_begin(s, 2), GNT_ERR_STATE);
    gnt_assert_error_has("rank 1", "step 2", "only step 0");
    gnti_sync_free(&s);
    gnti_comm_free(&c);
}

static void test_abort_and_unknown_policy(void **state)
{
    gnti_comm *c = NULL;
    gnti_sync *s = NULL;
    bool stop = false;

    (void)state;
    gnt_assert_ok(gnti_comm_self_create(&c));
    gnt_assert_status(gnti_sync_create("stale", c, &s), GNT_ERR_USAGE);
    gnt_assert_error_has("'stale'", "bsp");
    GNT_BRUTAL_OUT(gnti_sync_create("bsp", c, &s), s);
    gnti_comm_abort(c, "loss is NaN");
    gnt_assert_status(gnti_sync_merge(s, 0, &stop), GNT_ERR_PEER_LOST);
    assert_false(stop);
    gnti_sync_free(&s);
    gnti_comm_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_rank_waits_for_nobody_but_itself),
        cmocka_unit_test(test_bsp_names_the_missing_of_four),
        cmocka_unit_test(test_abort_and_unknown_policy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
