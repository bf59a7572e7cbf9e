/* SPDX-License-Identifier: Apache-2.0 */
/* The contract of dist/comm.h as functions that every rank runs: see comm_cases.h. */
#include "comm_cases.h"

#include <math.h>
#include <string.h>

/* A value that depends on rank and place, of very unequal size: another order of adding shows. */
static float share(int32_t rank, int64_t i)
{
    const uint32_t x = (uint32_t)rank * 2654435761u + (uint32_t)i * 40503u + 12345u;

    return (float)(x % 2000003u) * (1.0f / 7.0f) * powf(10.0f, (float)(x % 9u) - 4.0f);
}

gnt_status gnt_case_sum_floats(gnti_comm *comm, void *user)
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

gnt_status gnt_case_reduce_each_type(gnti_comm *comm, void *user)
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

/* Bytes from one rank to another in a round; both can tell. Some are 0. */
static size_t message_bytes(int32_t from, int32_t to, int round)
{
    const uint32_t x = (uint32_t)(from * 31 + to * 17 + round * 7);

    return x % 5 == 0 ? 0 : x % 3 == 0 ? 70000 + x : x * 3;
}

enum { ROUNDS = 6 };

gnt_status gnt_case_exchange_with_all(gnti_comm *comm, void *user)
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

gnt_status gnt_case_broadcast_blocks(gnti_comm *comm, void *user)
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

gnt_status gnt_case_split_twice(gnti_comm *comm, void *user)
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

static gnt_status call_all(gnti_comm *comm, float *v, int64_t count)
{
    gnt_status st = GNT_OK;
    const int32_t next = (comm->rank + 1) % comm->size, last = (comm->rank + comm->size - 1) % comm->size;
    const gnti_comm_peer peers[2] = { { next, v, 4, v + 1, next == last ? 4 : 0, { 0 } },
                                      { last, NULL, 0, v + 1, 4, { 0 } } };
    gnti_exchange *x = NULL;

    GNT_TRY(gnti_comm_all_reduce(comm, &(gnti_all_reduce_args){ v, count, GNT_F32, GNTI_COMM_MAX }));
    GNT_TRY(gnti_comm_exchange_start(comm, peers, next == last ? 1 : 2, &x));
    GNT_TRY(gnti_comm_exchange_finish(&x));
    GNT_TRY(gnti_comm_broadcast(comm, 1, v, 4));
    GNT_TRY(gnti_comm_barrier(comm));
done:
    return st;
}

gnt_status gnt_case_repeat_calls(gnti_comm *comm, void *user)
{
    gnt_status st = GNT_OK;
    float *v = NULL;
    gnti_alloc_stats before, after;

    (void)user;
    GNT_TRY(gnti_calloc_array(&v, 40000));
    for (int i = 0; i < 50; i++) {
        if (i == 1) { /* all ranks have made what they keep */
            GNT_TRY(gnti_comm_barrier(comm));
            gnti_alloc_get_stats(&before);
            GNT_TRY(gnti_comm_barrier(comm));
        }
        GNT_TRY(call_all(comm, v, 40000));
    }
    gnti_alloc_get_stats(&after);
    GNT_RANK_CHECK(before.num_calls == after.num_calls);
    GNT_TRY(gnti_comm_barrier(comm));
done:
    gnti_free(v);
    return st;
}
