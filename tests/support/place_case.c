/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs of gnti_place in fixed arrays, and the loop that carries plans out: speeds, shares and ends as
 * gnti_place_rate says, a move costs its switch_epochs at once.
 */
#include "tests/support/place_case.h"

#include <math.h>
#include <string.h>

void place_case_devices(place_case *c, gnti_policy policy, const double *speed, const int32_t *count,
                        int32_t num_types)
{
    (void)speed;
    memset(c, 0, sizeof *c);
    c->in = (gnti_place_input){
        .policy = policy, .num_types = num_types, .devices = c->device, .tasks = c->task
    };
    for (int32_t t = 0; t < num_types; t++)
        for (int32_t i = 0; i < count[t]; i++)
            c->device[c->in.num_devices++] =
                (gnti_place_device){ .type = t, .present = true, .idle_watts = 50.0, .busy_watts = 250.0 };
}

gnti_place_task *place_case_add(place_case *c, const double *speed, double work, double epochs)
{
    const int32_t j = c->in.num_tasks++;
    gnti_place_task *t = &c->task[j];

    *t = (gnti_place_task){ .id = j,
                            .weight = 1.0,
                            .epochs_left = epochs,
                            .seconds = c->seconds[j],
                            .max_devices = 1,
                            .held = c->held[j],
                            .received = c->received[j] };
    for (int32_t k = 0; k < c->in.num_types; k++)
        c->seconds[j][k] = work / epochs / speed[k];
    return t;
}

static int32_t adopt(place_case *c, const gnti_place_plan *plan)
{
    int32_t moves = 0;

    for (int32_t j = 0; j < c->in.num_tasks; j++) {
        const int32_t num = plan->first[j + 1] - plan->first[j];
        gnti_place_task *t = &c->task[j];

        if (t->num_held > 0 && num > 0 &&
            (num != t->num_held ||
             memcmp(t->held, plan->device + plan->first[j], (size_t)num * sizeof(int32_t)) != 0)) {
            t->epochs_left += t->switch_epochs;
            moves++;
        }
        memcpy(c->held[t->id], plan->device + plan->first[j], (size_t)num * sizeof(int32_t));
        t->num_held = num;
        t->held_as_guest = plan->guest[j];
    }
    return moves;
}

void place_case_plan(place_case *c)
{
    gnti_place_plan plan;

    gnt_assert_ok(gnti_place(&c->in, &plan));
    gnt_assert_ok(gnti_place_check(&c->in, &plan));
    adopt(c, &plan);
    gnti_place_plan_free(&plan);
}

/* Progress of all by these seconds. */
static void pass(place_case *c, const gnti_place_plan *plan, const double *speed, double seconds,
                 place_run *run, double *have)
{
    for (int32_t j = 0; j < c->in.num_tasks; j++) {
        gnti_place_task *t = &c->task[j];

        if (t->num_held == 0)
            continue;
        t->epochs_left -=
            seconds * plan->share[plan->first[j]] * gnti_place_rate(&c->in, j, t->held, t->num_held);
        for (int32_t i = 0; i < t->num_held; i++) {
            const gnti_place_device *d = &c->device[t->held[i]];

            run->busy += seconds * plan->share[plan->first[j] + i] * speed[d->type];
            run->joules += seconds * plan->share[plan->first[j] + i] * (d->busy_watts - d->idle_watts);
            c->received[t->id][d->type] += seconds;
        }
    }
    for (int32_t d = 0; d < c->in.num_devices; d++)
        if (c->device[d].present) {
            *have += seconds * speed[c->device[d].type];
            run->joules += seconds * c->device[d].idle_watts;
        }
}

static double next_end(const place_case *c, const gnti_place_plan *plan)
{
    double least = INFINITY;

    for (int32_t j = 0; j < c->in.num_tasks; j++)
        if (c->task[j].num_held > 0)
            least = fmin(least, c->task[j].epochs_left / plan->share[plan->first[j]] /
                                    gnti_place_rate(&c->in, j, c->task[j].held, c->task[j].num_held));
    return least;
}

static void lose(place_case *c, place_run *run)
{
    c->device[run->lose].present = false;
    for (int32_t j = 0; j < c->in.num_tasks; j++)
        for (int32_t i = 0; i < c->task[j].num_held; i++)
            if (c->task[j].held[i] == run->lose)
                c->task[j].num_held = 0;
    run->lose_at = 0.0;
}

void place_case_run(place_case *c, const double *speed, place_run *run)
{
    const int32_t num = c->in.num_tasks;
    double have = 0.0, round_at = 0.0;

    while (c->in.num_tasks > 0) {
        gnti_place_plan plan;
        double seconds;
        int32_t kept = 0;

        c->in.in_round = run->round > 0.0 && c->in.now < round_at - 1e-12;
        if (!c->in.in_round)
            round_at = c->in.now + run->round;
        gnt_assert_ok(gnti_place(&c->in, &plan));
        gnt_assert_ok(gnti_place_check(&c->in, &plan));
        run->moves += adopt(c, &plan);
        run->plans++;
        seconds = next_end(c, &plan);
        if (run->lose_at > 0.0)
            seconds = fmin(seconds, run->lose_at - c->in.now);
        if (run->round > 0.0)
            seconds = fmin(seconds, round_at - c->in.now);
        assert_true(isfinite(seconds) && run->plans < 10000);
        pass(c, &plan, speed, seconds, run, &have);
        c->in.now += seconds;
        for (int32_t j = 0; j < c->in.num_tasks; j++)
            if (c->task[j].epochs_left > 1e-9)
                c->task[kept++] = c->task[j];
            else
                run->mean_completion += (c->in.now - c->task[j].arrival) / num;
        c->in.num_tasks = kept;
        gnti_place_plan_free(&plan);
        if (run->lose_at > 0.0 && c->in.now >= run->lose_at)
            lose(c, run);
    }
    run->makespan = c->in.now;
    run->busy /= have;
}
