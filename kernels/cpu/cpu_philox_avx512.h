/* SPDX-License-Identifier: Apache-2.0 */
/* Philox on 16 counters for AVX-512, by hand: compilers do not find the 32 x 32 bit products of even and odd lanes. Included
 * by the level's files only, behind KERNEL. */
#include <immintrin.h>

/* Counters in the low halves of 64-bit lanes: what is above them is never read. */
typedef struct philox_counters {
    __m512i c0, c1, c2, c3;
} philox_counters;

KERNEL static inline void philox_round(philox_counters *c, __m512i k0, __m512i k1)
{
    const __m512i m0 = _mm512_set1_epi64(0xD2511F53), m1 = _mm512_set1_epi64(0xCD9E8D57);
    const __m512i p0 = _mm512_mul_epu32(c->c0, m0), p1 = _mm512_mul_epu32(c->c2, m1);

    c->c0 = _mm512_ternarylogic_epi32(_mm512_srli_epi64(p1, 32), c->c1, k0, 0x96); /* xor of the three */
    c->c2 = _mm512_ternarylogic_epi32(_mm512_srli_epi64(p0, 32), c->c3, k1, 0x96);
    c->c1 = p1;
    c->c3 = p0;
}

KERNEL static inline __m512i philox_odd(__m512i v)
{
    return _mm512_srli_epi64(v, 32);
}

KERNEL static inline __m512i philox_merge(__m512i even, __m512i odd)
{
    return _mm512_mask_blend_epi32(0xAAAA, even, _mm512_slli_epi64(odd, 32));
}

KERNEL static inline void philox_rounds(uint32_t *p0, uint32_t *p1, uint32_t *p2, uint32_t *p3,
                                        gnti_philox_key key)
{
    philox_counters even = { _mm512_loadu_si512(p0), _mm512_loadu_si512(p1), _mm512_loadu_si512(p2),
                             _mm512_loadu_si512(p3) };
    philox_counters odd = { philox_odd(even.c0), philox_odd(even.c1), philox_odd(even.c2),
                            philox_odd(even.c3) };

    for (int round = 0; round < 10; round++) {
        const __m512i k0 = _mm512_set1_epi32((int32_t)key.k0), k1 = _mm512_set1_epi32((int32_t)key.k1);

        philox_round(&even, k0, k1);
        philox_round(&odd, k0, k1);
        key.k0 += 0x9E3779B9u;
        key.k1 += 0xBB67AE85u;
    }
    _mm512_storeu_si512(p0, philox_merge(even.c0, odd.c0));
    _mm512_storeu_si512(p1, philox_merge(even.c1, odd.c1));
    _mm512_storeu_si512(p2, philox_merge(even.c2, odd.c2));
    _mm512_storeu_si512(p3, philox_merge(even.c3, odd.c3));
}

/* Four words of each of 16 counters side by side: 4 x 4 squares within 128 bits, then these in order. */
KERNEL static inline void put_words(const uint32_t *p0, const uint32_t *p1, const uint32_t *p2,
                                    const uint32_t *p3, uint32_t *out)
{
    const __m512i a = _mm512_loadu_si512(p0), b = _mm512_loadu_si512(p1);
    const __m512i c = _mm512_loadu_si512(p2), d = _mm512_loadu_si512(p3);
    const __m512i ab0 = _mm512_unpacklo_epi32(a, b), ab1 = _mm512_unpackhi_epi32(a, b);
    const __m512i cd0 = _mm512_unpacklo_epi32(c, d), cd1 = _mm512_unpackhi_epi32(c, d);
    const __m512i q0 = _mm512_unpacklo_epi64(ab0, cd0), q1 = _mm512_unpackhi_epi64(ab0, cd0);
    const __m512i q2 = _mm512_unpacklo_epi64(ab1, cd1), q3 = _mm512_unpackhi_epi64(ab1, cd1);
    const __m512i r0 = _mm512_shuffle_i32x4(q0, q1, 0x44), r1 = _mm512_shuffle_i32x4(q2, q3, 0x44);
    const __m512i r2 = _mm512_shuffle_i32x4(q0, q1, 0xEE), r3 = _mm512_shuffle_i32x4(q2, q3, 0xEE);

    _mm512_storeu_si512(out, _mm512_shuffle_i32x4(r0, r1, 0x88));
    _mm512_storeu_si512(out + 16, _mm512_shuffle_i32x4(r0, r1, 0xDD));
    _mm512_storeu_si512(out + 32, _mm512_shuffle_i32x4(r2, r3, 0x88));
    _mm512_storeu_si512(out + 48, _mm512_shuffle_i32x4(r2, r3, 0xDD));
}
#define PHILOX_ROUNDS philox_rounds
#define PUT_WORDS     put_words
