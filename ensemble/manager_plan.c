/* SPDX-License-Identifier: Apache-2.0 */
/* Planning: what gnti_place is asked, and what of its answer differs from what tasks have.
 *
 * A task that is under way counts as where it will be. What fits nothing that is present is parked: it takes no part until a device is
 * added, and is given up when its patience ends.
 */
#include "ensemble/manager_state.h"

gnti_place_input gnti_managed_alone(const gnti_manager *m, const gnti_managed_task *t)
{
    return (gnti_place_input){ .policy = m->config.policy,
                               .num_types = gnti_manager_num_kinds(m),
                               .num_devices = (int32_t)m->num_devices,
                               .num_tasks = 1,
                               .devices = m->devices,
                               .tasks = &t->terms,
                               .now = m->now };
}

/* Closes the gaps that tasks left. */
static void compact(gnti_manager *m)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < m->num_active; i++)
        if (m->active[i] >= 0) {
            m->tasks[m->active[i]]->slot = (int32_t)kept;
            m->active[kept++] = m->active[i];
        }
    m->num_active = kept;
}

static double epochs_left(const gnti_manager *m, const gnti_managed_task *t)
{
    const double left = t->epochs_total - t->epochs_done;
    double part = 0.0;

    if (t->running && t->planned_seconds > 0.0)
        part = (m->now - t->boundary_at) / t->planned_seconds;
    part = part < 0.95 ? part : 0.95;
    return left > part ? left - part : 0.0;
}

static bool has_rounds(const gnti_manager *m)
{
    return m->config.policy == GNTI_POLICY_MAX_MIN || m->config.policy == GNTI_POLICY_LEAST_SERVICE;
}

/* Fills view with who takes part; answers how many. */
static int32_t fill_view(gnti_manager *m)
{
    int32_t n = 0;

    for (int64_t i = 0; i < m->num_active; i++) {
        gnti_managed_task *t = m->tasks[m->active[i]];
        const gnti_seat *seat = t->moving ? &t->flight : &t->held;

        if (m->types_moved)
            gnti_managed_predict(m, t);
        if (!isnan(t->parked_at))
            continue;
        if (has_rounds(m))
            gnti_managed_settle(m, t);
        m->view[n] = t->terms;
        m->view[n].epochs_left = epochs_left(m, t);
        m->view[n].held = seat->device;
        m->view[n].held_as_guest = seat->guest;
        m->view[n++].num_held = seat->num;
    }
    m->types_moved = false;
    return n;
}

static bool any_present(const gnti_manager *m)
{
    for (int64_t d = 0; d < m->num_devices; d++)
        if (m->devices[d].present)
            return true;
    return false;
}

/* Who fits nothing that is present takes no part. Answers how many. */
static int64_t park(gnti_manager *m, const gnti_place_input *in)
{
    const bool any = any_present(m);
    int64_t count = 0;

    for (int32_t i = 0; i < in->num_tasks; i++)
        if (!any || !gnti_place_fits(in, i)) {
            m->tasks[in->tasks[i].id]->parked_at = m->now;
            count++;
        }
    m->num_parked += count;
    return count;
}

static gnt_status end_patience(gnti_manager *m)
{
    gnt_status st = GNT_OK;

    for (int64_t i = 0; i < m->num_active; i++) {
        gnti_managed_task *t = m->active[i] < 0 ? NULL : m->tasks[m->active[i]];

        if (t != NULL && !isnan(t->parked_at) && m->now >= t->parked_at + m->config.patience)
            GNT_TRY(gnti_manager_give_up(m, t));
    }
    compact(m);
done:
    return st;
}

/* The plan of who takes part; whoever fits nowhere is parked first. */
static gnt_status ask(gnti_manager *m, gnti_place_input *in, gnti_place_plan *plan)
{
    gnt_status st = GNT_OK;

    in->num_tasks = fill_view(m);
    if (!any_present(m) && in->num_tasks > 0) {
        park(m, in);
        in->num_tasks = 0;
    }
    if (in->num_tasks == 0)
        return GNT_OK;
    st = gnti_place(in, plan);
    if (st == GNT_ERR_NOMEM && park(m, in) > 0) {
        in->num_tasks = fill_view(m);
        st = in->num_tasks == 0 ? GNT_OK : gnti_place(in, plan);
    }
    GNT_TRY(st);
done:
    return st;
}

static bool is_alike(const gnti_seat *seat, const gnti_place_plan *plan, int32_t from, int32_t num)
{
    if (seat->num != num)
        return false;
    for (int32_t i = 0; i < num; i++)
        if (seat->device[i] != plan->device[from + i] ||
            fabs(seat->share[i] - plan->share[from + i]) > 1e-9 || seat->lane[i] != plan->lane[from + i])
            return false;
    return true;
}

/* What the newest plan wants of a task; num 0: that it waits. */
static gnt_status want(gnti_manager *m, gnti_managed_task *t, const gnti_place_plan *plan, int32_t from,
                       int32_t num, bool guest)
{
    gnt_status st = GNT_OK;

    t->wanting = !is_alike(t->moving ? &t->flight : &t->held, plan, from, num);
    if (!t->wanting) {
        (t->moving ? &t->flight : &t->held)->guest = guest;
        return GNT_OK;
    }
    GNT_TRY(gnti_seat_reserve(&t->target, num));
    t->target.num = num;
    t->target.guest = guest;
    for (int32_t i = 0; i < num; i++) {
        t->target.device[i] = plan->device[from + i];
        t->target.share[i] = plan->share[from + i];
        t->target.lane[i] = plan->lane[from + i];
    }
    m->wanting[m->num_wanting++] = (int32_t)t->terms.id;
done:
    return st;
}

static gnt_status find_differences(gnti_manager *m, const gnti_place_input *in, const gnti_place_plan *plan)
{
    gnt_status st = GNT_OK;

    m->num_wanting = 0;
    m->freed = true;
    for (int32_t i = 0; i < in->num_tasks; i++)
        GNT_TRY(want(m, m->tasks[in->tasks[i].id], plan, plan->first[i], plan->first[i + 1] - plan->first[i],
                     plan->guest[i]));
    for (int64_t i = 0; m->num_parked > 0 && i < m->num_active; i++)
        if (!isnan(m->tasks[m->active[i]]->parked_at))
            GNT_TRY(want(m, m->tasks[m->active[i]], plan, 0, 0, false));
done:
    return st;
}

gnt_status gnti_manager_plan(gnti_manager *m)
{
    gnt_status st = GNT_OK;
    gnti_place_plan plan = { 0 };
    gnti_place_input in = { .policy = m->config.policy,
                            .num_types = gnti_manager_num_kinds(m),
                            .num_devices = (int32_t)m->num_devices,
                            .devices = m->devices,
                            .tasks = m->view,
                            .now = m->now,
                            .watts = m->config.watts,
                            .resize_gain = m->config.resize_gain,
                            .in_round = has_rounds(m) && m->now < m->round_at };

    if (m->shrunk)
        GNT_TRY(gnti_manager_give_up_misfits(m));
    m->shrunk = false;
    compact(m);
    GNT_TRY(ask(m, &in, &plan));
    if (m->config.check && in.num_tasks > 0)
        GNT_TRY(gnti_place_check(&in, &plan));
    GNT_TRY(find_differences(m, &in, &plan));
    GNT_TRY(end_patience(m));
    m->facts.num_plans++;
    m->planned_at = m->now;
    m->planned_finish = in.num_tasks > 0 ? plan.finish : INFINITY;
    m->plan_at = INFINITY;
    if (!in.in_round)
        m->round_at = m->now + m->config.round_seconds;
done:
    gnti_place_plan_free(&plan);
    return st;
}

void gnti_manager_plan_now(gnti_manager *m)
{
    m->plan_at = m->now;
}

void gnti_manager_plan_soon(gnti_manager *m, double share)
{
    const bool known = isfinite(m->planned_finish) && m->planned_finish > 0.0;
    const double left =
        known ? m->planned_finish : m->now - m->started_at; /* else as long as it has lasted */
    const double at = m->planned_at + share * left;

    if (at < m->plan_at)
        m->plan_at = at > m->now ? at : m->now;
}

double gnti_manager_wants_tick(const gnti_manager *m)
{
    double at = m->plan_at;

    if (m->num_live == 0)
        return INFINITY;
    if (has_rounds(m) && m->round_at < at)
        at = m->round_at;
    for (int64_t i = 0; m->num_parked > 0 && i < m->num_active; i++) {
        const gnti_managed_task *t = m->active[i] < 0 ? NULL : m->tasks[m->active[i]];

        if (t != NULL && !isnan(t->parked_at) && t->parked_at + m->config.patience < at)
            at = t->parked_at + m->config.patience;
    }
    return at;
}
