/* SPDX-License-Identifier: Apache-2.0 */
/* Layers: a class with options, a `build` that declares parameters and a `forward` that records ops.
 *
 * forward runs once per tape and is a builder: it sees neither values nor row counts, and must not branch on data, draw
 * random numbers, keep state or call a backend. docs/custom-layers.md walks through an example.
 */
#ifndef GNNTRAIN_LAYER_H
#define GNNTRAIN_LAYER_H

#include <gnntrain/option.h>
#include <gnntrain/tape.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gnt_builder gnt_builder;

typedef enum gnt_init_kind { GNT_INIT_CONST, GNT_INIT_GLOROT } gnt_init_kind;
/* CONST: value; GLOROT: uniform within value * sqrt(6 / (in + out)) (Glorot, Bengio 2010). */
typedef struct gnt_init {
    gnt_init_kind kind;
    float value;
} gnt_init;

/* Widths of the layer's input and output, and heads of `name:8x8` (1 when not given). */
GNT_API int64_t gnt_builder_in(const gnt_builder *b);
GNT_API int64_t gnt_builder_out(const gnt_builder *b);
GNT_API int64_t gnt_builder_heads(const gnt_builder *b);
/* True for the last layer of the model. */
GNT_API bool gnt_builder_is_last(const gnt_builder *b);

/* Declares a trained parameter (M, in, out); M is added for you. Names starting with 'b' and "norm" kinds are not decayed
 * unless a rule names them. */
GNT_API gnt_param gnt_builder_param(gnt_builder *b, const char *name, int64_t in, int64_t out, gnt_init init);
/* Declares what persists without a gradient, such as running statistics. */
GNT_API gnt_param gnt_builder_state(gnt_builder *b, const char *name, int64_t in, int64_t out, gnt_init init);
/* Declares an (M) vector of the step block with its value for every member. */
GNT_API gnt_hyper gnt_builder_hyper(gnt_builder *b, const char *name, double value);

/* What a layer gets. Its size first: it can grow. Relations of an untyped graph: one, equal to adj. */
typedef struct gnt_layer_input {
    size_t struct_size;
    gnt_adj adj;
    const gnt_adj *relations;
    int32_t num_relations;
    gnt_var h;           /* the layer's input rows, in adj's source space */
    gnt_var first;       /* the first hidden state (GCNII), in adj's source space; var 0 in the first layer */
    gnt_var edge_values; /* var 0: none */
} gnt_layer_input;

typedef struct gnt_layer_class {
    size_t struct_size;
    const char *name; /* of the model text */
    size_t state_size;
    const gnt_option *options; /* keys of the model text, members of the state; NULL: none */
    void (*build)(void *state, gnt_builder *b);
    gnt_var (*forward)(const void *state, gnt_tape *t, const gnt_layer_input *in);
    bool square_only; /* several hops inside: sampled sources refuse it */
    bool no_graph;    /* never aggregates (linear): uses gnt_self only */
    bool has_heads;   /* takes `width x heads`; others refuse heads */
} gnt_layer_class;

/* Registers a class under its name; the class is borrowed. ERR_ARG when the name is taken. */
GNT_API gnt_status gnt_layer_register(gnt_context *ctx, const gnt_layer_class *layer);

/* Public gradient check: records the layer ("gin:eps=0.1") on a small random graph, square and as two blocks, and
 * compares analytic gradients with central differences. ERR_NUMERIC names parameter, index and both values. */
GNT_API gnt_status gnt_check_gradient(gnt_context *ctx, const char *model_text, double tolerance);

#ifdef __cplusplus
}
#endif
#endif
