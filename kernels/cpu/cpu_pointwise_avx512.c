/* SPDX-License-Identifier: Apache-2.0 */
/* The pointwise and reducing kernels for AVX-512. */
#if defined(__x86_64__)
#include "kernels/cpu/cpu_kernels.h"

#define KERNEL __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))

#include "kernels/cpu/cpu_philox_avx512.h"
#include "kernels/cpu/cpu_pointwise_kernel.h"

const cpu_kernels cpu_kernels_avx512 = { .name = "avx512", KERNEL_TABLE };
#endif
