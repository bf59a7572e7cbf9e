/* SPDX-License-Identifier: Apache-2.0 */
/* What one option table does: defaults, parsing by name, printing, nearest name. The places a value may come from
 * are kept per option, so that --print-config can show them and two explicit sources that differ are no guess.
 */
#ifndef GNTI_BASE_OPTION_H
#define GNTI_BASE_OPTION_H

#include <gnntrain/option.h>

#include "base/check.h"

typedef enum gnti_origin {
    GNTI_ORIGIN_DEFAULT,
    GNTI_ORIGIN_USER_FILE,
    GNTI_ORIGIN_CONFIG_FILE,
    GNTI_ORIGIN_ENVIRONMENT,
    GNTI_ORIGIN_FLAG
} gnti_origin;

/* "default", "user file", "--config", "environment", "flag". */
const char *gnti_origin_name(gnti_origin origin);

/* Rows before the END row; group rows are counted but are no options. */
int gnti_options_count(const gnt_option *table);

/* Fills `object` with the defaults (TEXT and LIST members are allocated); free_texts releases them and sets NULL. */
gnt_status gnti_options_defaults(const gnt_option *table, void *object);
void gnti_options_free_texts(const gnt_option *table, void *object);

/* The row of that name ('_' counts as '-'), or NULL; and the nearest name for an unknown one, or NULL. */
const gnt_option *gnti_options_find(const gnt_option *table, const char *name);
const char *gnti_options_nearest(const gnt_option *table, const char *name);

/* Parses text into the option's member; a LIST is replaced as a whole. ERR_USAGE names option, text and what is
 * allowed. */
gnt_status gnti_option_set(const gnt_option *option, void *object, const char *text);

/* The value as text that gnti_option_set reads back to the same value. */
gnt_status gnti_option_get(const gnt_option *option, const void *object, char *out, size_t out_bytes);

/* Sets from environment variables PREFIX_NAME (upper case, '-' as '_'); origin[i] per table row is updated. */
gnt_status gnti_options_from_environment(const gnt_option *table, void *object, const char *prefix,
                                         gnti_origin *origin);

/* Reads one mapping of a YAML file ("name: value" at the top level). ERR_USAGE names file, line and nearest key. */
gnt_status gnti_options_from_yaml(const gnt_option *table, void *object, const char *path,
                                  gnti_origin *origin, gnti_origin from);

/* Writes "name: value" lines, a comment with the origin behind each when origin is not NULL. */
gnt_status gnti_options_to_yaml(const gnt_option *table, const void *object, const gnti_origin *origin,
                                char **out);

#endif
