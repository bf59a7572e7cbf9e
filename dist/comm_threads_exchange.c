/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between ranks that are threads: two halves that are matched, and one copy (comm_threads.h).
 *
 * start posts the halves and copies nothing, so that it is over at once; poll copies what this rank receives and finds
 * ready; finish copies whatever is ready in either direction, so that a rank that waits does the late one's work. A
 * broadcast is an exchange in which the root sends the same bytes to all.
 */
#include "dist/comm_threads.h"

#include "base/clock.h"

#include <math.h>

static void push(thread_queue *q, thread_half *h)
{
    h->next = NULL;
    if (q->head == NULL)
        q->head = h;
    else
        q->tail->next = h;
    q->tail = h;
}

static void take_out(thread_queue *q, const thread_half *h)
{
    thread_half **at = &q->head, *last = NULL;

    while (*at != NULL && *at != h) {
        last = *at;
        at = &(*at)->next;
    }
    if (*at == h)
        *at = h->next;
    if (q->tail == h)
        q->tail = last;
}

static thread_queue *queue_of(thread_group *g, const thread_half *h, bool of_sends)
{
    thread_pair *p =
        h->is_send ? &g->pairs[h->owner * g->size + h->peer] : &g->pairs[h->peer * g->size + h->owner];

    return of_sends ? &p->sends : &p->receives;
}

/* False: the other side names another size. */
static bool post(thread_group *g, thread_half *h)
{
    thread_queue *waiting = queue_of(g, h, !h->is_send);
    thread_half *other = waiting->head;

    h->state = HALF_POSTED;
    if (other == NULL) {
        push(queue_of(g, h, h->is_send), h);
        return true;
    }
    if (other->bytes != h->bytes)
        return false;
    take_out(waiting, other);
    h->match = other;
    other->match = h;
    h->state = other->state = h->bytes == 0 ? HALF_DONE : HALF_MATCHED;
    h->departure = other->departure = h->is_send ? h->departure : other->departure;
    thread_wake(g, other->owner);
    return true;
}

/* Copies one matched message, with the mutex open meanwhile. */
static void copy_message(thread_group *g, thread_half *h)
{
    thread_half *from = h->is_send ? h : h->match, *to = h->is_send ? h->match : h;

    from->state = to->state = HALF_COPYING;
    pthread_mutex_unlock(&g->mutex);
    gnti_comm_lay_down(to->receive, &to->shape, from->send, from->bytes);
    pthread_mutex_lock(&g->mutex);
    from->state = to->state = HALF_DONE;
    thread_wake(g, from->owner);
    thread_wake(g, to->owner);
}

/* Copies what is ready; answers the first half that is not done, or NULL. */
static thread_half *progress(thread_comm *c, thread_exchange *x, bool sends_too)
{
    thread_half *open = NULL;

    for (int32_t i = 0; i < x->num_halves; i++)
        if (x->halves[i].state == HALF_MATCHED && (sends_too || !x->halves[i].is_send))
            copy_message(c->group, &x->halves[i]);
    for (int32_t i = 0; i < x->num_halves && open == NULL; i++)
        if (x->halves[i].state != HALF_DONE)
            open = &x->halves[i];
    return open;
}

void thread_exchange_cancel(thread_comm *c, thread_exchange *x)
{
    for (int32_t i = 0; i < x->num_halves; i++) {
        thread_half *h = &x->halves[i];

        while (h->state == HALF_COPYING)
            pthread_cond_wait(&c->group->slots[c->head.rank].wake, &c->group->mutex);
        if (h->state == HALF_POSTED)
            take_out(queue_of(c->group, h, h->is_send), h);
        if (h->state == HALF_MATCHED) {
            h->match->state = HALF_LOST;
            thread_wake(c->group, h->peer);
        }
        h->state = HALF_DONE;
    }
    x->busy = false;
}

/* One that is not in use, with room for the halves; made at the first exchanges of a communicator only. */
static gnt_status take_exchange(thread_comm *c, int32_t num_halves, thread_exchange **out)
{
    gnt_status st = GNT_OK;
    thread_exchange *x = c->exchanges, *fresh = NULL;

    while (x != NULL && x->busy)
        x = x->next;
    if (x == NULL) {
        GNT_TRY(gnti_calloc_array(&fresh, 1));
        x = fresh;
    }
    GNT_TRY(gnti_grow_array(&x->halves, &x->capacity, num_halves));
    GNT_TRY(gnti_grow_array(&x->mail, &x->mail_capacity, c->head.virtual_seconds != NULL ? num_halves : 0));
    x->head.comm = &c->head;
    x->busy = true;
    x->complete = false;
    x->num_halves = 0;
    if (fresh != NULL) {
        x->next = c->exchanges;
        c->exchanges = x;
        fresh = NULL;
    }
    *out = x;
done:
    if (fresh != NULL) {
        gnti_free(fresh->halves);
        gnti_free(fresh);
    }
    return st;
}

static void add_half(thread_exchange *x, int32_t peer, const void *send, void *receive, size_t bytes)
{
    const gnti_comm *c = x->head.comm;

    x->halves[x->num_halves++] =
        (thread_half){ .is_send = receive == NULL,
                       .owner = c->rank,
                       .peer = peer,
                       .send = send,
                       .receive = receive,
                       .bytes = bytes,
                       .departure = c->virtual_seconds != NULL ? *c->virtual_seconds : 0.0,
                       .state = HALF_DONE };
}

static gnt_status post_all(thread_comm *c, thread_exchange *x, const char *operation)
{
    gnt_status st = GNT_OK;
    thread_group *g = c->group;
    const thread_wait w = thread_wait_begin(operation);
    const thread_half *h = NULL;
    bool fits = true, aborted = false;
    size_t other = 0;

    x->operation = operation;
    pthread_mutex_lock(&g->mutex);
    aborted = g->aborted;
    for (int32_t i = 0; i < x->num_halves && fits && !aborted; i++) {
        h = &x->halves[i];
        fits = post(g, &x->halves[i]);
        other = fits ? 0 : queue_of(g, h, !h->is_send)->head->bytes;
    }
    if (!fits || aborted)
        thread_exchange_cancel(c, x);
    pthread_mutex_unlock(&g->mutex);
    if (aborted)
        return thread_give_up(c, &w, WAIT_ABORTED, 0);
    GNT_CHECK(fits, GNT_ERR_ARG, "%s: rank %d sends %zu bytes to rank %d, which expects %zu", operation,
              (int)(h->is_send ? h->owner : h->peer), h->is_send ? h->bytes : other,
              (int)(h->is_send ? h->peer : h->owner), h->is_send ? other : h->bytes);
done:
    if (st != GNT_OK)
        gnti_comm_abort(&c->head, gnt_last_error());
    return st;
}

gnt_status thread_exchange_start(gnti_comm *head, const gnti_comm_peer *peers, int32_t num_peers,
                                 gnti_exchange **out)
{
    gnt_status st = GNT_OK;
    thread_comm *c = (thread_comm *)head;
    thread_exchange *x = NULL;
    static char nothing[1]; /* where messages without bytes go to */

    GNT_TRY(take_exchange(c, 2 * num_peers, &x));
    for (int32_t i = 0; i < num_peers; i++) {
        const gnti_comm_peer *p = &peers[i];

        add_half(x, p->rank, p->send, NULL, p->send_bytes);
        add_half(x, p->rank, NULL, p->receive_bytes > 0 ? p->receive : nothing, p->receive_bytes);
        x->halves[x->num_halves - 1].shape = p->shape;
    }
    GNT_TRY(post_all(c, x, "exchange"));
    *out = &x->head;
done:
    return st;
}

gnt_status thread_broadcast_start(gnti_comm *head, int32_t root, void *data, size_t bytes,
                                  gnti_exchange **out)
{
    gnt_status st = GNT_OK;
    thread_comm *c = (thread_comm *)head;
    thread_exchange *x = NULL;
    static char nothing[1];

    GNT_TRY(take_exchange(c, c->head.size, &x));
    for (int32_t r = 0; head->rank == root && r < head->size; r++)
        if (r != root)
            add_half(x, r, data, NULL, bytes);
    if (head->rank != root)
        add_half(x, root, NULL, bytes > 0 ? data : nothing, bytes);
    GNT_TRY(post_all(c, x, "broadcast"));
    *out = &x->head;
done:
    return st;
}

static double last_arrival(const thread_exchange *x)
{
    int32_t count = 0;

    for (int32_t i = 0; i < x->num_halves; i++)
        if (!x->halves[i].is_send)
            x->mail[count++] = (gnti_comm_mail){ x->halves[i].departure, x->halves[i].bytes };
    return gnti_comm_last_arrival(x->head.comm, x->mail, count);
}

static void note_arrival(thread_exchange *x)
{
    gnti_comm *c = x->head.comm;

    if (x->complete)
        return;
    gnti_comm_note_arrival(c, c->virtual_seconds != NULL ? last_arrival(x) : 0.0);
    x->complete = true;
}

gnt_status thread_exchange_poll(gnti_exchange *head, bool *out_done)
{
    thread_exchange *x = (thread_exchange *)head;
    thread_comm *c = (thread_comm *)head->comm;
    const thread_wait w = thread_wait_begin(x->operation);
    bool all = false, aborted = false;

    pthread_mutex_lock(&c->group->mutex);
    aborted = c->group->aborted;
    if (!aborted)
        all = progress(c, x, false) == NULL;
    pthread_mutex_unlock(&c->group->mutex);
    if (aborted)
        return thread_give_up(c, &w, WAIT_ABORTED, 0);
    if (all && head->comm->virtual_seconds != NULL)
        all = last_arrival(x) <= *head->comm->virtual_seconds;
    if (all)
        note_arrival(x);
    *out_done = all;
    return GNT_OK;
}

gnt_status thread_exchange_finish(gnti_exchange *head)
{
    thread_exchange *x = (thread_exchange *)head;
    thread_comm *c = (thread_comm *)head->comm;
    thread_group *g = c->group;
    thread_wait w = thread_wait_begin(x->operation);
    thread_verdict verdict = WAIT_GO_ON;
    const thread_half *open = NULL;
    int32_t missing = 0;

    pthread_mutex_lock(&g->mutex);
    while (verdict == WAIT_GO_ON && (g->aborted || (open = progress(c, x, true)) != NULL)) {
        missing = open != NULL ? open->peer : 0;
        verdict = thread_pause(c, &w, missing);
    }
    if (verdict != WAIT_GO_ON)
        thread_exchange_cancel(c, x);
    pthread_mutex_unlock(&g->mutex);
    if (verdict != WAIT_GO_ON)
        return thread_give_up(c, &w, verdict, missing);
    note_arrival(x);
    if (head->comm->virtual_seconds != NULL)
        *head->comm->virtual_seconds = fmax(*head->comm->virtual_seconds, head->comm->arrived_seconds);
    x->busy = false;
    return GNT_OK;
}
