/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of the layout by blocks, written once for all vector levels; included behind cpu_spmm_kernel.h, whose words it
 * uses.
 *
 * Four rows are summed side by side, each in its own order: their accumulators do not wait for each other, and the columns
 * of the four lie interleaved, one stream of 2 bytes an entry. Rows come shortest first, so those of a group have about as
 * many entries; what the longer ones have beyond the shortest follows row by row.
 */
enum { BLOCK_VECTORS = 2 };

KERNEL INLINE void start_sum(V *a, const cpu_spmm_block_job *j, int64_t r, int64_t c, int nv)
{
    const bool own = j->own != NULL && r < j->own_rows;
    const float *from = j->first ? j->own : j->sum;
    const V s = V_SET1(j->own_factor != NULL && own ? j->own_factor[r] : 1.0f);

    UNROLL
    for (int k = 0; k < nv; k++)
        a[k] = j->first && !own ? V_ZERO : V_LOAD(from + r * j->floats + c + k * VF);
    if (!j->first || j->own_factor == NULL)
        return;
    UNROLL
    for (int k = 0; k < nv; k++)
        a[k] = V_MUL(s, a[k]);
}

KERNEL INLINE void add_source(V *a, const float *x, int nv)
{
    UNROLL
    for (int k = 0; k < nv; k++)
        a[k] = V_ADD(a[k], V_LOAD(x + k * VF));
}

KERNEL INLINE void store_sum(const V *a, const cpu_spmm_block_job *j, int64_t r, int64_t c, int nv)
{
    const V factor = V_SET1(j->factor != NULL ? j->factor[r] : 1.0f);

    UNROLL
    for (int k = 0; k < nv; k++)
        V_STORE(j->sum + r * j->floats + c + k * VF, V_MUL(factor, a[k]));
}

/* Columns [c, c + nv VF) of the n rows from place i on; answers where the next rows' entries are. */
KERNEL INLINE const uint16_t *sum_group(const cpu_spmm_block_job *j, int64_t i, const uint16_t *at, int64_t c,
                                        int n, int nv)
{
    const float *x = j->x + c;
    const int64_t stride = j->floats;
    const int32_t shared = j->entries[i];
    V a[CPU_SPMM_GROUP][BLOCK_VECTORS];

    UNROLL
    for (int q = 0; q < n; q++)
        start_sum(a[q], j, j->row[i + q], c, nv);
    for (int32_t e = 0; e < shared; e++, at += n) {
        UNROLL
        for (int q = 0; q < n; q++)
            add_source(a[q], x + at[q] * stride, nv);
    }
    UNROLL
    for (int q = 0; q < n; q++) {
        for (int32_t e = shared; e < j->entries[i + q]; e++, at++)
            add_source(a[q], x + *at * stride, nv);
        store_sum(a[q], j, j->row[i + q], c, nv);
    }
    return at;
}

KERNEL INLINE void sum_unit(const cpu_spmm_block_job *j, int nv)
{
    const uint16_t *at = j->columns, *next = at;
    int64_t i = 0;

    for (; i + CPU_SPMM_GROUP <= j->num_rows; i += CPU_SPMM_GROUP, at = next)
        for (int64_t c = 0; c < j->floats; c += nv * VF)
            next = sum_group(j, i, at, c, CPU_SPMM_GROUP, nv);
    for (; i < j->num_rows; i++, at = next)
        for (int64_t c = 0; c < j->floats; c += nv * VF)
            next = sum_group(j, i, at, c, 1, nv);
}

KERNEL static void sum_block(const cpu_spmm_block_job *j)
{
    if (j->floats % (BLOCK_VECTORS * VF) == 0)
        sum_unit(j, BLOCK_VECTORS);
    else
        sum_unit(j, 1);
}
