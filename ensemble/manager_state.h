/* SPDX-License-Identifier: Apache-2.0 */
/* What the files manager*.c share: the state of tasks and devices. Nobody else includes it.
 *
 *   manager.c         life cycle, events          manager_learn.c   seconds per epoch from what was measured
 *   manager_task.c    what a task has and had     manager_plan.c    calls gnti_place, finds what differs
 *   manager_moves.c   differences become actions, when their devices are free (manager_room.c)
 *   manager_pace.c    how far off devices are
 *   manager_belief.c  how far off types are       manager_facts.c   what the report needs       manager_check.c   invariants
 * A task waits or runs; `held` is what it has, `flight` what the action under way gives it, `target` what the newest plan wants. A device
 * lists every task that holds it or is under way to it: this list is what can be over-booked.
 */
#ifndef GNTI_ENSEMBLE_MANAGER_STATE_H
#define GNTI_ENSEMBLE_MANAGER_STATE_H

#include "base/alloc.h"
#include "ensemble/manager.h"

#include <math.h>
#include <string.h>

/* A place: ascending devices with share and lane on each. */
typedef struct gnti_seat {
    int32_t *device, *lane;
    double *share;
    gnti_place_need *need; /* bytes on each device; known from the moment when the seat is taken */
    bool guest;            /* it has what the owner of the device leaves */
    int32_t num, capacity;
} gnti_seat;

typedef struct gnti_managed_task {
    gnti_place_task terms; /* what planners see: epochs_left, held and so on are set anew before each plan */
    double *profile;  /* (types) seconds as given, scaled by TASK_CHANGED; one block with the next five */
    double *seconds;  /* (types) as learned */
    double *planned;  /* (kinds) the same for planners: what terms.seconds points to */
    double *received; /* (kinds) seconds of service */
    double *measured; /* (types) epochs measured on the type so far; 1e-3: on a gang alone */
    double *past;     /* (types) seconds of the epochs up to past_epochs, as learned when it was larger */
    double past_epochs, past_weight; /* done when it changed last; those, as epochs of its present size */
    double epochs_total, epochs_done;
    double arrived_at, ended_at;
    double boundary_at;     /* when the last epoch ended, or the present placement began */
    double seated_since;    /* when the open spans began; waiting: when it began to wait */
    double planned_seconds; /* of an epoch, as the newest plan took it: drift is seen against it */
    double parked_at;       /* it fits nothing that is present since then; NaN: it does */
    gnti_seat held, flight, target;
    int64_t generation, answered,
        told;           /* of the newest action, the newest answered or void, the newest given out */
    int64_t seated;     /* of the action that gave it what it holds */
    double serviced_at; /* received is true up to here */
    int32_t failures;
    int32_t slot;  /* in active, -1: ended or given up */
    bool may_fall; /* its first epoch after a loss may be one that was done before */
    bool running;  /* has devices */
    bool moving;   /* an action is under way */
    bool wanting;  /* target differs from what it has or will have */
    bool hopeful;  /* is blocked by nobody who is blocked himself; of the newest round of issuing */
    bool has_run;  /* has had devices before */
    bool given_up;
} gnti_managed_task;

typedef struct gnti_managed_device {
    int32_t *tasks; /* (num_tasks) that hold it or are under way to it */
    int64_t num_tasks, capacity;
    int32_t type;      /* as it was added; the kind that planners see may be another (manager_pace.c) */
    int32_t off_times; /* epochs in a row that were off in one direction, and the sum of their logarithms */
    double off_sum;
    bool here, leaving; /* leaving: still here, for those who are on it */
    double here_since;
} gnti_managed_device;

/* Of the types: by how much what was given is off, in logarithms (manager_belief.c). */
typedef struct gnti_belief {
    double *mean;       /* (size) level, then types */
    double *covariance; /* (size, size) */
    double *gain;       /* (size) scratch */
    int32_t size;
} gnti_belief;

/* A pace that devices of a type have who are not as their type is. */
enum { GNTI_MANAGER_MAX_PACES = 6 };
typedef struct gnti_pace {
    int32_t type, users; /* users 0: nobody */
    double log_pace;     /* of the seconds of an epoch, relative to the type's */
} gnti_pace;

/* Devices of a type that came (+1) or went (-1): the lower bound asks what was there when. */
typedef struct gnti_presence {
    double time;
    int32_t type, change;
} gnti_presence;

struct gnti_manager {
    gnti_manager_config config;
    gnt_status status;
    double now, started_at; /* started_at: of the first task, NaN before */
    double plan_at;         /* when a plan is due because something changed; INFINITY: nothing did */
    bool freed;             /* targets or devices changed: actions may be possible */

    gnti_managed_task **tasks; /* (num_ids) by id, NULL: never arrived */
    int64_t num_ids, ids_capacity;
    int32_t *active;       /* (num_active) ids in order of arrival, -1: gone since the newest plan */
    gnti_place_task *view; /* (num_active) what gnti_place reads, filled before each plan */
    int64_t num_active, num_live, active_capacity, view_capacity;

    gnti_place_device *devices; /* as planners see them: present says whether new work may go there */
    gnti_managed_device *managed;
    int64_t num_devices, devices_capacity, managed_capacity;

    double *type_busy; /* (types) seconds that devices of the type were busy, of spans that are closed */
    gnti_belief belief;
    gnti_pace paces[GNTI_MANAGER_MAX_PACES]; /* of kinds num_types, num_types + 1, ... */
    bool types_moved;                        /* predictions of what was not measured are old */
    bool shrunk;                             /* a device holds less than was thought, since the newest plan */

    int32_t *wanting; /* (num_wanting) ids whose target differs */
    int64_t num_wanting, wanting_capacity;
    int32_t *queue; /* ids whose actions wait for gnti_manager_next, from queue_head on */
    int64_t queue_head, queue_length, queue_capacity;
    int32_t num_moving;

    double planned_at, planned_finish; /* of the newest plan */
    double round_at;                   /* next round */
    int64_t num_parked;

    gnti_span *spans; /* closed ones, then room for one more of each seat that is held or in flight */
    int64_t num_spans, num_seats, spans_capacity;
    gnti_presence *presence;
    int64_t num_presence, presence_capacity;
    gnti_manager_facts facts;
    double last_end, sum_completion;
    double arrived_epochs, done_epochs,
        dropped_epochs; /* dropped: left over when a task ended or was given up */
};

/* ---- manager_task.c ---- */
gnti_managed_task *gnti_managed_find(const gnti_manager *m, int64_t id); /* NULL: none, or no longer active */
gnt_status gnti_managed_arrive(gnti_manager *m, const gnti_event *e);
void gnti_managed_leave(gnti_manager *m,
                        gnti_managed_task *t); /* ended or given up: all that it has is free */
void gnti_managed_task_free(gnti_managed_task **t);
gnt_status gnti_seat_reserve(gnti_seat *seat, int32_t num);
int32_t gnti_seat_find(const gnti_seat *seat, int32_t device); /* index, -1: not there */
/* Share of a device that it keeps busy when it is alone there; and of its k-th device now. */
double gnti_managed_use(const gnti_managed_task *t);
double gnti_managed_busy(const gnti_managed_task *t, int32_t k);
/* The task sits down on what is in flight (RUN), or has nothing (HOLD); spans open and close at these times. */
void gnti_managed_sit(gnti_manager *m, gnti_managed_task *t, double left_at, double sat_at);
/* The seat in flight is taken from now on: both places are. */
gnt_status gnti_managed_take_off(gnti_manager *m, gnti_managed_task *t);
/* The device has left for good. */
void gnti_managed_device_gone(gnti_manager *m, int32_t device);
/* Seconds of service up to now. */
void gnti_managed_settle(const gnti_manager *m, gnti_managed_task *t);
/* It is off all devices, now; what is under way is void. */
void gnti_managed_stand(gnti_manager *m, gnti_managed_task *t);
/* What is under way is void, it keeps what it holds. */
void gnti_managed_cancel(gnti_manager *m, gnti_managed_task *t);

/* It is about to shrink: what it has trained so far took longer (manager_facts.c). */
void gnti_managed_note_past(const gnti_manager *m, gnti_managed_task *t, double scale);

/* ---- manager_pace.c ---- */
int32_t gnti_manager_num_kinds(const gnti_manager *m); /* types as planners see them */
double gnti_kind_seconds(const gnti_manager *m, const gnti_managed_task *t, int32_t kind);
/* An epoch of a task that is known on the type took exp(log_ratio) of what is expected of the device. True: it is the device's doing. */
bool gnti_managed_device_is_off(gnti_manager *m, int32_t device, double log_ratio);
void gnti_managed_device_forget(gnti_manager *m, int32_t device); /* it is as its type is, again */

/* ---- manager_belief.c ---- */
gnt_status gnti_belief_create(gnti_belief *b, int32_t num_types);
void gnti_belief_free(gnti_belief *b);
double gnti_belief_level(const gnti_belief *b);
double gnti_belief_type(const gnti_belief *b, int32_t type);
/* A task that was never measured took log_ratio on the type; or so much more than on another. Answer the largest change of a belief. */
double gnti_belief_tell(gnti_belief *b, int32_t type, double log_ratio);
double gnti_belief_compare(gnti_belief *b, int32_t type, int32_t other, double log_ratio);

/* ---- manager_learn.c ---- */
void gnti_managed_learn(gnti_manager *m, gnti_managed_task *t, double seconds);
void gnti_managed_predict(const gnti_manager *m, gnti_managed_task *t); /* types that were not measured */
double gnti_managed_epoch(const gnti_manager *m, const gnti_managed_task *t,
                          const gnti_seat *seat); /* seconds, as shared */

/* ---- manager_plan.c ---- */
/* One task alone, for rates and bytes. */
gnti_place_input gnti_managed_alone(const gnti_manager *m, const gnti_managed_task *t);
gnt_status gnti_manager_plan(gnti_manager *m);
/* A plan is due now; or once this share of what was left has passed since the newest one, so that what matters little and comes often
 * costs little. */
void gnti_manager_plan_now(gnti_manager *m);
void gnti_manager_plan_soon(gnti_manager *m, double share);

/* ---- manager_moves.c ---- */
/* Turns targets into actions as far as their devices are free. */
gnt_status gnti_manager_issue(gnti_manager *m);
gnt_status gnti_manager_give_up(gnti_manager *m, gnti_managed_task *t);

/* ---- manager_room.c ---- */
/* Bytes of the task on each device of the seat. */
void gnti_seat_set_needs(const gnti_manager *m, const gnti_managed_task *t, gnti_seat *seat);
/* Whether the tasks of a device's list, with `more` on the seat beside them (NULL: nobody), fit it; *why is a text then. */
bool gnti_manager_device_fits(const gnti_manager *m, int32_t device, const gnti_managed_task *more,
                              const gnti_seat *seat, const char **why);

/* The device holds less than all of its list as planned: so planners may fill a byte less from now on. */
void gnti_manager_device_short(gnti_manager *m, int32_t device);
/* Who is not parked and fits no present device any more is given up. */
gnt_status gnti_manager_give_up_misfits(gnti_manager *m);

/* ---- manager_facts.c ---- */
/* Seconds since the device came, or the first task if later. */
double gnti_managed_here(const gnti_manager *m, int32_t device);
/* A device of the type came (+1) or went (-1) now; room was made when it was added. */
void gnti_manager_note_presence(gnti_manager *m, int32_t type, int32_t change);

#endif
