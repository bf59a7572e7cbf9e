/* SPDX-License-Identifier: Apache-2.0 */
/* Error records: one thread-local struct, written by the failing call and read by whoever reports.
 * Text is cut at GNTI_ERROR_TEXT_BYTES - 1 bytes and stays a valid string; the trace is formatted only when asked for.
 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local gnti_error_record g_record;
static _Thread_local char g_trace[GNTI_ERROR_MAX_FRAMES * 160];

const char *gnt_status_name(gnt_status st)
{
    switch (st) {
#define CASE(name, value, text)                                                                              \
    case GNT_##name:                                                                                         \
        return #name;
        GNT_STATUS_MAP(CASE)
#undef CASE
    }
    return "unknown";
}

const char *gnt_status_text(gnt_status st)
{
    switch (st) {
#define CASE(name, value, text)                                                                              \
    case GNT_##name:                                                                                         \
        return text;
        GNT_STATUS_MAP(CASE)
#undef CASE
    }
    return "unknown";
}

const char *gnt_last_error(void)
{
    return g_record.text;
}

const char *gnt_last_error_trace(void)
{
    size_t used = 0;

    g_trace[0] = '\0';
    for (int i = 0; i < g_record.num_frames && used < sizeof g_trace; i++) {
        const gnti_error_frame *f = &g_record.frames[i];
        const int n =
            snprintf(g_trace + used, sizeof g_trace - used, "%s:%d %s\n", f->file, f->line, f->function);

        if (n < 0)
            break;
        used += (size_t)n;
    }
    return g_trace;
}

void gnt_clear_error(void)
{
    g_record.code = GNT_OK;
    g_record.num_frames = 0;
    g_record.text[0] = '\0';
}

gnt_status gnti_error_set(gnt_status code, const char *file, int line, const char *function,
                          const char *format, ...)
{
    char text[GNTI_ERROR_TEXT_BYTES]; /* arguments may point into the old record */
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    memcpy(g_record.text, text, sizeof text);
    g_record.code = code;
    g_record.num_frames = 0;
    gnti_error_trace(file, line, function);
    return code;
}

void gnti_error_trace(const char *file, int line, const char *function)
{
    if (g_record.num_frames == GNTI_ERROR_MAX_FRAMES)
        return;
    g_record.frames[g_record.num_frames++] =
        (gnti_error_frame){ .file = file, .function = function, .line = line };
}

void gnti_error_prefix(const char *format, ...)
{
    char text[GNTI_ERROR_TEXT_BYTES];
    va_list args;
    size_t left, old;
    int n;

    va_start(args, format);
    n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof text)
        return;
    left = sizeof text - (size_t)n - 1;
    old = strlen(g_record.text);
    old = old < left ? old : left;
    memcpy(text + n, g_record.text, old);
    text[(size_t)n + old] = '\0';
    memcpy(g_record.text, text, sizeof text);
}

const gnti_error_record *gnti_error_get(void)
{
    return &g_record;
}

gnt_status gnti_error_adopt(const gnti_error_record *record)
{
    g_record = *record;
    return record->code;
}

void gnti_error_keep(gnti_error_record *kept)
{
    kept->code = g_record.code;
    if (kept->code != GNT_OK)
        *kept = g_record;
}

void gnti_error_give_back(const gnti_error_record *kept)
{
    if (kept->code != GNT_OK)
        g_record = *kept;
    else if (g_record.code != GNT_OK)
        gnt_clear_error();
}

gnt_status gnti_error_errno(int error, int output, const char *what, const char *path)
{
    gnt_status code = output ? GNT_ERR_OUTPUT : GNT_ERR_IO;

    if (error == ENOSPC || error == EDQUOT)
        code = GNT_ERR_DISK_FULL;
    else if (error == ENOMEM)
        code = GNT_ERR_NOMEM;
    return gnti_error_set(code, __FILE__, __LINE__, __func__, "cannot %s '%s': %s", what, path,
                          strerror(error));
}

void gnti_assert_failed(const char *condition, const char *file, int line, const char *function)
{
    fprintf(stderr, "%s:%d %s: assertion failed: %s\n", file, line, function, condition);
    abort();
}
