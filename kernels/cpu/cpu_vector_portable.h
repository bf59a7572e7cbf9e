/* SPDX-License-Identifier: Apache-2.0 */
/* The vector words of kernels for any processor: vectors of 4 floats as the compiler makes them (SSE2, NEON), tails lane
 * by lane, no fused multiply-add. Included by the level's files only. */
#include <stdint.h>
#include <string.h>

#define KERNEL
#define VF 4
typedef float V __attribute__((vector_size(16)));
typedef int64_t MASK;
#define V_ZERO            ((V){ 0.0f, 0.0f, 0.0f, 0.0f })
#define V_SET1(s)         set1(s)
#define V_LOAD(p)         load(p)
#define V_STORE(p, v)     store((p), (v))
#define V_ADD(a, b)       ((a) + (b))
#define V_MUL(a, b)       ((a) * (b))
#define V_FMA(a, b, c)    ((a) * (b) + (c))
#define V_NONZERO(v)      nonzero(v)
#define V_MASK(n)         (n)
#define V_LOADM(m, p)     load_first((m), (p))
#define V_STOREM(m, p, v) store_first((m), (p), (v))

static inline V set1(float s)
{
    return (V){ s, s, s, s };
}

static inline V load(const float *p)
{
    V v;

    memcpy(&v, p, sizeof v);
    return v;
}

static inline void store(float *p, V v)
{
    memcpy(p, &v, sizeof v);
}

static inline V load_first(int64_t n, const float *p)
{
    return (V){ p[0], n > 1 ? p[1] : 0.0f, n > 2 ? p[2] : 0.0f, n > 3 ? p[3] : 0.0f };
}

static inline void store_first(int64_t n, float *p, V v)
{
    for (int64_t i = 0; i < n; i++)
        p[i] = v[i];
}

static inline uint32_t nonzero(V v)
{
    return (uint32_t)(v[0] != 0.0f) | (uint32_t)(v[1] != 0.0f) << 1 | (uint32_t)(v[2] != 0.0f) << 2 |
           (uint32_t)(v[3] != 0.0f) << 3;
}
