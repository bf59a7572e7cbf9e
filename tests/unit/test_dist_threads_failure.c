/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks as threads when one fails: it is late, it leaves, it aborts, or it makes another call than the others. The others end
 * within the time limit, with a text that names rank, host, operation and seconds. */
#include "tests/support/thread_ranks.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LIMIT  1.0  /* of a rank that waits for a late one */
#define LONGER 30.0 /* where nobody may run into a limit, however busy the machine is */

typedef enum wait_kind {
    WAIT_REDUCE,
    WAIT_BARRIER,
    WAIT_MESSAGE,
    WAIT_SPLIT,
    WAIT_BLOCK,
    NUM_WAITS
} wait_kind;
typedef enum failure { LATE, ABORTS, NUM_FAILURES } failure;

typedef struct failing {
    wait_kind kind;
    failure how;
    int32_t culprit;
    atomic_int num_back; /* ranks that have given up */
} failing;

static void sleep_seconds(double seconds)
{
    const struct timespec t = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };

    nanosleep(&t, NULL);
}

static gnt_status call(gnti_comm *comm, wait_kind kind, int32_t culprit)
{
    gnt_status st = GNT_OK;
    static float values[GNT_RANKS_MAX][100000];
    float *v = values[comm->rank];
    gnti_comm_peer peers[GNT_RANKS_MAX] = { 0 };
    gnti_exchange *x = NULL;
    gnti_comm *part = NULL;

    for (int32_t r = 0; r < comm->size; r++)
        peers[r] = (gnti_comm_peer){ r, v, 1000, v + 1000 + 250 * r, 1000, { 0 } };
    if (kind == WAIT_REDUCE)
        GNT_TRY(gnti_comm_all_reduce(comm, &(gnti_all_reduce_args){ v, 100000, GNT_F32, GNTI_COMM_SUM }));
    if (kind == WAIT_BARRIER)
        GNT_TRY(gnti_comm_barrier(comm));
    if (kind == WAIT_SPLIT)
        GNT_TRY(gnti_comm_split(comm, 0, 0, &part));
    if (kind == WAIT_BLOCK)
        GNT_TRY(gnti_comm_broadcast(comm, culprit, v, 4000));
    if (kind == WAIT_MESSAGE) {
        GNT_TRY(gnti_comm_exchange_start(comm, peers, comm->size, &x));
        GNT_TRY(gnti_comm_exchange_finish(&x));
    }
done:
    gnti_comm_free(&part);
    return st;
}

/* The late rank comes when all others have gone. */
static void be_late(failing *f, int32_t others)
{
    for (int i = 0; i < 3000 && atomic_load(&f->num_back) < others; i++)
        sleep_seconds(0.01);
}

static gnt_status run_failing(gnti_comm *comm, void *user)
{
    gnt_status st = GNT_OK;
    failing *f = user;

    for (int i = 0; i < 3; i++)
        GNT_TRY(call(comm, f->kind, f->culprit));
    GNT_TRY(gnti_comm_barrier(comm));
    comm->time_limit = f->how == LATE ? LIMIT : LONGER;
    if (comm->rank == f->culprit && f->how == LATE)
        be_late(f, comm->size - 1);
    if (comm->rank == f->culprit && f->how == ABORTS)
        gnti_comm_abort(comm, "loss is NaN in epoch 7");
    if (comm->rank != f->culprit || f->how == LATE)
        GNT_TRY(call(comm, f->kind, f->culprit));
done:
    atomic_fetch_add(&f->num_back, 1);
    return st;
}

static void check_results(const failing *f, const gnt_rank_result *r, int32_t size)
{
    static const char *const operations[] = { "all-reduce:", "barrier:", "exchange:", "split:",
                                              "broadcast:" };
    char host[256] = { 0 }, culprit[16];
    int timeouts = 0;

    gethostname(host, sizeof host - 1);
    host[63] = '\0';
    snprintf(culprit, sizeof culprit, "rank %d", (int)f->culprit);
    for (int32_t i = 0; i < size; i++) {
        if (i == f->culprit && f->how != LATE)
            continue;
        if (r[i].status != GNT_ERR_PEER_LOST && r[i].status != GNT_ERR_TIMEOUT)
            fail_msg("kind %d, failure %d: rank %d answered %s", (int)f->kind, (int)f->how, (int)i,
                     gnt_status_name(r[i].status));
        timeouts += r[i].status == GNT_ERR_TIMEOUT;
        if (strstr(r[i].text, culprit) == NULL || strstr(r[i].text, host) == NULL)
            fail_msg("rank %d does not name %s on '%s': %s", (int)i, culprit, host, r[i].text);
        assert_true(r[i].seconds < LONGER);
        if (f->how == ABORTS)
            assert_non_null(strstr(r[i].text, "epoch 7"));
        if (r[i].status == GNT_ERR_TIMEOUT)
            assert_int_equal(strncmp(r[i].text, operations[f->kind], strlen(operations[f->kind])), 0);
    }
    assert_true(f->how == LATE ? timeouts >= 1 : timeouts == 0);
}

static void test_every_failure_ends_the_others(void **state)
{
    gnt_rank_result results[GNT_RANKS_MAX];

    (void)state;
    for (int kind = 0; kind < NUM_WAITS; kind++)
        for (int how = 0; how < NUM_FAILURES; how++) {
            failing f = { .kind = (wait_kind)kind, .how = (failure)how, .culprit = kind % 3 };

            gnt_ranks_run(3, LONGER, run_failing, &f, results);
            check_results(&f, results, 3);
        }
}

static void test_a_rank_that_left_is_told_at_once(void **state)
{
    gnti_comm *comms[2] = { 0 };

    (void)state;
    for (int kind = 0; kind < NUM_WAITS; kind++) {
        gnt_assert_ok(gnti_comm_threads_create(2, comms));
        gnti_comm_free(&comms[1]);
        gnt_assert_status(call(comms[0], (wait_kind)kind, 1), GNT_ERR_PEER_LOST);
        gnt_assert_error_has("rank 1", "has left");
        gnti_comm_free(&comms[0]);
    }
}

static gnt_status differ(gnti_comm *comm, void *user)
{
    gnt_status st = GNT_OK;
    float v[8] = { 0 };
    const int how = *(int *)user;
    const gnti_comm_peer peer = { 1 - comm->rank,           v,    comm->rank == 0 ? 8 : 4, v + 4,
                                  comm->rank == 0 ? 4 : 12, { 0 } };
    gnti_exchange *x = NULL;

    if (how == 0)
        GNT_TRY(comm->rank == 0 ? gnti_comm_barrier(comm) : call(comm, WAIT_REDUCE, 0));
    if (how == 1)
        GNT_TRY(
            gnti_comm_all_reduce(comm, &(gnti_all_reduce_args){ v, 4 + comm->rank, GNT_F32, GNTI_COMM_SUM }));
    if (how == 2) {
        GNT_TRY(gnti_comm_exchange_start(comm, &peer, 1, &x));
        GNT_TRY(gnti_comm_exchange_finish(&x));
    }
done:
    return st;
}

static void test_calls_that_differ_end_both(void **state)
{
    gnt_rank_result r[2];

    (void)state;
    for (int how = 0; how < 3; how++) {
        gnt_ranks_run(2, LONGER, differ, &how, r);
        for (int i = 0; i < 2; i++) {
            assert_true(r[i].status == GNT_ERR_PEER_LOST || r[i].status == GNT_ERR_ARG);
            assert_non_null(strstr(r[i].text, how == 0 ? "barrier" : how == 1 ? "of 5" : "12"));
            assert_non_null(strstr(r[i].text, how == 0 ? "all-reduce" : how == 1 ? "of 4" : "8"));
        }
    }
}

/* A rank that gives up must not leave while another copies from its memory: under a sanitizer this would show. */
static gnt_status give_up_under_way(gnti_comm *comm, void *user)
{
    gnt_status st = GNT_OK;
    char *out = NULL, *in = NULL;
    const int64_t bytes = 1 << 20;
    gnti_comm_peer peer = { 1 - comm->rank, NULL, (size_t)bytes, NULL, (size_t)bytes, { 0 } };
    gnti_exchange *x = NULL;

    GNT_TRY(gnti_calloc_array(&out, bytes));
    GNT_TRY(gnti_calloc_array(&in, bytes));
    peer.send = out;
    peer.receive = in;
    GNT_TRY(gnti_comm_exchange_start(comm, &peer, 1, &x));
    if (comm->rank == 0) {
        sleep_seconds(*(int *)user * 20e-6);
        gnti_comm_abort(comm, "rank 0 gives up");
    }
    GNT_TRY(gnti_comm_exchange_finish(&x));
done:
    gnti_free(out);
    gnti_free(in);
    return st;
}

static void test_giving_up_while_bytes_move(void **state)
{
    gnt_rank_result r[2];

    (void)state;
    for (int i = 0; i < 60; i++) {
        gnt_ranks_run(2, LONGER, give_up_under_way, &i, r);
        assert_int_equal(r[0].status, GNT_ERR_PEER_LOST);
        assert_true(r[1].status == GNT_ERR_PEER_LOST || r[1].status == GNT_OK);
    }
}

/* A rank that waits for something else asks now and then. */
static gnt_status look_only(gnti_comm *comm, void *user)
{
    gnt_status st = GNT_OK;
    const double began = gnti_clock_seconds();

    (void)user;
    GNT_RANK_CHECK(gnti_comm_check(comm) == GNT_OK);
    GNT_TRY(gnti_comm_barrier(comm));
    if (comm->rank == 1)
        gnti_comm_abort(comm, "loss is NaN in epoch 7");
    while ((st = gnti_comm_check(comm)) == GNT_OK && gnti_clock_seconds() < began + LONGER)
        sleep_seconds(0.001);
done:
    return st;
}

static void test_a_look_tells_of_the_end(void **state)
{
    gnt_rank_result r[3];

    (void)state;
    gnt_ranks_run(3, LONGER, look_only, NULL, r);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(r[i].status, GNT_ERR_PEER_LOST);
        assert_non_null(strstr(r[i].text, "epoch 7"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_failure_ends_the_others),
        cmocka_unit_test(test_a_rank_that_left_is_told_at_once),
        cmocka_unit_test(test_calls_that_differ_end_both),
        cmocka_unit_test(test_giving_up_while_bytes_move),
        cmocka_unit_test(test_a_look_tells_of_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
