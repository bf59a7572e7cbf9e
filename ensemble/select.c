/* SPDX-License-Identifier: Apache-2.0 */
/* Greedy selection with replacement (Caruana, Niculescu-Mizil, Crew, Ksikes, ICML 2004): starting from the `start` best members (their
 * sorted initialisation; with few rows selection from nothing mostly ends with one or two), each round adds the member that makes the
 * mean of all that were added best on the panel; a member that is added often weighs much.
 *
 *   rounds 1 to start: the members in the order of their own loss
 *   round k: j minimises loss((S + P_j) / k), S = sum of what was added; losses that differ by 1e-12 relatively are equal, from
 *            round 2 on they are rounded to 6 decimals first
 *   among equals: who was added before; then who leaves the lower mean -log p; then the lower index. No random choice
 *   weights: how often each was added in the shortest beginning of the rounds, at least `start`, with the least loss
 * About 2 rounds members rows classes operations; only S is held beside the members' values.
 */
#include "ensemble/select.h"

#include "base/alloc.h"

#include <math.h>

#define TIE 1e-12

typedef struct greedy {
    const gnti_panel *panel;
    gnti_metric metric;
    const float *const *values;
    int32_t num;
    double *sum;      /* (num_nodes, num_classes) S */
    float *mean;      /* (num_nodes, num_classes) of a candidate */
    double *loss;     /* (num) of this round's candidates */
    double *alone;    /* (num) loss of each member alone */
    uint8_t *added;   /* (num) */
    gnti_selection s; /* so far */
} greedy;

static double loss_of(gnti_metric metric, double quality)
{
    if (isnan(quality))
        return (double)INFINITY;
    return gnti_metric_higher_is_better(metric) ? 1.0 - quality : quality;
}

static bool is_less(double a, double b)
{
    return a < b - TIE * fmax(fabs(a), fabs(b));
}

/* (S + P_j) / (k + 1) of the rows that count. */
static void mean_with(const greedy *g, int32_t j)
{
    const int64_t width = g->panel->num_classes;
    const double share = 1.0 / (double)(g->s.rounds + 1);

    for (int64_t k = 0; k < g->panel->num_rows; k++) {
        const int64_t end = (g->panel->rows[k] + 1) * width;

        for (int64_t at = end - width; at < end; at++)
            g->mean[at] = (float)((g->sum[at] + (double)g->values[j][at]) * share);
    }
}

static double candidate_loss(const greedy *g, int32_t j)
{
    mean_with(g, j);
    return loss_of(g->metric, gnti_panel_metric(g->panel, g->metric, g->mean));
}

/* Among the members of equal loss. */
static int32_t break_tie(const greedy *g, double least)
{
    int32_t best = -1, equals = 0;
    bool known = false;
    double best_nll = 0.0;

    for (int32_t j = 0; j < g->num; j++)
        known = known || (g->added[j] && !is_less(least, g->loss[j]));
    for (int32_t j = 0; j < g->num; j++) {
        if (is_less(least, g->loss[j]) || (known && !g->added[j]))
            continue;
        best = equals == 0 ? j : best;
        equals++;
    }
    for (int32_t j = equals > 1 ? 0 : g->num; j < g->num; j++) {
        double nll = 0.0;

        if (is_less(least, g->loss[j]) || (known && !g->added[j]))
            continue;
        mean_with(g, j);
        nll = gnti_panel_loss(g->panel, g->mean);
        if (j == best || is_less(nll, best_nll)) {
            best = j;
            best_nll = nll;
        }
    }
    return best;
}

static void add_member(greedy *g, int32_t j, double loss)
{
    const int64_t cells = g->panel->num_nodes * g->panel->num_classes;

    for (int64_t i = 0; i < cells; i++)
        g->sum[i] += (double)g->values[j][i];
    g->added[j] = 1;
    g->s.chosen[g->s.rounds] = j;
    g->s.loss[g->s.rounds] = loss;
    g->s.rounds++;
}

static gnt_status check_defined(const greedy *g, double loss)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(
        isfinite(loss), GNT_ERR_USAGE,
        "the metric '%s' is undefined on the %lld validation rows that select members: choose another one",
        gnti_metric_name(g->metric), (long long)g->panel->num_rows);
done:
    return st;
}

static gnt_status one_round(greedy *g)
{
    gnt_status st = GNT_OK;
    double least = (double)INFINITY;
    int32_t best = 0;

    for (int32_t j = 0; j < g->num; j++) {
        const double loss = candidate_loss(g, j);

        g->loss[j] = g->s.rounds > 0 ? round(loss * 1e6) / 1e6 : loss;
        least = fmin(least, g->loss[j]);
    }
    GNT_TRY(check_defined(g, least));
    best = break_tie(g, least);
    add_member(g, best, candidate_loss(g, best));
done:
    return st;
}

/* Of the members that are not in yet: the best, then who has the lower -log p, then the lower index. */
static gnt_status add_best(greedy *g)
{
    gnt_status st = GNT_OK;
    double best_nll = 0.0;
    int32_t best = -1;

    for (int32_t j = 0; j < g->num; j++) {
        const double nll = g->added[j] ? 0.0 : gnti_panel_loss(g->panel, g->values[j]);

        if (g->added[j] || (best >= 0 && is_less(g->alone[best], g->alone[j])))
            continue;
        if (best < 0 || is_less(g->alone[j], g->alone[best]) || is_less(nll, best_nll)) {
            best = j;
            best_nll = nll;
        }
    }
    GNT_TRY(check_defined(g, g->alone[best]));
    add_member(g, best, candidate_loss(g, best));
done:
    return st;
}

static void count_prefix(gnti_selection *s, int32_t num, int64_t start, double *weight)
{
    double least = (double)INFINITY;

    for (int64_t k = start - 1; k < s->rounds; k++) {
        if (k == start - 1 || is_less(s->loss[k], least)) {
            least = s->loss[k];
            s->used = k + 1;
        }
    }
    for (int32_t j = 0; j < num; j++)
        weight[j] = 0.0;
    for (int64_t k = 0; k < s->used; k++)
        weight[s->chosen[k]] += 1.0 / (double)s->used;
}

gnt_status gnti_select_greedy(const gnti_panel *panel, const gnti_greedy *how, const float *const *values,
                              int32_t num, double *weight, gnti_selection *selection)
{
    gnt_status st = GNT_OK;
    const int64_t cells = panel->num_nodes * panel->num_classes;
    const gnti_metric metric = how->metric;
    const int64_t rounds = how->rounds, start = gnti_min_i64(how->start, gnti_min_i64(num, rounds));
    greedy g = { .panel = panel, .metric = metric, .values = values, .num = num };

    GNT_CHECK(num >= 1 && rounds >= 1 && start >= 1, GNT_ERR_ARG,
              "greedy selection of %d members in %lld rounds, from %lld", num, (long long)rounds,
              (long long)how->start);
    GNT_TRY(gnti_calloc_array(&g.sum, cells));
    GNT_TRY(gnti_calloc_array(&g.mean, cells));
    GNT_TRY(gnti_alloc_array(&g.loss, num));
    GNT_TRY(gnti_alloc_array(&g.alone, num));
    GNT_TRY(gnti_calloc_array(&g.added, num));
    GNT_TRY(gnti_alloc_array(&g.s.chosen, rounds));
    GNT_TRY(gnti_alloc_array(&g.s.loss, rounds));
    for (int32_t j = 0; j < num; j++)
        g.alone[j] = loss_of(metric, gnti_panel_metric(panel, metric, values[j]));
    while (g.s.rounds < start)
        GNT_TRY(add_best(&g));
    while (g.s.rounds < rounds)
        GNT_TRY(one_round(&g));
    count_prefix(&g.s, num, start, weight);
    if (selection != NULL) {
        *selection = g.s;
        g.s = (gnti_selection){ 0 };
    }
done:
    gnti_free(g.sum);
    gnti_free(g.mean);
    gnti_free(g.loss);
    gnti_free(g.alone);
    gnti_free(g.added);
    gnti_selection_free(&g.s);
    return st;
}

void gnti_selection_free(gnti_selection *s)
{
    gnti_free(s->chosen);
    gnti_free(s->loss);
    *s = (gnti_selection){ 0 };
}

/* ---- in proportion to quality ---- */

/* What always answering the same reaches. */
static double constant_guess(const gnti_panel *p, gnti_metric metric)
{
    double best = 0.0;

    if (metric == GNTI_METRIC_ROC_AUC)
        return 0.5;
    if (metric != GNTI_METRIC_ACCURACY && metric != GNTI_METRIC_MICRO_F1)
        return 0.0;
    if (p->kind != GNT_LABELS_CLASS) {
        int64_t ones = 0, known = 0;

        for (int64_t k = 0; k < p->num_rows; k++)
            for (int64_t c = 0; c < p->num_classes; c++) {
                const float y = p->target[p->rows[k] * p->num_classes + c];

                known += !isnan(y);
                ones += y > 0.5f;
            }
        best = known > 0 ? (double)gnti_max_i64(ones, known - ones) / (double)known : 0.0;
        return metric == GNTI_METRIC_ACCURACY ? best : 0.0;
    }
    for (int64_t c = 0; c < p->num_classes; c++) {
        int64_t count = 0;

        for (int64_t k = 0; k < p->num_rows; k++)
            count += p->class_of[p->rows[k]] == c;
        best = fmax(best, p->num_rows > 0 ? (double)count / (double)p->num_rows : 0.0);
    }
    return best;
}

void gnti_select_weighted(const gnti_panel *panel, gnti_metric metric, const double *quality, int32_t num,
                          double *weight, double *guess)
{
    const bool higher = gnti_metric_higher_is_better(metric);
    double total = 0.0;

    *guess = higher ? constant_guess(panel, metric) : 0.0;
    for (int32_t m = 0; m < num; m++) {
        weight[m] = !isfinite(quality[m]) ? 0.0
                    : higher              ? fmax(quality[m] - *guess, 0.0)
                                          : 1.0 / fmax(quality[m], GNTI_PROBABILITY_FLOOR);
        total += weight[m];
    }
    for (int32_t m = 0; m < num; m++)
        weight[m] = total > 0.0 ? weight[m] / total : 1.0 / (double)num;
}
