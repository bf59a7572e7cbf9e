/* SPDX-License-Identifier: Apache-2.0 */
/* What the root plans for a round of MPI processes: groups in the order of the policy, and crews.
 *
 *   makespan                    most seconds left first            first-come   by first member
 *   shortest, energy            fewest seconds left first          max-min, least-service   least trained so far first
 * Crews of one process take the next group of this order when they have ended one; with fewer groups than processes a group has a crew of
 * several, more of them the more work it is. Energy: so many processes work that the model's watts stay within the budget.
 */
#include "ensemble/live_processes.h"

#include "base/alloc.h"
#include "ensemble/place.h"

#include <math.h>
#include <string.h>

gnt_status gnti_live_round_make(const gnti_live *run, gnti_live_round *r)
{
    gnt_status st = GNT_OK;
    const int32_t members = run->spec->num_members;

    GNT_TRY(gnti_calloc_array(&r->crew_of, run->world->size));
    GNT_TRY(gnti_calloc_array(&r->group_of, members + 1));
    GNT_TRY(gnti_calloc_array(&r->crew_of_group, members + 1));
done:
    return st;
}

void gnti_live_round_free(gnti_live_round *r)
{
    gnti_live_round_clear(r);
    gnti_free(r->crew_of);
    gnti_free(r->group_of);
    gnti_free(r->crew_of_group);
}

/* Seconds of what is left of a group, by forecast. */
static double work_of(const gnti_live *run, const gnti_fused_group *g)
{
    int64_t epochs = 1;

    for (int32_t i = 0; i < g->num_members; i++)
        epochs = gnti_max_i64(epochs, run->spec->members[g->members[i]].train.epochs - g->epoch);
    return (double)epochs * (g->epoch_seconds > 0.0 ? g->epoch_seconds : 1.0);
}

static double key_of(const gnti_live *run, const gnti_fused_group *g)
{
    double seconds = 0.0;

    switch ((gnti_policy)run->spec->policy) {
    case GNTI_POLICY_MAKESPAN:
        return -work_of(run, g);
    case GNTI_POLICY_SHORTEST:
    case GNTI_POLICY_ENERGY:
        return work_of(run, g);
    case GNTI_POLICY_MAX_MIN:
    case GNTI_POLICY_LEAST_SERVICE:
        for (int32_t i = 0; i < g->num_members; i++)
            seconds += run->members[g->members[i]].seconds;
        return seconds;
    default:
        return (double)g->members[0];
    }
}

/* By key, then by first member. */
static void sort(const gnti_live *run, gnti_fused_group *groups, int32_t num)
{
    for (int32_t i = 1; i < num; i++)
        for (int32_t j = i; j > 0; j--) {
            const double a = key_of(run, &groups[j - 1]), b = key_of(run, &groups[j]);
            const gnti_fused_group held = groups[j];

            if (a < b || (!(a > b) && groups[j - 1].members[0] < groups[j].members[0]))
                break;
            groups[j] = groups[j - 1];
            groups[j - 1] = held;
        }
}

/* Processes that may work at once: those that a resize left, within the budget of watts. */
static int32_t workers(const gnti_live *run)
{
    double idle = 0.0, busy = 0.0, room;

    if (run->spec->policy != GNTI_POLICY_ENERGY || !(run->spec->energy_budget > 0.0))
        return run->num_working;
    gnti_pool_power(&run->specs[0], &idle, &busy);
    room = busy > idle ? (run->spec->energy_budget - idle * run->world->size) / (busy - idle) : INFINITY;
    return room >= (double)run->num_working ? run->num_working : room < 1.0 ? 1 : (int32_t)room;
}

/* Fewer groups than processes: a crew a group. Processes that no group has room for stay idle (crew -1). */
static gnt_status widen(const gnti_live *run, const gnti_fused_group *groups, int32_t num, int32_t processes,
                        gnti_live_round *r)
{
    gnt_status st = GNT_OK;
    int32_t *wide = NULL, next = 0;

    GNT_TRY(gnti_alloc_array(&wide, num));
    for (int32_t g = 0; g < num; g++)
        wide[g] = 1;
    for (int32_t left = processes - num; left > 0; left--) {
        int32_t most = -1;

        for (int32_t g = 0; g < num; g++)
            if (wide[g] < gnti_live_widest_gang(run, groups[g].members[0]) &&
                (most < 0 || work_of(run, &groups[g]) / wide[g] > work_of(run, &groups[most]) / wide[most]))
                most = g;
        if (most < 0)
            break;
        wide[most]++;
    }
    for (int32_t g = 0; g < num; g++)
        for (int32_t i = 0; i < wide[g]; i++)
            r->crew_of[next++] = g;
done:
    gnti_free(wide);
    return st;
}

gnt_status gnti_live_round_plan(gnti_live *run, gnti_live_round *r)
{
    gnt_status st = GNT_OK;
    gnti_fused_group *groups = NULL;
    const int32_t processes = workers(run);

    for (int32_t p = 0; p < run->num_devices; p++)
        run->devices[p].present = p < processes;
    GNT_TRY(gnti_live_form_groups(run, &groups, &r->num_groups));
    sort(run, groups, r->num_groups);
    for (int32_t m = 0; m < run->spec->num_members; m++)
        r->group_of[m] = -1;
    for (int32_t g = 0; g < r->num_groups; g++) {
        for (int32_t i = 0; i < groups[g].num_members; i++)
            r->group_of[groups[g].members[i]] = g;
        r->divides = r->divides || groups[g].num_members > 1;
    }
    for (int32_t m = 0; m < run->spec->num_members; m++)
        r->divides = r->divides || (run->members[m].outcome == GNTI_LIVE_PENDING && r->group_of[m] < 0);
    for (int32_t p = 0; p < run->world->size; p++)
        r->crew_of[p] = p < processes && r->num_groups >= processes ? p : -1;
    if (r->num_groups < processes)
        GNT_TRY(widen(run, groups, r->num_groups, processes, r));
done:
    gnti_fused_groups_free(&groups, r->num_groups);
    return st;
}
