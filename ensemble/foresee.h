/* SPDX-License-Identifier: Apache-2.0 */
/* A run foreseen: the groups of a spec on some devices, and the manager driven through predicted seconds until all have ended.
 * Nothing is trained, nothing is written; the dataset may be a header.
 *
 *   foresee.c        from spec to facts                   foresee_devices.c   devices, their types, rates measured for milliseconds
 *   foresee_time.c   the manager in predicted time        foresee_facts.c     JSON
 * Seconds of an epoch are the forecast of the group's program at the rates of each type of device; a group of members of unlike
 * length gets cheaper as they end.
 */
#ifndef GNTI_ENSEMBLE_FORESEE_H
#define GNTI_ENSEMBLE_FORESEE_H

#include "base/json.h"
#include "ensemble/fusion.h"
#include "ensemble/group_profile.h"
#include "ensemble/manager.h"
#include "ensemble/pool_device.h"
#include "train/job.h"

typedef struct gnti_foreseen_device {
    char name[GNTI_POOL_NAME_BYTES];
    int32_t type;
    int64_t bytes; /* limit, 0: none */
    double speed;  /* by the probe; 1: the slowest */
    gnti_rates rates;
} gnti_foreseen_device;

typedef struct gnti_foreseen_devices {
    gnti_job job;
    gnti_foreseen_device *list; /* (num) */
    int32_t num, num_types;
} gnti_foreseen_devices;

/* Zeroed before use. devices: as of gnt_trainer_config. */
gnt_status gnti_foreseen_devices_open(gnt_context *ctx, const char *devices, gnti_foreseen_devices *out);
void gnti_foreseen_devices_close(gnti_foreseen_devices *d);

typedef struct gnti_foreseen_group {
    const gnti_fused_group *group; /* lent */
    double *seconds;               /* (types) of an epoch with all its members */
    double *predicted;             /* (types) the same by the forecast, where `seconds` were measured */
    int64_t measured_bytes;        /* the most of all types, 0: not measured */
    int32_t num_measured;          /* types */
    double epochs;                 /* of that length that are as long as all its epochs */
    int32_t max_devices, data;     /* data: of its view, 0: the dataset */
    int32_t after;                 /* the group that must have ended before it begins, -1: none */
} gnti_foreseen_group;

typedef struct gnti_foreseen {
    const gnti_spec *spec;
    gnti_foreseen_devices devices;
    gnti_fused_group *fused;
    gnti_foreseen_group *groups; /* (num_groups) */
    int32_t num_groups;
    int32_t *group_of; /* (members) */
    gnti_span *spans;  /* task: number of the group */
    int64_t num_spans;
    double makespan, lower_bound, utilisation;
} gnti_foreseen;

/* foresee_time.c: fills spans and what follows from them. ERR_NOMEM names a group that fits nowhere. */
gnt_status gnti_foreseen_run(gnti_foreseen *p);
void gnti_foreseen_place_task(const gnti_foreseen *p, int32_t group, gnti_place_task *out);
void gnti_foreseen_place_devices(const gnti_foreseen *p, gnti_place_device *out); /* (num) */
/* foresee_facts.c */
gnt_status gnti_foreseen_facts(const gnti_foreseen *p, gnti_json **out);

#endif
