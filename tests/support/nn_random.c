/* SPDX-License-Identifier: Apache-2.0 */
/* Random networks: ops drawn by a seed over a pool of vars of one width, so that any two fit. */
#include "nn_random.h"

#include "base/philox.h"

enum { WIDTH = 8, MAX_POOL = 32 };

typedef struct net {
    int64_t seed, length;
    bool batch_norm, drop;
    gnt_param enter, leave, square[3], row[3], one, gamma, beta, mean, var, attention[2];
    gnt_hyper rate;
} net;

static const gnt_option options[] = {
    GNT_OPTION_INT("seed", net, seed, 0, 0, 1 << 30, "which network"),
    GNT_OPTION_INT("length", net, length, 6, 0, 24, "ops on each side of the aggregation"),
    GNT_OPTION_BOOL("batch-norm", net, batch_norm, 1, "use batch norm too (couples the rows of a batch)"),
    GNT_OPTION_BOOL("drop", net, drop, 1, "use dropout too"),
    GNT_OPTION_END,
};

static void build(void *state, gnt_builder *b)
{
    net *l = state;
    const gnt_init glorot = { GNT_INIT_GLOROT, 1.0f };

    l->enter = gnt_builder_param(b, "w_enter", gnt_builder_in(b), WIDTH, glorot);
    l->leave = gnt_builder_param(b, "w_leave", WIDTH, gnt_builder_out(b), glorot);
    for (int i = 0; i < 3; i++) {
        char name[3] = { 's', (char)('0' + i), 0 };

        l->square[i] = gnt_builder_param(b, name, WIDTH, WIDTH, glorot);
        name[0] = 'b';
        l->row[i] = gnt_builder_param(b, name, 1, WIDTH, glorot);
    }
    l->one = gnt_builder_param(b, "one", 1, 1, glorot);
    l->gamma = gnt_builder_param(b, "norm_gamma", 1, WIDTH, glorot);
    l->beta = gnt_builder_param(b, "norm_beta", 1, WIDTH, glorot);
    l->mean = gnt_builder_state(b, "mean", 1, WIDTH, glorot);
    l->var = gnt_builder_state(b, "var", 1, WIDTH, glorot);
    l->attention[0] = gnt_builder_param(b, "a_src", WIDTH, 1, glorot);
    l->attention[1] = gnt_builder_param(b, "a_dst", WIDTH, 1, glorot);
    l->rate = gnt_builder_hyper(b, "rate", 0.3);
}

typedef struct recorder {
    const net *l;
    gnt_tape *t;
    gnt_adj adj;
    bool square; /* source and destination are one space: aggregate anywhere */
    uint32_t at;
    gnt_var pool[MAX_POOL];
    int size;
} recorder;

static uint32_t below(recorder *r, uint32_t k)
{
    return gnti_below(
        gnti_draw_word(gnti_seed_key((uint64_t)r->l->seed), GNTI_DRAW_GENERATE, 7, 0, r->at++, 0), k);
}

static gnt_var any(recorder *r)
{
    /* the newest ones more often */
    const int back = (int)below(r, (uint32_t)(r->size < 4 ? r->size : 4));

    return r->pool[below(r, 4) == 0 ? (int)below(r, (uint32_t)r->size) : r->size - 1 - back];
}

static gnt_var activation(recorder *r, gnt_var h)
{
    switch (below(r, 5)) {
    case 0:
        return gnt_relu(r->t, h);
    case 1:
        return gnt_elu(r->t, h, 0.8f);
    case 2:
        return gnt_leaky_relu(r->t, h, 0.1f);
    case 3:
        return gnt_sigmoid(r->t, h);
    default:
        return gnt_tanh(r->t, h);
    }
}

static gnt_var arithmetic(recorder *r, gnt_var h)
{
    const net *l = r->l;
    gnt_tape *t = r->t;

    switch (below(r, 9)) {
    case 0:
        return gnt_add(t, h, any(r));
    case 1:
        return gnt_mul(t, h, gnt_tanh(t, any(r)));
    case 2:
        return gnt_add(t, h, gnt_use(t, l->row[below(r, 3)]));
    case 3:
        return gnt_mul(t, h, gnt_use(t, l->row[below(r, 3)]));
    case 4:
        return gnt_scale(t, h, gnt_use(t, l->one));
    case 5:
        return gnt_scale_by(t, h, 0.5f);
    case 6:
        return gnt_add(t, gnt_scale_by(t, h, 0.7f), gnt_scale_by(t, any(r), 0.3f));
    case 7:
        return gnt_add(t, h, gnt_slice(t, any(r), 3, 1));
    default:
        return gnt_concat(t, gnt_slice(t, h, 0, 5), gnt_slice(t, any(r), 2, WIDTH - 5));
    }
}

/* An op that stays in its row space. */
static gnt_var stay(recorder *r)
{
    const net *l = r->l;
    const gnt_var h = any(r);

    switch (below(r, 6)) {
    case 0:
        return gnt_matmul(r->t, h, gnt_use(r->t, l->square[below(r, 3)]));
    case 1:
        return activation(r, gnt_linear(r->t, h, l->square[below(r, 3)], l->row[below(r, 3)]));
    case 2:
        return l->drop ? gnt_dropout_by(r->t, activation(r, h), l->rate) : activation(r, h);
    case 3:
        if (below(r, 2) == 0 && l->batch_norm)
            return gnt_batch_norm(r->t, h, l->gamma, l->beta, l->mean, l->var);
        return gnt_layer_norm(r->t, h, l->gamma, l->beta);
    default:
        return arithmetic(r, h);
    }
}

static gnt_var attend(recorder *r, gnt_var h)
{
    const net *l = r->l;
    const int64_t heads = (int64_t)1 << below(r, 3);
    const gnt_var s_src = gnt_head_dots(r->t, h, gnt_use(r->t, l->attention[0]), heads);
    const gnt_var s_dst =
        gnt_head_dots(r->t, gnt_self(r->t, r->adj, h), gnt_use(r->t, l->attention[1]), heads);
    const bool drop = l->drop && below(r, 2) == 0;

    return gnt_attend(r->t, r->adj, h, s_src, s_dst, 0.3f, drop ? l->rate : (gnt_hyper){ 0 });
}

/* Sums and products of many values grow: tanh keeps finite differences and comparisons honest. */
static gnt_var aggregate(recorder *r, gnt_var h)
{
    const uint32_t kind = below(r, 6);

    return gnt_tanh(r->t,
                    kind >= 4 ? attend(r, h) : gnt_aggregate(r->t, r->adj, (gnt_aggregate_kind)kind, h));
}

static gnt_var linear_aggregate(recorder *r, gnt_var h)
{
    const gnt_aggregate_kind kind = (gnt_aggregate_kind)below(r, 3);

    if (below(r, 2) == 0)
        return gnt_aggregate(r->t, r->adj, kind,
                             gnt_matmul(r->t, h, gnt_use(r->t, r->l->square[below(r, 3)])));
    return gnt_matmul(r->t, gnt_aggregate(r->t, r->adj, kind, h), gnt_use(r->t, r->l->square[below(r, 3)]));
}

static void push(recorder *r, gnt_var v)
{
    r->pool[r->size++] = v;
}

static gnt_var forward(const void *state, gnt_tape *t, const gnt_layer_input *in)
{
    const net *l = state;
    recorder r = { .l = l, .t = t, .adj = in->adj };
    gnt_var own, crossed;

    r.square = gnt_self(t, in->adj, in->h).id == in->h.id;
    if (below(&r, 3) == 0 && gnt_width(t, in->h) != WIDTH) /* features aggregated first: may be hoisted */
        crossed = gnt_matmul(t, gnt_aggregate(t, in->adj, GNT_AGG_SYM, in->h), gnt_use(t, l->enter));
    else
        crossed = (gnt_var){ 0 };
    push(&r, gnt_matmul(t, l->drop && below(&r, 3) == 0 ? gnt_dropout_by(t, in->h, l->rate) : in->h,
                        gnt_use(t, l->enter)));
    for (int64_t i = 0; i < l->length && r.size < MAX_POOL / 2; i++)
        push(&r, stay(&r));
    own = gnt_self(t, in->adj, any(&r));
    if (crossed.id == 0)
        crossed = below(&r, 2) == 0 ? aggregate(&r, any(&r)) : linear_aggregate(&r, any(&r));
    r.size = 0;
    push(&r, own);
    push(&r, crossed);
    for (int64_t i = 0; i < l->length && r.size < MAX_POOL - 1; i++)
        push(&r, !r.square || below(&r, 5) != 0 ? stay(&r)
                 : below(&r, 4) == 0            ? aggregate(&r, any(&r))
                                                : linear_aggregate(&r, any(&r)));
    return gnt_matmul(t, gnt_tanh(t, gnt_add(t, any(&r), r.pool[r.size - 1])), gnt_use(t, l->leave));
}

const gnt_layer_class nn_random_layer = {
    .struct_size = sizeof(gnt_layer_class),
    .name = "random",
    .state_size = sizeof(net),
    .options = options,
    .build = build,
    .forward = forward,
};
