/* SPDX-License-Identifier: Apache-2.0 */
/* What a back end that lives in a plug-in gets from the library and hands over.
 *
 * A plug-in is opened on demand by registry.c, once, and stays until the process ends: linking a vendor's libraries into the
 * command would cost every start some tenths of a second. It links none of our code; the few functions of base/ that its files
 * call (error records, memory, clock) are forwarded through gnti_plugin_host. The version must be exactly ours.
 * Exactly: the release and a hash of the headers whose structs cross (cmake/PluginAbi.cmake), so that a plug-in of an older build of
 * the same release, which would read those structs wrongly, is refused.
 */
#ifndef GNTI_KERNELS_DEVICE_PLUGIN_H
#define GNTI_KERNELS_DEVICE_PLUGIN_H

#include "kernels/backend.h"
#include "kernels/choices.h"

#define GNTI_DEVICE_PLUGIN_SYMBOL "gnti_device_plugin_get"

/* What the plug-in may call; every pointer is set. */
typedef struct gnti_plugin_host {
    gnt_status (*error_set)(gnt_status code, const char *file, int line, const char *function,
                            const char *text);
    void (*error_trace)(const char *file, int line, const char *function);
    const gnti_error_record *(*error_get)(void);
    gnt_status (*error_adopt)(const gnti_error_record *record);
    void (*error_clear)(void);
    void (*assert_failed)(const char *condition, const char *file, int line, const char *function);
    gnt_status (*alloc)(void **out, size_t bytes, bool zero);
    gnt_status (*array_grow)(void **block, int64_t *capacity, int64_t need, size_t item_bytes);
    void (*free)(void *block);
    double (*clock_seconds)(void);
    void (*warn)(const char *text);
    gnt_status (*choices_find)(gnti_choices *c, const char *key, gnti_choice *out);
    bool (*choices_measures)(const gnti_choices *c);
    gnt_status (*choices_set)(gnti_choices *c, const char *key, bool anew, gnti_choice *choice);
} gnti_plugin_host;

/* Facts for `doctor`: what the plug-in sees of driver and libraries, each a text, "" where missing. */
typedef struct gnti_plugin_facts {
    char driver[32], runtime[32], sparse[32], blas[32], collectives[32];
    char problem[160]; /* why no device can be used; "" when some can */
} gnti_plugin_facts;

typedef struct gnti_device_plugin {
    const char
        *version; /* gnti_device_plugin_version, or it is refused; stays the first, whatever else changes */
    const gnt_backend *backend;
    const struct gnti_group_table
        *group; /* dist/group.h: devices that exchange among themselves; NULL: none */
    void (*facts)(gnti_plugin_facts *out);
} gnti_device_plugin;

extern const char gnti_device_plugin_version[]; /* "0.1.0 (interfaces 0123456789abcdef)", made by the build */

typedef const gnti_device_plugin *(*gnti_device_plugin_fn)(const gnti_plugin_host *host);

/* The back ends that may be plug-ins, and the driver's library that a machine must have for each: registry.c. */
typedef struct gnti_plugin_line {
    const char *backend, *driver;
} gnti_plugin_line;
enum { GNTI_NUM_DEVICE_PLUGINS = 1, GNTI_DEVICE_PLUGIN_WHY_BYTES = 400 };
extern const gnti_plugin_line gnti_plugin_lines[GNTI_NUM_DEVICE_PLUGINS];

/* The plug-in of a back end, opened when it is not yet. *out NULL without an error: this build or this machine has none (no
 * file, or no driver); why (GNTI_DEVICE_PLUGIN_WHY_BYTES, may be NULL) tells which. The folder that the environment's GNNTRAIN_PLUGIN_DIR names
 * comes before the library's own, and needs no driver. */
gnt_status gnti_device_plugin_find(const char *backend, const gnti_device_plugin **out, char *why);

/* A table that is linked into this program is used instead of a file; tests that run a back end against a stand-in of its
 * libraries call this before anything else. */
void gnti_device_plugin_set(const gnti_device_plugin *plugin);

#endif
