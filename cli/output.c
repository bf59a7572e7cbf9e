/* SPDX-License-Identifier: Apache-2.0 */
/* Facts go to stdout, words to stderr. Facts are JSON objects whatever is printed: with --json as they are, else laid out
 * as text, one member a line, names to the left, objects inside objects indented, lists of objects as lines of their own.
 */
#include "cli/cli.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const cli_call *g_call; /* of this process; the command runs one verb */
static bool is_silent;

void cli_set_call(const cli_call *call)
{
    g_call = call;
}

bool cli_is_terminal(void)
{
    const char *term = getenv("TERM");

    return isatty(STDERR_FILENO) == 1 && (term == NULL || strcmp(term, "dumb") != 0);
}

bool cli_use_color(void)
{
    const char *no_color = getenv("NO_COLOR");

    return (no_color == NULL || no_color[0] == '\0') && cli_is_terminal();
}

void cli_set_silent(bool silent)
{
    is_silent = silent;
}

void cli_say(const char *format, ...)
{
    va_list args;

    if (is_silent || (g_call != NULL && g_call->common.quiet))
        return;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

static void label(const char *color, const char *word)
{
    if (cli_use_color())
        fprintf(stderr, "\033[1;%sm%s:\033[0m ", color, word);
    else
        fprintf(stderr, "%s: ", word);
}

void cli_warn(const char *format, ...)
{
    va_list args;

    if (is_silent || (g_call != NULL && g_call->common.quiet))
        return;
    label("33", "warning");
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

int cli_report_error(gnt_status st)
{
    const int code = cli_exit_code(st);
    const char *verb = g_call != NULL && g_call->verb != NULL ? g_call->verb->name : NULL;

    label("31", "error");
    fprintf(stderr, "%s\n", gnt_last_error()[0] != '\0' ? gnt_last_error() : gnt_status_text(st));
    if (code == 1)
        fprintf(stderr, "%sthis is a bug in gnntrain %s: please report it with the lines above\n",
                gnt_last_error_trace(), gnt_version());
    if (code == CLI_EXIT_USAGE && st == GNT_ERR_USAGE)
        fprintf(stderr, "see: gnntrain %s%s--help\n", verb == NULL ? "" : verb, verb == NULL ? "" : " ");
    return code;
}

gnt_status cli_flush(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return GNT_OK;
    if (errno == EPIPE)
        return GNT_OK; /* whoever reads has enough */
    return gntx_fail(errno == ENOSPC ? GNT_ERR_DISK_FULL : GNT_ERR_OUTPUT,
                     "cannot write to the standard output: %s", strerror(errno));
}

static bool ends_with(const char *name, const char *suffix)
{
    const size_t n = strlen(name), m = strlen(suffix);

    return n >= m && strcmp(name + n - m, suffix) == 0;
}

/* "num_nodes" becomes "nodes", "epoch_seconds_median" stays readable. */
static void shown_name(const char *key, char out[64])
{
    snprintf(out, 64, "%s", strncmp(key, "num_", 4) == 0 ? key + 4 : key);
    for (char *p = out; *p != '\0'; p++)
        if (*p == '_')
            *p = ' ';
}

/* A leaf as a person reads it: the name tells the unit. */
static gnt_status leaf_text(const char *key, const gntx_json *value, char *out, size_t out_bytes)
{
    gnt_status st = GNT_OK;
    char formatted[CLI_FORMAT_BYTES], *json = NULL;
    double number = 0.0;
    int64_t whole = 0;

    if (gntx_json_to_text(value) != NULL)
        snprintf(out, out_bytes, "%s", gntx_json_to_text(value));
    else if (gntx_json_to_int(value, &whole))
        snprintf(out, out_bytes, "%s",
                 ends_with(key, "bytes") ? cli_format_bytes(whole, formatted)
                 : ends_with(key, "seed")
                     ? (snprintf(formatted, sizeof formatted, "%lld", (long long)whole), formatted)
                     : cli_format_count(whole, formatted));
    else if (gntx_json_to_number(value, &number)) {
        if (isnan(number))
            snprintf(out, out_bytes, "-");
        else if (strstr(key, "seconds") != NULL)
            snprintf(out, out_bytes, "%s", cli_format_seconds(number, formatted));
        else
            snprintf(out, out_bytes, "%.6g", number);
    } else {
        GNT_TRY(gntx_json_print(value, false, &json));
        snprintf(out, out_bytes, "%s",
                 strcmp(json, "true") == 0    ? "yes"
                 : strcmp(json, "false") == 0 ? "no"
                                              : json);
    }
done:
    gntx_free(json);
    return st;
}

static gnt_status print_value(const char *key, const gntx_json *value, int indent, int width);

static gnt_status print_members(const gntx_json *object, int indent)
{
    gnt_status st = GNT_OK;
    const int64_t count = gntx_json_length(object);
    char name[64];
    int width = 0;

    for (int64_t i = 0; i < count; i++) {
        shown_name(gntx_json_key_at(object, i), name);
        width = (int)strlen(name) > width ? (int)strlen(name) : width;
    }
    for (int64_t i = 0; i < count; i++) {
        const char *key = gntx_json_key_at(object, i);

        GNT_TRY(print_value(key, gntx_json_find(object, key), indent, width > 28 ? 28 : width));
    }
done:
    return st;
}

/* Numbers on one line, anything else one item below the other. */
static gnt_status print_list(const char *key, const gntx_json *list, int indent)
{
    gnt_status st = GNT_OK;
    const int64_t count = gntx_json_length(list);
    char text[1024];

    for (int64_t i = 0; i < count; i++) {
        const gntx_json *item = gntx_json_at(list, i);

        if (gntx_json_is_object(item)) {
            GNT_TRY(print_members(item, indent + 2));
            printf("%s", i + 1 < count && gntx_json_length(item) > 1 ? "\n" : "");
        } else {
            GNT_TRY(leaf_text(key, item, text, sizeof text));
            const bool is_text = gntx_json_to_text(item) != NULL;

            printf("%*s%s%s", i == 0 || is_text ? indent + 2 : 1, "", text,
                   i + 1 < count && !is_text ? "" : "\n");
        }
    }
done:
    return st;
}

/* Matrices and long lists are for machines. */
static bool is_too_long(const gntx_json *list)
{
    return gntx_json_length(list) > 24 || gntx_json_is_array(gntx_json_at(list, 0));
}

static gnt_status print_value(const char *key, const gntx_json *value, int indent, int width)
{
    gnt_status st = GNT_OK;
    char name[64], text[4096];

    shown_name(key, name);
    if (gntx_json_is_object(value)) {
        printf("%*s%-*s%s\n", indent, "", gntx_json_length(value) == 0 ? width : 0, name,
               gntx_json_length(value) == 0 ? "  none" : "");
        GNT_TRY(print_members(value, indent + 2));
    } else if (gntx_json_is_array(value)) {
        if (gntx_json_length(value) == 0) {
            printf("%*s%-*s  none\n", indent, "", width, name);
            return GNT_OK;
        }
        if (is_too_long(value)) {
            printf("%*s%-*s  %lld", indent, "", width, name, (long long)gntx_json_length(value));
            if (gntx_json_is_array(gntx_json_at(value, 0)))
                printf(" x %lld", (long long)gntx_json_length(gntx_json_at(value, 0)));
            printf(" values, see --json\n");
            return GNT_OK;
        }
        printf("%*s%s\n", indent, "", name);
        GNT_TRY(print_list(key, value, indent));
    } else {
        GNT_TRY(leaf_text(key, value, text, sizeof text));
        printf("%*s%-*s  %s\n", indent, "", width, name, text);
    }
done:
    return st;
}

gnt_status cli_print_facts(const gntx_json *facts)
{
    gnt_status st = GNT_OK;
    char *json = NULL;

    if (is_silent)
        return GNT_OK;
    if (g_call != NULL && g_call->common.json) {
        GNT_TRY(gntx_json_print(facts, true, &json));
        printf("%s\n", json);
    } else {
        GNT_TRY(print_members(facts, 0));
    }
    GNT_TRY(cli_flush());
done:
    gntx_free(json);
    return st;
}
