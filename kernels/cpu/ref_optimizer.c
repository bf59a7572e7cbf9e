/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle's optimisers, in double, as PyTorch defines them.
 *
 *   g = clip grad; decay: SGD, Adam g += d W; AdamW W -= lr d W
 *   SGD   v = mu v + g;  W -= lr v  (nesterov: lr (g + mu v))
 *   Adam  m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;  W -= lr / c1 m / (sqrt(v) / sqrt(c2) + eps)
 * (Kingma, Ba 2015; Loshchilov, Hutter 2019). clip = min(1, limit / (norm + 1e-6)), norm over all of a
 * member. */
#include "kernels/cpu/ref.h"

#include <math.h>

static float *at(gnt_buffer *buf, const gnt_param_segment *g, int64_t m)
{
    return (float *)buf->head.host + g->offset + m * g->count;
}

/* Norm of the member's gradient, and 1 + segment of the first value that is not finite, or 0. */
static double gradient_norm(const gnt_optimizer_args *a, int64_t m, int32_t *bad)
{
    double squares = 0.0;

    *bad = 0;
    for (int32_t i = 0; i < a->num_segments; i++) {
        const float *g = at(a->grads, &a->segments[i], m);

        for (int64_t k = 0; k < a->segments[i].count; k++) {
            if (!isfinite(g[k]) && *bad == 0)
                *bad = i + 1;
            squares += (double)g[k] * (double)g[k];
        }
    }
    return sqrt(squares);
}

static void step_value(const gnt_optimizer_args *a, int64_t m, double decay, float *w, double g, float *m1,
                       float *m2)
{
    const double lr = ref_hyper(a->step, a->lr_hyper, m), b1 = a->beta1, b2 = a->beta2;
    double value = (double)*w, first, second;

    if (a->kind == GNT_OPTIMIZER_ADAMW)
        value -= lr * decay * value;
    else
        g += decay * value;
    if (a->kind == GNT_OPTIMIZER_SGD) {
        first = m1 != NULL ? b1 * (double)*m1 + g : g;
        value -= lr * (a->nesterov ? g + b1 * first : first);
    } else {
        first = b1 * (double)*m1 + (1.0 - b1) * g;
        second = b2 * (double)*m2 + (1.0 - b2) * g * g;
        *m2 = (float)second;
        value -= lr / ref_hyper(a->step, a->corr1_hyper, m) * first /
                 (sqrt(second) / sqrt(ref_hyper(a->step, a->corr2_hyper, m)) + a->eps);
    }
    if (m1 != NULL)
        *m1 = (float)first;
    *w = (float)value;
}

static void step_member(const gnt_optimizer_args *a, int64_t m, double clip)
{
    const bool has_first = a->kind != GNT_OPTIMIZER_SGD || a->beta1 != 0.0;

    for (int32_t i = 0; i < a->num_segments; i++) {
        const gnt_param_segment *g = &a->segments[i];
        const double decay = g->decay_hyper >= 0 ? ref_hyper(a->step, g->decay_hyper, m) : 0.0;
        float *m1 = has_first ? at(a->moment1, g, m) : NULL;
        float *m2 = a->kind != GNT_OPTIMIZER_SGD ? at(a->moment2, g, m) : NULL;

        for (int64_t k = 0; k < g->count; k++)
            step_value(a, m, decay, at(a->weights, g, m) + k, clip * (double)at(a->grads, g, m)[k],
                       m1 != NULL ? m1 + k : NULL, m2 != NULL ? m2 + k : NULL);
    }
}

gnt_status ref_optimizer_step(gnt_stream *s, const gnt_optimizer_args *a)
{
    int32_t *bad = a->bad->head.host;

    (void)s;
    for (int64_t m = 0; m < a->num_members; m++) {
        double norm, limit, clip = 1.0;

        bad[m] = 0;
        if (!gnti_step_live(ref_step(a->step))[m])
            continue;
        norm = gradient_norm(a, m, &bad[m]);
        if (bad[m] != 0)
            continue;
        limit = a->clip_hyper >= 0 ? ref_hyper(a->step, a->clip_hyper, m) : 0.0;
        if (limit > 0.0 && norm > limit)
            clip = limit / (norm + 1e-6);
        step_member(a, m, clip < 1.0 ? clip : 1.0);
    }
    return GNT_OK;
}
