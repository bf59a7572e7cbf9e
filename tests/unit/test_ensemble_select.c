/* SPDX-License-Identifier: Apache-2.0 */
/* Greedy selection against one that materialises everything, its rules of ties one by one, weights by quality; temperature against a
 * fine grid; diversity and ECE against counts by hand.
 */
#include "tests/support/votes_case.h"

#include "ensemble/diversity.h"
#include "ensemble/panel.h"
#include "ensemble/select.h"
#include "ensemble/temperature.h"

#include <math.h>
#include <string.h>

enum { MAX_MEMBERS = 6, MAX_ROUNDS = 12 };

typedef struct panel_case {
    votes_case c;
    gnti_panel panel;
    float *values[MAX_MEMBERS];
} panel_case;

static void make_panel(panel_case *p, gnt_label_kind kind, int64_t num_valid, int64_t width,
                       const double *skill, int32_t num, uint64_t seed)
{
    const gnti_split *split = NULL;

    votes_case_make(&p->c, kind, num_valid + 4, width, num_valid, skill, num, seed);
    gnt_assert_ok(gnti_dataset_find_split(p->c.data, NULL, &split));
    gnt_assert_ok(gnti_panel_create(p->c.data, split, GNTI_VALID, &p->panel));
    for (int32_t m = 0; m < num; m++) {
        if (kind != GNT_LABELS_REGRESSION)
            votes_case_to_probabilities(&p->c, m);
        gnt_assert_ok(gnti_alloc_array(&p->values[m], num_valid * width));
        gnti_panel_gather(&p->panel, p->c.votes[m].values, p->values[m]);
    }
}

static void free_panel(panel_case *p)
{
    for (int32_t m = 0; m < p->c.num; m++)
        gnti_free(p->values[m]);
    gnti_panel_free(&p->panel);
    votes_case_free(&p->c);
}

/* ---- the slow greedy selection ---- */

static double accuracy_of_mean(const panel_case *p, const int *counts, int total, double *nll)
{
    const int64_t width = p->panel.num_classes;
    int64_t right = 0;

    *nll = 0.0;
    for (int64_t i = 0; i < p->panel.num_nodes; i++) {
        double mean[8] = { 0 };
        int64_t best = 0;

        for (int64_t k = 0; k < width; k++) {
            for (int32_t m = 0; m < p->c.num; m++)
                mean[k] += counts[m] * (double)p->values[m][i * width + k];
            mean[k] = (double)(float)(mean[k] / total);
            best = mean[k] > mean[best] ? k : best;
        }
        right += best == p->panel.class_of[i];
        *nll -= log(mean[p->panel.class_of[i]]);
    }
    return (double)right / (double)p->panel.num_nodes;
}

/* One round: the choice by the written rules, from all candidates' losses and likelihoods. */
static int slow_choice(const panel_case *p, const int *counts, int total)
{
    double loss[MAX_MEMBERS], nll[MAX_MEMBERS];
    int best = -1;

    for (int m = 0; m < p->c.num; m++) {
        int with[MAX_MEMBERS];

        memcpy(with, counts, sizeof with);
        with[m]++;
        loss[m] = 1.0 - accuracy_of_mean(p, with, total + 1, &nll[m]);
        if (total > 0)
            loss[m] = round(loss[m] * 1e6) / 1e6;
    }
    for (int m = 0; m < p->c.num; m++) {
        bool better = best < 0 || loss[m] < loss[best] - 1e-12;

        if (!better && fabs(loss[m] - loss[best]) <= 1e-12) {
            if ((counts[m] > 0) != (counts[best] > 0))
                better = counts[m] > 0;
            else
                better = nll[m] < nll[best] * (1.0 - 1e-12);
        }
        best = better ? m : best;
    }
    return best;
}

/* A round of the start: of the members that are not in yet the best alone, then the likelier one, then the earlier. */
static int slow_start(const panel_case *p, const int *counts)
{
    double best_nll = 0.0, best_loss = 0.0;
    int best = -1;

    for (int m = 0; m < p->c.num; m++) {
        int one[MAX_MEMBERS] = { 0 };
        double nll, loss;

        one[m] = 1;
        loss = 1.0 - accuracy_of_mean(p, one, 1, &nll);
        if (counts[m] > 0 || (best >= 0 && loss > best_loss + 1e-12))
            continue;
        if (best < 0 || loss < best_loss - 1e-12 || nll < best_nll * (1.0 - 1e-12)) {
            best = m;
            best_loss = loss;
            best_nll = nll;
        }
    }
    return best;
}

static void greedy_is_what_the_slow_one_chooses(void **state)
{
    (void)state;
    const double skill[] = { 0.5, 0.9, 0.7, 0.3, 0.8, 0.6 };
    int several = 0;

    for (uint64_t seed = 1; seed <= 40; seed++) {
        panel_case p = { 0 };
        gnti_selection s = { 0 };
        double weight[MAX_MEMBERS], nll, least = 2.0;
        int counts[MAX_MEMBERS] = { 0 }, used = 0, start = 1 + (int)(seed / 2 % 4), in = 0;

        make_panel(&p, GNT_LABELS_CLASS, 12 + (int64_t)seed, 3, skill, 2 + (int32_t)(seed % 5), seed);
        gnt_assert_ok(gnti_select_greedy(&p.panel, &(gnti_greedy){ GNTI_METRIC_ACCURACY, start, MAX_ROUNDS },
                                         (const float *const *)p.values, p.c.num, weight, &s));
        start = start < p.c.num ? start : p.c.num;
        assert_int_equal(s.rounds, MAX_ROUNDS);
        for (int k = 0; k < MAX_ROUNDS; k++) {
            const int choice = k < start ? slow_start(&p, counts) : slow_choice(&p, counts, k);

            assert_int_equal(s.chosen[k], choice);
            counts[choice]++;
            const double loss = 1.0 - accuracy_of_mean(&p, counts, k + 1, &nll);

            assert_true(fabs(s.loss[k] - loss) < 1e-12);
            used = k + 1 >= start && loss < least - 1e-12 ? k + 1 : used;
            least = k + 1 >= start ? fmin(least, loss) : least;
        }
        assert_int_equal(s.used, used);
        memset(counts, 0, sizeof counts);
        for (int k = 0; k < used; k++)
            counts[s.chosen[k]]++;
        for (int m = 0; m < p.c.num; m++)
            assert_true(fabs(weight[m] - (double)counts[m] / used) < 1e-12);
        for (int m = 0; m < p.c.num; m++)
            in += counts[m] > 0;
        assert_true(in >= start); /* the start stays in */
        several += used > start;
        gnti_selection_free(&s);
        free_panel(&p);
    }
    assert_true(several > 10); /* the cases are not all won by one member alone */
}

/* Labels and outputs: the loss after each round is that of the mean of what was taken so far, and no other member would have left less. */
static void rounds_leave_the_loss_of_their_mean(void **state)
{
    (void)state;
    static const gnt_label_kind kinds[] = { GNT_LABELS_MULTI, GNT_LABELS_REGRESSION };
    static const gnti_metric metrics[] = { GNTI_METRIC_MICRO_F1, GNTI_METRIC_MSE };
    enum { ROWS = 60, CELLS = 3 * ROWS };

    for (int kind = 0; kind < 2; kind++) {
        panel_case p = { 0 };
        gnti_selection s = { 0 };
        double weight[4], sum[CELLS] = { 0 };
        float mean[CELLS];

        make_panel(&p, kinds[kind], ROWS, 3, (const double[]){ 1.5, 1.2, 1.4, 1.3 }, 4, 13);
        gnt_assert_ok(gnti_select_greedy(&p.panel, &(gnti_greedy){ metrics[kind], 1, 8 },
                                         (const float *const *)p.values, 4, weight, &s));
        for (int k = 0; k < 8; k++) {
            for (int m = 0; m < 4; m++) {
                for (int i = 0; i < CELLS; i++)
                    mean[i] = (float)((sum[i] + (double)p.values[m][i]) / (k + 1));
                const double quality = gnti_panel_metric(&p.panel, metrics[kind], mean);
                const double loss = kind == 0 ? 1.0 - quality : quality;

                assert_true(s.loss[k] <= loss + 1e-6);
                if (m == s.chosen[k])
                    assert_true(fabs(s.loss[k] - loss) < 1e-7);
            }
            for (int i = 0; i < CELLS; i++)
                sum[i] += (double)p.values[s.chosen[k]][i];
        }
        assert_true(s.used > 1); /* noise of four members averages out */
        gnti_selection_free(&s);
        free_panel(&p);
    }
}

/* Of every multiset of at most 4 of 4 members, none of which the greedy one begins with is better in its first round. */
static void first_round_is_the_best_member(void **state)
{
    (void)state;
    const double skill[] = { 0.5, 0.9, 0.7, 0.3 };

    for (uint64_t seed = 1; seed <= 10; seed++) {
        panel_case p = { 0 };
        double weight[4], nll;

        make_panel(&p, GNT_LABELS_CLASS, 40, 3, skill, 4, seed);
        gnt_assert_ok(gnti_select_greedy(&p.panel, &(gnti_greedy){ GNTI_METRIC_ACCURACY, 1, 1 },
                                         (const float *const *)p.values, 4, weight, NULL));
        for (int m = 0; m < 4; m++) {
            int one[MAX_MEMBERS] = { 0 }, chosen[MAX_MEMBERS] = { 0 };

            one[m] = 1;
            for (int k = 0; k < 4; k++)
                chosen[k] = weight[k] > 0.5;
            assert_true(accuracy_of_mean(&p, one, 1, &nll) <= accuracy_of_mean(&p, chosen, 1, &nll) + 1e-12);
        }
        free_panel(&p);
    }
}

/* Two rows of truth 0 and 1; all members get both right, so that only the rules of ties speak. */
static void ties_go_by_their_rules(void **state)
{
    (void)state;
    panel_case p = { 0 };
    double weight[3];
    gnti_selection s = { 0 };
    const float unsure[] = { 0.6f, 0.4f, 0.4f, 0.6f }, sure[] = { 0.9f, 0.1f, 0.1f, 0.9f };

    make_panel(&p, GNT_LABELS_CLASS, 2, 2, (const double[]){ 1.0, 1.0, 1.0 }, 3, 1);
    p.panel.class_of[0] = 0;
    p.panel.class_of[1] = 1;
    memcpy(p.values[0], unsure, sizeof unsure);
    memcpy(p.values[1], sure, sizeof sure);
    memcpy(p.values[2], sure, sizeof sure);
    gnt_assert_ok(gnti_select_greedy(&p.panel, &(gnti_greedy){ GNTI_METRIC_ACCURACY, 1, 4 },
                                     (const float *const *)p.values, 3, weight, &s));
    /* lower -log p: 1 or 2; lower index: 1; then the one that was chosen before, again and again */
    assert_int_equal(s.chosen[0], 1);
    assert_int_equal(s.chosen[1], 1);
    assert_int_equal(s.chosen[3], 1);
    assert_int_equal(s.used, 1);
    assert_true(weight[1] >= 1.0 && weight[0] <= 0.0 && weight[2] <= 0.0);
    gnti_selection_free(&s);
    free_panel(&p);
}

static void undefined_metric_is_told(void **state)
{
    (void)state;
    panel_case p = { 0 };
    double weight[2];

    make_panel(&p, GNT_LABELS_CLASS, 10, 2, (const double[]){ 1.0, 1.0 }, 2, 1);
    for (int64_t i = 0; i < 10; i++)
        p.panel.class_of[i] = 1; /* no ROC AUC without both classes */
    gnt_assert_status(gnti_select_greedy(&p.panel, &(gnti_greedy){ GNTI_METRIC_ROC_AUC, 1, 3 },
                                         (const float *const *)p.values, 2, weight, NULL),
                      GNT_ERR_USAGE);
    gnt_assert_error_has("roc-auc", "undefined");
    free_panel(&p);
}

static void quality_weighs_what_is_better_than_guessing(void **state)
{
    (void)state;
    panel_case p = { 0 };
    double weight[3], guess;

    make_panel(&p, GNT_LABELS_CLASS, 10, 3, (const double[]){ 1.0, 1.0, 1.0 }, 3, 1);
    for (int64_t i = 0; i < 10; i++)
        p.panel.class_of[i] = i < 4 ? 0 : i < 7 ? 1 : 2; /* the most frequent class: 4 of 10 */
    gnti_select_weighted(&p.panel, GNTI_METRIC_ACCURACY, (const double[]){ 0.8, 0.3, 0.6 }, 3, weight,
                         &guess);
    assert_true(fabs(guess - 0.4) < 1e-12);
    assert_true(fabs(weight[0] - 4.0 / 6.0) < 1e-12 && weight[1] <= 0.0 &&
                fabs(weight[2] - 2.0 / 6.0) < 1e-12);
    gnti_select_weighted(&p.panel, GNTI_METRIC_MAE, (const double[]){ 0.5, 0.25, 1.0 }, 3, weight, &guess);
    assert_true(fabs(weight[0] - 2.0 / 7.0) < 1e-12 && fabs(weight[1] - 4.0 / 7.0) < 1e-12);
    gnti_select_weighted(&p.panel, GNTI_METRIC_ACCURACY, (const double[]){ 0.1, 0.3, (double)NAN }, 3, weight,
                         &guess);
    assert_true(fabs(weight[0] - 1.0 / 3.0) < 1e-12 && fabs(weight[2] - 1.0 / 3.0) < 1e-12);
    free_panel(&p);
}

/* The metric of probabilities is that of the logits they come from. */
static void metrics_of_probabilities_are_those_of_logits(void **state)
{
    (void)state;
    static const gnt_label_kind kinds[] = { GNT_LABELS_CLASS, GNT_LABELS_MULTI };

    for (int kind = 0; kind < 2; kind++) {
        for (int metric = GNTI_METRIC_ACCURACY; metric <= GNTI_METRIC_AP; metric++) {
            panel_case p = { 0 };
            float logits[300];

            make_panel(&p, kinds[kind], 100, 3, (const double[]){ 0.7 }, 1, 17);
            gnti_panel_logits(&p.panel, p.values[0], logits);
            const gnti_scored scored = { .logits = logits,
                                         .num_classes = 3,
                                         .kind = kinds[kind],
                                         .class_of = p.panel.class_of,
                                         .target = p.panel.target,
                                         .rows = p.panel.rows,
                                         .num_rows = 100 };
            const double want = gnti_metric_compute((gnti_metric)metric, &scored, p.panel.scratch);

            assert_true(want > 0.3 && want < 0.99);
            assert_true(fabs(gnti_panel_metric(&p.panel, (gnti_metric)metric, p.values[0]) - want) < 1e-6);
            free_panel(&p);
        }
    }
}

/* ---- temperature ---- */

static void fit_against_grid(gnt_label_kind kind, double scale, uint64_t seed)
{
    panel_case p = { 0 };
    float *logits = NULL;
    const double doubt = 1.0 / 161.0;
    double best = 0.0, least = (double)INFINITY, fitted;

    make_panel(&p, kind, 160, 3, (const double[]){ 1.1 }, 1, seed);
    gnt_assert_ok(gnti_alloc_array(&logits, 160 * 3));
    gnti_panel_logits(&p.panel, p.values[0], logits);
    for (int64_t i = 0; i < 160 * 3; i++)
        logits[i] = (float)((double)logits[i] * scale);
    for (int k = 0; k <= 6000; k++) { /* T from 0.05 to 20, 0.1 % apart */
        const double t = 0.05 * pow(400.0, k / 6000.0);
        const double nll = gnti_temperature_at(&p.panel, logits, 1.0 / t, doubt).nll;

        best = nll < least ? t : best;
        least = fmin(least, nll);
    }
    fitted = gnti_temperature_fit(&p.panel, logits);
    assert_true(fabs(fitted / best - 1.0) < 0.002);
    assert_true(gnti_temperature_at(&p.panel, logits, 1.0 / fitted, doubt).nll <= least + 1e-12);
    gnti_free(logits);
    free_panel(&p);
}

static void temperature_is_the_best_of_a_fine_grid(void **state)
{
    (void)state;
    static const double scales[] = { 0.01, 0.3, 1.0, 4.0, 30.0, 1000.0 };

    for (size_t k = 0; k < sizeof scales / sizeof scales[0]; k++) {
        fit_against_grid(GNT_LABELS_CLASS, scales[k], 3 + k);
        fit_against_grid(GNT_LABELS_MULTI, scales[k], 3 + k);
    }
}

/* The point's nll is the panel's loss at T = 1, its slope and curvature those of differences. */
static void slopes_are_those_of_differences(void **state)
{
    (void)state;
    static const gnt_label_kind kinds[] = { GNT_LABELS_CLASS, GNT_LABELS_MULTI };

    for (int k = 0; k < 2; k++) {
        panel_case p = { 0 };
        float *logits = NULL;
        const double h = 1e-4;

        make_panel(&p, kinds[k], 50, 3, (const double[]){ 1.1 }, 1, 9);
        gnt_assert_ok(gnti_alloc_array(&logits, 150));
        gnti_panel_logits(&p.panel, p.values[0], logits);
        assert_true(fabs(gnti_temperature_at(&p.panel, logits, 1.0, 0.0).nll -
                         gnti_panel_loss(&p.panel, p.values[0])) < 1e-6);
        for (double u = 0.25; u < 5.0; u *= 2.0) {
            const gnti_temperature_point a = gnti_temperature_at(&p.panel, logits, u - h, 0.1);
            const gnti_temperature_point b = gnti_temperature_at(&p.panel, logits, u + h, 0.1);
            const gnti_temperature_point at = gnti_temperature_at(&p.panel, logits, u, 0.1);

            assert_true(fabs((b.nll - a.nll) / (2.0 * h) - at.slope) < 1e-6);
            assert_true(fabs((b.slope - a.slope) / (2.0 * h) - at.curvature) < 1e-6);
        }
        gnti_free(logits);
        free_panel(&p);
    }
}

/* n rows of two classes with logits 1 and -1, all right or all wrong: with a doubt d = 1 / (n + 1) the slope is 0 where
 * p = 1 - d / 2, so T = 2 / ln((2 - d) / d): no limit, and surer the more rows there are. */
static void few_rows_do_not_run_to_the_limit(void **state)
{
    (void)state;
    for (int64_t n = 10; n <= 160; n *= 4) {
        panel_case p = { 0 };
        float logits[320];
        const double d = 1.0 / (double)(n + 1), want = 2.0 / log((2.0 - d) / d);

        make_panel(&p, GNT_LABELS_CLASS, n, 2, (const double[]){ 1.0 }, 1, 1);
        for (int64_t i = 0; i < n; i++) {
            p.panel.class_of[i] = (int32_t)(i % 2);
            logits[2 * i] = i % 2 == 0 ? 1.0f : -1.0f;
            logits[2 * i + 1] = -logits[2 * i];
        }
        assert_true(fabs(gnti_temperature_fit(&p.panel, logits) / want - 1.0) < 1e-6);
        for (int64_t i = 0; i < 2 * n; i++)
            logits[i] = -logits[i]; /* all wrong: never sure enough of being unsure */
        assert_true(gnti_temperature_fit(&p.panel, logits) >= GNTI_TEMPERATURE_MAX);
        for (int64_t i = 0; i < 2 * n; i++)
            logits[i] = 0.25f; /* says nothing: nothing to fit */
        const double flat = gnti_temperature_fit(&p.panel, logits);

        assert_true(flat >= 1.0 && flat <= 1.0);
        free_panel(&p);
    }
}

/* ---- scores and diversity ---- */

/* Five rows of two classes: confidences .95 .95 .65 .65 .55, right, right, wrong, right, wrong. Bins of 1/15: 0.95 in (14/15, 1],
 * 0.65 in (9/15, 10/15], 0.55 in (8/15, 9/15]. ECE = 2/5 |1 - .95| + 2/5 |.5 - .65| + 1/5 |0 - .55| = 0.19. */
static void ece_is_what_a_hand_counts(void **state)
{
    (void)state;
    static const float top[] = { 0.95f, 0.95f, 0.65f, 0.65f, 0.55f };
    static const bool right[] = { true, true, false, true, false };
    panel_case p = { 0 };
    gnti_calibration c;
    double nll = 0.0, brier = 0.0;
    float logits[10];

    make_panel(&p, GNT_LABELS_CLASS, 5, 2, (const double[]){ 1.0 }, 1, 1);
    for (int64_t i = 0; i < 5; i++) {
        const double truth = right[i] ? (double)top[i] : 1.0 - (double)top[i];

        p.panel.class_of[i] = right[i] ? 0 : 1;
        p.values[0][2 * i] = top[i];
        p.values[0][2 * i + 1] = 1.0f - top[i];
        nll -= log(truth) / 5.0;
        brier += 2.0 * (1.0 - truth) * (1.0 - truth) / 5.0;
    }
    gnti_panel_logits(&p.panel, p.values[0], logits);
    gnti_panel_calibration(&p.panel, logits, &c);
    assert_true(fabs(c.ece - 0.19) < 1e-6 && fabs(c.nll - nll) < 1e-6 && fabs(c.brier - brier) < 1e-6);
    assert_int_equal(c.bin_count[14], 2);
    assert_int_equal(c.bin_count[9], 2);
    assert_int_equal(c.bin_count[8], 1);
    assert_true(fabs(gnti_panel_loss(&p.panel, p.values[0]) - nll) < 1e-6);
    free_panel(&p);
}

/* Three members over six rows of class 0 and 1; choices as written below, truth is 0 throughout. */
static void diversity_is_what_a_hand_counts(void **state)
{
    (void)state;
    static const int choice[3][6] = { { 0, 0, 0, 1, 1, 1 }, { 0, 0, 1, 1, 0, 1 }, { 1, 0, 0, 0, 1, 1 } };
    panel_case p = { 0 };
    gnti_diversity d = { 0 };
    double kl = 0.0;

    make_panel(&p, GNT_LABELS_CLASS, 6, 2, (const double[]){ 1.0, 1.0, 1.0 }, 3, 1);
    for (int64_t i = 0; i < 6; i++) {
        double mean[2] = { 0 };

        p.panel.class_of[i] = 0;
        for (int32_t m = 0; m < 3; m++) {
            float *row = votes_case_values(&p.c, m) + p.panel.nodes[i] * 2;

            row[0] = choice[m][i] == 0 ? 0.8f : 0.2f;
            row[1] = 1.0f - row[0];
            mean[0] += (double)row[0] / 3.0;
            mean[1] += (double)row[1] / 3.0;
        }
        for (int c = 0; c < 2; c++) {
            const double own = (double)p.c.votes[0].values[p.panel.nodes[i] * 2 + c];

            kl += own * log(own / mean[c]) / 6.0;
        }
    }
    gnt_assert_ok(gnti_diversity_measure(p.c.votes, 3, &p.panel, &d));
    assert_int_equal(d.num_units, 6);
    /* 0 and 1 differ in rows 2 and 4; 0 and 2 in rows 0 and 3; 1 and 2 in rows 0, 2, 3, 4 */
    assert_true(fabs(d.disagreement[1] - 2.0 / 6.0) < 1e-12 && fabs(d.disagreement[2] - 2.0 / 6.0) < 1e-12);
    assert_true(fabs(d.disagreement[5] - 4.0 / 6.0) < 1e-12 && d.disagreement[4] <= 0.0);
    assert_true(fabs(d.mean_disagreement - 8.0 / 18.0) < 1e-12);
    /* 0 and 1: both right 2, both wrong 2, each alone 1: (4 - 1) / (4 + 1); 1 and 2: 1, 1, 2, 2: (1 - 4) / (1 + 4) */
    assert_true(fabs(d.q[1] - 0.6) < 1e-12 && fabs(d.q[5] + 0.6) < 1e-12 && isnan(d.q[0]));
    assert_true(fabs(d.oracle - 5.0 / 6.0) < 1e-12); /* nobody is right in row 5 */
    assert_true(fabs(d.kl[0] - kl) < 1e-7);
    /* where two differ, |p - p'| = sqrt(2) 0.6: 8 of 18 pairs */
    assert_true(fabs(d.distance - 0.6 * 8.0 / 18.0) < 1e-6);
    gnti_diversity_free(&d);
    free_panel(&p);
}

static void diversity_of_labels_and_outputs(void **state)
{
    (void)state;
    panel_case p = { 0 };
    gnti_diversity d = { 0 };

    make_panel(&p, GNT_LABELS_MULTI, 700, 3, (const double[]){ 1.0, 1.0 }, 2, 3); /* several pieces */
    int64_t differ = 0;

    for (int64_t i = 0; i < 2100; i++)
        differ += (p.values[0][i] > 0.5f) != (p.values[1][i] > 0.5f);
    gnt_assert_ok(gnti_diversity_measure(p.c.votes, 2, &p.panel, &d));
    assert_int_equal(d.num_units, 2100);
    assert_true(fabs(d.mean_disagreement - (double)differ / 2100.0) < 1e-12);
    assert_true(d.mean_kl > 0.0);
    gnti_diversity_free(&d);
    free_panel(&p);
    memset(&p, 0, sizeof p);
    make_panel(&p, GNT_LABELS_REGRESSION, 300, 2, (const double[]){ 1.0, 2.0 }, 2, 3);
    double square = 0.0;

    for (int64_t i = 0; i < 600; i++) {
        const double difference = (double)p.values[0][i] - (double)p.values[1][i];

        square += difference * difference / 600.0;
    }
    gnt_assert_ok(gnti_diversity_measure(p.c.votes, 2, &p.panel, &d));
    assert_true(fabs(d.disagreement[1] - sqrt(square)) < 1e-9);
    assert_true(isnan(d.mean_kl) && isnan(d.oracle) && isnan(d.mean_q));
    gnti_diversity_free(&d);
    free_panel(&p);
}

/* More members than are compared two by two: the mean over pairs comes from how many choose what, and is the same. */
static void diversity_of_many_members_has_the_same_mean(void **state)
{
    (void)state;
    enum { MANY = GNTI_DIVERSITY_MAX_PAIRED + 3, ROWS = 9 };
    static double skill[MANY];
    votes_case c;
    gnti_panel panel;
    gnti_diversity d = { 0 };
    const gnti_split *split = NULL;
    int64_t differ = 0;

    for (int m = 0; m < MANY; m++)
        skill[m] = 0.01 * m;
    votes_case_make(&c, GNT_LABELS_CLASS, ROWS + 4, 3, ROWS, skill, MANY, 5);
    gnt_assert_ok(gnti_dataset_find_split(c.data, NULL, &split));
    gnt_assert_ok(gnti_panel_create(c.data, split, GNTI_VALID, &panel));
    for (int64_t i = 0; i < ROWS; i++)
        for (int j = 0; j < MANY; j++)
            for (int k = 0; k < j; k++)
                differ += gnti_argmax(c.votes[j].values + panel.nodes[i] * 3, 3) !=
                          gnti_argmax(c.votes[k].values + panel.nodes[i] * 3, 3);
    gnt_assert_ok(gnti_diversity_measure(c.votes, MANY, &panel, &d));
    assert_null(d.disagreement);
    assert_true(fabs(d.mean_disagreement - (double)differ / (0.5 * MANY * (MANY - 1)) / ROWS) < 1e-12);
    assert_true(isnan(d.mean_q) && isnan(d.distance) && d.mean_kl > 0.0 && d.oracle > 0.99);
    gnti_diversity_free(&d);
    gnti_panel_free(&panel);
    votes_case_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(greedy_is_what_the_slow_one_chooses),
        cmocka_unit_test(rounds_leave_the_loss_of_their_mean),
        cmocka_unit_test(first_round_is_the_best_member),
        cmocka_unit_test(ties_go_by_their_rules),
        cmocka_unit_test(undefined_metric_is_told),
        cmocka_unit_test(quality_weighs_what_is_better_than_guessing),
        cmocka_unit_test(metrics_of_probabilities_are_those_of_logits),
        cmocka_unit_test(temperature_is_the_best_of_a_fine_grid),
        cmocka_unit_test(slopes_are_those_of_differences),
        cmocka_unit_test(few_rows_do_not_run_to_the_limit),
        cmocka_unit_test(ece_is_what_a_hand_counts),
        cmocka_unit_test(diversity_is_what_a_hand_counts),
        cmocka_unit_test(diversity_of_labels_and_outputs),
        cmocka_unit_test(diversity_of_many_members_has_the_same_mean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
