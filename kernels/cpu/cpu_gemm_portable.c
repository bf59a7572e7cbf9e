/* SPDX-License-Identifier: Apache-2.0 */
/* Dense products of blocks for any processor. */
#include "kernels/cpu/cpu_kernels.h"

#include "kernels/cpu/cpu_vector_portable.h"

enum { TILE_ROWS = 6 };

#include "kernels/cpu/cpu_gemm_kernel.h"

#include "kernels/cpu/cpu_gemm_zeros_kernel.h"

const cpu_products cpu_products_portable = { .panel = PANEL,
                                             .exact = product_exact,
                                             .fast = product_fast,
                                             .row_bits = row_bits,
                                             .column_bits = column_bits,
                                             .picked_exact = picked_exact,
                                             .picked_fast = picked_fast };
