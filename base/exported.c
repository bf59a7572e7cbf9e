/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of base/ that experimental.h lends to the command: each function forwards to its namesake. A
 * gntx_json is a gnti_json under its outer name.
 */
#include <gnntrain/experimental.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/name.h"
#include "base/option.h"
#include "base/team.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

_Static_assert((int)GNTX_ORIGIN_FLAG == (int)GNTI_ORIGIN_FLAG, "the two lists of origins differ");
_Static_assert(sizeof(gntx_origin) == sizeof(gnti_origin), "the two types of origins differ");

static gnti_json *in(gntx_json *value)
{
    return (gnti_json *)value;
}

static const gnti_json *in_const(const gntx_json *value)
{
    return (const gnti_json *)value;
}

gnt_status gntx_options_defaults(const gnt_option *table, void *object)
{
    return gnti_options_defaults(table, object);
}

void gntx_options_free_texts(const gnt_option *table, void *object)
{
    gnti_options_free_texts(table, object);
}

gnt_status gntx_option_set(const gnt_option *option, void *object, const char *text)
{
    return gnti_option_set(option, object, text);
}

gnt_status gntx_option_get(const gnt_option *option, const void *object, char *out, size_t out_bytes)
{
    return gnti_option_get(option, object, out, out_bytes);
}

gnt_status gntx_options_from_yaml(const gnt_option *table, void *object, const char *path,
                                  gntx_origin *origin, gntx_origin from)
{
    return gnti_options_from_yaml(table, object, path, (gnti_origin *)origin, (gnti_origin)from);
}

gnt_status gntx_options_to_yaml(const gnt_option *table, const void *object, const gntx_origin *origin,
                                char **out)
{
    return gnti_options_to_yaml(table, object, (const gnti_origin *)origin, out);
}

const char *gntx_name_nearest(const char *const *names, size_t num_names, const char *name)
{
    return gnti_name_nearest(names, num_names, name);
}

gnt_status gntx_fail(gnt_status code, const char *format, ...)
{
    char text[GNTI_ERROR_TEXT_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return gnti_error_set(code, __FILE__, __LINE__, __func__, "%s", text);
}

void gntx_error_prefix(const char *format, ...)
{
    char text[GNTI_ERROR_TEXT_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    gnti_error_prefix("%s", text);
}

gnt_status gntx_json_create_object(gntx_json **out)
{
    return gnti_json_create_object((gnti_json **)out);
}

void gntx_json_free(gntx_json **root)
{
    if (root != NULL)
        gnti_json_free((gnti_json **)root);
}

gnt_status gntx_json_set_int(gntx_json *object, const char *key, int64_t value)
{
    return gnti_json_set_int(in(object), key, value);
}

gnt_status gntx_json_set_number(gntx_json *object, const char *key, double value)
{
    return gnti_json_set_number(in(object), key, value);
}

gnt_status gntx_json_set_bool(gntx_json *object, const char *key, bool value)
{
    return gnti_json_set_bool(in(object), key, value);
}

gnt_status gntx_json_set_text(gntx_json *object, const char *key, const char *value)
{
    return gnti_json_set_text(in(object), key, value);
}

gnt_status gntx_json_set_object(gntx_json *object, const char *key, gntx_json **out_child)
{
    return gnti_json_set_object(in(object), key, (gnti_json **)out_child);
}

gnt_status gntx_json_set_array(gntx_json *object, const char *key, gntx_json **out_child)
{
    return gnti_json_set_array(in(object), key, (gnti_json **)out_child);
}

gnt_status gntx_json_append_object(gntx_json *array, gntx_json **out_child)
{
    return gnti_json_append_object(in(array), (gnti_json **)out_child);
}

gnt_status gntx_json_append_text(gntx_json *array, const char *value)
{
    return gnti_json_append_text(in(array), value);
}

const gntx_json *gntx_json_find(const gntx_json *object, const char *key)
{
    return (const gntx_json *)gnti_json_find(in_const(object), key);
}

int64_t gntx_json_length(const gntx_json *array_or_object)
{
    return gnti_json_length(in_const(array_or_object));
}

const gntx_json *gntx_json_at(const gntx_json *array, int64_t index)
{
    return (const gntx_json *)gnti_json_at(in_const(array), index);
}

const char *gntx_json_key_at(const gntx_json *object, int64_t index)
{
    return gnti_json_key_at(in_const(object), index);
}

bool gntx_json_is_object(const gntx_json *value)
{
    return gnti_json_is_object(in_const(value));
}

bool gntx_json_is_array(const gntx_json *value)
{
    return gnti_json_is_array(in_const(value));
}

bool gntx_json_to_int(const gntx_json *value, int64_t *out)
{
    return gnti_json_to_int(in_const(value), out);
}

bool gntx_json_to_number(const gntx_json *value, double *out)
{
    return gnti_json_to_number(in_const(value), out);
}

const char *gntx_json_to_text(const gntx_json *value)
{
    return gnti_json_to_text(in_const(value));
}

gnt_status gntx_json_print(const gntx_json *root, bool pretty, char **out)
{
    return gnti_json_print(in_const(root), pretty, out);
}

gnt_status gntx_json_read(const char *path, gntx_json **out)
{
    return gnti_json_read(path, (gnti_json **)out);
}

void gntx_free(void *block)
{
    gnti_free(block);
}

gnt_status gntx_file_write(const char *path, const char *text)
{
    return gnti_file_write_all(path, text, strlen(text));
}

gnt_status gntx_folder_create(const char *path)
{
    return gnti_folder_create(path);
}

double gntx_clock_seconds(void)
{
    return gnti_clock_seconds();
}

int32_t gntx_num_cores(void)
{
    return gnti_team_cores();
}

int64_t gntx_peak_bytes(void)
{
    gnti_alloc_stats stats;

    gnti_alloc_get_stats(&stats);
    return (int64_t)stats.peak_bytes;
}

gnt_status gntx_check_output(const char *output, const char *const *inputs, int num_inputs)
{
    gnt_status st = GNT_OK;

    for (int i = 0; i < num_inputs; i++)
        GNT_CHECK(output == NULL || inputs[i] == NULL || !gnti_file_same(output, inputs[i]), GNT_ERR_USAGE,
                  "'%s' is read and would be overwritten: give the output another name", output);
done:
    return st;
}
