/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of models, builders and contexts of nn/. */
#ifndef GNTI_NN_MODEL_H
#define GNTI_NN_MODEL_H

#include "base/arena.h"
#include "base/objects.h"
#include "base/plugin.h"
#include "nn/program.h"

#include <stdatomic.h>

typedef struct gnti_param_decl {
    const char *name; /* full */
    int32_t layer;
    gnti_param_kind kind;
    int64_t in, out;
    gnt_init init;
} gnti_param_decl;

typedef struct gnti_model_hyper {
    const char *name;
    double value;
} gnti_model_hyper;

/* One layer of the text with what follows it. */
typedef struct gnti_layer {
    const gnt_layer_class *class;
    void *state;
    int64_t in, out, heads;
    int32_t act, norm; /* index into the words of gnti_layer_options */
    double dropout;
    bool own_dropout; /* a key of the text says it, not the model's settings */
    bool residual;
    gnt_hyper dropout_hyper;
    gnt_param norm_params[4]; /* gamma, beta, running mean, running variance */
} gnti_layer;

struct gnt_model {
    gnt_context *ctx;
    gnti_objects *objects; /* counts of its context */
    atomic_int holders;    /* beside whoever made it */
    gnti_arena *arena;
    const char *text;
    gnt_model_config config;
    int64_t in_width, out_width;
    gnt_label_kind label_kind;
    gnti_layer *layers;
    int32_t num_layers;
    gnt_hyper input_dropout; /* id 0: none */
    gnti_param_decl *params; /* ids from 1: params[id - 1] */
    int64_t params_capacity;
    int32_t num_params;
    gnti_model_hyper *hypers; /* ids from 1 */
    int64_t hypers_capacity;
    int32_t num_hypers;
};

struct gnt_builder {
    gnt_model *model;
    int32_t layer; /* from 0 */
    bool is_last;
    gnt_status status; /* first failure, its text is the newest error of this thread */
};

/* Widths and label kind without a dataset (gradient checks, tests). out_width -3: that of the last layer, 3 if it has none. */
gnt_status gnti_model_create_for(gnt_context *ctx, int64_t in_width, int64_t out_width,
                                 gnt_label_kind label_kind, const char *text, const gnt_model_config *config,
                                 gnt_model **out);

/* Reads the text into model->layers; widths, states and keys are set, nothing is built. */
gnt_status gnti_model_parse(gnt_model *model);

struct gnt_context {
    gnti_context_head head; /* first: base/objects.h */
    gnt_device *device;
    gnti_device_config config; /* what it was opened with: further ranks' devices are opened alike */
    gnti_launch launch;
    gnti_comm *processes;         /* NULL: this one alone */
    const gnti_device_spec *pool; /* (pool_size) lent; NULL: none */
    int32_t pool_size;
    atomic_bool expects_own_memory; /* gnti_context_expect */
    gnti_determinism determinism;
    int32_t num_threads; /* asked for, else the cores there are: for predictions */
    const gnt_layer_class **layers;
    int64_t num_layers, layers_capacity;
    gnti_plugin **plugins;
    int64_t num_plugins, plugins_capacity;
};

/* The class of that name, or NULL. */
const gnt_layer_class *gnti_context_find_layer(const gnt_context *ctx, const char *name, size_t length);

extern const gnt_layer_class gnti_layer_gcn, gnti_layer_sage, gnti_layer_gat, gnti_layer_linear;

#endif
