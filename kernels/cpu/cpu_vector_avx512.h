/* SPDX-License-Identifier: Apache-2.0 */
/* The vector words of kernels for AVX-512: 16 floats, tails by mask registers. Included by the level's files only. */
#include <immintrin.h>
#include <stdint.h>

#define KERNEL __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma")))
#define VF     16
typedef __m512 V;
typedef __mmask16 MASK;
#define V_ZERO            _mm512_setzero_ps()
#define V_SET1(s)         _mm512_set1_ps(s)
#define V_LOAD(p)         _mm512_loadu_ps(p)
#define V_STORE(p, v)     _mm512_storeu_ps((p), (v))
#define V_ADD(a, b)       _mm512_add_ps((a), (b))
#define V_MUL(a, b)       _mm512_mul_ps((a), (b))
#define V_FMA(a, b, c)    _mm512_fmadd_ps((a), (b), (c))
#define V_NONZERO(v)      _mm512_cmp_ps_mask((v), _mm512_setzero_ps(), _CMP_NEQ_UQ)
#define V_MASK(n)         ((__mmask16)((1u << (n)) - 1u))
#define V_LOADM(m, p)     _mm512_maskz_loadu_ps((m), (p))
#define V_STOREM(m, p, v) _mm512_mask_storeu_ps((p), (m), (v))
