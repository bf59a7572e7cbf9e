/* SPDX-License-Identifier: Apache-2.0 */
/* Time: seconds that only go forward, and the calendar for files. */
#ifndef GNTI_BASE_CLOCK_H
#define GNTI_BASE_CLOCK_H

#include <stddef.h>

/* Seconds since some start, never backwards. */
double gnti_clock_seconds(void);

/* Processor seconds of the whole process, all threads. */
double gnti_clock_cpu_seconds(void);

/* Now as "2024-05-01T12:00:00Z". */
enum { GNTI_CLOCK_UTC_BYTES = 32 };
void gnti_clock_utc(char out[GNTI_CLOCK_UTC_BYTES]);

#endif
