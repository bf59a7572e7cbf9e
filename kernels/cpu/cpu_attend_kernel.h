/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of attention, written once for all levels. A level's file includes its vector words (cpu_vector_*.h) and
 * defines V8, LOAD8, LOAD8M, MUL8, ADD8, SUM8 (eight lanes, added (0+4)+(2+6) and (1+5)+(3+7)), then includes this.
 *
 * An arc outside of the wanted side gets the score -100: exp makes it 0.
 */
#include "kernels/cpu/cpu_attend.h"
#include "kernels/cpu/cpu_philox_kernel.h"

#include <math.h>

enum { CHUNK = 32, PREFETCH_AHEAD = 16, TILE = 8 };

typedef struct chunk {
    int32_t n;
    int32_t column[CHUNK];
    float weight[CHUNK * CPU_ATTEND_HEADS]; /* score, then a_ij or what it becomes */
    float slope[CHUNK * CPU_ATTEND_HEADS];  /* leaky_relu' */
    float keep[CHUNK * CPU_ATTEND_HEADS];
    float dot[CHUNK * CPU_ATTEND_HEADS];
} chunk;

/* Entry begin - 1 is the row itself. */
KERNEL CPU_INLINE int64_t first_entry(const cpu_attend_piece *p)
{
    return p->own ? p->begin - 1 : p->begin;
}

/* Columns of the next entries; the rows of later ones are fetched ahead. */
KERNEL CPU_INLINE int64_t take_arcs(const cpu_attend_job *j, const cpu_attend_piece *p, int64_t at, chunk *c)
{
    const int64_t width = (int64_t)j->heads * j->width;
    int32_t n = 0;

    if (at < p->begin) {
        c->column[n++] = (int32_t)p->row;
        at++;
    }
    for (; n < CHUNK && at < p->end; n++, at++) {
        const int64_t ahead = j->columns[at + PREFETCH_AHEAD < j->num_arcs ? at + PREFETCH_AHEAD : at];

        c->column[n] = j->columns[at];
        __builtin_prefetch(j->score + ahead * j->score_stride, 0, 3);
        for (int64_t k = 0; k < width; k += 16)
            __builtin_prefetch(j->x + ahead * j->x_stride + k, 0, 3);
    }
    c->n = n;
    return at;
}

/* Apart, so that the compiler sees one plain loop. */
KERNEL static __attribute__((noinline)) void exp_all(float *restrict e, int64_t count)
{
    SIMD for (int64_t i = 0; i < count; i++) e[i] = cpu_exp(e[i]);
}

/* leaky_relu of own + s, less top, for the heads of one arc; or, with one head, for the arcs of a chunk. */
KERNEL CPU_INLINE void score_heads(const float *restrict own, const float *restrict top,
                                   const float *restrict s, float slope, int32_t heads, float *restrict w)
{
    SIMD for (int32_t h = 0; h < heads; h++)
    {
        const float e = own[h] + s[h], l = e * slope;

        w[h] = (e > 0.0f ? e : l) - top[h];
    }
}

KERNEL CPU_INLINE void score_arcs(float own, float top, const float *restrict s, int64_t stride, float slope,
                                  const int32_t *restrict column, int32_t n, float *restrict w)
{
    SIMD for (int32_t i = 0; i < n; i++)
    {
        const float e = own + s[column[i] * stride], l = e * slope;

        w[i] = (e > 0.0f ? e : l) - top;
    }
}

/* 0 or 1 / (1 - p) for each arc and head, 16 draws of four heads at a time. */
KERNEL static __attribute__((noinline)) void draw_keeps(const cpu_attend_job *j, int64_t row, chunk *c)
{
    const int32_t heads = j->heads, quads = (heads + 3) / 4, total = c->n * quads;
    const cpu_draw *d = &j->draw;

    for (int32_t at = 0; at < total; at += LANES) {
        const int32_t n = total - at < LANES ? total - at : LANES;
        uint32_t c0[LANES] = { 0 }, c1[LANES] = { 0 }, c2[LANES] = { 0 }, c3[LANES] = { 0 };

        for (int32_t i = 0; i < n; i++) {
            const int64_t other = c->column[(at + i) / quads];
            const int64_t src = j->by_columns ? row : other, dst = j->by_columns ? other : row;
            const uint64_t from = (uint64_t)(j->src_ids != NULL ? j->src_ids[src] : src),
                           to = (uint64_t)(j->dst_ids != NULL ? j->dst_ids[dst] : dst);

            c0[i] = (uint32_t)from;
            c1[i] = (uint32_t)to;
            c2[i] = (uint32_t)GNTI_DRAW_ARC_DROP << 28 | (uint32_t)((at + i) % quads) << 24 |
                    d->ordinal << 12 | ((uint32_t)(from >> 32) & 63u) << 6 | ((uint32_t)(to >> 32) & 63u);
            c3[i] = d->step;
        }
        philox_lanes(c0, c1, c2, c3, d->key);
        for (int32_t i = 0; i < n; i++) {
            const uint32_t word[4] = { c0[i], c1[i], c2[i], c3[i] };
            float *keep = c->keep + (at + i) / quads * heads;

            for (int32_t k = 0, h = (at + i) % quads * 4; k < 4 && h < heads; k++, h++)
                keep[h] = !d->drop_all && word[k] >= d->threshold ? d->scale : 0.0f;
        }
    }
}

/* ---- rows --------------------------------------------------------------------------------------------------------- */

#define UNROLL _Pragma("GCC unroll 8")

/* acc += weight x over the chunk, for a tile of vectors. */
KERNEL CPU_INLINE void add_tile(const cpu_attend_job *j, const chunk *c, const cpu_attend_vector *list,
                                float *acc, int nv, int whole)
{
    const int64_t first = list[0].column;
    MASK mask[TILE];
    V a[TILE];

    UNROLL
    for (int v = 0; v < nv; v++) {
        mask[v] = V_MASK(list[v].count);
        a[v] = whole ? V_LOAD(acc + first + v * VF) : V_LOADM(mask[v], acc + list[v].column);
    }
    for (int32_t i = 0; i < c->n; i++) {
        const float *x = j->x + (int64_t)c->column[i] * j->x_stride, *w = c->weight + i * j->heads;

        UNROLL
        for (int v = 0; v < nv; v++) {
            const V t = whole ? V_LOAD(x + first + v * VF) : V_LOADM(mask[v], x + list[v].column);

            a[v] = V_ADD(a[v], V_MUL(V_SET1(w[list[v].head]), t));
        }
    }
    UNROLL
    for (int v = 0; v < nv; v++) {
        if (whole)
            V_STORE(acc + first + v * VF, a[v]);
        else
            V_STOREM(mask[v], acc + list[v].column, a[v]);
    }
}

#define TILE_CASE(nv)                                                                                        \
    case nv:                                                                                                 \
        if (j->whole)                                                                                        \
            add_tile(j, c, list, acc, nv, 1);                                                                \
        else                                                                                                 \
            add_tile(j, c, list, acc, nv, 0);                                                                \
        break

KERNEL static __attribute__((noinline)) void add_rows(const cpu_attend_job *j, const chunk *c, float *acc)
{
    for (int32_t v = 0; v < j->num_vectors; v += TILE) {
        const cpu_attend_vector *list = j->vectors + v;

        switch (j->num_vectors - v < TILE ? j->num_vectors - v : TILE) {
            TILE_CASE(1);
            TILE_CASE(2);
            TILE_CASE(3);
            TILE_CASE(4);
            TILE_CASE(5);
            TILE_CASE(6);
            TILE_CASE(7);
            TILE_CASE(8);
        }
    }
}

KERNEL CPU_INLINE float dot_head(const float *a, const float *b, int64_t width)
{
    V8 sum;
    int64_t k = 8;

    if (width < 8)
        return SUM8(MUL8(LOAD8M(width, a), LOAD8M(width, b)));
    sum = MUL8(LOAD8(a), LOAD8(b));
    for (; k + 8 <= width; k += 8)
        sum = ADD8(sum, MUL8(LOAD8(a + k), LOAD8(b + k)));
    if (k < width)
        sum = ADD8(sum, MUL8(LOAD8M(width - k, a + k), LOAD8M(width - k, b + k)));
    return SUM8(sum);
}

KERNEL static void dots(const float *a, const float *b, int32_t heads, int64_t width, float *out)
{
    for (int32_t h = 0; h < heads; h++)
        out[h] = dot_head(a + h * width, b + h * width, width);
}

KERNEL static __attribute__((noinline)) void dot_rows(const cpu_attend_job *j, const float *value, chunk *c)
{
    const int32_t heads = j->heads;

    for (int32_t i = 0; i < c->n; i++) {
        const float *x = j->x + (int64_t)c->column[i] * j->x_stride;

#if defined(DOT_EIGHT_HEADS)
        if (j->width == 8 && heads == 8) {
            DOT_EIGHT_HEADS(value, x, c->dot + i * heads);
            continue;
        }
#endif
        dots(value, x, heads, j->width, c->dot + i * heads);
    }
}

KERNEL static void scale(const float *a, const float *factor, int32_t heads, int64_t width, float *y)
{
    for (int32_t h = 0; h < heads; h++) {
        const float f = factor[h];

        SIMD for (int64_t k = 0; k < width; k++) y[h * width + k] = a[h * width + k] * f;
    }
}

/* ---- forward ------------------------------------------------------------------------------------------------------ */

/* leaky_relu is monotonic, so the largest score is that of the largest s_src. */
KERNEL CPU_INLINE void find_max(const cpu_attend_job *j, const cpu_attend_piece *p, int32_t heads)
{
    const int32_t *columns = j->columns;
    const int64_t stride = j->score_stride;
    float max[CPU_ATTEND_HEADS];

    for (int32_t h = 0; h < heads; h++)
        max[h] = p->own ? j->score[p->row * stride + h] : -INFINITY;
    for (int64_t e = p->begin; e < p->end; e++) {
        const float *restrict s = j->score + columns[e] * stride;

        SIMD for (int32_t h = 0; h < heads; h++) max[h] = s[h] > max[h] ? s[h] : max[h];
    }
    for (int32_t h = 0; h < heads; h++) {
        const float e = p->score[h] + max[h];

        p->max[h] = e > 0.0f ? e : e * j->slope;
    }
}

KERNEL CPU_INLINE void forward_scores(const cpu_attend_job *j, const cpu_attend_piece *p, int32_t heads,
                                      chunk *c)
{
    const int64_t stride = j->score_stride;
    float sum[CPU_ATTEND_HEADS];

    if (heads == 1)
        score_arcs(p->score[0], p->max[0], j->score, stride, j->slope, c->column, c->n, c->weight);
    for (int32_t i = 0; i < c->n && heads > 1; i++)
        score_heads(p->score, p->max, j->score + c->column[i] * stride, j->slope, heads,
                    c->weight + i * heads);
    exp_all(c->weight, c->n * heads);
    for (int32_t h = 0; h < heads; h++)
        sum[h] = p->sum[h];
    for (int32_t i = 0; i < c->n; i++) {
        const float *restrict w = c->weight + i * heads;

        SIMD for (int32_t h = 0; h < heads; h++) sum[h] += w[h];
    }
    for (int32_t h = 0; h < heads; h++)
        p->sum[h] = sum[h];
}

/* w *= keep over the chunk. */
KERNEL CPU_INLINE void drop(const cpu_attend_job *j, int64_t row, chunk *c)
{
    const int32_t count = c->n * j->heads;

    if (!j->draw.active)
        return;
    draw_keeps(j, row, c);
    SIMD for (int32_t i = 0; i < count; i++) c->weight[i] *= c->keep[i];
}

KERNEL CPU_INLINE void forward_of(const cpu_attend_job *j, const cpu_attend_piece *p, int32_t heads)
{
    const int64_t width = (int64_t)heads * j->width;
    chunk c;

    find_max(j, p, heads);
    for (int32_t h = 0; h < heads; h++)
        p->sum[h] = 0.0f;
    for (int64_t k = 0; k < width; k++)
        p->acc[k] = 0.0f;
    for (int64_t at = first_entry(p); at < p->end;) {
        at = take_arcs(j, p, at, &c);
        forward_scores(j, p, heads, &c);
        drop(j, p->row, &c);
        add_rows(j, &c, p->acc);
    }
}

/* ---- gradient by rows --------------------------------------------------------------------------------------------- */

KERNEL static void count(const cpu_attend_job *j, const cpu_attend_piece *p, int64_t *positive)
{
    const int32_t heads = j->heads;
    int32_t number[CPU_ATTEND_HEADS];

    for (int32_t h = 0; h < heads; h++)
        number[h] = p->own && p->score[h] + j->score[p->row * j->score_stride + h] > 0.0f;
    for (int64_t e = p->begin; e < p->end; e++) {
        const float *s = j->score + (int64_t)j->columns[e] * j->score_stride;

        SIMD for (int32_t h = 0; h < heads; h++) number[h] += p->score[h] + s[h] > 0.0f;
    }
    for (int32_t h = 0; h < heads; h++)
        positive[h] = number[h];
}

/* Scores of the heads of an arc; those on the other side become -100, and any tells of one that does not. */
KERNEL CPU_INLINE int side_heads(const cpu_attend_piece *p, const float *restrict s, float slope,
                                 int32_t heads, float *restrict w)
{
    const float *restrict own = p->score, *restrict top = p->top, *restrict side = p->side;
    int any = 0;

    _Pragma("omp simd reduction(| : any)") for (int32_t h = 0; h < heads; h++)
    {
        const float e = own[h] + s[h], l = e * slope, value = (e > 0.0f ? e : l) - top[h];
        const float signed_e = e * side[h];
        /* side 1 takes e > 0, side -1 the others, 0 and NaN too */
        const int wanted = side[h] > 0.0f ? signed_e > 0.0f : !(signed_e < 0.0f);

        w[h] = wanted ? value : -100.0f;
        any |= wanted;
    }
    return any;
}

/* Scores of arcs that are on the wanted side for some head; the others leave the chunk. */
KERNEL CPU_INLINE void side_scores(const cpu_attend_job *j, const cpu_attend_piece *p, int32_t heads,
                                   chunk *c)
{
    int32_t kept = 0;

    for (int32_t i = 0; i < c->n; i++) {
        const int any = side_heads(p, j->score + c->column[i] * j->score_stride, j->slope, heads,
                                   c->weight + kept * heads);

        c->column[kept] = c->column[i];
        kept += any;
    }
    c->n = kept;
}

/* sum += a (keep da - r) over the chunk. */
KERNEL CPU_INLINE void add_row_terms(const cpu_attend_piece *p, int32_t heads, const chunk *c)
{
    const float *restrict inverse = p->inverse, *restrict r = p->r;
    float sum[CPU_ATTEND_HEADS];

    for (int32_t h = 0; h < heads; h++)
        sum[h] = p->sum[h];
    for (int32_t i = 0; i < c->n; i++) {
        const float *restrict w = c->weight + i * heads, *restrict dot = c->dot + i * heads;

        SIMD for (int32_t h = 0; h < heads; h++) sum[h] += w[h] * inverse[h] * (dot[h] - r[h]);
    }
    for (int32_t h = 0; h < heads; h++)
        p->sum[h] = sum[h];
}

KERNEL CPU_INLINE void by_row_of(const cpu_attend_job *j, const cpu_attend_piece *p, int32_t heads)
{
    chunk c;

    for (int32_t h = 0; h < heads; h++)
        p->sum[h] = 0.0f;
    for (int64_t at = first_entry(p); at < p->end;) {
        at = take_arcs(j, p, at, &c);
        side_scores(j, p, heads, &c);
        exp_all(c.weight, c.n * heads);
        dot_rows(j, p->value, &c);
        if (j->draw.active) {
            draw_keeps(j, p->row, &c);
            SIMD for (int32_t i = 0; i < c.n * heads; i++) c.dot[i] *= c.keep[i];
        }
        add_row_terms(p, heads, &c);
    }
}

/* ---- gradient by columns ------------------------------------------------------------------------------------------ */

KERNEL CPU_INLINE void column_scores(const cpu_attend_job *j, const cpu_attend_piece *p, int32_t heads,
                                     chunk *c)
{
    const float *restrict own = p->score;
    const float leak = j->slope;

    for (int32_t i = 0; i < c->n; i++) {
        const float *restrict stat = j->score + c->column[i] * j->score_stride;
        float *restrict w = c->weight + i * heads, *restrict slope = c->slope + i * heads;

        SIMD for (int32_t h = 0; h < heads; h++)
        {
            const float e = stat[h] + own[h], l = e * leak;

            slope[h] = e > 0.0f ? 1.0f : leak;
            w[h] = (e > 0.0f ? e : l) - stat[heads + h];
        }
    }
    exp_all(c->weight, c->n * heads);
}

/* v += de, and weight becomes keep a. */
KERNEL CPU_INLINE void column_gradients(const cpu_attend_job *j, const cpu_attend_piece *p, int32_t heads,
                                        chunk *c)
{
    float sum[CPU_ATTEND_HEADS];

    for (int32_t h = 0; h < heads; h++)
        sum[h] = p->sum[h];
    for (int32_t i = 0; i < c->n; i++) {
        const float *restrict stat = j->score + c->column[i] * j->score_stride;
        const float *restrict keep = c->keep + i * heads, *restrict slope = c->slope + i * heads;
        float *restrict w = c->weight + i * heads, *restrict dot = c->dot + i * heads;

        if (j->draw.active) {
            SIMD for (int32_t h = 0; h < heads; h++) dot[h] *= keep[h];
        }
        SIMD for (int32_t h = 0; h < heads; h++)
        {
            const float a = w[h] * stat[2 * heads + h];

            w[h] = a;
            sum[h] += a * (dot[h] - stat[3 * heads + h]) * slope[h];
        }
        if (j->draw.active) {
            SIMD for (int32_t h = 0; h < heads; h++) w[h] *= keep[h];
        }
    }
    for (int32_t h = 0; h < heads; h++)
        p->sum[h] = sum[h];
}

KERNEL CPU_INLINE void by_column_of(const cpu_attend_job *j, const cpu_attend_piece *p, int32_t heads)
{
    const int64_t width = (int64_t)heads * j->width;
    chunk c;

    for (int32_t h = 0; h < heads; h++)
        p->sum[h] = 0.0f;
    for (int64_t k = 0; k < width; k++)
        p->acc[k] = 0.0f;
    for (int64_t at = first_entry(p); at < p->end;) {
        at = take_arcs(j, p, at, &c);
        column_scores(j, p, heads, &c);
        if (j->draw.active)
            draw_keeps(j, p->row, &c);
        dot_rows(j, p->value, &c);
        column_gradients(j, p, heads, &c);
        add_rows(j, &c, p->acc);
    }
}

/* 1, 4 and 8 heads are constants in their copies. */
#define BY_HEADS(name)                                                                                       \
    KERNEL static void name(const cpu_attend_job *j, const cpu_attend_piece *p)                              \
    {                                                                                                        \
        if (j->heads == 8)                                                                                   \
            name##_of(j, p, 8);                                                                              \
        else if (j->heads == 4)                                                                              \
            name##_of(j, p, 4);                                                                              \
        else if (j->heads == 1)                                                                              \
            name##_of(j, p, 1);                                                                              \
        else                                                                                                 \
            name##_of(j, p, j->heads);                                                                       \
    }

BY_HEADS(forward)
BY_HEADS(by_row)
BY_HEADS(by_column)

#define ATTEND_TABLE                                                                                         \
    .vector_floats = VF, .forward = forward, .count = count, .by_row = by_row, .by_column = by_column,       \
    .dots = dots, .scale = scale
