/* SPDX-License-Identifier: Apache-2.0 */
/* An axis: the range of the data, where a value lies between two pixels, and round tick values with their
 * labels. */
#ifndef GNTI_REPORT_AXIS_H
#define GNTI_REPORT_AXIS_H

#include <stdbool.h>
#include <stdint.h>

enum { GNTI_AXIS_MAX_TICKS = 24, GNTI_AXIS_LABEL_BYTES = 40 };

typedef struct gnti_axis {
    double low, high; /* of the data, widened to round values by gnti_axis_finish */
    double from, to;  /* pixels of low and high */
    bool is_log, percent;
    bool whole;  /* only whole values so far, if set at the start: whole ticks */
    double step; /* between ticks of a linear axis */
    int32_t num_ticks;
    double ticks[GNTI_AXIS_MAX_TICKS];
} gnti_axis;

/* An axis without data yet; then add each value: NaN, beyond 1e300 and (log) values <= 0 are passed over. */
gnti_axis gnti_axis_begin(bool is_log, bool percent);
void gnti_axis_add(gnti_axis *axis, double value);
bool gnti_axis_is_empty(const gnti_axis *axis);
bool gnti_axis_shows(const gnti_axis *axis, double value); /* what gnti_axis_add takes */

/* Chooses about num_ticks round ticks. tight: ends at the data (x); else at ticks (y). */
void gnti_axis_finish(gnti_axis *axis, int32_t num_ticks, bool tight);

double gnti_axis_pixel(const gnti_axis *axis, double value);

/* "0.25", "25 %", "10k", "1e-05". */
void gnti_axis_label(const gnti_axis *axis, double value, char out[GNTI_AXIS_LABEL_BYTES]);

#endif
