/* SPDX-License-Identifier: Apache-2.0 */
/* Row kernels of the sparse product for AVX-512: tiles of up to 16 vectors. */
#include "kernels/cpu/cpu_spmm.h"

#if defined(__x86_64__)
#include "kernels/cpu/cpu_vector_avx512.h"

#include "kernels/cpu/cpu_spmm_kernel.h"

#include "kernels/cpu/cpu_spmm_block_kernel.h"

#include "kernels/cpu/cpu_spmm_max_kernel.h"

const cpu_spmm_kernels cpu_spmm_kernels_avx512 = { .vector_floats = VF,
                                                   .max_vectors = 16,
                                                   .rows = { LEVEL(0), LEVEL(1) },
                                                   .block = sum_block,
                                                   .max = max_row,
                                                   .max_grad = max_grad_row };
#endif
