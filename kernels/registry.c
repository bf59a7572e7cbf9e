/* SPDX-License-Identifier: Apache-2.0 */
/* The list of backends: one line each. "auto" is the one with the highest priority that has a device. A name that is not here
 * is answered with the names that are. What lies in a plug-in is opened when it is asked for by name, by "auto" or by a listing.
 */
#include "kernels/backend.h"

#include "base/log.h"
#include "kernels/cpu/cpu.h"
#include "kernels/device_plugin.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static const gnt_backend *const backends[] = { &gnti_cpu_backend, &gnti_ref_backend };
enum { NUM_BACKENDS = sizeof backends / sizeof *backends };

const gnti_plugin_line gnti_plugin_lines[GNTI_NUM_DEVICE_PLUGINS] = { { "cuda", "libcuda.so.1" } };

/* NULL when it is not there or does not open: then those that are linked in serve. */
static const gnt_backend *plugin_backend(int32_t line)
{
    const gnti_device_plugin *plugin = NULL;

    if (gnti_device_plugin_find(gnti_plugin_lines[line].backend, &plugin, NULL) != GNT_OK)
        gnt_clear_error();
    return plugin != NULL ? plugin->backend : NULL;
}

/* Looks for all plug-ins, so that a lack of memory is not taken for a lack of devices, nor a file that does not open for a machine
 * without them: that is told, once. */
static gnt_status open_plugins(void)
{
    static atomic_flag told[GNTI_NUM_DEVICE_PLUGINS] = { ATOMIC_FLAG_INIT };
    const gnti_device_plugin *plugin = NULL;

    for (int32_t i = 0; i < GNTI_NUM_DEVICE_PLUGINS; i++) {
        const gnt_status st = gnti_device_plugin_find(gnti_plugin_lines[i].backend, &plugin, NULL);

        if (st == GNT_ERR_NOMEM)
            return st;
        if (st != GNT_OK && !atomic_flag_test_and_set(&told[i]))
            gnti_log(GNT_LOG_WARN, "kernels", "devices of '%s' are not used: %s; gnntrain doctor tells more",
                     gnti_plugin_lines[i].backend, gnt_last_error());
        if (st != GNT_OK)
            gnt_clear_error();
    }
    return GNT_OK;
}

const gnt_backend *gnti_backend_linked_at(int32_t index)
{
    return index >= 0 && index < NUM_BACKENDS ? backends[index] : NULL;
}

const gnt_backend *gnti_backend_at(int32_t index)
{
    if (gnti_backend_linked_at(index) != NULL)
        return backends[index];
    for (int32_t i = 0; i < GNTI_NUM_DEVICE_PLUGINS; i++)
        if (plugin_backend(i) != NULL && index-- == NUM_BACKENDS)
            return plugin_backend(i);
    return NULL;
}

static const gnt_backend *best_backend(void)
{
    const gnt_backend *best = NULL;

    for (int32_t i = 0; gnti_backend_at(i) != NULL; i++) {
        const gnt_backend *b = gnti_backend_at(i);
        int32_t count = 0;

        if (best != NULL && b->priority <= best->priority)
            continue;
        if (b->list(NULL, 0, &count) == GNT_OK && count > 0)
            best = b;
    }
    return best;
}

static void names_text(char *out, size_t bytes)
{
    size_t used = 0;

    for (int32_t i = 0; gnti_backend_at(i) != NULL && used < bytes; i++)
        used +=
            (size_t)snprintf(out + used, bytes - used, "%s%s", i == 0 ? "" : ", ", gnti_backend_at(i)->name);
}

/* A back end of this name may lie in a plug-in; *out NULL: no such name. */
static gnt_status find_plugin(const char *name, const gnt_backend **out)
{
    gnt_status st = GNT_OK;
    const gnti_device_plugin *plugin = NULL;
    char why[GNTI_DEVICE_PLUGIN_WHY_BYTES];

    *out = NULL;
    GNT_TRY(gnti_device_plugin_find(name, &plugin, why));
    GNT_CHECK(plugin != NULL || why[0] == '\0', GNT_ERR_UNSUPPORTED, "backend '%s' cannot be used: %s", name,
              why);
    if (plugin != NULL)
        *out = plugin->backend;
done:
    return st;
}

gnt_status gnti_backend_find(const char *name, const gnt_backend **out)
{
    gnt_status st = GNT_OK;
    const gnt_backend *b = NULL;
    char names[256];

    GNT_CHECK(name != NULL && out != NULL, GNT_ERR_ARG, "backend name and out must not be NULL");
    if (strcmp(name, "auto") == 0) {
        GNT_TRY(open_plugins());
        b = best_backend();
        GNT_CHECK(b != NULL, GNT_ERR_UNSUPPORTED, "no backend has a device");
        *out = b;
        return GNT_OK;
    }
    for (int i = 0; i < NUM_BACKENDS && b == NULL; i++)
        if (strcmp(name, backends[i]->name) == 0)
            b = backends[i];
    if (b == NULL)
        GNT_TRY(find_plugin(name, &b));
    if (b == NULL) {
        names_text(names, sizeof names);
        GNT_FAIL(GNT_ERR_UNSUPPORTED, "no backend '%s' in this build: there are %s, and auto", name, names);
    }
    *out = b;
done:
    return st;
}
