/* SPDX-License-Identifier: Apache-2.0 */
/* Idle devices for running tasks: the first by key joins one more, or moves to a faster one, as long as that pays.
 *
 * A step pays when the gang gets at least a tenth of the device's own speed out of it. A task that runs already loses
 * switch_epochs by any change, so it takes as many devices as make its end earlier by the share `gain`, or none.
 */
#include "ensemble/place_state.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

#define LEAST_USE 0.1

typedef struct grow_run {
    gnti_placing *s;
    int32_t **idle; /* (num_classes) pieces of s->heap */
    int32_t *num;   /* (num_classes) */
    int32_t *want;  /* (num_classes) devices that a trial adds */
    int32_t num_idle;
} grow_run;

typedef struct grow_state { /* of the gang on trial */
    double sum, fastest;
    int32_t width;
} grow_state;

static bool class_holds(const gnti_placing *s, int32_t task, int32_t cls, const grow_state *g, double speed)
{
    return gnti_placing_holds(s, task, cls, speed / (g->sum + speed));
}

/* The class of the idle device that speeds the gang up most, and pays. -1: none. */
static int32_t best_step(const grow_run *r, int32_t task, const grow_state *g)
{
    const gnti_placing *s = r->s;
    const gnti_place_task *t = &s->in->tasks[task];
    const double now = gnti_gang_speed(t, g->sum, g->fastest, g->width);
    double most = 0.0;
    int32_t pick = -1;

    if (g->width >= s->most[task])
        return -1;
    for (int32_t c = 0; c < s->num_classes; c++) {
        const double speed = r->num[c] > r->want[c] ? gnti_placing_speed(s, task, c) : 0.0;
        double gains;

        if (speed == 0.0)
            continue;
        gains = gnti_gang_speed(t, g->sum + speed, fmax(g->fastest, speed), g->width + 1) - now;
        if (gains >= LEAST_USE * speed && gains > most && class_holds(s, task, c, g, speed)) {
            most = gains;
            pick = c;
        }
    }
    return pick;
}

/* The class of an idle device that is faster than all that it has. -1: none. */
static int32_t best_move(const grow_run *r, int32_t task)
{
    const gnti_placing *s = r->s;
    double most = gnti_gang_speed(&s->in->tasks[task], s->sum[task], s->fastest[task], s->width[task]);
    int32_t pick = -1;

    for (int32_t c = 0; c < s->num_classes; c++) {
        const double speed = r->num[c] > 0 ? gnti_placing_speed(s, task, c) : 0.0;

        if (speed > most && gnti_placing_holds(s, task, c, 1.0)) {
            most = speed;
            pick = c;
        }
    }
    return pick;
}

/* One that it holds, else the lowest. */
static int32_t take_idle(grow_run *r, int32_t task, int32_t cls)
{
    const gnti_placing *s = r->s;
    const gnti_place_task *t = &s->in->tasks[task];

    for (int32_t h = 0; h < t->num_held; h++)
        for (int32_t i = 0; s->class_of[t->held[h]] == cls && s->owner[t->held[h]] < 0 && i < r->num[cls];
             i++)
            if (r->idle[cls][i] == t->held[h]) {
                memmove(r->idle[cls] + 1, r->idle[cls], (size_t)i * sizeof(int32_t));
                r->idle[cls][0] = t->held[h];
                h = t->num_held - 1;
                break;
            }
    r->num[cls]--;
    r->num_idle--;
    return *r->idle[cls]++;
}

static void clear_want(grow_run *r)
{
    for (int32_t c = 0; c < r->s->num_classes; c++)
        r->want[c] = 0;
}

/* Adds devices on trial until it ends before `bound`; answers the seconds that are left then, INFINITY: it
 * never does. */
static double try_steps(grow_run *r, int32_t task, double bound)
{
    const gnti_placing *s = r->s;
    const gnti_place_task *t = &s->in->tasks[task];
    grow_state g = { s->sum[task], s->fastest[task], s->width[task] };

    clear_want(r);
    for (;;) {
        const int32_t cls = best_step(r, task, &g);
        double speed, left;

        if (cls < 0)
            return INFINITY;
        speed = gnti_placing_speed(s, task, cls);
        g = (grow_state){ g.sum + speed, fmax(g.fastest, speed), g.width + 1 };
        r->want[cls]++;
        left = gnti_placing_moved(s, task, gnti_gang_speed(t, g.sum, g.fastest, g.width));
        if (left < bound)
            return left;
    }
}

static void move_to(grow_run *r, int32_t task, int32_t cls)
{
    gnti_placing *s = r->s;
    const int32_t device = take_idle(r, task, cls);

    for (int32_t d = 0; s->width[task] > 0 && d < s->in->num_devices; d++)
        if (s->owner[d] == task) {
            const int32_t freed = s->class_of[d];

            s->owner[d] = -1;
            s->width[task]--;
            *--r->idle[freed] = d; /* a device of the class lay there before it was taken */
            r->num[freed]++;
            r->num_idle++;
        }
    s->sum[task] = s->fastest[task] = 0.0;
    gnti_placing_give(s, task, device);
}

/* One change for the better; false: there is none. */
static bool grow_once(grow_run *r, int32_t task)
{
    gnti_placing *s = r->s;
    const gnti_place_task *t = &s->in->tasks[task];
    const bool stays = t->num_held > 0 && gnti_placing_stays(s, task);
    const double now = gnti_placing_left(s, task), bound = stays ? now * (1.0 - s->gain) : now;
    const int32_t move = best_move(r, task);
    const double moved = move < 0 ? INFINITY : gnti_placing_moved(s, task, gnti_placing_speed(s, task, move));
    const double grown = try_steps(r, task, bound);

    if (moved >= bound && grown >= bound)
        return false;
    if (moved <= grown) {
        move_to(r, task, move);
        return true;
    }
    for (int32_t c = 0; c < s->num_classes; c++)
        while (r->want[c]-- > 0)
            gnti_placing_give(s, task, take_idle(r, task, c));
    return true;
}

static void collect_idle(grow_run *r)
{
    gnti_placing *s = r->s;

    for (int32_t c = 0; c < s->num_classes; c++) {
        const gnti_place_class *cls = &s->classes[c];
        int32_t at = cls->first + cls->num;

        r->num[c] = 0;
        for (int32_t i = cls->num - 1; i >= 0; i--) {
            const int32_t d = s->by_class[cls->first + i];

            if (s->owner[d] < 0 && s->hole[d] == 0.0) {
                s->heap[--at] = d;
                r->num[c]++;
            }
        }
        r->idle[c] = s->heap + at; /* room in front for those that are freed */
        r->num_idle += r->num[c];
    }
}

static gnt_status grow_all(grow_run *r, bool by_finish)
{
    gnt_status st = GNT_OK;
    gnti_placing *s = r->s;
    int32_t *item = NULL, num = 0;

    GNT_TRY(gnti_alloc_array(&item, s->in->num_tasks));
    for (int32_t t = 0; t < s->in->num_tasks; t++)
        if (s->width[t] > 0) {
            if (by_finish)
                s->key[t] = -gnti_placing_left(s, t);
            item[num++] = t;
        }
    gnti_place_heapify(item, num, s->key);
    while (r->num_idle > 0 && num > 0) {
        const int32_t task = item[0];

        clear_want(r);
        if (!grow_once(r, task)) {
            gnti_place_pop(item, num--, s->key);
            continue;
        }
        s->finish[task] = gnti_placing_left(s, task);
        if (by_finish)
            s->key[task] = -s->finish[task];
        gnti_place_sift_down(item, num, s->key, 0);
    }
done:
    gnti_free(item);
    return st;
}

gnt_status gnti_placing_grow(gnti_placing *s, bool by_finish)
{
    gnt_status st = GNT_OK;
    grow_run r = { .s = s };

    if (s->num_present == 0)
        return GNT_OK;
    GNT_TRY(gnti_alloc_array(&r.idle, s->num_classes));
    GNT_TRY(gnti_alloc_array(&r.num, s->num_classes));
    GNT_TRY(gnti_calloc_array(&r.want, s->num_classes));
    collect_idle(&r);
    if (r.num_idle > 0)
        GNT_TRY(grow_all(&r, by_finish));
done:
    gnti_free(r.idle);
    gnti_free(r.num);
    gnti_free(r.want);
    return st;
}
