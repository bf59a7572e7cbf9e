/* SPDX-License-Identifier: Apache-2.0 */
/* What an importer hands over: records as read. One place (raw_finish.c, with raw_ids.c for the numbering)
 * applies the rules for ids, gaps, direction, duplicates and loops and builds the dataset, so that a format
 * is one short file that only reads.
 */
#ifndef GNTI_DATASETS_RAW_H
#define GNTI_DATASETS_RAW_H

#include <gnntrain/experimental.h>

#include "base/text.h"
#include "datasets/feature_rows.h"
#include "datasets/string_table.h"

#include <string.h>

/* How nodes are numbered. DENSE: numbers from 0 that are the node, gaps are isolated nodes; ONE_BASED: the
 * same from 1; SPARSE: any integers, renumbered in ascending order; TEXT: any strings, renumbered in order of
 * appearance; AUTO: DENSE, ONE_BASED or SPARSE by what the ids look like. */
typedef enum gnti_id_rule {
    GNTI_IDS_AUTO,
    GNTI_IDS_DENSE,
    GNTI_IDS_ONE_BASED,
    GNTI_IDS_SPARSE,
    GNTI_IDS_TEXT
} gnti_id_rule;

/* One label a row: integers, or names numbered by appearance. Classes are made of them by gnti_raw_finish. */
typedef struct gnti_label_column {
    int64_t *value; /* number, or the number of a name; -1: unlabelled */
    int64_t count, capacity;
    bool is_text;
    gnti_string_table names;
    char **class_names; /* (num_class_names) of the classes 0, 1, ...; NULL: none given */
    int64_t num_class_names;
} gnti_label_column;

typedef struct gnti_raw {
    int64_t num_nodes;    /* stated by the format, -1: not stated */
    int64_t num_distinct; /* how many different ids there are, as a comment of the file says; -1: it does not
                             say */
    gnti_id_rule id_rule;
    gnti_arc_list arcs; /* source, target: ids by the rule (TEXT: numbers of names) */
    bool direction_stated, directed;
    bool both_directions_stored; /* undirected with each edge listed twice: checked, nothing is added */
    int64_t *node_id; /* (num_listed) ids of the rows of x, y and node arrays; NULL: row r is node r */
    int64_t num_listed, node_id_capacity;
    gnti_string_table names; /* TEXT */
    gnti_feature_rows x;
    gnti_label_column y;
    gnti_labels y_rows; /* MULTI or REGRESSION rows in place of y */
    gnti_split *splits; /* ids by the rule, sorted by gnti_raw_finish */
    int64_t num_splits;
    gnti_array *arrays; /* optional members: per record for AXIS_ARC, per listed node for AXIS_NODE */
    int64_t num_arrays;
    int64_t num_dropped; /* records that the reader left out, its notes say why */
    gnti_text notes;     /* lines for the report */
    gnti_text inputs;    /* names of the files read, one a line */
} gnti_raw;

void gnti_raw_init(gnti_raw *raw);
void gnti_raw_clear(gnti_raw *raw);

/* Appends an arc; the weight is kept when weighted. One kind for all arcs of a list. */
gnt_status gnti_raw_add_arc(gnti_raw *raw, int64_t source, int64_t target);
gnt_status gnti_raw_add_weighted(gnti_raw *raw, int64_t source, int64_t target, float weight);

/* Appends a listed node by its id. */
gnt_status gnti_raw_add_node(gnti_raw *raw, int64_t id);

/* Appends a label: an integer or a name. Mixing both makes all of them names. */
gnt_status gnti_raw_add_label(gnti_raw *raw, const char *text, size_t length);
gnt_status gnti_raw_add_class(gnti_raw *raw, int64_t value);

/* Appends a split without nodes, lent until the next; and a node to a part of it (capacity is kept by
 * doubling). */
gnt_status gnti_raw_add_split(gnti_raw *raw, const char *name, const char *source, gnti_split **out);
gnt_status gnti_split_add(gnti_split *split, int part, int64_t node);

/* Where each id goes. node(map, id) is -1 for an id that does not belong to the graph. */
typedef struct gnti_id_map {
    gnti_id_rule rule;
    int64_t num_nodes, num_distinct, low, high;
    int64_t *ids;   /* SPARSE: (num_nodes) ascending */
    uint64_t *keys; /* SPARSE, hashed: ids, with their nodes beside */
    int64_t *nodes;
    int64_t num_slots;
    int64_t num_gaps; /* nodes that no record names */
} gnti_id_map;

/* Decides the rule (see AUTO) and the number of nodes. ERR_FORMAT for ids that a rule cannot hold. */
gnt_status gnti_id_map_build(const gnti_raw *raw, gntx_import_ids wanted, int64_t num_nodes,
                             gnti_id_map *out);
int64_t gnti_id_map_node(const gnti_id_map *map, int64_t id);
void gnti_id_map_clear(gnti_id_map *map);

/* Classes of a label column by row, sorted by number or by name. */
gnt_status gnti_label_column_finish(const gnti_label_column *column, const int64_t *row_of, int64_t num_nodes,
                                    gnti_labels *out);

/* What was done, for the person who imports. */
typedef struct gnti_import_report {
    char format[32], id_rule[96];
    int64_t num_records, num_dropped, num_loops, num_repeated, num_reversed_added;
    int64_t num_nodes, num_arcs, num_features, num_classes, num_gap_nodes;
    int64_t num_without_features, num_unlabelled; /* nodes */
    bool directed, direction_stated;
    double seconds;
    int64_t peak_bytes; /* of our own blocks */
    char *notes;        /* further lines, to be freed */
} gnti_import_report;

/* The report as the JSON that gntx_import states, and what the file keeps of it, as JSON text to be freed. */
gnt_status gnti_import_report_json(const gnti_import_report *report, gntx_json **out);
gnt_status gnti_import_provenance(const gnti_import_report *report, const gnti_raw *raw, char **out);

/* Where features come from when --features is given: another file, or one column a node. */
typedef enum gnti_features_source {
    GNTI_FEATURES_NONE,
    GNTI_FEATURES_FILE,
    GNTI_FEATURES_IDENTITY
} gnti_features_source;
static inline bool gnti_import_features_are(const gntx_import_options *options, gnti_features_source source)
{
    const char *text = options->features;

    if (text == NULL || text[0] == '\0')
        return source == GNTI_FEATURES_NONE;
    return source == (strcmp(text, "identity") == 0 ? GNTI_FEATURES_IDENTITY : GNTI_FEATURES_FILE);
}

/* Applies the rules, builds, validates and hashes the dataset, fills the report. `raw` is used up. */
gnt_status gnti_raw_finish(gnt_context *ctx, gnti_raw *raw, const gntx_import_options *options,
                           gnti_import_report *report, gnt_dataset **out);

#endif
