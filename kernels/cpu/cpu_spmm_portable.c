/* SPDX-License-Identifier: Apache-2.0 */
/* Row kernels of the sparse product for any processor: tiles of up to 12 vectors. */
#include "kernels/cpu/cpu_spmm.h"

#include "kernels/cpu/cpu_vector_portable.h"

#include "kernels/cpu/cpu_spmm_kernel.h"

#include "kernels/cpu/cpu_spmm_block_kernel.h"

#include "kernels/cpu/cpu_spmm_max_kernel.h"

const cpu_spmm_kernels cpu_spmm_kernels_portable = { .vector_floats = VF,
                                                     .max_vectors = 12,
                                                     .rows = { LEVEL(0), LEVEL(1) },
                                                     .block = sum_block,
                                                     .max = max_row,
                                                     .max_grad = max_grad_row };
