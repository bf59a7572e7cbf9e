/* SPDX-License-Identifier: Apache-2.0 */
/* Placement: which task runs on which devices now. A pure function of what it is given: no clock, no random
 * number, no state.
 *
 * A task is a group of members, as planners see it: epochs left, measured seconds of an epoch on each type
 * of device, how it speeds up over several, and bytes. A plan gives each task at most one place: one device
 * (alone or sharing it), or a gang of several. Bytes never exceed a device; a gang has all its devices or
 * none; at most one task of several devices per device. A plan of up to 512 tasks that is carried out and asked for again, with nothing else
 * changed, is the same: a task moves where that saves more than resize_gain of what is left, its move counted, and never back and forth.
 */
#ifndef GNTI_ENSEMBLE_PLACE_H
#define GNTI_ENSEMBLE_PLACE_H

#include "base/check.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum gnti_policy {
    GNTI_POLICY_MAKESPAN,   /* the last task ends as early as can be */
    GNTI_POLICY_FIRST_COME, /* in the order of arrival, the widest does not starve (conservative backfill) */
    GNTI_POLICY_SHORTEST,   /* shortest remaining first: mean completion */
    GNTI_POLICY_MAX_MIN,    /* Gavel: max-min share over device types, in rounds */
    GNTI_POLICY_ENERGY,     /* mean completion under a power budget */
    GNTI_POLICY_LEAST_SERVICE, /* type-blind least attained service: what max-min is compared with */
    GNTI_NUM_POLICIES
} gnti_policy;
#define GNTI_POLICY_WORDS "makespan|first-come|shortest|max-min|energy|least-service"

typedef struct gnti_place_device {
    int32_t type;                  /* < num_types: devices of a type are alike */
    bool present;                  /* false: lost, or taken away */
    int64_t bytes;                 /* capacity, 0: no limit */
    int64_t lanes;                 /* tasks that may share it, 0: as memory allows, 1: one alone */
    double idle_watts, busy_watts; /* of the stated model, or measured */
} gnti_place_device;

/* How a group speeds up over devices before any was seen to: a tenth is serial, each device costs a hundredth. */
#define GNTI_GANG_SERIAL   0.1
#define GNTI_GANG_OVERHEAD 0.01

typedef struct gnti_place_task {
    int64_t id;             /* of the task, stable */
    double arrival, weight; /* seconds; 1 */
    double epochs_left;
    const double
        *seconds; /* (num_types) of an epoch alone on one device of the type; INFINITY: cannot run there */
    double serial,
        overhead; /* speed-up over k equal devices: 1 / ((1 - serial) / k + serial + overhead (k - 1)) */
    int32_t max_devices; /* of a gang, at least 1 */
    int64_t shared_bytes, lasting_bytes,
        scratch_bytes;    /* on one device (fusion.h); of a gang see gnti_place_bytes */
    int32_t data;         /* tasks of equal number share their shared_bytes on a device */
    double use;           /* share of a device that it keeps busy when it is alone there; 0: 1, all of it */
    double switch_epochs; /* what a move costs, in epochs of its own */
    const int32_t *held;  /* devices that it has now, ascending */
    int32_t num_held;
    bool held_as_guest;     /* the plan that gave it these said so (gnti_place_plan.guest) */
    const double *received; /* (num_types) seconds of service so far; NULL: none (max-min, least-service) */
    bool foreground;        /* shares a device with others only if it is slowed at most 1.2x */
} gnti_place_task;

typedef struct gnti_place_input {
    gnti_policy policy;
    int32_t num_types, num_devices, num_tasks;
    const gnti_place_device *devices;
    const gnti_place_task *tasks;
    double now;
    double watts;  /* budget of GNTI_POLICY_ENERGY, 0: none */
    bool in_round; /* max-min, least-service: no round begins now, so running tasks stay where they are */
    double
        resize_gain; /* a running task moves only if that saves this share of what is left (0: default 0.05) */
} gnti_place_input;

/* Lists of devices per task, ascending, laid one after the other. */
typedef struct gnti_place_plan {
    int32_t *first; /* (num_tasks + 1) into device */
    int32_t *device;
    double *share; /* (as device) of the speed that it has alone there: 1 alone, less beside others */
    int32_t *lane; /* (as device) steps of one lane take turns in one piece of scratch memory */
    bool *guest;   /* (num_tasks) it has what the owner of its device leaves */
    double finish; /* predicted, seconds from now; INFINITY without any device */
} gnti_place_plan;

/* ERR_NOMEM when a task fits no set of devices that are present, or can run on none of their types: names
 * the task, its bytes and the largest device. Without any device all wait. Tasks that wait for a free
 * device have an empty list. plan is zeroed before use, to be freed. */
gnt_status gnti_place(const gnti_place_input *in, gnti_place_plan *plan);
void gnti_place_plan_free(gnti_place_plan *plan);

/* Whether there is a set of present devices that holds it and where it can run: what ERR_NOMEM says no to. */
bool gnti_place_fits(const gnti_place_input *in, int32_t task);

/* Speed in epochs a second of a task on these devices, alone; 0 where it cannot run. The slowest of a
 * gang does not set the pace: parts are cut by speed. */
double gnti_place_rate(const gnti_place_input *in, int32_t task, const int32_t *devices, int32_t num);
/* What each device of a place has to hold of a task that is alone there: shared and scratch are cut by
 * speed, with a margin for rows of neighbours, and weights are on each. */
typedef struct gnti_place_need {
    int64_t shared, lasting, scratch;
} gnti_place_need;
gnti_place_need gnti_place_bytes(const gnti_place_input *in, int32_t task, const int32_t *devices,
                                 int32_t num, int32_t at);
/* ERR_INTERNAL names a rule that a plan breaks: bytes, gangs, devices twice, shares over 1. For tests and
 * the simulator. */
gnt_status gnti_place_check(const gnti_place_input *in, const gnti_place_plan *plan);
/* max(sum of work / sum of speeds, the longest task at its best): no schedule ends earlier. 0 when there is
 * no memory to find out. */
double gnti_place_lower_bound(const gnti_place_input *in);

#endif
