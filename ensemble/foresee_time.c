/* SPDX-License-Identifier: Apache-2.0 */
/* The manager driven through predicted time. Between two moments each group that is placed does rate * dt of its epochs, where
 *
 *   rate = gnti_place_rate(alone on its devices) * the least of its shares
 * and a moment is the end of a group or a tick that the manager wants. Moves take no time: the plan shows who trains where, and what is
 * the least that waiting for each other costs. Groups whose members wait for others' ends come when those have ended.
 */
#include "ensemble/foresee.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

typedef struct foreseen {
    const gnti_foreseen *plan;
    gnti_manager *manager;
    gnti_place_device *devices;
    double *done, *rate; /* (groups) epochs; epochs a second now, 0: not placed */
    uint8_t *state;      /* (groups) */
    double now;
} foreseen;
enum { WAITS, HERE, OVER };

void gnti_foreseen_place_devices(const gnti_foreseen *p, gnti_place_device *out)
{
    for (int32_t d = 0; d < p->devices.num; d++) {
        out[d] = (gnti_place_device){ .type = p->devices.list[d].type,
                                      .present = true,
                                      .bytes = p->devices.list[d].bytes };
        gnti_pool_power(&p->devices.job.place.specs[d], &out[d].idle_watts, &out[d].busy_watts);
    }
}

void gnti_foreseen_place_task(const gnti_foreseen *p, int32_t group, gnti_place_task *out)
{
    const gnti_foreseen_group *g = &p->groups[group];

    *out = (gnti_place_task){ .id = group,
                              .weight = 1.0,
                              .epochs_left = g->epochs,
                              .seconds = g->seconds,
                              .serial = GNTI_GANG_SERIAL,
                              .overhead = GNTI_GANG_OVERHEAD,
                              .max_devices = g->max_devices,
                              .shared_bytes = g->group->shared_bytes,
                              .lasting_bytes = g->group->lasting_bytes,
                              .scratch_bytes = g->group->scratch_bytes,
                              .data = g->data,
                              .foreground = p->spec->members[g->group->members[0]].foreground };
}

static gnt_status send(foreseen *f, gnti_event e)
{
    e.time = f->now;
    return gnti_manager_event(f->manager, &e);
}

static gnt_status arrive(foreseen *f, int32_t group)
{
    gnt_status st = GNT_OK;
    gnti_place_task task;

    gnti_foreseen_place_task(f->plan, group, &task);
    task.arrival = f->now;
    f->state[group] = HERE;
    GNT_TRY(send(f, (gnti_event){ .kind = GNTI_EVENT_TASK_ARRIVED, .task = group, .new_task = &task }));
done:
    return st;
}

/* The groups that were waiting for one that has ended. */
static gnt_status arrive_after(foreseen *f, int32_t ended)
{
    gnt_status st = GNT_OK;

    for (int32_t g = 0; g < f->plan->num_groups; g++)
        if (f->plan->groups[g].after == ended)
            GNT_TRY(arrive(f, g));
done:
    return st;
}

static gnt_status begin(foreseen *f)
{
    gnt_status st = GNT_OK;
    const gnti_foreseen *p = f->plan;
    const gnti_spec *spec = p->spec;
    const gnti_manager_config config = { .policy = (gnti_policy)spec->policy,
                                         .num_types = p->devices.num_types,
                                         .retries = (int32_t)spec->retries,
                                         .watts = spec->energy_budget,
                                         .resize_gain = spec->resize_gain,
                                         .round_seconds = spec->round_seconds };

    GNT_TRY(gnti_alloc_array(&f->devices, p->devices.num));
    GNT_TRY(gnti_calloc_array(&f->done, p->num_groups));
    GNT_TRY(gnti_calloc_array(&f->rate, p->num_groups));
    GNT_TRY(gnti_calloc_array(&f->state, p->num_groups));
    GNT_TRY(gnti_manager_create(&config, &f->manager));
    gnti_foreseen_place_devices(p, f->devices);
    for (int32_t d = 0; d < p->devices.num; d++)
        GNT_TRY(send(
            f, (gnti_event){ .kind = GNTI_EVENT_DEVICE_ADDED, .device = d, .new_device = &f->devices[d] }));
    GNT_TRY(arrive_after(f, -1));
done:
    return st;
}

static double rate_of(const foreseen *f, const gnti_action *a)
{
    gnti_place_task task;
    const gnti_place_input in = { .num_types = f->plan->devices.num_types,
                                  .num_devices = f->plan->devices.num,
                                  .num_tasks = 1,
                                  .devices = f->devices,
                                  .tasks = &task };
    double share = 1.0;

    gnti_foreseen_place_task(f->plan, (int32_t)a->task, &task);
    for (int32_t i = 0; i < a->num_devices; i++)
        share = fmin(share, a->shares[i]);
    return share * gnti_place_rate(&in, 0, a->devices, a->num_devices);
}

static gnt_status obey(foreseen *f)
{
    gnt_status st = GNT_OK;
    gnti_action a;

    while (gnti_manager_next(f->manager, &a)) {
        GNT_CHECK(a.kind != GNTI_ACTION_GIVE_UP, GNT_ERR_NOMEM,
                  "the group of member %s fits no devices that are there",
                  f->plan->spec->members[f->plan->groups[a.task].group->members[0]].name);
        f->rate[a.task] = a.kind == GNTI_ACTION_RUN ? rate_of(f, &a) : 0.0;
        GNT_TRY(send(
            f, (gnti_event){ .kind = GNTI_EVENT_TASK_PLACED, .task = a.task, .generation = a.generation }));
    }
    GNT_TRY(gnti_manager_status(f->manager));
done:
    return st;
}

/* Seconds until something happens. */
static double next_moment(const foreseen *f)
{
    double seconds = gnti_manager_wants_tick(f->manager) - f->now;

    for (int32_t g = 0; g < f->plan->num_groups; g++)
        if (f->state[g] == HERE && f->rate[g] > 0.0)
            seconds = fmin(seconds, (f->plan->groups[g].epochs - f->done[g]) / f->rate[g]);
    return fmax(seconds, 0.0);
}

static gnt_status advance(foreseen *f, double seconds)
{
    gnt_status st = GNT_OK;

    f->now += seconds;
    for (int32_t g = 0; g < f->plan->num_groups; g++) {
        const double all = f->plan->groups[g].epochs;

        if (f->state[g] != HERE || !(f->rate[g] > 0.0))
            continue;
        f->done[g] = fmin(f->done[g] + seconds * f->rate[g], all);
        f->done[g] = f->done[g] > all * (1.0 - 1e-9) ? all : f->done[g];
        GNT_TRY(send(f, (gnti_event){ .kind = GNTI_EVENT_EPOCH_DONE,
                                      .task = g,
                                      .epochs_done = f->done[g],
                                      .seconds = 1.0 / f->rate[g] }));
        if (f->done[g] < all)
            continue;
        f->state[g] = OVER;
        f->rate[g] = 0.0;
        GNT_TRY(send(f, (gnti_event){ .kind = GNTI_EVENT_TASK_ENDED, .task = g }));
        GNT_TRY(arrive_after(f, g));
    }
    if (gnti_manager_wants_tick(f->manager) <= f->now)
        GNT_TRY(send(f, (gnti_event){ .kind = GNTI_EVENT_TICK }));
done:
    return st;
}

static gnt_status take_facts(foreseen *f, gnti_foreseen *p)
{
    gnt_status st = GNT_OK;
    const gnti_span *spans = NULL;
    gnti_manager_facts facts;

    p->num_spans = gnti_manager_spans(f->manager, &spans);
    GNT_TRY(gnti_alloc_array(&p->spans, p->num_spans));
    if (p->num_spans > 0)
        memcpy(p->spans, spans, (size_t)p->num_spans * sizeof *spans);
    GNT_TRY(gnti_manager_get_facts(f->manager, &facts));
    p->makespan = f->now;
    p->lower_bound = facts.lower_bound;
    p->utilisation =
        facts.present_speed_seconds > 0.0 ? facts.busy_speed_seconds / facts.present_speed_seconds : 0.0;
done:
    return st;
}

gnt_status gnti_foreseen_run(gnti_foreseen *p)
{
    gnt_status st = GNT_OK;
    foreseen f = { .plan = p };

    GNT_TRY(begin(&f));
    for (;;) {
        double seconds;

        GNT_TRY(obey(&f));
        if (gnti_manager_is_idle(f.manager))
            break;
        seconds = next_moment(&f);
        GNT_CHECK(isfinite(seconds), GNT_ERR_INTERNAL, "groups wait at %g s and nothing is going to happen",
                  f.now);
        GNT_TRY(advance(&f, seconds));
    }
    GNT_TRY(take_facts(&f, p));
done:
    gnti_manager_free(&f.manager);
    gnti_free(f.devices);
    gnti_free(f.done);
    gnti_free(f.rate);
    gnti_free(f.state);
    return st;
}
