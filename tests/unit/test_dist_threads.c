/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks as threads against the contract in dist/comm.h: sums in rank order, messages, splits, no allocation once warm, the
 * virtual clock. What happens when a rank fails is in test_dist_threads_failure.c. */
#include "tests/support/thread_ranks.h"

#include <math.h>
#include <string.h>

/* A value that depends on rank and place, of very unequal size: another order of adding shows. */
static float share(int32_t rank, int64_t i)
{
    const uint32_t x = (uint32_t)rank * 2654435761u + (uint32_t)i * 40503u + 12345u;

    return (float)(x % 2000003u) * (1.0f / 7.0f) * powf(10.0f, (float)(x % 9u) - 4.0f);
}

static gnt_status sum_floats(gnti_comm *comm, void *user)
{
    gnt_status st = GNT_OK;
    const int64_t count = *(int64_t *)user;
    gnti_all_reduce_args a = { NULL, count, GNT_F32, GNTI_COMM_SUM };
    float *v = NULL;

    GNT_TRY(gnti_alloc_array(&v, count));
    for (int round = 0; round < 3; round++) {
        for (int64_t i = 0; i < count; i++)
            v[i] = share(comm->rank, i + round);
        a.data = v;
        GNT_TRY(gnti_comm_all_reduce(comm, &a));
        for (int64_t i = 0; i < count; i++) {
            float want = share(0, i + round);

            for (int32_t r = 1; r < comm->size; r++)
                want += share(r, i + round);
            GNT_RANK_CHECK(v[i] == want);
        }
    }
done:
    gnti_free(v);
    return st;
}

static void test_sums_are_in_rank_order(void **state)
{
    int64_t counts[] = { 0, 1, 7, 1024, 4099, 100003 };

    (void)state;
    for (int32_t size = 1; size <= 8; size++)
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
            gnt_ranks_run(size, 0.0, sum_floats, &counts[i], NULL);
}

static gnt_status reduce_each_type(gnti_comm *comm, void *user)
{
    gnt_status st = GNT_OK;
    const int32_t n = comm->size, r = comm->rank;
    double d[2] = { r + 0.5, r == 1 ? (double)NAN : r };
    int32_t w[2] = { r == 0 ? INT32_MAX : 1, -r };
    int64_t l[2] = { (int64_t)r << 40, -r };
    uint8_t b[2] = { (uint8_t)(r == n - 1), 1 };

    (void)user;
    GNT_TRY(gnti_comm_all_reduce(comm, &(gnti_all_reduce_args){ d, 2, GNT_F64, GNTI_COMM_MAX }));
    GNT_RANK_CHECK(d[0] == n - 1 + 0.5);
    GNT_RANK_CHECK(n > 1 ? isnan(d[1]) : d[1] == 0.0);
    GNT_TRY(gnti_comm_all_reduce(comm, &(gnti_all_reduce_args){ w, 2, GNT_I32, GNTI_COMM_SUM }));
    GNT_RANK_CHECK((uint32_t)w[0] == (uint32_t)INT32_MAX + (uint32_t)(n - 1) && w[1] == -n * (n - 1) / 2);
    GNT_TRY(gnti_comm_all_reduce(comm, &(gnti_all_reduce_args){ l, 2, GNT_I64, GNTI_COMM_MIN }));
    GNT_RANK_CHECK(l[0] == 0 && l[1] == -(n - 1));
    GNT_TRY(gnti_comm_all_reduce(comm, &(gnti_all_reduce_args){ b, 2, GNT_U8, GNTI_COMM_MAX }));
    GNT_RANK_CHECK(b[0] == 1 && b[1] == 1);
done:
    return st;
}

static void test_types_and_operations(void **state)
{
    (void)state;
    for (int32_t size = 1; size <= 5; size++)
        gnt_ranks_run(size, 0.0, reduce_each_type, NULL, NULL);
}

/* Bytes from one rank to another in a round; both can tell. Some are 0. */
static size_t message_bytes(int32_t from, int32_t to, int round)
{
    const uint32_t x = (uint32_t)(from * 31 + to * 17 + round * 7);

    return x % 5 == 0 ? 0 : x % 3 == 0 ? 70000 + x : x * 3;
}

enum { ROUNDS = 6 };

static gnt_status exchange_with_all(gnti_comm *comm, void *user)
{
    gnt_status st = GNT_OK;
    const int32_t n = comm->size;
    gnti_comm_peer peers[2][GNT_RANKS_MAX] = { 0 };
    gnti_exchange *x[2] = { 0 };
    unsigned char *sent[2][GNT_RANKS_MAX] = { 0 }, *got[2][GNT_RANKS_MAX] = { 0 };
    bool finished = false;

    for (int round = 0; round < ROUNDS; round++) {
        const int slot = round % 2; /* two are under way at a time */

        for (int32_t p = 0; p < n; p++) {
            const size_t out = message_bytes(comm->rank, p, round), in = message_bytes(p, comm->rank, round);

            gnti_free(sent[slot][p]);
            gnti_free(got[slot][p]);
            sent[slot][p] = got[slot][p] = NULL;
            GNT_TRY(gnti_alloc_array(&sent[slot][p], (int64_t)out));
            GNT_TRY(gnti_calloc_array(&got[slot][p], (int64_t)in));
            memset(sent[slot][p], comm->rank * 16 + p + round, out);
            peers[slot][p] = (gnti_comm_peer){ p, sent[slot][p], out, got[slot][p], in, { 0 } };
        }
        GNT_TRY(gnti_comm_exchange_start(comm, peers[slot], n, &x[slot]));
        while (*(bool *)user && !finished)
            GNT_TRY(gnti_comm_exchange_poll(x[slot], &finished));
        finished = false;
        if (round == 0)
            continue;
        GNT_TRY(gnti_comm_exchange_finish(&x[1 - slot]));
        for (int32_t p = 0; p < n; p++)
            for (size_t i = 0; i < peers[1 - slot][p].receive_bytes; i++)
                GNT_RANK_CHECK(got[1 - slot][p][i] == (unsigned char)(p * 16 + comm->rank + round - 1));
    }
    GNT_TRY(gnti_comm_exchange_finish(&x[(ROUNDS - 1) % 2]));
done:
    (void)gnti_comm_exchange_finish(&x[0]);
    (void)gnti_comm_exchange_finish(&x[1]);
    for (int i = 0; i < 2 * GNT_RANKS_MAX; i++) {
        gnti_free(sent[i % 2][i / 2]);
        gnti_free(got[i % 2][i / 2]);
    }
    return st;
}

static void test_messages_arrive_in_order(void **state)
{
    bool poll = false;

    (void)state;
    for (int32_t size = 1; size <= 8; size++) {
        poll = size % 2 == 0;
        gnt_ranks_run(size, 0.0, exchange_with_all, &poll, NULL);
    }
}

static gnt_status broadcast_blocks(gnti_comm *comm, void *user)
{
    gnt_status st = GNT_OK;
    float block[2][1000];
    gnti_exchange *x[2] = { 0 };

    (void)user;
    for (int32_t i = 0; i <= comm->size; i++) { /* block i of rank i travels while block i - 1 is looked at */
        float *b = block[i % 2];

        for (int j = 0; i < comm->size && j < 1000; j++)
            b[j] = comm->rank == i ? share(i, j) : -1.0f;
        if (i < comm->size)
            GNT_TRY(gnti_comm_broadcast_start(comm, i, b, sizeof block[0], &x[i % 2]));
        if (i == 0)
            continue;
        GNT_TRY(gnti_comm_exchange_finish(&x[(i - 1) % 2]));
        for (int j = 0; j < 1000; j++)
            GNT_RANK_CHECK(block[(i - 1) % 2][j] == share(i - 1, j));
    }
    GNT_TRY(gnti_comm_broadcast(comm, comm->size - 1, block[0], 0));
done:
    return st;
}

static void test_broadcasts_overlap(void **state)
{
    (void)state;
    for (int32_t size = 1; size <= 8; size++)
        gnt_ranks_run(size, 0.0, broadcast_blocks, NULL, NULL);
}

static gnt_status split_twice(gnti_comm *comm, void *user)
{
    gnt_status st = GNT_OK;
    gnti_comm *part = NULL, *again = NULL;
    int32_t sum = comm->rank;

    (void)user;
    comm->time_limit = 17.0;
    GNT_TRY(gnti_comm_split(comm, comm->rank == 0 ? -1 : comm->rank % 2, -comm->rank, &part));
    GNT_RANK_CHECK((part == NULL) == (comm->rank == 0));
    if (part != NULL) {
        const int32_t odd = comm->rank % 2, above = comm->size - 1 - comm->rank;

        GNT_RANK_CHECK(part->rank == above / 2 && part->time_limit == 17.0);
        GNT_TRY(gnti_comm_all_reduce(part, &(gnti_all_reduce_args){ &sum, 1, GNT_I32, GNTI_COMM_SUM }));
        for (int32_t r = odd == 0 ? 2 : 1; r < comm->size; r += 2)
            sum -= r;
        GNT_RANK_CHECK(sum == 0);
        GNT_TRY(gnti_comm_split(part, 5, 0, &again));
        GNT_RANK_CHECK(again->size == part->size && again->rank == part->rank);
        gnti_comm_free(&part);
        GNT_TRY(gnti_comm_barrier(again));
    }
    GNT_TRY(gnti_comm_barrier(comm));
done:
    gnti_comm_free(&part);
    gnti_comm_free(&again);
    return st;
}

static void test_splits(void **state)
{
    (void)state;
    for (int32_t size = 1; size <= 8; size++)
        gnt_ranks_run(size, 0.0, split_twice, NULL, NULL);
}

static gnt_status call_all(gnti_comm *comm, float *v, int64_t count)
{
    gnt_status st = GNT_OK;
    const int32_t next = (comm->rank + 1) % comm->size, last = (comm->rank + comm->size - 1) % comm->size;
    const gnti_comm_peer peers[2] = { { next, v, 4, NULL, 0, { 0 } }, { last, NULL, 0, v + 1, 4, { 0 } } };
    gnti_exchange *x = NULL;

    GNT_TRY(gnti_comm_all_reduce(comm, &(gnti_all_reduce_args){ v, count, GNT_F32, GNTI_COMM_MAX }));
    GNT_TRY(gnti_comm_exchange_start(comm, peers, 2, &x));
    GNT_TRY(gnti_comm_exchange_finish(&x));
    GNT_TRY(gnti_comm_broadcast(comm, 1, v, 4));
    GNT_TRY(gnti_comm_barrier(comm));
done:
    return st;
}

static gnt_status repeat_calls(gnti_comm *comm, void *user)
{
    gnt_status st = GNT_OK;
    static float v[3][40000];
    gnti_alloc_stats before, after;

    (void)user;
    for (int i = 0; i < 50; i++) {
        if (i == 1) { /* all ranks have made what they keep */
            GNT_TRY(gnti_comm_barrier(comm));
            gnti_alloc_get_stats(&before);
            GNT_TRY(gnti_comm_barrier(comm));
        }
        GNT_TRY(call_all(comm, v[comm->rank], 40000));
    }
    gnti_alloc_get_stats(&after);
    GNT_RANK_CHECK(before.num_calls == after.num_calls);
    GNT_TRY(gnti_comm_barrier(comm));
done:
    return st;
}

static void test_nothing_is_allocated_once_warm(void **state)
{
    (void)state;
    gnt_ranks_run(3, 0.0, repeat_calls, NULL, NULL);
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
        cmocka_unit_test(test_failing_allocations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
