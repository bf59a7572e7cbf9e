/* SPDX-License-Identifier: Apache-2.0 */
/* The policy of drift.h. Medians keep one late epoch of a shared machine from moving anything; the alarm is for a device
 * that has really become slow, which must not cost five epochs.
 */
#include "train/drift.h"

#include "base/alloc.h"

#include <string.h>

#define ALARM_RATIO  1.5
#define DRIFT_RATIO  1.15
#define REFINE_RATIO 1.03
enum { ALARM_EPOCHS = 2, REST_EPOCHS = 2 };

gnt_status gnti_drift_create(int32_t num_devices, gnti_drift **out)
{
    gnt_status st = GNT_OK;
    gnti_drift *b = NULL;

    GNT_TRY(gnti_calloc_array(&b, 1));
    b->num_devices = num_devices;
    GNT_TRY(gnti_calloc_array(&b->seconds, (int64_t)num_devices * GNTI_DRIFT_WINDOW));
    GNT_TRY(gnti_calloc_array(&b->speed, num_devices));
    *out = b;
    b = NULL;
done:
    gnti_drift_free(&b);
    return st;
}

void gnti_drift_free(gnti_drift **b)
{
    if (b == NULL || *b == NULL)
        return;
    gnti_free((*b)->seconds);
    gnti_free((*b)->speed);
    gnti_free(*b);
    *b = NULL;
}

/* The slowest over the mean, of the devices that had work. */
static double ratio(const double *seconds, const double *work, int32_t num)
{
    double sum = 0.0, most = 0.0;
    int32_t count = 0;

    for (int32_t d = 0; d < num; d++) {
        if (work[d] <= 0.0)
            continue;
        sum += seconds[d];
        most = seconds[d] > most ? seconds[d] : most;
        count++;
    }
    return sum > 0.0 ? most * count / sum : 1.0;
}

/* The median of a device's window, by selection: a window is short. */
static double median(const gnti_drift *b, int32_t device)
{
    double sorted[GNTI_DRIFT_WINDOW];

    for (int32_t i = 0; i < b->filled; i++) {
        const double x = b->seconds[(int64_t)i * b->num_devices + device];
        int32_t at = i;

        for (; at > 0 && sorted[at - 1] > x; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = x;
    }
    return sorted[b->filled / 2];
}

/* The whole window's ratio, of medians. */
static double window_ratio(const gnti_drift *b, const double *work)
{
    double sum = 0.0, most = 0.0;
    int32_t count = 0;

    for (int32_t d = 0; d < b->num_devices; d++) {
        const double x = work[d] > 0.0 ? median(b, d) : 0.0;

        sum += x;
        most = x > most ? x : most;
        count += work[d] > 0.0;
    }
    return sum > 0.0 ? most * count / sum : 1.0;
}

/* Mean seconds of the epochs of an alarm, the newest ones. */
static double alarmed(const gnti_drift *b, int32_t device)
{
    double sum = 0.0;

    for (int32_t i = 1; i <= ALARM_EPOCHS; i++) {
        const int32_t row = (b->next - i + GNTI_DRIFT_WINDOW) % GNTI_DRIFT_WINDOW;

        sum += b->seconds[(int64_t)row * b->num_devices + device];
    }
    return sum / ALARM_EPOCHS;
}

/* Speeds of the newest window, or of the alarm's epochs: the rest of the window is of another time. */
static void take_speeds(gnti_drift *b, const double *work)
{
    for (int32_t d = 0; d < b->num_devices; d++) {
        const double took = b->alarms >= ALARM_EPOCHS ? alarmed(b, d) : median(b, d);

        if (work[d] > 0.0 && took > 0.0)
            b->speed[d] = work[d] / took;
    }
}

void gnti_drift_observe(gnti_drift *b, const double *seconds, const double *work, bool *move)
{
    const bool alarm = ratio(seconds, work, b->num_devices) > ALARM_RATIO;

    *move = false;
    if (b->rest > 0) {
        b->rest--;
        return;
    }
    memcpy(b->seconds + (int64_t)b->next * b->num_devices, seconds, (size_t)b->num_devices * sizeof *seconds);
    b->next = (b->next + 1) % GNTI_DRIFT_WINDOW;
    b->filled += b->filled < GNTI_DRIFT_WINDOW;
    b->alarms = alarm ? b->alarms + 1 : 0;
    if (b->alarms >= ALARM_EPOCHS) {
        *move = true;
    } else if (b->filled == GNTI_DRIFT_WINDOW) {
        *move = window_ratio(b, work) > (b->refine ? REFINE_RATIO : DRIFT_RATIO);
        b->refine = false;
    }
    if (!*move)
        return;
    take_speeds(b, work);
    b->refine = b->alarms >= ALARM_EPOCHS;
    b->filled = b->next = b->alarms = 0;
    b->rest = REST_EPOCHS;
}
