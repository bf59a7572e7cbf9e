/* SPDX-License-Identifier: Apache-2.0 */
/* An op of one's own with kernels for two back ends, and a layer that uses it: a gated linear unit (Dauphin, Fan, Auli,
 * Grangier, ICML 2017) over what a GCN layer aggregates.
 *
 *     s = D^-1/2 (A + I) D^-1/2 h      y = (s W + b) * sigmoid(s V + c)
 *
 * The gate is the op: kernels for the processor are here, those for NVIDIA GPUs in glu_kernels.cu. It adds to a gradient where it
 * is told to, skips what nobody wants, and goes through the strides of the views.
 *   plug-in: gnntrain train graph.h5 --plugin libglu.so --model 'glu:16, linear'
 */
#include <gnntrain/gnntrain.h>
#include <gnntrain/op.h>

#include <math.h>

/* Element (r, m, c) of a view in host memory. */
static float *element(const gnt_mat_view *v, int64_t r, int64_t m, int64_t c)
{
    const int64_t g = v->block_members;
    float *first = (float *)(void *)((char *)gnt_buffer_address(v->buf) + v->offset);

    m = v->members == 1 ? 0 : m; /* shared by all members */
    return first + m / g * v->block_stride + r * v->row_stride + m % g * v->member_stride + c;
}

static float sigmoid(float x)
{
    return 1.0f / (1.0f + expf(-x));
}

static gnt_status gate_forward(const gnt_op_args *a)
{
    for (int64_t m = 0; m < a->out->members; m++)
        for (int64_t r = 0; r < a->out->rows; r++)
            for (int64_t c = 0; c < a->out->width; c++)
                *element(a->out, r, m, c) =
                    *element(&a->in[0], r, m, c) * sigmoid(*element(&a->in[1], r, m, c));
    return GNT_OK;
}

static void put(const gnt_op_args *a, int32_t i, int64_t r, int64_t m, int64_t c, float value)
{
    if (a->in_grad[i] != NULL) /* else nobody asks for this one */
        *element(a->in_grad[i], r, m, c) = value;
}

static gnt_status gate_backward(const gnt_op_args *a)
{
    for (int64_t m = 0; m < a->out->members; m++)
        for (int64_t r = 0; r < a->out->rows; r++)
            for (int64_t c = 0; c < a->out->width; c++) {
                const float grad = *element(a->out_grad, r, m, c);
                const float s = sigmoid(*element(&a->in[1], r, m, c));

                put(a, 0, r, m, c, grad * s);
                put(a, 1, r, m, c, grad * *element(&a->in[0], r, m, c) * s * (1.0f - s));
            }
    return GNT_OK;
}

static int64_t gate_width(const void *state, const int64_t *in_widths)
{
    (void)state;
    return in_widths[0] == in_widths[1] ? in_widths[0] : -1;
}

#ifdef GLU_HAS_CUDA /* glu_kernels.cu is linked */
gnt_status glu_cuda_forward(const gnt_op_args *a);
gnt_status glu_cuda_backward(const gnt_op_args *a);
static const gnt_op_kernels gate_more[] = { { "cuda", glu_cuda_forward, glu_cuda_backward } };
enum { NUM_MORE = sizeof gate_more / sizeof *gate_more };
#else
#define gate_more NULL
enum { NUM_MORE = 0 };
#endif

static const gnt_op_class gate = {
    .struct_size = sizeof(gnt_op_class),
    .name = "gate",
    .num_inputs = 2,
    .width = gate_width,
    .backend = "cpu",
    .forward = gate_forward,
    .backward = gate_backward,
    .more = gate_more,
    .num_more = NUM_MORE,
};

typedef struct glu {
    gnt_param w, b, v, c;
} glu;

static void glu_build(void *state, gnt_builder *b)
{
    glu *l = state;
    const int64_t in = gnt_builder_in(b), out = gnt_builder_out(b);
    const gnt_init zero = { GNT_INIT_CONST, 0.0f }, glorot = { GNT_INIT_GLOROT, 1.0f };

    l->w = gnt_builder_param(b, "w", in, out, glorot);
    l->b = gnt_builder_param(b, "b", 1, out, zero);
    l->v = gnt_builder_param(b, "v", in, out, glorot);
    l->c = gnt_builder_param(b, "bv", 1, out, zero);
}

static gnt_var glu_forward(const void *state, gnt_tape *t, const gnt_layer_input *in)
{
    const glu *l = state;
    const gnt_var s = gnt_aggregate(t, in->adj, GNT_AGG_SYM, in->h);
    const gnt_var inputs[2] = { gnt_linear(t, s, l->w, l->b), gnt_linear(t, s, l->v, l->c) };

    return gnt_custom(t, &gate, NULL, inputs, 2);
}

static const gnt_layer_class glu_layer = {
    .struct_size = sizeof(gnt_layer_class),
    .name = "glu",
    .state_size = sizeof(glu),
    .build = glu_build,
    .forward = glu_forward,
};

/* What `--plugin` looks for. */
GNT_API gnt_status gnt_plugin_init(gnt_context *ctx);
gnt_status gnt_plugin_init(gnt_context *ctx)
{
    return gnt_layer_register(ctx, &glu_layer);
}
