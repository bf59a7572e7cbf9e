/* SPDX-License-Identifier: Apache-2.0 */
/* What the files simulate*.c share: a world that is under way. Nobody else includes it.
 *
 *   simulate.c        the loop over moments        simulate_task.c    epochs, moves, failures of tasks
 *   simulate_heap.c   moments in order             simulate_device.c  devices that come, go and slow down
 *   simulate_log.c    the file of events           simulate_report.c  facts at the end; simulate_chart.c draws them
 * A moment that was overtaken (its task was moved, its device was lost) is told by its version and skipped: nothing is ever taken out of
 * the heap.
 */
#ifndef GNTI_ENSEMBLE_SIMULATE_STATE_H
#define GNTI_ENSEMBLE_SIMULATE_STATE_H

#include "base/file.h"
#include "base/json.h"
#include "ensemble/manager.h"
#include "ensemble/simulate.h"
#include "ensemble/simulate_world.h"

typedef enum gnti_moment_kind {
    GNTI_MOMENT_ARRIVAL,   /* index: of the task */
    GNTI_MOMENT_EPOCH,     /* its epoch ends */
    GNTI_MOMENT_PLACED,    /* its move is done */
    GNTI_MOMENT_FAILURE,   /* it fails */
    GNTI_MOMENT_LOSS,      /* index: of the device */
    GNTI_MOMENT_RETURN,    /* it is added again */
    GNTI_MOMENT_NOTICE,    /* it will leave */
    GNTI_MOMENT_HAPPENING, /* index: of what the trace says */
    GNTI_MOMENT_TICK
} gnti_moment_kind;

typedef struct gnti_moment {
    double time;
    int64_t sequence; /* of equal times the first that was pushed comes first */
    int64_t version;
    gnti_moment_kind kind;
    int32_t index;
} gnti_moment;

typedef struct gnti_moments {
    gnti_moment *heap;
    int64_t count, capacity, sequence;
} gnti_moments;

gnt_status gnti_moments_push(gnti_moments *h, gnti_moment_kind kind, double time, int32_t index,
                             int64_t version);
bool gnti_moments_pop(gnti_moments *h, gnti_moment *out); /* false: none is left */
const gnti_moment *gnti_moments_peek(const gnti_moments *h);

typedef struct gnti_live_seat {
    int32_t *device;
    double *share;
    int32_t num, capacity;
} gnti_live_seat;

typedef struct gnti_live_task {
    gnti_live_seat on, next; /* where it trains; where the action under way leads */
    int64_t generation, version;
    bool arrived, over, gave_up;
    bool training;   /* an epoch is under way */
    bool pending;    /* an action waits for the boundary */
    bool moving;     /* the move itself is under way */
    bool mixed;      /* this epoch ran at several shares */
    bool has_state;  /* it has trained before */
    double ready_at; /* the new devices are prepared */
    double move_seconds;
    double scale;                      /* of its seconds: it has shrunk */
    double done, kept;                 /* epochs; kept: in the last checkpoint */
    double trained;                    /* epochs that ran to their end, those that were lost too */
    double part, part_at, rate, noise; /* of this epoch: done at part_at, epochs a second, its factor */
    double epoch_began, began_at, ended_at;
    double noise_sum;   /* of the epochs that it trained */
    double fails_after; /* seconds of training */
    uint32_t failures, epochs_drawn;
} gnti_live_task;

typedef struct gnti_live_device {
    bool here, leaving;
    double factor; /* of its type's speed */
    int64_t version;
    uint32_t losses, notices;
} gnti_live_device;

typedef struct gnti_simulated {
    const gnti_world *world;
    gnti_manager *manager;
    gnti_moments moments;
    gnti_live_task *tasks;
    gnti_live_device *devices;
    double *seconds; /* (types) scratch of arrivals */
    double now, tick_at;
    int32_t num_arrived;
    bool check;
    gnti_file_writer *log; /* NULL: none */
    int64_t num_events, num_actions;
    int64_t fruitless;             /* moments since an epoch ended or a task arrived */
    double error_sum, error_count; /* of predictions: |predicted / measured - 1| of epochs on one device */
    double lost_epochs;
} gnti_simulated;

/* As gnti_simulate, of a world that was read; its settings are overruled. */
gnt_status gnti_simulate_world(const gnti_simulation *in, gnti_world *w, gnti_json **out);

/* An event goes to the manager and into the log; invariants after it where asked for. */
gnt_status gnti_simulated_send(gnti_simulated *s, gnti_event e);
gnt_status gnti_simulated_log_event(gnti_simulated *s, const gnti_event *e);
gnt_status gnti_simulated_log_action(gnti_simulated *s, const gnti_action *a);

/* ---- simulate_task.c ---- */
gnt_status gnti_simulated_arrive(gnti_simulated *s, int32_t task);
gnt_status gnti_simulated_obey(gnti_simulated *s, const gnti_action *a);
gnt_status gnti_simulated_epoch(gnti_simulated *s, int32_t task);
gnt_status gnti_simulated_placed(gnti_simulated *s, int32_t task);
gnt_status gnti_simulated_fail(gnti_simulated *s, int32_t task);
gnt_status gnti_simulated_end(gnti_simulated *s, int32_t task);
gnt_status gnti_simulated_shrink(gnti_simulated *s, int32_t task, double factor);
/* The device is gone: what was on it is off, what was under way to it stays where it was. */
gnt_status gnti_simulated_drop(gnti_simulated *s, int32_t task, int32_t device);
/* A device of its own changed speed. */
gnt_status gnti_simulated_rerate(gnti_simulated *s, int32_t task);
bool gnti_live_seat_has(const gnti_live_seat *seat, int32_t device);

/* ---- simulate_device.c ---- */
gnt_status gnti_simulated_add(gnti_simulated *s, int32_t device);
gnt_status gnti_simulated_lose(gnti_simulated *s, int32_t device);
gnt_status gnti_simulated_leave(gnti_simulated *s, int32_t device, double notice);
gnt_status gnti_simulated_slow(gnti_simulated *s, int32_t device, double factor);

/* ---- simulate_report.c ---- */
gnt_status gnti_simulated_report(gnti_simulated *s, gnti_json **out);
/* Bound and utilisation stand on true seconds, which the manager never sees. */
gnt_status gnti_simulated_facts(const gnti_simulated *s, gnti_manager_facts *out);
gnt_status gnti_simulated_conserved(const gnti_simulated *s); /* ERR_INTERNAL: work was lost or done twice */

/* ---- simulate_chart.c ---- */
gnt_status gnti_simulated_chart(gnti_simulated *s, const char *path); /* an SVG file */

#endif
