/* SPDX-License-Identifier: Apache-2.0 */
/* What a combination is worth, as JSON: the one place where labels of test rows are read. Each member is scored as it is and
 * after a temperature of its own, fitted on the same validation rows, so that a calibrated ensemble is compared with calibrated
 * members.
 */
#include "ensemble/combine.h"

#include "base/alloc.h"
#include "ensemble/combine_rule.h"
#include "ensemble/diversity.h"
#include "ensemble/ece.h"
#include "ensemble/panel.h"
#include "ensemble/temperature.h"

#include <math.h>
#include <string.h>

enum { VALID, TEST, NLL, BRIER, ECE, OWN_TEMPERATURE, NLL_AFTER, BRIER_AFTER, ECE_AFTER, NUM_SCORES };
static const char *const keys[NUM_SCORES] = { "valid_metric", "test_metric", "nll",         "brier",    "ece",
                                              "temperature",  "nll_after",   "brier_after", "ece_after" };

typedef struct scoring {
    const gnti_votes *votes;
    int32_t num;
    const gnt_dataset *data;
    const gnti_combine_config *config;
    const gnti_combined *c;
    const gnti_split *split;
    gnti_panel part[2];          /* validation, test */
    float *values[2];            /* (nodes of the panel, num_classes) room */
    float *logits[2];            /* the same */
    double (*score)[NUM_SCORES]; /* (num) */
} scoring;

/* ---- one set of predictions ---- */

static void take_member(scoring *s, const gnti_votes *v, int which, double *room)
{
    const gnti_panel *p = &s->part[which];
    const int64_t width = p->num_classes;

    for (int64_t i = 0; i < p->num_nodes; i++) {
        const float *row = v->values + p->nodes[i] * width;

        gnti_rule_take(GNTI_COMBINE_MEAN, p->kind, row, v->are_logits, width, room);
        for (int64_t k = 0; k < width; k++)
            s->values[which][i * width + k] = (float)room[k];
        if (v->are_logits)
            memcpy(s->logits[which] + i * width, row, (size_t)width * sizeof *row);
    }
    if (!v->are_logits)
        gnti_panel_logits(p, s->values[which], s->logits[which]);
}

static bool can_fit(const scoring *s)
{
    return s->data->y.kind != GNT_LABELS_REGRESSION && s->part[0].num_rows >= GNTI_TEMPERATURE_MIN_ROWS;
}

static void score_member(scoring *s, const gnti_votes *v, double *room, double score[NUM_SCORES])
{
    const int64_t cells = s->part[1].num_nodes * s->part[1].num_classes;
    gnti_calibration before, after;

    take_member(s, v, 0, room);
    take_member(s, v, 1, room);
    score[VALID] = gnti_panel_metric(&s->part[0], s->c->metric, s->values[0]);
    score[TEST] = gnti_panel_metric(&s->part[1], s->c->metric, s->values[1]);
    gnti_panel_calibration(&s->part[1], s->logits[1], &before);
    score[OWN_TEMPERATURE] = can_fit(s) ? gnti_temperature_fit(&s->part[0], s->logits[0]) : 1.0;
    for (int64_t i = 0; i < cells; i++)
        s->logits[1][i] = (float)((double)s->logits[1][i] / score[OWN_TEMPERATURE]);
    gnti_panel_calibration(&s->part[1], s->logits[1], &after);
    score[NLL] = before.nll;
    score[BRIER] = before.brier;
    score[ECE] = before.ece;
    score[NLL_AFTER] = after.nll;
    score[BRIER_AFTER] = after.brier;
    score[ECE_AFTER] = after.ece;
}

/* ---- JSON ---- */

static gnt_status put_scores(const double score[NUM_SCORES], gnti_json *o)
{
    gnt_status st = GNT_OK;

    for (int k = 0; k < NUM_SCORES; k++)
        GNT_TRY(gnti_json_set_number(o, keys[k], score[k]));
done:
    return st;
}

static gnt_status put_calibration(const gnti_calibration *c, gnti_json *o)
{
    gnt_status st = GNT_OK;
    gnti_json *bins = NULL;

    GNT_TRY(gnti_json_set_number(o, "nll", c->nll));
    GNT_TRY(gnti_json_set_number(o, "brier", c->brier));
    GNT_TRY(gnti_json_set_number(o, "ece", c->ece));
    if (c->count == 0)
        goto done;
    GNT_TRY(gnti_json_set_object(o, "bins", &bins));
    GNT_TRY(gnti_json_set_ints(bins, "count", c->bin_count, GNTI_ECE_BINS));
    GNT_TRY(gnti_json_set_numbers(bins, "confidence", c->bin_confidence, GNTI_ECE_BINS));
    GNT_TRY(gnti_json_set_numbers(bins, "accuracy", c->bin_accuracy, GNTI_ECE_BINS));
done:
    return st;
}

static gnt_status put_ece_more(const gnti_panel *p, const float *values, gnti_json *o)
{
    gnt_status st = GNT_OK;
    gnti_ece_more m;

    GNT_TRY(gnti_ece_measure(p, values, &m));
    GNT_TRY(gnti_json_set_number(o, "ece_equal_mass", m.equal_mass));
    GNT_TRY(gnti_json_set_numbers(o, "ece_interval", (const double[]){ m.low, m.high }, 2));
done:
    return st;
}

static gnt_status put_members(const scoring *s, gnti_json *out)
{
    gnt_status st = GNT_OK;
    gnti_json *list = NULL, *o = NULL;

    GNT_TRY(gnti_json_set_array(out, "members", &list));
    for (int32_t m = 0; m < s->num; m++) {
        GNT_TRY(gnti_json_append_object(list, &o));
        GNT_TRY(gnti_json_set_text(o, "name", s->votes[m].name));
        GNT_TRY(gnti_json_set_number(o, "weight", s->c->weight[m]));
        GNT_TRY(put_scores(s->score[m], o));
        if (s->c->why[m] != NULL)
            GNT_TRY(gnti_json_set_text(o, "why", s->c->why[m]));
    }
    if (s->part[0].num_rows == 0) /* nobody is the best on no row */
        return GNT_OK;
    GNT_TRY(gnti_json_set_object(out, "best_member", &o));
    GNT_TRY(gnti_json_set_text(o, "name", s->votes[s->c->best_member].name));
    GNT_TRY(put_scores(s->score[s->c->best_member], o));
done:
    return st;
}

/* Mean and sample standard deviation of each score over the members; NaN of one member. */
static gnt_status put_mean(const scoring *s, gnti_json *out)
{
    gnt_status st = GNT_OK;
    double mean[NUM_SCORES] = { 0 }, std[NUM_SCORES] = { 0 };
    gnti_json *o = NULL;

    for (int k = 0; k < NUM_SCORES; k++) {
        for (int32_t m = 0; m < s->num; m++)
            mean[k] += s->score[m][k] / s->num;
        for (int32_t m = 0; m < s->num; m++)
            std[k] += (s->score[m][k] - mean[k]) * (s->score[m][k] - mean[k]);
        std[k] = s->num > 1 ? sqrt(std[k] / (s->num - 1)) : (double)NAN;
    }
    GNT_TRY(gnti_json_set_object(out, "member_mean", &o));
    GNT_TRY(put_scores(mean, o));
    GNT_TRY(gnti_json_set_object(out, "member_std", &o));
    GNT_TRY(put_scores(std, o));
done:
    return st;
}

/* The result without its temperature: the combination's probabilities of a panel, into values. */
static gnt_status combine_again(scoring *s, int which)
{
    gnt_status st = GNT_OK;
    const gnti_panel *p = &s->part[which];
    const int64_t width = p->num_classes;
    double *sum = NULL;

    GNT_TRY(gnti_alloc_array(&sum, 2 * width));
    for (int64_t i = 0; i < p->num_nodes; i++) {
        memset(sum, 0, (size_t)width * sizeof *sum);
        for (int32_t m = 0; m < s->num; m++) {
            const gnti_votes *v = &s->votes[m];

            if (!(s->c->weight[m] > 0.0))
                continue;
            gnti_rule_take(s->c->how, p->kind, v->values + p->nodes[i] * width, v->are_logits, width,
                           sum + width);
            for (int64_t k = 0; k < width; k++)
                sum[k] += s->c->weight[m] * sum[width + k];
        }
        gnti_rule_finish(s->c->how, p->kind, 1.0, width, sum);
        for (int64_t k = 0; k < width; k++)
            s->values[which][i * width + k] = (float)sum[k];
    }
done:
    gnti_free(sum);
    return st;
}

static gnt_status put_ensemble(scoring *s, gnti_json *out)
{
    gnt_status st = GNT_OK;
    gnti_json *o = NULL, *before = NULL;
    gnti_calibration c;

    GNT_TRY(gnti_json_set_object(out, "ensemble", &o));
    gnti_panel_gather(&s->part[0], s->c->probabilities, s->values[0]);
    gnti_panel_gather(&s->part[1], s->c->probabilities, s->values[1]);
    GNT_TRY(
        gnti_json_set_number(o, "valid_metric", gnti_panel_metric(&s->part[0], s->c->metric, s->values[0])));
    GNT_TRY(
        gnti_json_set_number(o, "test_metric", gnti_panel_metric(&s->part[1], s->c->metric, s->values[1])));
    gnti_panel_logits(&s->part[1], s->values[1], s->logits[1]);
    gnti_panel_calibration(&s->part[1], s->logits[1], &c);
    GNT_TRY(put_calibration(&c, o));
    GNT_TRY(put_ece_more(&s->part[1], s->values[1], o));
    GNT_TRY(gnti_json_set_number(o, "temperature", s->c->temperature));
    GNT_TRY(gnti_json_set_bool(o, "fell_back", s->c->fell_back));
    GNT_TRY(gnti_json_set_object(o, "before_temperature", &before));
    GNT_TRY(combine_again(s, 0));
    GNT_TRY(gnti_json_set_number(before, "valid_metric",
                                 gnti_panel_metric(&s->part[0], s->c->metric, s->values[0])));
    GNT_TRY(combine_again(s, 1));
    GNT_TRY(gnti_json_set_number(before, "test_metric",
                                 gnti_panel_metric(&s->part[1], s->c->metric, s->values[1])));
    gnti_panel_logits(&s->part[1], s->values[1], s->logits[1]);
    gnti_panel_calibration(&s->part[1], s->logits[1], &c);
    GNT_TRY(put_calibration(&c, before));
    GNT_TRY(put_ece_more(&s->part[1], s->values[1], before));
done:
    return st;
}

static gnt_status put_matrix(gnti_json *o, const char *key, const double *values, int32_t num)
{
    gnt_status st = GNT_OK;
    gnti_json *rows = NULL, *row = NULL;

    GNT_TRY(gnti_json_set_array(o, key, &rows));
    for (int32_t j = 0; j < num; j++) {
        GNT_TRY(gnti_json_append_array(rows, &row));
        for (int32_t k = 0; k < num; k++)
            GNT_TRY(gnti_json_append_number(row, values[j * num + k]));
    }
done:
    return st;
}

static gnt_status put_diversity(const scoring *s, gnti_json *out)
{
    gnt_status st = GNT_OK;
    const int which = s->part[1].num_nodes > 0 ? 1 : 0;
    gnti_diversity d = { 0 };
    gnti_json *o = NULL;

    if (s->num < 2 || s->part[which].num_nodes == 0)
        goto done;
    GNT_TRY(gnti_diversity_measure(s->votes, s->num, &s->part[which], &d));
    GNT_TRY(gnti_json_set_object(out, "diversity", &o));
    GNT_TRY(gnti_json_set_text(o, "rows", which == 1 ? "test" : "validation"));
    GNT_TRY(gnti_json_set_int(o, "num_units", d.num_units));
    GNT_TRY(gnti_json_set_number(o, "mean_disagreement", d.mean_disagreement));
    GNT_TRY(gnti_json_set_number(o, "mean_q", d.mean_q));
    GNT_TRY(gnti_json_set_number(o, "mean_kl", d.mean_kl));
    GNT_TRY(gnti_json_set_number(o, "mean_distance", d.distance));
    GNT_TRY(gnti_json_set_number(o, "oracle_accuracy", d.oracle));
    GNT_TRY(gnti_json_set_numbers(o, "kl", d.kl, s->num));
    if (d.disagreement != NULL) {
        GNT_TRY(put_matrix(o, "disagreement", d.disagreement, s->num));
        GNT_TRY(put_matrix(o, "q", d.q, s->num));
    }
done:
    gnti_diversity_free(&d);
    return st;
}

static gnt_status put_setting(const scoring *s, gnti_json *out)
{
    gnt_status st = GNT_OK;
    gnti_json *o = NULL;

    GNT_TRY(gnti_json_set_text(out, "metric", gnti_metric_name(s->c->metric)));
    GNT_TRY(gnti_json_set_object(out, "combine", &o));
    GNT_TRY(gnti_json_set_text(o, "how", gnti_combine_name(s->config->how)));
    GNT_TRY(gnti_json_set_text(o, "applied", gnti_combine_name(s->c->how)));
    GNT_TRY(gnti_json_set_int(o, "rounds", s->config->rounds));
    GNT_TRY(gnti_json_set_int(o, "start", s->config->start));
    GNT_TRY(gnti_json_set_bool(o, "temperature", s->config->temperature));
    GNT_TRY(gnti_json_set_text(o, "split", s->split->name));
    GNT_TRY(gnti_json_set_int(o, "seed", (int64_t)s->config->seed));
    GNT_TRY(gnti_json_set_int(o, "num_valid", s->part[0].num_nodes));
    GNT_TRY(gnti_json_set_int(o, "num_test", s->part[1].num_nodes));
    GNT_TRY(gnti_json_set_text(o, "graph_sha256", gnti_dataset_source_graph(s->data)));
    GNT_TRY(gnti_json_set_text(o, "remark", s->c->remark));
    if (s->config->prior != NULL)
        GNT_TRY(gnti_json_set_numbers(o, "prior", s->config->prior, s->num));
done:
    return st;
}

/* ---- all of it ---- */

static gnt_status make_room(scoring *s)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_dataset_find_split(s->data, s->config->split, &s->split));
    GNT_TRY(gnti_panel_create(s->data, s->split, GNTI_VALID, &s->part[0]));
    GNT_TRY(gnti_panel_create(s->data, s->split, GNTI_TEST, &s->part[1]));
    for (int which = 0; which < 2; which++) {
        const int64_t cells = s->part[which].num_nodes * s->part[which].num_classes;

        GNT_TRY(gnti_alloc_array(&s->values[which], cells));
        GNT_TRY(gnti_alloc_array(&s->logits[which], cells));
    }
    GNT_TRY(gnti_calloc_array(&s->score, s->num));
done:
    return st;
}

gnt_status gnti_combine_facts(const gnti_votes *votes, int32_t num, const gnt_dataset *data,
                              const gnti_combine_config *config, const gnti_combined *c, gnti_json *out)
{
    gnt_status st = GNT_OK;
    scoring s = { .votes = votes, .num = num, .data = data, .config = config, .c = c };
    double *room = NULL;

    GNT_TRY(make_room(&s));
    GNT_TRY(gnti_alloc_array(&room, data->y.num_classes));
    for (int32_t m = 0; m < num; m++)
        score_member(&s, &votes[m], room, s.score[m]);
    GNT_TRY(put_setting(&s, out));
    GNT_TRY(put_ensemble(&s, out));
    GNT_TRY(put_mean(&s, out));
    GNT_TRY(put_members(&s, out));
    GNT_TRY(put_diversity(&s, out));
done:
    for (int which = 0; which < 2; which++) {
        gnti_panel_free(&s.part[which]);
        gnti_free(s.values[which]);
        gnti_free(s.logits[which]);
    }
    gnti_free(s.score);
    gnti_free(room);
    return st;
}
