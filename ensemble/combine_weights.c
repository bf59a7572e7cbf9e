/* SPDX-License-Identifier: Apache-2.0 */
/* Weights and why a member has none; folds of the validation rows, so that what calibrates has not selected.
 *
 * Folds are dealt like cards: rows in the order of (draw of seed and imported row, row), one after the other to fold 0, 1, ...
 * A dataset that is stored in another order has the same folds.
 */
#include "ensemble/combine_state.h"

#include "base/alloc.h"
#include "base/philox.h"
#include "ensemble/combine_rule.h"
#include "ensemble/select.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- folds ---- */

typedef struct card {
    uint64_t draw;
    int64_t row, position;
} card;

static int compare_cards(const void *a, const void *b)
{
    const card *x = a, *y = b;

    if (x->draw != y->draw)
        return x->draw < y->draw ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

gnt_status gnti_combine_deal(gnti_combining *c)
{
    gnt_status st = GNT_OK;
    const int64_t n = c->valid.num_nodes, *origin = NULL;
    const gnti_philox_key key = gnti_seed_key(c->config.seed);
    card *cards = NULL;

    GNT_TRY(gnti_dataset_get_origin(c->data, &origin));
    GNT_TRY(gnti_alloc_array(&cards, n));
    GNT_TRY(gnti_alloc_array(&c->fold, n));
    for (int64_t i = 0; i < n; i++) {
        const int64_t row = origin != NULL ? origin[c->valid.nodes[i]] : c->valid.nodes[i];
        uint32_t words[4];

        gnti_draw_quad(key, GNTI_DRAW_SPLIT, 1, 0, row, 0, words);
        cards[i] = (card){ .draw = (uint64_t)words[0] << 32 | words[1], .row = row, .position = i };
    }
    qsort(cards, (size_t)n, sizeof *cards, compare_cards);
    for (int64_t i = 0; i < n; i++)
        c->fold[cards[i].position] = (int32_t)(i % c->num_folds);
done:
    gnti_free(cards);
    return st;
}

gnti_panel gnti_combine_fold(const gnti_combining *c, int32_t fold, bool inside, int64_t *rows)
{
    gnti_panel view = c->valid;

    view.rows = rows;
    view.num_rows = 0;
    for (int64_t i = 0; i < c->valid.num_nodes; i++)
        if ((c->fold[i] == fold) == inside)
            rows[view.num_rows++] = i;
    return view;
}

/* ---- why a weight is 0 ---- */

/* A member before or among the used ones with the very same values on the panel; -1: none. */
static int32_t find_twin(const gnti_combining *c, int32_t m, const double *weight)
{
    const size_t bytes = (size_t)(c->valid.num_nodes * c->valid.num_classes) * sizeof(float);

    for (int32_t k = 0; k < c->num; k++)
        if (k != m && weight[k] > 0.0 && bytes > 0 && memcmp(c->values[k], c->values[m], bytes) == 0)
            return k;
    return -1;
}

static void explain_greedy(const gnti_combining *c, int32_t m, const gnti_selection *s, const double *weight,
                           gnti_text *t)
{
    const int32_t twin = find_twin(c, m, weight);
    int64_t first = -1;

    for (int64_t k = s->rounds - 1; k >= 0; k--)
        first = s->chosen[k] == m ? k : first;
    if (twin >= 0)
        gnti_text_printf(t, "its predictions on validation are those of '%s'", c->votes[twin].name);
    else if (first >= 0)
        gnti_text_printf(t, "first taken in round %lld, best after round %lld already", (long long)first + 1,
                         (long long)s->used);
    else
        gnti_text_printf(t, "not the best one to add in any of %lld rounds", (long long)s->rounds);
    gnti_text_printf(t, " (alone %.4g, best %.4g)", c->quality[m], c->quality[c->best]);
}

static gnt_status take_reasons(const gnti_combining *c, const double *weight, const gnti_selection *s,
                               double guess, char **why)
{
    gnt_status st = GNT_OK;

    for (int32_t m = 0; m < c->num; m++) {
        gnti_text t = { 0 };

        if (weight[m] > 0.0)
            continue;
        if (s != NULL)
            explain_greedy(c, m, s, weight, &t);
        else
            gnti_text_printf(&t, "no better on validation than a constant guess (%s %.4g, the guess %.4g)",
                             gnti_metric_name(c->metric), c->quality[m], guess);
        GNT_TRY(gnti_text_take(&t, &why[m]));
    }
done:
    return st;
}

/* ---- weights ---- */

bool gnti_combine_selects(const gnti_combining *c)
{
    return c->config.how == GNTI_COMBINE_WEIGHTED || c->config.how == GNTI_COMBINE_GREEDY;
}

static gnt_status weigh_by_quality(const gnti_combining *c, const gnti_panel *panel, double *weight,
                                   char **why)
{
    gnt_status st = GNT_OK;
    double *quality = NULL, guess = 0.0;

    GNT_TRY(gnti_alloc_array(&quality, c->num));
    for (int32_t m = 0; m < c->num; m++)
        quality[m] = gnti_panel_metric(panel, c->metric, c->values[m]);
    gnti_select_weighted(panel, c->metric, quality, c->num, weight, &guess);
    if (why != NULL)
        GNT_TRY(take_reasons(c, weight, NULL, guess, why));
done:
    gnti_free(quality);
    return st;
}

static gnt_status weigh_by_prior(const gnti_combining *c, double *weight, char **why)
{
    gnt_status st = GNT_OK;
    const double *prior = c->config.prior;
    double total = 0.0;

    for (int32_t m = 0; m < c->num; m++) {
        GNT_CHECK(prior == NULL || (isfinite(prior[m]) && prior[m] >= 0.0), GNT_ERR_ARG,
                  "member '%s' has the relative weight %g", c->votes[m].name, prior[m]);
        total += prior != NULL ? prior[m] : 1.0;
    }
    GNT_CHECK(total > 0.0, GNT_ERR_ARG, "relative weights of %d members are all 0", c->num);
    for (int32_t m = 0; m < c->num; m++) {
        weight[m] = (prior != NULL ? prior[m] : 1.0) / total;
        if (why != NULL && !(weight[m] > 0.0))
            GNT_TRY(gnti_strdup(&why[m], "the method gave it no weight"));
    }
done:
    return st;
}

gnt_status gnti_combine_weights(const gnti_combining *c, const gnti_panel *panel, double *weight, char **why)
{
    gnt_status st = GNT_OK;
    const gnti_greedy how = { .metric = c->metric, .start = c->config.start, .rounds = c->config.rounds };
    gnti_selection s = { 0 };

    if (c->config.how == GNTI_COMBINE_WEIGHTED) {
        GNT_TRY(weigh_by_quality(c, panel, weight, why));
    } else if (c->config.how == GNTI_COMBINE_GREEDY) {
        GNT_TRY(gnti_select_greedy(panel, &how, (const float *const *)c->values, c->num, weight, &s));
        if (why != NULL)
            GNT_TRY(take_reasons(c, weight, &s, 0.0, why));
    } else {
        GNT_TRY(weigh_by_prior(c, weight, why));
    }
done:
    gnti_selection_free(&s);
    return st;
}

/* ---- cross-fit ---- */

static void combine_positions(const gnti_combining *c, const gnti_panel *view, const double *weight,
                              float *values)
{
    const int64_t width = view->num_classes;

    for (int64_t k = 0; k < view->num_rows; k++) {
        for (int64_t at = view->rows[k] * width; at < (view->rows[k] + 1) * width; at++) {
            double sum = 0.0;

            for (int32_t m = 0; m < c->num; m++)
                sum += weight[m] * (double)c->values[m][at];
            values[at] = (float)sum;
        }
    }
}

gnt_status gnti_combine_cross_fit(const gnti_combining *c, float *logits)
{
    gnt_status st = GNT_OK;
    int64_t *rows = NULL;
    double *weight = NULL;

    GNT_TRY(gnti_alloc_array(&rows, c->valid.num_nodes));
    GNT_TRY(gnti_alloc_array(&weight, c->num));
    for (int32_t f = 0; f < c->num_folds; f++) {
        const gnti_panel others = gnti_combine_fold(c, f, false, rows);

        GNT_TRY(gnti_combine_weights(c, &others, weight, NULL));
        const gnti_panel own = gnti_combine_fold(c, f, true, rows);

        combine_positions(c, &own, weight, logits);
    }
    gnti_panel_logits(&c->valid, logits, logits);
done:
    gnti_free(rows);
    gnti_free(weight);
    return st;
}
