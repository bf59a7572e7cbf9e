/* SPDX-License-Identifier: Apache-2.0 */
/* Members from the paths that a user gives: files of predictions, folders of ensembles, folders of single runs. */
#ifndef GNTI_ENSEMBLE_VOTES_COLLECT_H
#define GNTI_ENSEMBLE_VOTES_COLLECT_H

#include "ensemble/combine.h"

typedef struct gnti_votes_list {
    gnti_votes *votes; /* (num) names differ */
    int64_t num, capacity;
    char **skipped; /* (num_skipped) members of runs without predictions */
    int64_t num_skipped, skipped_capacity;
} gnti_votes_list;

/* data was opened from data_path, which single runs are asked about again. ERR_FORMAT when a run belongs to another graph. */
gnt_status gnti_votes_collect(gnt_context *ctx, const char *data_path, const gnt_dataset *data,
                              const char *const *paths, int num_paths, gnti_votes_list *out);
/* ERR_FORMAT when the run's report says that it was trained on another graph. */
gnt_status gnti_votes_check_graph(const char *run, const gnti_json *report, const gnt_dataset *data);
void gnti_votes_list_free(gnti_votes_list *list);

#endif
