/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges of ranks that are processes: one or more MPI messages for each direction of each neighbour.
 *
 * MPI keeps the order of messages between two ranks with one tag, so exchanges match in the order in which they start. A
 * message is cut into pieces below 2^31 bytes. What lands in rows with gaps arrives in a buffer of ours and is laid down when
 * it is whole. A rank with a virtual clock sends its time of departure behind each message. Requests are not persistent ones
 * of MPI: neighbours are few, and buffers differ from layer to layer.
 */
#include "dist/comm_process.h"

#include "base/clock.h"

#include <math.h>

void process_exchanges_free(process_comm *c)
{
    process_exchange *next = NULL;

    for (process_exchange *x = c->exchanges; x != NULL; x = next) {
        next = x->next;
        for (int64_t i = 0; i < x->capacity; i++)
            gnti_free(x->messages[i].staging);
        gnti_free(x->messages);
        gnti_free(x->requests);
        gnti_free(x->mail);
        gnti_free(x);
    }
    c->exchanges = NULL;
}

/* Room for so many messages; new ones have no staging yet. */
static gnt_status reserve_messages(process_exchange *x, int64_t count)
{
    gnt_status st = GNT_OK;

    if (count <= x->capacity)
        return GNT_OK;
    GNT_TRY(gnti_realloc_array(&x->messages, count));
    for (int64_t i = x->capacity; i < count; i++)
        x->messages[i] = (process_message){ 0 };
    x->capacity = count;
done:
    return st;
}

static gnt_status take_exchange(process_comm *c, int32_t num_messages, process_exchange **out)
{
    gnt_status st = GNT_OK;
    process_exchange *x = c->exchanges, *fresh = NULL;

    while (x != NULL && x->busy)
        x = x->next;
    if (x == NULL) {
        GNT_TRY(gnti_calloc_array(&fresh, 1));
        x = fresh;
    }
    GNT_TRY(reserve_messages(x, num_messages));
    GNT_TRY(gnti_grow_array(&x->mail, &x->mail_capacity, c->head.virtual_seconds != NULL ? num_messages : 0));
    x->head.comm = &c->head;
    x->complete = false;
    x->num_messages = 0;
    if (fresh != NULL) {
        x->next = c->exchanges;
        c->exchanges = x;
        fresh = NULL;
    }
    *out = x;
done:
    if (fresh != NULL) {
        gnti_free(fresh->messages);
        gnti_free(fresh);
    }
    return st;
}

static process_message *next_message(process_exchange *x, bool is_send, int32_t peer, size_t bytes)
{
    process_message *m = &x->messages[x->num_messages++];
    char *const staging = m->staging;
    const size_t staging_bytes = m->staging_bytes;

    *m = (process_message){
        .is_send = is_send, .peer = peer, .bytes = bytes, .staging = staging, .staging_bytes = staging_bytes
    };
    return m;
}

static void add_send(process_exchange *x, int32_t peer, const void *data, size_t bytes)
{
    const gnti_comm *c = x->head.comm;
    process_message *m = next_message(x, true, peer, bytes);

    m->send = data;
    if (c->virtual_seconds != NULL)
        m->departure = *c->virtual_seconds;
}

static gnt_status add_receive(process_exchange *x, int32_t peer, void *data, size_t bytes,
                              const gnti_comm_shape *shape)
{
    gnt_status st = GNT_OK;
    process_message *m = next_message(x, false, peer, bytes);

    m->receive = data;
    if (shape->row_bytes > 0 && bytes > 0) {
        if (bytes > m->staging_bytes) {
            gnti_free(m->staging);
            m->staging = NULL;
            m->staging_bytes = 0;
            GNT_TRY(gnti_alloc_array(&m->staging, (int64_t)bytes));
            m->staging_bytes = bytes;
        }
        m->shape = *shape;
        m->rows = data;
        m->receive = m->staging;
    }
done:
    return st;
}

static bool carries_clock(const process_exchange *x, const process_message *m)
{
    return x->head.comm->virtual_seconds != NULL && m->bytes > 0;
}

static size_t piece_bytes(const process_comm *c, const process_message *m, int32_t piece)
{
    const size_t at = (size_t)piece * c->chunk_bytes;

    return m->bytes - at < c->chunk_bytes ? m->bytes - at : c->chunk_bytes;
}

static int32_t num_pieces(const process_comm *c, const process_message *m)
{
    return m->bytes == 0 ? 1 : (int32_t)((m->bytes + c->chunk_bytes - 1) / c->chunk_bytes);
}

static int post_message(process_comm *c, process_exchange *x, process_message *m, int32_t tag)
{
    const gnti_mpi_transport *mpi = c->job->mpi;
    const int32_t rank = c->world[m->peer], pieces = num_pieces(c, m);
    gnti_mpi_request *r = x->requests + m->first;
    static char nothing[8];
    int code = 0;

    for (int32_t i = 0; i < pieces && code == 0; i++) {
        const size_t at = (size_t)i * c->chunk_bytes, bytes = piece_bytes(c, m, i);

        if (m->is_send)
            code = mpi->send(bytes > 0 ? m->send + at : nothing, bytes, rank, tag, r++);
        else
            code = mpi->receive(bytes > 0 ? m->receive + at : nothing, bytes, rank, tag, r++);
    }
    if (code == 0 && carries_clock(x, m))
        code = m->is_send ? mpi->send(&m->departure, sizeof m->departure, rank, tag, r)
                          : mpi->receive(&m->departure, sizeof m->departure, rank, tag, r);
    return code;
}

/* Receives first, so that what comes soon finds its place. */
static gnt_status post_all(process_comm *c, process_exchange *x, const char *operation, int32_t tag)
{
    gnt_status st = GNT_OK;
    const process_wait w = process_wait_begin(operation);
    int32_t num_requests = 0, peer = 0;
    int code = 0;

    x->operation = operation;
    GNT_TRY(process_check_broken(c, &w));
    for (int32_t i = 0; i < x->num_messages; i++) {
        process_message *m = &x->messages[i];

        m->first = num_requests;
        m->count = num_pieces(c, m) + carries_clock(x, m);
        num_requests += m->count;
    }
    GNT_TRY(gnti_grow_array(&x->requests, &x->request_capacity, num_requests));
    pthread_mutex_lock(&c->job->mutex);
    for (int32_t i = 0; i < 2 * x->num_messages && code == 0; i++) {
        process_message *m = &x->messages[i % x->num_messages];

        if (m->is_send == (i >= x->num_messages)) {
            peer = m->peer;
            code = post_message(c, x, m, tag);
        }
    }
    pthread_mutex_unlock(&c->job->mutex);
    if (code != 0)
        GNT_TRY(process_mpi_error(c, operation, peer, code));
    x->busy = true;
done:
    return st;
}

static size_t expected_bytes(const process_comm *c, const process_message *m, int32_t piece)
{
    return piece < num_pieces(c, m) ? piece_bytes(c, m, piece) : sizeof m->departure;
}

/* What one look at a message found: an MPI error, or bytes that do not fit. */
typedef struct look {
    int code;
    bool wrong;
    size_t received, expected;
} look;

static look look_at(process_comm *c, process_exchange *x, process_message *m)
{
    look l = { 0 };
    bool done = true;

    while (m->next < m->count && l.code == 0 && !l.wrong) {
        l.code = c->job->mpi->test(&x->requests[m->first + m->next], &done, &l.received);
        if (l.code != 0 || !done)
            break;
        l.expected = expected_bytes(c, m, m->next);
        l.wrong = !m->is_send && l.received != l.expected;
        m->next++;
    }
    m->done = l.code == 0 && !l.wrong && m->next == m->count;
    return l;
}

static gnt_status wrong_size(process_comm *c, const char *operation, const process_message *m, const look *l)
{
    gnt_status st = GNT_OK;

    if (l->received == SIZE_MAX)
        GNT_FAIL(GNT_ERR_ARG, "%s: rank %d sends more than the %zu bytes that rank %d expects", operation,
                 (int)m->peer, l->expected, (int)c->head.rank);
    GNT_FAIL(GNT_ERR_ARG, "%s: rank %d sends %zu bytes to rank %d, which expects %zu", operation,
             (int)m->peer, l->received, (int)c->head.rank, l->expected);
done:
    gnti_comm_abort(&c->head, gnt_last_error());
    return st;
}

/* *missing: the rank of the first message that is not done, receives before sends, or -1. */
static gnt_status progress(process_exchange *x, int32_t *missing)
{
    gnt_status st = GNT_OK;
    process_comm *c = (process_comm *)x->head.comm;
    process_message *bad = NULL;
    look l = { 0 };
    int32_t receive = -1, send = -1;

    pthread_mutex_lock(&c->job->mutex);
    for (int32_t i = 0; i < x->num_messages && bad == NULL && !c->job->broken; i++) {
        process_message *m = &x->messages[i];

        if (m->done)
            continue;
        l = look_at(c, x, m);
        if (l.code != 0 || l.wrong)
            bad = m;
        if (m->done && m->rows != NULL)
            gnti_comm_lay_down(m->rows, &m->shape, m->receive, m->bytes);
        if (!m->done && m->is_send && send < 0)
            send = m->peer;
        if (!m->done && !m->is_send && receive < 0)
            receive = m->peer;
    }
    if (c->job->broken && receive < 0)
        receive = c->head.rank; /* whoever waits finds out why */
    pthread_mutex_unlock(&c->job->mutex);
    *missing = receive >= 0 ? receive : send;
    if (bad != NULL && l.code != 0)
        GNT_TRY(process_mpi_error(c, x->operation, bad->peer, l.code));
    if (bad != NULL)
        GNT_TRY(wrong_size(c, x->operation, bad, &l));
done:
    return st;
}

static double last_arrival(const process_exchange *x)
{
    int32_t count = 0;

    for (int32_t i = 0; i < x->num_messages; i++)
        if (!x->messages[i].is_send)
            x->mail[count++] = (gnti_comm_mail){ x->messages[i].departure, x->messages[i].bytes };
    return gnti_comm_last_arrival(x->head.comm, x->mail, count);
}

static void note_arrival(process_exchange *x)
{
    gnti_comm *c = x->head.comm;

    if (x->complete)
        return;
    gnti_comm_note_arrival(c, c->virtual_seconds != NULL ? last_arrival(x) : 0.0);
    x->complete = true;
}

static gnt_status start(process_comm *c, const char *operation, const gnti_comm_peer *peers,
                        int32_t num_peers, int32_t tag, process_exchange **out)
{
    gnt_status st = GNT_OK;
    process_exchange *x = NULL;

    GNT_TRY(take_exchange(c, 2 * num_peers, &x));
    for (int32_t i = 0; i < num_peers; i++) {
        const gnti_comm_peer *p = &peers[i];

        add_send(x, p->rank, p->send, p->send_bytes);
        GNT_TRY(add_receive(x, p->rank, p->receive, p->receive_bytes, &p->shape));
    }
    GNT_TRY(post_all(c, x, operation, tag));
    *out = x;
done:
    return st;
}

static gnt_status finish(process_exchange *x)
{
    gnt_status st = GNT_OK;
    process_comm *c = (process_comm *)x->head.comm;
    process_wait w = process_wait_begin(x->operation);
    int32_t missing = -1;

    for (;;) {
        GNT_TRY(progress(x, &missing));
        if (missing < 0)
            break;
        GNT_TRY(process_wait_pause(c, &w, missing));
    }
    note_arrival(x);
    if (c->head.virtual_seconds != NULL)
        *c->head.virtual_seconds = fmax(*c->head.virtual_seconds, c->head.arrived_seconds);
done:
    x->busy = false; /* after a failure no message is touched again */
    return st;
}

gnt_status process_exchange_start(gnti_comm *head, const gnti_comm_peer *peers, int32_t num_peers,
                                  gnti_exchange **out)
{
    gnt_status st = GNT_OK;
    process_comm *c = (process_comm *)head;
    process_exchange *x = NULL;

    GNT_TRY(start(c, "exchange", peers, num_peers, 1 + 2 * c->id, &x));
    *out = &x->head;
done:
    return st;
}

gnt_status process_broadcast_start(gnti_comm *head, int32_t root, void *data, size_t bytes,
                                   gnti_exchange **out)
{
    gnt_status st = GNT_OK;
    process_comm *c = (process_comm *)head;
    process_exchange *x = NULL;
    const gnti_comm_shape plain = { 0 };

    GNT_TRY(take_exchange(c, head->size, &x));
    for (int32_t r = 0; head->rank == root && r < head->size; r++)
        if (r != root)
            add_send(x, r, data, bytes);
    if (head->rank != root)
        GNT_TRY(add_receive(x, root, data, bytes, &plain));
    GNT_TRY(post_all(c, x, "broadcast", 1 + 2 * c->id));
    *out = &x->head;
done:
    return st;
}

gnt_status process_exchange_run(process_comm *c, const char *operation, const gnti_comm_peer *peers,
                                int32_t num_peers)
{
    gnt_status st = GNT_OK;
    process_exchange *x = NULL;

    GNT_TRY(start(c, operation, peers, num_peers, 2 + 2 * c->id, &x));
    GNT_TRY(finish(x));
done:
    return st;
}

gnt_status process_exchange_poll(gnti_exchange *head, bool *out_done)
{
    gnt_status st = GNT_OK;
    process_exchange *x = (process_exchange *)head;
    const gnti_comm *c = head->comm;
    const process_wait w = process_wait_begin(x->operation);
    int32_t missing = -1;

    GNT_TRY(progress(x, &missing));
    if (missing >= 0)
        GNT_TRY(process_check_broken((process_comm *)head->comm, &w));
    *out_done = missing < 0 && (c->virtual_seconds == NULL || last_arrival(x) <= *c->virtual_seconds);
    if (*out_done)
        note_arrival(x);
done:
    return st;
}

gnt_status process_exchange_finish(gnti_exchange *head)
{
    return finish((process_exchange *)head);
}
