/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of the simulator: the next moment, what happens then, what the manager answers.
 *
 * All that happens at one moment is told before the manager is asked, so that arrivals of one moment cost one plan. The end is when all
 * tasks have arrived and none is left, or when nothing will ever happen again.
 */
#include "ensemble/simulate_state.h"

#include "base/alloc.h"

#include <math.h>

/* Moments in a row at which no task arrives or finishes an epoch. */
enum { MAX_FRUITLESS = 50000, MAX_FRUITLESS_OF_DEVICE = 100 };

gnt_status gnti_simulated_send(gnti_simulated *s, gnti_event e)
{
    gnt_status st = GNT_OK;

    e.time = s->now;
    s->num_events++;
    GNT_TRY(gnti_simulated_log_event(s, &e));
    GNT_TRY(gnti_manager_event(s->manager, &e));
    if (s->check)
        GNT_TRY(gnti_manager_check(s->manager));
done:
    return st;
}

/* ---- beginning ---- */

static gnt_status prepare(const gnti_simulation *in, const gnti_world *w, gnti_simulated *s)
{
    gnt_status st = GNT_OK;
    const gnti_world_settings *o = &w->settings;
    const gnti_manager_config config = { .policy = (gnti_policy)o->policy,
                                         .num_types = w->num_types,
                                         .retries = (int32_t)o->retries,
                                         .watts = o->watts,
                                         .resize_gain = o->resize_gain,
                                         .round_seconds = (double)o->round_seconds,
                                         .patience = o->patience,
                                         .check = in->check };

    s->world = w;
    s->check = in->check;
    s->tick_at = INFINITY;
    GNT_TRY(gnti_manager_create(&config, &s->manager));
    GNT_TRY(gnti_calloc_array(&s->tasks, w->num_tasks + 1));
    GNT_TRY(gnti_calloc_array(&s->devices, w->num_devices));
    GNT_TRY(gnti_calloc_array(&s->seconds, w->num_types));
    if (in->events != NULL)
        GNT_TRY(gnti_file_writer_open(in->events, &s->log));
    for (int32_t d = 0; d < w->num_devices; d++) {
        s->devices[d].factor = w->devices[d].factor;
        GNT_TRY(gnti_simulated_add(s, d));
    }
    for (int32_t j = 0; j < w->num_tasks; j++)
        GNT_TRY(gnti_moments_push(&s->moments, GNTI_MOMENT_ARRIVAL, w->tasks[j].arrival, j, 0));
    for (int32_t i = 0; i < w->num_happenings; i++)
        GNT_TRY(gnti_moments_push(&s->moments, GNTI_MOMENT_HAPPENING, w->happenings[i].at, i, 0));
done:
    return st;
}

static void put_away(gnti_simulated *s)
{
    for (int32_t j = 0; s->tasks != NULL && j < s->world->num_tasks; j++) {
        gnti_free(s->tasks[j].on.device);
        gnti_free(s->tasks[j].on.share);
        gnti_free(s->tasks[j].next.device);
        gnti_free(s->tasks[j].next.share);
    }
    gnti_free(s->tasks);
    gnti_free(s->devices);
    gnti_free(s->seconds);
    gnti_free(s->moments.heap);
    gnti_manager_free(&s->manager);
    gnti_file_writer_abandon(&s->log);
}

/* ---- moments ---- */

static gnt_status happen(gnti_simulated *s, const gnti_happening *h)
{
    switch (h->kind) {
    case GNTI_HAPPENING_LOSE:
        return gnti_simulated_lose(s, h->index);
    case GNTI_HAPPENING_ADD:
        return gnti_simulated_add(s, h->index);
    case GNTI_HAPPENING_LEAVE:
        return gnti_simulated_leave(s, h->index, h->value);
    case GNTI_HAPPENING_SLOW:
        return gnti_simulated_slow(s, h->index, h->value);
    case GNTI_HAPPENING_FAIL:
        return gnti_simulated_fail(s, h->index);
    case GNTI_HAPPENING_END:
        return gnti_simulated_end(s, h->index);
    case GNTI_HAPPENING_SHRINK:
        return gnti_simulated_shrink(s, h->index, h->value);
    }
    return GNT_OK;
}

static gnt_status act(gnti_simulated *s, const gnti_moment *m)
{
    const bool is_task =
        m->kind == GNTI_MOMENT_EPOCH || m->kind == GNTI_MOMENT_PLACED || m->kind == GNTI_MOMENT_FAILURE;
    const bool is_device =
        m->kind == GNTI_MOMENT_LOSS || m->kind == GNTI_MOMENT_RETURN || m->kind == GNTI_MOMENT_NOTICE;

    if ((is_task && s->tasks[m->index].version != m->version) ||
        (is_device && s->devices[m->index].version != m->version))
        return GNT_OK; /* overtaken */
    switch (m->kind) {
    case GNTI_MOMENT_ARRIVAL:
        return gnti_simulated_arrive(s, m->index);
    case GNTI_MOMENT_EPOCH:
        return gnti_simulated_epoch(s, m->index);
    case GNTI_MOMENT_PLACED:
        return gnti_simulated_placed(s, m->index);
    case GNTI_MOMENT_FAILURE:
        return gnti_simulated_fail(s, m->index);
    case GNTI_MOMENT_LOSS:
        return gnti_simulated_lose(s, m->index);
    case GNTI_MOMENT_RETURN:
        return gnti_simulated_add(s, m->index);
    case GNTI_MOMENT_NOTICE:
        return gnti_simulated_leave(s, m->index, s->world->settings.notice);
    case GNTI_MOMENT_HAPPENING:
        return happen(s, &s->world->happenings[m->index]);
    case GNTI_MOMENT_TICK:
        s->tick_at = INFINITY;
        return gnti_simulated_send(s, (gnti_event){ .kind = GNTI_EVENT_TICK });
    }
    return GNT_OK;
}

/* What the manager answers, and when it wants to be asked again. */
static gnt_status answer(gnti_simulated *s)
{
    gnt_status st = GNT_OK;
    gnti_action a;
    double at;

    while (gnti_manager_next(s->manager, &a)) {
        GNT_TRY(gnti_simulated_obey(s, &a));
        if (s->check)
            GNT_TRY(gnti_manager_check(s->manager));
    }
    GNT_TRY(gnti_manager_status(s->manager));
    at = gnti_manager_wants_tick(s->manager);
    if (at < s->tick_at && isfinite(at)) {
        s->tick_at = at > s->now ? at : s->now;
        GNT_TRY(gnti_moments_push(&s->moments, GNTI_MOMENT_TICK, s->tick_at, 0, 0));
    }
done:
    return st;
}

static gnt_status run(gnti_simulated *s)
{
    gnt_status st = GNT_OK;
    gnti_moment m;

    while (!(s->num_arrived == s->world->num_tasks && gnti_manager_is_idle(s->manager)) &&
           gnti_moments_pop(&s->moments, &m)) {
        const gnti_moment *next;

        s->now = m.time;
        GNT_TRY(act(s, &m));
        s->fruitless++;
        GNT_CHECK(s->fruitless < MAX_FRUITLESS + MAX_FRUITLESS_OF_DEVICE * (int64_t)s->world->num_devices,
                  GNT_ERR_LIMIT,
                  "no epoch was finished in the newest %lld moments, up to %g simulated seconds: failures or "
                  "rounds come faster than epochs end",
                  (long long)s->fruitless, s->now);
        next = gnti_moments_peek(&s->moments);
        if (next == NULL || next->time > s->now)
            GNT_TRY(answer(s));
    }
done:
    return st;
}

gnt_status gnti_simulate_world(const gnti_simulation *in, gnti_world *w, gnti_json **out)
{
    gnt_status st = GNT_OK;
    gnti_simulated s = { 0 };
    gnti_json *facts = NULL;

    w->settings.policy = in->policy >= 0 ? in->policy : w->settings.policy;
    w->settings.moves = in->moves >= 0 ? in->moves : w->settings.moves;
    GNT_TRY(prepare(in, w, &s));
    GNT_TRY(run(&s));
    GNT_TRY(gnti_simulated_conserved(&s));
    GNT_TRY(gnti_simulated_report(&s, &facts));
    if (in->chart != NULL)
        GNT_TRY(gnti_simulated_chart(&s, in->chart));
    if (s.log != NULL)
        GNT_TRY(gnti_file_writer_commit(&s.log));
    *out = facts;
    facts = NULL; /* handed over */
done:
    gnti_json_free(&facts);
    put_away(&s);
    return st;
}

gnt_status gnti_simulate(const gnti_simulation *in, gnti_json **out)
{
    gnt_status st = GNT_OK;
    gnti_world *w = NULL;

    GNT_TRY(gnti_world_read(in->inventory, in->trace, in->seed, &w));
    GNT_TRY(gnti_simulate_world(in, w, out));
done:
    gnti_world_free(&w);
    return st;
}
