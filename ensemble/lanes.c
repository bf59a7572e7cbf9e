/* SPDX-License-Identifier: Apache-2.0 */
/* Turns on one device. */
#include "ensemble/lanes.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <math.h>
#include <pthread.h>
#include <time.h>

static const double WINDOW = 0.1, SLOWEST = 1.2, FAST = 1.05, GROWS = 0.05, LEAST = 0.05, MOST = 0.9;

typedef struct tenant {
    int64_t task;
    double share, served; /* served: seconds over share */
    double asked_at, began_at;
    double behind; /* what the background had run when it asked */
    double step;   /* seconds of its newest step, 0: none yet */
    bool asks, foreground;
} tenant;

struct gnti_lanes {
    pthread_mutex_t lock;
    pthread_cond_t turn;
    tenant *tenants;
    int64_t num, capacity;
    int64_t running;                              /* task, -1: nobody */
    double background, tokens, tokens_at, behind; /* behind: seconds of the background's steps in all */
    double window_at, own, whole;                 /* of foreground steps in this window: alone, with waits */
    double ran;                                   /* of the background's steps in this window */
};

gnt_status gnti_lanes_create(gnti_lanes **out)
{
    gnt_status st = GNT_OK;
    gnti_lanes *l = NULL;
    pthread_condattr_t attr;

    GNT_TRY(gnti_calloc_array(&l, 1));
    pthread_mutex_init(&l->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&l->turn, &attr);
    pthread_condattr_destroy(&attr);
    l->running = -1;
    l->background = 1.0 - 1.0 / SLOWEST; /* what a foreground that always asks can bear */
    l->tokens_at = l->window_at = NAN;
    *out = l;
done:
    return st;
}

void gnti_lanes_free(gnti_lanes **lanes)
{
    gnti_lanes *l = lanes != NULL ? *lanes : NULL;

    if (l == NULL)
        return;
    *lanes = NULL;
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->turn);
    gnti_free(l->tenants);
    gnti_free(l);
}

/* ---- tenants ----------------------------------------------------------------------------------------------------------- */

static tenant *find(gnti_lanes *l, int64_t task)
{
    for (int64_t i = 0; i < l->num; i++)
        if (l->tenants[i].task == task)
            return &l->tenants[i];
    return NULL;
}

static bool has_foreground(const gnti_lanes *l)
{
    for (int64_t i = 0; i < l->num; i++)
        if (l->tenants[i].foreground)
            return true;
    return false;
}

/* Who comes has had as much as who has had least: nothing is owed to it from before. */
static double least_served(const gnti_lanes *l)
{
    double least = INFINITY;

    for (int64_t i = 0; i < l->num; i++)
        least = fmin(least, l->tenants[i].served);
    return isfinite(least) ? least : 0.0;
}

gnt_status gnti_lanes_join(gnti_lanes *l, int64_t task, double share, bool foreground)
{
    gnt_status st = GNT_OK;
    tenant *t = NULL;

    pthread_mutex_lock(&l->lock);
    t = find(l, task);
    if (t == NULL) {
        const double served = least_served(l);

        GNT_TRY(gnti_grow_array(&l->tenants, &l->capacity, l->num + 1));
        t = &l->tenants[l->num++];
        *t = (tenant){ .task = task, .served = served };
    }
    t->share = fmax(share, 1e-3);
    t->foreground = foreground;
done:
    pthread_mutex_unlock(&l->lock);
    return st;
}

void gnti_lanes_part(gnti_lanes *l, int64_t task)
{
    tenant *t;

    pthread_mutex_lock(&l->lock);
    t = find(l, task);
    if (t != NULL)
        *t = l->tenants[--l->num];
    if (l->running == task)
        l->running = -1;
    pthread_cond_broadcast(&l->turn);
    pthread_mutex_unlock(&l->lock);
}

/* ---- foreground and background ------------------------------------------------------------------------------------------ */

/* Those of a window, or what the longest step of the background costs. */
static double most_tokens(const gnti_lanes *l)
{
    double most = WINDOW * l->background;

    for (int64_t i = 0; i < l->num; i++)
        if (!l->tenants[i].foreground)
            most = fmax(most, l->tenants[i].step);
    return most;
}

static void earn(gnti_lanes *l, double now)
{
    if (isnan(l->tokens_at))
        l->tokens_at = l->window_at = now;
    if (now > l->tokens_at)
        l->tokens = fmin(l->tokens + l->background * (now - l->tokens_at), most_tokens(l));
    l->tokens_at = fmax(now, l->tokens_at);
}

/* At the end of a window the background's share follows what the foreground has felt; it grows where it was used and not felt. */
static void adjust(gnti_lanes *l, double now)
{
    const double slowed = l->own > 0.0 ? l->whole / l->own : 1.0;

    if (isnan(l->window_at) || now - l->window_at < WINDOW)
        return;
    if (slowed > SLOWEST)
        l->background = fmax(LEAST, l->background / 2.0);
    else if (slowed < FAST && l->ran > 0.5 * l->background * WINDOW)
        l->background = fmin(MOST, l->background + GROWS);
    l->window_at = now;
    l->own = l->whole = l->ran = 0.0;
}

/* ---- turns --------------------------------------------------------------------------------------------------------------- */

static bool is_before(const tenant *a, const tenant *b)
{
    return a->served != b->served       ? a->served < b->served
           : a->asked_at != b->asked_at ? a->asked_at < b->asked_at
                                        : a->task < b->task;
}

/* Tokens that a step of the background begins with: what it is going to cost. */
static double need(const tenant *t)
{
    return fmax(t->step, 1e-9);
}

/* Whose turn it is of those who ask; NULL: nobody's. */
static const tenant *whose_turn(const gnti_lanes *l)
{
    const bool limited = has_foreground(l);
    const tenant *best = NULL;

    for (int64_t i = 0; i < l->num; i++) {
        const tenant *t = &l->tenants[i];

        if (!t->asks || (limited && !t->foreground && l->tokens < need(t)))
            continue;
        /* tokens are what the background was promised: with them it goes first, or a foreground that always asks would starve it */
        if (best == NULL ||
            (limited && t->foreground != best->foreground ? !t->foreground : is_before(t, best)))
            best = t;
    }
    return best;
}

static void ask(gnti_lanes *l, int64_t task, double now)
{
    tenant *t = find(l, task);

    if (t == NULL || t->asks)
        return;
    t->asks = true;
    t->asked_at = now;
    t->behind = l->behind;
}

static bool may(gnti_lanes *l, int64_t task, double now)
{
    const tenant *t;

    earn(l, now);
    if (find(l, task) == NULL)
        return true; /* nobody's device */
    t = l->running < 0 ? whose_turn(l) : NULL;
    return t != NULL && t->task == task;
}

static double wakes(const gnti_lanes *l, double now)
{
    double rest = INFINITY;

    if (l->running >= 0 || !has_foreground(l))
        return INFINITY;
    for (int64_t i = 0; i < l->num; i++)
        if (l->tenants[i].asks && !l->tenants[i].foreground)
            rest = fmin(rest, fmax(need(&l->tenants[i]) - l->tokens, 0.0) / l->background);
    return now + rest + 1e-6;
}

static void begin(gnti_lanes *l, int64_t task, double now)
{
    tenant *t = find(l, task);

    if (t == NULL)
        return;
    t->asks = false;
    t->began_at = now;
    l->running = task;
    /* what it waited longer than for the background's step (threads wake late) is the background's doing too */
    if (t->foreground)
        l->tokens -= fmax(now - t->asked_at - (l->behind - t->behind), 0.0);
}

static void end(gnti_lanes *l, int64_t task, double now)
{
    tenant *t = find(l, task);

    if (l->running == task)
        l->running = -1;
    if (t == NULL)
        return;
    const double seconds = fmax(now - t->began_at, 0.0);

    t->served += seconds / t->share;
    t->step = seconds;
    earn(l, now);
    if (t->foreground) {
        l->own += seconds;
        l->whole += fmax(now - t->asked_at, seconds);
    } else if (has_foreground(l)) {
        l->tokens -= seconds;
        l->behind += seconds;
        l->ran += seconds;
    }
    adjust(l, now);
}

/* ---- the same, from any thread ---------------------------------------------------------------------------------------- */

void gnti_lanes_ask(gnti_lanes *l, int64_t task, double now)
{
    pthread_mutex_lock(&l->lock);
    ask(l, task, now);
    pthread_mutex_unlock(&l->lock);
}

bool gnti_lanes_may(gnti_lanes *l, int64_t task, double now)
{
    bool answer;

    pthread_mutex_lock(&l->lock);
    answer = may(l, task, now);
    pthread_mutex_unlock(&l->lock);
    return answer;
}

double gnti_lanes_wakes(gnti_lanes *l, double now)
{
    double answer;

    pthread_mutex_lock(&l->lock);
    answer = wakes(l, now);
    pthread_mutex_unlock(&l->lock);
    return answer;
}

void gnti_lanes_begin(gnti_lanes *l, int64_t task, double now)
{
    pthread_mutex_lock(&l->lock);
    begin(l, task, now);
    pthread_mutex_unlock(&l->lock);
}

void gnti_lanes_end(gnti_lanes *l, int64_t task, double now)
{
    pthread_mutex_lock(&l->lock);
    end(l, task, now);
    pthread_cond_broadcast(&l->turn);
    pthread_mutex_unlock(&l->lock);
}

double gnti_lanes_background(gnti_lanes *l)
{
    double share;

    pthread_mutex_lock(&l->lock);
    share = l->background;
    pthread_mutex_unlock(&l->lock);
    return share;
}

/* Until somebody's turn ends, or tokens are there. */
static void wait_for_turn(gnti_lanes *l)
{
    const double now = gnti_clock_seconds(), rest = fmin(wakes(l, now) - now, 1.0);
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)rest;
    until.tv_nsec += (long)((rest - floor(rest)) * 1e9);
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    (void)pthread_cond_timedwait(&l->turn, &l->lock, &until);
}

void gnti_lanes_enter(gnti_lanes *l, int64_t task)
{
    pthread_mutex_lock(&l->lock);
    ask(l, task, gnti_clock_seconds());
    while (!may(l, task, gnti_clock_seconds()))
        wait_for_turn(l);
    begin(l, task, gnti_clock_seconds());
    pthread_mutex_unlock(&l->lock);
}

void gnti_lanes_exit(gnti_lanes *l, int64_t task)
{
    gnti_lanes_end(l, task, gnti_clock_seconds());
}
