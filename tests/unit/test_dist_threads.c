/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks as threads against the contract in dist/comm.h: sums in rank order, messages, splits, no allocation once warm, the
 * virtual clock. What happens when a rank fails is in test_dist_threads_failure.c. */
#include "tests/support/comm_cases.h"

#include <math.h>
#include <string.h>

static void run_case(gnt_rank_fn run, void *user)
{
    for (int32_t size = 1; size <= 8; size++)
        gnt_ranks_run(size, 0.0, run, user, NULL);
}

static void test_sums_are_in_rank_order(void **state)
{
    int64_t counts[] = { 0, 1, 7, 1024, 4099, 100003 };

    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        run_case(gnt_case_sum_floats, &counts[i]);
}

static void test_types_and_operations(void **state)
{
    (void)state;
    run_case(gnt_case_reduce_each_type, NULL);
}

static void test_messages_arrive_in_order(void **state)
{
    bool poll = false;

    (void)state;
    run_case(gnt_case_exchange_with_all, &poll);
    poll = true;
    run_case(gnt_case_exchange_with_all, &poll);
}

static void test_broadcasts_overlap(void **state)
{
    (void)state;
    run_case(gnt_case_broadcast_blocks, NULL);
}

static void test_splits(void **state)
{
    (void)state;
    run_case(gnt_case_split_twice, NULL);
}

static void test_nothing_is_allocated_once_warm(void **state)
{
    (void)state;
    gnt_ranks_run(3, 0.0, gnt_case_repeat_calls, NULL, NULL);
}

/* Rank r starts at second r; a message of 100 bytes takes 0.5 + 100 / 1000 seconds. */
static gnt_status wait_on_virtual_clock(gnti_comm *comm, void *user)
{
    gnt_status st = GNT_OK;
    double clock = comm->rank, first = 0.0;
    char in[100], out[100] = { 0 };
    const int32_t next = (comm->rank + 1) % 3, last = (comm->rank + 2) % 3;
    const gnti_comm_peer peers[2] = { { next, out, 100, NULL, 0, { 0 } }, { last, NULL, 0, in, 100, { 0 } } };
    gnti_exchange *x = NULL;
    bool finished = false;

    (void)user;
    comm->virtual_seconds = &clock;
    comm->link = (gnti_link){ 0.5, 1000.0 };
    GNT_TRY(gnti_comm_exchange_start(comm, peers, 2, &x));
    GNT_RANK_CHECK(clock == comm->rank);
    while (last < comm->rank && !finished &&
           clock < 2.0) { /* what comes from behind: not yet there, then there */
        GNT_TRY(gnti_comm_exchange_poll(x, &finished));
        GNT_RANK_CHECK(!finished || clock >= last + 0.6 - 1e-12);
        clock += 0.001;
    }
    GNT_TRY(gnti_comm_exchange_finish(&x));
    GNT_RANK_CHECK(clock >= last + 0.5 + 0.1 - 1e-12);
    GNT_RANK_CHECK(fabs(comm->arrived_seconds - (last + 0.6)) < 1e-12);
    clock = comm->rank;
    first = clock;
    GNT_TRY(gnti_comm_barrier(comm)); /* two levels, up and down */
    GNT_RANK_CHECK(clock == 2.0 + 4 * 0.5 && first == comm->rank);
    GNT_TRY(gnti_comm_all_reduce(comm, &(gnti_all_reduce_args){ in, 75, GNT_U8, GNTI_COMM_MAX }));
    GNT_RANK_CHECK(fabs(clock - (4.0 + 4 * 0.5 + 0.1)) < 1e-12);
done:
    return st;
}

static void test_virtual_clock(void **state)
{
    (void)state;
    gnt_ranks_run(3, 0.0, wait_on_virtual_clock, NULL, NULL);
}

static void test_messages_share_the_bandwidth(void **state)
{
    gnti_comm link = { .link = { 0.5, 100.0 } }, busy = { .link = { 0.5, 100.0 }, .link_free_seconds = 4.0 };
    gnti_comm free_link = { .link = { 0.5, 0.0 }, .link_free_seconds = 4.0 };
    const gnti_comm_mail together[3] = { { 1.0, 100 }, { 1.0, 200 }, { 1.0, 0 } };
    const gnti_comm_mail apart[2] = { { 9.0, 100 }, { 1.0, 100 } }, over[2] = { { 1.0, 300 }, { 2.0, 100 } };

    (void)state;
    assert_true(gnti_comm_last_arrival(&link, together, 3) == 1.0 + 0.5 + 3.0);
    assert_true(gnti_comm_last_arrival(&link, apart, 2) == 9.0 + 0.5 + 1.0);
    assert_true(gnti_comm_last_arrival(&link, over, 2) == 1.0 + 0.5 + 4.0);
    assert_true(gnti_comm_last_arrival(&free_link, over, 2) == 2.5);
    assert_true(gnti_comm_last_arrival(&link, over, 0) == 0.0);
    assert_true(gnti_comm_last_arrival(&busy, together, 3) == 4.0 + 3.0);
    assert_true(gnti_comm_last_arrival(&busy, apart, 2) == 9.0 + 0.5 + 1.0);
}

static gnt_status start_one(gnti_comm *c, gnti_exchange **out)
{
    static char a[4], b[4];
    const gnti_comm_peer self = { 0, a, 4, b, 4, { 0 } };

    return gnti_comm_exchange_start(c, &self, 1, out);
}

static void test_failing_allocations(void **state)
{
    gnti_comm *comms[3] = { 0 }, *one = NULL, *part = NULL;
    gnti_exchange *x = NULL, *y = NULL;

    (void)state;
    GNT_BRUTAL_BYTES(gnti_comm_threads_create(3, comms), comms, sizeof comms);
    for (int i = 0; i < 3; i++)
        gnti_comm_free(&comms[i]);
    gnt_assert_ok(gnti_comm_threads_create(1, &one));
    GNT_BRUTAL_OUT(gnti_comm_split(one, 0, 0, &part), part);
    GNT_BRUTAL_OUT(start_one(one, &x), x);
    GNT_BRUTAL_OUT(start_one(one, &y), y);
    gnt_assert_ok(gnti_comm_exchange_finish(&y));
    gnti_comm_free(&part);
    gnti_comm_free(&one); /* an exchange that nobody finished is freed too */
    gnt_assert_status(gnti_comm_threads_create(0, &one), GNT_ERR_ARG);
    gnt_assert_status(gnti_comm_threads_create(2000, &one), GNT_ERR_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_are_in_rank_order),
        cmocka_unit_test(test_types_and_operations),
        cmocka_unit_test(test_messages_arrive_in_order),
        cmocka_unit_test(test_broadcasts_overlap),
        cmocka_unit_test(test_splits),
        cmocka_unit_test(test_nothing_is_allocated_once_warm),
        cmocka_unit_test(test_virtual_clock),
        cmocka_unit_test(test_messages_share_the_bandwidth),
        cmocka_unit_test(test_failing_allocations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
