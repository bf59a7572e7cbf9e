/* SPDX-License-Identifier: Apache-2.0 */
/* A device's memory was too small for a program: the error says what needs how much, the largest first. */
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

void gnti_program_tell_shortage(const gnti_program *p)
{
    gnti_program_bytes b;
    char text[256];
    int used = 0;

    gnti_program_get_bytes(p, &b);
    share shares[NUM_PARTS] = { { "values between layers", b.workspace },
                                { "graph", b.graph },
                                { "features", b.features },
                                { "weights and optimiser", b.params },
                                { "values computed once", b.hoisted + b.hoist_temp },
                                { "rows of other ranks", b.stage } };
    sort_descending(shares);
    for (int i = 0; i < NUM_PARTS && shares[i].bytes > 0 && used < (int)sizeof text; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%s %.1f MiB", i > 0 ? ", " : "",
                         shares[i].name, (double)shares[i].bytes / 1048576.0);
    if (used > 0 && used < (int)sizeof text)
        gnti_error_prefix("the device's memory must hold %s: ", text);
}
