/* SPDX-License-Identifier: Apache-2.0 */
/* What a run folder keeps, read back for pictures and pages: the curves and the summary. */
#ifndef GNTI_TRAIN_RUN_READ_H
#define GNTI_TRAIN_RUN_READ_H

#include "base/json.h"

enum {
    GNTI_CURVE_TRAIN_LOSS,
    GNTI_CURVE_VALID_LOSS,
    GNTI_CURVE_TRAIN_METRIC,
    GNTI_CURVE_VALID_METRIC,
    GNTI_NUM_CURVES
};

typedef struct gnti_curves {
    int64_t count, capacity;
    double *epoch;
    double *value[GNTI_NUM_CURVES];
    double *low[GNTI_NUM_CURVES], *high[GNTI_NUM_CURVES]; /* mean -+ std over seeds, or NULL */
} gnti_curves;

typedef struct gnti_run_record {
    char *path, *name;  /* name: the last part of the path */
    char metric[32];    /* "accuracy" */
    gnti_json *summary; /* NULL: the run has not ended */
    gnti_curves curves;
    int64_t num_seeds;
} gnti_run_record;

/* ERR_IO when there is neither metrics.jsonl nor summary.json; a torn last line is passed over. */
gnt_status gnti_run_record_read(const char *path, gnti_run_record *out);
void gnti_run_record_free(gnti_run_record *run);

/* Test value of the run: the mean of several seeds (with their deviation, else NaN) or the one; NaN: no summary. */
double gnti_run_test_value(const gnti_run_record *run, double *out_deviation);

#endif
