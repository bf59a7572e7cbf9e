/* SPDX-License-Identifier: Apache-2.0 */
/* SAGE (Hamilton, Ying, Leskovec, NeurIPS 2017): H' = H W_self + agg_N(H) W_neigh + b, N without the node itself unless a
 * loop is stored; agg is the mean (by arc weights, 0 without neighbours) or the largest value of each column. The output is
 * not normalised.
 */
#include "nn/model.h"

typedef struct sage {
    int32_t aggregate;
    bool bias;
    gnt_param w_self, w_neigh, b;
} sage;

static const gnt_option options[] = {
    GNT_OPTION_WORD("aggregate", sage, aggregate, 0, "mean|max", "how neighbours are put together"),
    GNT_OPTION_BOOL("bias", sage, bias, 1, "add a bias row"),
    GNT_OPTION_END,
};

static void build(void *state, gnt_builder *b)
{
    sage *l = state;
    const int64_t in = gnt_builder_in(b), out = gnt_builder_out(b);
    const gnt_init glorot = { GNT_INIT_GLOROT, 1.0f };

    l->w_self = gnt_builder_param(b, "w_self", in, out, glorot);
    l->w_neigh = gnt_builder_param(b, "w_neigh", in, out, glorot);
    if (l->bias)
        l->b = gnt_builder_param(b, "b", 1, out, (gnt_init){ GNT_INIT_CONST, 0.0f });
}

static gnt_var forward(const void *state, gnt_tape *t, const gnt_layer_input *in)
{
    const sage *l = state;
    const gnt_aggregate_kind kind = l->aggregate == 0 ? GNT_AGG_MEAN : GNT_AGG_MAX;
    const gnt_var own = gnt_matmul(t, gnt_self(t, in->adj, in->h), gnt_use(t, l->w_self));
    const gnt_var others = gnt_matmul(t, gnt_aggregate(t, in->adj, kind, in->h), gnt_use(t, l->w_neigh));
    const gnt_var sum = gnt_add(t, own, others);

    return l->bias ? gnt_add(t, sum, gnt_use(t, l->b)) : sum;
}

const gnt_layer_class gnti_layer_sage = {
    .struct_size = sizeof(gnt_layer_class),
    .name = "sage",
    .state_size = sizeof(sage),
    .options = options,
    .build = build,
    .forward = forward,
};
