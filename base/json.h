/* SPDX-License-Identifier: Apache-2.0 */
/* JSON values: built piece by piece, printed, parsed. Facts for machines take this way: metrics.jsonl,
 * summary.json,
 * --json.
 *
 * The root is yours (gnti_json_free); what set_object, append_object, find and at answer is lent by it. Keys
 * keep their order. NaN and infinity, which JSON does not have, are written as null and read back as NaN.
 */
#ifndef GNTI_BASE_JSON_H
#define GNTI_BASE_JSON_H

#include "base/check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gnti_json gnti_json;

gnt_status gnti_json_create_object(gnti_json **out);
gnt_status gnti_json_create_array(gnti_json **out);
void gnti_json_free(gnti_json **root);

/* Members of an object; a key that is there already is replaced. Bytes of a text that are no UTF-8
 * become '?'; NULL becomes null. */
gnt_status gnti_json_set_int(gnti_json *object, const char *key, int64_t value);
gnt_status gnti_json_set_number(gnti_json *object, const char *key, double value);
gnt_status gnti_json_set_bool(gnti_json *object, const char *key, bool value);
gnt_status gnti_json_set_text(gnti_json *object, const char *key, const char *value);
gnt_status gnti_json_set_object(gnti_json *object, const char *key, gnti_json **out_child);
gnt_status gnti_json_set_array(gnti_json *object, const char *key, gnti_json **out_child);
gnt_status gnti_json_set_numbers(gnti_json *object, const char *key, const double *values, int64_t count);
gnt_status gnti_json_set_ints(gnti_json *object, const char *key, const int64_t *values, int64_t count);
gnt_status gnti_json_set_copy(gnti_json *object, const char *key, const gnti_json *value); /* a deep copy */

/* Items at the end of an array. */
gnt_status gnti_json_append_int(gnti_json *array, int64_t value);
gnt_status gnti_json_append_number(gnti_json *array, double value);
gnt_status gnti_json_append_text(gnti_json *array, const char *value);
gnt_status gnti_json_append_object(gnti_json *array, gnti_json **out_child);
gnt_status gnti_json_append_array(gnti_json *array, gnti_json **out_child);

/* Reading. find and at answer NULL when there is no such member; the others answer ERR_FORMAT naming the key.
 */
const gnti_json *gnti_json_find(const gnti_json *object, const char *key);
int64_t gnti_json_length(const gnti_json *array_or_object); /* 0 for anything else */
const gnti_json *gnti_json_at(const gnti_json *array, int64_t index);
const char *gnti_json_key_at(const gnti_json *object, int64_t index); /* in order; NULL behind the last */
gnt_status gnti_json_get_int(const gnti_json *object, const char *key, int64_t *out);
gnt_status gnti_json_get_number(const gnti_json *object, const char *key, double *out);
gnt_status gnti_json_get_bool(const gnti_json *object, const char *key, bool *out);
gnt_status gnti_json_get_text(const gnti_json *object, const char *key, const char **out); /* lent */
bool gnti_json_is_object(const gnti_json *value);
bool gnti_json_is_array(const gnti_json *value);
bool gnti_json_to_int(const gnti_json *value, int64_t *out);   /* false: not a whole number */
bool gnti_json_to_number(const gnti_json *value, double *out); /* false: neither number nor null */
const char *gnti_json_to_text(const gnti_json *value);         /* NULL: not a text */

/* The whole value as text, to be freed: one line without spaces, or indented by two; no newline at the end.
 * Numbers are the shortest that read back to the same double. */
gnt_status gnti_json_print(const gnti_json *root, bool pretty, char **out);

/* Reads one value. ERR_FORMAT names `source` (a file, say), line and column. Repeated keys are refused. */
gnt_status gnti_json_parse(const char *text, size_t length, const char *source, gnti_json **out);
gnt_status gnti_json_read(const char *path, gnti_json **out);
gnt_status gnti_json_write(const char *path, const gnti_json *root); /* pretty, atomic */

#endif
