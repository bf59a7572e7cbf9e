/* SPDX-License-Identifier: Apache-2.0 */
/* One rank of an MPI job for the scripts beside it: mpirun -n N mpi_rank MODE [ARGUMENTS].
 *
 *   cases            the contract of every communicator, messages whole and in pieces of 1000 bytes
 *   loop SECONDS LIMIT   exchanges, sums and barriers until somebody kills a rank; "ready" once all have begun
 *   stop FILE        every rank ends with 75, rank 0 after two seconds and a file
 *   abort RANK       that rank gives up; differ: the ranks have other programs; leave RANK: it returns early
 * Exits as the command does: 0, 5 for a lost or late rank, 1 for anything else; the text goes to stderr.
 */
#include "tests/support/comm_cases.h"

#include "base/clock.h"
#include "dist/comm_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static gnt_status run_cases(gnti_comm *c)
{
    gnt_status st = GNT_OK;
    int64_t counts[] = { 0, 1, 7, 1024, 4099, 300001 };
    bool poll = false;
    gnti_wire wire = GNTI_WIRE_BF16;
    gnt_tree_placement p = { .num_chunks = 13, .seed = 5, .dtype = GNT_F32 };

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        GNT_TRY(gnt_case_sum_floats(c, &counts[i]));
    GNT_TRY(gnt_case_reduce_each_type(c, NULL));
    GNT_TRY(gnt_case_exchange_with_all(c, &poll));
    poll = true;
    GNT_TRY(gnt_case_exchange_with_all(c, &poll));
    GNT_TRY(gnt_case_broadcast_blocks(c, NULL));
    GNT_TRY(gnt_case_split_twice(c, NULL));
    if (c->size > 1)
        GNT_TRY(gnt_case_repeat_calls(c, NULL));
    for (uint64_t seed = 0; seed < 12; seed++)
        GNT_TRY(gnt_case_halo_rounds(c, &seed));
    if (c->size == 2)
        GNT_TRY(gnt_case_halo_swap(c, &wire));
    for (int kind = 0; kind < 4; kind++) {
        gnt_tree_place(&p, c->size, kind);
        p.count = kind % 2 == 0 ? 17 : 3001;
        GNT_TRY(gnt_case_tree_sum(c, &p));
    }
done:
    return st;
}

static gnt_status run_on_virtual_clock(gnti_comm *c)
{
    gnt_status st = GNT_OK;
    gnti_comm *comm = c; /* GNT_RANK_CHECK's name */
    double clock = 10.0 * c->rank;
    char byte = 0;

    c->virtual_seconds = &clock;
    c->link = (gnti_link){ 0.5, 1000.0 };
    GNT_TRY(gnti_comm_all_reduce(c, &(gnti_all_reduce_args){ &byte, 1, GNT_U8, GNTI_COMM_MAX }));
    if (c->rank < c->size - 1)
        GNT_RANK_CHECK(clock > 10.0 * (c->size - 1) + 0.5 && clock < 10.0 * (c->size - 1) + 0.6);
    c->virtual_seconds = NULL;
done:
    return st;
}

static gnt_status run_loop(gnti_comm *c, double seconds, double limit)
{
    gnt_status st = GNT_OK;
    const double end = gnti_clock_seconds() + seconds;
    static float v[50000], in[50000];
    gnti_comm_peer peers[2] = { { .rank = (c->rank + 1) % c->size },
                                { .rank = (c->rank + c->size - 1) % c->size } };
    gnti_exchange *x = NULL;
    double now = 0.0;

    c->time_limit = limit;
    peers[0].send = v;
    peers[1].receive = in;
    peers[0].send_bytes = peers[1].receive_bytes = sizeof v;
    if (c->size == 2) {
        peers[0].receive = in;
        peers[0].receive_bytes = sizeof in;
    }
    for (int64_t i = 0; now < end; i++) {
        now = gnti_clock_seconds();
        GNT_TRY(gnti_comm_all_reduce(
            c, &(gnti_all_reduce_args){ &now, 1, GNT_F64, GNTI_COMM_MAX })); /* all end at once */
        GNT_TRY(gnti_comm_exchange_start(c, peers, c->size == 2 ? 1 : 2, &x));
        GNT_TRY(gnti_comm_all_reduce(c, &(gnti_all_reduce_args){ v, 50000, GNT_F32, GNTI_COMM_SUM }));
        GNT_TRY(gnti_comm_exchange_finish(&x));
        GNT_TRY(gnti_comm_broadcast(c, (int32_t)(i % c->size), in, 4000));
        GNT_TRY(gnti_comm_barrier(c));
        memset(v, 0, sizeof v);
        if (i == 0 && c->rank == 0) {
            printf("ready\n");
            fflush(stdout);
        }
    }
done: /* an exchange under way ends with its communicator */
    return st;
}

static gnt_status run_differ(gnti_comm *c)
{
    return gnti_comm_check_launch(c, c->rank == c->size - 1 ? "gnntrain\t1\n--model\tgat with 3 layers\n"
                                                            : "gnntrain\t1\n--model\tgcn with 2 layers\n");
}

/* What a checkpoint does: the others are at their exit long before rank 0 has written it. */
static void stop(const gnti_comm *c, const char *path)
{
    const struct timespec t = { 2, 0 };
    FILE *f = NULL;

    if (c->rank != 0)
        return;
    nanosleep(&t, NULL);
    f = fopen(path, "w");
    if (f != NULL)
        fclose(f);
}

static gnt_status run_mode(gnti_comm *c, int argc, char **argv)
{
    gnt_status st = GNT_OK;
    const char *mode = argc > 1 ? argv[1] : "";
    const int rank = argc > 2 ? (int)strtol(argv[2], NULL, 10) : -1;

    GNT_TRY(strcmp(mode, "differ") == 0 ? run_differ(c) : gnti_comm_check_launch(c, "a test\t1\n"));
    if (strcmp(mode, "cases") == 0) {
        GNT_TRY(run_cases(c));
        gnti_comm_mpi_set_chunk(c, 1000);
        GNT_TRY(run_cases(c));
        GNT_TRY(run_on_virtual_clock(c));
    }
    if (strcmp(mode, "loop") == 0)
        GNT_TRY(run_loop(c, strtod(argv[2], NULL), strtod(argv[3], NULL)));
    c->time_limit = 3.0;
    if (strcmp(mode, "abort") == 0 && c->rank == rank) {
        gnti_comm_abort(c, "loss is NaN in epoch 3");
        GNT_FAIL(GNT_ERR_NUMERIC, "loss is NaN in epoch 3");
    }
    if (strcmp(mode, "stop") == 0) {
        stop(c, argv[2]);
        GNT_FAIL(GNT_STOPPED, "stopped on request");
    }
    if (strcmp(mode, "leave") == 0 && c->rank == rank)
        goto done;
    GNT_TRY(gnti_comm_barrier(c));
done:
    return st;
}

int main(int argc, char **argv)
{
    gnt_status st = GNT_OK;
    gnti_comm *c = NULL;
    int32_t rank = -1;

    GNT_TRY(gnti_comm_mpi_create(&c));
    rank = c->rank;
    GNT_TRY(run_mode(c, argc, argv));
done:
    if (st != GNT_OK)
        fprintf(stderr, "mpi_rank: rank %d: %s: %s\n", (int)rank, gnt_status_name(st), gnt_last_error());
    gnti_comm_free(&c);
    switch (st) {
    case GNT_OK:
        return 0;
    case GNT_STOPPED:
        return 75;
    case GNT_ERR_USAGE:
        return 2;
    case GNT_ERR_PEER_LOST:
    case GNT_ERR_TIMEOUT:
        return 5;
    default:
        return 1;
    }
}
