/* SPDX-License-Identifier: Apache-2.0 */
/* A linear layer on each node's own row, H' = H W + b: it sees no edges. */
#include "nn/model.h"

typedef struct linear {
    bool bias;
    gnt_param w, b;
} linear;

static const gnt_option options[] = {
    GNT_OPTION_BOOL("bias", linear, bias, 1, "add a bias row"),
    GNT_OPTION_END,
};

static void build(void *state, gnt_builder *b)
{
    linear *l = state;

    l->w =
        gnt_builder_param(b, "w", gnt_builder_in(b), gnt_builder_out(b), (gnt_init){ GNT_INIT_GLOROT, 1.0f });
    if (l->bias)
        l->b = gnt_builder_param(b, "b", 1, gnt_builder_out(b), (gnt_init){ GNT_INIT_CONST, 0.0f });
}

static gnt_var forward(const void *state, gnt_tape *t, const gnt_layer_input *in)
{
    const linear *l = state;
    const gnt_var own = gnt_matmul(t, gnt_self(t, in->adj, in->h), gnt_use(t, l->w));

    return l->bias ? gnt_add(t, own, gnt_use(t, l->b)) : own;
}

const gnt_layer_class gnti_layer_linear = {
    .struct_size = sizeof(gnt_layer_class),
    .name = "linear",
    .state_size = sizeof(linear),
    .options = options,
    .build = build,
    .forward = forward,
    .no_graph = true,
};
