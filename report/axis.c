/* SPDX-License-Identifier: Apache-2.0 */
/* Ticks: the step is 1, 2 or 5 times a power of ten (Heckbert's loose labels, Graphics Gems 1990); a
 * logarithmic axis takes powers of ten, with 2 and 5 between them when they are few.
 */
#include "report/axis.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

gnti_axis gnti_axis_begin(bool is_log, bool percent)
{
    return (gnti_axis){
        .low = (double)INFINITY, .high = -(double)INFINITY, .is_log = is_log, .percent = percent
    };
}

bool gnti_axis_shows(const gnti_axis *axis, double value)
{
    return fabs(value) < 1e300 && (!axis->is_log || value > 1e-300); /* false for NaN */
}

void gnti_axis_add(gnti_axis *axis, double value)
{
    if (!gnti_axis_shows(axis, value))
        return;
    axis->whole = axis->whole && floor(value) >= value;
    axis->low = fmin(axis->low, value);
    axis->high = fmax(axis->high, value);
}

bool gnti_axis_is_empty(const gnti_axis *axis)
{
    return !(axis->low <= axis->high);
}

/* The round step nearest above span / num_ticks. */
static double round_step(double span, int32_t num_ticks)
{
    const double raw = span / (double)num_ticks;
    const double power = pow(10.0, floor(log10(raw)));
    const double lead = raw / power;

    return power * (lead <= 1.0 ? 1.0 : lead <= 2.0 ? 2.0 : lead <= 5.0 ? 5.0 : 10.0);
}

static void add_tick(gnti_axis *axis, double value)
{
    if (axis->num_ticks < GNTI_AXIS_MAX_TICKS)
        axis->ticks[axis->num_ticks++] = value;
}

static void finish_linear(gnti_axis *axis, int32_t num_ticks, bool tight)
{
    const double size = fmax(fabs(axis->low), fabs(axis->high));

    if (axis->high - axis->low <= 1e-9 * size ||
        axis->high - axis->low < 1e-300) { /* one value: some room around it */
        const double room = size > 1e-290 ? 0.05 * size : 1.0;

        axis->low -= room;
        axis->high += room;
    }
    axis->step = round_step(axis->high - axis->low, num_ticks);
    if (axis->whole && axis->step < 1.0)
        axis->step = 1.0;
    if (!tight) {
        axis->low = floor(axis->low / axis->step + 1e-9) * axis->step;
        axis->high = ceil(axis->high / axis->step - 1e-9) * axis->step;
    }
    const double first = ceil(axis->low / axis->step - 1e-9), last = floor(axis->high / axis->step + 1e-9);

    for (double k = first; k <= last && axis->num_ticks < GNTI_AXIS_MAX_TICKS; k += 1.0)
        add_tick(axis, k * axis->step);
}

static void finish_log(gnti_axis *axis, int32_t num_ticks, bool tight)
{
    static const double between[] = { 1.0, 2.0, 5.0 };
    double first = floor(log10(axis->low) + 1e-9), last = ceil(log10(axis->high) - 1e-9);

    if (last - first < 1.0)
        last = first + 1.0;
    if (!tight) { /* end at 1, 2 or 5 when the data stays well inside its decades */
        const double low = axis->low, high = axis->high;

        axis->low = pow(10.0, first);
        axis->high = pow(10.0, last);
        for (int i = 1; i < 3; i++) {
            if (pow(10.0, first) * between[i] <= low)
                axis->low = pow(10.0, first) * between[i];
            if (pow(10.0, last - 1.0) * between[3 - i] >= high &&
                pow(10.0, last - 1.0) * between[3 - i] > axis->low)
                axis->high = pow(10.0, last - 1.0) * between[3 - i];
        }
    }
    const double stride = fmax(1.0, ceil((last - first) / (double)num_ticks));
    const bool dense = last - first <= 2.0;

    for (double k = first; k <= last; k += stride)
        for (int i = 0; i < (dense ? 3 : 1); i++)
            if (pow(10.0, k) * between[i] >= axis->low * 0.999 &&
                pow(10.0, k) * between[i] <= axis->high * 1.001)
                add_tick(axis, pow(10.0, k) * between[i]);
}

void gnti_axis_finish(gnti_axis *axis, int32_t num_ticks, bool tight)
{
    if (gnti_axis_is_empty(axis)) {
        axis->low = axis->is_log ? 0.1 : 0.0;
        axis->high = 1.0;
        return; /* no ticks */
    }
    if (axis->is_log)
        finish_log(axis, num_ticks, tight);
    else
        finish_linear(axis, num_ticks, tight);
}

double gnti_axis_pixel(const gnti_axis *axis, double value)
{
    const double share = axis->is_log ? log(value / axis->low) / log(axis->high / axis->low)
                                      : (value - axis->low) / (axis->high - axis->low);

    return axis->from + share * (axis->to - axis->from);
}

static void write_label(const gnti_axis *axis, double value, char out[GNTI_AXIS_LABEL_BYTES])
{
    const double scale = axis->percent ? 100.0 : 1.0, shown = value * scale;
    const char *unit = axis->percent ? " %" : "";
    double step = axis->is_log ? fabs(shown) : axis->step * scale;
    char number[GNTI_NUMBER_BYTES];
    int decimals = 0;

    if (!axis->is_log && fabs(shown) < 1e-9 * step) {
        snprintf(out, GNTI_AXIS_LABEL_BYTES, "0%s", unit);
        return;
    }
    if (fabs(shown) >= 1e10 || step < 1e-5) {
        snprintf(number, sizeof number, "%.6g", shown);
        snprintf(out, GNTI_AXIS_LABEL_BYTES, "%s%s", number, unit);
        return;
    }
    if (fabs(shown) >= 1e4) {
        const double thousand = fabs(shown) >= 1e6 ? 1e6 : 1e3;

        snprintf(number, sizeof number, "%.6g", shown / thousand);
        snprintf(out, GNTI_AXIS_LABEL_BYTES, "%s%s%s", number, thousand > 1e5 ? "M" : "k", unit);
        return;
    }
    for (; decimals < 6 && step < 0.999999; decimals++)
        step *= 10.0;
    snprintf(out, GNTI_AXIS_LABEL_BYTES, "%.*f%s", decimals, shown, unit);
}

void gnti_axis_label(const gnti_axis *axis, double value, char out[GNTI_AXIS_LABEL_BYTES])
{
    write_label(axis, value, out);
    for (char *p = out; *p != '\0'; p++)
        if (*p == ',')
            *p = '.';
}
