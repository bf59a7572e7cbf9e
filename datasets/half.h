/* SPDX-License-Identifier: Apache-2.0 */
/* 16-bit floats as stored in files: IEEE half and bfloat16 to float32, exact. */
#ifndef GNTI_DATASETS_HALF_H
#define GNTI_DATASETS_HALF_H

#include <stdint.h>
#include <string.h>

static inline float gnti_bits_to_float(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline float gnti_bf16_to_float(uint16_t h)
{
    return gnti_bits_to_float((uint32_t)h << 16);
}

static inline float gnti_f16_to_float(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = h >> 10 & 0x1fu, mantissa = h & 0x3ffu;

    if (exponent == 0) { /* zero or subnormal: mantissa * 2^-24 */
        const float f = (float)mantissa * 0x1p-24f;

        return sign != 0 ? -f : f;
    }
    if (exponent == 31)
        return gnti_bits_to_float(sign | 0x7f800000u | mantissa << 13);
    return gnti_bits_to_float(sign | (exponent + 112) << 23 | mantissa << 13);
}

#endif
