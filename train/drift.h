/* SPDX-License-Identifier: Apache-2.0 */
/* When measured seconds say that chunks should move: a pure state machine of numbers, no clocks and no ranks in it.
 *
 * Each epoch it gets the compute seconds and the work (sum of chunk costs) of every device. It answers that the chunks should
 * be laid out anew, on devices whose speeds are work / seconds, when
 *   the slowest device took over 1.5 times the mean in two epochs running (the alarm), or
 *   over 1.15 times the mean, by medians of five epochs; 1.03 once after an alarm, whose two epochs tell speeds roughly
 * and then looks away for two epochs. Devices without work have no say, and keep the speed last seen.
 */
#ifndef GNTI_TRAIN_DRIFT_H
#define GNTI_TRAIN_DRIFT_H

#include "base/check.h"

#include <stdbool.h>
#include <stdint.h>

enum { GNTI_DRIFT_WINDOW = 5 };

typedef struct gnti_drift {
    int32_t num_devices;
    int32_t filled, next; /* of the window */
    int32_t alarms, rest; /* epochs over the upper bound running; epochs to look away */
    bool refine;          /* the last move was an alarm's */
    double *seconds;      /* (GNTI_DRIFT_WINDOW, num_devices) */
    double *speed;        /* (num_devices) work / seconds; 0: never seen */
} gnti_drift;

gnt_status gnti_drift_create(int32_t num_devices, gnti_drift **out);
void gnti_drift_free(gnti_drift **b);

/* One epoch; *move tells whether chunks should move now, onto devices of speeds b->speed. */
void gnti_drift_observe(gnti_drift *b, const double *seconds, const double *work, bool *move);

#endif
