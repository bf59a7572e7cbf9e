/* SPDX-License-Identifier: Apache-2.0 */
/* What an op costs: floating-point operations, bytes of memory traffic and predicted seconds. Read by the
 * planner's passes, by explain, by estimate and by placement; the other half, of messages, is dist/link_cost.h.
 *
 *   spmm   flops = 2 m d (weighted), m d (not); bytes = m (4 [+ 4 weighted]) + m d s miss + 2 n d s
 *   gemm   flops = 2 n k d;                     bytes = s (n k + k d + n d)
 *   attend flops = m (2 d + 20 H) forward, m (4 d + 20 H) a pass of its gradient, H heads; bytes as spmm of width d + H
 *   map    flops = n d;                         bytes = s n d (inputs + 1)
 *   others so many flops and bytes a value, by kind (gnti_cost_each)
 * m arcs, n rows, d = members * width, s bytes of an element; miss is the share of gathered rows that come
 * from memory: 0 when x fits into the cache, near 1 far beyond it. seconds = max(flops / rate, bytes /
 * bandwidth).
 */
#ifndef GNTI_KERNELS_COST_H
#define GNTI_KERNELS_COST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/args.h"

/* A device's rates; gnti_cost_device_default gives those of an ordinary machine with so many threads. */
typedef struct gnti_cost_device {
    double gemm_flops, vector_flops;       /* per second */
    double memory_bytes, cache_bytes_rate; /* per second, from memory and from cache */
    double cache_bytes;                    /* size of what stays close */
    double call_seconds;                   /* to start an op */
} gnti_cost_device;

typedef struct gnti_cost {
    double flops, bytes, seconds;
} gnti_cost;

gnti_cost_device gnti_cost_device_default(int32_t num_threads);

gnti_cost gnti_cost_spmm(const gnti_cost_device *dev, int64_t num_rows, int64_t num_cols, int64_t num_arcs,
                         int64_t width, bool weighted, size_t element_bytes);
gnti_cost gnti_cost_gemm(const gnti_cost_device *dev, int64_t rows, int64_t inner, int64_t cols,
                         size_t element_bytes);
/* A dense product of which only so much is known: multiplications, and values of both factors and the result. */
gnti_cost gnti_cost_product(const gnti_cost_device *dev, double multiplications, double values);
gnti_cost gnti_cost_map(const gnti_cost_device *dev, int64_t rows, int64_t width, int32_t num_inputs,
                        size_t element_bytes);

/* What a stream's counters charge for values that an op of this kind goes over, GEMM, SPMM and ATTEND aside. */
gnti_cost gnti_cost_each(const gnti_cost_device *dev, gnti_op_kind kind, double values);

/* Dense graphs get a second layout of their arcs, by blocks of so many sources (cpu/cpu_spmm_blocks.c): its bytes, 0 where a
 * row has too few entries in a block for it to pay. */
enum { GNTI_BLOCK_SOURCES = 5120, GNTI_BLOCK_ENTRIES = 16 };
size_t gnti_cost_blocks_bytes(int64_t num_rows, int64_t num_cols, int64_t num_arcs);

/* width and heads: of all members together. */
gnti_cost gnti_cost_attend(const gnti_cost_device *dev, int64_t num_rows, int64_t num_cols, int64_t num_arcs,
                           int64_t width, int64_t heads, bool backward);

#endif
