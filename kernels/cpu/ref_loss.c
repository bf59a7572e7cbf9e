/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle's losses and their gradients, in double.
 *
 *   softmax  l = log sum_c exp(z_c) - z_y,                    dl/dz_c = softmax_c - [c = y]
 *            with H: l -= g |p - H|,                          dl/dz_c -= g p_c (v_c - <p, v>), v = (p - H) / max(|p - H|, 1e-8)
 *   BCE      l = sum_c max(z, 0) - z t + log(1 + exp(-|z|)),  dl/dz_c = sigmoid(z_c) - t_c
 *   MSE      l = sum_c (z - t)^2,                             dl/dz_c = 2 (z_c - t_c)
 */
#include "kernels/cpu/ref.h"

#include <math.h>

static double class_weight(const gnt_loss_args *a, int64_t m, int64_t c)
{
    return a->class_weight != NULL ? ref_get(a->class_weight, 0, m, c) : 1.0;
}

static void put_grad(const gnt_loss_args *a, int64_t r, int64_t m, int64_t c, double w, double slope)
{
    if (a->grad != NULL)
        ref_set(a->grad, r, m, c, w == 0.0 ? 0.0 : w * slope * ref_hyper(a->step, a->norm_hyper, m));
}

/* What a row's loss has less, and <p, v>, for a softmax with the largest logit `top` and the sum of exponentials `sum`. */
typedef struct apart_row {
    double gain, distance, dot;
} apart_row;

static double softmax_of(const gnt_loss_args *a, int64_t r, int64_t m, int64_t c, double top, double sum)
{
    return exp(ref_get(&a->logits, r, m, c) - top) / sum;
}

static apart_row measure_apart(const gnt_loss_args *a, int64_t r, int64_t m, double top, double sum)
{
    apart_row out = { ref_hyper(a->step, a->apart_hyper, m), 0.0, 0.0 };

    for (int64_t c = 0; c < a->logits.width; c++) {
        const double p = softmax_of(a, r, m, c, top, sum), d = p - ref_get(a->apart, r, m, c);

        out.distance += d * d;
        out.dot += p * d;
    }
    out.distance = sqrt(out.distance);
    out.dot /= fmax(out.distance, 1e-8);
    return out;
}

/* Adds (w l, w, w [right], 1) of a row to stats. */
static gnt_status softmax_row(const gnt_loss_args *a, int64_t r, int64_t m, double w, double stats[4])
{
    gnt_status st = GNT_OK;
    const int64_t classes = a->logits.width;
    const int64_t label = ((const int32_t *)a->labels->head.host)[a->first_row + r];
    double top = -INFINITY, sum = 0.0, own;
    apart_row apart = { 0.0, 0.0, 0.0 };
    int64_t best = 0;

    GNT_CHECK(label >= 0 && label < classes, GNT_ERR_ARG,
              "loss: row %lld has the label %lld, classes go from 0 to %lld", (long long)(a->first_row + r),
              (long long)label, (long long)classes - 1);
    w *= class_weight(a, m, label);
    own = ref_get(&a->logits, r, m, label);
    for (int64_t c = 0; c < classes; c++) {
        const double z = ref_get(&a->logits, r, m, c);

        if (z > top) {
            top = z;
            best = c;
        }
    }
    for (int64_t c = 0; c < classes; c++)
        sum += exp(ref_get(&a->logits, r, m, c) - top);
    if (a->apart != NULL)
        apart = measure_apart(a, r, m, top, sum);
    stats[0] += w * (log(sum) + top - own - apart.gain * apart.distance);
    stats[1] += w;
    stats[2] += best == label ? w : 0.0;
    stats[3] += 1.0;
    /* the gradient may lie where the logits are: c's logit is not read again */
    for (int64_t c = 0; c < classes; c++) {
        const double p = softmax_of(a, r, m, c, top, sum);
        const double h = a->apart != NULL ? ref_get(a->apart, r, m, c) : 0.0;
        const double v = (p - h) / fmax(apart.distance, 1e-8);

        put_grad(a, r, m, c, w,
                 p - (c == label ? 1.0 : 0.0) - (a->apart != NULL ? apart.gain * p * (v - apart.dot) : 0.0));
    }
done:
    return st;
}

static void column_row(const gnt_loss_args *a, int64_t r, int64_t m, double w, double stats[4])
{
    double loss = 0.0;

    for (int64_t c = 0; c < a->logits.width; c++) {
        const double z = ref_get(&a->logits, r, m, c), t = ref_get(&a->target, r, m, c);
        const double k = class_weight(a, m, c);

        if (a->kind == GNT_LOSS_BCE) {
            loss += k * ((z > 0.0 ? z : 0.0) - z * t + log1p(exp(-fabs(z))));
            put_grad(a, r, m, c, w, k * (1.0 / (1.0 + exp(-z)) - t));
        } else {
            loss += k * (z - t) * (z - t);
            put_grad(a, r, m, c, w, k * 2.0 * (z - t));
        }
    }
    stats[0] += w * loss;
    stats[1] += w;
    stats[3] += 1.0;
}

gnt_status ref_loss(gnt_stream *s, const gnt_loss_args *a)
{
    gnt_status st = GNT_OK;
    double *stats = cpu_address(a->stats, a->stats_offset);

    (void)s;
    for (int64_t m = 0; m < a->logits.members; m++) {
        double sums[4] = { 0.0, 0.0, 0.0, 0.0 };

        for (int64_t r = 0; r < a->logits.rows; r++) {
            const double w = ref_get(&a->weight, r, m, 0);

            if (w == 0.0) {
                for (int64_t c = 0; c < a->logits.width; c++)
                    put_grad(a, r, m, c, 0.0, 0.0);
            } else if (a->kind == GNT_LOSS_SOFTMAX) {
                GNT_TRY(softmax_row(a, r, m, w, sums));
            } else {
                column_row(a, r, m, w, sums);
            }
        }
        for (int i = 0; i < 4; i++)
            stats[4 * m + i] = sums[i];
    }
done:
    return st;
}
