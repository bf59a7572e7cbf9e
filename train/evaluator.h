/* SPDX-License-Identifier: Apache-2.0 */
/* The forward of a model over a whole graph, without dropout and with running statistics: for evaluation
 * while training and for predictions. Layer by layer over all nodes, never sampled.
 */
#ifndef GNTI_TRAIN_EVALUATOR_H
#define GNTI_TRAIN_EVALUATOR_H

#include "nn/program.h"

/* All lent, must outlive the evaluator. */
typedef struct gnti_evaluator_config {
    gnt_context *ctx;
    gnt_device *device; /* NULL: the context's */
    const gnt_model *model;
    gnti_params *params;
    int32_t num_members;
    const gnti_graph *graph;
    const gnti_operator *whole; /* of graph; NULL: made here */
    const gnti_features *x;
    const gnti_part
        *part; /* of a rank: rows are its own rows, graph and whole are not read; NULL: the whole graph */
    const gnti_dist_config *dist; /* with a part */
    bool keep_hidden;             /* embeddings are wanted: the input of the last layer */
    uint32_t disabled_passes;
    const char *choices;
    gnti_choices *measured; /* as gnti_plan_config has it */
    gnti_virtual *clock;    /* of the device: its runs are waited for and charged or paced; NULL: neither */
    gnti_program *share;    /* program that never runs at the same time, or NULL */
} gnti_evaluator_config;

typedef struct gnti_evaluator gnti_evaluator;

gnt_status gnti_evaluator_create(const gnti_evaluator_config *config, gnti_evaluator **out);
void gnti_evaluator_free(gnti_evaluator **ev);

/* All members with the weights that params hold now. Every rank calls it. */
gnt_status gnti_evaluator_run(gnti_evaluator *ev);
/* Nothing of it is under way any more; nothing to wait for where its workspace is its own. */
void gnti_evaluator_settle(gnti_evaluator *ev);
size_t gnti_evaluator_scratch_bytes(const gnti_evaluator *ev); /* as gnti_program_scratch_bytes */
gnt_status gnti_evaluator_read(gnti_evaluator *ev, int32_t member, float *logits); /* (rows, classes) */
gnt_status gnti_evaluator_read_hidden(gnti_evaluator *ev, int32_t member,
                                      float *out); /* (rows, hidden width) */
int64_t gnti_evaluator_hidden_width(const gnti_evaluator *ev);

#endif
