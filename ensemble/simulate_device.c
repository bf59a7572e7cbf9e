/* SPDX-License-Identifier: Apache-2.0 */
/* Devices of a simulated world: how they fail and come back, leave with notice, and change speed.
 *
 * Each device draws its own times: to the next failure by the exponential law, or by Weibull's with a shape below 1 (a device that has just
 * come fails soonest); to the next departure by the exponential law. What was drawn for a device that has gone meanwhile is void.
 */
#include "ensemble/simulate_state.h"

#include <math.h>

/* Seconds until it fails; Weibull's law is scaled to the same mean. */
static double failure_after(const gnti_simulated *s, int32_t device)
{
    const gnti_world_settings *w = &s->world->settings;
    const double e =
        gnti_draw_exponential(s->world->seed, GNTI_WORLD_FAILURE, device, s->devices[device].losses);

    if (w->failure_law == 0)
        return INFINITY;
    if (w->failure_law == 1)
        return w->failure_mean * e;
    return w->failure_mean / tgamma(1.0 + 1.0 / w->failure_shape) * pow(e, 1.0 / w->failure_shape);
}

static gnt_status draw_fate(gnti_simulated *s, int32_t device)
{
    gnt_status st = GNT_OK;
    const gnti_world_settings *w = &s->world->settings;
    gnti_live_device *d = &s->devices[device];
    const double fails = failure_after(s, device);

    if (isfinite(fails))
        GNT_TRY(gnti_moments_push(&s->moments, GNTI_MOMENT_LOSS, s->now + fails, device, d->version));
    if (w->departure_mean > 0.0)
        GNT_TRY(gnti_moments_push(&s->moments, GNTI_MOMENT_NOTICE,
                                  s->now + w->departure_mean * gnti_draw_exponential(s->world->seed,
                                                                                     GNTI_WORLD_DEPARTURE,
                                                                                     device, d->notices),
                                  device, d->version));
done:
    return st;
}

static bool is_taken(const gnti_simulated *s, int32_t device)
{
    for (int32_t j = 0; j < s->world->num_tasks; j++)
        if (gnti_live_seat_has(&s->tasks[j].on, device) || gnti_live_seat_has(&s->tasks[j].next, device))
            return true;
    return false;
}

gnt_status gnti_simulated_add(gnti_simulated *s, int32_t device)
{
    gnt_status st = GNT_OK;
    gnti_live_device *d = &s->devices[device];
    const gnti_world_type *type = &s->world->types[s->world->devices[device].type];
    const gnti_place_device terms = { .type = s->world->devices[device].type,
                                      .present = true,
                                      .bytes = (int64_t)(type->memory * 1073741824.0),
                                      .lanes = type->lanes,
                                      .idle_watts = type->idle_watts,
                                      .busy_watts = type->busy_watts };

    if (d->here && !d->leaving)
        return GNT_OK;
    if (d->here && is_taken(s, device)) /* it leaves, but has not left: later */
        return gnti_moments_push(&s->moments, GNTI_MOMENT_RETURN, s->now + 1.0, device, d->version);
    d->here = true;
    d->leaving = false;
    d->version++;
    GNT_TRY(gnti_simulated_send(
        s, (gnti_event){ .kind = GNTI_EVENT_DEVICE_ADDED, .device = device, .new_device = &terms }));
    GNT_TRY(draw_fate(s, device));
done:
    return st;
}

/* When one that was drawn to go comes back; one that the trace takes away stays away until the trace says so. */
static gnt_status plan_return(gnti_simulated *s, int32_t device, double seconds)
{
    return gnti_moments_push(&s->moments, GNTI_MOMENT_RETURN, s->now + seconds, device,
                             s->devices[device].version);
}

gnt_status gnti_simulated_lose(gnti_simulated *s, int32_t device)
{
    gnt_status st = GNT_OK;
    gnti_live_device *d = &s->devices[device];
    const gnti_world_settings *w = &s->world->settings;
    const bool departs = d->leaving && w->departure_mean > 0.0;

    if (!d->here)
        return GNT_OK;
    d->here = d->leaving = false;
    d->version++;
    d->losses++;
    for (int32_t j = 0; j < s->world->num_tasks; j++)
        GNT_TRY(gnti_simulated_drop(s, j, device));
    GNT_TRY(gnti_simulated_send(s, (gnti_event){ .kind = GNTI_EVENT_DEVICE_LOST, .device = device }));
    if (departs)
        GNT_TRY(plan_return(
            s, device, w->away * gnti_draw_exponential(s->world->seed, GNTI_WORLD_AWAY, device, d->notices)));
    else if (w->failure_law != 0)
        GNT_TRY(plan_return(s, device, w->repair));
done:
    return st;
}

gnt_status gnti_simulated_leave(gnti_simulated *s, int32_t device, double notice)
{
    gnt_status st = GNT_OK;
    gnti_live_device *d = &s->devices[device];

    if (!d->here || d->leaving)
        return GNT_OK;
    d->leaving = true;
    d->notices++;
    GNT_TRY(gnti_simulated_send(s, (gnti_event){ .kind = GNTI_EVENT_DEVICE_LEAVES, .device = device }));
    if (notice < 1e12)
        GNT_TRY(gnti_moments_push(&s->moments, GNTI_MOMENT_LOSS, s->now + notice, device, d->version));
done:
    return st;
}

gnt_status gnti_simulated_slow(gnti_simulated *s, int32_t device, double factor)
{
    gnt_status st = GNT_OK;

    s->devices[device].factor = factor;
    for (int32_t j = 0; j < s->world->num_tasks; j++)
        if (gnti_live_seat_has(&s->tasks[j].on, device))
            GNT_TRY(gnti_simulated_rerate(s, j));
done:
    return st;
}
