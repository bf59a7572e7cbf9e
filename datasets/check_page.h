/* SPDX-License-Identifier: Apache-2.0 */
/* The page of `gnntrain check`: facts measured once, findings with the command that mends them. */
#ifndef GNTI_DATASETS_CHECK_PAGE_H
#define GNTI_DATASETS_CHECK_PAGE_H

#include "base/json.h"
#include "datasets/dataset.h"

typedef enum gnti_finding_level {
    GNTI_FINDING_ERROR,
    GNTI_FINDING_WARNING,
    GNTI_FINDING_NOTE
} gnti_finding_level;

/* A check under way; facts and findings are lent by the JSON root. */
typedef struct gnti_check {
    const gnt_dataset *data;
    gnti_json *facts, *findings;
    int64_t num_errors, num_warnings;
} gnti_check;

/* One more finding; fix NULL: nothing to be done. */
gnt_status gnti_check_add(gnti_check *c, gnti_finding_level level, const char *fix, const char *format, ...)
    GNT_PRINTF(4, 5);

gnt_status
gnti_check_structure(gnti_check *c); /* check_structure.c: symmetry, loops, degrees, components, sums */
gnt_status gnti_check_features(gnti_check *c); /* check_features.c: ranges, constants, label columns */
gnt_status gnti_check_labels(gnti_check *c);   /* check_labels.c: classes, homophily, splits, ids */
gnt_status gnti_check_splits(gnti_check *c);   /* check_splits.c: overlap, classes, equal nodes */

#endif
