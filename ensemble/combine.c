/* SPDX-License-Identifier: Apache-2.0 */
/* Members become one predictor, from validation labels alone:
 *
 *   weights        by the rule; a rule that selects sees all validation rows, or one half of them from 2000 on
 *   fall back      the combination's metric on all validation rows is below that of the best member: combine_fallback.c
 *   temperature    on the other half; below 2000 rows on a cross-fit, in which each row is combined by weights that did not see it;
 *                  on all rows where nothing was selected
 * A temperature that lowers the metric (numbers that round to one another) is taken back. Labels of test rows are never looked at.
 */
#include "ensemble/combine.h"

#include "base/alloc.h"
#include "ensemble/combine_rule.h"
#include "ensemble/combine_state.h"
#include "ensemble/temperature.h"

#include <math.h>
#include <string.h>

/* ---- beginning and end ---- */

void gnti_combined_free(gnti_combined *c, int32_t num)
{
    for (int32_t m = 0; c->why != NULL && m < num; m++)
        gnti_free(c->why[m]);
    gnti_free(c->why);
    gnti_free(c->weight);
    gnti_free(c->remark);
    gnti_free(c->probabilities);
    *c = (gnti_combined){ 0 };
}

static void end(gnti_combining *c)
{
    for (int32_t m = 0; c->values != NULL && m < c->num; m++)
        gnti_free(c->values[m]);
    gnti_free(c->values);
    gnti_free(c->quality);
    gnti_free(c->loss);
    gnti_free(c->fold);
    gnti_text_free(&c->remark);
    gnti_panel_free(&c->valid);
}

/* Values of a member on the panel, and how good it is alone. */
static gnt_status take_member(gnti_combining *c, int32_t m, double *room)
{
    gnt_status st = GNT_OK;
    const gnti_panel *p = &c->valid;
    const int64_t width = p->num_classes;
    const gnti_votes *v = &c->votes[m];

    GNT_TRY(gnti_alloc_array(&c->values[m], p->num_nodes * width));
    for (int64_t i = 0; i < p->num_nodes; i++) {
        gnti_rule_take(GNTI_COMBINE_MEAN, p->kind, v->values + p->nodes[i] * width, v->are_logits, width,
                       room);
        for (int64_t k = 0; k < width; k++)
            c->values[m][i * width + k] = (float)room[k];
    }
    c->quality[m] = gnti_panel_metric(p, c->metric, c->values[m]);
    c->loss[m] = gnti_panel_loss(p, c->values[m]);
done:
    return st;
}

bool gnti_combine_is_better(const gnti_combining *c, int32_t a, int32_t b)
{
    const double sign = gnti_metric_higher_is_better(c->metric) ? 1.0 : -1.0;
    const double x = sign * c->quality[a], y = sign * c->quality[b];

    if (isnan(x) || isnan(y))
        return !isnan(x) || (isnan(y) && c->loss[a] < c->loss[b]);
    return x > y || (!(x < y) && c->loss[a] < c->loss[b]);
}

static gnt_status begin(gnti_combining *c)
{
    gnt_status st = GNT_OK;
    const gnti_split *split = NULL;
    double *room = NULL;

    GNT_TRY(gnti_combine_check(c->votes, c->num, c->data));
    GNT_TRY(gnti_metric_resolve(c->config.metric, c->data->y.kind, &c->metric));
    GNT_CHECK(c->config.how != GNTI_COMBINE_VOTE || c->data->y.kind != GNT_LABELS_REGRESSION, GNT_ERR_USAGE,
              "members of a regression cannot vote: use mean, weighted or greedy");
    GNT_TRY(gnti_dataset_find_split(c->data, c->config.split, &split));
    GNT_TRY(gnti_panel_create(c->data, split, GNTI_VALID, &c->valid));
    GNT_CHECK(c->valid.num_nodes > 0 || !gnti_combine_selects(c), GNT_ERR_USAGE,
              "split '%s' has no labelled validation rows, which weigh members: use mean, logits or vote",
              split->name);
    GNT_TRY(gnti_calloc_array(&c->values, c->num));
    GNT_TRY(gnti_alloc_array(&c->quality, c->num));
    GNT_TRY(gnti_alloc_array(&c->loss, c->num));
    GNT_TRY(gnti_alloc_array(&room, c->data->y.num_classes));
    for (int32_t m = 0; m < c->num; m++) {
        GNT_TRY(take_member(c, m, room));
        c->best = m > 0 && gnti_combine_is_better(c, m, c->best) ? m : c->best;
    }
    c->num_folds = !gnti_combine_selects(c)                          ? 0
                   : c->valid.num_nodes >= GNTI_COMBINE_SPLIT_ROWS   ? 2
                   : c->valid.num_nodes >= GNTI_TEMPERATURE_MIN_ROWS ? GNTI_COMBINE_FOLDS
                                                                     : 0;
    if (c->num_folds > 0)
        GNT_TRY(gnti_combine_deal(c));
done:
    gnti_free(room);
    return st;
}

/* ---- steps ---- */

static gnt_status weigh(gnti_combining *c, gnti_combined *out)
{
    gnt_status st = GNT_OK;
    int64_t *rows = NULL;
    gnti_panel panel = c->valid;

    GNT_TRY(gnti_alloc_array(&out->weight, c->num));
    GNT_TRY(gnti_calloc_array(&out->why, c->num));
    if (c->num_folds == 2) {
        GNT_TRY(gnti_alloc_array(&rows, c->valid.num_nodes));
        panel = gnti_combine_fold(c, 0, true, rows);
    }
    GNT_TRY(gnti_combine_weights(c, &panel, out->weight, out->why));
    out->how = c->config.how;
done:
    gnti_free(rows);
    return st;
}

gnt_status gnti_combine_make(const gnti_combining *c, gnti_combined *out)
{
    gnt_status st = GNT_OK;
    const gnti_combine_rule rule = {
        .how = out->how, .kind = c->data->y.kind, .weight = out->weight, .temperature = out->temperature
    };
    const float **values = NULL;
    bool *are_logits = NULL;

    GNT_TRY(gnti_alloc_array(&values, c->num));
    GNT_TRY(gnti_alloc_array(&are_logits, c->num));
    for (int32_t m = 0; m < c->num; m++) {
        values[m] = c->votes[m].values;
        are_logits[m] = c->votes[m].are_logits;
    }
    GNT_TRY(gnti_combine_apply(&rule, values, are_logits, c->num, c->data->num_nodes, c->data->y.num_classes,
                               out->probabilities));
done:
    gnti_free(values);
    gnti_free(are_logits);
    return st;
}

double gnti_combine_quality(const gnti_combining *c, const gnti_combined *out, float *values)
{
    gnti_panel_gather(&c->valid, out->probabilities, values);
    return gnti_panel_metric(&c->valid, c->metric, values);
}

bool gnti_combine_is_worse(const gnti_combining *c, double a, double b)
{
    return gnti_metric_higher_is_better(c->metric) ? a < b : a > b;
}

/* The temperature by rows that the weights have not seen. values (positions, num_classes) are the result's; room. */
static gnt_status fit_temperature(gnti_combining *c, const gnti_combined *out, float *values, double *fitted)
{
    gnt_status st = GNT_OK;
    gnti_panel panel = c->valid;
    int64_t *rows = NULL;

    if (c->num_folds > 2 && !out->fell_back)
        GNT_TRY(gnti_combine_cross_fit(c, values));
    else
        gnti_panel_logits(&c->valid, values, values);
    if (c->num_folds == 2 && !out->fell_back) {
        GNT_TRY(gnti_alloc_array(&rows, c->valid.num_nodes));
        panel = gnti_combine_fold(c, 1, true, rows);
    }
    *fitted = gnti_temperature_fit(&panel, values);
    if (panel.num_rows < GNTI_TEMPERATURE_FEW_ROWS)
        gnti_text_printf(
            &c->remark,
            "The temperature %.3g was fitted on %lld validation rows; with fewer than %d it may hurt. ",
            *fitted, (long long)panel.num_rows, GNTI_TEMPERATURE_FEW_ROWS);
    if (*fitted <= GNTI_TEMPERATURE_MIN || *fitted >= GNTI_TEMPERATURE_MAX)
        gnti_text_printf(&c->remark, "The temperature stands at its limit %.3g: %s. ", *fitted,
                         *fitted < 1.0 ? "validation rows leave no doubt"
                                       : "the probabilities say little about validation rows");
done:
    gnti_free(rows);
    return st;
}

static gnt_status calibrate(gnti_combining *c, gnti_combined *out, float *values)
{
    gnt_status st = GNT_OK;
    const double before = gnti_combine_quality(c, out, values);
    double after = 0.0;

    if (!c->config.temperature)
        goto done;
    if (c->data->y.kind == GNT_LABELS_REGRESSION || c->valid.num_nodes < GNTI_TEMPERATURE_MIN_ROWS) {
        gnti_text_printf(&c->remark,
                         c->data->y.kind == GNT_LABELS_REGRESSION
                             ? "A regression has no temperature. "
                             : "No temperature was fitted: fewer than 10 labelled validation rows. ");
        goto done;
    }
    GNT_TRY(fit_temperature(c, out, values, &out->temperature));
    GNT_TRY(gnti_combine_make(c, out));
    after = gnti_combine_quality(c, out, values);
    if (gnti_combine_is_worse(c, after, before)) {
        gnti_text_printf(&c->remark, "The temperature %.3g was taken back: it lowered %s on validation. ",
                         out->temperature, gnti_metric_name(c->metric));
        out->temperature = 1.0;
        GNT_TRY(gnti_combine_make(c, out));
    }
done:
    return st;
}

gnt_status gnti_combine_members(const gnti_votes *votes, int32_t num, const gnt_dataset *data,
                                const gnti_combine_config *config, gnti_combined *out)
{
    gnt_status st = GNT_OK;
    gnti_combining c = { .votes = votes, .num = num, .data = data, .config = *config };
    gnti_combined made = { .temperature = 1.0 };
    float *values = NULL;

    GNT_TRY(begin(&c));
    GNT_TRY(gnti_combine_tell_twins(&c));
    GNT_TRY(weigh(&c, &made));
    GNT_TRY(gnti_alloc_array(&made.probabilities, data->num_nodes * data->y.num_classes));
    GNT_TRY(gnti_alloc_array(&values, c.valid.num_nodes * data->y.num_classes));
    GNT_TRY(gnti_combine_make(&c, &made));
    made.best_member = c.best;
    made.metric = c.metric;
    made.valid_metric = gnti_combine_quality(&c, &made, values);
    made.best_valid_metric = c.quality[c.best];
    if (c.valid.num_nodes == 0)
        gnti_text_printf(&c.remark,
                         "No validation row has a label: the result was not compared with its members. ");
    if (num > 1 && gnti_combine_is_worse(&c, made.valid_metric, made.best_valid_metric))
        GNT_TRY(gnti_combine_fall_back(&c, &made, values));
    GNT_TRY(calibrate(&c, &made, values));
    GNT_TRY(gnti_text_take(&c.remark, &made.remark));
    if (made.remark[0] != '\0')
        made.remark[strlen(made.remark) - 1] = '\0'; /* the space behind the last sentence */
    *out = made;
    made = (gnti_combined){ 0 };
done:
    gnti_combined_free(&made, num);
    gnti_free(values);
    end(&c);
    return st;
}
