/* SPDX-License-Identifier: Apache-2.0 */
/* Philox on 16 counters for AVX2, by hand: compilers do not find the 32 x 32 bit products of even and odd lanes. Included
 * by the level's files only, behind KERNEL. */
#include <immintrin.h>

/* High and low halves of m c. */
KERNEL static inline void philox_multiply(__m256i c, __m256i m, __m256i *high, __m256i *low)
{
    const __m256i even = _mm256_mul_epu32(c, m), odd = _mm256_mul_epu32(_mm256_srli_epi64(c, 32), m);

    *high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
    *low = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA);
}

KERNEL static inline void philox_eight(uint32_t *p0, uint32_t *p1, uint32_t *p2, uint32_t *p3,
                                       gnti_philox_key key)
{
    const __m256i m0 = _mm256_set1_epi32((int32_t)0xD2511F53u), m1 = _mm256_set1_epi32((int32_t)0xCD9E8D57u);
    __m256i c0 = _mm256_loadu_si256((const __m256i *)(const void *)p0);
    __m256i c1 = _mm256_loadu_si256((const __m256i *)(const void *)p1);
    __m256i c2 = _mm256_loadu_si256((const __m256i *)(const void *)p2);
    __m256i c3 = _mm256_loadu_si256((const __m256i *)(const void *)p3);

    for (int round = 0; round < 10; round++) {
        __m256i high0, low0, high1, low1;

        philox_multiply(c0, m0, &high0, &low0);
        philox_multiply(c2, m1, &high1, &low1);
        c0 = _mm256_xor_si256(_mm256_xor_si256(high1, c1), _mm256_set1_epi32((int32_t)key.k0));
        c2 = _mm256_xor_si256(_mm256_xor_si256(high0, c3), _mm256_set1_epi32((int32_t)key.k1));
        c1 = low1;
        c3 = low0;
        key.k0 += 0x9E3779B9u;
        key.k1 += 0xBB67AE85u;
    }
    _mm256_storeu_si256((__m256i *)(void *)p0, c0);
    _mm256_storeu_si256((__m256i *)(void *)p1, c1);
    _mm256_storeu_si256((__m256i *)(void *)p2, c2);
    _mm256_storeu_si256((__m256i *)(void *)p3, c3);
}

KERNEL static inline void philox_rounds(uint32_t *p0, uint32_t *p1, uint32_t *p2, uint32_t *p3,
                                        gnti_philox_key key)
{
    philox_eight(p0, p1, p2, p3, key);
    philox_eight(p0 + 8, p1 + 8, p2 + 8, p3 + 8, key);
}
#define PHILOX_ROUNDS philox_rounds
