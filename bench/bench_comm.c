/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between ranks: latency and bandwidth as link_cost.h measures them, then sums, barriers, exchanges with all
 * and staged broadcasts, each beside what the cost model says.
 *
 *   bench_comm [--ranks P] [--rows N] [--width D] [--repeats R]      P ranks as threads, default 2
 *   mpirun -n P bench_comm [--rows N] ...                            P processes
 *
 * exchange: every rank receives N / P rows of D floats from every other. broadcast: every rank's N / P rows to all, one rank
 * after the other.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "bench/harness.h"
#include "dist/link_cost.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANKS = 64 };

typedef struct settings {
    int64_t rows, width;
    int32_t repeats;
} settings;

typedef struct rank_state {
    gnti_comm *comm;
    const settings *s;
    float *own, *all;
    gnti_comm_peer peers[MAX_RANKS];
    int64_t count; /* of a sum */
    gnt_status status;
} rank_state;

static bool sum_once(void *state)
{
    rank_state *r = state;

    return gnti_comm_all_reduce(
               r->comm, &(gnti_all_reduce_args){ r->all, r->count, GNT_F32, GNTI_COMM_MAX }) == GNT_OK;
}

static bool barrier_once(void *state)
{
    return gnti_comm_barrier(((rank_state *)state)->comm) == GNT_OK;
}

static bool exchange_once(void *state)
{
    rank_state *r = state;
    gnti_exchange *x = NULL;

    return barrier_once(r) && gnti_comm_exchange_start(r->comm, r->peers, r->comm->size - 1, &x) == GNT_OK &&
           gnti_comm_exchange_finish(&x) == GNT_OK;
}

static bool broadcast_once(void *state)
{
    rank_state *r = state;
    const int64_t floats = r->s->rows / r->comm->size * r->s->width;
    bool good = barrier_once(r);

    for (int32_t root = 0; root < r->comm->size && good; root++)
        good = gnti_comm_broadcast(r->comm, root, r->all + root * floats, (size_t)floats * sizeof(float)) ==
               GNT_OK;
    return good;
}

/* All ranks repeat alike; rank 0 prints. */
static gnt_status report(rank_state *r, const char *what, bool (*body)(void *), double predicted)
{
    gnt_status st = GNT_OK;
    bench_times t;

    GNT_CHECK(bench_repeat(body, r, r->s->repeats, &t), GNT_ERR_STATE, "%s", gnt_last_error());
    if (r->comm->rank != 0)
        goto done;
    printf("{\"bench\": \"comm\", \"comm\": \"%s\", \"ranks\": %d, \"case\": \"%s\", ", r->comm->table->name,
           (int)r->comm->size, what);
    bench_print_times(&t);
    if (predicted > 0.0)
        printf(", \"predicted_seconds\": %.9f", predicted);
    printf("}\n");
done:
    return st;
}

static gnt_status prepare(rank_state *r)
{
    gnt_status st = GNT_OK;
    const int32_t size = r->comm->size;
    const int64_t floats = r->s->rows / size * r->s->width;
    int32_t n = 0;

    GNT_TRY(gnti_calloc_array(&r->own, floats));
    GNT_TRY(gnti_calloc_array(&r->all, gnti_max_i64(floats * size, 1 << 20)));
    for (int32_t p = 0; p < size; p++)
        if (p != r->comm->rank)
            r->peers[n++] = (gnti_comm_peer){ .rank = p,
                                              .send = r->own,
                                              .send_bytes = (size_t)floats * sizeof(float),
                                              .receive = r->all + p * floats,
                                              .receive_bytes = (size_t)floats * sizeof(float) };
done:
    return st;
}

static gnt_status run_rank(rank_state *r)
{
    gnt_status st = GNT_OK;
    const int32_t size = r->comm->size;
    gnti_link link;

    GNT_TRY(prepare(r));
    GNT_TRY(gnti_cost_measure(r->comm));
    link = gnti_cost_link(r->comm);
    if (r->comm->rank == 0)
        printf("{\"bench\": \"comm\", \"comm\": \"%s\", \"ranks\": %d, \"case\": \"link\", "
               "\"latency_seconds\": %.9f, "
               "\"bytes_per_second\": %.4g}\n",
               r->comm->table->name, (int)size, link.latency, link.bytes_per_second);
    GNT_TRY(report(r, "barrier", barrier_once, 0.0));
    for (r->count = 1; r->count <= 1 << 20; r->count *= 1 << 10)
        GNT_TRY(report(r,
                       r->count == 1         ? "sum 1"
                       : r->count == 1 << 10 ? "sum 1K"
                                             : "sum 1M",
                       sum_once, 0.0));
    GNT_TRY(report(r, "exchange", exchange_once,
                   gnti_cost_halo_seconds(&link, size - 1, r->s->rows / size * (size - 1), r->s->width * 4)));
    GNT_TRY(report(r, "broadcast", broadcast_once,
                   gnti_cost_broadcast_seconds(&link, size, r->s->rows, r->s->width * 4)));
done:
    gnti_free(r->own);
    gnti_free(r->all);
    return st;
}

static void *run_thread(void *state)
{
    rank_state *r = state;

    r->status = run_rank(r);
    if (r->status != GNT_OK) {
        fprintf(stderr, "bench_comm: rank %d: %s\n", (int)r->comm->rank, gnt_last_error());
        gnti_comm_abort(r->comm, gnt_last_error());
    }
    return NULL;
}

static gnt_status run_threads(const settings *s, int32_t size)
{
    gnt_status st = GNT_OK;
    gnti_comm *comms[MAX_RANKS] = { 0 };
    static rank_state ranks[MAX_RANKS];
    pthread_t threads[MAX_RANKS];

    GNT_TRY(gnti_comm_threads_create(size, comms));
    for (int32_t r = 0; r < size; r++) {
        ranks[r] = (rank_state){ .comm = comms[r], .s = s };
        if (pthread_create(&threads[r], NULL, run_thread, &ranks[r]) != 0)
            exit(1); /* the machine has no room for a thread */
    }
    for (int32_t r = 0; r < size; r++) {
        pthread_join(threads[r], NULL);
        st = st == GNT_OK ? ranks[r].status : st;
    }
    for (int32_t r = 0; r < size; r++)
        gnti_comm_free(&comms[r]);
done:
    return st;
}

static gnt_status run_process(const settings *s)
{
    gnt_status st = GNT_OK;
    rank_state r = { .s = s };

    GNT_TRY(gnti_comm_mpi_create(&r.comm));
    GNT_CHECK(r.comm->size <= MAX_RANKS, GNT_ERR_USAGE, "%d ranks, at most %d", (int)r.comm->size,
              (int)MAX_RANKS);
    GNT_TRY(run_rank(&r));
done:
    gnti_comm_free(&r.comm);
    return st;
}

int main(int argc, char **argv)
{
    gnt_status st = GNT_OK;
    gnti_launch launch;
    const int32_t size = (int32_t)bench_option(argc, argv, "ranks", 2, 2, MAX_RANKS);
    const settings s = { bench_option(argc, argv, "rows", 100000, 1, 1 << 24),
                         bench_option(argc, argv, "width", 64, 1, 4096),
                         (int32_t)bench_option(argc, argv, "repeats", 21, 1, BENCH_MAX_REPEATS) };

    GNT_TRY(gnti_launch_detect(&launch));
    GNT_TRY(launch.size > 1 ? run_process(&s) : run_threads(&s, size));
done:
    if (st != GNT_OK)
        fprintf(stderr, "bench_comm: %s\n", gnt_last_error());
    return st == GNT_OK ? 0 : 1;
}
