/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of users over parts: one of composed ops that shares a parameter, multiplies parameters and reads its input twice;
 * and one with an op of its own whose gradient of a parameter is a sum over rows. Both know nothing of ranks.
 * label: medium
 */
#include "tests/support/parts_case.h"

enum { CHUNKS = 16 };

/* ---- y = x (1 + p), an op with kernels of its own ------------------------------------------------------------------- */

static float *element(const gnt_mat_view *v, int64_t r, int64_t m, int64_t c)
{
    const int64_t g = v->block_members;
    float *base = (float *)gnt_buffer_host(v->buf) + v->offset / sizeof(float);

    m = v->members == 1 ? 0 : m;
    return base + m / g * v->block_stride + r * v->row_stride + m % g * v->member_stride + c;
}

static gnt_status stretch_forward(const gnt_op_args *a)
{
    for (int64_t m = 0; m < a->out->members; m++)
        for (int64_t r = 0; r < a->out->rows; r++)
            for (int64_t c = 0; c < a->out->width; c++)
                *element(a->out, r, m, c) =
                    *element(&a->in[0], r, m, c) * (1.0f + *element(&a->in[1], 0, m, c));
    return GNT_OK;
}

static void put(const gnt_op_args *a, int i, int64_t r, int64_t m, int64_t c, float value)
{
    *element(a->in_grad[i], r, m, c) = value;
}

static gnt_status stretch_backward(const gnt_op_args *a)
{
    for (int64_t m = 0; m < a->out->members; m++)
        for (int64_t c = 0; c < a->out->width; c++) {
            float sum = 0.0f;

            for (int64_t r = 0; r < a->out->rows; r++) {
                const float g = *element(a->out_grad, r, m, c);

                sum += g * *element(&a->in[0], r, m, c);
                if (a->in_grad[0] != NULL)
                    put(a, 0, r, m, c, g * (1.0f + *element(&a->in[1], 0, m, c)));
            }
            if (a->in_grad[1] != NULL)
                put(a, 1, 0, m, c, sum);
        }
    return GNT_OK;
}

static int64_t stretch_width(const void *state, const int64_t *in)
{
    (void)state;
    return in[0] == in[1] ? in[0] : -1;
}

static const gnt_op_class stretch = { .struct_size = sizeof stretch,
                                      .name = "stretch",
                                      .num_inputs = 2,
                                      .width = stretch_width,
                                      .backend = "cpu",
                                      .forward = stretch_forward,
                                      .backward = stretch_backward };

/* ---- the layers ------------------------------------------------------------------------------------------------------ */

typedef struct layer {
    gnt_param w, p, one;
} layer;

static void build(void *state, gnt_builder *b)
{
    layer *l = state;
    const gnt_init glorot = { GNT_INIT_GLOROT, 1.0f };

    l->w = gnt_builder_param(b, "w", gnt_builder_in(b), gnt_builder_out(b), glorot);
    l->p = gnt_builder_param(b, "p", 1, gnt_builder_out(b), glorot);
    l->one = gnt_builder_param(b, "one", 1, 1, glorot);
}

static gnt_var custom_forward(const void *state, gnt_tape *t, const gnt_layer_input *in)
{
    const layer *l = state;
    const gnt_var h = gnt_tanh(t, gnt_matmul(t, in->h, gnt_use(t, l->w)));

    return gnt_add(t,
                   gnt_aggregate(t, in->adj, GNT_AGG_MEAN,
                                 gnt_custom(t, &stretch, l, (gnt_var[]){ h, gnt_use(t, l->p) }, 2)),
                   gnt_use(t, l->p));
}

/* p is read as a bias and as a factor, and its product with `one` is a parameter's gradient that follows two sums. */
static gnt_var composed_forward(const void *state, gnt_tape *t, const gnt_layer_input *in)
{
    const layer *l = state;
    const gnt_var h = gnt_matmul(t, in->h, gnt_use(t, l->w)), p = gnt_use(t, l->p);
    const gnt_var scaled = gnt_mul(t, h, gnt_scale(t, p, gnt_use(t, l->one)));

    return gnt_add(t, gnt_aggregate(t, in->adj, GNT_AGG_MAX, gnt_tanh(t, gnt_add(t, scaled, p))),
                   gnt_aggregate(t, in->adj, GNT_AGG_SYM, gnt_scale(t, h, gnt_use(t, l->one))));
}

static const gnt_layer_class classes[2] = {
    { .struct_size = sizeof(gnt_layer_class),
      .name = "stretch",
      .state_size = sizeof(layer),
      .build = build,
      .forward = custom_forward },
    { .struct_size = sizeof(gnt_layer_class),
      .name = "composed",
      .state_size = sizeof(layer),
      .build = build,
      .forward = composed_forward },
};

static gnt_context *make_context(bool bitwise)
{
    gnt_context *ctx = NULL;

    gnt_assert_ok(gnt_context_create(
        bitwise ? "device=cpu;threads=1;deterministic=bitwise" : "device=cpu;threads=1", &ctx));
    for (int i = 0; i < 2; i++)
        gnt_assert_ok(gnt_layer_register(ctx, &classes[i]));
    return ctx;
}

static void compare(parts_problem *p, const gnti_partition *partition)
{
    int32_t owner[CHUNKS];
    parts_result one = { 0 }, r = { 0 };

    p->context = make_context;
    parts_owner(1, CHUNKS, 1, false, owner);
    if (p->bitwise)
        parts_run(p, partition, owner, 1, &one);
    else
        parts_run_whole(p, &one);
    for (int32_t ranks = 1; ranks <= 5; ranks++) {
        const char *text;

        parts_owner((uint64_t)ranks, CHUNKS, ranks, ranks % 2 == 0, owner);
        parts_run(p, partition, owner, ranks, &r);
        text = parts_differ(p, &r, &one, p->bitwise);
        if (text != NULL)
            fail_msg("'%s', %d ranks%s: %s\n%s", p->text, ranks, p->bitwise ? ", bitwise" : "", text,
                     r.explain);
        parts_result_free(&r);
    }
    parts_result_free(&one);
}

static void test_users_layers(void **state)
{
    static const char *const texts[] = { "stretch:7, stretch", "composed:7, composed" };
    nn_data d;
    gnti_partition *partition = parts_random(5, 110, CHUNKS);

    (void)state;
    for (int directed = 0; directed < 2; directed++) {
        nn_data_make(&d, 61, 110, 330, 6, 3, directed == 0, directed != 0);
        for (int k = 0; k < 8; k++) {
            parts_problem p = { .data = &d,
                                .text = texts[k % 2],
                                .members = 1 + k / 2 % 2 * 2,
                                .bitwise = k / 4 == 1,
                                .steps = 3,
                                .lr = 0.02f };

            compare(&p, partition);
        }
        nn_data_free(&d);
    }
    gnti_partition_free(&partition);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_users_layers) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
