/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of the shared data sets: digests and counts of expected.json against what an import gave. */
#ifndef GNT_TEST_FACTS_H
#define GNT_TEST_FACTS_H

#include "datasets/import.h"

#include "base/json.h"

/* Options with the defaults; and an import that must succeed, of one path below the shared data (skips without it). */
gntx_import_options gnt_facts_options(void);
gnt_dataset *gnt_facts_import(const char *relative, const gntx_import_options *options);

/* Parsed JSON below the shared data, to be freed; skips the calling test without it. */
gnti_json *gnt_facts_load(const char *relative);

/* The unordered pairs (of any import) and the ordered ones (of a directed import) against `graph`. `compact` renumbers the
 * nodes that have an edge first, as the facts of edge lists do. */
void gnt_facts_graph(const gnt_dataset *data, const gnti_json *graph, bool compact, const char *what);
void gnt_facts_labels(const gnt_dataset *data, const gnti_json *labels, const char *what);
void gnt_facts_features(const gnt_dataset *data, const gnti_json *features, const char *what);
/* `parts`: members train, val, test with a digest each. */
void gnt_facts_split(const gnt_dataset *data, const char *name, const gnti_json *parts, const char *what);

#endif
