/* SPDX-License-Identifier: Apache-2.0 */
/* Never worse on validation than the best member: with w the weights of the combination and g_s those of greedy selection from the s best
 * members,
 *
 *     (1 - t) w + t g_s        of the members' probabilities, with the least t = 0, 1/50, ..., 1 that is not worse
 *
 * is looked for, and over s = 1, ..., 8 the one that is widest (the least sum of squared weights) is the result. From s = 1 there is always
 * one: the first round is the best member, the others are not worse. The best of many members is the best on these rows by luck to a good
 * part, so what is averaged stays as wide as the rows allow: on rows of no part of a split this beats the best member, the mean of the best
 * few and greedy selection (docs/ensembles.md).
 */
#include "ensemble/combine_state.h"

#include "base/alloc.h"
#include "ensemble/select.h"

#include <string.h>

enum {
    STEPS = 50,
    ROUNDS = 50,
    STARTS = 8,
    MAX_SELECTED = 32 /* of the best members greedy selection chooses among */
};

/* The best members in their order: out (at most MAX_SELECTED); their number. */
static int32_t list_best(const gnti_combining *c, int32_t *out)
{
    int32_t num = 0;

    for (int32_t m = 0; m < c->num; m++) {
        int32_t at = num;

        for (; at > 0 && gnti_combine_is_better(c, m, out[at - 1]); at--)
            if (at < MAX_SELECTED)
                out[at] = out[at - 1];
        if (at < MAX_SELECTED)
            out[at] = m;
        num = num < MAX_SELECTED ? num + 1 : num;
    }
    return num;
}

static gnt_status select_from(const gnti_combining *c, int32_t start, double *weight)
{
    gnt_status st = GNT_OK;
    int32_t order[MAX_SELECTED];
    const int32_t num = list_best(c, order);
    const float *values[MAX_SELECTED] = { NULL };
    double of_best[MAX_SELECTED] = { 0.0 };
    const gnti_greedy how = { .metric = c->metric, .start = start, .rounds = ROUNDS };

    for (int32_t k = 0; k < num; k++)
        values[k] = c->values[order[k]];
    GNT_TRY(gnti_select_greedy(&c->valid, &how, values, num, of_best, NULL));
    for (int32_t m = 0; m < c->num; m++)
        weight[m] = 0.0;
    for (int32_t k = 0; k < num; k++)
        weight[order[k]] = of_best[k];
done:
    return st;
}

/* The panel's values by these weights. */
static void average(const gnti_combining *c, const double *weight, double *out)
{
    const int64_t floats = c->valid.num_nodes * c->valid.num_classes;

    memset(out, 0, (size_t)floats * sizeof *out);
    for (int32_t m = 0; m < c->num; m++)
        for (int64_t i = 0; i < floats && weight[m] > 0.0; i++)
            out[i] += weight[m] * (double)c->values[m][i];
}

/* The least step from one mean towards another that is not worse, -1: there is none. values: room as the panel's. */
static int step_towards(const gnti_combining *c, const double *from, const double *to, float *values)
{
    const int64_t floats = c->valid.num_nodes * c->valid.num_classes;

    for (int step = 0; step <= STEPS; step++) {
        const double t = (double)step / STEPS;

        for (int64_t i = 0; i < floats; i++)
            values[i] = (float)((1.0 - t) * from[i] + t * to[i]);
        if (!gnti_combine_is_worse(c, gnti_panel_metric(&c->valid, c->metric, values), c->quality[c->best]))
            return step;
    }
    return -1;
}

static double sum_of_squares(const double *weight, int32_t num)
{
    double sum = 0.0;

    for (int32_t m = 0; m < num; m++)
        sum += weight[m] * weight[m];
    return sum;
}

/* The widest of what all starts lead to; values: room as the panel's. step: -1 where there is none. */
static gnt_status find_widest(const gnti_combining *c, const double *wanted, float *values, double *widest,
                              int *out_step)
{
    gnt_status st = GNT_OK;
    const int64_t floats = c->valid.num_nodes * c->valid.num_classes;
    double *weight = NULL, *from = NULL, *to = NULL;

    *out_step = -1;
    GNT_TRY(gnti_alloc_array(&weight, c->num));
    GNT_TRY(gnti_alloc_array(&from, floats + 1));
    GNT_TRY(gnti_alloc_array(&to, floats + 1));
    average(c, wanted, from);
    for (int32_t start = 1; start <= STARTS && start <= c->num && *out_step != 0; start++) {
        int step;

        GNT_TRY(select_from(c, start, weight));
        average(c, weight, to);
        step = step_towards(c, from, to, values);
        for (int32_t m = 0; m < c->num; m++)
            weight[m] = (1.0 - (double)step / STEPS) * wanted[m] + (double)step / STEPS * weight[m];
        if (step < 0 || (*out_step >= 0 && sum_of_squares(weight, c->num) >= sum_of_squares(widest, c->num)))
            continue;
        memcpy(widest, weight, (size_t)c->num * sizeof *widest);
        *out_step = step;
    }
done:
    gnti_free(weight);
    gnti_free(from);
    gnti_free(to);
    return st;
}

/* Why a member has no weight, or none where it has one now. */
static gnt_status say_why(const gnti_combining *c, gnti_combined *out)
{
    gnt_status st = GNT_OK;

    for (int32_t m = 0; m < c->num; m++) {
        gnti_text t = { 0 };

        if (out->weight[m] > 0.0) {
            gnti_free(out->why[m]);
            out->why[m] = NULL;
        } else if (out->why[m] == NULL) {
            gnti_text_printf(
                &t, "the combination with it was worse on validation than '%s' alone (%s %.4g, %.4g)",
                c->votes[c->best].name, gnti_metric_name(c->metric), out->valid_metric,
                out->best_valid_metric);
            GNT_TRY(gnti_text_take(&t, &out->why[m]));
        }
    }
done:
    return st;
}

static void say_what(gnti_combining *c, const gnti_combined *out, int step)
{
    gnti_text_printf(
        &c->remark, "The combination reaches %s %.4g on validation, its best member '%s' alone %.4g: ",
        gnti_metric_name(c->metric), out->valid_metric, c->votes[c->best].name, out->best_valid_metric);
    if (out->weight[c->best] >= 1.0)
        gnti_text_printf(&c->remark, "this member is the result. ");
    else if (step == 0)
        gnti_text_printf(&c->remark, "the mean of probabilities, which is not worse, is the result. ");
    else
        gnti_text_printf(&c->remark, "%d %% of the weight goes by greedy selection, which is not worse. ",
                         100 * step / STEPS);
}

gnt_status gnti_combine_fall_back(gnti_combining *c, gnti_combined *out, float *values)
{
    gnt_status st = GNT_OK;
    double *wanted = NULL;
    int step = 0;

    GNT_TRY(gnti_alloc_array(&wanted, c->num));
    for (int32_t m = 0; m < c->num; m++)
        wanted[m] = out->weight[m];
    out->fell_back = true;
    out->how = GNTI_COMBINE_MEAN;
    GNT_TRY(find_widest(c, wanted, values, out->weight, &step));
    GNT_TRY(gnti_combine_make(c, out));
    /* what is written may round to something else than what the panel has */
    if (step < 0 || gnti_combine_is_worse(c, gnti_combine_quality(c, out, values), out->best_valid_metric)) {
        for (int32_t m = 0; m < c->num; m++)
            out->weight[m] = m == c->best ? 1.0 : 0.0;
        GNT_TRY(gnti_combine_make(c, out));
    }
    say_what(c, out, step);
    GNT_TRY(say_why(c, out));
done:
    gnti_free(wanted);
    return st;
}
