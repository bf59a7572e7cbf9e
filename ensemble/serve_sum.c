/* SPDX-License-Identifier: Apache-2.0 */
/* With p the combined probabilities, p_m those of a member, w_m its weight (sum 1), rows in double:
 *
 *   sum            sum_m w_m (p_m, z_m or votes, as the rule averages them: combine_rule.h)
 *   entropy        - sum_c p_c log p_c (nats); multi-label: the mean over labels of that of (p, 1 - p); regression: none
 *   disagreement   the weight of the members whose likeliest class is not the combined one: W - chosen[likeliest of p]; multi-label: the
 *                  mean over labels of the weight on the other side of 1/2; regression: the weighted deviation, mean over outputs, by
 *                  Welford's update: D += w (x - mean before) (x - mean after)
 * Members come in an order that devices do not change, so neither do the bits.
 */
#include "ensemble/serve_sum.h"

#include "base/alloc.h"
#include "base/team.h"
#include "ensemble/combine_rule.h"

#include <math.h>
#include <omp.h>

enum { ROWS_PER_THREAD = 4096 };

static gnt_status find_threads(const gnti_serve *s, int32_t *out)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_team_threads(0, 1, out));
    *out = (int32_t)gnti_max_i64(gnti_min_i64(*out, s->data->num_nodes / ROWS_PER_THREAD), 1);
done:
    return st;
}

gnt_status gnti_serve_sum_begin(const gnti_serve *s, gnti_serve_sum *out)
{
    gnt_status st = GNT_OK;
    const int64_t n = s->data->num_nodes;
    size_t cells = 0;

    out->s = s;
    if (!gnti_serve_is_root(s))
        return GNT_OK;
    GNT_TRY(gnti_mul_size((size_t)n, (size_t)s->num_classes, &cells));
    GNT_TRY(gnti_calloc_array(&out->sum, (int64_t)cells));
    GNT_TRY(gnti_calloc_array(&out->chosen, (int64_t)cells));
    GNT_TRY(gnti_alloc_array(&out->probabilities, (int64_t)cells));
    GNT_TRY(gnti_alloc_array(&out->disagreement, n));
    if (s->file.kind != GNT_LABELS_REGRESSION)
        GNT_TRY(gnti_alloc_array(&out->entropy, n));
done:
    return st;
}

void gnti_serve_sum_free(gnti_serve_sum *c)
{
    gnti_free(c->sum);
    gnti_free(c->chosen);
    gnti_free(c->probabilities);
    gnti_free(c->entropy);
    gnti_free(c->disagreement);
    *c = (gnti_serve_sum){ 0 };
}

/* ---- a member ---------------------------------------------------------------------------------------------------------- */

static void take_row(const gnti_serve_sum *c, double weight, const float *z, int64_t row, double *one)
{
    const gnti_serve *s = c->s;
    const int64_t classes = s->num_classes;
    const gnt_label_kind kind = s->file.kind;
    double *sum = c->sum + row * classes, *chosen = c->chosen + row * classes;
    const double after = c->weight + weight;

    gnti_rule_take(s->file.how, kind, z, true, classes, one);
    if (kind == GNT_LABELS_CLASS)
        chosen[gnti_argmax(z, classes)] += weight;
    for (int64_t k = 0; k < classes; k++) {
        const double x = (double)z[k], before = c->weight > 0.0 ? sum[k] / c->weight : 0.0;

        sum[k] += weight * one[k];
        if (kind == GNT_LABELS_MULTI)
            chosen[k] += z[k] > 0.0f ? weight : 0.0;
        else if (kind == GNT_LABELS_REGRESSION)
            chosen[k] += weight * (x - before) * (x - sum[k] / after);
    }
}

gnt_status gnti_serve_sum_take(void *user, int32_t member, const float *logits)
{
    gnt_status st = GNT_OK;
    gnti_serve_sum *c = user;
    const gnti_serve *s = c->s;
    const int64_t classes = s->num_classes;
    const double weight = s->file.weight[s->members[member].number];
    double *room = NULL;
    int32_t threads = 1;

    GNT_TRY(find_threads(s, &threads));
    GNT_TRY(gnti_alloc_array(&room, classes * threads));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < s->data->num_nodes; i++)
        take_row(c, weight, logits + i * classes, i, room + classes * omp_get_thread_num());
    c->weight += weight;
done:
    gnti_free(room);
    return st;
}

/* ---- all --------------------------------------------------------------------------------------------------------------- */

static double plogp(double p)
{
    return p > 0.0 ? -p * log(p) : 0.0;
}

static double entropy_of(const float *p, int64_t classes, bool multi)
{
    double sum = 0.0;

    for (int64_t c = 0; c < classes; c++)
        sum += plogp((double)p[c]) + (multi ? plogp(1.0 - (double)p[c]) : 0.0);
    return multi ? sum / (double)classes : sum;
}

static double disagreement_of(const gnti_serve_sum *c, int64_t row)
{
    const int64_t classes = c->s->num_classes;
    const gnt_label_kind kind = c->s->file.kind;
    const float *p = c->probabilities + row * classes;
    const double *chosen = c->chosen + row * classes;
    double sum = 0.0;

    if (kind == GNT_LABELS_CLASS)
        return c->weight - chosen[gnti_argmax(p, classes)];
    for (int64_t k = 0; k < classes; k++)
        sum += kind == GNT_LABELS_REGRESSION ? fmax(chosen[k], 0.0) / c->weight
               : p[k] > 0.5f                 ? c->weight - chosen[k]
                                             : chosen[k];
    sum /= (double)classes;
    return kind == GNT_LABELS_REGRESSION ? sqrt(sum) : sum;
}

static void finish_row(const gnti_serve_sum *c, int64_t row)
{
    const gnti_serve *s = c->s;
    const int64_t classes = s->num_classes;
    double *sum = c->sum + row * classes;
    float *p = c->probabilities + row * classes;

    gnti_rule_finish(s->file.how, s->file.kind, s->file.temperature, classes, sum);
    for (int64_t k = 0; k < classes; k++)
        p[k] = (float)sum[k];
    c->disagreement[row] = (float)disagreement_of(c, row);
    if (c->entropy != NULL)
        c->entropy[row] = (float)entropy_of(p, classes, s->file.kind == GNT_LABELS_MULTI);
}

gnt_status gnti_serve_sum_finish(gnti_serve_sum *c)
{
    gnt_status st = GNT_OK;
    int32_t threads = 1;

    if (c->sum == NULL) /* the root's */
        return GNT_OK;
    GNT_TRY(find_threads(c->s, &threads));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < c->s->data->num_nodes; i++)
        finish_row(c, i);
done:
    return st;
}
