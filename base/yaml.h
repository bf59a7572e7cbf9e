/* SPDX-License-Identifier: Apache-2.0 */
/* YAML documents of any shape as trees: ensemble specs, inventories and traces of the simulator.
 *
 *   gnti_yaml_read(path, &doc); root = gnti_yaml_root(doc);
 *   for each entry: gnti_yaml_key_at(root, i), gnti_yaml_at(root, i)
 *   gnti_yaml_options(node, table, others, object, set)     all keys of a map that are rows of an option table
 * A node is a map, a list, a plain value (its text, to be parsed by an option table) or nothing (`key:`). It is lent by its document
 * and knows where it stands, so every complaint names file, line and place: "'e.yaml' line 7, vary[1].low: ...".
 * One document a file; repeated keys, anchors, aliases and tags are refused. Keys are plain text.
 */
#ifndef GNTI_BASE_YAML_H
#define GNTI_BASE_YAML_H

#include "base/option.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GNTI_YAML_MAX_DEPTH = 16, GNTI_YAML_MAX_KEYS = 1024, GNTI_YAML_MAX_BYTES = 64 << 20 };

typedef struct gnti_yaml gnti_yaml;
typedef struct gnti_yaml_node gnti_yaml_node;

typedef enum gnti_yaml_kind {
    GNTI_YAML_NOTHING,
    GNTI_YAML_TEXT,
    GNTI_YAML_LIST,
    GNTI_YAML_MAP
} gnti_yaml_kind;

/* ERR_FORMAT names file and line. An empty file is a map without keys. `source` is the name that errors use. */
gnt_status gnti_yaml_read(const char *path, gnti_yaml **out);
gnt_status gnti_yaml_parse(const char *text, size_t length, const char *source, gnti_yaml **out);
void gnti_yaml_free(gnti_yaml **doc);
const gnti_yaml_node *gnti_yaml_root(const gnti_yaml *doc);

gnti_yaml_kind gnti_yaml_get_kind(const gnti_yaml_node *node);
int gnti_yaml_line(const gnti_yaml_node *node);             /* from 1: of the key where it has one */
const char *gnti_yaml_get_text(const gnti_yaml_node *node); /* NULL: no plain value */

/* Entries of a map or items of a list; 0 and NULL for anything else. */
int64_t gnti_yaml_length(const gnti_yaml_node *node);
const gnti_yaml_node *gnti_yaml_at(const gnti_yaml_node *node, int64_t index);
const char *gnti_yaml_key_at(const gnti_yaml_node *map, int64_t index);
const gnti_yaml_node *gnti_yaml_find(const gnti_yaml_node *map, const char *key); /* '_' counts as '-' */

/* Sets and answers code with "'FILE' line N, PLACE: " and the text. */
gnt_status gnti_yaml_fail(const gnti_yaml_node *node, gnt_status code, const char *format, ...)
    GNT_PRINTF(3, 4);
/* The newest record, of a value that this node gave, anew as ERR_FORMAT with its place; other codes than ERR_USAGE and ERR_ARG stay. */
gnt_status gnti_yaml_blame(const gnti_yaml_node *node, gnt_status st);

/* ERR_FORMAT unless it is of that kind: "expected a list, found a plain value". */
gnt_status gnti_yaml_expect(const gnti_yaml_node *node, gnti_yaml_kind kind);

/* Sets the options that the map names: of a plain value its text, of a LIST also [a, b] as "a,b". Keys that are no row are refused with
 * the nearest one, except those of `others` (ends with NULL; may be NULL), which the caller reads. set: a flag per row of the table,
 * may be NULL; rows that it has already are refused, so that two maps may fill one object. */
gnt_status gnti_yaml_options(const gnti_yaml_node *map, const gnt_option *table, const char *const *others,
                             void *object, bool *set);
/* One option from one node, whatever its key. */
gnt_status gnti_yaml_option(const gnti_yaml_node *node, const gnt_option *option, void *object);

#endif
