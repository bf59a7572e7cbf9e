/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of batch and layer norm share. */
#ifndef GNTI_KERNELS_CUDA_NORM_CUH
#define GNTI_KERNELS_CUDA_NORM_CUH

#include "kernels/cuda/cuda_tree.cuh"

DEVICE float *row_of(const cuda_view &v, int64_t r, int m)
{
    return (float *)v.data + member_offset(v, m) + r * v.row_stride;
}

/* n columns from c on of a vector (1, M, width), or a constant where there is none. */
DEVICE quad load_vector(const cuda_view &v, int m, int c, int n, float absent)
{
    quad q;

    if (v.data != NULL)
        return load_floats(row_of(v, 0, m) + c, n);
    q.v[0] = q.v[1] = q.v[2] = q.v[3] = absent;
    return q;
}

/* The share of a batch in a member's running statistics. */
DEVICE float momentum_of(const cuda_norm_args &a, int m)
{
    return a.momentum_hyper != 0 ? gnti_step_hyper((const gnti_step_head *)a.step, a.momentum_hyper)[m]
                                 : a.momentum;
}

/* cuda_layer_kernels.cu; sums: (members, 2, width) of the tree. */
cudaError_t launch_layer_forward(cudaStream_t stream, const cuda_norm_args *a);
cudaError_t launch_layer_gradient(cudaStream_t stream, const cuda_norm_args *a, const gnt_row_tree *tree,
                                  double *sums);
cudaError_t launch_layer_input(cudaStream_t stream, const cuda_norm_args *a);

#endif
