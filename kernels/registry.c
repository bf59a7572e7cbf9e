/* SPDX-License-Identifier: Apache-2.0 */
/* The list of backends: one line each. "auto" is the one with the highest priority that has a device. A name
 * that is not here is answered with the names that are. */
#include "kernels/backend.h"
#include "kernels/cpu/cpu.h"

#include <stdio.h>
#include <string.h>

static const gnt_backend *const backends[] = { &gnti_cpu_backend, &gnti_ref_backend };
enum { NUM_BACKENDS = sizeof backends / sizeof *backends };

const gnt_backend *gnti_backend_at(int32_t index)
{
    return index >= 0 && index < NUM_BACKENDS ? backends[index] : NULL;
}

static const gnt_backend *best_backend(void)
{
    const gnt_backend *best = NULL;

    for (int i = 0; i < NUM_BACKENDS; i++) {
        int32_t count = 0;

        if (best != NULL && backends[i]->priority <= best->priority)
            continue;
        if (backends[i]->list(NULL, 0, &count) == GNT_OK && count > 0)
            best = backends[i];
    }
    return best;
}

static void names_text(char *out, size_t bytes)
{
    size_t used = 0;

    for (int i = 0; i < NUM_BACKENDS && used < bytes; i++)
        used += (size_t)snprintf(out + used, bytes - used, "%s%s", i == 0 ? "" : ", ", backends[i]->name);
}

gnt_status gnti_backend_find(const char *name, const gnt_backend **out)
{
    gnt_status st = GNT_OK;
    char names[256];

    GNT_CHECK(name != NULL && out != NULL, GNT_ERR_ARG, "backend name and out must not be NULL");
    if (strcmp(name, "auto") == 0) {
        const gnt_backend *best = best_backend();

        GNT_CHECK(best != NULL, GNT_ERR_UNSUPPORTED, "no backend has a device");
        *out = best;
        return GNT_OK;
    }
    for (int i = 0; i < NUM_BACKENDS; i++) {
        if (strcmp(name, backends[i]->name) == 0) {
            *out = backends[i];
            return GNT_OK;
        }
    }
    names_text(names, sizeof names);
    GNT_FAIL(GNT_ERR_UNSUPPORTED, "no backend '%s' in this build: there are %s, and auto", name, names);
done:
    return st;
}
