/* SPDX-License-Identifier: Apache-2.0 */
/* The plug-in's way back into the library: the functions of base/ that its files call, by the pointers that it was given.
 *
 * Only the plug-in has this file; a test that links the backend's files has base/ itself. The order of devices is asked for here,
 * before the runtime's first call: by bus number, as nvidia-smi shows them, unless the user said otherwise.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "kernels/cuda/cuda_plugin.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const gnti_plugin_host *host;

GNT_API const gnti_device_plugin *gnti_device_plugin_get(const gnti_plugin_host *given);

const gnti_device_plugin *gnti_device_plugin_get(const gnti_plugin_host *given)
{
    host = given;
    (void)setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 0);
    return &gnti_cuda_plugin;
}

gnt_status gnti_error_set(gnt_status code, const char *file, int line, const char *function,
                          const char *format, ...)
{
    char text[GNTI_ERROR_TEXT_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return host->error_set(code, file, line, function, text);
}

void gnti_error_trace(const char *file, int line, const char *function)
{
    host->error_trace(file, line, function);
}

const gnti_error_record *gnti_error_get(void)
{
    return host->error_get();
}

gnt_status gnti_error_adopt(const gnti_error_record *record)
{
    return host->error_adopt(record);
}

void gnt_clear_error(void)
{
    host->error_clear();
}

void gnti_assert_failed(const char *condition, const char *file, int line, const char *function)
{
    host->assert_failed(condition, file, line, function);
}

gnt_status gnti_alloc_bytes(void **out, size_t bytes)
{
    return host->alloc(out, bytes, false);
}

gnt_status gnti_calloc_bytes(void **out, size_t bytes)
{
    return host->alloc(out, bytes, true);
}

gnt_status gnti_array_bytes(void **out, int64_t count, size_t item_bytes, bool zero)
{
    gnt_status st = GNT_OK;
    size_t bytes;

    GNT_CHECK(count >= 0, GNT_ERR_ARG, "an array of %lld items", (long long)count);
    GNT_TRY(gnti_mul_size((size_t)count, item_bytes, &bytes));
    GNT_TRY(host->alloc(out, bytes, zero));
done:
    return st;
}

gnt_status gnti_array_grow(void **block, int64_t *capacity, int64_t need, size_t item_bytes)
{
    return host->array_grow(block, capacity, need, item_bytes);
}

void gnti_free(void *block)
{
    host->free(block);
}

void gnti_log(gnt_log_level level, const char *module, const char *format, ...)
{
    char text[GNTI_ERROR_TEXT_BYTES];
    va_list args;

    (void)level; /* whatever is worth a line here is a warning */
    (void)module;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    host->warn(text);
}

gnt_status gnti_choices_find(gnti_choices *c, const char *key, gnti_choice *out)
{
    return host->choices_find(c, key, out);
}

bool gnti_choices_measures(const gnti_choices *c)
{
    return host->choices_measures(c);
}

gnt_status gnti_choices_set(gnti_choices *c, const char *key, bool anew, gnti_choice *choice)
{
    return host->choices_set(c, key, anew, choice);
}

double gnti_clock_seconds(void)
{
    return host->clock_seconds();
}
