/* SPDX-License-Identifier: Apache-2.0 */
/* The golden networks: each records itself with the ops of the tape, in the order of the golden files. */
#include "nn_nets.h"

#include <math.h>
#include <stdio.h>

enum { MLP, GCN, SAGE, GIN, SGC, APPNP, GCNII, MAXPOOL, GAT };

typedef struct net {
    int32_t kind;
    int64_t hidden, decayed, heads;
    float eps, drop;
    gnt_param p[12];
    gnt_hyper rate[2];
} net;

static const gnt_option options[] = {
    GNT_OPTION_WORD("kind", net, kind, 0, "mlp|gcn|sage|gin|sgc|appnp|gcnii|maxpool|gat", "network"),
    GNT_OPTION_INT("hidden", net, hidden, 16, 1, 4096, "hidden width"),
    GNT_OPTION_INT("decayed", net, decayed, 12, 0, 12, "how many weights decay: the others are called norms"),
    GNT_OPTION_INT("heads", net, heads, 1, 1, 64, "heads of gat's first layer, which share the hidden width"),
    GNT_OPTION_FLOAT("eps", net, eps, 0.1, -1.0, 1.0, "self weight of gin"),
    GNT_OPTION_FLOAT("drop", net, drop, 0.0, 0.0, 0.9, "dropout of the input and the hidden values"),
    GNT_OPTION_END,
};

/* Shapes of the parameters in order; 1 row: a bias. */
static int shapes(const net *l, int64_t in, int64_t out, int64_t shape[12][2])
{
    const int64_t h = l->hidden;
    const int64_t two[4][2] = { { in, h }, { 1, h }, { h, out }, { 1, out } };
    const int64_t sage[6][2] = { { in, h }, { in, h }, { 1, h }, { h, out }, { h, out }, { 1, out } };
    const int64_t gin[8][2] = { { in, h }, { 1, h }, { h, h },   { 1, h },
                                { h, h },  { 1, h }, { h, out }, { 1, out } };
    const int64_t sgc[2][2] = { { in, out }, { 1, out } };
    const int64_t gcnii[8][2] = { { in, h }, { 1, h }, { h, h },   { h, h },
                                  { h, h },  { h, h }, { h, out }, { 1, out } };
    const int64_t gat[8][2] = { { in, h },  { h, 1 },   { h, 1 },   { 1, h },
                                { h, out }, { out, 1 }, { out, 1 }, { 1, out } };
    const int counts[] = { 4, 4, 6, 8, 2, 4, 8, 4, 8 };
    const int64_t(*from)[2] = l->kind == SAGE    ? sage
                              : l->kind == GIN   ? gin
                              : l->kind == SGC   ? sgc
                              : l->kind == GCNII ? gcnii
                              : l->kind == GAT   ? gat
                                                 : two;

    for (int i = 0; i < counts[l->kind]; i++) {
        shape[i][0] = from[i][0];
        shape[i][1] = from[i][1];
    }
    return counts[l->kind];
}

static void build(void *state, gnt_builder *b)
{
    net *l = state;
    int64_t shape[12][2];
    const int count = shapes(l, gnt_builder_in(b), gnt_builder_out(b), shape);

    for (int i = 0; i < count; i++) {
        char name[32];

        snprintf(name, sizeof name, "%s%d", shape[i][0] == 1 ? "b" : i < l->decayed ? "w" : "norm_w", i);
        l->p[i] = gnt_builder_param(b, name, shape[i][0], shape[i][1], (gnt_init){ GNT_INIT_GLOROT, 1.0f });
    }
    l->rate[0] = gnt_builder_hyper(b, "input-rate", (double)l->drop);
    l->rate[1] = gnt_builder_hyper(b, "hidden-rate", (double)l->drop);
}

static gnt_var drop(const net *l, gnt_tape *t, gnt_var h, int which)
{
    return l->drop > 0.0f ? gnt_dropout_by(t, h, l->rate[which]) : h;
}

static gnt_var sage_half(const net *l, gnt_tape *t, gnt_adj a, gnt_var h, int first)
{
    const gnt_var own = gnt_matmul(t, h, gnt_use(t, l->p[first]));
    const gnt_var mean = gnt_matmul(t, gnt_aggregate(t, a, GNT_AGG_MEAN, h), gnt_use(t, l->p[first + 1]));

    return gnt_add(t, gnt_add(t, own, mean), gnt_use(t, l->p[first + 2]));
}

static gnt_var gin_half(const net *l, gnt_tape *t, gnt_adj a, gnt_var h, int first)
{
    const gnt_var sum = gnt_add(t, gnt_scale_by(t, h, 1.0f + l->eps), gnt_aggregate(t, a, GNT_AGG_SUM, h));

    return gnt_linear(t, gnt_relu(t, gnt_linear(t, sum, l->p[first], l->p[first + 1])), l->p[first + 2],
                      l->p[first + 3]);
}

static gnt_var gat_half(const net *l, gnt_tape *t, gnt_adj a, gnt_var x, int64_t heads, int first)
{
    const gnt_var h = gnt_matmul(t, x, gnt_use(t, l->p[first]));
    const gnt_var s_src = gnt_head_dots(t, h, gnt_use(t, l->p[first + 1]), heads);
    const gnt_var s_dst = gnt_head_dots(t, h, gnt_use(t, l->p[first + 2]), heads);
    const gnt_hyper none = { 0 };

    return gnt_add(t, gnt_attend(t, a, h, s_src, s_dst, 0.2f, l->drop > 0.0f ? l->rate[1] : none),
                   gnt_use(t, l->p[first + 3]));
}

static gnt_var gcnii(const net *l, gnt_tape *t, gnt_adj a, gnt_var x)
{
    const gnt_var first = gnt_relu(t, gnt_linear(t, x, l->p[0], l->p[1]));
    gnt_var h = first;

    for (int i = 1; i <= 4; i++) {
        const float beta = logf(0.5f / (float)i + 1.0f);
        const gnt_var m = gnt_add(t, gnt_scale_by(t, gnt_aggregate(t, a, GNT_AGG_SYM, h), 0.9f),
                                  gnt_scale_by(t, first, 0.1f));
        const gnt_var w = gnt_matmul(t, m, gnt_use(t, l->p[1 + i]));

        h = gnt_relu(t, gnt_add(t, gnt_scale_by(t, m, 1.0f - beta), gnt_scale_by(t, w, beta)));
        h = drop(l, t, h, 1);
    }
    return gnt_linear(t, h, l->p[6], l->p[7]);
}

static gnt_var two_layers(const net *l, gnt_tape *t, gnt_adj a, gnt_var x)
{
    const gnt_aggregate_kind kind = l->kind == MAXPOOL ? GNT_AGG_MAX : GNT_AGG_SYM;
    gnt_var h = x, z;

    if (l->kind != MLP && l->kind != APPNP)
        h = gnt_aggregate(t, a, kind, h);
    h = drop(l, t, gnt_relu(t, gnt_linear(t, h, l->p[0], l->p[1])), 1);
    if (l->kind == GCN || l->kind == MAXPOOL)
        h = gnt_aggregate(t, a, kind, h);
    h = gnt_linear(t, h, l->p[2], l->p[3]);
    z = h;
    for (int k = 0; l->kind == APPNP && k < 10; k++)
        z = gnt_add(t, gnt_scale_by(t, gnt_aggregate(t, a, GNT_AGG_SYM, z), 0.9f), gnt_scale_by(t, h, 0.1f));
    return z;
}

static gnt_var forward(const void *state, gnt_tape *t, const gnt_layer_input *in)
{
    const net *l = state;
    const gnt_var x = drop(l, t, in->h, 0);
    gnt_var h;

    switch (l->kind) {
    case SAGE:
        h = drop(l, t, gnt_relu(t, sage_half(l, t, in->adj, x, 0)), 1);
        return sage_half(l, t, in->adj, h, 3);
    case GAT:
        h = drop(l, t, gnt_elu(t, gat_half(l, t, in->adj, x, l->heads, 0), 1.0f), 1);
        return gat_half(l, t, in->adj, h, 1, 4);
    case GIN:
        h = drop(l, t, gnt_relu(t, gin_half(l, t, in->adj, x, 0)), 1);
        return gin_half(l, t, in->adj, h, 4);
    case SGC:
        h = gnt_aggregate(t, in->adj, GNT_AGG_SYM, gnt_aggregate(t, in->adj, GNT_AGG_SYM, x));
        return gnt_linear(t, h, l->p[0], l->p[1]);
    case GCNII:
        return gcnii(l, t, in->adj, x);
    default:
        return two_layers(l, t, in->adj, x);
    }
}

const gnt_layer_class nn_net_layer = {
    .struct_size = sizeof(gnt_layer_class),
    .name = "net",
    .state_size = sizeof(net),
    .options = options,
    .build = build,
    .forward = forward,
    .square_only = true,
};
