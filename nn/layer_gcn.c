/* SPDX-License-Identifier: Apache-2.0 */
/* GCN (Kipf, Welling, ICLR 2017): H' = A^ H W + b with A^ = D~^-1/2 (A + I) D~^-1/2. The order of the two products is the
 * planner's matter. Activation, norm and dropout between layers are the model's.
 */
#include "nn/model.h"

typedef struct gcn {
    bool bias;
    gnt_param w, b;
} gcn;

static const gnt_option options[] = {
    GNT_OPTION_BOOL("bias", gcn, bias, 1, "add a bias row"),
    GNT_OPTION_END,
};

static void build(void *state, gnt_builder *b)
{
    gcn *l = state;

    l->w =
        gnt_builder_param(b, "w", gnt_builder_in(b), gnt_builder_out(b), (gnt_init){ GNT_INIT_GLOROT, 1.0f });
    if (l->bias)
        l->b = gnt_builder_param(b, "b", 1, gnt_builder_out(b), (gnt_init){ GNT_INIT_CONST, 0.0f });
}

static gnt_var forward(const void *state, gnt_tape *t, const gnt_layer_input *in)
{
    const gcn *l = state;
    const gnt_var sum = gnt_matmul(t, gnt_aggregate(t, in->adj, GNT_AGG_SYM, in->h), gnt_use(t, l->w));

    return l->bias ? gnt_add(t, sum, gnt_use(t, l->b)) : sum;
}

const gnt_layer_class gnti_layer_gcn = {
    .struct_size = sizeof(gnt_layer_class),
    .name = "gcn",
    .state_size = sizeof(gcn),
    .options = options,
    .build = build,
    .forward = forward,
};
