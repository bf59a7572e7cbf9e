/* SPDX-License-Identifier: Apache-2.0 */
/* The communicator of a job of one rank: sums are what they were, an exchange copies what the rank sends to
 * itself.
 *
 * It keeps the rules of the others where they can be kept: what is received arrives at finish (or at the poll
 * that says so), never at start, so that code which reads too early fails here too. Finished exchanges are kept for the next
 * ones: a step of a program asks for no memory.
 */
#include "dist/comm.h"

#include "base/alloc.h"

typedef struct self_exchange {
    gnti_exchange head;
    const gnti_comm_peer *self; /* NULL: no neighbour */
    bool delivered;
    struct self_exchange *next; /* among those that are free */
} self_exchange;

typedef struct self_comm {
    gnti_comm head;
    self_exchange *spare;
} self_comm;

static gnt_status self_all_reduce(gnti_comm *c, const gnti_all_reduce_args *a)
{
    (void)c;
    (void)a;
    return GNT_OK;
}

static gnt_status self_exchange_start(gnti_comm *c, const gnti_comm_peer *peers, int32_t num_peers,
                                      gnti_exchange **out)
{
    gnt_status st = GNT_OK;
    self_exchange *x = NULL;

    if (num_peers == 1)
        GNT_CHECK(peers[0].send_bytes == peers[0].receive_bytes, GNT_ERR_ARG,
                  "rank 0 sends %zu bytes to rank 0, which expects %zu", peers[0].send_bytes,
                  peers[0].receive_bytes);
    x = ((self_comm *)c)->spare;
    if (x != NULL)
        ((self_comm *)c)->spare = x->next;
    else
        GNT_TRY(gnti_calloc_array(&x, 1));
    x->delivered = false;
    x->head.comm = c;
    x->self = num_peers == 1 ? peers : NULL;
    *out = &x->head;
done:
    return st;
}

static gnt_status self_broadcast_start(gnti_comm *c, int32_t root, void *data, size_t bytes,
                                       gnti_exchange **out)
{
    (void)root;
    (void)data;
    (void)bytes;
    return self_exchange_start(c, NULL, 0, out);
}

static void deliver(self_exchange *x)
{
    if (x->self != NULL && !x->delivered)
        gnti_comm_lay_down(x->self->receive, &x->self->shape, x->self->send, x->self->send_bytes);
    x->delivered = true;
    x->head.comm->arrived_seconds = gnti_comm_clock(x->head.comm);
}

static gnt_status self_exchange_poll(gnti_exchange *x, bool *out_done)
{
    deliver((self_exchange *)x);
    *out_done = true;
    return GNT_OK;
}

static gnt_status self_exchange_finish(gnti_exchange *x)
{
    if (!gnti_comm_is_aborted(x->comm))
        deliver((self_exchange *)x);
    ((self_exchange *)x)->next = ((self_comm *)x->comm)->spare;
    ((self_comm *)x->comm)->spare = (self_exchange *)x;
    return GNT_OK;
}

static gnt_status self_barrier(gnti_comm *c)
{
    (void)c;
    return GNT_OK;
}

static gnt_status self_split(gnti_comm *c, int32_t color, int32_t key, gnti_comm **out)
{
    gnt_status st = GNT_OK;
    gnti_comm *part = NULL;

    (void)key;
    if (color >= 0) {
        GNT_TRY(gnti_comm_self_create(&part));
        part->time_limit = c->time_limit;
    }
    *out = part;
done:
    return st;
}

static gnt_status self_check(gnti_comm *c)
{
    (void)c;
    return GNT_OK;
}

static void self_abort(gnti_comm *c)
{
    (void)c;
}

static void self_free(gnti_comm *c)
{
    self_exchange *next;

    for (self_exchange *x = ((self_comm *)c)->spare; x != NULL; x = next) {
        next = x->next;
        gnti_free(x);
    }
    gnti_free(c);
}

static const gnti_comm_table self_table = {
    .name = "self",
    .all_reduce = self_all_reduce,
    .broadcast_start = self_broadcast_start,
    .exchange_start = self_exchange_start,
    .exchange_poll = self_exchange_poll,
    .exchange_finish = self_exchange_finish,
    .barrier = self_barrier,
    .split = self_split,
    .check = self_check,
    .abort = self_abort,
    .free = self_free,
};

gnt_status gnti_comm_self_create(gnti_comm **out)
{
    gnt_status st = GNT_OK;
    self_comm *self = NULL;
    gnti_comm *c;

    GNT_CHECK(out != NULL, GNT_ERR_ARG, "out must not be NULL");
    GNT_TRY(gnti_calloc_array(&self, 1));
    c = &self->head;
    c->table = &self_table;
    c->size = 1;
    c->num_threads = 1;
    c->time_limit = GNTI_COMM_TIME_LIMIT;
    *out = c;
done:
    return st;
}
