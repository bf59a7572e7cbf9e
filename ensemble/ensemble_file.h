/* SPDX-License-Identifier: Apache-2.0 */
/* RUN/ensemble.h5: which members make the predictor of a run, with what weights, by which rule. The run writes it when it has
 * combined its members; gnntrain predict RUN and eval RUN read it, and the members' own folders RUN/members/NAME beside it.
 *
 *   attributes of /   format "gnntrain-ensemble", format_version "1.0", combine (a word of GNTI_COMBINE_WORDS), labels (class,
 *                     multi, ...), fell_back 0 or 1, best_member, spec_sha256, data (path), content_sha256, split
 *   /temperature      (1) 1: none
 *   /members/name     (M) texts: folders           /members/weight   (M) sum 1; 0: not used
 *   /members/drop_features, drop_edges, view_seed   (M) of their views, when some member has one
 * Numbers carry a sum (datasets/h5_value.h): a damaged file is refused.
 */
#ifndef GNTI_ENSEMBLE_ENSEMBLE_FILE_H
#define GNTI_ENSEMBLE_ENSEMBLE_FILE_H

#include "ensemble/combine.h"
#include "ensemble/spec.h"

#define GNTI_ENSEMBLE_FILE    "ensemble.h5"
#define GNTI_ENSEMBLE_MEMBERS "members" /* folder of the members' folders */

typedef struct gnti_ensemble_file {
    gnti_combine how; /* as gnti_combined has it: mean when fell_back */
    gnt_label_kind kind;
    double temperature;
    bool fell_back;
    int32_t best_member, num_members;
    char **name;            /* (num_members) of a folder in RUN/members */
    double *weight;         /* (num_members) */
    gnti_member_view *view; /* (num_members) what a member does not see, of any graph; NULL: all see all */
    char *spec_sha256, *data, *content_sha256, *split; /* NULL: not known */
} gnti_ensemble_file;

/* RUN/ensemble.h5, complete or not at all. */
gnt_status gnti_ensemble_file_write(const gnti_ensemble_file *e, const char *run);
/* Whether RUN is the folder of an ensemble: it has such a file. */
bool gnti_ensemble_file_exists(const char *run);
/* ERR_IO when it is not there, ERR_FORMAT when it is damaged or says what cannot be (weights, temperature, names of folders). out
 * is zeroed before use; to be freed. */
gnt_status gnti_ensemble_file_open(const char *run, gnti_ensemble_file *out);
void gnti_ensemble_file_free(gnti_ensemble_file *e);

#endif
