/* SPDX-License-Identifier: Apache-2.0 */
/* The run folder: config.yaml, metrics.jsonl, metrics.csv, log.txt, summary.json, best.h5 and the
 * checkpoints.
 *
 * With several seeds each member has RUN/seed-S/ with metrics, summary and best weights of its own, as a lone
 * run with that seed would write them; RUN/ itself holds means, one checkpoint of all members and the summary
 * over them.
 */
#ifndef GNTI_TRAIN_RUN_FOLDER_H
#define GNTI_TRAIN_RUN_FOLDER_H

#include "train/trainer_state.h"

/* Makes the folder, tries to write in it (ERR_OUTPUT names it). seeds NULL: of an ensemble. */
gnt_status gnti_run_create(const char *path, const uint64_t *seeds, int32_t num_members, gnti_run **out);
void gnti_run_free(gnti_run **run);
const char *gnti_run_path(const gnti_run *run);
const char *gnti_run_checkpoint(const gnti_run *run);          /* RUN/checkpoint.h5 */
const char *gnti_run_previous_checkpoint(const gnti_run *run); /* RUN/checkpoint.prev.h5 */
/* RUN/NAME or, for member >= 0 of several, RUN/seed-S/NAME; to be freed. */
gnt_status gnti_run_join(const gnti_run *run, int32_t member, const char *name, char **out);

/* Whether the folder's process is gone: nobody has its lock. False where locks tell nothing. */
bool gnti_run_is_abandoned(const char *folder);

/* Removes what an earlier run left: checkpoints, best weights, summaries. For --resume never. */
gnt_status gnti_run_clear(gnti_run *run);

/* Metrics lines up to `epoch` stay, later ones (and a torn last line) go. */
gnt_status gnti_run_cut_metrics(gnti_run *run, int64_t epoch);

/* The same for a folder that holds one member of a trainer: lines as a lone run writes them. */
gnt_status gnti_folder_write_metrics(const char *folder, const gnt_epoch_stats *stats, int32_t member);
gnt_status gnti_folder_cut_metrics(const char *folder, int64_t epoch);

/* One line in each metrics file; allocates nothing. */
gnt_status gnti_run_write_metrics(gnti_run *run, const gnt_trainer *tr, const gnt_epoch_stats *stats);
/* The metrics files reach the disk: before a checkpoint that counts on them. */
gnt_status gnti_run_sync_metrics(gnti_run *run);

/* A line with the time in log.txt. */
gnt_status gnti_run_log(gnti_run *run, const char *format, ...) GNT_PRINTF(2, 3);

/* Whether summary.json says that the run is complete. */
bool gnti_run_has_summary(const gnti_run *run);

/* config.yaml: every setting in effect. */
gnt_status gnti_run_write_config(gnti_run *run, const gnt_trainer *tr);
/* The same from a text that the caller made, which knows where each value came from. */
gnt_status gnti_run_write_config_text(gnti_run *run, const gnt_trainer *tr, const char *yaml);

/* summary.json of the run and of each seed; outcome "complete", "stopped" or "failed" with its text or NULL.
 */
gnt_status gnti_run_write_summary(gnti_run *run, const gnt_trainer *tr, const char *outcome,
                                  const char *message);

#endif
