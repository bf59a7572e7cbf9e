/* SPDX-License-Identifier: Apache-2.0 */
/* Host graphs in canonical CSR: int64 offsets, int32 columns, rows sorted, weights only when some differ
 * from 1.
 *
 * A gnti_graph is a plain matrix (num_rows x num_cols); what its rows mean is the owner's matter: in a
 * dataset rows are sources, in an operator (graph/operator.h) rows are destinations. Facts are computed when
 * asked for and kept.
 */
#ifndef GNTI_GRAPH_GRAPH_H
#define GNTI_GRAPH_GRAPH_H

#include "base/alloc.h"

typedef struct gnti_graph {
    int64_t num_rows, num_cols, num_arcs;
    int64_t *offsets; /* (num_rows + 1) */
    int32_t *columns; /* (num_arcs), ascending in a row */
    float *weights;   /* (num_arcs), NULL: all 1 */
    bool borrowed;    /* the arrays belong to a caller */
} gnti_graph;

typedef enum gnti_duplicates {
    GNTI_DUPLICATES_SUM,
    GNTI_DUPLICATES_FIRST,
    GNTI_DUPLICATES_ERROR
} gnti_duplicates;

typedef struct gnti_arc_list {
    int64_t num_arcs, capacity;
    int64_t *source, *target; /* (num_arcs) dense node numbers */
    float *weight;            /* (num_arcs) or NULL */
} gnti_arc_list;

typedef struct gnti_build_options {
    bool symmetrise; /* add the reverse of each arc that lacks it */
    bool drop_loops;
    gnti_duplicates
        duplicates; /* of weights; records without weights count once, whatever the policy but ERROR */
} gnti_build_options;

/* Loops and repeated records of the input; repeated means the same source and target as an earlier record. */
typedef struct gnti_build_report {
    int64_t num_records, num_loops, num_repeated, num_reversed_added, num_arcs;
} gnti_build_report;

gnt_status gnti_graph_alloc(int64_t num_rows, int64_t num_cols, int64_t num_arcs, bool weighted,
                            gnti_graph **out);
void gnti_graph_free(gnti_graph **graph);

/* Sorts, coalesces and (when asked) symmetrises arcs into CSR. `origin`, when not NULL, receives (num_arcs)
 * the record that each stored arc came from, so that per-arc arrays follow; reversed arcs name the record
 * they mirror. A pair stored both ways with unequal weights gets the larger one in both (SUM), the first one
 * (FIRST), or is refused (ERROR). ERR_FORMAT names the record. O(n + m). */
gnt_status gnti_graph_build(int64_t num_nodes, const gnti_arc_list *arcs, const gnti_build_options *options,
                            gnti_build_report *report, int64_t **origin, gnti_graph **out);

/* Offsets monotone, columns in range, rows sorted without repeats, weights finite. ERR_FORMAT names the row.
 */
gnt_status gnti_graph_validate(const gnti_graph *graph);

/* The transpose; `arc` when not NULL receives for each arc of the transpose its number in the input. */
gnt_status gnti_graph_transpose(const gnti_graph *graph, int64_t **arc, gnti_graph **out);

/* Whether pattern and weights equal their transpose. Proven by comparison, O(m). */
gnt_status gnti_graph_is_symmetric(const gnti_graph *graph, bool *out);

/* The induced subgraph of `nodes` (distinct, any order: node nodes[i] becomes i); `arc` as in transpose. */
gnt_status gnti_graph_subgraph(const gnti_graph *graph, const int64_t *nodes, int64_t num_nodes,
                               int64_t **arc, gnti_graph **out);

/* The inverse of a permutation, which is checked: nodes[rank[i]] = i. */
gnt_status gnti_graph_invert(const int64_t *rank, int64_t num_nodes, int64_t **out);

/* The graph with node i renamed to rank[i]. */
gnt_status gnti_graph_permute(const gnti_graph *graph, const int64_t *rank, int64_t **arc, gnti_graph **out);

/* Sum of weights (or count) per row, in double; direction ignored: the component of each node, numbered by
 * their smallest nodes. */
gnt_status gnti_graph_degrees(const gnti_graph *graph, double **out);
gnt_status gnti_graph_components(const gnti_graph *graph, int64_t **component, int64_t *num_components);

#endif
