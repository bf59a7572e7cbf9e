/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle's matrix product: three loops a member, sums in double. */
#include "kernels/cpu/ref.h"

static double dot(const gnt_gemm_args *a, int64_t m, int64_t r, int64_t c, int64_t inner)
{
    double sum = 0.0;

    for (int64_t k = 0; k < inner; k++) {
        const double left = a->trans_a ? ref_get(&a->a, k, m, r) : ref_get(&a->a, r, m, k);
        const double right = a->trans_b ? ref_get(&a->b, c, m, k) : ref_get(&a->b, k, m, c);

        sum += left * right;
    }
    return sum;
}

gnt_status ref_gemm(gnt_stream *s, const gnt_gemm_args *a)
{
    const int64_t inner = a->trans_a ? a->a.rows : a->a.width;

    (void)s;
    for (int64_t m = 0; m < a->c.members; m++)
        for (int64_t r = 0; r < a->c.rows; r++)
            for (int64_t c = 0; c < a->c.width; c++)
                ref_set(&a->c, r, m, c,
                        ref_epilogue(&a->epilogue, dot(a, m, r, c, inner), (double)a->alpha, (double)a->beta,
                                     &a->c, r, m, c));
    return GNT_OK;
}
