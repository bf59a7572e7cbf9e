/* SPDX-License-Identifier: Apache-2.0 */
/* The row kernels of the largest term and its gradient, written once for all vector levels, behind the words of
 * cpu_spmm_kernel.h (V and VF are those of the level). A chunk of up to four vectors of a row stays in registers while the
 * row's entries go by: the values so far, and of MAX which column each came from. Comparisons make masks of the lanes, so
 * that ties and NaN come out as in the plain loop: the first largest term, or the first NaN.
 */
enum { MAX_VECTORS = 4 };
typedef int32_t VI __attribute__((vector_size(4 * VF)));

KERNEL INLINE VI all_lanes(int32_t i)
{
    return i - (VI){ 0 };
}

KERNEL INLINE V choose(VI mask, V yes, V no)
{
    return (V)((mask & (VI)yes) | (~mask & (VI)no));
}

KERNEL INLINE void prefetch_source(const cpu_spmm_max_job *j, int64_t e, int64_t c, int nv)
{
    if (e + PREFETCH_AHEAD < j->num_arcs)
        prefetch_row(j->x + j->columns[e + PREFETCH_AHEAD] * j->x_stride + c, nv * VF);
}

KERNEL INLINE float entry_factor(const cpu_spmm_max_job *j, int64_t e)
{
    return (j->weights != NULL ? j->weights[e] : 1.0f) *
           (j->src_scale != NULL ? j->src_scale[j->columns[e]] : 1.0f);
}

KERNEL INLINE void store_chunk(const cpu_spmm_max_job *j, int64_t c, const V *a, const VI *from, int nv)
{
    for (int k = 0; k < nv; k++) {
        V_STORE(j->value + c + k * VF, a[k]);
        if (from != NULL)
            V_STORE((float *)(void *)(j->winner + c + k * VF), (V)from[k]);
    }
}

/* Columns [c, c + nv VF) of the largest terms. */
KERNEL INLINE void max_chunk(const cpu_spmm_max_job *j, int64_t c, int nv, int tail, MASK mask)
{
    V a[MAX_VECTORS], v[MAX_VECTORS];
    VI from[MAX_VECTORS];
    int64_t e = j->begin;
    bool any = j->own || e < j->end;
    const int64_t first = j->own ? j->row : any ? j->columns[e] : 0;
    const float factor = j->own ? j->own_factor : any ? entry_factor(j, e) : 0.0f;

    e += !j->own;
    if (any)
        load_row(a, j->x + first * j->x_stride + c, nv, tail, mask);
    UNROLL
    for (int k = 0; k < nv; k++) {
        a[k] = any ? V_MUL(V_SET1(factor), a[k]) : V_ZERO;
        from[k] = all_lanes(any ? (int32_t)first : -1);
    }
    for (; e < j->end; e++) {
        const V s = V_SET1(entry_factor(j, e));
        const VI column = all_lanes(j->columns[e]);

        prefetch_source(j, e, c, nv);
        load_row(v, j->x + j->columns[e] * j->x_stride + c, nv, tail, mask);
        UNROLL
        for (int k = 0; k < nv; k++) {
            const V term = V_MUL(s, v[k]);
            const VI better = (VI)(term > a[k]) | ((VI)(term != term) & (VI)(a[k] == a[k]));

            a[k] = choose(better, term, a[k]);
            from[k] = (better & column) | (~better & from[k]);
        }
    }
    store_chunk(j, c, a, from, nv);
}

/* a += s x_i where row i chose this row. */
KERNEL INLINE void add_chosen(V *a, const cpu_spmm_max_job *j, int64_t i, float s, int64_t c, int nv,
                              int tail, MASK mask)
{
    const VI key = all_lanes(j->key);
    V v[MAX_VECTORS], chosen[MAX_VECTORS];

    load_row(v, j->x + i * j->x_stride + c, nv, tail, mask);
    load_row(chosen, (const float *)(const void *)(j->chosen + i * j->chosen_stride + c), nv, tail, mask);
    UNROLL
    for (int k = 0; k < nv; k++)
        a[k] = V_ADD(a[k], V_MUL(V_SET1(s), (V)((VI)v[k] & (VI)((VI)chosen[k] == key))));
}

KERNEL INLINE void grad_chunk(const cpu_spmm_max_job *j, int64_t c, int nv, int tail, MASK mask)
{
    V a[MAX_VECTORS];

    UNROLL
    for (int k = 0; k < nv; k++)
        a[k] = V_ZERO;
    if (j->own)
        add_chosen(a, j, j->row, j->own_factor, c, nv, tail, mask);
    for (int64_t e = j->begin; e < j->end; e++) {
        prefetch_source(j, e, c, nv);
        add_chosen(a, j, j->columns[e], entry_factor(j, e), c, nv, tail, mask);
    }
    store_chunk(j, c, a, NULL, nv);
}

/* Chunks of four vectors, then one of what is left. */
#define BY_CHUNKS(name, chunk)                                                                               \
    KERNEL static void name(const cpu_spmm_max_job *j)                                                       \
    {                                                                                                        \
        const int64_t step = MAX_VECTORS * VF, rest = j->width % step, c = j->width - rest;                  \
        const MASK none = V_MASK(0), mask = V_MASK(rest % VF);                                               \
                                                                                                             \
        for (int64_t at = 0; at < c; at += step)                                                             \
            chunk(j, at, MAX_VECTORS, 0, none);                                                              \
        if (rest > 3 * VF)                                                                                   \
            chunk(j, c, 4, 1, mask);                                                                         \
        else if (rest == 3 * VF)                                                                             \
            chunk(j, c, 3, 0, none);                                                                         \
        else if (rest > 2 * VF)                                                                              \
            chunk(j, c, 3, 1, mask);                                                                         \
        else if (rest == 2 * VF)                                                                             \
            chunk(j, c, 2, 0, none);                                                                         \
        else if (rest > VF)                                                                                  \
            chunk(j, c, 2, 1, mask);                                                                         \
        else if (rest == VF)                                                                                 \
            chunk(j, c, 1, 0, none);                                                                         \
        else if (rest > 0)                                                                                   \
            chunk(j, c, 1, 1, mask);                                                                         \
    }

BY_CHUNKS(max_row, max_chunk)
BY_CHUNKS(max_grad_row, grad_chunk)
