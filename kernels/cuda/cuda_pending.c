/* SPDX-License-Identifier: Apache-2.0 */
/* Ops whose files are not in the tree yet answer ERR_UNSUPPORTED; cmake/CudaPlugin.cmake names them. */
#include "kernels/cuda/cuda.h"

#ifdef CUDA_PENDING_gemm
gnt_status cuda_gemm(gnt_stream *s, const gnt_gemm_args *a)
{
    (void)s;
    (void)a;
    return gnti_error_set(GNT_ERR_UNSUPPORTED, __FILE__, __LINE__, __func__, "gemm is not built");
}
#endif
#ifdef CUDA_PENDING_norm
gnt_status cuda_norm(gnt_stream *s, const gnt_norm_args *a)
{
    (void)s;
    (void)a;
    return gnti_error_set(GNT_ERR_UNSUPPORTED, __FILE__, __LINE__, __func__, "norm is not built");
}
#endif
#ifdef CUDA_PENDING_map
gnt_status cuda_map(gnt_stream *s, const gnt_map_args *a)
{
    (void)s;
    (void)a;
    return gnti_error_set(GNT_ERR_UNSUPPORTED, __FILE__, __LINE__, __func__, "map is not built");
}
#endif
#ifdef CUDA_PENDING_reduce
gnt_status cuda_reduce(gnt_stream *s, const gnt_reduce_args *a)
{
    (void)s;
    (void)a;
    return gnti_error_set(GNT_ERR_UNSUPPORTED, __FILE__, __LINE__, __func__, "reduce is not built");
}
#endif
#ifdef CUDA_PENDING_gather
gnt_status cuda_gather_rows(gnt_stream *s, const gnt_rows_args *a)
{
    (void)s;
    (void)a;
    return gnti_error_set(GNT_ERR_UNSUPPORTED, __FILE__, __LINE__, __func__, "gather is not built");
}
#endif
#ifdef CUDA_PENDING_loss
gnt_status cuda_loss(gnt_stream *s, const gnt_loss_args *a)
{
    (void)s;
    (void)a;
    return gnti_error_set(GNT_ERR_UNSUPPORTED, __FILE__, __LINE__, __func__, "loss is not built");
}
#endif
#ifdef CUDA_PENDING_optimizer
gnt_status cuda_optimizer_step(gnt_stream *s, const gnt_optimizer_args *a)
{
    (void)s;
    (void)a;
    return gnti_error_set(GNT_ERR_UNSUPPORTED, __FILE__, __LINE__, __func__, "optimizer is not built");
}
#endif
#ifdef CUDA_PENDING_attend
gnt_status cuda_attend(gnt_stream *s, const gnt_spmm_plan *p, const gnt_attend_args *a)
{
    (void)s;
    (void)p;
    (void)a;
    return gnti_error_set(GNT_ERR_UNSUPPORTED, __FILE__, __LINE__, __func__, "attend is not built");
}
gnt_status cuda_attend_backward(gnt_stream *s, const gnt_spmm_plan *p, const gnt_attend_grad_args *a)
{
    (void)s;
    (void)p;
    (void)a;
    return gnti_error_set(GNT_ERR_UNSUPPORTED, __FILE__, __LINE__, __func__, "attend is not built");
}
#endif
#ifdef CUDA_PENDING_gemm
void cuda_products_free(struct cuda_product_cache *products)
{
    (void)products;
}
#endif
#ifdef CUDA_PENDING_spmm
gnt_status cuda_spmm(gnt_stream *s, const gnt_spmm_plan *p, const gnt_spmm_args *a)
{
    (void)s;
    (void)p;
    (void)a;
    return gnti_error_set(GNT_ERR_UNSUPPORTED, __FILE__, __LINE__, __func__, "spmm is not built");
}
gnt_status cuda_spmm_plan(gnt_stream *s, const gnt_spmm_plan_args *a, gnt_spmm_plan **out)
{
    (void)s;
    (void)a;
    (void)out;
    return gnti_error_set(GNT_ERR_UNSUPPORTED, __FILE__, __LINE__, __func__, "spmm is not built");
}
void cuda_spmm_plan_free(gnt_spmm_plan *p)
{
    (void)p;
}
#endif
