/* SPDX-License-Identifier: Apache-2.0 */
/* Shortest remaining first, for the mean completion time.
 *
 * Tasks of one device: the shortest on the fastest devices (SRPT). Tasks that speed up over several as s(k) = k^p: of m tasks the i-th
 * by remaining work, longest first, gets (i/m)^(1/(1-p)) - ((i-1)/m)^(1/(1-p)) of all devices (heSRPT: Berg, Vesilo, Harchol-Balter,
 * 2020); p is fitted to each task's curve at the most devices that it may have. Running tasks count as shorter by the share `gain` and
 * keep what they hold while that is within a quarter of what they should have, so that close ones do not push each other out.
 */
#include "ensemble/place_state.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

#define MOST_POWER 0.95
#define DEAD_BAND  0.25

/* The exponent of its speed-up at the most devices that it may have, 0: it has one at most. */
static double power_of(const gnti_placing *s, int32_t task)
{
    const gnti_place_task *t = &s->in->tasks[task];
    const int32_t k = t->max_devices < s->num_present ? t->max_devices : s->num_present;

    if (k < 2)
        return 0.0;
    return fmin(MOST_POWER, fmax(0.0, log(gnti_gang_speed(t, k, 1.0, k)) / log(k)));
}

static double remaining(const gnti_placing *s, int32_t task)
{
    const gnti_place_task *t = &s->in->tasks[task];
    double left = s->best[task] * s->need[task];

    if (t->num_held > 0)
        left *= 1.0 - s->gain;
    return left;
}

/* 1 / (1 - p) for the mean exponent of the line. */
static double share_exponent(const gnti_placing *s, int32_t num)
{
    double power = 0.0, last = 0.0;
    const gnti_place_task *like = NULL;

    for (int32_t i = 0; i < num; i++) {
        const gnti_place_task *t = &s->in->tasks[s->order[i]];

        if (like == NULL || t->serial != like->serial || t->overhead != like->overhead ||
            t->max_devices != like->max_devices)
            last = power_of(s, s->order[i]);
        like = t;
        power += last;
    }
    return num > 0 ? 1.0 / (1.0 - power / num) : 1.0;
}

/* Devices that the n-th longest of num should have. */
static double share_of(const gnti_placing *s, int32_t task, int32_t n, int32_t num, double exponent)
{
    const double share = pow((double)n / num, exponent) - pow((double)(n - 1) / num, exponent);
    const double most = fmin(s->in->tasks[task].max_devices, s->num_present);

    return fmax(s->need[task], fmin(most, floor(share * s->num_present + 0.5)));
}

typedef struct short_run {
    gnti_placing *s;
    int32_t *left; /* (num_classes) devices that nobody has chosen yet */
    int32_t idle;  /* their sum */
} short_run;

/* Of a class and a task: when it ends on k devices from `start` on. */
typedef struct short_offer {
    int32_t cls, k;
    double start, finish;
} short_offer;

/* What it holds is there, and near enough to what it should have. */
static bool may_stay(const short_run *r, int32_t task, double want)
{
    const gnti_placing *s = r->s;
    const gnti_place_task *t = &s->in->tasks[task];
    bool may = t->num_held > 0 && fabs(t->num_held - want) <= fmax(want > 1.0, DEAD_BAND * want);
    int32_t taken = 0;

    for (; may && taken < t->num_held; taken++) {
        const int32_t cls = s->class_of[t->held[taken]];

        may = cls >= 0 && r->left[cls]-- > 0;
        if (cls < 0)
            break;
    }
    while (taken-- > 0) /* as they were */
        r->left[s->class_of[t->held[taken]]]++;
    return may;
}

static short_offer stay(const short_run *r, int32_t task)
{
    const gnti_placing *s = r->s;
    const gnti_place_task *t = &s->in->tasks[task];
    const double speed = gnti_place_rate(s->in, task, t->held, t->num_held);

    return (short_offer){ -1, t->num_held, 0.0,
                          speed > 0.0 ? t->epochs_left / speed * (1.0 - s->gain) : INFINITY };
}

/* Seconds on k devices of the class; it stays where it is when it has one there and gets one. */
static double gang_left(const gnti_placing *s, int32_t task, int32_t cls, int32_t k)
{
    const gnti_place_task *t = &s->in->tasks[task];
    const double one = gnti_placing_speed(s, task, cls), speed = gnti_gang_speed(t, one * k, one, k);
    const bool stays = k == 1 && t->num_held == 1 && s->class_of[t->held[0]] == cls;

    return stays || t->num_held == 0 ? t->epochs_left / speed : gnti_placing_moved(s, task, speed);
}

/* As many devices of the class as it wants and shorter tasks have left; if there are none, the first that they are done with. */
static short_offer offer(const short_run *r, int32_t task, double want, int32_t cls)
{
    const gnti_placing *s = r->s;
    const int32_t fewest = gnti_placing_fewest(s, task, cls), most = (int32_t)want;
    short_offer o = { cls, r->left[cls] < most ? r->left[cls] : most, 0.0, INFINITY };

    if (fewest == 0)
        return o;
    if (o.k >= fewest) {
        o.finish = gang_left(s, task, cls, o.k);
    } else if (fewest == 1) {
        o.k = 1;
        o.start = s->free_at[s->heap[s->classes[cls].first]];
        o.finish = o.start + gang_left(s, task, cls, 1);
    }
    return o;
}

static void accept(short_run *r, int32_t task, const short_offer *o)
{
    gnti_placing *s = r->s;
    int32_t *const heap = s->heap + s->classes[o->cls].first;

    if (o->start > 0.0) {
        s->queued[task] = heap[0];
        s->start[task] = o->start;
        s->finish[task] = o->finish;
    }
    for (int32_t i = 0; i < o->k; i++) {
        s->free_at[heap[0]] = o->finish;
        gnti_place_sift_down(heap, s->classes[o->cls].num, s->free_at, 0);
    }
    r->left[o->cls] -= o->start > 0.0 ? 0 : o->k;
    r->idle -= o->start > 0.0 ? 0 : o->k;
}

/* Where it ends first, behind shorter ones or not. */
static gnti_class_choice decide(short_run *r, int32_t task, double want)
{
    gnti_placing *s = r->s;
    const gnti_place_task *t = &s->in->tasks[task];
    short_offer best = may_stay(r, task, want) ? stay(r, task) : (short_offer){ .finish = INFINITY };

    for (int32_t c = 0; c < s->num_classes; c++) {
        const short_offer o = offer(r, task, want, c);

        if (o.finish < best.finish)
            best = o;
    }
    if (!isfinite(best.finish))
        return (gnti_class_choice){ 0, 0 };
    if (best.cls >= 0) {
        accept(r, task, &best);
        return (gnti_class_choice){ best.cls, best.start > 0.0 ? 0 : best.k };
    }
    for (int32_t i = 0; i < t->num_held; i++)
        accept(r, task, &(short_offer){ s->class_of[t->held[i]], 1, 0.0, best.finish });
    return (gnti_class_choice){ -1, t->num_held };
}

static gnt_status begin(short_run *r)
{
    gnt_status st = GNT_OK;
    gnti_placing *s = r->s;

    GNT_TRY(gnti_alloc_array(&r->left, s->num_classes));
    for (int32_t c = 0; c < s->num_classes; c++)
        r->left[c] = s->classes[c].num;
    r->idle = s->num_present;
    if (s->num_present > 0)
        memcpy(s->heap, s->by_class, (size_t)s->num_present * sizeof *s->heap);
    for (int32_t t = 0; t < s->in->num_tasks; t++)
        gnti_placing_rank(s, t, remaining(s, t));
done:
    return st;
}

gnt_status gnti_place_shortest(gnti_placing *s)
{
    gnt_status st = GNT_OK;
    short_run r = { .s = s };
    gnti_class_choice *choice = NULL;
    int32_t num, from;
    double exponent;

    GNT_TRY(gnti_alloc_array(&choice, s->in->num_tasks));
    GNT_TRY(begin(&r));
    num = gnti_placing_line(s);
    gnti_place_heapify(s->order, num, s->key);
    exponent = share_exponent(s, num);
    for (from = num; from > 0 && r.idle > 0; from--) {
        const int32_t task = gnti_place_pop(s->order, from, s->key);

        choice[from - 1] = decide(&r, task, share_of(s, task, from, num, exponent));
    }
    GNT_TRY(gnti_placing_settle(s, from, num, choice));
    GNT_TRY(gnti_placing_list(s, gnti_placing_line(s), s->in->num_tasks <= GNTI_PLACE_FEW));
    GNT_TRY(gnti_placing_borrow(s));
    GNT_TRY(gnti_placing_grow(s, false));
done:
    gnti_free(choice);
    gnti_free(r.left);
    return st;
}
