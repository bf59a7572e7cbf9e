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

/* Eight heads of eight columns at once: the tree of sum_eight for each of them. */
#define DOT_EIGHT_HEADS(a, b, out) dot_eight_heads((a), (b), (out))

KERNEL static inline __m256 halves_added(__m256 a, __m256 b)
{
    return _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
}

KERNEL static inline void dot_eight_heads(const float *a, const float *b, float *out)
{
    __m256 p[8], q[2];

    for (int h = 0; h < 8; h++)
        p[h] = _mm256_mul_ps(_mm256_loadu_ps(a + 8 * h), _mm256_loadu_ps(b + 8 * h));
    for (int h = 0; h < 4; h++) /* heads h | h + 4 */
        p[h] = halves_added(p[h], p[h + 4]);
    for (int h = 0; h < 2; h++)
        q[h] = _mm256_add_ps(_mm256_shuffle_ps(p[2 * h], p[2 * h + 1], 0x44),
                             _mm256_shuffle_ps(p[2 * h], p[2 * h + 1], 0xEE));
    _mm256_storeu_ps(out,
                     _mm256_add_ps(_mm256_shuffle_ps(q[0], q[1], 0x88), _mm256_shuffle_ps(q[0], q[1], 0xDD)));
}
