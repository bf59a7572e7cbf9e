/* SPDX-License-Identifier: Apache-2.0 */
/* Philox on 16 counters for AVX-512, by hand: compilers do not find the 32 x 32 bit products of even and odd lanes. Included
 * by the level's files only, behind KERNEL. */
#include <immintrin.h>

/* High and low halves of m c. */
KERNEL static inline void philox_multiply(__m512i c, __m512i m, __m512i *high, __m512i *low)
{
    const __m512i even = _mm512_mul_epu32(c, m), odd = _mm512_mul_epu32(_mm512_srli_epi64(c, 32), m);

    *high = _mm512_mask_blend_epi32(0xAAAA, _mm512_srli_epi64(even, 32), odd);
    *low = _mm512_mask_blend_epi32(0xAAAA, even, _mm512_slli_epi64(odd, 32));
}

KERNEL static inline void philox_rounds(uint32_t *p0, uint32_t *p1, uint32_t *p2, uint32_t *p3,
                                        gnti_philox_key key)
{
    const __m512i m0 = _mm512_set1_epi32((int32_t)0xD2511F53u), m1 = _mm512_set1_epi32((int32_t)0xCD9E8D57u);
    __m512i c0 = _mm512_loadu_si512(p0), c1 = _mm512_loadu_si512(p1);
    __m512i c2 = _mm512_loadu_si512(p2), c3 = _mm512_loadu_si512(p3);

    for (int round = 0; round < 10; round++) {
        __m512i high0, low0, high1, low1;

        philox_multiply(c0, m0, &high0, &low0);
        philox_multiply(c2, m1, &high1, &low1);
        c0 = _mm512_xor_si512(_mm512_xor_si512(high1, c1), _mm512_set1_epi32((int32_t)key.k0));
        c2 = _mm512_xor_si512(_mm512_xor_si512(high0, c3), _mm512_set1_epi32((int32_t)key.k1));
        c1 = low1;
        c3 = low0;
        key.k0 += 0x9E3779B9u;
        key.k1 += 0xBB67AE85u;
    }
    _mm512_storeu_si512(p0, c0);
    _mm512_storeu_si512(p1, c1);
    _mm512_storeu_si512(p2, c2);
    _mm512_storeu_si512(p3, c3);
}
#define PHILOX_ROUNDS philox_rounds
