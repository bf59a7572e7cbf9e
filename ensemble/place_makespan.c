/* SPDX-License-Identifier: Apache-2.0 */
/* The last task ends as early as can be.
 *
 * Longest first to the device where it ends first (LPT: at most 4/3 - 1/(3D) of the optimum on equal devices, Graham, 1969), then
 * moves and swaps off the device that ends last where tasks are few. What LPT leaves idle is used: a device without a queue borrows
 * a task that waits for a faster one, if it gets further there than its move costs, and the last to end grows over idle devices or
 * moves to a faster one. Running tasks are pinned; when that ends later than the lower bound, those that are to blame are unpinned and the better
 * plan is taken if it saves the share `gain`.
 */
#include "ensemble/place_state.h"

#include "base/alloc.h"

#include <math.h>

#define SEARCH_CELLS  4096 /* queued tasks x devices that are searched */
#define SEARCH_ROUNDS 64

typedef struct queue_search {
    gnti_placing *s;
    int32_t *task; /* (num) the line, longest first; each wants one device, s->queued */
    int32_t num;
    double *base; /* (num_devices) when those that run already are done */
    double *load; /* (num_devices) when all of its queue is */
} queue_search;

static double seconds_on(const gnti_placing *s, int32_t task, int32_t device)
{
    const gnti_place_task *t = &s->in->tasks[task];
    const int32_t cls = s->class_of[device];
    const double speed = cls >= 0 && s->hole[device] == 0.0 ? gnti_placing_speed(s, task, cls) : 0.0;
    const bool moves = t->num_held > 0 && !(t->num_held == 1 && t->held[0] == device);

    if (speed == 0.0 || !gnti_placing_holds(s, task, cls, 1.0))
        return INFINITY;
    return (t->epochs_left + (moves ? t->switch_epochs : 0.0)) / speed;
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
static gnt_status search(gnti_placing *s, int32_t num)
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
        restart(&q);
    }
done:
    gnti_free(q.task);
    gnti_free(q.base);
    gnti_free(q.load);
    return st;
}

/* A task of those that wait longest whose wait is worth a try on the idle device. -1: none. */
static int32_t borrowable(const gnti_placing *s, int32_t device, const int32_t *item, int32_t num)
{
    int32_t at = num > 0 ? 0 : -1;

    for (int32_t i = 0; i < num && i < SEARCH_ROUNDS; i++) /* the one that has it already */
        if (s->in->tasks[item[i]].num_held == 1 && s->in->tasks[item[i]].held[0] == device)
            at = i;
    if (at >= 0) {
        const gnti_place_task *t = &s->in->tasks[item[at]];
        const double seconds = seconds_on(s, item[at], device) / fmax(t->epochs_left, 1e-300);

        if (floor(s->start[item[at]] / seconds) <= t->switch_epochs)
            return -1;
    }
    return at;
}

/* Idle devices run tasks that wait for others, those first whose queue ends last. */
static gnt_status borrow(gnti_placing *s)
{
    gnt_status st = GNT_OK;
    int32_t *item = NULL, num = 0, idle = gnti_placing_num_idle(s);

    if (idle == 0)
        return GNT_OK;
    GNT_TRY(gnti_alloc_array(&item, s->in->num_tasks));
    for (int32_t t = 0; t < s->in->num_tasks; t++)
        if (s->width[t] == 0 && s->queued[t] >= 0 && s->need[t] == 1) {
            s->key[t] = -s->free_at[s->queued[t]];
            item[num++] = t;
        }
    gnti_place_heapify(item, num, s->key);
    for (int32_t d = 0; num > 0 && idle > 0 && d < s->in->num_devices; d++) {
        if (s->class_of[d] < 0 || s->owner[d] >= 0)
            continue;
        const int32_t at = borrowable(s, d, item, num);

        idle--;
        if (at < 0)
            continue;
        const int32_t task = item[at];
        const double finish = s->finish[task];

        item[at] = item[--num];
        gnti_place_heapify(item, num, s->key);
        gnti_placing_give(s, task, d);
        s->finish[task] = fmin(finish, gnti_placing_left(s, task));
    }
done:
    gnti_free(item);
    return st;
}

/* One plan; tasks that leave are not pinned. */
static gnt_status plan_once(gnti_placing *s, const bool *leaves)
{
    gnt_status st = GNT_OK;
    int32_t num;
    bool whole;

    gnti_placing_reset(s);
    gnti_placing_keep_all(s, leaves);
    for (int32_t t = 0; t < s->in->num_tasks; t++)
        gnti_placing_rank(s, t, -s->best[t] * s->need[t]);
    num = gnti_placing_line(s);
    whole = num <= GNTI_PLACE_FEW;
    GNT_TRY(gnti_placing_list(s, num, whole));
    if (whole && (int64_t)num * s->num_present <= SEARCH_CELLS)
        GNT_TRY(search(s, num));
    if (whole)
        GNT_TRY(borrow(s));
    GNT_TRY(gnti_placing_grow(s, true));
done:
    return st;
}

/* Running tasks that end later than all work shared out would, and gangs wider than they need while others wait. */
static int32_t blame(const gnti_placing *s, double bound, bool *leaves)
{
    bool waiting = false;
    int32_t num = 0;

    for (int32_t t = 0; t < s->in->num_tasks; t++)
        waiting |= s->width[t] == 0 && s->need[t] > 0;
    for (int32_t t = 0; t < s->in->num_tasks; t++) {
        leaves[t] = s->width[t] > 0 && s->in->tasks[t].num_held > 0 &&
                    (s->finish[t] > bound || (waiting && s->width[t] > s->need[t]));
        num += leaves[t];
    }
    return num;
}

gnt_status gnti_place_makespan(gnti_placing *s)
{
    gnt_status st = GNT_OK;
    bool *leaves = NULL;
    double bound, finish;

    GNT_TRY(gnti_alloc_array(&leaves, s->in->num_tasks));
    GNT_TRY(plan_once(s, NULL));
    finish = gnti_placing_finish(s);
    bound = gnti_place_lower_bound(s->in) * (1.0 + s->gain);
    if (isfinite(finish) && finish > bound && blame(s, bound, leaves) > 0) {
        GNT_TRY(plan_once(s, leaves));
        if (gnti_placing_finish(s) > finish * (1.0 - s->gain))
            GNT_TRY(plan_once(s, NULL));
    }
done:
    gnti_free(leaves);
    return st;
}
