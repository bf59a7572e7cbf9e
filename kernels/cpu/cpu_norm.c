/* SPDX-License-Identifier: Apache-2.0 */
/* Batch and layer norm (formulas: ref_norm.c). Sums over rows go by the fixed tree in double, all members at once; sums
 * along a row are in double, in order. Elements are normalised in float32.
 */
#include "base/size.h"
#include "kernels/cpu/cpu_tree.h"

#include <math.h>
#include <string.h>

typedef struct norm_work {
    const gnt_norm_args *args;
    const double *mean_t, *mean_th; /* backward of BATCH: (M * width) */
    int64_t member;                 /* backward: the one whose rows are worked on */
} norm_work;

static float *row_of(const gnt_mat_view *v, int64_t r, int64_t m)
{
    return cpu_floats(v) + cpu_member_offset(v, m) + r * v->row_stride;
}

static bool fixed_statistics(const gnt_norm_args *a)
{
    return a->kind == GNT_NORM_BATCH && !a->training;
}

static float fixed_rstd(const gnt_norm_args *a, int64_t m, int64_t c)
{
    return (float)(1.0 / sqrt((double)row_of(a->running_var, 0, m)[c] + (double)a->eps));
}

/* ---- statistics over rows ---- */

static void sum_leaf(void *user, int64_t first, int64_t rows, void *out)
{
    const gnt_norm_args *a = ((const norm_work *)user)->args;
    const int64_t n = a->x.width;
    double *sum = out;

    memset(sum, 0, (size_t)(a->x.members * n) * sizeof *sum);
    for (int64_t m = 0; m < a->x.members; m++, sum += n)
        for (int64_t r = first; r < first + rows; r++) {
            const float *x = row_of(&a->x, r, m);

#pragma omp simd
            for (int64_t c = 0; c < n; c++)
                sum[c] += (double)x[c];
        }
}

static void squares_leaf(void *user, int64_t first, int64_t rows, void *out)
{
    const norm_work *w = user;
    const gnt_norm_args *a = w->args;
    const int64_t n = a->x.width;
    double *sum = out;

    memset(sum, 0, (size_t)(a->x.members * n) * sizeof *sum);
    for (int64_t m = 0; m < a->x.members; m++, sum += n) {
        const float *mean = row_of(&a->mean, 0, m);

        for (int64_t r = first; r < first + rows; r++) {
            const float *x = row_of(&a->x, r, m);

#pragma omp simd
            for (int64_t c = 0; c < n; c++) {
                const double d = (double)x[c] - (double)mean[c];

                sum[c] += d * d;
            }
        }
    }
}

static int64_t total_rows(const gnt_norm_args *a)
{
    return a->phase == GNT_NORM_WHOLE ? a->x.rows : a->total_rows;
}

static double momentum_of(const gnt_norm_args *a, int64_t m)
{
    return (double)(a->momentum_hyper != 0 ? gnti_step_hyper(a->step->head.host, a->momentum_hyper)[m]
                                           : a->momentum);
}

static void update_running(const gnt_norm_args *a, int64_t m, int64_t c, double mean, double var)
{
    const double k = momentum_of(a, m), n = (double)total_rows(a),
                 unbiased = n > 1.0 ? var * n / (n - 1.0) : var;
    float *old_mean, *old_var;

    if (a->running_mean == NULL || k == 0.0)
        return;
    old_mean = row_of(a->running_mean, 0, m) + c;
    old_var = row_of(a->running_var, 0, m) + c;
    *old_mean = (float)((1.0 - k) * (double)*old_mean + k * mean);
    *old_var = (float)((1.0 - k) * (double)*old_var + k * unbiased);
}

static void store_mean(const gnt_norm_args *a, const double *sums)
{
    const double rows = (double)gnti_max_i64(total_rows(a), 1);

    for (int64_t m = 0; m < a->x.members; m++)
        for (int64_t c = 0; c < a->x.width; c++)
            row_of(&a->mean, 0, m)[c] = (float)(sums[m * a->x.width + c] / rows);
}

static void store_rstd(const gnt_norm_args *a, const double *sums)
{
    const double rows = (double)gnti_max_i64(total_rows(a), 1);

    for (int64_t m = 0; m < a->x.members; m++)
        for (int64_t c = 0; c < a->x.width; c++) {
            const double var = sums[m * a->x.width + c] / rows;

            row_of(&a->rstd, 0, m)[c] = (float)(1.0 / sqrt(var + (double)a->eps));
            if (total_rows(a) > 0)
                update_running(a, m, c, (double)row_of(&a->mean, 0, m)[c], var);
        }
}

/* Sums of x, or of the squares of what differs from its mean: (M, width) in scratch. */
static gnt_status batch_sums(gnt_stream *s, const gnt_norm_args *a, bool squares, double **out)
{
    gnt_status st = GNT_OK;
    norm_work w = { .args = a };
    cpu_tree_sum_args sum = { .tree = a->row_tree,
                              .num_rows = a->x.rows,
                              .count = a->x.members * a->x.width,
                              .work = 2.0 * (double)(a->x.rows * a->x.members) * (double)a->x.width,
                              .in_double = true,
                              .leaf = squares ? squares_leaf : sum_leaf,
                              .user = &w };
    void *sums = NULL;

    GNT_TRY(cpu_tree_sum(s, &sum, &sums));
    *out = sums;
done:
    return st;
}

static gnt_status batch_statistics(gnt_stream *s, const gnt_norm_args *a)
{
    gnt_status st = GNT_OK;
    double *sums = NULL;

    GNT_TRY(batch_sums(s, a, false, &sums));
    store_mean(a, sums);
    GNT_TRY(batch_sums(s, a, true, &sums));
    store_rstd(a, sums);
done:
    return st;
}

static void layer_statistics(const gnt_norm_args *a, int64_t r, int64_t m)
{
    const float *x = row_of(&a->x, r, m);
    const double n = (double)gnti_max_i64(a->x.width, 1);
    double sum = 0.0, squares = 0.0, mean;

    for (int64_t c = 0; c < a->x.width; c++)
        sum += (double)x[c];
    mean = sum / n;
    for (int64_t c = 0; c < a->x.width; c++)
        squares += ((double)x[c] - mean) * ((double)x[c] - mean);
    *row_of(&a->mean, r, m) = (float)mean;
    *row_of(&a->rstd, r, m) = (float)(1.0 / sqrt(squares / n + (double)a->eps));
}

/* ---- elements ---- */

/* h = (x - mean) rstd of one row, columns [c, c + n). */
static void normalise(const gnt_norm_args *a, int64_t r, int64_t m, int64_t c, int64_t n, float *h,
                      float *rstd)
{
    const float *x = row_of(&a->x, r, m) + c;
    const bool layer = a->kind == GNT_NORM_LAYER, fixed = fixed_statistics(a);
    const float *mean = layer   ? row_of(&a->mean, r, m)
                        : fixed ? row_of(a->running_mean, 0, m)
                                : row_of(&a->mean, 0, m);

    for (int64_t i = 0; i < n; i++) {
        rstd[i] = layer   ? *row_of(&a->rstd, r, m)
                  : fixed ? fixed_rstd(a, m, c + i)
                          : row_of(&a->rstd, 0, m)[c + i];
        h[i] = (x[i] - (layer ? mean[0] : mean[c + i])) * rstd[i];
    }
}

static void forward_row(const gnt_norm_args *a, int64_t r, int64_t m)
{
    float h[CPU_TILE], rstd[CPU_TILE];

    for (int64_t c = 0; c < a->x.width; c += CPU_TILE) {
        const int64_t n = gnti_min_i64(CPU_TILE, a->x.width - c);
        const float *gamma = a->gamma.buf != NULL ? row_of(&a->gamma, 0, m) + c : NULL;
        const float *beta = a->beta.buf != NULL ? row_of(&a->beta, 0, m) + c : NULL;
        float *y = row_of(&a->y, r, m) + c;

        normalise(a, r, m, c, n, h, rstd);
        for (int64_t i = 0; i < n; i++)
            y[i] = h[i] * (gamma != NULL ? gamma[i] : 1.0f) + (beta != NULL ? beta[i] : 0.0f);
    }
}

enum { ROWS_AT_ONCE = 64 };

static void forward_rows(void *user, int64_t i, int32_t thread)
{
    const gnt_norm_args *a = ((const norm_work *)user)->args;
    const int64_t end = gnti_min_i64(a->x.rows, (i + 1) * ROWS_AT_ONCE);

    (void)thread;
    for (int64_t r = i * ROWS_AT_ONCE; r < end; r++)
        for (int64_t m = 0; m < a->x.members; m++) {
            if (a->kind == GNT_NORM_LAYER)
                layer_statistics(a, r, m);
            forward_row(a, r, m);
        }
}

static gnt_status forward(gnt_stream *s, const gnt_norm_args *a)
{
    gnt_status st = GNT_OK;
    const int32_t team =
        cpu_team(s->head.device, 4.0 * (double)(a->x.rows * a->x.members) * (double)a->x.width);
    norm_work w = { .args = a };

    if (a->phase == GNT_NORM_APPLY)
        store_rstd(a, cpu_address(a->sums, a->sums_offset));
    else if (a->kind == GNT_NORM_BATCH && a->training)
        GNT_TRY(batch_statistics(s, a));
    cpu_each(team, gnti_ceil_div(a->x.rows, ROWS_AT_ONCE), &w, forward_rows);
done:
    return st;
}

/* A phase that works on no row of y. */
static gnt_status forward_phase(gnt_stream *s, const gnt_norm_args *a)
{
    gnt_status st = GNT_OK;
    double *to = cpu_address(a->sums, a->sums_offset), *sums = NULL;

    if (a->phase == GNT_NORM_MEAN) {
        store_mean(a, to);
        return GNT_OK;
    }
    GNT_TRY(batch_sums(s, a, a->phase == GNT_NORM_SQUARES, &sums));
    memcpy(to, sums, (size_t)(a->x.members * a->x.width) * sizeof *to);
done:
    return st;
}

/* ---- backward ---- */

/* (M, 2, width): sums of dy and of dy h, which are dbeta and dgamma. */
static void gradient_leaf(void *user, int64_t first, int64_t rows, void *out)
{
    const gnt_norm_args *a = ((const norm_work *)user)->args;
    const int64_t n = a->x.width;
    double *sum = out;

    memset(sum, 0, (size_t)(a->x.members * 2 * n) * sizeof *sum);
    for (int64_t m = 0; m < a->x.members; m++, sum += 2 * n)
        for (int64_t r = first; r < first + rows; r++)
            for (int64_t c = 0; c < n; c += CPU_TILE) {
                const int64_t k = gnti_min_i64(CPU_TILE, n - c);
                const float *dy = row_of(&a->dy, r, m) + c;
                float h[CPU_TILE], rstd[CPU_TILE];

                normalise(a, r, m, c, k, h, rstd);
                for (int64_t i = 0; i < k; i++) {
                    sum[c + i] += (double)dy[i];
                    sum[n + c + i] += (double)dy[i] * (double)h[i];
                }
            }
}

/* Means of t = dy gamma and t h over a row's columns. */
static void row_means(const gnt_norm_args *a, int64_t r, int64_t m, double *out_t, double *out_th)
{
    const float *dy = row_of(&a->dy, r, m), *gamma = a->gamma.buf != NULL ? row_of(&a->gamma, 0, m) : NULL;
    double t = 0.0, th = 0.0;

    for (int64_t c = 0; c < a->x.width; c += CPU_TILE) {
        const int64_t n = gnti_min_i64(CPU_TILE, a->x.width - c);
        float h[CPU_TILE], rstd[CPU_TILE];

        normalise(a, r, m, c, n, h, rstd);
        for (int64_t i = 0; i < n; i++) {
            const double v = (double)dy[c + i] * (gamma != NULL ? (double)gamma[c + i] : 1.0);

            t += v;
            th += v * (double)h[i];
        }
    }
    *out_t = t / (double)a->x.width;
    *out_th = th / (double)a->x.width;
}

static void input_row(const norm_work *w, int64_t r, int64_t m)
{
    const gnt_norm_args *a = w->args;
    const bool layer = a->kind == GNT_NORM_LAYER, fixed = fixed_statistics(a);
    double t_mean = 0.0, th_mean = 0.0;

    if (layer)
        row_means(a, r, m, &t_mean, &th_mean);
    for (int64_t c = 0; c < a->x.width; c += CPU_TILE) {
        const int64_t n = gnti_min_i64(CPU_TILE, a->x.width - c);
        const float *dy = row_of(&a->dy, r, m) + c;
        const float *gamma = a->gamma.buf != NULL ? row_of(&a->gamma, 0, m) + c : NULL;
        float h[CPU_TILE], rstd[CPU_TILE], *dx = row_of(&a->dx, r, m) + c;

        normalise(a, r, m, c, n, h, rstd);
        for (int64_t i = 0; i < n; i++) {
            const int64_t k = m * a->x.width + c + i;
            const float t = dy[i] * (gamma != NULL ? gamma[i] : 1.0f);
            const float mt = (float)(layer || fixed ? t_mean : w->mean_t[k]);
            const float mth = (float)(layer || fixed ? th_mean : w->mean_th[k]);
            const float d = rstd[i] * (t - mt - h[i] * mth);

            dx[i] = a->accumulate_dx ? dx[i] + d : d;
        }
    }
}

/* Takes the sums apart: dbeta, dgamma, and in place (sum, sum h) to means of t and t h. */
static void store_gradients(const gnt_norm_args *a, double *sums)
{
    const int64_t n = a->x.width, M = a->x.members;
    const double rows = (double)gnti_max_i64(total_rows(a), 1);

    for (int64_t m = 0; m < M; m++)
        for (int64_t c = 0; c < n; c++) {
            double *dbeta = &sums[(2 * m) * n + c], *dgamma = &sums[(2 * m + 1) * n + c];
            const double gamma = a->gamma.buf != NULL ? (double)row_of(&a->gamma, 0, m)[c] : 1.0;

            if (a->dbeta.buf != NULL)
                row_of(&a->dbeta, 0, m)[c] = (float)*dbeta;
            if (a->dgamma.buf != NULL)
                row_of(&a->dgamma, 0, m)[c] = (float)*dgamma;
            *dbeta *= gamma / rows;
            *dgamma *= gamma / rows;
        }
}

/* Member m's means lie at 2 m width (t) and (2 m + 1) width (t h): as index m * width + c they need these bases. */
static void member_means(norm_work *w, const double *sums, int64_t m, int64_t width)
{
    w->mean_t = sums + m * width;
    w->mean_th = sums + (m + 1) * width;
}

static void input_rows(void *user, int64_t i, int32_t thread)
{
    const norm_work *w = user;
    const int64_t end = gnti_min_i64(w->args->x.rows, (i + 1) * ROWS_AT_ONCE);

    (void)thread;
    for (int64_t r = i * ROWS_AT_ONCE; r < end; r++)
        input_row(w, r, w->member);
}

static gnt_status backward(gnt_stream *s, const gnt_norm_args *a)
{
    gnt_status st = GNT_OK;
    const int32_t team =
        cpu_team(s->head.device, 4.0 * (double)(a->x.rows * a->x.members) * (double)a->x.width);
    norm_work w = { .args = a };
    const cpu_tree_sum_args sum = { .tree = a->row_tree,
                                    .num_rows = a->x.rows,
                                    .count = 2 * a->x.members * a->x.width,
                                    .work = 4.0 * (double)(a->x.rows * a->x.members) * (double)a->x.width,
                                    .in_double = true,
                                    .leaf = gradient_leaf,
                                    .user = &w };
    void *out = NULL;

    if (a->phase == GNT_NORM_APPLY)
        out = cpu_address(a->sums, a->sums_offset);
    else
        GNT_TRY(cpu_tree_sum(s, &sum, &out));
    if (a->phase == GNT_NORM_SUM) {
        memcpy(cpu_address(a->sums, a->sums_offset), out, (size_t)sum.count * sizeof(double));
        return GNT_OK;
    }
    store_gradients(a, out);
    for (int64_t m = 0; m < a->x.members && a->dx.buf != NULL; m++) {
        member_means(&w, out, m, a->x.width);
        w.member = m;
        cpu_each(team, gnti_ceil_div(a->x.rows, ROWS_AT_ONCE), &w, input_rows);
    }
done:
    return st;
}

gnt_status cpu_norm(gnt_stream *s, const gnt_norm_args *a)
{
    if (a->backward)
        return backward(s, a);
    return a->phase == GNT_NORM_WHOLE || a->phase == GNT_NORM_APPLY ? forward(s, a) : forward_phase(s, a);
}
