/* SPDX-License-Identifier: Apache-2.0 */
/* Mean completion time under a power budget (after PowerFlow, 2023).
 *
 * The stated model: a device draws idle_watts, and p = busy_watts - idle_watts more while a task keeps it
 * busy, so a task costs p x seconds there. Power is what tasks compete for, so the one with the fewest
 * joules left goes first (shortest first, in joules), each on the devices that do an epoch for the fewest
 * joules. Then a heap of upgrades, one device more or a faster class, by seconds saved per watt, the best
 * first while devices and watts remain. Running tasks keep what they hold, upgraded only where that saves
 * the share `gain`; when the budget has shrunk, those with most joules left stop first. One task runs
 * whatever the budget says.
 */
#include "ensemble/place_state.h"

#include "base/alloc.h"

#include <math.h>

#define LEAST_USE 0.1 /* of a further device's own speed that a gang has to get out of it */

typedef struct energy_run {
    gnti_placing *s;
    gnti_class_choice *choice; /* (num_tasks) */
    gnti_class_choice *next;   /* (num_tasks) its best upgrade */
    double *key;               /* (num_tasks) minus its seconds saved per watt */
    int32_t *left;             /* (num_classes) devices that nobody has chosen */
    double *watts;             /* (num_classes) p of a device, on average */
    double room;               /* watts that are left */
    double *joules;            /* (num_tasks) that it costs where it is cheapest */
    bool *leaves;              /* (num_tasks) it is pushed out */
} energy_run;

static double use_of(const gnti_placing *s, int32_t task)
{
    return s->in->tasks[task].use > 0.0 ? s->in->tasks[task].use : 1.0;
}

static double speed_of(const energy_run *r, int32_t task, gnti_class_choice c)
{
    const double one = gnti_placing_speed(r->s, task, c.cls);

    return gnti_gang_speed(&r->s->in->tasks[task], one * c.width, one, c.width);
}

static double watts_of(const energy_run *r, int32_t task, gnti_class_choice c)
{
    return r->watts[c.cls] * c.width * use_of(r->s, task);
}

/* The class, with the fewest devices that hold it, that takes the fewest joules for an epoch; of equal
 * ones the fastest. Width 0: none that is left. */
static gnti_class_choice cheapest(const energy_run *r, int32_t task, const int32_t *left, double *out_joules)
{
    gnti_class_choice best = { 0, 0 };
    double least = INFINITY;

    for (int32_t c = 0; c < r->s->num_classes; c++) {
        const gnti_class_choice at = { c, gnti_placing_fewest(r->s, task, c) };
        double joules;

        if (at.width == 0 || (left != NULL && left[c] < at.width))
            continue;
        joules = watts_of(r, task, at) / speed_of(r, task, at);
        if (joules < least || (joules == least && speed_of(r, task, at) > speed_of(r, task, best))) {
            least = joules;
            best = at;
        }
    }
    *out_joules = least * gnti_epochs_left(&r->s->in->tasks[task]);
    return best;
}

static double seconds_left(const energy_run *r, int32_t task, gnti_class_choice c)
{
    const gnti_placing *s = r->s;
    const gnti_place_task *t = &s->in->tasks[task];
    const bool stays = t->num_held == c.width && c.width > 0 && s->class_of[t->held[0]] == c.cls;

    return stays || t->num_held == 0 ? gnti_epochs_left(t) / speed_of(r, task, c)
                                     : gnti_placing_moved(s, task, speed_of(r, task, c));
}

/* Seconds saved per watt by going from what it has to `to`; 0: it does not pay. */
static double worth(const energy_run *r, int32_t task, gnti_class_choice to)
{
    const gnti_class_choice from = r->choice[task];
    const double saved = seconds_left(r, task, from) - seconds_left(r, task, to);
    const double more = watts_of(r, task, to) - watts_of(r, task, from);
    const bool runs = r->s->in->tasks[task].num_held > 0;

    if (saved <= (runs ? r->s->gain : 1e-9) * seconds_left(r, task, from))
        return 0.0;
    if (to.cls == from.cls &&
        speed_of(r, task, to) - speed_of(r, task, from) < LEAST_USE * gnti_placing_speed(r->s, task, to.cls))
        return 0.0;
    return more > 0.0 ? saved / more : INFINITY;
}

/* Its best upgrade that devices and watts allow, into next and key; false: there is none. */
static bool find_upgrade(energy_run *r, int32_t task)
{
    const gnti_placing *s = r->s;
    const gnti_class_choice from = r->choice[task];
    double most = 0.0;

    for (int32_t c = 0; c < s->num_classes; c++) {
        const gnti_class_choice to = { c, c == from.cls ? from.width + 1 : from.width };
        const int32_t needs = c == from.cls ? 1 : to.width, fewest = gnti_placing_fewest(s, task, c);
        double value;

        if (fewest == 0 || to.width < fewest || to.width > s->in->tasks[task].max_devices ||
            r->left[c] < needs || watts_of(r, task, to) - watts_of(r, task, from) > r->room)
            continue;
        value = worth(r, task, to);
        if (value > most) {
            most = value;
            r->next[task] = to;
        }
    }
    r->key[task] = -most;
    return most > 0.0;
}

static void take(energy_run *r, int32_t task, gnti_class_choice to)
{
    const gnti_class_choice from = r->choice[task];

    if (from.width > 0) {
        r->left[from.cls] += from.width;
        r->room += watts_of(r, task, from);
    }
    r->choice[task] = to;
    if (to.width > 0) {
        r->left[to.cls] -= to.width;
        r->room -= watts_of(r, task, to);
    }
}

/* Upgrades by worth; one that devices or watts no longer allow is looked for again. */
static gnt_status upgrade(energy_run *r)
{
    gnt_status st = GNT_OK;
    int32_t *item = NULL, num = 0;

    GNT_TRY(gnti_alloc_array(&item, r->s->in->num_tasks));
    for (int32_t t = 0; t < r->s->in->num_tasks; t++)
        if (r->choice[t].width > 0 && find_upgrade(r, t))
            item[num++] = t;
    gnti_place_heapify(item, num, r->key);
    while (num > 0) {
        const int32_t task = item[0];
        const gnti_class_choice was = r->next[task];
        const double worth_then = r->key[task];
        const bool still = find_upgrade(r, task);

        if (still && r->next[task].cls == was.cls && r->next[task].width == was.width &&
            r->key[task] == worth_then) {
            take(r, task, was);
            if (find_upgrade(r, task))
                gnti_place_sift_down(item, num, r->key, 0);
            else
                gnti_place_pop(item, num--, r->key);
        } else if (still) {
            gnti_place_sift_down(item, num, r->key, 0);
        } else {
            gnti_place_pop(item, num--, r->key);
        }
    }
done:
    gnti_free(item);
    return st;
}

/* What it holds as a choice; width 0: it holds nothing, or devices of several classes. */
static gnti_class_choice held_choice(const gnti_placing *s, int32_t task)
{
    const gnti_place_task *t = &s->in->tasks[task];
    gnti_class_choice c = { 0, 0 };

    for (int32_t i = 0; i < t->num_held && !gnti_placing_was_guest(s, task); i++) {
        const int32_t cls = s->class_of[t->held[i]];

        if (cls < 0 || (i > 0 && cls != c.cls))
            return (gnti_class_choice){ 0, 0 };
        c = (gnti_class_choice){ cls, i + 1 };
    }
    return c.width >= s->need[task] && c.width > 0 && gnti_placing_fewest(s, task, c.cls) > 0 &&
                   c.width >= gnti_placing_fewest(s, task, c.cls)
               ? c
               : (gnti_class_choice){ 0, 0 };
}

/* Who is pushed out, when devices or watts are short. */
static gnt_status find_leavers(energy_run *r)
{
    gnt_status st = GNT_OK;
    gnti_placing *s = r->s;
    double room = r->room, least = INFINITY;
    int32_t idle;

    gnti_placing_keep_all(s, NULL);
    for (int32_t t = 0; t < s->in->num_tasks; t++) {
        cheapest(r, t, NULL, &r->joules[t]);
        r->joules[t] = s->need[t] > 0 ? fmin(r->joules[t], 1e300) : 0.0;
    }
    for (int32_t d = 0; d < s->in->num_devices; d++)
        if (s->class_of[d] >= 0) {
            const double watts = r->watts[s->class_of[d]];

            room -= s->owner[d] >= 0 ? watts * use_of(s, s->owner[d]) : 0.0;
            least = s->owner[d] < 0 ? fmin(least, watts) : least;
        }
    idle = gnti_placing_num_idle(s);
    if (least > 0.0 && room / least < idle)
        idle = room > 0.0 ? (int32_t)(room / least) : 0;
    GNT_TRY(gnti_placing_push(s, r->joules, idle, r->leaves));
    gnti_placing_reset(s);
done:
    return st;
}

/* Running tasks as they are, then waiting ones, those with the fewest joules left first, while there are
 * devices and watts. */
static gnt_status begin(energy_run *r)
{
    gnt_status st = GNT_OK;
    gnti_placing *s = r->s;
    int32_t num = 0, running = 0;

    GNT_TRY(find_leavers(r));
    for (int32_t t = 0; t < s->in->num_tasks; t++) {
        const bool runs = !r->leaves[t] && held_choice(s, t).width > 0;

        r->choice[t] = (gnti_class_choice){ 0, 0 };
        gnti_placing_rank(s, t,
                          runs ? -1.0 / (r->joules[t] + 1e-300) : r->joules[t]); /* who runs goes first */
        if (s->need[t] > 0)
            s->order[num++] = t;
    }
    gnti_place_heapify(s->order, num, s->key);
    for (; num > 0; num--) {
        const int32_t task = gnti_place_pop(s->order, num, s->key);
        gnti_class_choice c = r->leaves[task] ? (gnti_class_choice){ 0, 0 } : held_choice(s, task);
        double joules;

        if (c.width == 0 || r->left[c.cls] < c.width)
            c = cheapest(r, task, r->left, &joules);
        if (c.width == 0 || (watts_of(r, task, c) > r->room && running > 0))
            continue;
        take(r, task, c);
        running++;
    }
done:
    return st;
}

static gnt_status open_run(energy_run *r, gnti_placing *s)
{
    gnt_status st = GNT_OK;
    double idle = 0.0;

    *r = (energy_run){ .s = s, .room = INFINITY };
    GNT_TRY(gnti_alloc_array(&r->choice, s->in->num_tasks));
    GNT_TRY(gnti_alloc_array(&r->next, s->in->num_tasks));
    GNT_TRY(gnti_alloc_array(&r->key, s->in->num_tasks));
    GNT_TRY(gnti_alloc_array(&r->joules, s->in->num_tasks));
    GNT_TRY(gnti_alloc_array(&r->leaves, s->in->num_tasks));
    GNT_TRY(gnti_alloc_array(&r->left, s->num_classes));
    GNT_TRY(gnti_calloc_array(&r->watts, s->num_classes));
    for (int32_t c = 0; c < s->num_classes; c++)
        r->left[c] = s->classes[c].num;
    for (int32_t i = 0; i < s->num_present; i++) {
        const gnti_place_device *d = &s->in->devices[s->by_class[i]];
        const int32_t c = s->class_of[s->by_class[i]];

        r->watts[c] += (d->busy_watts - d->idle_watts) / s->classes[c].num;
        idle += d->idle_watts;
    }
    if (s->in->watts > 0.0)
        r->room = s->in->watts - idle;
done:
    return st;
}

gnt_status gnti_place_energy(gnti_placing *s)
{
    gnt_status st = GNT_OK;
    gnti_class_choice *line = NULL;
    energy_run r = { 0 };
    int32_t num = 0;

    GNT_TRY(open_run(&r, s));
    GNT_TRY(gnti_alloc_array(&line, s->in->num_tasks));
    GNT_TRY(begin(&r));
    GNT_TRY(upgrade(&r));
    for (int32_t t = 0; t < s->in->num_tasks; t++)
        if (r.choice[t].width > 0) {
            s->order[num] = t;
            line[num++] = r.choice[t];
        }
    GNT_TRY(gnti_placing_settle(s, 0, num, line));
    for (int32_t t = 0; t < s->in->num_tasks; t++)
        if (s->width[t] > 0)
            s->finish[t] = gnti_placing_left(s, t);
    if (num == 0 && (num = gnti_placing_line(s)) > 0) { /* nothing but gangs of several classes */
        gnti_place_heapify(s->order, num, s->key);
        GNT_TRY(gnti_placing_list(s, 1, false));
    }
done:
    gnti_free(line);
    gnti_free(r.choice);
    gnti_free(r.next);
    gnti_free(r.key);
    gnti_free(r.left);
    gnti_free(r.joules);
    gnti_free(r.leaves);
    gnti_free(r.watts);
    return st;
}
