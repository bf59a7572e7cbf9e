/* SPDX-License-Identifier: Apache-2.0 */
/* The gate of glu.c on NVIDIA GPUs: y = a * sigmoid(b), and its gradient.
 *
 * A thread takes elements of one member (blockIdx.y), a block's threads lie side by side in a row where rows are long. Work goes to
 * the program's stream and nothing waits; nothing but what a view says is an argument, so that a captured step stays
 * valid. Built by nvcc, and by tests with a C++ compiler against a stand-in of the runtime.
 */
#include <gnntrain/op.h>

namespace
{

constexpr int THREADS = 256;
constexpr int64_t MAX_BLOCKS = 4096;

/* A view with the address of its first element on the device; data NULL: not wanted. */
struct rows {
    float *data;
    int64_t members, block_members, row_stride, member_stride, block_stride;
};

struct gate_args {
    rows a, b, y, grad, grad_a, grad_b;
    int64_t num_rows, width;
};

rows rows_of(const gnt_mat_view *v)
{
    rows r = {};

    if (v != NULL) {
        r.data = (float *)((char *)gnt_buffer_address(v->buf) + v->offset);
        r.members = v->members;
        r.block_members = v->block_members;
        r.row_stride = v->row_stride;
        r.member_stride = v->member_stride;
        r.block_stride = v->block_stride;
    }
    return r;
}

__device__ float *element(const rows &v, int64_t r, int64_t m, int64_t c)
{
    m = v.members == 1 ? 0 : m;
    return v.data + m / v.block_members * v.block_stride + r * v.row_stride +
           m % v.block_members * v.member_stride + c;
}

__device__ void put(const rows &v, int64_t r, int64_t m, int64_t c, float value)
{
    if (v.data != NULL)
        *element(v, r, m, c) = value;
}

template <bool BACKWARD> __global__ void gate_kernel(gate_args g)
{
    const int64_t m = blockIdx.y, count = g.num_rows * g.width;

    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < count;
         i += (int64_t)gridDim.x * THREADS) {
        const int64_t r = i / g.width, c = i % g.width;
        const float a = *element(g.a, r, m, c), s = 1.0f / (1.0f + expf(-*element(g.b, r, m, c)));

        if (BACKWARD) {
            const float grad = *element(g.grad, r, m, c);

            put(g.grad_a, r, m, c, grad * s);
            put(g.grad_b, r, m, c, grad * a * s * (1.0f - s));
        } else {
            *element(g.y, r, m, c) = a * s;
        }
    }
}

template <bool BACKWARD> gnt_status run(const gnt_op_args *a)
{
    gate_args g = {};
    cudaLaunchConfig_t cfg = {};
    const int64_t blocks = (a->out->rows * a->out->width + THREADS - 1) / THREADS;

    if (blocks == 0)
        return GNT_OK;
    g.a = rows_of(&a->in[0]);
    g.b = rows_of(&a->in[1]);
    g.y = rows_of(a->out);
    g.num_rows = a->out->rows;
    g.width = a->out->width;
    if (BACKWARD) {
        g.grad = rows_of(a->out_grad);
        g.grad_a = rows_of(a->in_grad[0]);
        g.grad_b = rows_of(a->in_grad[1]);
    }
    cfg.gridDim = dim3((unsigned)(blocks < MAX_BLOCKS ? blocks : MAX_BLOCKS), (unsigned)a->out->members, 1);
    cfg.blockDim = dim3(THREADS, 1, 1);
    cfg.stream = (cudaStream_t)gnt_stream_handle(a->stream);
    return cudaLaunchKernelEx(&cfg, gate_kernel<BACKWARD>, g) == cudaSuccess ? GNT_OK : GNT_ERR_DEVICE_LOST;
}

} // namespace

extern "C" gnt_status glu_cuda_forward(const gnt_op_args *a)
{
    return run<false>(a);
}

extern "C" gnt_status glu_cuda_backward(const gnt_op_args *a)
{
    return run<true>(a);
}
