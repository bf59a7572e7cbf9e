/* SPDX-License-Identifier: Apache-2.0 */
/* The edge of the communicators: arguments and state are checked here, so that a table stays small.
 *
 * A communicator that was aborted answers ERR_PEER_LOST with the reason to every later call, never a hang.
 * Whoever launched the job resumes from the checkpoint (docs/design.md, one failure model).
 */
#include "dist/comm.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

static gnt_status check_usable(const gnti_comm *c, const char *operation)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(c != NULL, GNT_ERR_ARG, "communicator must not be NULL (%s)", operation);
    GNT_CHECK(!gnti_comm_is_aborted(c), GNT_ERR_PEER_LOST,
              "%s: rank %d of %d cannot go on, the communicator was aborted: %s", operation, (int)c->rank,
              (int)c->size, c->reason);
done:
    return st;
}

static bool is_reducible(gnt_dtype dtype)
{
    return dtype == GNT_F32 || dtype == GNT_F64 || dtype == GNT_I32 || dtype == GNT_I64 || dtype == GNT_U8;
}

gnt_status gnti_comm_all_reduce(gnti_comm *c, const gnti_all_reduce_args *a)
{
    gnt_status st = GNT_OK;

    GNT_TRY(check_usable(c, "all-reduce"));
    GNT_CHECK(a != NULL && a->count >= 0, GNT_ERR_ARG,
              "all-reduce needs arguments with a count of at least 0");
    GNT_CHECK(a->count == 0 || a->data != NULL, GNT_ERR_ARG, "all-reduce of %lld values needs data",
              (long long)a->count);
    GNT_CHECK(is_reducible(a->dtype), GNT_ERR_ARG, "all-reduce cannot add values of dtype %d", (int)a->dtype);
    GNT_CHECK(a->op >= GNTI_COMM_SUM && a->op <= GNTI_COMM_MAX, GNT_ERR_ARG, "all-reduce has no operation %d",
              (int)a->op);
    GNT_TRY(c->table->all_reduce(c, a));
done:
    return st;
}

gnt_status gnti_comm_broadcast_start(gnti_comm *c, int32_t root, void *data, size_t bytes,
                                     gnti_exchange **out)
{
    gnt_status st = GNT_OK;

    GNT_TRY(check_usable(c, "broadcast"));
    GNT_CHECK(out != NULL, GNT_ERR_ARG, "out must not be NULL");
    GNT_CHECK(root >= 0 && root < c->size, GNT_ERR_ARG, "broadcast from rank %d of a job of %d ranks",
              (int)root, (int)c->size);
    GNT_CHECK(bytes == 0 || data != NULL, GNT_ERR_ARG, "broadcast of %zu bytes needs data", bytes);
    GNT_TRY(c->table->broadcast_start(c, root, data, bytes, out));
done:
    return st;
}

gnt_status gnti_comm_broadcast(gnti_comm *c, int32_t root, void *data, size_t bytes)
{
    gnt_status st = GNT_OK;
    gnti_exchange *x = NULL;

    GNT_TRY(gnti_comm_broadcast_start(c, root, data, bytes, &x));
    GNT_TRY(gnti_comm_exchange_finish(&x));
done:
    return st;
}

gnt_status gnti_comm_exchange_start(gnti_comm *c, const gnti_comm_peer *peers, int32_t num_peers,
                                    gnti_exchange **out)
{
    gnt_status st = GNT_OK;

    GNT_TRY(check_usable(c, "exchange"));
    GNT_CHECK(out != NULL && num_peers >= 0 && (num_peers == 0 || peers != NULL), GNT_ERR_ARG,
              "exchange needs a list of neighbours and out");
    for (int32_t i = 0; i < num_peers; i++) {
        const gnti_comm_peer *p = &peers[i];

        GNT_CHECK(p->rank >= 0 && p->rank < c->size, GNT_ERR_ARG,
                  "neighbour %d is rank %d of a job of %d ranks", (int)i, (int)p->rank, (int)c->size);
        GNT_CHECK((p->send_bytes == 0 || p->send != NULL) && (p->receive_bytes == 0 || p->receive != NULL),
                  GNT_ERR_ARG, "exchange with rank %d has bytes but no buffer", (int)p->rank);
        GNT_CHECK(p->shape.row_bytes == 0 || p->receive_bytes % p->shape.row_bytes == 0, GNT_ERR_ARG,
                  "%zu bytes from rank %d do not make whole rows of %zu", p->receive_bytes, (int)p->rank,
                  p->shape.row_bytes);
        for (int32_t j = 0; j < i; j++)
            GNT_CHECK(peers[j].rank != p->rank, GNT_ERR_ARG, "rank %d occurs twice among the neighbours",
                      (int)p->rank);
    }
    GNT_TRY(c->table->exchange_start(c, peers, num_peers, out));
done:
    return st;
}

gnt_status gnti_comm_exchange_poll(gnti_exchange *x, bool *out_done)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(x != NULL && out_done != NULL, GNT_ERR_ARG, "exchange and out must not be NULL");
    GNT_TRY(check_usable(x->comm, "exchange poll"));
    GNT_TRY(x->comm->table->exchange_poll(x, out_done));
done:
    return st;
}

gnt_status gnti_comm_exchange_finish(gnti_exchange **x)
{
    gnt_status st = GNT_OK;
    gnt_status usable = GNT_OK;
    gnti_exchange *mine = x != NULL ? *x : NULL;

    if (mine == NULL)
        return GNT_OK;
    *x = NULL;
    usable = check_usable(mine->comm, "exchange finish");
    st = mine->comm->table->exchange_finish(mine);
    return usable != GNT_OK ? usable : st;
}

gnt_status gnti_comm_barrier(gnti_comm *c)
{
    gnt_status st = GNT_OK;

    GNT_TRY(check_usable(c, "barrier"));
    GNT_TRY(c->table->barrier(c));
done:
    return st;
}

gnt_status gnti_comm_split(gnti_comm *c, int32_t color, int32_t key, gnti_comm **out)
{
    gnt_status st = GNT_OK;

    GNT_TRY(check_usable(c, "split"));
    GNT_CHECK(out != NULL, GNT_ERR_ARG, "out must not be NULL");
    GNT_TRY(c->table->split(c, color, key, out));
done:
    return st;
}

gnt_status gnti_comm_ask(gnti_comm *c, double seconds)
{
    gnt_status st = GNT_OK;

    GNT_TRY(check_usable(c, "a roll call"));
    if (c->table->ask != NULL)
        GNT_TRY(c->table->ask(c, seconds));
done:
    return st;
}

gnt_status gnti_comm_check(gnti_comm *c)
{
    gnt_status st = GNT_OK;

    GNT_TRY(check_usable(c, "work of the device"));
    GNT_TRY(c->table->check(c));
done:
    return st;
}

void gnti_comm_abort(gnti_comm *c, const char *reason)
{
    int fresh = 0;

    if (c == NULL || !atomic_compare_exchange_strong(&c->aborted, &fresh, 1))
        return;
    snprintf(c->reason, sizeof c->reason, "%s",
             reason != NULL && reason[0] != 0 ? reason : "no reason given");
    atomic_store(&c->aborted, 2);
    c->table->abort(c);
}

/* The end of a queue without a list in order: whoever comes at a waits at most for all that come from a on, and all wait for
 * what came before. */
double gnti_comm_last_arrival(const gnti_comm *c, const gnti_comm_mail *mail, int32_t count)
{
    const double rate = c->link.bytes_per_second;
    double last = 0.0, all = 0.0;

    for (int32_t i = 0; i < count; i++) {
        double end = mail[i].departure + c->link.latency;

        if (mail[i].bytes == 0)
            continue;
        all += rate > 0.0 ? (double)mail[i].bytes / rate : 0.0;
        for (int32_t j = 0; j < count && rate > 0.0; j++)
            if (mail[j].departure >= mail[i].departure)
                end += (double)mail[j].bytes / rate;
        last = end > last ? end : last;
    }
    return all > 0.0 && c->link_free_seconds + all > last ? c->link_free_seconds + all : last;
}

void gnti_comm_note_arrival(gnti_comm *c, double last)
{
    c->arrived_seconds = c->virtual_seconds != NULL ? last : gnti_clock_seconds();
    if (c->virtual_seconds != NULL && c->link_free_seconds < last)
        c->link_free_seconds = last;
}

void gnti_comm_lay_down(void *receive, const gnti_comm_shape *shape, const void *message, size_t bytes)
{
    const size_t rows = shape->row_bytes > 0 ? bytes / shape->row_bytes : 0;

    if (bytes > 0 && shape->row_bytes == 0)
        memmove(receive, message, bytes);
    for (size_t r = 0; r < rows; r++) {
        const size_t block = shape->block_rows > 0 ? r / shape->block_rows : 0;
        const size_t row = r - block * shape->block_rows;

        memmove((char *)receive + block * shape->block_stride + row * shape->row_stride,
                (const char *)message + r * shape->row_bytes, shape->row_bytes);
    }
}

bool gnti_comm_is_aborted(const gnti_comm *c)
{
    int state = atomic_load(&c->aborted);

    while (state == 1) /* another thread writes the reason: nanoseconds */
        state = atomic_load(&c->aborted);
    return state != 0;
}

double gnti_comm_clock(const gnti_comm *c)
{
    return c->virtual_seconds != NULL ? *c->virtual_seconds : gnti_clock_seconds();
}

void gnti_comm_free(gnti_comm **c)
{
    if (c == NULL || *c == NULL)
        return;
    (*c)->table->free(*c);
    *c = NULL;
}
