/* SPDX-License-Identifier: Apache-2.0 */
/* The manager: a state machine that keeps tasks, devices and their times, and decides what runs where. Events in, actions out; it
 * knows no clock, no thread, no file. The live run (run.h) and the simulator (simulate.h) drive the same code.
 *
 *   gnti_manager_event(m, &event);                            as many as happened at this time
 *   while (gnti_manager_next(m, &action)) ...carry it out...  the plan is made anew here, once, when something changed
 *   gnti_manager_status(m)                                    whether planning failed
 * Times are the driver's: wall seconds, a virtual clock, or a simulated one. The manager learns seconds per epoch from the events
 * alone (exponential mean, 0.5; the seconds given at arrival are only where it starts) and never sees hidden speeds.
 *
 * A task has at most one action under way. It is answered by TASK_PLACED, until when both the old and the new devices count as taken;
 * so the driver never waits for a device: a RUN comes when its devices are free, and two tasks that change places are held first.
 */
#ifndef GNTI_ENSEMBLE_MANAGER_H
#define GNTI_ENSEMBLE_MANAGER_H

#include "ensemble/place.h"

typedef enum gnti_event_kind {
    GNTI_EVENT_TASK_ARRIVED, /* task filled in */
    GNTI_EVENT_DEVICE_ADDED, /* device filled in; a number that was lost may come back */
    GNTI_EVENT_DEVICE_LOST, /* device: tasks on it are retried from their last epoch; actions under way that name it are void */
    GNTI_EVENT_DEVICE_LEAVES, /* as an explicit resize: tasks move off at their next epoch boundary */
    GNTI_EVENT_EPOCH_DONE,    /* task, epochs done in all, seconds of the newest on the devices it has */
    GNTI_EVENT_TASK_CHANGED,  /* task: fewer members are left, its bytes and seconds shrink by `scale` */
    GNTI_EVENT_TASK_ENDED,
    GNTI_EVENT_TASK_FAILED, /* retried `retries` times from epochs_done, then given up */
    GNTI_EVENT_TASK_SHORT, /* it did not fit the devices that it was given: each of them holds less than was planned there. It is no
                             * retry: placed elsewhere, from epochs_done on; given up when no present device holds it any more */
    GNTI_EVENT_TASK_PLACED, /* the driver has carried out RUN or HOLD, which took `seconds` (up to `time`) */
    GNTI_EVENT_TICK         /* time passes: rounds of max-min, drift, patience */
} gnti_event_kind;

typedef struct gnti_event {
    gnti_event_kind kind;
    double time; /* one before the newest so far counts as that one */
    int64_t task;
    int32_t device;
    double epochs_done, seconds, scale;
    int64_t
        generation; /* EPOCH_DONE, TASK_PLACED, TASK_FAILED: of the action that it belongs to; 0: the newest.
                                            One of an older action is ignored */
    const gnti_place_task
        *new_task; /* TASK_ARRIVED: copied; its id is `task`, its held and received do not count */
    const gnti_place_device *new_device; /* DEVICE_ADDED */
} gnti_event;

typedef enum gnti_action_kind {
    GNTI_ACTION_RUN,    /* start or go on with the task on these devices, from the next epoch boundary on */
    GNTI_ACTION_HOLD,   /* pause it at the next epoch boundary, its state is kept */
    GNTI_ACTION_GIVE_UP /* it failed too often, or fits nothing that is left; not answered */
} gnti_action_kind;

typedef struct gnti_action {
    gnti_action_kind kind;
    int64_t task;
    int64_t generation;     /* rises with each action of a task */
    const int32_t *devices; /* lent until the next call; ascending */
    const double *shares;   /* of the speed that it has alone there */
    const int32_t *lanes;   /* steps of one lane of a device take turns in one piece of scratch memory */
    int32_t num_devices;
} gnti_action;

typedef struct gnti_manager gnti_manager;
typedef struct gnti_manager_config {
    gnti_policy policy;
    int32_t num_types;
    int32_t retries; /* of a failed task */
    double watts, resize_gain;
    double round_seconds; /* of max-min and least-service; 0: 360 */
    bool check;           /* the rules of each plan (gnti_place_check) */
    double patience; /* seconds that a task which fits nothing waits for a device before it is given up */
} gnti_manager_config;

enum {
    GNTI_MANAGER_MAX_ID = 1 << 24
}; /* ids of tasks are numbers from 0 on: a table is as long as the largest */

gnt_status gnti_manager_create(const gnti_manager_config *config, gnti_manager **out);
void gnti_manager_free(gnti_manager **m);
/* ERR_ARG: an event that cannot be (an unknown task or device, epochs that run backwards); nothing has changed. Events of tasks that have
 * ended or were taken off their devices meanwhile are no error: they are ignored. */
gnt_status gnti_manager_event(gnti_manager *m, const gnti_event *event);
bool gnti_manager_next(gnti_manager *m, gnti_action *action);
gnt_status
gnti_manager_status(const gnti_manager *m); /* the failure that made next answer false, OK: nothing to do */

/* When it wants a TICK at the latest; INFINITY: never. */
double gnti_manager_wants_tick(const gnti_manager *m);
bool gnti_manager_is_idle(const gnti_manager *m); /* no task is left */

/* ---- what the report needs ---- */
typedef struct gnti_manager_facts {
    double makespan, lower_bound, mean_completion, joules;
    double busy_speed_seconds, present_speed_seconds; /* utilisation is their quotient: weighted by speed */
    int64_t num_moves, num_retries, num_lost, num_given_up;
    double move_seconds, wait_seconds;
    int64_t num_tasks, num_ended, num_plans;
} gnti_manager_facts;
gnt_status gnti_manager_get_facts(const gnti_manager *m, gnti_manager_facts *out);
/* The same with bound and speeds from true seconds per epoch (tasks by id, types), where the driver knows them: the simulator. */
gnt_status gnti_manager_get_true_facts(const gnti_manager *m, const double *seconds, gnti_manager_facts *out);
/* Bytes that planners may fill of a device, as learned so far; 0: no limit. */
int64_t gnti_manager_device_bytes(const gnti_manager *m, int32_t device);
/* Seconds of an epoch of a task alone on a device of a type, as learned so far; NaN: no such task. */
double gnti_manager_epoch_seconds(const gnti_manager *m, int64_t task, int32_t type);
/* The bars of a Gantt chart so far: a task on a device from begin to end. Lent until the next call. */
typedef struct gnti_span {
    int64_t task;
    int32_t device;
    double begin, end, share;
} gnti_span;
int64_t gnti_manager_spans(gnti_manager *m, const gnti_span **out);
/* Those that have ended, in the order in which they did; there are never fewer. */
int64_t gnti_manager_closed_spans(const gnti_manager *m, const gnti_span **out);
/* ERR_INTERNAL names an invariant that does not hold: nothing over-booked, bytes within capacity, work conserved, generations rise. */
gnt_status gnti_manager_check(const gnti_manager *m);

#endif
