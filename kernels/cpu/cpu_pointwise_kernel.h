/* SPDX-License-Identifier: Apache-2.0 */
/* The pointwise and reducing kernels, written once for all levels (contracts: cpu_kernels.h). A level's file
 * defines KERNEL (function attribute with the target) and LEVEL_NAME, then includes this, then fills its
 * table.
 *
 * Loops are plain; `omp simd` lets the compiler use the level's vectors without any change of order: they are
 * element by element, or over 16 lanes that are their own sums.
 */
#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/cpu_math.h"

#include "kernels/cpu/cpu_philox_kernel.h"

/* Lanes added as a tree: 8 + 8, 4 + 4, 2 + 2, 1 + 1. */
KERNEL CPU_INLINE float add_lanes(float *lane)
{
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            lane[i] += lane[i + half];
    return lane[0];
}

/* ---- dropout ---- */

/* Counters of 16 lanes that lie in one row: quads quad .. quad + 15. */
KERNEL CPU_INLINE void row_counters(const cpu_draw *d, int64_t r, uint32_t quad, uint32_t *c0, uint32_t *c1,
                                    uint32_t *c2, uint32_t *c3)
{
    const int64_t id = d->row_ids != NULL ? d->row_ids[r] : d->first_id + r;
    const uint32_t low = (uint32_t)id, step = d->step;
    const uint32_t head =
        (uint32_t)GNTI_DRAW_DROPOUT << 28 | d->ordinal << 16 | ((uint32_t)((uint64_t)id >> 32) & 0xffffu);

    SIMD for (uint32_t i = 0; i < LANES; i++)
    {
        c0[i] = quad + i;
        c1[i] = low;
        c2[i] = head;
        c3[i] = step;
    }
}

KERNEL static void draw_words(const cpu_draw *d, int64_t first_row, int64_t num_rows, uint32_t first_quad,
                              uint32_t num_quads, uint32_t *out)
{
    const int64_t end_row = first_row + num_rows;
    int64_t row = first_row;
    uint32_t quad = 0, c0[2 * LANES], c1[2 * LANES], c2[2 * LANES], c3[2 * LANES];

    while (row < end_row) {
        uint32_t filled = 0;

        while (filled < LANES &&
               row < end_row) { /* short rows share the lanes; what is beyond one is overwritten */
            const uint32_t left = num_quads - quad, take = left < LANES - filled ? left : LANES - filled;

            row_counters(d, row, first_quad + quad, c0 + filled, c1 + filled, c2 + filled, c3 + filled);
            filled += take;
            quad += take;
            row += quad == num_quads;
            quad = quad == num_quads ? 0 : quad;
        }
        philox_lanes(c0, c1, c2, c3, d->key);
#if defined(PUT_WORDS)
        if (filled == LANES) {
            PUT_WORDS(c0, c1, c2, c3, out);
            out += 4 * LANES;
            continue;
        }
#endif
        for (uint32_t i = 0; i < filled; i++, out += 4) {
            out[0] = c0[i];
            out[1] = c1[i];
            out[2] = c2[i];
            out[3] = c3[i];
        }
    }
}

/* Stored entries, 16 at a time; each draws the four words of its quad and uses one. */
KERNEL static void drop_entries(const cpu_draw *d, const cpu_entries *e)
{
    for (int64_t at = 0; at < e->num; at += LANES) {
        const int64_t n = e->num - at < LANES ? e->num - at : LANES;
        uint32_t c0[LANES], c1[LANES], c2[LANES], c3[LANES];

        for (int64_t i = 0; i < LANES; i++) {
            const int64_t k = at + (i < n ? i : 0), r = e->rows[k];
            const int64_t id = d->row_ids != NULL ? d->row_ids[r] : d->first_id + r;

            c0[i] = (uint32_t)e->columns[k] >> 2;
            c1[i] = (uint32_t)id;
            c2[i] = (uint32_t)GNTI_DRAW_DROPOUT << 28 | d->ordinal << 16 |
                    ((uint32_t)((uint64_t)id >> 32) & 0xffffu);
            c3[i] = d->step;
        }
        philox_lanes(c0, c1, c2, c3, d->key);
        for (int64_t i = 0; i < n; i++) {
            const uint32_t *words[4] = { c0, c1, c2, c3 };
            const bool keep = !d->drop_all && words[e->columns[at + i] & 3][i] >= d->threshold;
            const float v = keep ? e->a[(at + i) * e->a_step] * d->scale : 0.0f;
            float *y = e->y + (at + i) * e->y_step;

            *y = e->accumulate ? *y + v : v;
        }
    }
}

/* v = keep ? v scale : 0 for one row of words. */
KERNEL CPU_INLINE void drop_row(const cpu_draw *d, const uint32_t *words, float *v, int64_t n)
{
    const uint32_t threshold = d->threshold;
    const float scale = d->scale;

    if (d->drop_all) {
        for (int64_t c = 0; c < n; c++)
            v[c] = 0.0f;
        return;
    }
    SIMD for (int64_t c = 0; c < n; c++) v[c] = words[c] >= threshold ? v[c] * scale : 0.0f;
}

KERNEL static void dropout(const cpu_draw *d, int64_t row, int64_t first_column, const float *a, float *y,
                           int64_t width, bool accumulate)
{
    for (int64_t c0 = 0; c0 < width; c0 += CPU_TILE) {
        const int64_t n = width - c0 < CPU_TILE ? width - c0 : CPU_TILE;
        uint32_t words[CPU_TILE + 4 * LANES];
        float v[CPU_TILE];

        draw_words(d, row, 1, (uint32_t)((first_column + c0) / 4), (uint32_t)((n + 3) / 4), words);
        memcpy(v, a + c0, (size_t)n * sizeof *v);
        drop_row(d, words, v, n);
        SIMD for (int64_t c = 0; c < n; c++) y[c0 + c] = accumulate ? y[c0 + c] + v[c] : v[c];
    }
}

/* ---- activations ---- */

#define FOR_ROW(expression) SIMD for (int64_t c = 0; c < n; c++) v[c] = (expression)

KERNEL CPU_INLINE void activate(gnt_activation act, float alpha, float *v, int64_t n)
{
    switch (act) {
    case GNT_ACT_NONE:
        break;
    case GNT_ACT_RELU:
        FOR_ROW(v[c] < 0.0f ? 0.0f : v[c]);
        break;
    case GNT_ACT_ELU:
        FOR_ROW(v[c] < 0.0f ? alpha * cpu_expm1(v[c]) : v[c]);
        break;
    case GNT_ACT_LEAKY_RELU:
        FOR_ROW(v[c] < 0.0f ? alpha * v[c] : v[c]);
        break;
    case GNT_ACT_SIGMOID:
        FOR_ROW(cpu_sigmoid(v[c]));
        break;
    case GNT_ACT_TANH:
        FOR_ROW(cpu_tanh(v[c]));
        break;
    }
}

/* v *= act'(.) from the output o = scale_back * stored. */
KERNEL CPU_INLINE void activate_grad(gnt_activation act, float alpha, const float *stored, float back,
                                     float *v, int64_t n)
{
    switch (act) {
    case GNT_ACT_NONE:
        break;
    case GNT_ACT_RELU:
        FOR_ROW(stored[c] > 0.0f ? v[c] : 0.0f);
        break;
    case GNT_ACT_ELU:
        FOR_ROW(stored[c] > 0.0f ? v[c] : v[c] * (stored[c] * back + alpha));
        break;
    case GNT_ACT_LEAKY_RELU:
        FOR_ROW(stored[c] > 0.0f ? v[c] : v[c] * alpha);
        break;
    case GNT_ACT_SIGMOID:
        FOR_ROW(v[c] * (stored[c] * back * (1.0f - stored[c] * back)));
        break;
    case GNT_ACT_TANH:
        FOR_ROW(v[c] * (1.0f - stored[c] * back * (stored[c] * back)));
        break;
    }
}

/* ---- epilogue ---- */

KERNEL CPU_INLINE void gate_row(const cpu_epilogue_block *e, const float *gate, const uint32_t *words,
                                float *v, int64_t n)
{
    const float scale = e->gate_dropout.scale;

    if (!e->gate_dropout.active) {
        activate_grad(e->gate_act, e->gate_alpha, gate, 1.0f, v, n);
        return;
    }
    if (e->gate_act == GNT_ACT_RELU) { /* what was dropped is 0, and so is its gradient: no draw is needed */
        FOR_ROW(gate[c] > 0.0f ? v[c] * scale : 0.0f);
        return;
    }
    activate_grad(e->gate_act, e->gate_alpha, gate, 1.0f / scale, v, n);
    drop_row(&e->gate_dropout, words, v, n);
}

KERNEL static void epilogue(const cpu_epilogue_block *e)
{
    const int64_t n = e->width;
    const uint32_t first_quad = (uint32_t)(e->first_column / 4), quads = (uint32_t)((n + 3) / 4);
    const bool gate_draw = e->gate != NULL && e->gate_dropout.active && e->gate_act != GNT_ACT_RELU;
    const int64_t group = CPU_TILE / 4 / quads > 0 ? CPU_TILE / 4 / quads : 1; /* rows drawn at once */
    uint32_t words[CPU_TILE + 4 * LANES], gate_words[CPU_TILE + 4 * LANES];
    float kept[CPU_TILE]; /* the gate's row, where the output takes its place */

    for (int64_t i = 0; i < e->num_rows; i++) {
        float *v = e->dst + i * e->dst_stride;
        const float *gate = e->gate != NULL ? e->gate + i * e->gate_stride : NULL;
        const float *value = e->value + i * e->value_stride, *bias = e->bias;
        const int64_t in_group = i % group, rows = e->num_rows - i < group ? e->num_rows - i : group;

        if (gate != NULL && gate == v) {
            memcpy(kept, gate, (size_t)n * sizeof *kept);
            gate = kept;
        }
        if (e->beta != 0.0f) {
            FOR_ROW(value[c] + e->beta * v[c]);
        } else if (v != value) {
            FOR_ROW(value[c]);
        }
        if (bias != NULL) {
            FOR_ROW(v[c] + bias[c]);
        }
        activate(e->act, e->act_alpha, v, n);
        if (e->dropout.active && in_group == 0)
            draw_words(&e->dropout, e->first_row + i, rows, first_quad, quads, words);
        if (e->dropout.active)
            drop_row(&e->dropout, words + in_group * 4 * quads, v, n);
        if (gate_draw && in_group == 0)
            draw_words(&e->gate_dropout, e->first_row + i, rows, first_quad, quads, gate_words);
        if (gate != NULL)
            gate_row(e, gate, gate_words + in_group * 4 * quads, v, n);
    }
}

/* ---- pointwise ops ---- */

#define STORE_ROW(expression)                                                                                \
    if (m->accumulate) {                                                                                     \
        SIMD for (int64_t c = 0; c < n; c++) y[c] = y[c] + (expression);                                     \
    } else {                                                                                                 \
        SIMD for (int64_t c = 0; c < n; c++) y[c] = (expression);                                            \
    }                                                                                                        \
    break

/* Activations go through a buffer, so that their code stands here once. */
KERNEL CPU_INLINE void map_activation(const cpu_map_row *m)
{
    float v[CPU_TILE], stored[CPU_TILE];

    for (int64_t c0 = 0; c0 < m->width; c0 += CPU_TILE) {
        const int64_t n = m->width - c0 < CPU_TILE ? m->width - c0 : CPU_TILE;
        float *y = m->y + c0;

        memcpy(v, m->a + c0, (size_t)n * sizeof *v);
        if (m->kind == GNT_MAP_ACT) {
            activate(m->act, m->act_alpha, v, n);
        } else {
            for (int64_t c = 0; c < n; c++)
                stored[c] = m->b[(c0 + c) * m->b_step];
            activate_grad(m->act, m->act_alpha, stored, 1.0f, v, n);
        }
        SIMD for (int64_t c = 0; c < n; c++) y[c] = m->accumulate ? y[c] + v[c] : v[c];
    }
}

KERNEL static void map(const cpu_map_row *m)
{
    float *y = m->y;
    const float *a = m->a, *b = m->b;
    const float alpha = m->alpha, beta = m->beta;
    const int64_t n = m->width;
    const bool one = m->b_step == 0;
    const float b0 = b != NULL && n > 0 ? b[0] : 0.0f;

    switch (m->kind) {
    case GNT_MAP_FILL:
        STORE_ROW(alpha);
    case GNT_MAP_COPY:
        STORE_ROW(alpha * a[c]);
    case GNT_MAP_ADD:
        if (one) {
            STORE_ROW(alpha * a[c] + beta * b0);
        }
        STORE_ROW(alpha * a[c] + beta * b[c]);
    case GNT_MAP_MUL:
        if (one) {
            STORE_ROW(alpha * a[c] * b0);
        }
        STORE_ROW(alpha * a[c] * b[c]);
    case GNT_MAP_ACT:
    case GNT_MAP_ACT_GRAD:
        map_activation(m);
        break;
    case GNT_MAP_DROPOUT: /* has its own entry */
        break;
    }
}

/* ---- sums ---- */

KERNEL static void add_to(float *sum, const float *a, int64_t n)
{
    SIMD for (int64_t c = 0; c < n; c++) sum[c] += a[c];
}

KERNEL static void sum_rows(float *sum, const float *a, int64_t stride, int64_t rows, int64_t width)
{
    for (int64_t r = 0; r < rows; r++)
        add_to(sum, a + r * stride, width);
}

KERNEL static void dot_rows(float *sum, const float *a, int64_t a_stride, const float *b, int64_t b_stride,
                            int64_t rows, int64_t width)
{
    for (int64_t r = 0; r < rows; r++) {
        const float *x = a + r * a_stride, *y = b + r * b_stride;

        SIMD for (int64_t c = 0; c < width; c++) sum[c] += x[c] * y[c];
    }
}

KERNEL static float dot(const float *a, const float *b, int64_t n)
{
    float lane[LANES] = { 0.0f };
    int64_t c = 0;

    for (; c + LANES <= n; c += LANES) {
        SIMD for (int i = 0; i < LANES; i++) lane[i] += a[c + i] * b[c + i];
    }
    for (int i = 0; c + i < n; i++)
        lane[i] += a[c + i] * b[c + i];
    return add_lanes(lane);
}

KERNEL static double squares(const float *g, int64_t n)
{
    double lane[LANES] = { 0.0 };
    int64_t c = 0;

    for (; c + LANES <= n; c += LANES) {
        SIMD for (int i = 0; i < LANES; i++) lane[i] += (double)g[c + i] * (double)g[c + i];
    }
    for (int i = 0; c + i < n; i++)
        lane[i] += (double)g[c + i] * (double)g[c + i];
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            lane[i] += lane[i + half];
    return lane[0];
}

/* ---- losses ---- */

KERNEL CPU_INLINE float largest(const float *z, int64_t n)
{
    float lane[LANES];
    int64_t c = 0;

    for (int i = 0; i < LANES; i++)
        lane[i] = z[0];
    for (; c + LANES <= n; c += LANES) {
        SIMD for (int i = 0; i < LANES; i++) lane[i] = z[c + i] > lane[i] ? z[c + i] : lane[i];
    }
    for (int i = 0; c + i < n; i++)
        lane[i] = z[c + i] > lane[i] ? z[c + i] : lane[i];
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            lane[i] = lane[i + half] > lane[i] ? lane[i + half] : lane[i];
    return lane[0];
}

KERNEL static float softmax(const float *z, int64_t n, float *e, float *out_sum, int64_t *out_best)
{
    const float top = largest(z, n);
    float lane[LANES] = { 0.0f };
    int64_t c = 0, best = 0;

    while (best < n - 1 && !(z[best] >= top))
        best++;
    *out_best = best;
    SIMD for (int64_t i = 0; i < n; i++) e[i] = cpu_exp(z[i] - top);
    for (; c + LANES <= n; c += LANES) {
        SIMD for (int i = 0; i < LANES; i++) lane[i] += e[c + i];
    }
    for (int i = 0; c + i < n; i++)
        lane[i] += e[c + i];
    *out_sum = add_lanes(lane);
    return top;
}

KERNEL static void scale_to(float *y, const float *a, float factor, int64_t n)
{
    SIMD for (int64_t c = 0; c < n; c++) y[c] = factor * a[c];
}

KERNEL static float apart(float *e, float scale, const float *h, float factor, float gain, int64_t n)
{
    float squares[LANES] = { 0.0f }, dots[LANES] = { 0.0f };
    float distance, dot, share;

    for (int64_t c = 0; c < n; c += LANES) {
        const int64_t m = n - c < LANES ? n - c : LANES;

        SIMD for (int64_t i = 0; i < m; i++)
        {
            const float p = e[c + i] * scale, d = p - h[c + i];

            squares[i] += d * d;
            dots[i] += p * d;
        }
    }
    distance = __builtin_sqrtf(add_lanes(squares));
    dot = add_lanes(dots);
    share = factor * gain / (distance > 1e-8f ? distance : 1e-8f);
    SIMD for (int64_t c = 0; c < n; c++)
    {
        const float p = e[c] * scale;

        e[c] = p * (factor - share * (p - h[c] - dot));
    }
    return distance;
}

/* One column's loss; *slope is its derivative. */
KERNEL CPU_INLINE float one_loss(gnt_loss_kind kind, float z, float t, float *slope)
{
    if (kind == GNT_LOSS_BCE) {
        const float a = z < 0.0f ? z : -z;

        *slope = cpu_sigmoid(z) - t;
        return (z > 0.0f ? z : 0.0f) - z * t + cpu_log1p_unit(cpu_exp(a));
    }
    *slope = 2.0f * (z - t);
    return (z - t) * (z - t);
}

KERNEL CPU_INLINE float column_loss_of(gnt_loss_kind kind, const float *z, const float *t, const float *k,
                                       float factor, float *grad, int64_t n)
{
    float lane[LANES] = { 0.0f };

    for (int64_t c = 0; c < n; c += LANES) {
        const int64_t m = n - c < LANES ? n - c : LANES;

        SIMD for (int64_t i = 0; i < m; i++)
        {
            const float weight = k != NULL ? k[c + i] : 1.0f;
            float slope;

            lane[i] += weight * one_loss(kind, z[c + i], t[c + i], &slope);
            if (grad != NULL)
                grad[c + i] = factor * weight * slope;
        }
    }
    return add_lanes(lane);
}

KERNEL static float column_loss(gnt_loss_kind kind, const float *z, const float *t, const float *k,
                                float factor, float *grad, int64_t n)
{
    return kind == GNT_LOSS_BCE ? column_loss_of(GNT_LOSS_BCE, z, t, k, factor, grad, n)
                                : column_loss_of(GNT_LOSS_MSE, z, t, k, factor, grad, n);
}

/* ---- optimisers ---- */

/* The moments go a step towards grad and grad^2: factors of 1 - beta are exact to 5e-8 of themselves, while a rounded
 * beta2, taken to the power of the step, bends the second moment by 1e-6 within a hundred steps. The square is held
 * below infinity, which no later step could leave. */
KERNEL static void adam(const cpu_adam *p, float *w, const float *g, float *m1, float *m2, int64_t n)
{
    const cpu_adam q = *p;
    const float rest1 = q.rest1, rest2 = q.rest2;

    SIMD for (int64_t i = 0; i < n; i++)
    {
        const float grad = q.clip * g[i] + q.decay * w[i];
        const float square = grad * grad < __FLT_MAX__ ? grad * grad : __FLT_MAX__;
        const float first = m1[i] + rest1 * (grad - m1[i]), second = m2[i] + rest2 * (square - m2[i]);

        m1[i] = first;
        m2[i] = second;
        w[i] = q.shrink * w[i] - q.rate * first / (__builtin_sqrtf(second) * q.root_scale + q.eps);
    }
}

KERNEL static void sgd(const cpu_adam *p, bool nesterov, float *w, const float *g, float *m1, int64_t n)
{
    const cpu_adam q = *p;

    SIMD for (int64_t i = 0; i < n; i++)
    {
        const float grad = q.clip * g[i] + q.decay * w[i];
        const float first = m1 != NULL ? q.momentum * m1[i] + grad : grad;

        if (m1 != NULL)
            m1[i] = first;
        w[i] -= q.rate * (nesterov ? grad + q.momentum * first : first);
    }
}

#define KERNEL_TABLE                                                                                         \
    .draw_words = draw_words, .drop_entries = drop_entries, .epilogue = epilogue, .map = map,                \
    .dropout = dropout, .add_to = add_to, .sum_rows = sum_rows, .dot_rows = dot_rows, .dot = dot,            \
    .softmax = softmax, .scale_to = scale_to, .apart = apart, .column_loss = column_loss, .adam = adam,      \
    .sgd = sgd, .squares = squares
