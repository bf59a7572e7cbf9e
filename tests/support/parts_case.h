/* SPDX-License-Identifier: Apache-2.0 */
/* One training problem run by P ranks as threads over a partition, for tests of programs over parts. A failure in a rank ends
 * the test program at once: the others would only wait for it.
 */
#ifndef GNT_PARTS_CASE_H
#define GNT_PARTS_CASE_H

#include "nn_case.h"

#include "nn/trace.h"

typedef struct parts_problem {
    const nn_data *data; /* of the whole graph */
    const char *text;    /* of the model */
    const gnt_model_config *config;
    int32_t members, block_members, slice_members;
    uint32_t disabled;
    bool sparse, evaluation, bitwise;
    int64_t steps;
    float lr;
    const int64_t *nodes; /* only this induced subgraph, ascending; NULL: all */
    int64_t num_nodes;
    gnti_strategy strategy;
    gnti_wire wire;
    bool always_overlap;
    gnti_link link;                        /* with a virtual clock when bytes_per_second > 0 */
    gnt_context *(*context)(bool bitwise); /* with the layers that the text names */
    const char
        *devices; /* a back end of which each rank has its own device, all in a group; NULL: the context's */
} parts_problem;

enum { PARTS_MAX_RANKS = 8, PARTS_MAX_MEMBERS = 8, PARTS_MAX_STEPS = 16 };

typedef struct parts_result {
    double loss[PARTS_MAX_STEPS][PARTS_MAX_MEMBERS]; /* as rank 0 saw them */
    float *weights; /* (members, num_weights), all ranks have the same bits */
    int64_t num_weights;
    float *logits; /* (members, rows of the whole graph, classes), evaluation alone */
    int64_t num_logits;
    gnti_dist_counters counters[PARTS_MAX_RANKS];
    gnti_program_bytes bytes[PARTS_MAX_RANKS];
    int64_t rows[PARTS_MAX_RANKS], halo[PARTS_MAX_RANKS], sent_rows[PARTS_MAX_RANKS][2];
    int64_t requests;      /* for memory, by all ranks together, in the steps after the second */
    char *explain, *trace; /* of rank 0; of all ranks */
} parts_result;

/* owner (K): rank of each chunk. */
void parts_run(const parts_problem *p, const gnti_partition *partition, const int32_t *owner,
               int32_t num_ranks, parts_result *out);
/* The same problem on one device without a partition. */
void parts_run_whole(const parts_problem *p, parts_result *out);
void parts_result_free(parts_result *r);

/* K chunks of random nodes; some may be empty when K is near the number of nodes. */
gnti_partition *parts_random(uint64_t seed, int64_t num_nodes, int32_t num_chunks);
/* Chunks to ranks: contiguous ranges (0) or at random (1). */
void parts_owner(uint64_t seed, int32_t num_chunks, int32_t num_ranks, bool scattered, int32_t *owner);

/* Losses and weights within 1e-5 of each other, or equal bits; NULL or what differs. */
const char *parts_differ(const parts_problem *p, const parts_result *a, const parts_result *b, bool bits);

#endif
