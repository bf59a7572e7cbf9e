/* SPDX-License-Identifier: Apache-2.0 */
/* Few tasks on few devices whose moves cost much: each has its devices, one or a gang, from its start to its end.
 *
 * All lists are tried in which starts do not go back: the next task, on a set of devices, as soon as that is
 * free. A branch is cut when it cannot end before the best: by its last end, and by its work at prices of
 * devices (place_bound.c) over all of them. After a number of nodes the best so far is taken. Running tasks
 * are the base.
 */
#include "ensemble/place_state.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

enum { MOST_TASKS = 8, MOST_DEVICES = 4, NUM_SETS = 1 << MOST_DEVICES, MOST_NODES = 8192 };

#define DEAR_MOVE 0.1 /* a move that costs this share of what is left */

typedef struct rigid_list {
    int32_t task[MOST_TASKS];
    uint32_t set[MOST_TASKS];
    double start[MOST_TASKS], end[MOST_TASKS];
} rigid_list;

typedef struct rigid_run {
    const gnti_placing *s;
    int32_t num_tasks, num_devices;
    int32_t task[MOST_TASKS], device[MOST_DEVICES];
    double seconds[MOST_TASKS][NUM_SETS], least[MOST_TASKS]; /* least: price of its cheapest set */
    double price[MOST_DEVICES], worth;
    rigid_list now, best;
    double finish; /* of the best */
    bool found;
    int32_t nodes;
} rigid_run;

static double set_seconds(const rigid_run *r, int32_t task, uint32_t set)
{
    const gnti_placing *s = r->s;
    const gnti_place_task *t = &s->in->tasks[task];
    double sum = 0.0, fastest = 0.0;
    int32_t k = 0;

    for (int32_t i = 0; i < r->num_devices; i++) {
        const double speed = gnti_placing_speed(s, task, s->class_of[r->device[i]]);

        if (!(set >> i & 1))
            continue;
        if (speed == 0.0)
            return INFINITY;
        sum += speed;
        fastest = fmax(fastest, speed);
        k++;
    }
    for (int32_t i = 0; i < r->num_devices; i++) {
        const int32_t cls = s->class_of[r->device[i]];

        if ((set >> i & 1) &&
            !gnti_placing_holds(s, task, cls, k > 1 ? gnti_placing_speed(s, task, cls) / sum : 1.0))
            return INFINITY;
    }
    return k <= t->max_devices ? gnti_placing_moved(s, task, gnti_gang_speed(t, sum, fastest, k)) : INFINITY;
}

typedef struct rigid_node {
    uint32_t left; /* tasks that are not in the list yet */
    int32_t depth;
    double free_at[MOST_DEVICES], last_start, last_end;
} rigid_node;

static void search(rigid_run *r, const rigid_node *at);

/* The next of the list is task j on the set. */
static void append(rigid_run *r, const rigid_node *at, int32_t j, uint32_t set)
{
    rigid_node next = { .left = at->left & ~(1u << j), .depth = at->depth + 1, .last_start = at->last_start };
    double end;

    for (int32_t i = 0; i < r->num_devices; i++)
        next.last_start = set >> i & 1 ? fmax(next.last_start, at->free_at[i]) : next.last_start;
    end = next.last_start + r->seconds[j][set];
    if (end >= r->finish)
        return;
    for (int32_t i = 0; i < r->num_devices; i++)
        next.free_at[i] = set >> i & 1 ? end : at->free_at[i];
    next.last_end = fmax(at->last_end, end);
    r->now.task[at->depth] = j;
    r->now.set[at->depth] = set;
    r->now.start[at->depth] = next.last_start;
    r->now.end[at->depth] = end;
    search(r, &next);
}

static void search(rigid_run *r, const rigid_node *at)
{
    double spent = 0.0;

    if (r->nodes++ >= MOST_NODES)
        return;
    for (int32_t i = 0; i < r->num_devices; i++)
        spent += r->price[i] * fmax(at->free_at[i], at->last_start);
    for (int32_t j = 0; j < r->num_tasks; j++)
        spent += at->left >> j & 1 ? r->least[j] : 0.0;
    if (fmax(at->last_end, spent / r->worth) >= r->finish * (1.0 - 1e-9))
        return;
    if (at->left == 0) {
        r->finish = at->last_end;
        r->best = r->now;
        r->found = true;
        return;
    }
    for (int32_t j = 0; j < r->num_tasks; j++)
        for (uint32_t set = 1; (at->left >> j & 1) && set < 1u << r->num_devices; set++)
            if (isfinite(r->seconds[j][set]))
                append(r, at, j, set);
}

static bool is_dear(const gnti_placing *s)
{
    bool gangs = false, dear = false;

    for (int32_t t = 0; t < s->in->num_tasks; t++) {
        const gnti_place_task *task = &s->in->tasks[t];

        gangs |= task->max_devices > 1;
        dear |= task->switch_epochs + 0.5 >= DEAR_MOVE * gnti_epochs_left(task);
    }
    return gangs && dear;
}

static bool collect(rigid_run *r)
{
    const gnti_placing *s = r->s;

    for (int32_t d = 0; d < s->in->num_devices; d++)
        if (s->class_of[d] >= 0)
            r->device[r->num_devices++] = d;
    for (int32_t t = 0; t < s->in->num_tasks; t++) {
        if (s->width[t] > 0 || s->need[t] == 0)
            continue;
        if (r->num_tasks == MOST_TASKS)
            return false;
        r->task[r->num_tasks++] = t;
    }
    return r->num_tasks > 0;
}

/* Longest first, seconds on all sets, prices that are the mean of speeds. */
static void prepare(rigid_run *r)
{
    const gnti_placing *s = r->s;

    for (int32_t i = 1; i < r->num_tasks; i++)
        for (int32_t j = i; j > 0 && s->best[r->task[j]] > s->best[r->task[j - 1]]; j--) {
            const int32_t held = r->task[j];

            r->task[j] = r->task[j - 1];
            r->task[j - 1] = held;
        }
    for (int32_t j = 0; j < r->num_tasks; j++)
        for (uint32_t set = 1; set < 1u << r->num_devices; set++)
            r->seconds[j][set] = set_seconds(r, r->task[j], set);
    for (int32_t i = 0; i < r->num_devices; i++) {
        for (int32_t j = 0; j < r->num_tasks; j++)
            r->price[i] += gnti_placing_speed(s, r->task[j], s->class_of[r->device[i]]) *
                           s->best[r->task[j]] / fmax(gnti_epochs_left(&s->in->tasks[r->task[j]]), 1e-300);
        r->worth += r->price[i];
    }
    for (int32_t j = 0; j < r->num_tasks; j++) {
        r->least[j] = INFINITY;
        for (uint32_t set = 1; set < 1u << r->num_devices; set++) {
            double price = 0.0;

            for (int32_t i = 0; i < r->num_devices; i++)
                price += set >> i & 1 ? r->price[i] : 0.0;
            r->least[j] = fmin(r->least[j], price * r->seconds[j][set]);
        }
    }
}

static void adopt(gnti_placing *s, const rigid_run *r)
{
    for (int32_t n = 0; n < r->num_tasks; n++) {
        const int32_t task = r->task[r->best.task[n]];

        for (int32_t i = 0; i < r->num_devices; i++) {
            if (!(r->best.set[n] >> i & 1))
                continue;
            if (r->best.start[n] == 0.0)
                gnti_placing_give(s, task, r->device[i]);
            else
                s->queued[task] = r->device[i];
        }
        s->start[task] = r->best.start[n];
        s->finish[task] = r->best.end[n];
    }
}

gnt_status gnti_placing_rigid(gnti_placing *s, double finish)
{
    gnt_status st = GNT_OK;
    rigid_run r = { .s = s, .finish = finish * (1.0 - 1e-6) };
    rigid_node root = { 0 };
    void *saved = NULL;

    if (s->num_present > MOST_DEVICES || !is_dear(s))
        return GNT_OK;
    GNT_TRY(gnti_placing_save(s, &saved));
    gnti_placing_reset(s);
    gnti_placing_keep_all(s, NULL);
    if (collect(&r)) {
        prepare(&r);
        for (int32_t i = 0; i < r.num_devices; i++)
            if (s->owner[r.device[i]] >= 0) {
                root.free_at[i] = s->finish[s->owner[r.device[i]]] =
                    gnti_placing_left(s, s->owner[r.device[i]]);
                root.last_end = fmax(root.last_end, root.free_at[i]);
            }
        root.left = (1u << r.num_tasks) - 1u;
        search(&r, &root);
    }
    if (r.found)
        adopt(s, &r);
    else
        gnti_placing_restore(s, saved);
done:
    gnti_free(saved);
    return st;
}
