/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of attention for any processor: eight lanes are two vectors of four. */
#include "kernels/cpu/cpu_attend.h"

#include "kernels/cpu/cpu_vector_portable.h"

typedef struct eight {
    V low, high;
} V8;
#define LOAD8(p)     ((V8){ load(p), load((p) + 4) })
#define LOAD8M(n, p) load_eight((n), (p))
#define MUL8(a, b)   mul_eight((a), (b))
#define ADD8(a, b)   add_eight((a), (b))
#define SUM8(v)      sum_eight(v)

static inline V8 load_eight(int64_t n, const float *p)
{
    float v[8] = { 0.0f };

    for (int64_t i = 0; i < n; i++)
        v[i] = p[i];
    return LOAD8(v);
}

static inline V8 mul_eight(V8 a, V8 b)
{
    return (V8){ a.low * b.low, a.high * b.high };
}

static inline V8 add_eight(V8 a, V8 b)
{
    return (V8){ a.low + b.low, a.high + b.high };
}

static inline float sum_eight(V8 v)
{
    const V four = v.low + v.high;

    return (four[0] + four[2]) + (four[1] + four[3]);
}

#include "kernels/cpu/cpu_attend_kernel.h"

const cpu_attend_kernels cpu_attend_kernels_portable = { ATTEND_TABLE };
