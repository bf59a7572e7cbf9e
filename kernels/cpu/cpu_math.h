/* SPDX-License-Identifier: Apache-2.0 */
/* Elementary functions with one order of operations everywhere: no branch, no fused multiply-add, no library
 * call, so that the compiler may run any number of lanes and every vector level gives the same bits.
 *
 *   exp     x = n log 2 + r, |r| <= log(2)/2, by the magic-number rounding; e^r = 1 + r + r^2 P(r), P of
 * degree 5 (coefficients: Cephes library, S. Moshier); below -87.33 it is 0, above 88.37 infinity expm1 (2^n
 * - 1) + 2^n (r + r^2 P(r)): no cancellation near 0 tanh    odd polynomial (Cephes) up to 0.625, beyond it 1
 * - 2 / (e^2|x| + 1) log1p   for 0 <= t <= 1 by 2 atanh(t / (2 + t)); log of a double by its exponent and the
 * same series Relative errors below 3e-7 (float); NaN in, NaN out.
 */
#ifndef GNTI_KERNELS_CPU_MATH_H
#define GNTI_KERNELS_CPU_MATH_H

#include "base/inline.h"

#include <stdint.h>
#include <string.h>

#define CPU_INLINE GNTI_INLINE_ALWAYS

CPU_INLINE float cpu_bits_float(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, sizeof f);
    return f;
}

CPU_INLINE uint32_t cpu_float_bits(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* 2^n and r + r^2 P(r) of x inside [-87.33, 88.37]. */
CPU_INLINE void cpu_exp_parts(float x, float *scale, float *rest)
{
    const float magic = 12582912.0f; /* 1.5 * 2^23 */
    const float shifted = x * 1.44269504088896341f + magic;
    const float n = shifted - magic;
    const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
    float p = 1.9875691500e-4f;

    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    *rest = r + r * r * p;
    *scale = cpu_bits_float((cpu_float_bits(shifted) - 0x4b400000u + 127u) << 23);
}

CPU_INLINE float cpu_clamp_exp(float x)
{
    const float low = x < -87.33f ? -87.33f : x;

    return low > 88.37f ? 88.37f : low;
}

CPU_INLINE float cpu_exp(float x)
{
    float scale, rest, y;

    cpu_exp_parts(cpu_clamp_exp(x), &scale, &rest);
    y = scale + scale * rest;
    y = x < -87.33f ? 0.0f : y;
    return x > 88.37f ? cpu_bits_float(0x7f800000u) : y;
}

CPU_INLINE float cpu_expm1(float x)
{
    float scale, rest, y;

    cpu_exp_parts(cpu_clamp_exp(x), &scale, &rest);
    y = (scale - 1.0f) + scale * rest;
    return x > 88.37f ? cpu_bits_float(0x7f800000u) : y;
}

CPU_INLINE float cpu_sigmoid(float x)
{
    return 1.0f / (1.0f + cpu_exp(-x));
}

CPU_INLINE float cpu_tanh(float x)
{
    const float a = x < 0.0f ? -x : x, z = x * x;
    const float far = 1.0f - 2.0f / (cpu_exp(a + a) + 1.0f);
    float p = -5.70498872745e-3f;

    p = p * z + 2.06390887954e-2f;
    p = p * z - 5.37397155531e-2f;
    p = p * z + 1.33314422036e-1f;
    p = p * z - 3.33332819422e-1f;
    p = x + x * z * p;
    return a > 0.625f ? (x < 0.0f ? -far : far) : p;
}

/* log(1 + t) for 0 <= t <= 1. */
CPU_INLINE float cpu_log1p_unit(float t)
{
    const float s = t / (2.0f + t), q = s * s;
    float p = 1.0f / 15.0f;

    p = p * q + 1.0f / 13.0f;
    p = p * q + 1.0f / 11.0f;
    p = p * q + 1.0f / 9.0f;
    p = p * q + 1.0f / 7.0f;
    p = p * q + 1.0f / 5.0f;
    p = p * q + 1.0f / 3.0f;
    return 2.0f * (s + s * q * p);
}

/* Natural logarithm of a normal positive double. */
CPU_INLINE double cpu_log(double x)
{
    uint64_t bits;
    double m, s, q, p = 1.0 / 21.0;
    int64_t n;

    memcpy(&bits, &x, sizeof bits);
    n = (int64_t)(bits >> 52) - 1023;
    bits = (bits & 0xfffffffffffffull) | 0x3ff0000000000000ull;
    memcpy(&m, &bits, sizeof m);
    n += m > 1.4142135623730951;
    m = m > 1.4142135623730951 ? 0.5 * m : m;
    s = (m - 1.0) / (m + 1.0);
    q = s * s;
    for (int k = 19; k >= 1; k -= 2)
        p = p * q + 1.0 / (double)k;
    return (double)n * 0.6931471805599453 + 2.0 * s * p;
}

#endif
