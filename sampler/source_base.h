/* SPDX-License-Identifier: Apache-2.0 */
/* What the sources share: the head of each of them, and a batch that owns its rows of features and labels. */
#ifndef GNTI_SAMPLER_SOURCE_BASE_H
#define GNTI_SAMPLER_SOURCE_BASE_H

#include "sampler/source.h"

typedef struct gnti_source_class {
    void (*begin)(gnti_source *s);
    bool (*next)(gnti_source *s,
                 gnti_source_batch *out); /* false: the epoch has ended, or s->status says why */
    void (*free)(gnti_source *s);
} gnti_source_class;

struct gnti_source {
    const gnti_source_class *class;
    gnti_source_data data;
    gnt_status status;
    int64_t epoch, position, num_batches;
    int64_t max_rows, max_arcs, max_entries, expected_arcs;
    bool square;
    const gnti_operator *whole; /* of the whole graph, or NULL */
};

/* The induced subgraph of some nodes with its rows of everything. Zeroed before use. */
typedef struct gnti_source_rows {
    gnti_operator *op;
    const gnti_operator **adj; /* (num_adjs), all op */
    gnti_features x;           /* owned */
    int32_t *labels;
    float *target, *weight, *apart;
    float *member_weight; /* (num_members, num_rows) or NULL */
    double *member_sums;  /* (num_members) or NULL */
    int64_t num_rows;
    double weight_sum;
} gnti_source_rows;

/* Fills rows from `nodes` (ascending). On failure rows is as before. */
gnt_status gnti_source_rows_make(const gnti_source_data *data, const int64_t *nodes, int64_t num_nodes,
                                 gnti_source_rows *rows);
/* The rows alone, without operator and adj. */
gnt_status gnti_source_rows_gather(const gnti_source_data *data, const int64_t *nodes, int64_t num_nodes,
                                   gnti_source_rows *rows);
void gnti_source_rows_free(gnti_source_rows *rows);
gnti_source_batch gnti_source_rows_batch(const gnti_source_rows *rows);

/* Chunks of nodes, of which a batch has `per_batch`: what the largest batch can have. chunk_of (graph rows) is -1 for nodes in
 * none. */
typedef struct gnti_source_chunks {
    const int32_t *chunk_of;
    int64_t num_chunks, per_batch;
} gnti_source_chunks;
gnt_status gnti_source_bound_arcs(const gnti_graph *graph, const gnti_source_chunks *chunks, int64_t *out);
gnt_status gnti_source_bound_entries(const gnti_graph *x, const gnti_source_chunks *chunks, int64_t *out);

/* Sum of weights in row order. */
double gnti_source_weight_sum(const float *weight, int64_t num_rows);
/* The same of each member, to be freed; *out stays NULL without member_weight. */
gnt_status gnti_source_member_sums(const float *member_weight, int32_t num_members, int64_t num_rows,
                                   double **out);

#endif
