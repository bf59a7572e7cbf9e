/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle's batch and layer norm (Ioffe, Szegedy 2015; Ba, Kiros, Hinton 2016), forward and backward.
 *
 *   y = gamma (x - mean) rstd + beta, rstd = (var + eps)^-1/2, biased variance
 *   with t = dy gamma, h = (x - mean) rstd and means over what was normalised:
 *   dx = rstd (t - mean(t) - h mean(t h)); dgamma = sum_r dy h; dbeta = sum_r dy
 * Outside training a batch norm's statistics are constants, so dx = t rstd. Phases: kernels/args.h. */
#include "kernels/cpu/ref.h"

#include <math.h>

static double gamma_at(const gnt_norm_args *a, int64_t m, int64_t c)
{
    return a->gamma.buf != NULL ? ref_get(&a->gamma, 0, m, c) : 1.0;
}

static bool fixed_statistics(const gnt_norm_args *a)
{
    return a->kind == GNT_NORM_BATCH && !a->training;
}

static double mean_at(const gnt_norm_args *a, int64_t r, int64_t m, int64_t c)
{
    if (fixed_statistics(a))
        return ref_get(a->running_mean, 0, m, c);
    return ref_get(&a->mean, r, m, c);
}

static double rstd_at(const gnt_norm_args *a, int64_t r, int64_t m, int64_t c)
{
    if (fixed_statistics(a))
        return 1.0 / sqrt(ref_get(a->running_var, 0, m, c) + (double)a->eps);
    return ref_get(&a->rstd, r, m, c);
}

static void update_running(const gnt_norm_args *a, int64_t m, int64_t c, double mean, double var,
                           int64_t count)
{
    const double k = (double)(a->momentum_hyper != 0
                                  ? gnti_step_hyper(a->step->head.host, a->momentum_hyper)[m]
                                  : a->momentum),
                 n = (double)count;
    const double unbiased = count > 1 ? var * n / (n - 1.0) : var;

    if (a->running_mean == NULL || count == 0 || k == 0.0)
        return;
    ref_set(a->running_mean, 0, m, c, (1.0 - k) * ref_get(a->running_mean, 0, m, c) + k * mean);
    ref_set(a->running_var, 0, m, c, (1.0 - k) * ref_get(a->running_var, 0, m, c) + k * unbiased);
}

/* Statistics of one column (BATCH, over rows) or one row (LAYER, over columns). */
static void statistics(const gnt_norm_args *a, int64_t fixed, int64_t m)
{
    const bool batch = a->kind == GNT_NORM_BATCH;
    const int64_t count = batch ? a->x.rows : a->x.width;
    double sum = 0.0, squares = 0.0, mean, var;

    for (int64_t i = 0; i < count; i++)
        sum += batch ? ref_get(&a->x, i, m, fixed) : ref_get(&a->x, fixed, m, i);
    mean = count > 0 ? sum / (double)count : 0.0;
    for (int64_t i = 0; i < count; i++) {
        const double d = (batch ? ref_get(&a->x, i, m, fixed) : ref_get(&a->x, fixed, m, i)) - mean;

        squares += d * d;
    }
    var = count > 0 ? squares / (double)count : 0.0;
    ref_set(&a->mean, fixed, m, fixed, mean);
    ref_set(&a->rstd, fixed, m, fixed, 1.0 / sqrt(var + (double)a->eps));
    if (batch)
        update_running(a, m, fixed, mean, var, count);
}

static void forward_member(const gnt_norm_args *a, int64_t m)
{
    const int64_t groups = a->kind == GNT_NORM_BATCH ? a->x.width : a->x.rows;

    for (int64_t i = 0; i < groups && !fixed_statistics(a); i++)
        statistics(a, i, m);
    for (int64_t r = 0; r < a->x.rows; r++)
        for (int64_t c = 0; c < a->x.width; c++) {
            const double h = (ref_get(&a->x, r, m, c) - mean_at(a, r, m, c)) * rstd_at(a, r, m, c);

            ref_set(&a->y, r, m, c,
                    h * gamma_at(a, m, c) + (a->beta.buf != NULL ? ref_get(&a->beta, 0, m, c) : 0.0));
        }
}

static double normalised(const gnt_norm_args *a, int64_t r, int64_t m, int64_t c)
{
    return (ref_get(&a->x, r, m, c) - mean_at(a, r, m, c)) * rstd_at(a, r, m, c);
}

/* Means of t and t h over the column (BATCH) or row (LAYER) of element (r, c). */
static void means(const gnt_norm_args *a, int64_t r, int64_t m, int64_t c, double *out_t, double *out_th)
{
    const bool batch = a->kind == GNT_NORM_BATCH;
    const int64_t count = batch ? a->x.rows : a->x.width;
    double t = 0.0, th = 0.0;

    for (int64_t i = 0; i < count; i++) {
        const int64_t row = batch ? i : r, col = batch ? c : i;
        const double v = ref_get(&a->dy, row, m, col) * gamma_at(a, m, col);

        t += v;
        th += v * normalised(a, row, m, col);
    }
    *out_t = t / (double)count;
    *out_th = th / (double)count;
}

static void input_gradient(const gnt_norm_args *a, int64_t r, int64_t m, int64_t c)
{
    double t = ref_get(&a->dy, r, m, c) * gamma_at(a, m, c), mean_t = 0.0, mean_th = 0.0;

    if (!fixed_statistics(a))
        means(a, r, m, c, &mean_t, &mean_th);
    t = rstd_at(a, r, m, c) * (t - mean_t - normalised(a, r, m, c) * mean_th);
    ref_set(&a->dx, r, m, c, a->accumulate_dx ? ref_get(&a->dx, r, m, c) + t : t);
}

static void backward_member(const gnt_norm_args *a, int64_t m)
{
    for (int64_t c = 0; c < a->x.width; c++) {
        double dgamma = 0.0, dbeta = 0.0;

        for (int64_t r = 0; r < a->x.rows; r++) {
            dgamma += ref_get(&a->dy, r, m, c) * normalised(a, r, m, c);
            dbeta += ref_get(&a->dy, r, m, c);
        }
        if (a->dgamma.buf != NULL)
            ref_set(&a->dgamma, 0, m, c, dgamma);
        if (a->dbeta.buf != NULL)
            ref_set(&a->dbeta, 0, m, c, dbeta);
    }
    for (int64_t r = 0; r < a->x.rows && a->dx.buf != NULL; r++)
        for (int64_t c = 0; c < a->x.width; c++)
            input_gradient(a, r, m, c);
}

/* ---- phases of a batch norm whose rows are spread over ranks ---- */

static void phase_sums(const gnt_norm_args *a, double *sums, int64_t m, int64_t c)
{
    const int64_t n = a->x.width;
    double first = 0.0, second = 0.0;

    for (int64_t r = 0; r < a->x.rows; r++) {
        const double x = a->backward ? ref_get(&a->dy, r, m, c) : ref_get(&a->x, r, m, c);
        const double d = a->phase == GNT_NORM_SQUARES ? x - ref_get(&a->mean, 0, m, c) : 1.0;

        first += a->phase == GNT_NORM_SQUARES ? d * d : x;
        second += a->backward ? x * normalised(a, r, m, c) : 0.0;
    }
    sums[(a->backward ? 2 * m : m) * n + c] = first;
    if (a->backward)
        sums[(2 * m + 1) * n + c] = second;
}

static void phase_apply_forward(const gnt_norm_args *a, const double *sums, int64_t m, int64_t c)
{
    const double var = a->total_rows > 0 ? sums[m * a->x.width + c] / (double)a->total_rows : 0.0;

    ref_set(&a->rstd, 0, m, c, 1.0 / sqrt(var + (double)a->eps));
    update_running(a, m, c, ref_get(&a->mean, 0, m, c), var, a->total_rows);
    for (int64_t r = 0; r < a->x.rows; r++)
        ref_set(&a->y, r, m, c,
                normalised(a, r, m, c) * gamma_at(a, m, c) +
                    (a->beta.buf != NULL ? ref_get(&a->beta, 0, m, c) : 0.0));
}

static void phase_apply_backward(const gnt_norm_args *a, const double *sums, int64_t m, int64_t c)
{
    const double rows = (double)(a->total_rows > 0 ? a->total_rows : 1), gamma = gamma_at(a, m, c);
    const double dbeta = sums[2 * m * a->x.width + c], dgamma = sums[(2 * m + 1) * a->x.width + c];

    if (a->dgamma.buf != NULL)
        ref_set(&a->dgamma, 0, m, c, dgamma);
    if (a->dbeta.buf != NULL)
        ref_set(&a->dbeta, 0, m, c, dbeta);
    for (int64_t r = 0; r < a->x.rows && a->dx.buf != NULL; r++) {
        const double t = ref_get(&a->dy, r, m, c) * gamma - dbeta * gamma / rows -
                         normalised(a, r, m, c) * dgamma * gamma / rows;

        ref_set(&a->dx, r, m, c,
                rstd_at(a, r, m, c) * t + (a->accumulate_dx ? ref_get(&a->dx, r, m, c) : 0.0));
    }
}

static void run_phase(const gnt_norm_args *a)
{
    double *sums = cpu_address(a->sums, a->sums_offset);

    for (int64_t m = 0; m < a->x.members; m++)
        for (int64_t c = 0; c < a->x.width; c++) {
            if (a->phase == GNT_NORM_SUM || a->phase == GNT_NORM_SQUARES)
                phase_sums(a, sums, m, c);
            else if (a->phase == GNT_NORM_MEAN)
                ref_set(&a->mean, 0, m, c,
                        a->total_rows > 0 ? sums[m * a->x.width + c] / (double)a->total_rows : 0.0);
            else if (a->backward)
                phase_apply_backward(a, sums, m, c);
            else
                phase_apply_forward(a, sums, m, c);
        }
}

gnt_status ref_norm(gnt_stream *s, const gnt_norm_args *a)
{
    (void)s;
    if (a->phase != GNT_NORM_WHOLE) {
        run_phase(a);
        return GNT_OK;
    }
    for (int64_t m = 0; m < a->x.members; m++) {
        if (a->backward)
            backward_member(a, m);
        else
            forward_member(a, m);
    }
    return GNT_OK;
}
