/* SPDX-License-Identifier: Apache-2.0 */
/* The vector words of kernels for AVX2: 8 floats, tails by masked loads and stores. Included by the level's files only. */
#include <immintrin.h>
#include <stdint.h>

#define KERNEL __attribute__((target("avx2,fma")))
#define VF     8
typedef __m256 V;
typedef __m256i MASK;
#define V_ZERO            _mm256_setzero_ps()
#define V_SET1(s)         _mm256_set1_ps(s)
#define V_LOAD(p)         _mm256_loadu_ps(p)
#define V_STORE(p, v)     _mm256_storeu_ps((p), (v))
#define V_ADD(a, b)       _mm256_add_ps((a), (b))
#define V_MUL(a, b)       _mm256_mul_ps((a), (b))
#define V_FMA(a, b, c)    _mm256_fmadd_ps((a), (b), (c))
#define V_NONZERO(v)      (uint32_t) _mm256_movemask_ps(_mm256_cmp_ps((v), _mm256_setzero_ps(), _CMP_NEQ_UQ))
#define V_MASK(n)         first_lanes(n)
#define V_LOADM(m, p)     _mm256_maskload_ps((p), (m))
#define V_STOREM(m, p, v) _mm256_maskstore_ps((p), (m), (v))

KERNEL static inline __m256i first_lanes(int64_t n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int32_t)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
