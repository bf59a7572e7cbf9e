/* SPDX-License-Identifier: Apache-2.0 */
/* List placement: tasks in an order, each where it ends first.
 *
 * Devices of a class are a heap by the time when they are free, so a task looks at the top of each class:
 * O(T (classes + log D)). A gang that has to wait reserves the devices that are free first; an idle one
 * among them has a hole until then, which later tasks use if they end in time (conservative backfill), so
 * that the widest does not starve and nobody delays it.
 */
#include "ensemble/place_state.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

typedef struct list_run {
    gnti_placing *s;
    int32_t *holes; /* (num_present) idle devices that a gang has reserved */
    int32_t num_holes, num_idle;
    int32_t *count; /* (num_classes) of a mixed gang */
} list_run;

int32_t gnti_placing_line(gnti_placing *s)
{
    int32_t num = 0;

    for (int32_t t = 0; t < s->in->num_tasks; t++)
        if (s->width[t] == 0 && s->need[t] > 0)
            s->order[num++] = t;
    return num;
}

static int32_t *class_heap(gnti_placing *s, int32_t cls)
{
    return s->heap + s->classes[cls].first;
}

static void start_devices(list_run *r, bool whole)
{
    gnti_placing *s = r->s;

    r->num_idle = 0;
    for (int32_t t = 0; t < s->in->num_tasks; t++)
        if (s->width[t] > 0)
            s->finish[t] = gnti_placing_left(s, t);
    for (int32_t d = 0; d < s->in->num_devices; d++) {
        s->free_at[d] = s->owner[d] >= 0 ? s->finish[s->owner[d]] : 0.0;
        r->num_idle += s->class_of[d] >= 0 && s->owner[d] < 0;
    }
    if (r->num_idle == 0 && !whole)
        return;
    memcpy(s->heap, s->by_class, (size_t)s->num_present * sizeof *s->heap);
    for (int32_t c = 0; c < s->num_classes; c++)
        gnti_place_heapify(class_heap(s, c), s->classes[c].num, s->free_at);
}

/* A device's time has gone up: its place in the heap. */
static void resift(gnti_placing *s, int32_t device)
{
    const int32_t cls = s->class_of[device];
    int32_t *const heap = class_heap(s, cls);
    int32_t at = 0;

    while (heap[at] != device)
        at++;
    gnti_place_sift_down(heap, s->classes[cls].num, s->free_at, at);
}

/* Where a task of one device ends first; its own device needs no move. -1: nowhere. */
static int32_t best_device(gnti_placing *s, int32_t task, double *out_finish)
{
    const gnti_place_task *t = &s->in->tasks[task];
    int32_t best = -1;

    *out_finish = INFINITY;
    if (t->num_held == 1 && s->class_of[t->held[0]] >= 0) {
        const double speed = gnti_placing_speed(s, task, s->class_of[t->held[0]]);

        if (speed > 0.0 && gnti_placing_holds(s, task, s->class_of[t->held[0]], 1.0)) {
            best = t->held[0];
            *out_finish = s->free_at[best] + gnti_epochs_left(t) / speed;
        }
    }
    for (int32_t c = 0; c < s->num_classes; c++) {
        const double speed = gnti_placing_speed(s, task, c);
        const int32_t top = class_heap(s, c)[0];
        const double finish = speed > 0.0 ? s->free_at[top] + gnti_placing_moved(s, task, speed) : INFINITY;

        if (finish < *out_finish && gnti_placing_holds(s, task, c, 1.0)) {
            best = top;
            *out_finish = finish;
        }
    }
    return best;
}

/* A hole that a task of one device fills in time, and ends in before `finish`. */
static int32_t find_hole(const list_run *r, int32_t task, double finish)
{
    const gnti_placing *s = r->s;
    int32_t best = -1;

    for (int32_t i = 0; i < r->num_holes; i++) {
        const int32_t d = r->holes[i];
        const double speed = gnti_placing_speed(s, task, s->class_of[d]);
        const double seconds = speed > 0.0 ? gnti_placing_moved(s, task, speed) : INFINITY;

        if (seconds <= s->hole[d] && seconds < finish && gnti_placing_holds(s, task, s->class_of[d], 1.0)) {
            best = i;
            finish = seconds;
        }
    }
    return best;
}

static void list_single(list_run *r, int32_t task)
{
    gnti_placing *s = r->s;
    double finish;
    const int32_t d = best_device(s, task, &finish);
    const int32_t hole = r->num_holes > 0 ? find_hole(r, task, finish) : -1;

    if (hole >= 0) {
        const int32_t device = r->holes[hole];

        r->holes[hole] = r->holes[--r->num_holes];
        s->hole[device] = 0.0;
        gnti_placing_give(s, task, device);
        s->finish[task] = gnti_placing_left(s, task);
        return;
    }
    s->finish[task] = finish;
    if (d < 0)
        return;
    if (s->free_at[d] == 0.0 && s->owner[d] < 0) {
        gnti_placing_give(s, task, d);
        r->num_idle--;
    } else {
        s->queued[task] = d;
        s->start[task] = s->free_at[d];
    }
    s->free_at[d] = finish;
    resift(s, d);
}

/* Takes count devices of each class that are free first out of the heaps (they lie behind them); answers
 * when all are free. */
static double take_first(gnti_placing *s, const int32_t *count)
{
    double start = 0.0;

    for (int32_t c = 0; c < s->num_classes; c++)
        for (int32_t i = 0; i < count[c]; i++)
            start =
                fmax(start, s->free_at[gnti_place_pop(class_heap(s, c), s->classes[c].num - i, s->free_at)]);
    return start;
}

static void put_back(gnti_placing *s, const int32_t *count)
{
    for (int32_t c = 0; c < s->num_classes; c++)
        for (int32_t i = s->classes[c].num - count[c]; i < s->classes[c].num; i++)
            gnti_place_sift_up(class_heap(s, c), s->free_at, i);
}

static double gang_seconds(const gnti_placing *s, int32_t task, const int32_t *count)
{
    const gnti_place_task *t = &s->in->tasks[task];
    double sum = 0.0, fastest = 0.0;
    int32_t k = 0;

    for (int32_t c = 0; c < s->num_classes; c++)
        if (count[c] > 0) {
            sum += count[c] * gnti_placing_speed(s, task, c);
            fastest = fmax(fastest, gnti_placing_speed(s, task, c));
            k += count[c];
        }
    return gnti_placing_moved(s, task, gnti_gang_speed(t, sum, fastest, k));
}

/* The class, or the mix of classes (-1), on whose devices a gang of the fewest ends first; into count. */
static void choose_gang(list_run *r, int32_t task)
{
    gnti_placing *s = r->s;
    double best = INFINITY;
    int32_t pick = -1, fewest = 0;

    for (int32_t c = 0; c < s->num_classes; c++) {
        const int32_t k = gnti_placing_fewest(s, task, c);
        double finish;

        if (k == 0)
            continue;
        memset(r->count, 0, (size_t)s->num_classes * sizeof *r->count);
        r->count[c] = k;
        finish = take_first(s, r->count) + gang_seconds(s, task, r->count);
        put_back(s, r->count);
        if (finish < best) {
            best = finish;
            pick = c;
            fewest = k;
        }
    }
    if (pick < 0) {
        gnti_placing_mixed(s, task, r->count);
        return;
    }
    memset(r->count, 0, (size_t)s->num_classes * sizeof *r->count);
    r->count[pick] = fewest;
}

static void list_gang(list_run *r, int32_t task)
{
    gnti_placing *s = r->s;
    double start, finish;

    choose_gang(r, task);
    start = take_first(s, r->count);
    finish = start + gang_seconds(s, task, r->count);
    for (int32_t c = 0; c < s->num_classes; c++)
        for (int32_t i = s->classes[c].num - r->count[c]; i < s->classes[c].num; i++) {
            const int32_t d = class_heap(s, c)[i];

            if (s->free_at[d] == 0.0 && s->owner[d] < 0) {
                r->num_idle--;
                if (start > 0.0) {
                    s->hole[d] = start;
                    r->holes[r->num_holes++] = d;
                }
            }
            if (start == 0.0)
                gnti_placing_give(s, task, d);
            else
                s->queued[task] = d;
            s->free_at[d] = finish;
        }
    s->start[task] = start;
    s->finish[task] = finish;
    put_back(s, r->count);
}

gnt_status gnti_placing_list(gnti_placing *s, int32_t num, bool whole)
{
    gnt_status st = GNT_OK;
    list_run r = { .s = s };

    if (s->num_present == 0)
        return GNT_OK;
    GNT_TRY(gnti_alloc_array(&r.holes, s->num_present));
    GNT_TRY(gnti_alloc_array(&r.count, s->num_classes));
    start_devices(&r, whole);
    if (whole || r.num_idle > 0)
        gnti_place_heapify(s->order, num, s->key);
    while (num > 0 && (whole || r.num_idle > 0 || r.num_holes > 0)) {
        const int32_t task = gnti_place_pop(s->order, num--, s->key);

        if (s->need[task] > 1)
            list_gang(&r, task);
        else
            list_single(&r, task);
    }
done:
    gnti_free(r.holes);
    gnti_free(r.count);
    return st;
}
