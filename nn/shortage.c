/* SPDX-License-Identifier: Apache-2.0 */
/* A device's memory was too small for a program: the error says how much it needs in all, and for what most of it, the
 * largest first.
 */
#include "base/error.h"
#include "nn/program_state.h"

#include <stdio.h>

enum { NUM_PARTS = 6 };

typedef struct share {
    const char *name;
    size_t bytes;
} share;

static void sort_descending(share *s)
{
    for (int i = 1; i < NUM_PARTS; i++)
        for (int j = i; j > 0 && s[j].bytes > s[j - 1].bytes; j--) {
            const share held = s[j];

            s[j] = s[j - 1];
            s[j - 1] = held;
        }
}

enum { NUM_TOLD = 3, BYTES_TEXT = 32 };

/* 1.5 MiB; what is less than one in KiB, rounded up. */
static const char *in_units(size_t bytes, char out[BYTES_TEXT])
{
    const double mib = (double)bytes / 1048576.0;

    if (mib >= 1.0)
        snprintf(out, BYTES_TEXT, "%.1f MiB", mib);
    else
        snprintf(out, BYTES_TEXT, "%zu KiB", (bytes + 1023) / 1024);
    return out;
}

void gnti_program_tell_shortage(const gnti_program *p)
{
    gnti_program_bytes b;
    char text[256], bytes[BYTES_TEXT];
    size_t all = 0;
    int used = 0;

    gnti_program_get_bytes(p, &b);
    share shares[NUM_PARTS] = { { "values between layers", b.workspace },
                                { "graph", b.graph },
                                { "features", b.features },
                                { "weights and optimiser", b.params },
                                { "values computed once", b.hoisted + b.hoist_temp },
                                { "rows of other ranks", b.stage } };
    sort_descending(shares);
    for (int i = 0; i < NUM_PARTS; i++)
        all += shares[i].bytes;
    for (int i = 0; i < NUM_TOLD && shares[i].bytes > 0 && used < (int)sizeof text; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%s %s", i > 0 ? ", " : "",
                         shares[i].name, in_units(shares[i].bytes, bytes));
    if (used > 0 && used < (int)sizeof text)
        gnti_error_prefix("the device's memory must hold %s, mostly %s: ", in_units(all, bytes), text);
}
