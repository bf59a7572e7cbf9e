/* SPDX-License-Identifier: Apache-2.0 */
/* GraphSAGE with the mean, GIN, SGC, APPNP and GCNII from our ops (formulas in the golden files). GCN and the network without
 * edges are the layers that users take.
 *
 * SAGE and GIN are a layer each; the other three are one layer that holds the whole model, as all its hops use one graph.
 */
#include "bench/golden_models.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const gnt_init zero = { GNT_INIT_CONST, 0.0f };

typedef struct sage {
    gnt_param w_self, w_neighbour, b;
} sage;

static void sage_build(void *state, gnt_builder *b)
{
    sage *l = state;
    const int64_t in = gnt_builder_in(b), out = gnt_builder_out(b);

    l->w_self = gnt_builder_param(b, "wself", in, out, zero);
    l->w_neighbour = gnt_builder_param(b, "wneigh", in, out, zero);
    l->b = gnt_builder_param(b, "b", 1, out, zero);
}

static gnt_var sage_forward(const void *state, gnt_tape *t, const gnt_layer_input *in)
{
    const sage *l = state;
    const gnt_var own = gnt_matmul(t, gnt_self(t, in->adj, in->h), gnt_use(t, l->w_self));
    const gnt_var mean = gnt_aggregate(t, in->adj, GNT_AGG_MEAN, in->h);

    return gnt_add(t, gnt_add(t, own, gnt_matmul(t, mean, gnt_use(t, l->w_neighbour))), gnt_use(t, l->b));
}

typedef struct gin {
    gnt_param wa, ba, wb, bb;
} gin;

static void gin_build(void *state, gnt_builder *b)
{
    gin *l = state;
    const int64_t in = gnt_builder_in(b), out = gnt_builder_out(b);
    const int64_t middle = gnt_builder_is_last(b) ? in : out;

    l->wa = gnt_builder_param(b, "wa", in, middle, zero);
    l->ba = gnt_builder_param(b, "ba", 1, middle, zero);
    l->wb = gnt_builder_param(b, "wb", middle, out, zero);
    l->bb = gnt_builder_param(b, "bb", 1, out, zero);
}

static gnt_var gin_forward(const void *state, gnt_tape *t, const gnt_layer_input *in)
{
    const gin *l = state;
    const gnt_var own = gnt_scale_by(t, gnt_self(t, in->adj, in->h), 1.1f);
    const gnt_var sum = gnt_add(t, own, gnt_aggregate(t, in->adj, GNT_AGG_SUM, in->h));

    return gnt_linear(t, gnt_relu(t, gnt_linear(t, sum, l->wa, l->ba)), l->wb, l->bb);
}

/* What the models of one layer share: the options' struct and up to eight parameters in the files' order. */
enum { GCNII_STEPS = 4, APPNP_STEPS = 10 };
typedef struct whole {
    int64_t hidden;
    gnt_param w[GCNII_STEPS + 2], b[2];
} whole;

static const gnt_option whole_options[] = {
    GNT_OPTION_INT("hidden", whole, hidden, 16, 1, 4096, "hidden width"),
    GNT_OPTION_END,
};

static void sgc_build(void *state, gnt_builder *b)
{
    whole *l = state;

    l->w[0] = gnt_builder_param(b, "w", gnt_builder_in(b), gnt_builder_out(b), zero);
    l->b[0] = gnt_builder_param(b, "b", 1, gnt_builder_out(b), zero);
}

static gnt_var sgc_forward(const void *state, gnt_tape *t, const gnt_layer_input *in)
{
    const whole *l = state;
    const gnt_var once = gnt_aggregate(t, in->adj, GNT_AGG_SYM, in->h);

    return gnt_linear(t, gnt_aggregate(t, in->adj, GNT_AGG_SYM, once), l->w[0], l->b[0]);
}

static void appnp_build(void *state, gnt_builder *b)
{
    whole *l = state;

    l->w[0] = gnt_builder_param(b, "w0", gnt_builder_in(b), l->hidden, zero);
    l->b[0] = gnt_builder_param(b, "b0", 1, l->hidden, zero);
    l->w[1] = gnt_builder_param(b, "w1", l->hidden, gnt_builder_out(b), zero);
    l->b[1] = gnt_builder_param(b, "b1", 1, gnt_builder_out(b), zero);
}

static gnt_var appnp_forward(const void *state, gnt_tape *t, const gnt_layer_input *in)
{
    const whole *l = state;
    const gnt_var start =
        gnt_linear(t, gnt_relu(t, gnt_linear(t, in->h, l->w[0], l->b[0])), l->w[1], l->b[1]);
    const gnt_var restart = gnt_scale_by(t, start, 0.1f);
    gnt_var z = start;

    for (int i = 0; i < APPNP_STEPS; i++)
        z = gnt_add(t, gnt_scale_by(t, gnt_aggregate(t, in->adj, GNT_AGG_SYM, z), 0.9f), restart);
    return z;
}

static void gcnii_build(void *state, gnt_builder *b)
{
    static const char *const names[] = { "win", "w1", "w2", "w3", "w4", "wout" };
    whole *l = state;
    const int64_t in = gnt_builder_in(b), out = gnt_builder_out(b);

    l->w[0] = gnt_builder_param(b, names[0], in, l->hidden, zero);
    l->b[0] = gnt_builder_param(b, "bin", 1, l->hidden, zero);
    for (int i = 1; i <= GCNII_STEPS; i++)
        l->w[i] = gnt_builder_param(b, names[i], l->hidden, l->hidden, zero);
    l->w[GCNII_STEPS + 1] = gnt_builder_param(b, names[GCNII_STEPS + 1], l->hidden, out, zero);
    l->b[1] = gnt_builder_param(b, "bout", 1, out, zero);
}

static gnt_var gcnii_forward(const void *state, gnt_tape *t, const gnt_layer_input *in)
{
    const whole *l = state;
    const gnt_var first = gnt_relu(t, gnt_linear(t, in->h, l->w[0], l->b[0]));
    gnt_var h = first;

    for (int i = 1; i <= GCNII_STEPS; i++) {
        const float beta = (float)log(0.5 / i + 1.0);
        const gnt_var hop = gnt_scale_by(t, gnt_aggregate(t, in->adj, GNT_AGG_SYM, h), 0.9f);
        const gnt_var mixed = gnt_add(t, hop, gnt_scale_by(t, first, 0.1f));
        const gnt_var turned = gnt_scale_by(t, gnt_matmul(t, mixed, gnt_use(t, l->w[i])), beta);

        h = gnt_relu(t, gnt_add(t, gnt_scale_by(t, mixed, 1.0f - beta), turned));
    }
    return gnt_linear(t, h, l->w[GCNII_STEPS + 1], l->b[1]);
}

#define LAYER(text, type, table, prefix, square)                                                             \
    {                                                                                                        \
        .struct_size = sizeof(gnt_layer_class), .name = (text), .state_size = sizeof(type),                  \
        .options = (table), .build = prefix##_build, .forward = prefix##_forward, .square_only = (square),   \
    }
static const gnt_layer_class layers[] = {
    LAYER("golden-sage", sage, NULL, sage, false),
    LAYER("golden-gin", gin, NULL, gin, false),
    LAYER("golden-sgc", whole, whole_options, sgc, true),
    LAYER("golden-appnp", whole, whole_options, appnp, true),
    LAYER("golden-gcnii", whole, whole_options, gcnii, true),
};

gnt_status golden_register(gnt_context *ctx)
{
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        const gnt_status st = gnt_layer_register(ctx, &layers[i]);

        if (st != GNT_OK)
            return st;
    }
    return GNT_OK;
}

/* Name and model text; H stands for the hidden width. */
static const char *const texts[][2] = {
    { "mlp", "linear:H, linear" },         { "gcn", "gcn:H, gcn" },
    { "gcn_weighted", "gcn:H, gcn" },      { "sage_mean", "golden-sage:H, golden-sage" },
    { "gin", "golden-gin:H, golden-gin" }, { "sgc", "golden-sgc" },
    { "appnp", "golden-appnp:hidden=H" },  { "gcnii", "golden-gcnii:hidden=H" },
};

bool golden_text(const char *name, int hidden, char *out, size_t bytes)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (strcmp(texts[i][0], name) != 0)
            continue;
        const char *mark = strchr(texts[i][1], 'H');

        if (mark == NULL)
            snprintf(out, bytes, "%s", texts[i][1]);
        else
            snprintf(out, bytes, "%.*s%d%s", (int)(mark - texts[i][1]), texts[i][1], hidden, mark + 1);
        return true;
    }
    return false;
}
