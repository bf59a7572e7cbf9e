/* SPDX-License-Identifier: Apache-2.0 */
/* Finite differences for every op: a layer for each, through the public gradient check, on the whole graph and on blocks.
 * The check itself must find planted mistakes: a custom op whose backward is wrong.
 */
#include "tests/support/nn_case.h"

#include <stdio.h>
#include <string.h>

enum { WIDTH = 6 };

typedef struct probe {
    int32_t op;
    bool wrong;
    gnt_param w, b, row, one, gamma, beta, mean, var;
    gnt_hyper rate;
} probe;

enum {
    OP_LINEAR,
    OP_SUM,
    OP_MEAN,
    OP_SYM,
    OP_MAX,
    OP_ADD,
    OP_ADD_ROW,
    OP_ADD_COLUMN,
    OP_ADD_ONE,
    OP_MUL,
    OP_MUL_ROW,
    OP_MUL_COLUMN,
    OP_SCALE,
    OP_SCALE_BY,
    OP_CONCAT,
    OP_SLICE,
    OP_RELU,
    OP_ELU,
    OP_LEAKY,
    OP_SIGMOID,
    OP_TANH,
    OP_DROPOUT,
    OP_BATCH_NORM,
    OP_LAYER_NORM,
    OP_CUSTOM,
    OP_TWICE,
    OP_PARAMS,
    OP_NUM
};
static const char words[] =
    "linear|sum|mean|sym|max|add|add-row|add-column|add-one|mul|mul-row|mul-column|scale|scale-by|"
    "concat|slice|relu|elu|leaky|sigmoid|tanh|dropout|batch-norm|layer-norm|custom|twice|params";

static const gnt_option options[] = {
    GNT_OPTION_WORD("op", probe, op, 0, words, "what is tried"),
    GNT_OPTION_BOOL("wrong", probe, wrong, 0, "custom: a backward with a mistake"),
    GNT_OPTION_END,
};

static void build(void *state, gnt_builder *b)
{
    probe *p = state;
    const gnt_init glorot = { GNT_INIT_GLOROT, 1.0f };

    p->w = gnt_builder_param(b, "w", gnt_builder_in(b), WIDTH, glorot);
    p->b = gnt_builder_param(b, "b", p->op == OP_CONCAT ? 2 * WIDTH : WIDTH, gnt_builder_out(b), glorot);
    p->row = gnt_builder_param(b, "row", 1, WIDTH, glorot);
    p->one = gnt_builder_param(b, "one", 1, 1, glorot);
    p->gamma = gnt_builder_param(b, "gamma", 1, WIDTH, glorot);
    p->beta = gnt_builder_param(b, "beta", 1, WIDTH, glorot);
    p->mean = gnt_builder_state(b, "mean", 1, WIDTH, glorot);
    p->var = gnt_builder_state(b, "var", 1, WIDTH, glorot);
    p->rate = gnt_builder_hyper(b, "rate", 0.4);
}

/* y = a + b (a + a), so da = 1 + 2 b and db = 2 a; through the host's memory. */
static const float *element(const gnt_mat_view *v, int64_t r, int64_t m, int64_t c)
{
    const int64_t g = v->block_members;
    const float *base = (const float *)gnt_buffer_host(v->buf) + v->offset / sizeof(float);

    m = v->members == 1 ? 0 : m;
    return base + m / g * v->block_stride + r * v->row_stride + m % g * v->member_stride + c;
}

static gnt_status custom_forward(const gnt_op_args *a)
{
    for (int64_t m = 0; m < a->out->members; m++)
        for (int64_t r = 0; r < a->out->rows; r++)
            for (int64_t c = 0; c < a->out->width; c++) {
                const float x = *element(&a->in[0], r, m, c), y = *element(&a->in[1], r, m, c);

                *(float *)(uintptr_t)element(a->out, r, m, c) = x + 2.0f * x * y;
            }
    return GNT_OK;
}

static gnt_status custom_backward(const gnt_op_args *a)
{
    const bool wrong = *(const bool *)a->state;

    for (int64_t m = 0; m < a->out->members; m++)
        for (int64_t r = 0; r < a->out->rows; r++)
            for (int64_t c = 0; c < a->out->width; c++) {
                const float x = *element(&a->in[0], r, m, c), y = *element(&a->in[1], r, m, c);
                const float g = *element(a->out_grad, r, m, c);
                const float d[2] = { g * (1.0f + 2.0f * y), g * (wrong ? 2.2f : 2.0f) * x };

                for (int i = 0; i < 2; i++)
                    if (a->in_grad[i] != NULL)
                        *(float *)(uintptr_t)element(a->in_grad[i], r, m, c) = d[i];
            }
    return GNT_OK;
}

static int64_t custom_width(const void *state, const int64_t *in)
{
    (void)state;
    return in[0] == in[1] ? in[0] : -1;
}

static const gnt_op_class custom = { .struct_size = sizeof custom,
                                     .name = "twice-product",
                                     .num_inputs = 2,
                                     .width = custom_width,
                                     .backend = "cpu",
                                     .forward = custom_forward,
                                     .backward = custom_backward };

static gnt_var try_more(const probe *p, gnt_tape *t, gnt_var h, gnt_var other)
{
    switch (p->op) {
    case OP_RELU:
        return gnt_relu(t, h);
    case OP_ELU:
        return gnt_elu(t, h, 0.7f);
    case OP_LEAKY:
        return gnt_leaky_relu(t, h, 0.2f);
    case OP_SIGMOID:
        return gnt_sigmoid(t, h);
    case OP_TANH:
        return gnt_tanh(t, h);
    case OP_DROPOUT:
        return gnt_dropout_by(t, gnt_tanh(t, h), p->rate);
    case OP_BATCH_NORM:
        return gnt_batch_norm(t, h, p->gamma, p->beta, p->mean, p->var);
    case OP_LAYER_NORM:
        return gnt_layer_norm(t, h, p->gamma, p->beta);
    case OP_CUSTOM:
        return gnt_custom(t, &custom, &p->wrong, (gnt_var[]){ h, other }, 2);
    case OP_TWICE: /* several readers, and a product that adds */
        return gnt_add(t, gnt_mul(t, h, h), gnt_add(t, h, gnt_tanh(t, h)));
    case OP_PARAMS: /* a parameter read twice, one as a product of parameters */
        return gnt_add(t, gnt_add(t, h, gnt_use(t, p->row)),
                       gnt_mul(t, gnt_use(t, p->row), gnt_use(t, p->one)));
    default:
        return h;
    }
}

static gnt_var try_op(const probe *p, gnt_tape *t, gnt_adj adj, gnt_var source, gnt_var h, gnt_var other)
{
    const gnt_var column = gnt_slice(t, other, 1, 1);

    switch (p->op) {
    case OP_SUM:
    case OP_MEAN:
    case OP_SYM:
    case OP_MAX:
        return gnt_aggregate(t, adj, (gnt_aggregate_kind)(p->op - OP_SUM), source);
    case OP_ADD:
        return gnt_add(t, h, other);
    case OP_ADD_ROW:
        return gnt_add(t, h, gnt_use(t, p->row));
    case OP_ADD_COLUMN:
        return gnt_add(t, h, column);
    case OP_ADD_ONE:
        return gnt_add(t, h, gnt_use(t, p->one));
    case OP_MUL:
        return gnt_mul(t, h, other);
    case OP_MUL_ROW:
        return gnt_mul(t, h, gnt_use(t, p->row));
    case OP_MUL_COLUMN:
        return gnt_mul(t, h, column);
    case OP_SCALE:
        return gnt_scale(t, h, gnt_use(t, p->one));
    case OP_SCALE_BY:
        return gnt_scale_by(t, h, -1.7f);
    case OP_CONCAT:
        return gnt_concat(t, h, other);
    case OP_SLICE:
        return gnt_concat(t, gnt_slice(t, h, 2, 4), gnt_slice(t, other, 0, 2));
    default:
        return try_more(p, t, h, other);
    }
}

static gnt_var forward(const void *state, gnt_tape *t, const gnt_layer_input *in)
{
    const probe *p = state;
    const gnt_var source = gnt_matmul(t, in->h, gnt_use(t, p->w));
    const gnt_var h = gnt_self(t, in->adj, source);
    const gnt_var other = gnt_tanh(t, gnt_aggregate(t, in->adj, GNT_AGG_SYM, source));

    return gnt_matmul(t, try_op(p, t, in->adj, source, h, other), gnt_use(t, p->b));
}

static const gnt_layer_class layer = { .struct_size = sizeof layer,
                                       .name = "probe",
                                       .state_size = sizeof(probe),
                                       .options = options,
                                       .build = build,
                                       .forward = forward };

static gnt_context *make_context(void)
{
    gnt_context *ctx = NULL;

    gnt_assert_ok(gnt_context_create("device=cpu;threads=1", &ctx));
    gnt_assert_ok(gnt_layer_register(ctx, &layer));
    return ctx;
}

static void test_every_op(void **state)
{
    gnt_context *ctx = make_context();
    const char *word = words;

    (void)state;
    for (int op = 0; op < OP_NUM; op++) {
        char text[96];
        const int length = (int)strcspn(word, "|");

        snprintf(text, sizeof text, "probe:4:op=%.*s:act=tanh, probe:op=%.*s", length, word, length, word);
        if (gnt_check_gradient(ctx, text, 0.01) != GNT_OK) {
            print_error("%s: %s\n%s", text, gnt_last_error(), gnt_last_error_trace());
            fail();
        }
        word += length + 1;
    }
    gnt_context_free(&ctx);
}

static void test_built_in_layers(void **state)
{
    static const char *const texts[] = { "gcn:8, gcn",
                                         "gcn:8:act=elu:norm=layer, linear",
                                         "linear:8:norm=batch:act=tanh, gcn:8:residual=true, gcn",
                                         "gcn:8:dropout=0.5, gcn:8:dropout=0.3, linear",
                                         "linear",
                                         "sage:8, sage",
                                         "sage:8:aggregate=max:act=tanh, sage:aggregate=max",
                                         "sage:8:bias=false:dropout=0.3:act=tanh, linear",
                                         "gat:6:act=elu, gat",
                                         "gat:4x2:act=elu, gat:heads=3",
                                         "gat:3x5:act=tanh:attn-dropout=0.4, gat:3x2:attn-dropout=0.5",
                                         "gat:5:heads=2:act=elu:slope=0, gat:slope=1:bias=false",
                                         "gat:4x3:dropout=0.3:act=elu:residual=true, gcn" };
    gnt_context *ctx = make_context();

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        gnt_assert_ok(gnt_check_gradient(ctx, texts[i], 0.01));
    gnt_context_free(&ctx);
}

static void test_finds_mistakes(void **state)
{
    gnt_context *ctx = make_context();

    (void)state;
    gnt_assert_status(gnt_check_gradient(ctx, "probe:op=custom:wrong=true", 0.01), GNT_ERR_NUMERIC);
    gnt_assert_error_has("1.w", "differences give");
    gnt_assert_status(gnt_check_gradient(ctx, "gcm:8, gcn", 0.01), GNT_ERR_USAGE);
    gnt_assert_error_has("gcm", "did you mean 'gcn'");
    gnt_context_free(&ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_op),
        cmocka_unit_test(test_built_in_layers),
        cmocka_unit_test(test_finds_mistakes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
