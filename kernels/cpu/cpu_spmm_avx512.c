/* SPDX-License-Identifier: Apache-2.0 */
/* Row kernels of the sparse product for AVX-512: up to 16 accumulators of 16 floats, tails by mask registers.
 */
#include "kernels/cpu/cpu_spmm.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define KERNEL __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define VF     16
typedef __m512 V;
typedef __mmask16 MASK;
#define V_ZERO            _mm512_setzero_ps()
#define V_SET1(s)         _mm512_set1_ps(s)
#define V_LOAD(p)         _mm512_loadu_ps(p)
#define V_STORE(p, v)     _mm512_storeu_ps((p), (v))
#define V_ADD(a, b)       _mm512_add_ps((a), (b))
#define V_MUL(a, b)       _mm512_mul_ps((a), (b))
#define V_MASK(n)         ((__mmask16)((1u << (n)) - 1u))
#define V_LOADM(m, p)     _mm512_maskz_loadu_ps((m), (p))
#define V_STOREM(m, p, v) _mm512_mask_storeu_ps((p), (m), (v))

#include "kernels/cpu/cpu_spmm_kernel.h"

const cpu_spmm_kernels cpu_spmm_kernels_avx512 = { .vector_floats = VF,
                                                   .max_vectors = 16,
                                                   .rows = { LEVEL(0), LEVEL(1) } };
#endif
