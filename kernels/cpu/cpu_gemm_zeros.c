/* SPDX-License-Identifier: Apache-2.0 */
/* Products that skip zeros, 64 k at a time: see cpu_gemm_zeros.h. 64 rows of a slab of 64 columns of B fit the first cache,
 * as do the bits of 64 rows of A or, where A is read by columns (the gradient of a weight), of 64 of these.
 */
#include "kernels/cpu/cpu_gemm_zeros.h"

#include "base/size.h"

enum { STEP = 64, SAMPLE_ROWS = 24 };

bool cpu_zeros_pay(const cpu_products *level, const float *x, int64_t stride, int64_t rows, int64_t width,
                   int64_t cols)
{
    const int64_t sample = gnti_min_i64(rows, SAMPLE_ROWS), vectors = gnti_ceil_div(cols, 16);
    int64_t found = 0;
    uint64_t bits[SAMPLE_ROWS];

    for (int64_t c = 0; c < width && sample > 0; c += STEP) {
        level->row_bits(x + c, rows / sample * stride, sample, gnti_min_i64(STEP, width - c), bits);
        for (int64_t i = 0; i < sample; i++)
            found += __builtin_popcountll(bits[i]);
    }
    /* finding an element costs about as much as two vectors of work; the rest is measured */
    return 5 * found * (vectors + 2) < 4 * sample * width * vectors;
}

static void run(const cpu_products *level, const cpu_product *q, const uint64_t *bits, bool exact)
{
    if (exact)
        level->picked_exact(q, bits);
    else
        level->picked_fast(q, bits);
}

/* Part of the product: rows [r, r + STEP), k in [k, k + STEP). */
static void run_part(const cpu_products *level, const cpu_product *q, int64_t r, int64_t k, bool exact)
{
    uint64_t bits[STEP];
    cpu_product part = *q;

    part.a = q->a + r * q->row_step + k * q->inner_step;
    part.b = q->b + k * q->b_stride;
    part.c = q->c + r * q->c_stride;
    part.rows = gnti_min_i64(STEP, q->rows - r);
    part.inner = gnti_min_i64(STEP, q->inner - k);
    part.accumulate = q->accumulate || k > 0;
    part.more_b = q->inner_step != 1 && k + 2 * STEP <= q->inner;
    if (q->inner_step == 1)
        level->row_bits(part.a, q->row_step, part.rows, part.inner, bits);
    else
        level->column_bits(part.a, q->inner_step, part.inner, part.rows, bits);
    run(level, &part, bits, exact);
}

void cpu_zeros_product(const cpu_products *level, const cpu_product *q, bool exact)
{
    if (q->inner_step == 1) { /* the rows of c stay close */
        for (int64_t r = 0; r < q->rows; r += STEP)
            for (int64_t k = 0; k < q->inner; k += STEP)
                run_part(level, q, r, k, exact);
        return;
    }
    for (int64_t k = 0; k < q->inner; k += STEP) /* those of B */
        for (int64_t r = 0; r < q->rows; r += STEP)
            run_part(level, q, r, k, exact);
}
