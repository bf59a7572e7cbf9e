/* SPDX-License-Identifier: Apache-2.0 */
/* The log sink and the levels: one of the two pieces of global state in the library.
 *
 * Levels are a default and a short list of exceptions by module, kept in fixed arrays so that logging never
 * allocates. A mutex keeps lines whole and orders calls of the callback; the highest level of all is an
 * atomic that lets most calls return at once.
 */
#include "base/log.h"

#include "base/check.h"
#include "base/name.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_MODULES = 16, MODULE_BYTES = 16, LINE_BYTES = 1024, PLACE_BYTES = 64 };

typedef struct module_level {
    char module[MODULE_BYTES];
    gnt_log_level level;
} module_level;

typedef struct log_levels {
    gnt_log_level all;
    int num_modules;
    module_level modules[MAX_MODULES];
} log_levels;

static const char *const level_names[] = { "error", "warn", "info", "debug", "trace" };

/* Those that log: the folders of the library (the gate compares), and the command. */
static const char *const module_names[] = { "base", "report", "graph",   "kernels", "datasets", "partition",
                                            "dist", "nn",     "sampler", "train",   "ensemble", "cli" };
enum { NUM_MODULES = sizeof module_names / sizeof module_names[0] };

static pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t g_environment_once = PTHREAD_ONCE_INIT;
static gnt_log_callback g_callback;
static void *g_user;
static log_levels g_levels = { .all = GNT_LOG_WARN };
static atomic_int g_highest = GNT_LOG_WARN;
static atomic_bool g_ended;
static _Thread_local char g_place[PLACE_BYTES];

const char *gnt_log_level_name(gnt_log_level level)
{
    return (unsigned)level < 5u ? level_names[level] : "unknown";
}

static gnt_status parse_level(const char *text, size_t length, gnt_log_level *out)
{
    gnt_status st = GNT_OK;
    char word[MODULE_BYTES];
    const char *near;

    for (int i = 0; i < 5; i++) {
        if (strlen(level_names[i]) == length && memcmp(level_names[i], text, length) == 0) {
            *out = (gnt_log_level)i;
            return GNT_OK;
        }
    }
    snprintf(word, sizeof word, "%.*s", (int)(length < 15 ? length : 15), text);
    near = gnti_name_nearest(level_names, 5, word);
    GNT_FAIL(GNT_ERR_USAGE, "'%.*s' is no log level: use error, warn, info, debug or trace%s%s%s",
             (int)length, text, near == NULL ? "" : " (did you mean '", near == NULL ? "" : near,
             near == NULL ? "" : "'?)");
done:
    return st;
}

static gnt_status check_module(const char *name)
{
    gnt_status st = GNT_OK;
    const char *near = gnti_name_nearest(module_names, NUM_MODULES, name);

    for (int i = 0; i < NUM_MODULES; i++)
        if (strcmp(module_names[i], name) == 0)
            return GNT_OK;
    GNT_CHECK(near == NULL, GNT_ERR_USAGE, "'%s' is no log module, did you mean '%s'?", name, near);
    GNT_FAIL(GNT_ERR_USAGE,
             "'%s' is no log module: there are base, report, graph, kernels, datasets, partition, dist, nn, "
             "sampler, "
             "train, ensemble, cli",
             name);
done:
    return st;
}

static gnt_status parse_part(const char *part, size_t length, log_levels *out)
{
    gnt_status st = GNT_OK;
    const char *equals = memchr(part, '=', length);
    const size_t name = equals == NULL ? 0 : (size_t)(equals - part);
    module_level m = { .level = GNT_LOG_WARN };

    if (equals == NULL) {
        GNT_TRY(parse_level(part, length, &out->all));
        return GNT_OK;
    }
    GNT_CHECK(name > 0 && name < MODULE_BYTES, GNT_ERR_USAGE, "'%.*s' is no log module", (int)name, part);
    GNT_CHECK(out->num_modules < MAX_MODULES, GNT_ERR_LIMIT, "more than %d modules with a log level",
              MAX_MODULES);
    memcpy(m.module, part, name);
    GNT_TRY(check_module(m.module));
    GNT_TRY(parse_level(equals + 1, length - name - 1, &m.level));
    out->modules[out->num_modules++] = m;
done:
    return st;
}

static gnt_status parse_levels(const char *text, log_levels *out)
{
    gnt_status st = GNT_OK;
    log_levels levels = { .all = GNT_LOG_WARN };

    while (*text != '\0') {
        const size_t length = strcspn(text, ",");

        if (length > 0)
            GNT_TRY(parse_part(text, length, &levels));
        text += length + (text[length] == ',');
    }
    *out = levels;
done:
    return st;
}

static void use_levels(const log_levels *levels)
{
    int highest = (int)levels->all;

    for (int i = 0; i < levels->num_modules; i++)
        if ((int)levels->modules[i].level > highest)
            highest = (int)levels->modules[i].level;
    pthread_mutex_lock(&g_mutex);
    g_levels = *levels;
    pthread_mutex_unlock(&g_mutex);
    atomic_store(&g_highest, highest);
}

static void read_environment(void)
{
    const char *text = getenv("GNNTRAIN_LOG");
    const gnti_error_record before = *gnti_error_get();
    log_levels levels;

    if (text == NULL)
        return;
    if (parse_levels(text, &levels) == GNT_OK)
        use_levels(&levels);
    else
        fprintf(stderr, "gnntrain: warn: GNNTRAIN_LOG: %s\n", gnt_last_error());
    gnti_error_adopt(&before); /* a message must not replace the error that the caller is about to report */
}

gnt_status gnt_log_set_levels(const char *text)
{
    gnt_status st = GNT_OK;
    log_levels levels;

    GNT_CHECK(text != NULL, GNT_ERR_ARG, "log levels must not be NULL");
    GNT_TRY(parse_levels(text, &levels));
    pthread_once(&g_environment_once, read_environment); /* so that it cannot come later and win */
    use_levels(&levels);
done:
    return st;
}

void gnt_log_set(gnt_log_callback callback, void *user)
{
    pthread_mutex_lock(&g_mutex);
    g_callback = callback;
    g_user = user;
    pthread_mutex_unlock(&g_mutex);
}

/* With the mutex held. */
static gnt_log_level level_of(const char *module)
{
    for (int i = g_levels.num_modules - 1; i >= 0; i--)
        if (strcmp(g_levels.modules[i].module, module) == 0)
            return g_levels.modules[i].level;
    return g_levels.all;
}

bool gnti_log_is_on(gnt_log_level level, const char *module)
{
    bool on;

    if (atomic_load(&g_ended))
        return false;
    pthread_once(&g_environment_once, read_environment);
    if ((int)level > atomic_load(&g_highest))
        return false;
    pthread_mutex_lock(&g_mutex);
    on = level <= level_of(module);
    pthread_mutex_unlock(&g_mutex);
    return on;
}

void gnti_log_end(void)
{
    atomic_store(&g_ended, true);
}

void gnti_log_set_place(const char *place)
{
    snprintf(g_place, sizeof g_place, "%s", place == NULL ? "" : place);
}

void gnti_log(gnt_log_level level, const char *module, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list args;
    int used;

    if (!gnti_log_is_on(level, module))
        return;
    used = snprintf(line, sizeof line, "%s%s", g_place, g_place[0] == '\0' ? "" : ": ");
    va_start(args, format);
    vsnprintf(line + used, sizeof line - (size_t)used, format, args);
    va_end(args);
    pthread_mutex_lock(&g_mutex);
    if (g_callback != NULL)
        g_callback(g_user, level, module, line);
    else
        fprintf(stderr, "gnntrain: %s: %s: %s\n", gnt_log_level_name(level), module, line);
    pthread_mutex_unlock(&g_mutex);
}
