/* SPDX-License-Identifier: Apache-2.0 */
/* Eight lanes in one AVX register, whatever the level's vector: dot products whose order is the same everywhere. Included by
 * the level's files only, behind KERNEL. */
#include <immintrin.h>
#include <stdint.h>

typedef __m256 V8;
#define LOAD8(p)     _mm256_loadu_ps(p)
#define LOAD8M(n, p) load_eight((n), (p))
#define MUL8(a, b)   _mm256_mul_ps((a), (b))
#define ADD8(a, b)   _mm256_add_ps((a), (b))
#define SUM8(v)      sum_eight(v)

/* The first n < 8 lanes, zeros behind them. */
KERNEL static inline __m256 load_eight(int64_t n, const float *p)
{
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);

    return _mm256_maskload_ps(p, _mm256_cmpgt_epi32(_mm256_set1_epi32((int32_t)n), lanes));
}

KERNEL static inline float sum_eight(__m256 v)
{
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));

    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
