/* SPDX-License-Identifier: Apache-2.0 */
/* A live ensemble: groups as trainers on threads (or in turn on a virtual clock), driven by the manager; its folder, its journal.
 *
 *   RUN/ensemble.yaml            the spec as given             RUN/journal.jsonl   append-only, what happened (journal.h)
 *   RUN/members/NAME/            checkpoint.h5, checkpoint.prev.h5, best.h5, metrics.jsonl, summary.json, logits.npy
 *   RUN/ensemble.h5              weights of members, temperature: what gnntrain predict RUN reads
 *   RUN/profile.json             seconds and bytes that groups took (group_profile.h)
 *   RUN/summary.json, report.json, report.html, log.txt
 * The same command goes on where an earlier one ended, whatever ended it. A run that is going on is resized by a request file
 * (RUN/requests/), which gnntrain ensemble resize writes and the run takes at its next epoch boundary and answers.
 */
#ifndef GNTI_ENSEMBLE_RUN_H
#define GNTI_ENSEMBLE_RUN_H

#include "ensemble/combine.h"
#include "ensemble/fusion.h"
#include "ensemble/manager.h"

#include <stdatomic.h>

typedef struct gnti_ensemble_config {
    const char *run;     /* folder */
    const char *devices; /* as gnt_trainer_config.devices; NULL: one */
    const char *partition;
    int64_t checkpoint_every; /* epochs */
    double time_limit, wait_limit;
    const atomic_int *stop; /* set from signal handlers: everything is saved, STOPPED */
} gnti_ensemble_config;

typedef struct gnti_ensemble_progress { /* for the command's bar */
    int32_t num_members, num_ended, num_failed, num_running;
    int64_t epochs_done, epochs_all;
    double seconds, seconds_left;
} gnti_ensemble_progress;
typedef void (*gnti_ensemble_watch)(const gnti_ensemble_progress *p, void *user);

/* Trains, combines, reports. Over MPI processes every process calls it; the root gets the summary, the others NULL. */
gnt_status gnti_ensemble_run(gnt_context *ctx, const gnti_spec *spec, const gnt_dataset *data,
                             const gnti_ensemble_config *config, gnti_ensemble_watch watch, void *user,
                             gnti_json **out_summary);

/* Asks the process that runs in this folder to go on with these devices; waits for its answer (wait_limit seconds, 0: for ever).
 * ERR_USAGE: nobody runs there, or it refuses, with its reason. */
gnt_status gnti_ensemble_resize(const char *run, const char *devices, double wait_limit, gnti_json **out);

#endif
