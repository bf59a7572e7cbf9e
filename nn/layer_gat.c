/* SPDX-License-Identifier: Apache-2.0 */
/* GAT (Velickovic et al., ICLR 2018): h = H W, e_ij = a_dst . h_i + a_src . h_j per head, a_ij = softmax_j leaky_relu(e_ij) over
 * the arcs into i and i itself, H' = sum_j a_ij h_j + b. Heads lie side by side (column = head * width + k) in `gat:8x8`; in
 * the last layer, and with heads=N, they are averaged, each as wide as the output. Arc weights are not read.
 *
 * The attention vectors are stored one value a column, (heads * width, 1): their start is that of Glorot over (heads, width).
 */
#include "nn/model.h"

#include <math.h>

typedef struct gat {
    int64_t heads_asked;
    float slope;
    double attention_dropout;
    bool bias;
    int64_t heads, width; /* of a head */
    bool average;
    gnt_param w, a_src, a_dst, b;
    gnt_hyper drop;
} gat;

static const gnt_option options[] = {
    GNT_OPTION_INT("heads", gat, heads_asked, 0, 0, 64,
                   "so many heads as wide as the output, averaged; 0: those of WIDTHxHEADS"),
    GNT_OPTION_FLOAT("slope", gat, slope, 0.2, 0.0, 1.0, "slope of the leaky ReLU of the scores"),
    GNT_OPTION_DOUBLE("attn-dropout", gat, attention_dropout, 0.0, 0.0, 0.999, "dropout of a_ij"),
    GNT_OPTION_BOOL("bias", gat, bias, 1, "add a bias row"),
    GNT_OPTION_END,
};

static void build(void *state, gnt_builder *b)
{
    gat *l = state;
    const int64_t in = gnt_builder_in(b), given = gnt_builder_heads(b);
    gnt_init attention = { GNT_INIT_GLOROT, 1.0f };
    int64_t all;

    l->average = l->heads_asked > 0 || gnt_builder_is_last(b);
    l->heads = l->heads_asked > 0 ? l->heads_asked : given;
    l->width = gnt_builder_out(b) / given;
    all = l->heads * l->width;
    attention.value = sqrtf((float)(all + 1) / (float)(l->heads + l->width));
    l->w = gnt_builder_param(b, "w", in, all, (gnt_init){ GNT_INIT_GLOROT, 1.0f });
    l->a_src = gnt_builder_param(b, "a_src", all, 1, attention);
    l->a_dst = gnt_builder_param(b, "a_dst", all, 1, attention);
    if (l->bias)
        l->b = gnt_builder_param(b, "b", 1, l->average ? l->width : all, (gnt_init){ GNT_INIT_CONST, 0.0f });
    if (l->attention_dropout > 0.0)
        l->drop = gnt_builder_hyper(b, "attn-dropout", l->attention_dropout);
}

/* The mean of the heads. */
static gnt_var mean_of(const gat *l, gnt_tape *t, gnt_var y)
{
    gnt_var sum;

    if (l->heads == 1)
        return y;
    sum = gnt_slice(t, y, 0, l->width);
    for (int64_t k = 1; k < l->heads; k++)
        sum = gnt_add(t, sum, gnt_slice(t, y, k * l->width, l->width));
    return gnt_scale_by(t, sum, 1.0f / (float)l->heads);
}

static gnt_var forward(const void *state, gnt_tape *t, const gnt_layer_input *in)
{
    const gat *l = state;
    const gnt_var h = gnt_matmul(t, in->h, gnt_use(t, l->w));
    const gnt_var s_src = gnt_head_dots(t, h, gnt_use(t, l->a_src), l->heads);
    const gnt_var s_dst = gnt_head_dots(t, gnt_self(t, in->adj, h), gnt_use(t, l->a_dst), l->heads);
    gnt_var y = gnt_attend(t, in->adj, h, s_src, s_dst, l->slope, l->drop);

    if (l->average)
        y = mean_of(l, t, y);
    return l->bias ? gnt_add(t, y, gnt_use(t, l->b)) : y;
}

const gnt_layer_class gnti_layer_gat = {
    .struct_size = sizeof(gnt_layer_class),
    .name = "gat",
    .state_size = sizeof(gat),
    .options = options,
    .build = build,
    .forward = forward,
    .has_heads = true,
};
