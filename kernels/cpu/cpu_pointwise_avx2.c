/* SPDX-License-Identifier: Apache-2.0 */
/* The pointwise and reducing kernels for AVX2. */
#if defined(__x86_64__)
#include "kernels/cpu/cpu_kernels.h"

#define KERNEL __attribute__((target("avx2")))

#include "kernels/cpu/cpu_philox_avx2.h"
#include "kernels/cpu/cpu_pointwise_kernel.h"

const cpu_kernels cpu_kernels_avx2 = { .name = "avx2", KERNEL_TABLE };
#endif
