/* SPDX-License-Identifier: Apache-2.0 */
/* Products with a matrix full of zeros: what ReLU and dropout leave of an activation, and of the gradient behind it, is a
 * quarter of its elements. A product that looks only at these takes half of the time; its bits are the same. (Where the other
 * operand is infinite or NaN, 0 times it would be NaN and is left out here.)
 *
 * Whether it pays is judged by some rows of the matrix, so by the data alone: all levels and thread counts do the same.
 */
#ifndef GNTI_KERNELS_CPU_GEMM_ZEROS_H
#define GNTI_KERNELS_CPU_GEMM_ZEROS_H

#include "kernels/cpu/cpu_kernels.h"

/* x (rows, width), each element multiplied with `cols` others. */
bool cpu_zeros_pay(const cpu_products *level, const float *x, int64_t stride, int64_t rows, int64_t width,
                   int64_t cols);

/* c = or += A B as of cpu_gemm_kernel.h, one panel of any width; row_step or inner_step is 1. */
void cpu_zeros_product(const cpu_products *level, const cpu_product *q, bool exact);

#endif
