/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of NVIDIA GPUs by NCCL: what is queued on streams, and waiting for it. group.h is the manual, comm_nccl_make.c makes
 * and ends groups.
 *
 * A wait asks the stream, the communicator's asynchronous error and the other ranks in turn and blocks in none of them. Whatever
 * is wrong ends the group in one order: abort (so that the device's kernels leave), tell the ranks, wait until the stream is
 * done, report.
 */
#include "dist/comm_nccl.h"

#include "base/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LOOK_SECONDS      1e-3 /* between looks at the other ranks */
#define ROLL_CALL_SECONDS 2.0
#define DRAIN_SECONDS     5.0 /* for kernels to leave after an abort */

/* ---- the end -------------------------------------------------------------------------------------------------------- */

void nccl_abort(gnti_group *head)
{
    nccl_group *g = (nccl_group *)head;

    pthread_mutex_lock(&g->lock);
    if (!g->ended && g->comm != NULL)
        (void)ncclCommAbort(g->comm);
    g->comm = NULL;
    g->ended = true;
    pthread_mutex_unlock(&g->lock);
}

/* " in exchange 12 with rank 1, rank 2 on host 'b'": what was queued last; hosts other than ours are named. */
static void name_operation(const nccl_group *g, char *out, size_t bytes)
{
    const char *here = g->places != NULL ? g->places[g->head.meeting.rank].host : "";
    size_t used = 0;

    out[0] = '\0';
    if (g->operation == NULL)
        return;
    used = (size_t)snprintf(out, bytes, " in %s %lld with", g->operation, (long long)g->num_calls);
    for (int32_t i = 0; i < g->num_peers && used < bytes; i++) {
        const char *host = g->places != NULL ? g->places[g->peers[i]].host : "";

        used += (size_t)snprintf(out + used, bytes - used, "%s rank %d", i > 0 ? "," : "", (int)g->peers[i]);
        if (used < bytes && strcmp(host, here) != 0)
            used += (size_t)snprintf(out + used, bytes - used, " on host '%s'", host);
    }
}

gnt_status nccl_lose(nccl_group *g, gnt_status code, const char *what, const char *text)
{
    const gnti_group_meeting *m = &g->head.meeting;
    char operation[NCCL_TEXT_BYTES], whole[2 * NCCL_TEXT_BYTES];

    name_operation(g, operation, sizeof operation);
    snprintf(whole, sizeof whole, "%s: rank %d of %d on host '%s'%s: %s", what, (int)m->rank, (int)m->size,
             g->places != NULL ? g->places[m->rank].host : "unknown", operation, text);
    nccl_abort(&g->head);
    m->give_up(m->user, whole);
    return gnti_error_set(code, __FILE__, __LINE__, __func__, "%s", whole);
}

/* ---- looking -------------------------------------------------------------------------------------------------------- */

/* The communicator's state; ncclInvalidUsage when another thread has ended it. */
static ncclResult_t state_of(nccl_group *g)
{
    ncclResult_t state = ncclInvalidUsage;

    pthread_mutex_lock(&g->lock);
    if (g->comm != NULL && ncclCommGetAsyncError(g->comm, &state) != ncclSuccess)
        state = ncclInternalError;
    pthread_mutex_unlock(&g->lock);
    return state;
}

/* "; rank 1 of 3 on host 'b' does not answer": NCCL does not tell who is gone, so the ranks are asked. */
static void name_missing(nccl_group *g, char *out, size_t bytes)
{
    const gnti_group_meeting *m = &g->head.meeting;

    out[0] = '\0';
    if (!g->ended && m->ask != NULL && m->ask(m->user, fmin(ROLL_CALL_SECONDS, m->time_limit)) != GNT_OK)
        snprintf(out, bytes, "; %.*s", (int)bytes - 3, gnti_error_get()->text);
}

gnt_status nccl_answer(nccl_group *g, ncclResult_t r, const char *what)
{
    char text[NCCL_TEXT_BYTES], missing[NCCL_TEXT_BYTES / 2];
    const cudaError_t e = r == ncclUnhandledCudaError ? cudaPeekAtLastError() : cudaSuccess;

    if (r == ncclSuccess || r == ncclInProgress)
        return GNT_OK;
    if (e != cudaSuccess) { /* this rank's own device */
        const gnt_status st = cuda_error_of(e, "a call of NCCL", __FILE__, __LINE__, __func__);

        snprintf(text, sizeof text, "%.400s", gnti_error_get()->text);
        return nccl_lose(g, st, what, text);
    }
    name_missing(g, missing, sizeof missing);
    snprintf(text, sizeof text, "NCCL reports '%s' (code %d)%s%s", ncclGetErrorString(r), (int)r,
             g->ended ? "; the group was ended before" : "", missing);
    return nccl_lose(g, GNT_ERR_PEER_LOST, what, text);
}

/* Not OK when a rank has ended the job, which ends the group here too. */
static gnt_status look_at_ranks(nccl_group *g, const char *what)
{
    const gnti_group_meeting *m = &g->head.meeting;
    const double now = gnti_clock_seconds();
    char text[NCCL_TEXT_BYTES];

    if (now < g->looked + LOOK_SECONDS)
        return GNT_OK;
    g->looked = now;
    if (m->check(m->user) == GNT_OK)
        return GNT_OK;
    snprintf(text, sizeof text, "%.400s", gnti_error_get()->text);
    return nccl_lose(g, GNT_ERR_PEER_LOST, what, text);
}

/* The time limit is over: the ranks' roll call tells whose fault it is. */
static gnt_status late(nccl_group *g, const char *what, double waited)
{
    const gnti_group_meeting *m = &g->head.meeting;
    gnt_status st = GNT_OK;
    char text[NCCL_TEXT_BYTES];

    if (m->roll_call != NULL)
        st = m->roll_call(m->user, fmin(ROLL_CALL_SECONDS, 4.0 * m->time_limit));
    if (st != GNT_OK)
        snprintf(text, sizeof text, "not done within %.1f s: %.400s", waited, gnti_error_get()->text);
    else
        snprintf(text, sizeof text, "not done within %.1f s: %s", waited,
                 m->roll_call == NULL   ? "another rank has not come to the same call"
                 : g->operation == NULL ? "all ranks wait, but their devices do not find each other "
                                          "(NCCL_DEBUG=INFO tells more)"
                                        : "all ranks wait: they have queued different calls, or the devices "
                                          "are slower than that");
    return nccl_lose(g, st == GNT_ERR_PEER_LOST ? st : GNT_ERR_TIMEOUT, what, text);
}

gnt_status nccl_settle(nccl_group *g, const char *what)
{
    gnt_status st = GNT_OK;
    const double began = gnti_clock_seconds();
    ncclResult_t state;

    while ((state = state_of(g)) == ncclInProgress) {
        GNT_TRY(look_at_ranks(g, what));
        if (gnti_clock_seconds() - began >= g->head.meeting.time_limit)
            GNT_TRY(late(g, what, gnti_clock_seconds() - began));
        cuda_nap(began);
    }
    GNT_TRY(nccl_answer(g, state, what));
done:
    return st;
}

/* ---- queueing -------------------------------------------------------------------------------------------------------- */

static gnt_status enter(nccl_group *g, gnt_stream *s, const char *operation)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(!g->ended, GNT_ERR_PEER_LOST, "%s: rank %d of %d cannot go on, the group has ended", operation,
              (int)g->head.meeting.rank, (int)g->head.meeting.size);
    GNT_CHECK(g->num_parts == 0 && !g->resting, GNT_ERR_STATE,
              "%s: the group rests while a part of it is in use; free the part first", operation);
    GNT_TRY(cuda_enter(g->head.device));
    g->operation = operation;
    g->num_calls++;
    g->num_peers = 0;
    s->last_op = operation;
done:
    return st;
}

static void name_peer(nccl_group *g, int32_t rank)
{
    for (int32_t i = 0; i < g->num_peers; i++)
        if (g->peers[i] == rank)
            return;
    if (g->num_peers < NCCL_MAX_PEERS_NAMED)
        g->peers[g->num_peers++] = rank;
}

static void name_all(nccl_group *g)
{
    for (int32_t r = 0; r < g->head.meeting.size; r++)
        if (r != g->head.meeting.rank)
            name_peer(g, r);
}

/* Both directions of one entry, inside a group call. */
static ncclResult_t queue_peer(nccl_group *g, gnt_stream *s, const gnti_group_peer *p)
{
    ncclResult_t r = ncclSuccess;

    if (p->rank != g->head.meeting.rank && p->send_bytes + p->receive_bytes > 0)
        name_peer(g, p->rank);
    if (p->send_bytes > 0)
        r = ncclSend(cuda_address(p->send, p->send_offset), p->send_bytes, ncclUint8, p->rank, g->comm,
                     s->stream);
    if (p->receive_bytes > 0 && (r == ncclSuccess || r == ncclInProgress))
        r = ncclRecv(cuda_address(p->receive, p->receive_offset), p->receive_bytes, ncclUint8, p->rank,
                     g->comm, s->stream);
    return r;
}

/* One group of all messages, so that no order of peers can block; a group that was begun is ended whatever comes. */
static gnt_status nccl_exchange(gnti_group *head, gnt_stream *s, const gnti_group_peer *peers,
                                int32_t num_peers)
{
    gnt_status st = GNT_OK;
    nccl_group *g = (nccl_group *)head;
    ncclResult_t r = ncclInvalidUsage, end = ncclSuccess;
    int32_t num_messages = 0;

    for (int32_t i = 0; i < num_peers; i++)
        num_messages += (peers[i].send_bytes > 0) + (peers[i].receive_bytes > 0);
    GNT_TRY(enter(g, s, "exchange"));
    if (num_messages == 0)
        return GNT_OK;
    pthread_mutex_lock(&g->lock);
    if (g->comm != NULL) {
        r = ncclGroupStart();
        for (int32_t i = 0; i < num_peers && r == ncclSuccess; i++)
            r = queue_peer(g, s, &peers[i]);
        end = ncclGroupEnd();
    }
    pthread_mutex_unlock(&g->lock);
    GNT_TRY(nccl_answer(g, r == ncclSuccess ? end : r, "exchange"));
    GNT_TRY(nccl_settle(g, "exchange"));
done:
    return st;
}

static ncclDataType_t type_of(gnt_dtype dtype)
{
    switch (dtype) {
    case GNT_F64:
        return ncclFloat64;
    case GNT_I32:
        return ncclInt32;
    case GNT_I64:
        return ncclInt64;
    case GNT_U8:
        return ncclUint8;
    default:
        return ncclFloat32;
    }
}

static gnt_status nccl_all_reduce(gnti_group *head, gnt_stream *s, const gnti_group_sum *a)
{
    gnt_status st = GNT_OK;
    nccl_group *g = (nccl_group *)head;
    const ncclRedOp_t op = a->op == GNTI_COMM_MIN ? ncclMin : a->op == GNTI_COMM_MAX ? ncclMax : ncclSum;
    void *data = cuda_address(a->buffer, a->offset);
    ncclResult_t r = ncclInvalidUsage;

    GNT_TRY(enter(g, s, "all-reduce"));
    name_all(g);
    if (a->count == 0)
        return GNT_OK;
    pthread_mutex_lock(&g->lock);
    if (g->comm != NULL)
        r = ncclAllReduce(data, data, (size_t)a->count, type_of(a->dtype), op, g->comm, s->stream);
    pthread_mutex_unlock(&g->lock);
    GNT_TRY(nccl_answer(g, r, "all-reduce"));
    GNT_TRY(nccl_settle(g, "all-reduce"));
done:
    return st;
}

static gnt_status nccl_broadcast(gnti_group *head, gnt_stream *s, int32_t root, gnt_buffer *buffer,
                                 size_t offset, size_t bytes)
{
    gnt_status st = GNT_OK;
    nccl_group *g = (nccl_group *)head;
    void *data = cuda_address(buffer, offset);
    ncclResult_t r = ncclInvalidUsage;

    GNT_TRY(enter(g, s, "broadcast"));
    name_all(g);
    if (bytes == 0)
        return GNT_OK;
    pthread_mutex_lock(&g->lock);
    if (g->comm != NULL)
        r = ncclBroadcast(data, data, bytes, ncclUint8, root, g->comm, s->stream);
    pthread_mutex_unlock(&g->lock);
    GNT_TRY(nccl_answer(g, r, "broadcast"));
    GNT_TRY(nccl_settle(g, "broadcast"));
done:
    return st;
}

/* ---- waiting --------------------------------------------------------------------------------------------------------- */

/* What keeps a stream that is not done: an error of the devices, the end of another rank, the time limit. */
static gnt_status find_obstacle(nccl_group *g, const char *what, double now)
{
    gnt_status st = GNT_OK;

    GNT_TRY(nccl_answer(g, state_of(g), what));
    GNT_TRY(look_at_ranks(g, what));
    if (g->waiting_since == 0.0)
        g->waiting_since = now;
    if (now - g->waiting_since >= g->head.meeting.time_limit)
        GNT_TRY(late(g, what, now - g->waiting_since));
done:
    return st;
}

/* After an abort: until the stream is done, so that its buffers can be freed. The error stays. */
static void drain(gnt_stream *s)
{
    const gnti_error_record error = *gnti_error_get();
    bool done = false;

    (void)cuda_stream_wait(s, DRAIN_SECONDS, &done);
    (void)gnti_error_adopt(&error);
}

static gnt_status nccl_wait(gnti_group *head, gnt_stream *s, double seconds, const char *what, bool *out_done)
{
    gnt_status st = GNT_OK;
    nccl_group *g = (nccl_group *)head;
    const double began = gnti_clock_seconds();
    bool done = false;

    *out_done = false;
    if (seconds > 0.0)
        g->waiting_since = began;
    for (;;) {
        double now;

        st = cuda_stream_wait(s, 0.0, &done);
        now = gnti_clock_seconds();
        if (st == GNT_ERR_DEVICE_LOST) {
            char text[NCCL_TEXT_BYTES];

            snprintf(text, sizeof text, "%.400s", gnti_error_get()->text);
            return nccl_lose(g, st, what, text);
        }
        if (st != GNT_OK || done)
            break;
        st = find_obstacle(g, what, now);
        if (st != GNT_OK) {
            drain(s);
            return st;
        }
        if (now - began >= seconds)
            return GNT_OK;
        cuda_nap(began);
    }
    g->waiting_since = 0.0;
    *out_done = done;
    return st;
}

void gnti_nccl_version(char *out, size_t bytes)
{
    int v = 0;

    out[0] = '\0';
    if (ncclGetVersion(&v) == ncclSuccess && v > 0)
        snprintf(out, bytes, "%d.%d.%d", v / 10000, v % 10000 / 100, v % 100);
}

const gnti_group_table gnti_nccl_table = {
    .name = "nccl",
    .create = nccl_create,
    .exchange = nccl_exchange,
    .all_reduce = nccl_all_reduce,
    .broadcast = nccl_broadcast,
    .wait = nccl_wait,
    .split = nccl_split,
    .rest = nccl_rest,
    .abort = nccl_abort,
    .free = nccl_free,
};
