/* SPDX-License-Identifier: Apache-2.0 */
/* A plan that stays when it is asked for again: plans are made until one answers itself.
 *
 * Let f be one plan as a function of who holds what. A policy moves a task where that gains more than it costs, but each task is
 * looked at by itself and guests are seated last, so on about one input in ten thousand f(f(h)) moves somebody back. The answer is
 * therefore the first of f(h), f(f(h)), ... that f maps to itself; where they go round in a circle, the least of the circle, whoever of it
 * one starts from. Both are answered for themselves. It doubles the time of a plan, so very many tasks (GNTI_PLACE_FEW) go without. Time, epochs and what a move costs are those of now; within a round none begins.
 */
#include "ensemble/place_state.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

enum { MOST_PLANS = 32 };

static const double SAME_SHARE = 1e-9;

/* Who has what, in the order of tasks: less than 0, 0 or more than 0. */
static int compare(const gnti_place_plan *a, const gnti_place_plan *b, int32_t num_tasks)
{
    for (int32_t t = 0; t <= num_tasks; t++)
        if (a->first[t] != b->first[t])
            return a->first[t] < b->first[t] ? -1 : 1;
    for (int32_t i = 0; i < a->first[num_tasks]; i++) {
        if (a->device[i] != b->device[i])
            return a->device[i] < b->device[i] ? -1 : 1;
        if (a->lane[i] != b->lane[i])
            return a->lane[i] < b->lane[i] ? -1 : 1;
        if (fabs(a->share[i] - b->share[i]) > SAME_SHARE)
            return a->share[i] < b->share[i] ? -1 : 1;
    }
    for (int32_t t = 0; t < num_tasks; t++)
        if (a->guest[t] != b->guest[t])
            return a->guest[t] ? 1 : -1;
    return 0;
}

/* The plan is what tasks hold. */
static void adopt(const gnti_place_plan *plan, gnti_place_input *in, gnti_place_task *tasks)
{
    for (int32_t t = 0; t < in->num_tasks; t++) {
        tasks[t].held = plan->device + plan->first[t];
        tasks[t].num_held = plan->first[t + 1] - plan->first[t];
        tasks[t].held_as_guest = plan->guest[t];
    }
    in->tasks = tasks;
    in->in_round = true;
}

/* The least of plans [from, to). */
static int32_t least(const gnti_place_plan *plans, int32_t from, int32_t to, int32_t num_tasks)
{
    int32_t pick = from;

    for (int32_t i = from + 1; i < to; i++)
        if (compare(&plans[i], &plans[pick], num_tasks) < 0)
            pick = i;
    return pick;
}

gnt_status gnti_place_steady(const gnti_place_input *in, gnti_place_plan *plan)
{
    gnt_status st = GNT_OK;
    gnti_place_plan plans[MOST_PLANS] = { *plan };
    gnti_place_input next = *in;
    gnti_place_task *tasks = NULL;
    int32_t num = 1, pick = -1;

    *plan = (gnti_place_plan){ 0 };
    GNT_TRY(gnti_alloc_array(&tasks, in->num_tasks));
    memcpy(tasks, in->tasks, (size_t)in->num_tasks * sizeof *tasks);
    while (pick < 0 && num < MOST_PLANS) {
        adopt(&plans[num - 1], &next, tasks);
        GNT_TRY(gnti_place_once(&next, &plans[num]));
        num++;
        for (int32_t i = num - 2; i >= 0 && pick < 0; i--)
            if (compare(&plans[i], &plans[num - 1], in->num_tasks) == 0)
                pick = least(plans, i, num - 1, in->num_tasks);
    }
    pick = pick < 0 ? num - 1 : pick;
    *plan = plans[pick];
    plans[pick] = (gnti_place_plan){ 0 };
done:
    for (int32_t i = 0; i < num; i++)
        gnti_place_plan_free(&plans[i]);
    gnti_free(tasks);
    return st;
}
