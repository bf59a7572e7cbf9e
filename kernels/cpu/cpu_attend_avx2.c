/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of attention for AVX2. */
#include "kernels/cpu/cpu_attend.h"

#if defined(__x86_64__)
#include "kernels/cpu/cpu_vector_avx2.h"

#include "kernels/cpu/cpu_philox_avx2.h"
#include "kernels/cpu/cpu_vector_eight.h"

#include "kernels/cpu/cpu_attend_kernel.h"

const cpu_attend_kernels cpu_attend_kernels_avx2 = { ATTEND_TABLE };
#endif
