/* SPDX-License-Identifier: Apache-2.0 */
/* Plans carried out against the optimum of small cases, found by trying everything: each task on one device
 * or a gang from its start to its end, in each order. Planning with moves may beat that optimum, never the
 * lower bound.
 */
#include "tests/support/place_case.h"

#include "base/philox.h"

#include <math.h>
#include <stdio.h>

typedef struct draws {
    uint64_t seed;
    int64_t next;
} draws;

static double draw(draws *r, double low, double high)
{
    const uint32_t word = gnti_draw_word(gnti_seed_key(r->seed), GNTI_DRAW_GENERATE, 11, 0, r->next++, 0);

    return low + (high - low) * ((double)word + 0.5) / 4294967296.0;
}

static int32_t draw_int(draws *r, int32_t low, int32_t high)
{
    return low + (int32_t)draw(r, 0.0, high - low + 1 - 1e-9);
}

/* ---- the optimum ---- */

typedef struct optimum {
    const gnti_place_input *in;
    double seconds[8][16]; /* of task j on the set of devices with these bits; INFINITY: it may not */
    double least[8];       /* device-seconds at price 1 / mean seconds: what the bound prices work at */
    double price[4], worth;
    double best;
    int64_t nodes;
} optimum;

/* Tasks start in the order of the search, none before the one before it, each as soon as its devices are free. */
static void try_all(optimum *o, uint32_t left, const double *free_at, double since, double last, double spent)
{
    double remaining = 0.0;

    o->nodes++;
    if (left == 0) {
        o->best = fmin(o->best, last);
        return;
    }
    for (int32_t j = 0; j < o->in->num_tasks; j++)
        remaining += left >> j & 1 ? o->least[j] : 0.0;
    if (fmax(last, (spent + remaining) / o->worth) >= o->best * (1.0 - 1e-12))
        return;
    for (int32_t j = 0; j < o->in->num_tasks; j++) {
        if (!(left >> j & 1))
            continue;
        for (uint32_t set = 1; set < 1u << o->in->num_devices; set++) {
            double start = since, after[4], used = spent, end;

            if (!isfinite(o->seconds[j][set]))
                continue;
            for (int32_t d = 0; d < o->in->num_devices; d++)
                start = set >> d & 1 ? fmax(start, free_at[d]) : start;
            end = start + o->seconds[j][set];
            for (int32_t d = 0; d < o->in->num_devices; d++) {
                after[d] = set >> d & 1 ? end : free_at[d];
                used += o->price[d] * (after[d] - free_at[d]);
            }
            if (end < o->best)
                try_all(o, left & ~(1u << j), after, start, fmax(last, end), used);
        }
    }
}

/* Without gangs only the device of each task matters: one order of the tasks is enough. */
static void try_singles(optimum *o, int32_t j, double *load, double last)
{
    o->nodes++;
    if (last >= o->best)
        return;
    if (j == o->in->num_tasks) {
        o->best = last;
        return;
    }
    for (int32_t d = 0; d < o->in->num_devices; d++) {
        const double seconds = o->seconds[j][1u << d];

        if (!isfinite(seconds))
            continue;
        load[d] += seconds;
        try_singles(o, j + 1, load, fmax(last, load[d]));
        load[d] -= seconds;
    }
}

static double find_optimum(const place_case *c)
{
    optimum o = { .in = &c->in, .best = INFINITY };
    double zero[4] = { 0.0 };
    bool gangs = false;

    assert_true(c->in.num_tasks <= 8 && c->in.num_devices <= 4);
    for (int32_t j = 0; j < c->in.num_tasks; j++)
        for (uint32_t set = 1; set < 1u << c->in.num_devices; set++) {
            int32_t device[4], num = 0;
            double rate;

            for (int32_t d = 0; d < c->in.num_devices; d++)
                if (set >> d & 1)
                    device[num++] = d;
            rate = num <= c->task[j].max_devices ? gnti_place_rate(&c->in, j, device, num) : 0.0;
            o.seconds[j][set] = rate > 0.0 ? c->task[j].epochs_left / rate : INFINITY;
            gangs |= num > 1 && rate > 0.0;
        }
    for (int32_t d = 0; d < c->in.num_devices; d++) {
        double sum = 0.0;

        for (int32_t j = 0; j < c->in.num_tasks; j++)
            sum += o.seconds[j][1u << d];
        o.price[d] = 1.0 / sum;
        o.worth += o.price[d];
    }
    for (int32_t j = 0; j < c->in.num_tasks; j++) {
        o.least[j] = INFINITY;
        for (int32_t d = 0; d < c->in.num_devices; d++)
            o.least[j] = fmin(o.least[j], o.price[d] * o.seconds[j][1u << d]);
    }
    try_singles(&o, 0, zero, 0.0);
    if (gangs)
        try_all(&o, (1u << c->in.num_tasks) - 1u, zero, 0.0, 0.0, 0.0);
    return o.best;
}

/* ---- cases ---- */

typedef struct family {
    const char *name;
    int32_t devices, max_tasks, max_devices;
    double serial, overhead, affinity; /* affinity: how unlike tasks are on the types */
    double move; /* epochs that a move costs; many: as the optimum, tasks stay where they start */
} family;

static double make_case(place_case *c, const family *f, int32_t most, draws *r, double *speed)
{
    int32_t count[PLACE_MAX_TYPES] = { 0 };
    const int32_t num = draw_int(r, 2, most);

    for (int32_t d = 0; d < f->devices; d++) {
        speed[d] = pow(2.0, draw_int(r, 0, 2));
        count[d] = 1;
    }
    place_case_devices(c, GNTI_POLICY_MAKESPAN, speed, count, f->devices);
    for (int32_t j = 0; j < num; j++) {
        double own[PLACE_MAX_TYPES];
        gnti_place_task *t;

        for (int32_t d = 0; d < f->devices; d++)
            own[d] = speed[d] * pow(2.0, draw(r, -f->affinity, f->affinity));
        t = place_case_add(c, own, draw(r, 5.0, 100.0), 50.0);
        t->max_devices = f->max_devices;
        t->serial = f->serial;
        t->overhead = f->overhead;
        t->switch_epochs = f->move;
    }
    return gnti_place_lower_bound(&c->in);
}

#define NEVER 1e4

static const family families[] = {
    { "one device a task", 3, 8, 1, 0.0, 0.0, 0.0, 0.5 },
    { "one device a task, no moves", 3, 8, 1, 0.0, 0.0, 0.0, NEVER },
    { "gangs of 3", 3, 8, 3, 0.05, 0.01, 0.0, 0.5 },
    { "gangs of 3, no moves", 3, 8, 3, 0.05, 0.01, 0.0, NEVER },
    { "gangs of 2 that scale badly", 3, 8, 2, 0.2, 0.05, 0.0, 0.5 },
    { "gangs of 2 that scale badly, no moves", 3, 8, 2, 0.2, 0.05, 0.0, NEVER },
    { "4 tasks on 4 devices", 4, 4, 4, 0.05, 0.02, 0.0, 0.5 },
    { "4 tasks on 4 devices, no moves", 4, 4, 4, 0.05, 0.02, 0.0, NEVER },
    { "unlike tasks", 3, 8, 1, 0.0, 0.0, 1.0, 0.5 },
    { "unlike tasks, no moves", 3, 8, 1, 0.0, 0.0, 1.0, NEVER },
    { "unlike tasks, gangs of 3", 3, 8, 3, 0.1, 0.02, 1.0, 0.5 },
    { "unlike tasks, gangs of 3, no moves", 3, 8, 3, 0.1, 0.02, 1.0, NEVER },
};

static void test_near_the_optimum(void **state)
{
    const int32_t num_families = (int32_t)(sizeof families / sizeof *families);
    double all = 0.0;

    (void)state;
    for (int32_t f = 0; f < num_families; f++) {
        double sum = 0.0, most = 0.0, to_bound = 0.0;
        const int32_t cases = 100;
        int64_t moves = 0;

        for (int32_t i = 0; i < cases; i++) {
            draws r = { .seed = (uint64_t)(1000 * f + i + 1) };
            place_case c;
            place_run run = { 0 };
            double speed[PLACE_MAX_TYPES];
            const bool few =
                families[f].max_devices > 1 && i % 12 != 0 && families[f].max_tasks > 6; /* for time's sake */
            const double bound = make_case(&c, &families[f], few ? 6 : families[f].max_tasks, &r, speed);
            const double best = find_optimum(&c);

            place_case_run(&c, speed, &run);
            if (run.makespan < bound * (1.0 - 1e-9) || best < bound * (1.0 - 1e-9))
                fail_msg("%s, case %d: %g or the optimum %g is below the bound %g", families[f].name, i,
                         run.makespan, best, bound);
            sum += run.makespan / best / cases;
            to_bound += run.makespan / bound / cases;
            most = fmax(most, run.makespan / best);
            moves += run.moves;
            if (run.makespan > best * (4.0 / 3.0))
                printf("%s, case %d: %g, optimum %g\n", families[f].name, i, run.makespan, best);
        }
        printf("%s: mean %.4f, worst %.4f of the optimum, %.4f of the bound, %.1f moves\n", families[f].name,
               sum, most, to_bound, (double)moves / cases);
        assert_true(sum <= 1.05 && most <= 4.0 / 3.0);
        all += sum / num_families;
    }
    assert_true(all <= 1.05);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_near_the_optimum),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
