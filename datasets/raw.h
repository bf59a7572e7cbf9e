/* SPDX-License-Identifier: Apache-2.0 */
/* What an importer hands over: records as read. One place (raw_finish) applies the rules for ids, gaps, direction,
 * duplicates and loops and builds the dataset, so that a format is one short file that only reads.
 */
#ifndef GNTI_DATASETS_RAW_H
#define GNTI_DATASETS_RAW_H

#include "datasets/dataset.h"

/* How the format numbers nodes. DENSE: 0-based numbers that are the node (gaps become isolated nodes); ONE_BASED: the
 * same from 1; SPARSE: any integers, renumbered in ascending order; TEXT: any strings, renumbered in order of appearance. */
typedef enum gnti_id_rule { GNTI_IDS_DENSE, GNTI_IDS_ONE_BASED, GNTI_IDS_SPARSE, GNTI_IDS_TEXT } gnti_id_rule;

typedef struct gnti_raw {
    int64_t num_nodes;       /* stated by the format, -1: not stated */
    gnti_id_rule id_rule;
    gnti_arc_list arcs;      /* source, target: ids by the rule (TEXT: numbers of first appearance) */
    bool direction_stated, directed;
    bool both_directions_stored; /* undirected and each edge is listed twice (METIS, symmetric CSR) */
    int64_t *node_id;        /* ids of the rows of x, y when the format lists nodes (TEXT: NULL, order of names) */
    int64_t num_listed;
    char **names;            /* TEXT: (num_names) */
    int64_t num_names;
    gnti_features x;
    gnti_labels y;
    gnti_split *splits;
    int64_t num_splits;
    gnti_array *arrays;      /* optional members: per record for AXIS_ARC, per listed node for AXIS_NODE */
    int64_t num_arrays;
    int64_t num_records, num_dropped;
    char *notes;             /* lines for the report, or NULL */
} gnti_raw;

typedef struct gnti_import_options {
    size_t struct_size;
    const char *format;      /* NULL: detect by content */
    const char *name;        /* set's name inside a folder, NULL: the only one */
    bool directed;           /* keep the direction of formats that do not state one */
    bool undirected;         /* symmetrise even a format that states direction */
    bool drop_loops;
    bool one_based;
    int64_t num_nodes;       /* -1: from the data */
    gnti_duplicates duplicates;
    const char *features, *labels; /* extra files, NULL: none */
} gnti_import_options;

typedef struct gnti_import_report {
    char format[32];
    gnti_build_report build;
    int64_t num_nodes, num_arcs, num_gap_nodes, num_dropped_records;
    bool directed, direction_stated;
    char id_rule[96];
    char *notes;             /* owned; more lines for a person */
    double seconds;
    int64_t peak_bytes;
} gnti_import_report;

#endif
