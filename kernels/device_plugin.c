/* SPDX-License-Identifier: Apache-2.0 */
/* Back ends in plug-ins, opened when somebody asks for one and not before.
 *
 * The driver's own library is tried first: without it the plug-in, which brings some hundred megabytes of a vendor's libraries,
 * is not even looked at. A folder named by GNNTRAIN_PLUGIN_DIR comes before ours, and what lies there needs no driver: a stand-in
 * of the libraries is used so. What was found, or why nothing was, is kept until the process ends.
 */
#include "kernels/device_plugin.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/plugin.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WHY_BYTES = GNTI_DEVICE_PLUGIN_WHY_BYTES };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    const gnti_device_plugin *table; /* NULL: none */
    bool searched;
    char why[WHY_BYTES];
} found[GNTI_NUM_DEVICE_PLUGINS];

static gnt_status host_error_set(gnt_status code, const char *file, int line, const char *function,
                                 const char *text)
{
    return gnti_error_set(code, file, line, function, "%s", text);
}

static gnt_status host_alloc(void **out, size_t bytes, bool zero)
{
    return zero ? gnti_calloc_bytes(out, bytes) : gnti_alloc_bytes(out, bytes);
}

static void host_warn(const char *text)
{
    gnti_log(GNT_LOG_WARN, "kernels", "%s", text);
}

static const gnti_plugin_host host = { .error_set = host_error_set,
                                       .error_trace = gnti_error_trace,
                                       .error_get = gnti_error_get,
                                       .error_adopt = gnti_error_adopt,
                                       .error_clear = gnt_clear_error,
                                       .assert_failed = gnti_assert_failed,
                                       .alloc = host_alloc,
                                       .array_grow = gnti_array_grow,
                                       .free = gnti_free,
                                       .clock_seconds = gnti_clock_seconds,
                                       .warn = host_warn,
                                       .choices_find = gnti_choices_find,
                                       .choices_measures = gnti_choices_measures,
                                       .choices_set = gnti_choices_set };

static gnt_status find_driver(const char *driver, bool *out)
{
    gnti_plugin *p = NULL;
    const gnt_status st = gnti_plugin_open(driver, &p);

    *out = st == GNT_OK;
    gnti_plugin_close(&p);
    if (st == GNT_ERR_NOMEM)
        return st;
    gnt_clear_error();
    return GNT_OK;
}

/* *out NULL: no such file. */
static gnt_status open_file(const char *driver, const char *file, gnti_plugin **out, char *why)
{
    gnt_status st = GNT_OK;
    const char *folder = getenv("GNNTRAIN_PLUGIN_DIR");
    char path[PATH_MAX];
    bool has_driver = false;

    if (folder != NULL && folder[0] != '\0' &&
        snprintf(path, sizeof path, "%s/%s", folder, file) < (int)sizeof path && access(path, R_OK) == 0)
        return gnti_plugin_open_lasting(path, out);
    GNT_TRY(find_driver(driver, &has_driver));
    if (!has_driver) {
        snprintf(why, WHY_BYTES, "there is no driver (%s)", driver);
        return GNT_OK;
    }
    st = gnti_plugin_open_own(file, out);
    if (st == GNT_ERR_UNSUPPORTED) { /* not built */
        snprintf(why, WHY_BYTES, "%.*s", WHY_BYTES - 1, gnt_last_error());
        gnt_clear_error();
        st = GNT_OK;
    }
done:
    return st;
}

static gnt_status open_table(const gnti_plugin_line *line, const gnti_device_plugin **out, char *why)
{
    gnt_status st = GNT_OK;
    gnti_plugin *plugin = NULL;
    gnti_plugin_fn function = NULL;
    const gnti_device_plugin *table;
    char file[64];

    *out = NULL;
    snprintf(file, sizeof file, "libgnntrain-%s.so", line->backend);
    GNT_TRY(open_file(line->driver, file, &plugin, why));
    if (plugin == NULL)
        return GNT_OK;
    GNT_TRY(gnti_plugin_function(plugin, GNTI_DEVICE_PLUGIN_SYMBOL, &function));
    table = ((gnti_device_plugin_fn)function)(&host);
    GNT_TRY(gnti_plugin_check_version(plugin, table->version, gnti_device_plugin_version));
    *out = table;
done:
    gnti_plugin_close(&plugin); /* it stays loaded */
    return st;
}

static int32_t number_of(const char *backend)
{
    for (int32_t i = 0; i < GNTI_NUM_DEVICE_PLUGINS; i++)
        if (strcmp(backend, gnti_plugin_lines[i].backend) == 0)
            return i;
    return -1;
}

gnt_status gnti_device_plugin_find(const char *backend, const gnti_device_plugin **out, char *why)
{
    gnt_status st = GNT_OK;
    const int32_t i = number_of(backend);

    *out = NULL;
    if (why != NULL)
        why[0] = '\0';
    if (i < 0)
        return GNT_OK;
    pthread_mutex_lock(&lock);
    if (!found[i].searched) {
        st = open_table(&gnti_plugin_lines[i], &found[i].table, found[i].why);
        found[i].searched = st == GNT_OK; /* a broken plug-in is told each time */
    }
    *out = st == GNT_OK ? found[i].table : NULL;
    if (why != NULL && *out == NULL)
        snprintf(why, WHY_BYTES, "%s", found[i].why);
    pthread_mutex_unlock(&lock);
    return st;
}

void gnti_device_plugin_set(const gnti_device_plugin *plugin)
{
    const int32_t i = number_of(plugin->backend->name);

    if (i < 0)
        return;
    pthread_mutex_lock(&lock);
    found[i].table = plugin;
    found[i].searched = true;
    pthread_mutex_unlock(&lock);
}
