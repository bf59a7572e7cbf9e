/* SPDX-License-Identifier: Apache-2.0 */
/* Never worse on validation than the best member: with w the weights of the combination and g those of greedy selection, whose first
 * round is the best member and whose other rounds are not worse,
 *
 *     (1 - t) w + t g        of the members' probabilities, with the least t = 0, 1/50, ..., 1 that is not worse
 *
 * is the result. The best of many members is the best on these rows by luck to a good part, so what is averaged should stay as wide as
 * the rows allow: on rows of no part of a split this beats both the best member and the mean of the best few (docs/ensembles.md).
 */
#include "ensemble/combine_state.h"

#include "base/alloc.h"
#include "ensemble/select.h"

enum { STEPS = 50, ROUNDS = 50, MAX_SELECTED = 32 /* of the best members greedy selection chooses among */ };

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

static gnt_status select_best(const gnti_combining *c, double *weight)
{
    gnt_status st = GNT_OK;
    int32_t order[MAX_SELECTED];
    const int32_t num = list_best(c, order);
    const float *values[MAX_SELECTED];
    double of_best[MAX_SELECTED];

    for (int32_t k = 0; k < num; k++)
        values[k] = c->values[order[k]];
    GNT_TRY(gnti_select_greedy(&c->valid, c->metric, values, num, 1, ROUNDS, of_best, NULL));
    for (int32_t k = 0; k < num; k++)
        weight[order[k]] = of_best[k];
done:
    return st;
}

/* The panel's values by these weights. */
static void average(const gnti_combining *c, const double *weight, float *out)
{
    const int64_t floats = c->valid.num_nodes * c->valid.num_classes;

    for (int64_t i = 0; i < floats; i++) {
        double sum = 0.0;

        for (int32_t m = 0; m < c->num; m++)
            sum += weight[m] * (double)c->values[m][i];
        out[i] = (float)sum;
    }
}

/* Whether out's weights are not worse: first by what the panel has, then by what would be written, which may round to something else. */
static gnt_status try_weights(const gnti_combining *c, gnti_combined *out, float *values, bool *good)
{
    gnt_status st = GNT_OK;

    average(c, out->weight, values);
    *good =
        !gnti_combine_is_worse(c, gnti_panel_metric(&c->valid, c->metric, values), out->best_valid_metric);
    if (*good) {
        GNT_TRY(gnti_combine_make(c, out));
        *good = !gnti_combine_is_worse(c, gnti_combine_quality(c, out, values), out->best_valid_metric);
    }
done:
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
    double *wanted = NULL, *selected = NULL;
    bool good = false;
    int step = 0;

    GNT_TRY(gnti_alloc_array(&wanted, c->num));
    GNT_TRY(gnti_calloc_array(&selected, c->num));
    GNT_TRY(select_best(c, selected));
    for (int32_t m = 0; m < c->num; m++)
        wanted[m] = out->weight[m];
    out->fell_back = true;
    out->how = GNTI_COMBINE_MEAN;
    for (; step <= STEPS && !good; step++) {
        const double t = (double)step / STEPS;

        for (int32_t m = 0; m < c->num; m++)
            out->weight[m] = (1.0 - t) * wanted[m] + t * selected[m];
        GNT_TRY(try_weights(c, out, values, &good));
    }
    for (int32_t m = 0; m < c->num && !good; m++) /* rounding: not even the selected ones */
        out->weight[m] = m == c->best ? 1.0 : 0.0;
    if (!good)
        GNT_TRY(gnti_combine_make(c, out));
    say_what(c, out, step - 1);
    GNT_TRY(say_why(c, out));
done:
    gnti_free(wanted);
    gnti_free(selected);
    return st;
}
