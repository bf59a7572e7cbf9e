/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle's activations, dropout and epilogue, element by element.
 *
 * Derivatives are taken from the activation's output: ReLU 1 where it is > 0; ELU 1 or out + alpha; leaky
 * ReLU 1 or the slope; sigmoid out (1 - out); tanh 1 - out^2. Behind a dropout the output was scaled by 1 /
 * (1 - p), which is undone first; where the element was dropped nothing flows. */
#include "kernels/cpu/ref.h"

#include <math.h>

double ref_keep_factor(const gnt_dropout *d, const gnt_buffer *step, int64_t r, int64_t m, int64_t c)
{
    const gnti_step_head *head;
    const int64_t *ids;
    uint32_t word;
    float p;

    if (d->hyper < 0)
        return 1.0;
    head = ref_step(step);
    p = gnti_step_hyper(head, d->hyper)[m];
    ids = d->row_ids != NULL ? d->row_ids->head.host : NULL;
    word = gnti_draw_word(gnti_step_keys(head)[m], GNTI_DRAW_DROPOUT, d->ordinal, (uint32_t)head->step,
                          ids != NULL ? ids[d->first_row + r] : d->first_row + r, (uint32_t)c);
    return word >= gnti_drop_threshold(p) ? 1.0 / (1.0 - (double)p) : 0.0;
}

double ref_act(gnt_activation act, double alpha, double v)
{
    switch (act) {
    case GNT_ACT_NONE:
        break;
    case GNT_ACT_RELU:
        return v < 0.0 ? 0.0 : v;
    case GNT_ACT_ELU:
        return v < 0.0 ? alpha * expm1(v) : v;
    case GNT_ACT_LEAKY_RELU:
        return v < 0.0 ? alpha * v : v;
    case GNT_ACT_SIGMOID:
        return 1.0 / (1.0 + exp(-v));
    case GNT_ACT_TANH:
        return tanh(v);
    }
    return v;
}

double ref_act_grad(gnt_activation act, double alpha, double out)
{
    switch (act) {
    case GNT_ACT_NONE:
        break;
    case GNT_ACT_RELU:
        return out > 0.0 ? 1.0 : 0.0;
    case GNT_ACT_ELU:
        return out > 0.0 ? 1.0 : out + alpha;
    case GNT_ACT_LEAKY_RELU:
        return out > 0.0 ? 1.0 : alpha;
    case GNT_ACT_SIGMOID:
        return out * (1.0 - out);
    case GNT_ACT_TANH:
        return 1.0 - out * out;
    }
    return 1.0;
}

double ref_epilogue(const gnt_epilogue *e, double product, double alpha, double beta, const gnt_mat_view *y,
                    int64_t r, int64_t m, int64_t c)
{
    double v = alpha * product, keep;

    if (e->row_scale != NULL)
        v *= ref_get(e->row_scale, r, 0, 0);
    if (beta != 0.0)
        v += beta * ref_get(y, r, m, c);
    if (e->bias != NULL)
        v += ref_get(e->bias, 0, m, c);
    v = ref_act(e->act, (double)e->act_alpha, v);
    keep = ref_keep_factor(&e->dropout, e->step, r, m, c);
    v = keep == 0.0 ? 0.0 : v * keep;
    if (e->gate == NULL)
        return v;
    keep = ref_keep_factor(&e->gate_dropout, e->step, r, m, c);
    if (keep == 0.0)
        return 0.0;
    return v * keep * ref_act_grad(e->gate_act, (double)e->gate_alpha, ref_get(e->gate, r, m, c) / keep);
}
