/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic that CUDA C has and C++ has not, for hostcuda_device.h: atomics, loads, rounded operations, bits. The types are
 * those that nvcc knows too, so that what compiles here compiles there.
 */
#ifndef GNT_HOSTCUDA_INTRINSICS_H
#define GNT_HOSTCUDA_INTRINSICS_H

#define HOSTCUDA_ATOMIC(name, type, expression)                                                              \
    static inline type name(type *address, type value)                                                       \
    {                                                                                                        \
        const type old = *address;                                                                           \
        *address = (type)(expression);                                                                       \
        return old;                                                                                          \
    }
#define HOSTCUDA_INTEGER_ATOMICS(type)                                                                       \
    HOSTCUDA_ATOMIC(atomicExch, type, value)                                                                 \
    HOSTCUDA_ATOMIC(atomicMax, type, old > value ? old : value)                                              \
    HOSTCUDA_ATOMIC(atomicMin, type, old < value ? old : value)                                              \
    HOSTCUDA_ATOMIC(atomicAnd, type, old &value)                                                             \
    HOSTCUDA_ATOMIC(atomicOr, type, old | value)                                                             \
    HOSTCUDA_ATOMIC(atomicXor, type, old ^ value)                                                            \
    static inline type atomicCAS(type *address, type wanted, type value)                                     \
    {                                                                                                        \
        const type old = *address;                                                                           \
        if (old == wanted)                                                                                   \
            *address = value;                                                                                \
        return old;                                                                                          \
    }
HOSTCUDA_INTEGER_ATOMICS(int)
HOSTCUDA_INTEGER_ATOMICS(unsigned)
HOSTCUDA_INTEGER_ATOMICS(unsigned long long)
HOSTCUDA_ATOMIC(atomicAdd, int, (unsigned)old + (unsigned)value)
HOSTCUDA_ATOMIC(atomicAdd, unsigned, old + value)
HOSTCUDA_ATOMIC(atomicAdd, unsigned long long, old + value)
HOSTCUDA_ATOMIC(atomicAdd, float, old + value)
HOSTCUDA_ATOMIC(atomicAdd, double, old + value)
HOSTCUDA_ATOMIC(atomicSub, int, (unsigned)old - (unsigned)value)
HOSTCUDA_ATOMIC(atomicSub, unsigned, old - value)
HOSTCUDA_ATOMIC(atomicExch, float, value)
HOSTCUDA_ATOMIC(atomicMax, long long, old > value ? old : value)
HOSTCUDA_ATOMIC(atomicMin, long long, old < value ? old : value)
#undef HOSTCUDA_INTEGER_ATOMICS
#undef HOSTCUDA_ATOMIC

/* ---- loads and stores with a hint ---- */
template <typename T> T __ldg(const T *address)
{
    return *address;
}
template <typename T> T __ldcs(const T *address)
{
    return *address;
}
template <typename T> T __ldcg(const T *address)
{
    return *address;
}
template <typename T> void __stcs(T *address, T value)
{
    *address = value;
}

/* ---- floats; the files are compiled without contraction, so each operation rounds once ---- */
static inline float __fmaf_rn(float a, float b, float c)
{
    return fmaf(a, b, c);
}
static inline float __fadd_rn(float a, float b)
{
    return a + b;
}
static inline float __fsub_rn(float a, float b)
{
    return a - b;
}
static inline float __fmul_rn(float a, float b)
{
    return a * b;
}
static inline float __fdiv_rn(float a, float b)
{
    return a / b;
}
static inline float __fsqrt_rn(float a)
{
    return sqrtf(a);
}
static inline float __frcp_rn(float a)
{
    return 1.0F / a;
}
static inline double __dadd_rn(double a, double b)
{
    return a + b;
}
static inline double __dmul_rn(double a, double b)
{
    return a * b;
}
static inline float rsqrtf(float a)
{
    return 1.0F / sqrtf(a);
}
#define __expf(a) expf(a) /* names that the C library has taken */
#define __logf(a) logf(a)
static inline float __fdividef(float a, float b)
{
    return a / b;
}
static inline float __int2float_rn(int a)
{
    return (float)a;
}
static inline float __uint2float_rn(unsigned a)
{
    return (float)a;
}
static inline float __saturatef(float a)
{
    return a > 0.0F ? (a < 1.0F ? a : 1.0F) : 0.0F;
}

/* ---- bits ---- */
static inline int __float_as_int(float a)
{
    return hostcuda::from_bits<int>(hostcuda::to_bits(a));
}
static inline unsigned __float_as_uint(float a)
{
    return hostcuda::from_bits<unsigned>(hostcuda::to_bits(a));
}
static inline float __int_as_float(int a)
{
    return hostcuda::from_bits<float>(hostcuda::to_bits(a));
}
static inline float __uint_as_float(unsigned a)
{
    return hostcuda::from_bits<float>(hostcuda::to_bits(a));
}
static inline long long __double_as_longlong(double a)
{
    return hostcuda::from_bits<long long>(hostcuda::to_bits(a));
}
static inline double __longlong_as_double(long long a)
{
    return hostcuda::from_bits<double>(hostcuda::to_bits(a));
}
static inline unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned)(((uint64_t)a * b) >> 32);
}
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
static inline int __popc(unsigned a)
{
    return __builtin_popcount(a);
}
static inline int __popcll(unsigned long long a)
{
    return __builtin_popcountll(a);
}
static inline int __clz(int a)
{
    return a == 0 ? 32 : __builtin_clz((unsigned)a);
}
static inline int __clzll(long long a)
{
    return a == 0 ? 64 : __builtin_clzll((unsigned long long)a);
}
static inline int __ffs(int a)
{
    return __builtin_ffs(a);
}

/* ---- the smaller and the larger, of two values of one type ---- */
#define HOSTCUDA_MIN_MAX(type)                                                                               \
    static inline type min(type a, type b)                                                                   \
    {                                                                                                        \
        return b < a ? b : a;                                                                                \
    }                                                                                                        \
    static inline type max(type a, type b)                                                                   \
    {                                                                                                        \
        return a < b ? b : a;                                                                                \
    }
HOSTCUDA_MIN_MAX(int)
HOSTCUDA_MIN_MAX(unsigned)
HOSTCUDA_MIN_MAX(long)
HOSTCUDA_MIN_MAX(unsigned long)
HOSTCUDA_MIN_MAX(long long)
HOSTCUDA_MIN_MAX(unsigned long long)
#undef HOSTCUDA_MIN_MAX
static inline float min(float a, float b)
{
    return fminf(a, b);
}
static inline float max(float a, float b)
{
    return fmaxf(a, b);
}
static inline double min(double a, double b)
{
    return fmin(a, b);
}
static inline double max(double a, double b)
{
    return fmax(a, b);
}

#endif
