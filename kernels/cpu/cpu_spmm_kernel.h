/* SPDX-License-Identifier: Apache-2.0 */
/* The row kernel of the sparse product, written once for all vector levels. A level's file defines, then
 * includes this: KERNEL                       function attribute with the level's target V, VF, MASK vector
 * type, floats in it, type of a mask of its first lanes V_ZERO, V_SET1(s), V_LOAD(p), V_STORE(p, v), V_ADD(a,
 * b), V_MUL(a, b) V_MASK(n), V_LOADM(m, p), V_STOREM(m, p, v)   only the first n lanes are touched in memory
 * The number of vectors is a constant in each instance, so accumulators stay in registers.
 */
/* Entries between a prefetch and its use: best of 2, 8, 12, 24, 48 on graphs of 3e4 to 2.5e5 rows. */
enum { PREFETCH_AHEAD = 24 };

/* Without it the accumulators would be an array in memory. */
#define UNROLL _Pragma("GCC unroll 16")
#define INLINE static inline __attribute__((always_inline))

KERNEL INLINE void load_row(V *v, const float *p, int nv, int tail, MASK mask)
{
    UNROLL
    for (int k = 0; k < nv - tail; k++)
        v[k] = V_LOAD(p + k * VF);
    if (tail)
        v[nv - 1] = V_LOADM(mask, p + (nv - 1) * VF);
}

KERNEL INLINE void prefetch_row(const float *p, int64_t width)
{
    for (int64_t c = 0; c < width; c += 16)
        __builtin_prefetch(p + c, 0, 3);
}

/* a += s x[columns[e]] for the entries [e, end). */
KERNEL INLINE void add_entries(V *a, const cpu_spmm_job *j, int64_t e, int64_t end, int scaled, int nv,
                               int tail, MASK mask)
{
    const int64_t stride = j->x_stride;
    const float *x = j->x, *weights = j->weights, *src_scale = j->src_scale;
    const int32_t *columns = j->columns,
                  *ahead = columns + (end + PREFETCH_AHEAD <= j->num_arcs ? PREFETCH_AHEAD : 0);

    for (; e < end; e++) {
        const float *p = x + (int64_t)columns[e] * stride;
        V v[CPU_SPMM_MAX_VECTORS];

        prefetch_row(x + (int64_t)ahead[e] * stride, nv * VF);
        load_row(v, p, nv, tail, mask);
        if (scaled) {
            const float s = src_scale != NULL ? src_scale[columns[e]] : 1.0f;
            const V w = V_SET1(weights != NULL ? weights[e] * s : s);

            UNROLL
            for (int k = 0; k < nv; k++)
                v[k] = V_MUL(w, v[k]);
        }
        UNROLL
        for (int k = 0; k < nv; k++)
            a[k] = V_ADD(a[k], v[k]);
    }
}

KERNEL INLINE void start_row(V *a, const cpu_spmm_job *j, int64_t r, int scaled, int nv, int tail, MASK mask)
{
    float s = 1.0f;

    if (j->self_x == NULL || r >= j->self_rows) {
        UNROLL
        for (int k = 0; k < nv; k++)
            a[k] = V_ZERO;
        return;
    }
    load_row(a, j->self_x + r * j->x_stride, nv, tail, mask);
    if (scaled && j->src_scale != NULL)
        s = j->src_scale[r];
    if (j->self != NULL)
        s = j->self[r] * s;
    UNROLL
    for (int k = 0; k < nv; k++)
        a[k] = V_MUL(V_SET1(s), a[k]);
}

KERNEL INLINE void sum_rows(const cpu_spmm_job *j, int64_t first_row, int64_t end_row, int scaled, int nv,
                            int tail)
{
    const MASK mask = V_MASK(j->width - (nv - 1) * VF);

    for (int64_t r = first_row; r < end_row; r++) {
        const V factor = V_SET1(j->row_scale != NULL ? j->alpha * j->row_scale[r] : j->alpha);
        float *y = j->y + (r - j->first) * j->y_stride;
        const int64_t *at = j->offsets + (r - j->first);
        V a[CPU_SPMM_MAX_VECTORS];

        start_row(a, j, r, scaled, nv, tail, mask);
        add_entries(a, j, at[0], at[1], scaled, nv, tail, mask);
        UNROLL
        for (int k = 0; k < nv - tail; k++)
            V_STORE(y + k * VF, V_MUL(factor, a[k]));
        if (tail)
            V_STOREM(mask, y + (nv - 1) * VF, V_MUL(factor, a[nv - 1]));
    }
}

#define INSTANCE(scaled, nv, tail)                                                                           \
    KERNEL static void rows_##scaled##_##nv##_##tail(const cpu_spmm_job *j, int64_t first_row,               \
                                                     int64_t end_row)                                        \
    {                                                                                                        \
        sum_rows(j, first_row, end_row, scaled, nv, tail);                                                   \
    }
#define INSTANCES(nv)                                                                                        \
    INSTANCE(0, nv, 0)                                                                                       \
    INSTANCE(0, nv, 1)                                                                                       \
    INSTANCE(1, nv, 0)                                                                                       \
    INSTANCE(1, nv, 1)
#define ENTRY(s, nv)                                                                                         \
    {                                                                                                        \
        rows_##s##_##nv##_0, rows_##s##_##nv##_1                                                             \
    }
#define LEVEL(s)                                                                                             \
    {                                                                                                        \
        ENTRY(s, 1), ENTRY(s, 2), ENTRY(s, 3), ENTRY(s, 4), ENTRY(s, 5), ENTRY(s, 6), ENTRY(s, 7),           \
            ENTRY(s, 8), ENTRY(s, 9), ENTRY(s, 10), ENTRY(s, 11), ENTRY(s, 12), ENTRY(s, 13), ENTRY(s, 14),  \
            ENTRY(s, 15), ENTRY(s, 16)                                                                       \
    }

INSTANCES(1)
INSTANCES(2)
INSTANCES(3)
INSTANCES(4)
INSTANCES(5)
INSTANCES(6)
INSTANCES(7)
INSTANCES(8)
INSTANCES(9)
INSTANCES(10)
INSTANCES(11)
INSTANCES(12)
INSTANCES(13)
INSTANCES(14)
INSTANCES(15)
INSTANCES(16)
