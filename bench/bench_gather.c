/* SPDX-License-Identifier: Apache-2.0 */
/* The yardstick of sparse products: how fast rows of `width` floats can be read in random order and summed
 * up.
 *
 *   bench_gather [--rows N] [--width K] [--threads T] [--huge 0|1] [--count C] [--repeats R]
 *
 * A table of N x K floats, C row numbers that a shift-register generator draws with equal chances, T threads;
 * each adds its rows into one accumulator. Nothing is written, the row numbers are read in order. --huge 1
 * asks for 2 MiB pages. A sparse product with C entries of a matrix with N columns cannot do less, unless its
 * columns come again while still in a cache.
 */
#include "bench/harness.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { WIDEST = 1024, PAGE_BYTES = 2 << 20 };

typedef struct gather {
    int64_t rows, width, count;
    int threads;
    float *table;   /* (rows, width) */
    uint32_t *wish; /* (count) */
    float sink;
} gather;

static void *get_pages(size_t bytes, bool huge)
{
    const size_t whole = (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    void *block = aligned_alloc(PAGE_BYTES, whole);

    if (block != NULL)
        (void)madvise(block, whole, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    return block;
}

/* The widest vectors this machine has, chosen when the program is loaded. */
__attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3"))) static void
add_rows(const float *table, const uint32_t *wish, int64_t count, int64_t width, float *restrict sum)
{
    for (int64_t i = 0; i < count; i++) {
        const float *row = table + (int64_t)wish[i] * width;

        for (int64_t c = 0; c < width; c++)
            sum[c] += row[c];
    }
}

static bool gather_once(void *state)
{
    gather *g = state;
    float total = 0;

#pragma omp parallel num_threads(g->threads) reduction(+ : total)
    {
        const int64_t parts = omp_get_num_threads(), part = omp_get_thread_num();
        const int64_t first = g->count * part / parts, end = g->count * (part + 1) / parts;
        float sum[WIDEST] = { 0 };

        add_rows(g->table, g->wish + first, end - first, g->width, sum);
        total += sum[0];
    }
    g->sink += total;
    return true;
}

static bool fill(gather *g, bool huge)
{
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15);

    g->table = get_pages((size_t)(g->rows * g->width) * sizeof *g->table, huge);
    g->wish = get_pages((size_t)g->count * sizeof *g->wish, huge);
    if (g->table == NULL || g->wish == NULL)
        return false;
#pragma omp parallel for num_threads(g->threads) schedule(static)
    for (int64_t i = 0; i < g->rows * g->width; i++)
        g->table[i] = (float)(i & 7) - 3.5f;
    for (int64_t i = 0; i < g->count; i++) {
        state ^= state << 7;
        state ^= state >> 9;
        g->wish[i] = (uint32_t)((state >> 32) * (uint64_t)g->rows >> 32);
    }
    return true;
}

int main(int argc, char **argv)
{
    gather g = {
        .rows = bench_option(argc, argv, "rows", 170000, 1, UINT32_MAX),
        .width = bench_option(argc, argv, "width", 64, 1, WIDEST),
        .count = bench_option(argc, argv, "count", 2000000, 1, INT32_MAX),
        .threads = (int)bench_option(argc, argv, "threads", 2, 1, 1024),
    };
    const bool huge = bench_option(argc, argv, "huge", 1, 0, 1) != 0;
    const int32_t repeats = (int32_t)bench_option(argc, argv, "repeats", 7, 1, BENCH_MAX_REPEATS);
    bench_times times;
    int status = 1;

    if (!fill(&g, huge)) {
        fprintf(stderr, "no memory for %lld rows of %lld floats\n", (long long)g.rows, (long long)g.width);
    } else if (bench_repeat(gather_once, &g, repeats, &times)) {
        printf("{\"rows\": %lld, \"width\": %lld, \"threads\": %d, \"huge\": %d, ", (long long)g.rows,
               (long long)g.width, g.threads, (int)huge);
        bench_print_times(&times);
        printf(", \"gbs\": %.3f, \"sink\": %g}\n", 4e-9 * (double)(g.count * g.width) / times.median,
               (double)g.sink);
        status = 0;
    }
    free(g.table);
    free(g.wish);
    return status;
}
