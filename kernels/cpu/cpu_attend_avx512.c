/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of attention for AVX-512. */
#include "kernels/cpu/cpu_attend.h"

#if defined(__x86_64__)
#include "kernels/cpu/cpu_vector_avx512.h"

#include "kernels/cpu/cpu_philox_avx512.h"
#include "kernels/cpu/cpu_vector_eight.h"

#include "kernels/cpu/cpu_attend_kernel.h"

const cpu_attend_kernels cpu_attend_kernels_avx512 = { ATTEND_TABLE };
#endif
