/* SPDX-License-Identifier: Apache-2.0 */
/* One strided batch of dense products on a stream, with everything cuBLASLt wants kept by shape. */
#ifndef GNTI_KERNELS_CUDA_PRODUCT_H
#define GNTI_KERNELS_CUDA_PRODUCT_H

#include "kernels/cuda/cuda.h"

/* c = alpha op(a) op(b) + beta c [+ bias] [relu], float32, row-major, `batch` times; strides in elements, 0: shared. It is a key:
 * fill it from zeroed memory. */
typedef struct cuda_product {
    int64_t rows, cols, inner;
    int64_t row_stride_a, row_stride_b, row_stride_c;
    int64_t stride_a, stride_b, stride_c, stride_bias;
    int32_t batch;
    bool trans_a, trans_b, has_bias, relu, adds; /* adds: beta is not 0 */
    int32_t align_a, align_b, align_c;           /* bytes; cuda_product_run fills them */
} cuda_product;

gnt_status cuda_product_run(gnt_stream *s, cuda_product *p, const float *a, const float *b, float *c,
                            const float *bias, const float factors[2]); /* alpha, beta */

#endif
