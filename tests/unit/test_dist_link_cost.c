/* SPDX-License-Identifier: Apache-2.0 */
/* What links cost: measuring, and the choice between halo exchange and broadcast against both on the virtual clock. */
#include "tests/support/thread_ranks.h"

#include "dist/link_cost.h"

#include <math.h>

static gnt_status measure_all(gnti_comm *comm, void *user)
{
    gnt_status st = GNT_OK;
    double clock = 5.0, pair[2], low[2];
    gnti_link link;

    (void)user;
    comm->virtual_seconds = &clock;
    GNT_TRY(gnti_cost_measure(comm));
    GNT_RANK_CHECK(clock == 5.0 && comm->virtual_seconds == &clock);
    comm->virtual_seconds = NULL;
    link = gnti_cost_link(comm);
    GNT_RANK_CHECK(comm->measured[GNTI_LINK_NETWORK].bytes_per_second == 0.0);
    if (comm->size == 1)
        GNT_RANK_CHECK(comm->measured[GNTI_LINK_HOST].bytes_per_second == 0.0 && link.bytes_per_second > 0.0);
    if (comm->size > 1)
        GNT_RANK_CHECK(link.latency == comm->measured[GNTI_LINK_HOST].latency && link.latency > 0.0 &&
                       link.latency < 1.0 && link.bytes_per_second > 1e5 && link.bytes_per_second < 1e13);
    pair[0] = low[0] = link.latency; /* every rank answers the same */
    pair[1] = low[1] = link.bytes_per_second;
    GNT_TRY(gnti_comm_all_reduce(comm, &(gnti_all_reduce_args){ pair, 2, GNT_F64, GNTI_COMM_MAX }));
    GNT_TRY(gnti_comm_all_reduce(comm, &(gnti_all_reduce_args){ low, 2, GNT_F64, GNTI_COMM_MIN }));
    GNT_RANK_CHECK(pair[0] == low[0] && pair[1] == low[1]);
    comm->link = (gnti_link){ 1.0, 2.0 };
    GNT_RANK_CHECK(gnti_cost_link(comm).bytes_per_second == 2.0);
done:
    return st;
}

static void test_measured_links_are_the_same_on_all_ranks(void **state)
{
    (void)state;
    for (int32_t size = 1; size <= 4; size++)
        gnt_ranks_run(size, 0.0, measure_all, NULL, NULL);
}

static gnt_status two_hosts(gnti_comm *comm, void *user)
{
    gnt_status st = GNT_OK;
    const int32_t host[3] = { 0, 0, 2 };

    (void)user;
    comm->host = host;
    GNT_RANK_CHECK(gnti_cost_link_is_apart(comm));
    GNT_RANK_CHECK(gnti_cost_link_class(comm, 0) == (comm->rank < 2 ? GNTI_LINK_HOST : GNTI_LINK_NETWORK));
    GNT_TRY(gnti_cost_measure(comm));
    GNT_RANK_CHECK(comm->measured[GNTI_LINK_HOST].bytes_per_second > 0.0);
    GNT_RANK_CHECK(comm->measured[GNTI_LINK_NETWORK].bytes_per_second > 0.0);
    GNT_RANK_CHECK(gnti_cost_link(comm).latency == comm->measured[GNTI_LINK_NETWORK].latency);
    comm->host = NULL;
    GNT_RANK_CHECK(!gnti_cost_link_is_apart(comm));
    GNT_TRY(gnti_comm_barrier(comm));
done:
    return st;
}

static void test_classes_of_links(void **state)
{
    (void)state;
    gnt_ranks_run(3, 0.0, two_hosts, NULL, NULL);
}

enum { NODES = 4096, ROW_BYTES = 32 };

typedef struct strategies {
    double share;           /* of the rows elsewhere that a rank needs */
    double halo, broadcast; /* virtual seconds of rank 0 */
} strategies;

static gnt_status run_both(gnti_comm *comm, void *user)
{
    gnt_status st = GNT_OK;
    strategies *s = user;
    const int32_t others = comm->size - 1;
    const size_t block = (size_t)NODES / (size_t)comm->size * ROW_BYTES;
    const size_t message = (size_t)(s->share * (double)NODES / comm->size) * ROW_BYTES;
    double clock = 0.0, halo = 0.0;
    gnti_comm_peer peers[GNT_RANKS_MAX];
    gnti_exchange *x = NULL, *stage[2] = { 0 };
    char *own = NULL, *in = NULL;
    int32_t n = 0;

    GNT_TRY(gnti_calloc_array(&own, NODES * ROW_BYTES));
    GNT_TRY(gnti_calloc_array(&in, NODES * ROW_BYTES));
    comm->virtual_seconds = &clock;
    comm->link = (gnti_link){ 1e-7, 1e8 };
    for (int32_t r = 0; r < comm->size; r++)
        if (r != comm->rank)
            peers[n++] = (gnti_comm_peer){ .rank = r,
                                           .send = own,
                                           .send_bytes = message,
                                           .receive = in + (size_t)r * block,
                                           .receive_bytes = message };
    clock += GNTI_COST_PACK * (double)message * others / comm->link.bytes_per_second; /* gathering the rows */
    GNT_TRY(gnti_comm_exchange_start(comm, peers, others, &x));
    GNT_TRY(gnti_comm_exchange_finish(&x));
    halo = clock;
    GNT_TRY(gnti_comm_barrier(comm));
    clock = 0.0;
    comm->link_free_seconds = 0.0;
    for (int32_t r = 0; r <= comm->size; r++) { /* the next is under way while one is waited for */
        if (r < comm->size)
            GNT_TRY(gnti_comm_broadcast_start(comm, r, in + (size_t)r * block, block, &stage[r % 2]));
        if (r > 0)
            GNT_TRY(gnti_comm_exchange_finish(&stage[(r - 1) % 2]));
    }
    if (comm->rank == 0) {
        s->halo = halo;
        s->broadcast = clock;
    }
    GNT_TRY(gnti_comm_barrier(comm));
done:
    comm->virtual_seconds = NULL;
    gnti_free(own);
    gnti_free(in);
    return st;
}

static void test_the_cheaper_strategy_is_predicted(void **state)
{
    static const double shares[6] = { 0.02, 0.1, 0.3, 0.5, 0.9, 1.0 };
    const gnti_link link = { 1e-7, 1e8 };

    (void)state;
    for (int32_t size = 2; size <= 8; size *= 2)
        for (int i = 0; i < 6; i++) {
            strategies s = { .share = shares[i] };
            const int64_t halo_rows = (int64_t)(shares[i] * (double)NODES / size) * (size - 1);
            const double halo = gnti_cost_halo_seconds(&link, size - 1, halo_rows, ROW_BYTES);
            const double broadcast = gnti_cost_broadcast_seconds(&link, size, NODES, ROW_BYTES);

            gnt_ranks_run(size, 0.0, run_both, &s, NULL);
            if ((halo < broadcast) != (s.halo < s.broadcast))
                fail_msg("%d ranks, share %.2f: predicted %g and %g, measured %g and %g", (int)size,
                         shares[i], halo, broadcast, s.halo, s.broadcast);
            assert_true(fabs(s.halo / halo - 1.0) < 0.2 && fabs(s.broadcast / broadcast - 1.0) < 0.2);
            /* the choice by counts alone leaves a margin for collectives */
            assert_int_equal(gnti_cost_prefers_broadcast(size, NODES, halo_rows), shares[i] > 0.77 / 1.25);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_measured_links_are_the_same_on_all_ranks),
        cmocka_unit_test(test_classes_of_links),
        cmocka_unit_test(test_the_cheaper_strategy_is_predicted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
