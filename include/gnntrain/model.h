/* SPDX-License-Identifier: Apache-2.0 */
/* Models: a text such as "gcn:16, gcn" made into layers for a dataset's widths.
 *
 *   TEXT = layer {"," layer}      layer = name[:width[xheads]]{:key=value}
 * The last layer without a width has one output per class. Between two layers come norm, activation and dropout, in this
 * order; the keys act, dropout, norm and residual set one layer.
 */
#ifndef GNNTRAIN_MODEL_H
#define GNNTRAIN_MODEL_H

#include <gnntrain/dataset.h>
#include <gnntrain/layer.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gnt_model gnt_model;

typedef struct gnt_model_config {
    size_t struct_size;
    int32_t act;          /* none|relu|elu|leaky-relu|sigmoid|tanh, index into the words; default relu */
    int32_t norm;         /* none|batch|layer */
    double dropout;       /* between layers */
    double input_dropout; /* on the features */
    bool residual;        /* h' += h where widths agree */
} gnt_model_config;

GNT_API void gnt_model_config_init(gnt_model_config *config);

/* Default config; the dataset gives feature width, classes and label kind, and may be freed before the model. ERR_USAGE points at the
 * place in the text; ERR_FORMAT: the dataset has no features or no labels. */
GNT_API gnt_status gnt_model_create(const gnt_dataset *data, const char *text, gnt_model **out);
GNT_API gnt_status gnt_model_create_with(const gnt_dataset *data, const char *text,
                                         const gnt_model_config *config, gnt_model **out);
GNT_API void gnt_model_free(gnt_model **model);

GNT_API int32_t gnt_model_num_layers(const gnt_model *model);
GNT_API int64_t gnt_model_num_parameters(const gnt_model *model); /* of one member */

/* Records the model: adj[l] for layer l, x (rows of adj[0]'s source space, M, features); answers the logits, (destination rows of the
 * last adj, M, classes). For programs that plan tapes of their own; the trainer does it by itself. */
GNT_API gnt_var gnt_model_record(const gnt_model *model, gnt_tape *t, const gnt_adj *adj, gnt_var x);

#ifdef __cplusplus
}
#endif
#endif
