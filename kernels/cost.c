/* SPDX-License-Identifier: Apache-2.0 */
/* The cost model of ops: a roofline of two lines, cache and memory (formulas in cost.h).
 *
 * The share of gathers that miss the cache is 1 - cache / (n d s), for random neighbours: a row is found
 * close with the probability that it is among those kept. Real graphs have hubs and communities, so this is
 * an upper bound.
 */
#include "kernels/cost.h"

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Starting values: per thread of a server core near 2.6 GHz; memory is shared by all threads. Measured on two
 * virtual cores with AVX-512 (docs/performance.md); only ratios matter to the passes. */
gnti_cost_device gnti_cost_device_default(int32_t num_threads)
{
    const double threads = num_threads > 0 ? num_threads : 1;
    const double memory_threads = threads < 8.0 ? threads : 8.0;

    return (gnti_cost_device){ .gemm_flops = 40e9 * threads,
                               .vector_flops = 10e9 * threads,
                               .memory_bytes = 10e9 * memory_threads,
                               .cache_bytes_rate = 25e9 * threads,
                               .cache_bytes = 16e6,
                               .call_seconds = 5e-6 };
}

static gnti_cost with_seconds(const gnti_cost_device *dev, double flops, double rate, double near_bytes,
                              double far_bytes)
{
    const double work = flops / rate;
    const double traffic = near_bytes / dev->cache_bytes_rate + far_bytes / dev->memory_bytes;

    return (gnti_cost){ .flops = flops,
                        .bytes = near_bytes + far_bytes,
                        .seconds = larger(work, traffic) + dev->call_seconds };
}

gnti_cost gnti_cost_spmm(const gnti_cost_device *dev, int64_t num_rows, int64_t num_cols, int64_t num_arcs,
                         int64_t width, bool weighted, size_t element_bytes)
{
    const double m = (double)num_arcs, d = (double)width, s = (double)element_bytes;
    const double operand = (double)num_cols * d * s;
    const double miss = operand <= dev->cache_bytes ? 0.0 : 1.0 - dev->cache_bytes / operand;
    const double gathered = m * d * s;

    return with_seconds(dev, (weighted ? 2.0 : 1.0) * m * d, dev->vector_flops, gathered * (1.0 - miss),
                        gathered * miss + m * (weighted ? 8.0 : 4.0) + (double)(num_rows + num_cols) * d * s);
}

gnti_cost gnti_cost_gemm(const gnti_cost_device *dev, int64_t rows, int64_t inner, int64_t cols,
                         size_t element_bytes)
{
    const double n = (double)rows, k = (double)inner, d = (double)cols, s = (double)element_bytes;

    return with_seconds(dev, 2.0 * n * k * d, dev->gemm_flops, 0.0, s * (n * k + k * d + n * d));
}

gnti_cost gnti_cost_product(const gnti_cost_device *dev, double multiplications, double values)
{
    return with_seconds(dev, 2.0 * multiplications, dev->gemm_flops, 0.0, sizeof(float) * values);
}

gnti_cost gnti_cost_map(const gnti_cost_device *dev, int64_t rows, int64_t width, int32_t num_inputs,
                        size_t element_bytes)
{
    const double values = (double)rows * (double)width;

    return with_seconds(dev, values, dev->vector_flops, 0.0,
                        (double)element_bytes * values * (num_inputs + 1));
}

gnti_cost gnti_cost_each(const gnti_cost_device *dev, gnti_op_kind kind, double values)
{
    static const struct {
        double flops, bytes;
    } each[GNTI_OP_NUM_KINDS] = {
        [GNTI_OP_NORM] = { 8.0, 12.0 },  [GNTI_OP_MAP] = { 1.0, 8.0 },  [GNTI_OP_REDUCE] = { 1.0, 4.0 },
        [GNTI_OP_GATHER] = { 0.0, 8.0 }, [GNTI_OP_LOSS] = { 8.0, 8.0 }, [GNTI_OP_OPTIMIZER] = { 12.0, 28.0 }
    };

    return with_seconds(dev, each[kind].flops * values, dev->vector_flops, 0.0, each[kind].bytes * values);
}

size_t gnti_cost_blocks_bytes(int64_t num_rows, int64_t num_cols, int64_t num_arcs)
{
    const int64_t blocks = (num_cols + GNTI_BLOCK_SOURCES - 1) / GNTI_BLOCK_SOURCES;

    if (num_rows == 0 || num_arcs / num_rows / GNTI_BLOCK_ENTRIES < blocks)
        return 0;
    return sizeof(uint16_t) * (size_t)(num_arcs + 2 * blocks * num_rows);
}

gnti_cost gnti_cost_attend(const gnti_cost_device *dev, int64_t num_rows, int64_t num_cols, int64_t num_arcs,
                           int64_t width, int64_t heads, bool backward)
{
    const double m = (double)(num_arcs + num_rows), s = sizeof(float);
    const double d = (double)width, scores = (double)(backward ? 4 * heads : heads);
    const double operand = (double)num_cols * (d + scores) * s, gathered = m * (d + scores) * s;
    const double miss = operand <= dev->cache_bytes ? 0.0 : 1.0 - dev->cache_bytes / operand;

    return with_seconds(dev, m * ((backward ? 4.0 : 2.0) * d + 20.0 * (double)heads), dev->vector_flops,
                        gathered * (1.0 - miss), gathered * miss + m * 4.0 + 2.0 * (double)num_rows * d * s);
}
