/* SPDX-License-Identifier: Apache-2.0 */
/* The pointwise and reducing kernels for any processor (SSE2 or NEON as the compiler makes them). */
#define KERNEL
#include "kernels/cpu/cpu_pointwise_kernel.h"

const cpu_kernels cpu_kernels_portable = { .name = "portable", KERNEL_TABLE };
