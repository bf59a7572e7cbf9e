/* SPDX-License-Identifier: Apache-2.0 */
/* Dense products that skip zeros of A, written once for all vector levels; included behind cpu_gemm_kernel.h, whose words it
 * uses, with V_NONZERO(v): a bit for each lane that is not 0 (NaN counts as such).
 *
 * Bits say which of up to 64 k a row has: then a row of c, up to 64 columns in registers, adds just these rows of B, k
 * ascending as ever; rows of B that the next 64 k need come into the cache meanwhile. A zero adds nothing to a sum, so the result is that of the other kernels to the bit.
 */
enum { SLAB_VECTORS = 64 / VF < 8 ? 64 / VF : 8, SLAB = SLAB_VECTORS * VF };

KERNEL INLINE uint64_t bits_of(const float *p, int64_t n)
{
    uint64_t bits = 0;
    int64_t i = 0;

    for (; i + VF <= n; i += VF)
        bits |= (uint64_t)V_NONZERO(V_LOAD(p + i)) << i;
    if (i < n)
        bits |= (uint64_t)V_NONZERO(V_LOADM(V_MASK(n - i), p + i)) << i;
    return bits;
}

KERNEL static void row_bits(const float *a, int64_t stride, int64_t rows, int64_t n, uint64_t *bits)
{
    for (int64_t r = 0; r < rows; r++)
        bits[r] = bits_of(a + r * stride, n);
}

/* Bit k of word c becomes bit c of word k (Warren, Hacker's Delight, 7-3). */
KERNEL INLINE void transpose_bits(uint64_t *w)
{
    uint64_t low = 0x00000000ffffffffu;

    for (int half = 32; half > 0; half /= 2, low ^= low << half)
        for (int from = 0; from < 64; from += 2 * half)
            for (int k = from; k < from + half; k++) {
                const uint64_t t = ((w[k] >> half) ^ w[k + half]) & low;

                w[k] ^= t << half;
                w[k + half] ^= t;
            }
}

KERNEL static void column_bits(const float *a, int64_t stride, int64_t rows, int64_t n, uint64_t *bits)
{
    for (int64_t r = 0; r < 64; r++)
        bits[r] = r < rows ? bits_of(a + r * stride, n) : 0;
    transpose_bits(bits);
}

KERNEL INLINE void picked_row(const cpu_product *q, uint64_t bits, int64_t row, int64_t column, int nv,
                              int tail, MASK mask, int exact)
{
    const int64_t step = q->inner_step, stride = q->b_stride;
    const float *a = q->a + row * q->row_step, *b = q->b + column;
    float *c = q->c + row * q->c_stride + column;
    V sum[SLAB_VECTORS];

    if (q->more_b)
        for (int i = 0; i < nv * VF; i += 16)
            __builtin_prefetch(b + (64 + row) * stride + i, 0, 3);

    UNROLL
    for (int v = 0; v < nv; v++)
        if (!q->accumulate)
            sum[v] = V_ZERO;
        else
            sum[v] = tail && v == nv - 1 ? V_LOADM(mask, c + v * VF) : V_LOAD(c + v * VF);
    for (; bits != 0; bits &= bits - 1) {
        const int64_t k = __builtin_ctzll(bits);
        const V left = V_SET1(a[k * step]);
        const float *p = b + k * stride;

        UNROLL
        for (int v = 0; v < nv; v++) {
            const V right = tail && v == nv - 1 ? V_LOADM(mask, p + v * VF) : V_LOAD(p + v * VF);

            sum[v] = exact ? V_ADD(sum[v], V_MUL(left, right)) : V_FMA(left, right, sum[v]);
        }
    }
    UNROLL
    for (int v = 0; v < nv; v++)
        if (tail && v == nv - 1)
            V_STOREM(mask, c + v * VF, sum[v]);
        else
            V_STORE(c + v * VF, sum[v]);
}

KERNEL INLINE void picked_rows(const cpu_product *q, const uint64_t *bits, int64_t column, int nv, int tail,
                               int exact)
{
    const MASK mask = V_MASK(tail ? q->cols - column - (nv - 1) * VF : VF);

    for (int64_t r = 0; r < q->rows; r++)
        if (bits[r] != 0 || !q->accumulate)
            picked_row(q, bits[r], r, column, nv, tail, mask, exact);
}

#define PICKED(nv)                                                                                           \
    case nv:                                                                                                 \
        if (tail)                                                                                            \
            picked_rows(q, bits, column, nv, 1, exact);                                                      \
        else                                                                                                 \
            picked_rows(q, bits, column, nv, 0, exact);                                                      \
        break;

KERNEL INLINE void all_slabs(const cpu_product *q, const uint64_t *bits, int exact)
{
    for (int64_t column = 0; column < q->cols; column += SLAB) {
        const int64_t n = q->cols - column < SLAB ? q->cols - column : SLAB;
        const int tail = n % VF != 0;

        switch ((n + VF - 1) / VF) {
            PICKED(1)
            PICKED(2)
            PICKED(3)
            PICKED(4)
#if VF < 16
            PICKED(5)
            PICKED(6)
            PICKED(7)
            PICKED(8)
#endif
        default:
            break;
        }
    }
}

KERNEL static void picked_exact(const cpu_product *q, const uint64_t *bits)
{
    all_slabs(q, bits, 1);
}

KERNEL static void picked_fast(const cpu_product *q, const uint64_t *bits)
{
    all_slabs(q, bits, 0);
}
