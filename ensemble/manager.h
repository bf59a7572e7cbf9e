/* SPDX-License-Identifier: Apache-2.0 */
/* The manager: a state machine that keeps tasks, devices and their times, and decides what runs where. Events in, actions out; it
 * knows no clock, no thread, no file. The live run (run.h) and the simulator (simulate.h) drive the same code.
 *
 *   gnti_manager_event(m, &event);
 *   while (gnti_manager_next(m, &action)) ...carry it out...
 * Times are the driver's: wall seconds, a virtual clock, or a simulated one. The manager learns seconds per epoch from the events
 * alone (exponential mean, 0.5) and never sees hidden speeds.
 */
#ifndef GNTI_ENSEMBLE_MANAGER_H
#define GNTI_ENSEMBLE_MANAGER_H

#include "ensemble/place.h"

typedef enum gnti_event_kind {
    GNTI_EVENT_TASK_ARRIVED,  /* task filled in */
    GNTI_EVENT_DEVICE_ADDED,  /* device filled in; a number that was lost may come back */
    GNTI_EVENT_DEVICE_LOST,   /* device: tasks on it are retried from their last epoch */
    GNTI_EVENT_DEVICE_LEAVES, /* as an explicit resize: tasks move off at their next epoch boundary */
    GNTI_EVENT_EPOCH_DONE,    /* task, epochs done in all, seconds of the newest on the devices it has */
    GNTI_EVENT_TASK_CHANGED,  /* task: fewer members are left, its bytes and seconds shrink by `scale` */
    GNTI_EVENT_TASK_ENDED,
    GNTI_EVENT_TASK_FAILED, /* retried `retries` times from epochs_done, then reported */
    GNTI_EVENT_TASK_PLACED, /* the driver has carried out RUN or HOLD, which took `seconds` */
    GNTI_EVENT_TICK         /* time passes: rounds of max-min, drift */
} gnti_event_kind;

typedef struct gnti_event {
    gnti_event_kind kind;
    double time;
    int64_t task;
    int32_t device;
    double epochs_done, seconds, scale;
    const gnti_place_task *new_task;     /* TASK_ARRIVED: copied; its id is `task` */
    const gnti_place_device *new_device; /* DEVICE_ADDED */
} gnti_event;

typedef enum gnti_action_kind {
    GNTI_ACTION_RUN,    /* start or go on with the task on these devices, from the next epoch boundary on */
    GNTI_ACTION_HOLD,   /* pause it at the next epoch boundary, its state is kept */
    GNTI_ACTION_GIVE_UP /* it failed too often, or fits nothing that is left */
} gnti_action_kind;

typedef struct gnti_action {
    gnti_action_kind kind;
    int64_t task;
    const int32_t *devices; /* lent until the next call */
    const double *shares;
    int32_t num_devices;
} gnti_action;

typedef struct gnti_manager gnti_manager;
typedef struct gnti_manager_config {
    gnti_policy policy;
    int32_t num_types;
    int32_t retries; /* of a failed task */
    double watts, resize_gain;
    double round_seconds; /* of max-min and least-service */
} gnti_manager_config;

gnt_status gnti_manager_create(const gnti_manager_config *config, gnti_manager **out);
void gnti_manager_free(gnti_manager **m);
gnt_status gnti_manager_event(gnti_manager *m, const gnti_event *event);
bool gnti_manager_next(gnti_manager *m, gnti_action *action);

/* When it wants a TICK at the latest; INFINITY: never. */
double gnti_manager_wants_tick(const gnti_manager *m);
bool gnti_manager_is_idle(const gnti_manager *m); /* no task is left */

/* ---- what the report needs ---- */
typedef struct gnti_manager_facts {
    double makespan, lower_bound, mean_completion, joules;
    double busy_speed_seconds, present_speed_seconds; /* utilisation is their quotient: weighted by speed */
    int64_t num_moves, num_retries, num_lost, num_given_up;
    double move_seconds, wait_seconds;
} gnti_manager_facts;
void gnti_manager_get_facts(const gnti_manager *m, gnti_manager_facts *out);
/* The bars of a Gantt chart so far: a task on a device from begin to end. Lent. */
typedef struct gnti_span {
    int64_t task;
    int32_t device;
    double begin, end, share;
} gnti_span;
int64_t gnti_manager_spans(const gnti_manager *m, const gnti_span **out);
/* ERR_INTERNAL names an invariant that does not hold: nothing over-booked, bytes within capacity, work conserved. */
gnt_status gnti_manager_check(const gnti_manager *m);

#endif
