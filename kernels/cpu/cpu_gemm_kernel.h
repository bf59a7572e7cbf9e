/* SPDX-License-Identifier: Apache-2.0 */
/* Dense products of a block, written once for all vector levels: c (rows x cols) = or += A B,
 *   A(r, k) = a[r * row_step + k * inner_step],  B(k, j) = b[k * b_stride + j] within a panel of 2 vectors of columns,
 * panels panel_stride floats apart. Sums run over k in order, in registers: TILE_ROWS x 2 vectors at a time, so A needs no
 * packing (its elements are broadcast) and B only when it is transposed. `exact` multiplies, then adds: the same bits at
 * every level; else fused multiply-add where the level has it.
 *
 * A level's file defines KERNEL, V, VF, MASK, V_ZERO, V_SET1, V_LOAD, V_STORE, V_ADD, V_MUL, V_MASK, V_LOADM, V_STOREM as
 * for cpu_spmm_kernel.h, V_FMA(a, b, c) = a b + c and TILE_ROWS (with 2 vectors each they must fit the registers), then
 * includes this.
 */
#include "kernels/cpu/cpu_kernels.h"

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

enum { TILE_VECTORS = 2, PANEL = TILE_VECTORS * VF };

KERNEL INLINE void tile(const cpu_product *q, int64_t row, int64_t column, const float *b, int rows,
                        int vectors, int tail, MASK mask, int exact)
{
    const float *a = q->a + row * q->row_step;
    float *c = q->c + row * q->c_stride + column;
    V sum[TILE_ROWS][TILE_VECTORS];

    UNROLL
    for (int r = 0; r < rows; r++) {
        UNROLL
        for (int v = 0; v < vectors; v++) {
            const float *p = c + r * q->c_stride + v * VF;

            if (!q->accumulate)
                sum[r][v] = V_ZERO;
            else if (tail && v == vectors - 1)
                sum[r][v] = V_LOADM(mask, p);
            else
                sum[r][v] = V_LOAD(p);
        }
    }
    for (int64_t k = 0; k < q->inner; k++, a += q->inner_step, b += q->b_stride) {
        V right[TILE_VECTORS];

        UNROLL
        for (int v = 0; v < vectors; v++)
            right[v] = tail && v == vectors - 1 ? V_LOADM(mask, b + v * VF) : V_LOAD(b + v * VF);
        UNROLL
        for (int r = 0; r < rows; r++) {
            const V left = V_SET1(a[r * q->row_step]);

            UNROLL
            for (int v = 0; v < vectors; v++)
                sum[r][v] =
                    exact ? V_ADD(sum[r][v], V_MUL(left, right[v])) : V_FMA(left, right[v], sum[r][v]);
        }
    }
    UNROLL
    for (int r = 0; r < rows; r++) {
        UNROLL
        for (int v = 0; v < vectors; v++) {
            float *p = c + r * q->c_stride + v * VF;

            if (tail && v == vectors - 1)
                V_STOREM(mask, p, sum[r][v]);
            else
                V_STORE(p, sum[r][v]);
        }
    }
}

/* The rows of A that the next tile reads, while this one computes. */
KERNEL INLINE void prefetch_rows(const cpu_product *q, int64_t row)
{
    const float *a = q->a + row * q->row_step;

    if (q->inner_step != 1 || row + TILE_ROWS > q->rows)
        return;
    for (int r = 0; r < TILE_ROWS; r++)
        for (int64_t k = 0; k < q->inner; k += 16)
            __builtin_prefetch(a + r * q->row_step + k, 0, 3);
}

/* All rows of one panel of columns. */
KERNEL INLINE void panel(const cpu_product *q, int64_t column, const float *b, int vectors, int tail,
                         MASK mask, int exact)
{
    int64_t r = 0;

    for (; r + TILE_ROWS <= q->rows; r += TILE_ROWS) {
        if (column == 0)
            prefetch_rows(q, r + TILE_ROWS);
        tile(q, r, column, b, TILE_ROWS, vectors, tail, mask, exact);
    }
    for (; r + TILE_ROWS / 3 <= q->rows; r += TILE_ROWS / 3)
        tile(q, r, column, b, TILE_ROWS / 3, vectors, tail, mask, exact);
    for (; r < q->rows; r++)
        tile(q, r, column, b, 1, vectors, tail, mask, exact);
}

KERNEL INLINE void all_panels(const cpu_product *q, int exact)
{
    const float *b = q->b;

    for (int64_t column = 0; column < q->cols; column += PANEL, b += q->panel_stride) {
        const int64_t n = q->cols - column;
        const MASK full = V_MASK(VF);

        if (n >= PANEL)
            panel(q, column, b, 2, 0, full, exact);
        else if (n > VF)
            panel(q, column, b, 2, 1, V_MASK(n - VF), exact);
        else if (n == VF)
            panel(q, column, b, 1, 0, full, exact);
        else
            panel(q, column, b, 1, 1, V_MASK(n), exact);
    }
}

KERNEL static void product_exact(const cpu_product *q)
{
    all_panels(q, 1);
}

KERNEL static void product_fast(const cpu_product *q)
{
    all_panels(q, 0);
}
