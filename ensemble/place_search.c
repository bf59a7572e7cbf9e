/* SPDX-License-Identifier: Apache-2.0 */
/* Better queues than longest first: moves and swaps off the device that ends last until none helps, then,
 * within a number of nodes, every assignment that could still end earlier. Both look at tasks of one device
 * that wait; what runs is a base that stays.
 */
#include "ensemble/place_state.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

#define SEARCH_ROUNDS 64
#define BRANCH_NODES  4096
#define BRANCH_DEPTH  64

typedef struct queue_search {
    gnti_placing *s;
    int32_t *task; /* (num) the line, longest first; each wants one device, s->queued */
    int32_t num;
    double *base; /* (num_devices) when those that run already are done */
    double *load; /* (num_devices) when all of its queue is */
} queue_search;

/* Seconds that a task takes on one device, with the move there; INFINITY: not there. */
static double seconds_on(const gnti_placing *s, int32_t task, int32_t device)
{
    const gnti_place_task *t = &s->in->tasks[task];
    const int32_t cls = s->class_of[device];
    const double speed = cls >= 0 && s->hole[device] == 0.0 ? gnti_placing_speed(s, task, cls) : 0.0;
    const bool moves = t->num_held > 0 && !(t->num_held == 1 && t->held[0] == device);

    if (speed == 0.0 || !gnti_placing_holds(s, task, cls, 1.0))
        return INFINITY;
    return moves ? gnti_placing_moved(s, task, speed) : gnti_epochs_left(t) / speed;
}

/* The device whose queue ends last, among those that have one. */
static int32_t last_device(const queue_search *q)
{
    int32_t last = -1;

    for (int32_t i = 0; i < q->num; i++) {
        const int32_t d = q->s->queued[q->task[i]];

        if (last < 0 || q->load[d] > q->load[last] || (q->load[d] == q->load[last] && d < last))
            last = d;
    }
    return last;
}

typedef struct queue_change {
    int32_t i, j, device; /* task i goes to device, task j (-1: none) to where i was */
    double from, to;      /* loads after it */
} queue_change;

static void consider(const queue_search *q, int32_t i, int32_t j, int32_t device, queue_change *best)
{
    const gnti_placing *s = q->s;
    const int32_t last = s->queued[q->task[i]];
    double from = q->load[last] - seconds_on(s, q->task[i], last);
    double to = q->load[device] + seconds_on(s, q->task[i], device);

    if (j >= 0) {
        from += seconds_on(s, q->task[j], last);
        to -= seconds_on(s, q->task[j], device);
    }
    if (fmax(from, to) < fmax(best->from, best->to) * (1.0 - 1e-9))
        *best = (queue_change){ i, j, device, from, to };
}

/* The move or swap that lowers the later of two ends most; false: none does. */
static bool improve(queue_search *q)
{
    gnti_placing *s = q->s;
    const int32_t last = last_device(q);
    queue_change best = { -1, -1, -1, q->load[last], q->load[last] };

    for (int32_t i = 0; i < q->num; i++) {
        if (s->queued[q->task[i]] != last)
            continue;
        for (int32_t d = 0; d < s->in->num_devices; d++)
            if (d != last && s->class_of[d] >= 0)
                consider(q, i, -1, d, &best);
        for (int32_t j = 0; j < q->num; j++)
            if (s->queued[q->task[j]] != last)
                consider(q, i, j, s->queued[q->task[j]], &best);
    }
    if (best.i < 0)
        return false;
    s->queued[q->task[best.i]] = best.device;
    if (best.j >= 0)
        s->queued[q->task[best.j]] = last;
    q->load[last] = best.from;
    q->load[best.device] = best.to;
    return true;
}

typedef struct branch_run {
    const queue_search *q;
    double *load;          /* (num_devices) */
    int32_t *at, *best_at; /* (num) device of each task */
    double fixed, best;    /* devices that none can shorten; the best plan so far */
    int32_t nodes;
} branch_run;

/* Every assignment, longest task first, each to the device where it ends first before the others, cut
 * where it cannot win. */
static void branch(branch_run *b, int32_t i, double last)
{
    const queue_search *q = b->q;
    const int32_t devices = q->s->in->num_devices;
    double done = -1.0;
    int32_t done_at = -1;

    if (last >= b->best * (1.0 - 1e-9) || b->nodes++ >= BRANCH_NODES)
        return;
    if (i == q->num) {
        b->best = last;
        memcpy(b->best_at, b->at, (size_t)q->num * sizeof *b->at);
        return;
    }
    for (;;) { /* devices by the finish that they give, then number */
        double next = INFINITY;
        int32_t pick = -1;

        for (int32_t d = 0; d < devices; d++) {
            const double finish = b->load[d] + seconds_on(q->s, q->task[i], d);

            if ((finish > done || (finish == done && d > done_at)) && finish < next) {
                next = finish;
                pick = d;
            }
        }
        if (pick < 0 || next >= b->best)
            return;
        done = next;
        done_at = pick;
        const double was = b->load[pick];

        b->at[i] = pick;
        b->load[pick] = next;
        branch(b, i + 1, fmax(last, next));
        b->load[pick] = was;
    }
}

/* Tries everything where that is little; else, and when it is too much after all, the queues stay as they are. */
static gnt_status try_all(queue_search *q)
{
    gnt_status st = GNT_OK;
    const int32_t devices = q->s->in->num_devices;
    branch_run b = { .q = q };

    if (q->num > BRANCH_DEPTH)
        return GNT_OK;
    GNT_TRY(gnti_alloc_array(&b.load, devices));
    GNT_TRY(gnti_alloc_array(&b.at, q->num));
    GNT_TRY(gnti_alloc_array(&b.best_at, q->num));
    for (int32_t i = 0; i < q->num; i++)
        b.best_at[i] = q->s->queued[q->task[i]];
    for (int32_t d = 0; d < devices; d++) {
        b.load[d] = q->base[d];
        b.best = fmax(b.best, q->load[d]);
        b.fixed = fmax(b.fixed, q->base[d]);
    }
    branch(&b, 0, b.fixed);
    for (int32_t i = 0; i < q->num; i++)
        q->s->queued[q->task[i]] = b.best_at[i];
done:
    gnti_free(b.load);
    gnti_free(b.at);
    gnti_free(b.best_at);
    return st;
}

/* Starts on each idle device the longest of its queue; starts and finishes of the rest follow in that order. */
static void restart(queue_search *q)
{
    gnti_placing *s = q->s;

    for (int32_t i = 0; i < q->num; i++) {
        const int32_t task = q->task[i], d = s->queued[task];

        s->start[task] = q->base[d];
        s->finish[task] = q->base[d] += seconds_on(s, task, d);
        s->free_at[d] = s->finish[task];
        if (s->start[task] == 0.0 && s->owner[d] < 0)
            gnti_placing_give(s, task, d);
    }
}

/* The line as it was, out of the heap's back; false: a gang is in it, whose reservation stays as it is. */
static bool take_line(queue_search *q, int32_t num)
{
    const gnti_placing *s = q->s;

    q->num = 0;
    for (int32_t i = num - 1; i >= 0; i--) {
        const int32_t task = s->order[i];

        if (s->need[task] != 1)
            return false;
        if (s->width[task] > 0 || s->queued[task] >= 0)
            q->task[q->num++] = task;
    }
    return q->num > 1;
}

/* Moves and swaps in the line that the list has put on devices. */
gnt_status gnti_placing_search(gnti_placing *s, int32_t num)
{
    gnt_status st = GNT_OK;
    queue_search q = { .s = s };

    GNT_TRY(gnti_alloc_array(&q.task, num));
    GNT_TRY(gnti_alloc_array(&q.base, s->in->num_devices));
    GNT_TRY(gnti_alloc_array(&q.load, s->in->num_devices));
    if (take_line(&q, num)) {
        for (int32_t d = 0; d < s->in->num_devices; d++)
            if (s->owner[d] >= 0)
                s->queued[s->owner[d]] = d; /* for those that run it means nothing */
        for (int32_t i = 0; i < q.num; i++) {
            const int32_t home = s->queued[q.task[i]];

            gnti_placing_drop(s, q.task[i]);
            s->queued[q.task[i]] = home;
        }
        for (int32_t d = 0; d < s->in->num_devices; d++) {
            q.base[d] = s->owner[d] >= 0 ? s->finish[s->owner[d]] : 0.0;
            q.load[d] = s->free_at[d];
        }
        for (int32_t round = 0; round < SEARCH_ROUNDS && improve(&q); round++)
            ;
        GNT_TRY(try_all(&q));
        restart(&q);
    }
done:
    gnti_free(q.task);
    gnti_free(q.base);
    gnti_free(q.load);
    return st;
}
