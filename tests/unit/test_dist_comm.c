/* SPDX-License-Identifier: Apache-2.0 */
/* The communicator of one rank against the contract in dist/comm.h: values, checks, abort, failing
 * allocations. */
#include "tests/support/gnt_test.h"

#include "dist/comm.h"

#include <string.h>

static void test_sum_of_one_rank_is_its_own(void **state)
{
    gnti_comm *c = NULL;
    double v[3] = { 1.5, -2.0, 0.25 };
    const gnti_all_reduce_args sum = { v, 3, GNT_F64, GNTI_COMM_SUM };
    const gnti_all_reduce_args none = { NULL, 0, GNT_F32, GNTI_COMM_MAX };

    (void)state;
    gnt_assert_ok(gnti_comm_self_create(&c));
    assert_int_equal(c->rank, 0);
    assert_int_equal(c->size, 1);
    assert_true(c->time_limit > 0.0);
    gnt_assert_ok(gnti_comm_all_reduce(c, &sum));
    assert_true(v[0] == 1.5 && v[1] == -2.0 && v[2] == 0.25);
    gnt_assert_ok(gnti_comm_all_reduce(c, &none));
    gnt_assert_ok(gnti_comm_broadcast(c, 0, v, sizeof v));
    gnt_assert_ok(gnti_comm_barrier(c));
    gnti_comm_free(&c);
    assert_null(c);
    gnti_comm_free(&c);
}

static void test_exchange_arrives_at_finish(void **state)
{
    gnti_comm *c = NULL;
    gnti_exchange *x = NULL;
    int32_t sent[4] = { 1, 2, 3, 4 }, got[4] = { 0 };
    const gnti_comm_peer self = { 0, sent, sizeof sent, got, sizeof got, { 0 } };
    bool finished = false;

    (void)state;
    gnt_assert_ok(gnti_comm_self_create(&c));
    gnt_assert_ok(gnti_comm_exchange_start(c, &self, 1, &x));
    assert_int_equal(got[3], 0);
    gnt_assert_ok(gnti_comm_exchange_finish(&x));
    assert_null(x);
    gnt_assert_same_i32(got, sent, 4);

    memset(got, 0, sizeof got);
    gnt_assert_ok(gnti_comm_exchange_start(c, &self, 1, &x));
    gnt_assert_ok(gnti_comm_exchange_poll(x, &finished));
    assert_true(finished);
    gnt_assert_same_i32(got, sent, 4);
    gnt_assert_ok(gnti_comm_exchange_finish(&x));

    gnt_assert_ok(gnti_comm_exchange_start(c, NULL, 0, &x));
    gnt_assert_ok(gnti_comm_exchange_finish(&x));
    gnt_assert_ok(gnti_comm_exchange_finish(&x));
    gnti_comm_free(&c);
}

static void test_wrong_arguments_name_both_sides(void **state)
{
    gnti_comm *c = NULL;
    gnti_exchange *x = NULL;
    char a[8] = { 0 }, b[4] = { 0 };
    const gnti_comm_peer far = { 3, a, 8, a, 8, { 0 } }, uneven = { 0, a, 8, b, 4, { 0 } };
    const gnti_comm_peer twice[2] = { { 0, a, 8, a, 8, { 0 } }, { 0, a, 8, a, 8, { 0 } } },
                         empty = { 0, NULL, 8, a, 8, { 0 } };
    const gnti_all_reduce_args bf16 = { a, 4, GNT_BF16, GNTI_COMM_SUM },
                               null = { NULL, 4, GNT_F32, GNTI_COMM_SUM };

    (void)state;
    gnt_assert_ok(gnti_comm_self_create(&c));
    gnt_assert_status(gnti_comm_exchange_start(c, &far, 1, &x), GNT_ERR_ARG);
    gnt_assert_error_has("rank 3", "1 ranks");
    gnt_assert_status(gnti_comm_exchange_start(c, &uneven, 1, &x), GNT_ERR_ARG);
    gnt_assert_error_has("8 bytes", "expects 4");
    gnt_assert_status(gnti_comm_exchange_start(c, twice, 2, &x), GNT_ERR_ARG);
    gnt_assert_status(gnti_comm_exchange_start(c, &empty, 1, &x), GNT_ERR_ARG);
    assert_null(x);
    gnt_assert_status(gnti_comm_all_reduce(c, &bf16), GNT_ERR_ARG);
    gnt_assert_status(gnti_comm_all_reduce(c, &null), GNT_ERR_ARG);
    gnt_assert_status(gnti_comm_broadcast(c, 1, a, 8), GNT_ERR_ARG);
    gnt_assert_status(gnti_comm_barrier(NULL), GNT_ERR_ARG);
    gnti_comm_free(&c);
}

static void test_split_gives_a_job_of_its_own(void **state)
{
    gnti_comm *c = NULL, *part = NULL;

    (void)state;
    gnt_assert_ok(gnti_comm_self_create(&c));
    c->time_limit = 3.0;
    gnt_assert_ok(gnti_comm_split(c, 7, 0, &part));
    assert_int_equal(part->size, 1);
    assert_true(part->time_limit == 3.0);
    gnti_comm_abort(part, "test");
    gnt_assert_ok(gnti_comm_barrier(c));
    gnti_comm_free(&part);
    gnt_assert_ok(gnti_comm_split(c, -1, 0, &part));
    assert_null(part);
    gnti_comm_free(&c);
}

static void test_abort_ends_every_later_call(void **state)
{
    gnti_comm *c = NULL;
    gnti_exchange *x = NULL;
    int32_t sent = 5, got = 0;
    const gnti_comm_peer self = { 0, &sent, sizeof sent, &got, sizeof got, { 0 } };

    (void)state;
    gnt_assert_ok(gnti_comm_self_create(&c));
    gnt_assert_ok(gnti_comm_exchange_start(c, &self, 1, &x));
    gnti_comm_abort(c, "loss is NaN in epoch 3");
    gnti_comm_abort(c, "a second reason is not kept");
    gnt_assert_status(gnti_comm_exchange_finish(&x), GNT_ERR_PEER_LOST);
    assert_null(x);
    assert_int_equal(got, 0);
    gnt_assert_status(gnti_comm_barrier(c), GNT_ERR_PEER_LOST);
    gnt_assert_error_has("barrier", "rank 0", "epoch 3");
    gnti_comm_abort(NULL, NULL);
    gnti_comm_free(&c);
}

static void test_failing_allocations(void **state)
{
    gnti_comm *c = NULL, *part = NULL;
    gnti_exchange *x = NULL;

    (void)state;
    GNT_BRUTAL_OUT(gnti_comm_self_create(&c), c);
    GNT_BRUTAL_OUT(gnti_comm_split(c, 0, 0, &part), part);
    GNT_BRUTAL_OUT(gnti_comm_exchange_start(c, NULL, 0, &x), x);
    gnt_assert_ok(gnti_comm_exchange_finish(&x));
    gnti_comm_free(&part);
    gnti_comm_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sum_of_one_rank_is_its_own),
        cmocka_unit_test(test_exchange_arrives_at_finish),
        cmocka_unit_test(test_wrong_arguments_name_both_sides),
        cmocka_unit_test(test_split_gives_a_job_of_its_own),
        cmocka_unit_test(test_abort_ends_every_later_call),
        cmocka_unit_test(test_failing_allocations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
