/* SPDX-License-Identifier: Apache-2.0 */
/* The world of the simulator: what the inventory and the trace say, expanded. The manager sees little of it.
 *
 * Random numbers are Philox draws keyed by (seed, what for, of which, how often): each task and device has its own, so what happens to one
 * does not depend on what others do.
 */
#ifndef GNTI_ENSEMBLE_SIMULATE_WORLD_H
#define GNTI_ENSEMBLE_SIMULATE_WORLD_H

#include "ensemble/place.h"

#include "base/yaml.h"

typedef struct gnti_world_settings {
    int32_t policy;
    int64_t retries, round_seconds, checkpoint_every;
    double resize_gain, watts, patience;
    double noise;                         /* of an epoch's seconds, relative standard deviation */
    int32_t moves;                        /* 0: resize, 1: restart */
    double start, pause, bandwidth, disk; /* costs of moves, seconds and GiB a second */
    double straggling, straggle_factor;   /* share of devices, and their speed */
    int32_t failure_law;                  /* 0: none, 1: exponential, 2: weibull */
    double failure_mean, failure_shape, repair;
    double departure_mean, notice, away; /* of devices that leave with notice; mean 0: none do */
    double task_failure_mean;            /* seconds of training between failures of a task, 0: none */
} gnti_world_settings;

typedef struct gnti_world_type {
    char *name;
    int64_t count, lanes;
    double speed, memory, idle_watts, busy_watts;
} gnti_world_type;

typedef struct gnti_world_device {
    int32_t type, number; /* "type-number" */
    double factor;        /* of its speed: a straggler's is less than 1 */
} gnti_world_device;

typedef struct gnti_world_row { /* tasks of one entry of the trace */
    char *name, *epochs, *seconds, *ends;
    int64_t count, max_devices, data;
    double arrival, every, serial, overhead, shared, lasting, scratch, use, weight, switch_epochs;
    int32_t gaps, given; /* 0: even, 1: exponential; 0: exact, 1: rough, 2: unknown */
    bool foreground;
    double *speed; /* (types) of this entry's tasks; 0: cannot run there */
} gnti_world_row;

typedef struct gnti_world_task {
    int32_t row, number;             /* "name-number", the name alone when there is one */
    double arrival, epochs, seconds; /* of an epoch at speed 1 */
    double last_epoch;               /* at which it ends, early or not */
} gnti_world_task;

typedef enum gnti_happening_kind {
    GNTI_HAPPENING_LOSE,
    GNTI_HAPPENING_ADD,
    GNTI_HAPPENING_LEAVE,
    GNTI_HAPPENING_SLOW,
    GNTI_HAPPENING_FAIL,
    GNTI_HAPPENING_END,
    GNTI_HAPPENING_SHRINK
} gnti_happening_kind;
#define GNTI_HAPPENING_WORDS "lose|add|leave|slow|fail|end|shrink"

typedef struct gnti_happening {
    double at, value; /* value: factor of SLOW and SHRINK, notice of LEAVE */
    gnti_happening_kind kind;
    int32_t index; /* of the device or task */
} gnti_happening;

typedef struct gnti_world {
    gnti_world_settings settings;
    gnti_world_type *types;
    gnti_world_device *devices;
    gnti_world_row *rows;
    gnti_world_task *tasks;
    gnti_happening *happenings;
    int32_t num_types, num_devices, num_rows, num_tasks, num_happenings;
    int64_t tasks_capacity;
    double num_epochs; /* of all tasks */
    uint64_t seed;
} gnti_world;

/* Both files; ERR_FORMAT names file, line and key. */
gnt_status gnti_world_read(const char *inventory, const char *trace, uint64_t seed, gnti_world **out);
gnt_status gnti_world_make(const gnti_yaml *inventory, const gnti_yaml *trace, uint64_t seed,
                           gnti_world **out);
void gnti_world_free(gnti_world **w);

/* "fast-0", "wide-3". */
enum { GNTI_WORLD_NAME_BYTES = 96 };
const char *gnti_world_device_name(const gnti_world *w, int32_t device, char out[GNTI_WORLD_NAME_BYTES]);
const char *gnti_world_task_name(const gnti_world *w, int32_t task, char out[GNTI_WORLD_NAME_BYTES]);

/* Speed of a type for a task, relative to the one that `seconds` is about; 0: cannot run there. */
double gnti_world_speed(const gnti_world *w, int32_t task, int32_t type);
/* What the manager is told: seconds (types), and the rest of the terms. */
void gnti_world_terms(const gnti_world *w, int32_t task, double *seconds, gnti_place_task *out);

typedef enum gnti_world_draw {
    GNTI_WORLD_EPOCHS,
    GNTI_WORLD_SECONDS,
    GNTI_WORLD_ENDS,
    GNTI_WORLD_ARRIVAL,
    GNTI_WORLD_GIVEN,
    GNTI_WORLD_STRAGGLER,
    GNTI_WORLD_NOISE,
    GNTI_WORLD_FAILURE,
    GNTI_WORLD_DEPARTURE,
    GNTI_WORLD_AWAY,
    GNTI_WORLD_TASK_FAILURE
} gnti_world_draw;
/* In (0, 1), (0, inf) with mean 1, and standard normal. */
double gnti_draw_uniform(uint64_t seed, gnti_world_draw what, int64_t of, uint32_t count);
double gnti_draw_exponential(uint64_t seed, gnti_world_draw what, int64_t of, uint32_t count);
double gnti_draw_normal(uint64_t seed, gnti_world_draw what, int64_t of, uint32_t count);

/* ---- between simulate_inventory.c and simulate_trace.c ---- */
gnt_status gnti_world_inventory_read(const gnti_yaml_node *root, gnti_world *w);
gnt_status gnti_world_trace_read(const gnti_yaml_node *root, gnti_world *w);
/* ERR_FORMAT unless the name of this map can stand in names of devices and tasks. */
gnt_status gnti_world_name_check(const gnti_yaml_node *map, const char *name);
void gnti_world_inventory_free(gnti_world *w);
void gnti_world_trace_free(gnti_world *w);

#endif
