/* SPDX-License-Identifier: Apache-2.0 */
/* Losses: value, gradient and statistics of a row in one pass (formulas: ref_loss.c).
 *
 * Rows are summed by the fixed tree in double, four numbers a member; a row's own arithmetic is float32 with sums over
 * 16 lanes. A label outside the classes is remembered (the first row that has one) and answered after the pass.
 */
#include "base/size.h"
#include "kernels/cpu/cpu_math.h"
#include "kernels/cpu/cpu_tree.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

typedef struct loss_work {
    const gnt_loss_args *args;
    const cpu_kernels *kernels;
    _Atomic int64_t bad_row; /* INT64_MAX: none */
} loss_work;

static const float *row_of(const gnt_mat_view *v, int64_t r, int64_t m)
{
    return cpu_floats(v) + cpu_member_offset(v, m) + r * v->row_stride;
}

static int32_t label_of(const gnt_loss_args *a, int64_t r)
{
    return ((const int32_t *)a->labels->head.host)[a->first_row + r];
}

static void note_bad(loss_work *w, int64_t r)
{
    int64_t seen = atomic_load(&w->bad_row);

    while (r < seen && !atomic_compare_exchange_weak(&w->bad_row, &seen, r))
        continue;
}

/* What a row's loss has less; its exponentials become the gradient but for the label's part. */
static double apart_of(const loss_work *w, int64_t r, int64_t m, float *e, float scale, float factor)
{
    const gnt_loss_args *a = w->args;
    const float gain = gnti_step_hyper(a->step->head.host, a->apart_hyper)[m];

    return (double)gain *
           (double)w->kernels->apart(e, scale, row_of(a->apart, r, m), factor, gain, a->logits.width);
}

/* e: room for the row's exponentials, the gradient's row or a buffer; rows wider than it are never buffered twice. */
static void softmax_row(loss_work *w, int64_t r, int64_t m, float weight, float factor, float *e,
                        double stats[4])
{
    const gnt_loss_args *a = w->args;
    const int64_t classes = a->logits.width, label = label_of(a, r);
    const float *z = row_of(&a->logits, r, m), *k = NULL;
    float sum, top, own;
    double loss;
    int64_t best;

    if (label < 0 || label >= classes) {
        note_bad(w, r);
        return;
    }
    if (a->class_weight != NULL)
        k = row_of(a->class_weight, 0, m);
    weight *= k != NULL ? k[label] : 1.0f;
    factor *= k != NULL ? k[label] : 1.0f;
    own = z[label];
    top = w->kernels->softmax(z, classes, e, &sum, &best);
    loss = cpu_log((double)sum) + ((double)top - (double)own);
    if (a->apart != NULL)
        loss -= apart_of(w, r, m, e, 1.0f / sum, factor);
    else if (a->grad != NULL)
        w->kernels->scale_to(e, e, factor / sum, classes);
    if (a->grad != NULL)
        e[label] -= factor;
    stats[0] += (double)weight * loss;
    stats[1] += (double)weight;
    stats[2] += best == label ? (double)weight : 0.0;
    stats[3] += 1.0;
}

static void column_row(const loss_work *w, int64_t r, int64_t m, float weight, float factor, float *grad,
                       double stats[4])
{
    const gnt_loss_args *a = w->args;
    const float *k = a->class_weight != NULL ? row_of(a->class_weight, 0, m) : NULL;
    const float loss = w->kernels->column_loss(a->kind, row_of(&a->logits, r, m), row_of(&a->target, r, m), k,
                                               factor, grad, a->logits.width);

    stats[0] += (double)weight * (double)loss;
    stats[1] += (double)weight;
    stats[3] += 1.0;
}

/* The distance of a row that is wider than a tile, a part of it at a time. */
static double apart_in_tiles(const loss_work *w, int64_t r, int64_t m, float top, double sum)
{
    const gnt_loss_args *a = w->args;
    const float *z = row_of(&a->logits, r, m), *h = row_of(a->apart, r, m);
    double squares = 0.0;

    for (int64_t c = 0; c < a->logits.width; c++) {
        const double d = (double)cpu_exp(z[c] - top) / sum - (double)h[c];

        squares += d * d;
    }
    return (double)gnti_step_hyper(a->step->head.host, a->apart_hyper)[m] * sqrt(squares);
}

/* Softmax without a gradient: exponentials go to a buffer, in pieces of it when the row is wider. */
static void softmax_only(loss_work *w, int64_t r, int64_t m, float weight, double stats[4])
{
    float e[CPU_TILE];
    const gnt_loss_args *a = w->args;
    const int64_t classes = a->logits.width, label = label_of(a, r);
    const float *z = row_of(&a->logits, r, m);
    double sum = 0.0, loss;
    float top = z[0];
    int64_t best = 0;

    if (classes <= CPU_TILE) {
        softmax_row(w, r, m, weight, 0.0f, e, stats);
        return;
    }
    if (label < 0 || label >= classes) {
        note_bad(w, r);
        return;
    }
    for (int64_t c = 1; c < classes; c++)
        if (z[c] > top) {
            top = z[c];
            best = c;
        }
    for (int64_t c = 0; c < classes; c++)
        sum += (double)cpu_exp(z[c] - top);
    weight *= a->class_weight != NULL ? row_of(a->class_weight, 0, m)[label] : 1.0f;
    loss = cpu_log(sum) + ((double)top - (double)z[label]);
    if (a->apart != NULL)
        loss -= apart_in_tiles(w, r, m, top, sum);
    stats[0] += (double)weight * loss;
    stats[1] += (double)weight;
    stats[2] += best == label ? (double)weight : 0.0;
    stats[3] += 1.0;
}

static void loss_rows(void *user, int64_t first, int64_t rows, void *out)
{
    loss_work *w = user;
    const gnt_loss_args *a = w->args;
    const int64_t classes = a->logits.width;
    const float *norm = a->grad != NULL ? gnti_step_hyper(a->step->head.host, a->norm_hyper) : NULL;
    double *stats = out;

    memset(stats, 0, (size_t)a->logits.members * 4 * sizeof *stats);
    for (int64_t r = first; r < first + rows; r++)
        for (int64_t m = 0; m < a->logits.members; m++) {
            const float weight = *row_of(&a->weight, r, m), factor = norm != NULL ? weight * norm[m] : 0.0f;
            float *grad = a->grad != NULL
                              ? cpu_floats(a->grad) + cpu_member_offset(a->grad, m) + r * a->grad->row_stride
                              : NULL;

            if (weight == 0.0f && grad != NULL)
                memset(grad, 0, (size_t)classes * sizeof *grad);
            if (weight == 0.0f)
                continue;
            if (a->kind != GNT_LOSS_SOFTMAX)
                column_row(w, r, m, weight, factor, grad, stats + 4 * m);
            else if (grad != NULL)
                softmax_row(w, r, m, weight, factor, grad, stats + 4 * m);
            else
                softmax_only(w, r, m, weight, stats + 4 * m);
        }
}

gnt_status cpu_loss(gnt_stream *s, const gnt_loss_args *a)
{
    gnt_status st = GNT_OK;
    loss_work w = { .args = a, .kernels = cpu_kernels_of(s->head.device->isa), .bad_row = INT64_MAX };
    const cpu_tree_sum_args sum = { .tree = a->row_tree,
                                    .num_rows = a->logits.rows,
                                    .count = a->logits.members * 4,
                                    .work = 8.0 * (double)(a->logits.rows * a->logits.members) *
                                            (double)a->logits.width,
                                    .in_double = true,
                                    .leaf = loss_rows,
                                    .user = &w };
    void *out = NULL;
    int64_t bad;

    GNT_TRY(cpu_tree_sum(s, &sum, &out));
    bad = atomic_load(&w.bad_row);
    GNT_CHECK(bad == INT64_MAX, GNT_ERR_ARG, "loss: row %lld has the label %d, classes go from 0 to %lld",
              (long long)(a->first_row + bad), label_of(a, bad), (long long)a->logits.width - 1);
    memcpy(cpu_address(a->stats, a->stats_offset), out, (size_t)a->logits.members * 4 * sizeof(double));
done:
    return st;
}
