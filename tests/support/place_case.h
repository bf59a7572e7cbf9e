/* SPDX-License-Identifier: Apache-2.0 */
/* Written and random inputs of gnti_place, and a loop that carries its plans out: tasks progress at the
 * speeds of their places until the next of them ends, then a new plan is asked for. No epochs, no noise:
 * what placement alone does.
 */
#ifndef GNT_PLACE_CASE_H
#define GNT_PLACE_CASE_H

#include "tests/support/gnt_test.h"

#include "ensemble/place.h"

enum { PLACE_MAX_TYPES = 4, PLACE_MAX_DEVICES = 16, PLACE_MAX_TASKS = 64 };

typedef struct place_case {
    gnti_place_input in;
    gnti_place_device device[PLACE_MAX_DEVICES];
    gnti_place_task task[PLACE_MAX_TASKS];
    double seconds[PLACE_MAX_TASKS][PLACE_MAX_TYPES];
    double received[PLACE_MAX_TASKS][PLACE_MAX_TYPES];
    int32_t held[PLACE_MAX_TASKS][PLACE_MAX_DEVICES];
} place_case;

/* Devices of types with these speeds, count of each; no tasks. The pointers of c->in point into c: it
 * stays where it is. */
void place_case_devices(place_case *c, gnti_policy policy, const double *speed, const int32_t *count,
                        int32_t num_types);
/* A task of `work` seconds at speed 1 in `epochs` epochs; the newest one. */
gnti_place_task *place_case_add(place_case *c, const double *speed, double work, double epochs);
/* Plans, checks the plan, and makes it what tasks hold. */
void place_case_plan(place_case *c);

typedef struct place_run {
    double makespan, mean_completion, busy, joules; /* busy: speed-weighted share of devices' time */
    int32_t moves, plans;
    /* in: */
    double lose_at; /* device `lose` goes then; 0: none */
    int32_t lose;
    double round; /* seconds, 0: none */
} place_run;
/* Until every task has ended; ended ones leave c. */
void place_case_run(place_case *c, const double *speed, place_run *run);

#endif
