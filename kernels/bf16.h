/* SPDX-License-Identifier: Apache-2.0 */
/* bfloat16: the upper half of a float32; rounding to nearest, ties to even, a NaN stays one. */
#ifndef GNTI_KERNELS_BF16_H
#define GNTI_KERNELS_BF16_H

#include "base/inline.h"

#include <stdint.h>
#include <string.h>

GNTI_INLINE float gnti_bf16_to_float(uint16_t v)
{
    const uint32_t bits = (uint32_t)v << 16;
    float f;

    memcpy(&f, &bits, sizeof f);
    return f;
}

GNTI_INLINE uint16_t gnti_bf16_from_float(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

#endif
