/* SPDX-License-Identifier: Apache-2.0 */
/* The part of CUDA C that kernels may use, for a C++ compiler that reads a .cu file: included in front of it.
 *
 * A CUDA thread is a fibre of one CPU thread (hostcuda_kernel.cpp); `__shared__` variables are static thread_local ones, and
 * hold rubbish at the start of each block. Barriers and warp operations carry their line, so that threads that meet at
 * different places are a broken rule. Atomics are plain: no other fibre runs between load and store.
 */
#ifndef GNT_HOSTCUDA_DEVICE_H
#define GNT_HOSTCUDA_DEVICE_H

#include <math.h>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <tuple>
#include <utility>

#include <cuda_runtime.h> /* as nvcc does */
#include <vector_functions.h>
#include <vector_types.h>

#undef __global__
#undef __device__
#undef __host__
#undef __constant__
#undef __shared__
#undef __forceinline__
#undef __noinline__
#undef __launch_bounds__
#undef __restrict__
#define __global__
#define __device__
#define __host__
#define __constant__
#define __shared__      static thread_local
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __restrict__ __restrict

extern __thread uint3 threadIdx, blockIdx, blockDim, gridDim;

namespace hostcuda
{

enum class warp_op { sync, shfl, up, down, flip, ballot };

/* All threads of the block come here; answers how many of them brought a value that is not 0. */
int block_barrier(int value, int line);
/* All lanes of the mask that have not returned come here; answers what the operation gives this lane. */
uint64_t warp_meet(warp_op op, unsigned mask, uint64_t value, int other, int width, int line);
unsigned active_mask();
[[noreturn]] void trap();

cudaError_t launch(const cudaLaunchConfig_t *config, const char *text, const void *kernel,
                   std::function<void()> thread);

template <typename... Wanted, typename... Given>
cudaError_t launch_kernel(const char *text, const cudaLaunchConfig_t *config, void (*kernel)(Wanted...),
                          Given &&...given)
{
    const std::tuple<std::decay_t<Wanted>...> arguments(std::forward<Given>(given)...);
    return launch(config, text, (const void *)kernel, [kernel, arguments] { std::apply(kernel, arguments); });
}

template <typename T> uint64_t to_bits(T value)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "warp operations take values of 4 or 8 bytes");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}

template <typename T> T from_bits(uint64_t bits)
{
    T value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

} // namespace hostcuda

#define cudaLaunchKernelEx(...) hostcuda::launch_kernel(#__VA_ARGS__, __VA_ARGS__)

constexpr int warpSize = 32;

/* ---- barriers, shuffles, votes ---- */
static inline void __syncthreads(int line = __builtin_LINE())
{
    hostcuda::block_barrier(0, line);
}
static inline int __syncthreads_count(int value, int line = __builtin_LINE())
{
    return hostcuda::block_barrier(value != 0, line);
}
static inline int __syncthreads_or(int value, int line = __builtin_LINE())
{
    return hostcuda::block_barrier(value != 0, line) != 0;
}
static inline int __syncthreads_and(int value, int line = __builtin_LINE())
{
    return hostcuda::block_barrier(value == 0, line) == 0;
}
static inline void __syncwarp(unsigned mask = 0xffffffffU, int line = __builtin_LINE())
{
    hostcuda::warp_meet(hostcuda::warp_op::sync, mask, 0, 0, 32, line);
}
template <typename T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, int line = __builtin_LINE())
{
    using namespace hostcuda;
    return from_bits<T>(warp_meet(warp_op::shfl, mask, to_bits(value), source, width, line));
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32, int line = __builtin_LINE())
{
    using namespace hostcuda;
    return from_bits<T>(warp_meet(warp_op::up, mask, to_bits(value), (int)by, width, line));
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32, int line = __builtin_LINE())
{
    using namespace hostcuda;
    return from_bits<T>(warp_meet(warp_op::down, mask, to_bits(value), (int)by, width, line));
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int by, int width = 32, int line = __builtin_LINE())
{
    using namespace hostcuda;
    return from_bits<T>(warp_meet(warp_op::flip, mask, to_bits(value), by, width, line));
}
static inline unsigned __ballot_sync(unsigned mask, int value, int line = __builtin_LINE())
{
    return (unsigned)hostcuda::warp_meet(hostcuda::warp_op::ballot, mask, value != 0, 0, 32, line);
}
static inline int __any_sync(unsigned mask, int value, int line = __builtin_LINE())
{
    return __ballot_sync(mask, value, line) != 0;
}
static inline int __all_sync(unsigned mask, int value, int line = __builtin_LINE())
{
    return __ballot_sync(mask, value == 0, line) == 0;
}
static inline unsigned __activemask()
{
    return hostcuda::active_mask();
}
static inline void __threadfence()
{
}
static inline void __threadfence_block()
{
}
static inline void __threadfence_system()
{
}
[[noreturn]] static inline void __trap()
{
    hostcuda::trap();
}

#include "tests/hostcuda/hostcuda_intrinsics.h"

#endif
