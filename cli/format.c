/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as people read them: thousands apart, bytes in binary units, time in what is near a person's scale. */
#include "cli/cli.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *cli_format_count(int64_t value, char out[CLI_FORMAT_BYTES])
{
    char digits[CLI_FORMAT_BYTES];
    size_t length, used = 0;

    snprintf(digits, sizeof digits, "%lld", (long long)value);
    length = strlen(digits);
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && digits[i - 1] != '-' && (length - i) % 3 == 0)
            out[used++] = ',';
        out[used++] = digits[i];
    }
    out[used] = '\0';
    return out;
}

const char *cli_format_bytes(int64_t bytes, char out[CLI_FORMAT_BYTES])
{
    static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB", "PiB" };
    double value = (double)bytes;
    int unit = 0;

    for (; fabs(value) >= 1024.0 && unit < 5; unit++)
        value /= 1024.0;
    snprintf(out, CLI_FORMAT_BYTES, unit == 0 || fabs(value) >= 100.0 ? "%.0f %s" : "%.1f %s", value,
             units[unit]);
    return out;
}

const char *cli_format_seconds(double seconds, char out[CLI_FORMAT_BYTES])
{
    const long long whole = isfinite(seconds) && seconds < 1e15 ? llround(seconds) : 0;

    if (!isfinite(seconds))
        snprintf(out, CLI_FORMAT_BYTES, "unknown");
    else if (!(seconds > 0.0))
        snprintf(out, CLI_FORMAT_BYTES, "0 s");
    else if (seconds < 1e-3)
        snprintf(out, CLI_FORMAT_BYTES, "%.0f us", 1e6 * seconds);
    else if (seconds < 1.0)
        snprintf(out, CLI_FORMAT_BYTES, "%.3g ms", 1e3 * seconds);
    else if (seconds < 60.0)
        snprintf(out, CLI_FORMAT_BYTES, "%.1f s", seconds);
    else if (seconds < 3600.0)
        snprintf(out, CLI_FORMAT_BYTES, "%lld:%02lld min", whole / 60, whole % 60);
    else
        snprintf(out, CLI_FORMAT_BYTES, "%lld:%02lld:%02lld h", whole / 3600, whole / 60 % 60, whole % 60);
    return out;
}
