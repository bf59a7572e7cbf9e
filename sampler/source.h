/* SPDX-License-Identifier: Apache-2.0 */
/* Batch sources: what a training step is bound to. The loop asks for batches and does not know which source
 * it has.
 *
 *   gnti_source_begin(s, epoch, 0);
 *   while (gnti_source_next(s, &batch)) bind(batch.bind), run;
 *   status = gnti_source_status(s);
 * The batches of an epoch follow from the epoch number and the node ids alone: not from the seed of a member,
 * so all members of a run see the same ones and each of them equals the lone run with its seed; nor from
 * threads or earlier epochs, so a resumed run sees the same ones too. Rows of a batch ascend by node id: one
 * batch of everything is full batch to the bit. Epochs after the first ask for no memory (base/pool.h). One thread at a time
 * uses a source.
 */
#ifndef GNTI_SAMPLER_SOURCE_H
#define GNTI_SAMPLER_SOURCE_H

#include "nn/program.h"
#include "partition/local_data.h"

/* What batches are cut from, all lent: it must outlive the source. N = graph->num_rows. */
typedef struct gnti_source_data {
    const gnti_graph *graph; /* rows are sources */
    const gnti_features *x;  /* (N, F) */
    const int32_t *labels;   /* (N), or NULL */
    const float *target;     /* (N, num_classes), or NULL */
    int64_t num_classes;
    const float *weight; /* (N) loss weights, 0: not in the loss */
    const float *
        member_weight; /* (num_members, N) loss weights of each member, 0 where weight is; NULL: weight is all members' */
    int32_t num_members;  /* with member_weight */
    const float *apart;   /* (N, num_classes) that the loss stays apart from, or NULL */
    uint64_t order_seed;  /* of which chunks make a batch, 0: the same for everybody */
    const int64_t *nodes; /* ascending: training sees only their induced subgraph (inductive); NULL: all */
    int64_t num_nodes;
    const int64_t
        *ids; /* (N) rows of the imported dataset, by which random numbers go; NULL: the rows themselves */
    int32_t num_adjs; /* operators that a batch binds, one a layer */
} gnti_source_data;

typedef struct gnti_source_batch {
    gnti_batch bind; /* lent until the next call */
    bool same;       /* the batch handed out before: what is bound may stay */
    int64_t num_rows;
    double
        weight_sum; /* of its rows, in row order; over parts: of all ranks' rows, along the tree of chunks */
    const double *member_sums; /* (num_members) the same of member_weight; NULL without; lent */
} gnti_source_batch;

typedef struct gnti_source gnti_source;

/* The whole graph, or the induced subgraph of `nodes`, in one batch. */
gnt_status gnti_source_create_full(const gnti_source_data *data, gnti_source **out);

/* Cluster-GCN (Chiang et al., KDD 2019) with random chunks: the nodes fall into `clusters` chunks of equal
 * size, a batch is the induced subgraph of `per_batch` of them in an order drawn anew each epoch, degrees are
 * those inside the batch. Batches without a row in the loss (by weight, not member_weight: alone or with others a member sees
 * the same batches) are passed over. ERR_USAGE when there are more
 * chunks than nodes. */
gnt_status gnti_source_create_clusters(const gnti_source_data *data, int64_t clusters, int64_t per_batch,
                                       gnti_source **out);

/* Full batch over parts: bind.part is the rank's part (the induced training one of an inductive split), all rows are own rows;
 * weight_sum is that of the whole job. Collective, every rank calls this; a rank may have no training node, or no node. */
typedef struct gnti_source_part_data {
    const gnti_local_data *local; /* lent: it must outlive the source, and so x and weight */
    const gnti_features *x;       /* (num_own, F) as the model sees them; NULL: local->x */
    const float *weight;          /* (num_own) loss weights, 0: not in the loss */
    const float *member_weight;   /* (num_members, num_own) as in gnti_source_data */
    int32_t num_members;
    const float *apart; /* (num_own, num_classes) as in gnti_source_data */
    int32_t num_adjs;
    gnti_comm *comm;
} gnti_source_part_data;
gnt_status gnti_source_create_part(const gnti_source_part_data *data, gnti_source **out);
void gnti_source_free(gnti_source **source);

/* Starts an epoch at its batch number `position` (0, or what gnti_source_position answered when a stop cut
 * it). */
void gnti_source_begin(gnti_source *source, int64_t epoch, int64_t position);
bool gnti_source_next(gnti_source *source, gnti_source_batch *out);
gnt_status gnti_source_status(const gnti_source *source); /* why next answered false */
bool gnti_source_ended(const gnti_source *source);        /* every batch of the epoch was handed out */
int64_t gnti_source_position(const gnti_source *source);

int64_t gnti_source_max_rows(const gnti_source *source);
int64_t gnti_source_max_arcs(const gnti_source *source);    /* of a batch; loops may count */
int64_t gnti_source_max_entries(const gnti_source *source); /* of sparse features */
int64_t gnti_source_expected_arcs(const gnti_source *source);
bool gnti_source_is_square(const gnti_source *source); /* one row space for all layers */
/* The operator of the whole graph (of the rank's part of it), lent to evaluation; NULL when the source has made none. */
const gnti_operator *gnti_source_whole(const gnti_source *source);

#endif
