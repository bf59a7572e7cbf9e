/* SPDX-License-Identifier: Apache-2.0 */
/* JSON through jansson: a gnti_json is a json_t that only this file looks into.
 *
 * Printing walks the tree itself, since jansson writes doubles with 17 digits (0.1 as 0.10000000000000001);
 * strings are jansson's. Depth is bounded by jansson's parser (2048) and by what callers build.
 */
#include "base/json.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

static json_t *peek(const gnti_json *value)
{
    return (json_t *)(uintptr_t)value; /* jansson's readers take no const */
}

static gnt_status hand_out(json_t *value, gnti_json **out)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(value != NULL, GNT_ERR_NOMEM, "no memory for a JSON value");
    *out = (gnti_json *)value;
done:
    return st;
}

gnt_status gnti_json_create_object(gnti_json **out)
{
    return hand_out(json_object(), out);
}

gnt_status gnti_json_create_array(gnti_json **out)
{
    return hand_out(json_array(), out);
}

void gnti_json_free(gnti_json **root)
{
    json_decref(peek(*root));
    *root = NULL;
}

/* Takes `value`, also when it fails. */
static gnt_status set_value(gnti_json *object, const char *key, json_t *value)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(value != NULL, GNT_ERR_ARG, "JSON member '%s': no memory", key);
    GNT_CHECK(json_object_set_new(peek(object), key, value) == 0, GNT_ERR_ARG,
              "JSON member '%s': not an object, key not UTF-8, or no memory", key);
done:
    return st;
}

static gnt_status append_value(gnti_json *array, json_t *value)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(value != NULL, GNT_ERR_ARG, "JSON item: no memory");
    GNT_CHECK(json_array_append_new(peek(array), value) == 0, GNT_ERR_ARG,
              "JSON item: not an array, or no memory");
done:
    return st;
}

static json_t *number_value(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* Names of files and words of other programs may be of any bytes: what is no UTF-8 becomes '?'. */
static json_t *text_value(const char *value)
{
    json_t *text = value == NULL ? json_null() : json_string(value);
    char *copy = NULL;

    if (text == NULL && gnti_strdup(&copy, value) == GNT_OK) {
        gnti_make_utf8(copy);
        text = json_string(copy);
        gnti_free(copy);
    }
    return text;
}

gnt_status gnti_json_set_int(gnti_json *object, const char *key, int64_t value)
{
    return set_value(object, key, json_integer(value));
}

gnt_status gnti_json_set_number(gnti_json *object, const char *key, double value)
{
    return set_value(object, key, number_value(value));
}

gnt_status gnti_json_set_bool(gnti_json *object, const char *key, bool value)
{
    return set_value(object, key, json_boolean(value));
}

gnt_status gnti_json_set_text(gnti_json *object, const char *key, const char *value)
{
    return set_value(object, key, text_value(value));
}

static gnt_status set_child(gnti_json *object, const char *key, json_t *child, gnti_json **out)
{
    gnt_status st = GNT_OK;

    GNT_TRY(set_value(object, key, child));
    *out = (gnti_json *)child;
done:
    return st;
}

gnt_status gnti_json_set_object(gnti_json *object, const char *key, gnti_json **out_child)
{
    return set_child(object, key, json_object(), out_child);
}

gnt_status gnti_json_set_array(gnti_json *object, const char *key, gnti_json **out_child)
{
    return set_child(object, key, json_array(), out_child);
}

gnt_status gnti_json_set_numbers(gnti_json *object, const char *key, const double *values, int64_t count)
{
    gnt_status st = GNT_OK;
    gnti_json *array = NULL;

    GNT_TRY(gnti_json_set_array(object, key, &array));
    for (int64_t i = 0; i < count; i++)
        GNT_TRY(gnti_json_append_number(array, values[i]));
done:
    return st;
}

gnt_status gnti_json_set_ints(gnti_json *object, const char *key, const int64_t *values, int64_t count)
{
    gnt_status st = GNT_OK;
    gnti_json *array = NULL;

    GNT_TRY(gnti_json_set_array(object, key, &array));
    for (int64_t i = 0; i < count; i++)
        GNT_TRY(gnti_json_append_int(array, values[i]));
done:
    return st;
}

gnt_status gnti_json_set_copy(gnti_json *object, const char *key, const gnti_json *value)
{
    return set_value(object, key, json_deep_copy(peek(value)));
}

gnt_status gnti_json_append_int(gnti_json *array, int64_t value)
{
    return append_value(array, json_integer(value));
}

gnt_status gnti_json_append_number(gnti_json *array, double value)
{
    return append_value(array, number_value(value));
}

gnt_status gnti_json_append_text(gnti_json *array, const char *value)
{
    return append_value(array, text_value(value));
}

static gnt_status append_child(gnti_json *array, json_t *child, gnti_json **out)
{
    gnt_status st = GNT_OK;

    GNT_TRY(append_value(array, child));
    *out = (gnti_json *)child;
done:
    return st;
}

gnt_status gnti_json_append_object(gnti_json *array, gnti_json **out_child)
{
    return append_child(array, json_object(), out_child);
}

gnt_status gnti_json_append_array(gnti_json *array, gnti_json **out_child)
{
    return append_child(array, json_array(), out_child);
}

const gnti_json *gnti_json_find(const gnti_json *object, const char *key)
{
    return (const gnti_json *)json_object_get(peek(object), key);
}

int64_t gnti_json_length(const gnti_json *array_or_object)
{
    const json_t *value = peek(array_or_object);

    return (int64_t)(json_is_object(value) ? json_object_size(value) : json_array_size(value));
}

const gnti_json *gnti_json_at(const gnti_json *array, int64_t index)
{
    return index < 0 ? NULL : (const gnti_json *)json_array_get(peek(array), (size_t)index);
}

const char *gnti_json_key_at(const gnti_json *object, int64_t index)
{
    void *place = json_object_iter(peek(object));

    for (; place != NULL && index > 0; index--)
        place = json_object_iter_next(peek(object), place);
    return place == NULL ? NULL : json_object_iter_key(place);
}

bool gnti_json_is_object(const gnti_json *value)
{
    return json_is_object(peek(value));
}

bool gnti_json_is_array(const gnti_json *value)
{
    return json_is_array(peek(value));
}

bool gnti_json_to_int(const gnti_json *value, int64_t *out)
{
    if (!json_is_integer(peek(value)))
        return false;
    *out = json_integer_value(peek(value));
    return true;
}

bool gnti_json_to_number(const gnti_json *value, double *out)
{
    if (!json_is_number(peek(value)) && !json_is_null(peek(value)))
        return false;
    *out = json_is_null(peek(value)) ? (double)NAN : json_number_value(peek(value));
    return true;
}

const char *gnti_json_to_text(const gnti_json *value)
{
    return json_string_value(peek(value));
}

gnt_status gnti_json_get_int(const gnti_json *object, const char *key, int64_t *out)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(gnti_json_to_int(gnti_json_find(object, key), out), GNT_ERR_FORMAT,
              "JSON member '%s' is not a whole number", key);
done:
    return st;
}

gnt_status gnti_json_get_number(const gnti_json *object, const char *key, double *out)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(gnti_json_to_number(gnti_json_find(object, key), out), GNT_ERR_FORMAT,
              "JSON member '%s' is not a number", key);
done:
    return st;
}

gnt_status gnti_json_get_bool(const gnti_json *object, const char *key, bool *out)
{
    gnt_status st = GNT_OK;
    const json_t *value = peek(gnti_json_find(object, key));

    GNT_CHECK(json_is_boolean(value), GNT_ERR_FORMAT, "JSON member '%s' is neither true nor false", key);
    *out = json_is_true(value);
done:
    return st;
}

gnt_status gnti_json_get_text(const gnti_json *object, const char *key, const char **out)
{
    gnt_status st = GNT_OK;
    const char *text = gnti_json_to_text(gnti_json_find(object, key));

    GNT_CHECK(text != NULL, GNT_ERR_FORMAT, "JSON member '%s' is not a text", key);
    *out = text;
done:
    return st;
}

gnt_status gnti_json_parse(const char *text, size_t length, const char *source, gnti_json **out)
{
    gnt_status st = GNT_OK;
    json_error_t error;
    json_t *value = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);

    GNT_CHECK(value != NULL || json_error_code(&error) != json_error_out_of_memory, GNT_ERR_NOMEM,
              "no memory to read '%s'", source);
    GNT_CHECK(value != NULL, GNT_ERR_FORMAT, "'%s' line %d, column %d: not valid JSON: %s", source,
              error.line, error.column, error.text);
    *out = (gnti_json *)value;
done:
    return st;
}

gnt_status gnti_json_read(const char *path, gnti_json **out)
{
    gnt_status st = GNT_OK;
    char *text = NULL;
    size_t length = 0;

    GNT_TRY(gnti_file_read_all(path, (size_t)256 << 20, &text, &length));
    GNT_TRY(gnti_json_parse(text, length, path, out));
done:
    gnti_free(text);
    return st;
}

static void print_leaf(gnti_text *t, const json_t *value)
{
    char number[GNTI_NUMBER_BYTES];
    const size_t flags = JSON_ENCODE_ANY, need = json_dumpb(value, NULL, 0, flags);
    char *bytes = NULL;

    if (json_is_real(value)) {
        gnti_format_double(json_real_value(value), number);
        gnti_text_append(t, number);
        if (strpbrk(number, ".en") == NULL)
            gnti_text_append(t, ".0"); /* stays a real when read back */
        return;
    }
    if (t->status == GNT_OK)
        t->status = gnti_alloc_array(&bytes, (int64_t)need + 1);
    if (t->status != GNT_OK)
        return;
    (void)json_dumpb(value, bytes, need, flags);
    gnti_text_append_bytes(t, bytes, need);
    gnti_free(bytes);
}

static void print_key(gnti_text *t, const char *key, bool pretty)
{
    json_t *text = json_string(key);

    print_leaf(t, text);
    gnti_text_append(t, pretty ? ": " : ":");
    json_decref(text);
}

/* Between items, and before the closing bracket, when indented. */
static void new_line(gnti_text *t, bool pretty, int depth)
{
    if (pretty)
        gnti_text_printf(t, "\n%*s", 2 * depth, "");
}

static void print_value(gnti_text *t, json_t *value, bool pretty, int depth);

static void print_object(gnti_text *t, json_t *object, bool pretty, int depth)
{
    void *place = json_object_iter(object);
    const bool empty = place == NULL;

    gnti_text_append(t, "{");
    while (place != NULL) {
        new_line(t, pretty, depth + 1);
        print_key(t, json_object_iter_key(place), pretty);
        print_value(t, json_object_iter_value(place), pretty, depth + 1);
        place = json_object_iter_next(object, place);
        gnti_text_append(t, place == NULL ? "" : ",");
    }
    if (!empty)
        new_line(t, pretty, depth);
    gnti_text_append(t, "}");
}

/* Arrays of leaves stay on one line. */
static void print_array(gnti_text *t, json_t *array, bool pretty, int depth)
{
    const size_t count = json_array_size(array);
    bool lines = false;

    for (size_t i = 0; i < count; i++)
        lines = lines || json_is_object(json_array_get(array, i)) || json_is_array(json_array_get(array, i));
    gnti_text_append(t, "[");
    for (size_t i = 0; i < count; i++) {
        new_line(t, pretty && lines, depth + 1);
        print_value(t, json_array_get(array, i), pretty, depth + 1);
        if (i + 1 < count)
            gnti_text_append(t, pretty && !lines ? ", " : ",");
    }
    new_line(t, pretty && lines, depth);
    gnti_text_append(t, "]");
}

static void print_value(gnti_text *t, json_t *value, bool pretty, int depth)
{
    if (json_is_object(value))
        print_object(t, value, pretty, depth);
    else if (json_is_array(value))
        print_array(t, value, pretty, depth);
    else
        print_leaf(t, value);
}

gnt_status gnti_json_print(const gnti_json *root, bool pretty, char **out)
{
    gnti_text t = { 0 };

    print_value(&t, peek(root), pretty, 0);
    return gnti_text_take(&t, out);
}

gnt_status gnti_json_write(const char *path, const gnti_json *root)
{
    gnt_status st = GNT_OK;
    gnti_text t = { 0 };
    char *text = NULL;

    print_value(&t, peek(root), true, 0);
    gnti_text_append(&t, "\n");
    GNT_TRY(gnti_text_take(&t, &text));
    GNT_TRY(gnti_file_write_all(path, text, strlen(text)));
done:
    gnti_free(text);
    return st;
}
