/* SPDX-License-Identifier: Apache-2.0 */
/* One recorded, planned and bound program for tests of nn/: a graph, features, labels, a model text and what to plan with.
 * Layers of the tests' own ("net:..." below) record whole networks, so that any op can be tried through the tape.
 */
#ifndef GNT_NN_CASE_H
#define GNT_NN_CASE_H

#include "gnt_test.h"

#include "nn/model.h"
#include "nn/program.h"

/* Graph, features, labels; arrays belong to the case. */
typedef struct nn_data {
    int64_t num_nodes, width, classes;
    gnti_graph *sources; /* as stored: rows are sources */
    gnti_operator *op;
    gnti_features x; /* dense and sparse both set: pick with nn_setup.sparse */
    gnti_graph *sparse;
    float *dense;
    int32_t *labels;
    float *weight;
} nn_data;

/* Random arcs (symmetric or not, some loops, isolated nodes), features and labels from a seed. */
void nn_data_make(nn_data *d, uint64_t seed, int64_t num_nodes, int64_t num_arcs, int64_t width,
                  int64_t classes, bool symmetric, bool weighted);
void nn_data_from_arcs(nn_data *d, int64_t num_nodes, const gnti_arc_list *arcs, bool symmetrise,
                       int64_t width, int64_t classes);
void nn_data_set_sparse(nn_data *d); /* the sparse twin of the dense features */
void nn_data_free(nn_data *d);

typedef struct nn_setup {
    gnt_context *ctx;
    const nn_data *data;
    const char *text;
    const gnt_model_config *config; /* NULL: defaults */
    int32_t members, block_members; /* 0: 1, automatic */
    int32_t slice_members;          /* 0: automatic */
    uint32_t disabled;
    bool sparse, evaluation, blocks; /* blocks: a chain of row spaces */
    const gnti_operator *const *ops; /* NULL: data's for all layers */
    const gnti_features *x;          /* NULL: data's */
    const int32_t *labels;
    const float *weight;        /* (rows) */
    const float *member_weight; /* (members, rows) instead, or NULL */
    gnt_optimizer_kind optimizer;
    float decay_first; /* weight decay of layer 1's weights */
    bool keep_logits, batches;
    const gnti_dist_config *dist; /* one rank of several: part, and data of its own rows */
    const gnti_part *part;
    double weight_sum; /* of all ranks; 0: of the weights given */
} nn_setup;

typedef struct nn_case {
    gnt_model *model;
    gnti_params *params;
    gnti_program *program;
    int32_t members;
    int64_t rows, classes;
    gnt_hyper lr, corr1, corr2;
    float norm;
} nn_case;

void nn_case_make(const nn_setup *s, nn_case *c);
void nn_case_free(nn_case *c);

/* Parameter p (in order of declaration), flat index k: the golden files' hash in (-0.5, 0.5); every member the same when
 * same is true, else member m is shifted by m parameters. */
void nn_case_fill(nn_case *c, bool same, float scale);

/* One run at learning rate lr with seeds (NULL: 0, 1, ...); answers the mean loss of each member. */
void nn_case_run(nn_case *c, int64_t step, float lr, const uint64_t *seeds, double *loss);
/* Gradients of a member, all parameters in order, closed up; answers the count. */
int64_t nn_case_grads(nn_case *c, int32_t member, float *out);
int64_t nn_case_weights(nn_case *c, int32_t member, float *out);
void nn_case_set_weights(nn_case *c, int32_t member, const float *in);

/* The golden files' value of parameter p, flat index k. */
float nn_golden_value(uint32_t p, uint32_t k);

#endif
