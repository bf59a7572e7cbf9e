/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks of the operating system. The monotonic one measures; the calendar is for people and never
 * subtracted. */
#include "base/clock.h"

#include <time.h>

static double seconds_of(clockid_t clock)
{
    struct timespec t = { 0 };

    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double gnti_clock_seconds(void)
{
    return seconds_of(CLOCK_MONOTONIC);
}

double gnti_clock_cpu_seconds(void)
{
    return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

void gnti_clock_utc(char out[GNTI_CLOCK_UTC_BYTES])
{
    const time_t now = time(NULL);
    struct tm parts = { 0 };

    gmtime_r(&now, &parts);
    if (strftime(out, GNTI_CLOCK_UTC_BYTES, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        out[0] = '\0';
}
