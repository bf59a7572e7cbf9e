/* SPDX-License-Identifier: Apache-2.0 */
/* Bins of equal mass look closer where most rows are (Nguyen, O'Connor, EMNLP 2015). The bootstrap draws rows with replacement, by
 * counters, so that the same rows give the same interval; as an estimate from few rows the ECE is too high on average, and so are
 * its resampled values.
 */
#include "ensemble/ece.h"

#include "base/alloc.h"
#include "base/philox.h"

#include <math.h>
#include <stdlib.h>

enum { MIN_SAMPLES = 40, MAX_SAMPLES = 400, SEED = 1 };
#define MAX_DRAWS 2e7

/* A row (class) or a label (multi-label): how sure, and whether right. */
typedef struct answer {
    double sure;
    int64_t at; /* in the order of the panel */
    bool right;
} answer;

static answer of_row(const gnti_panel *p, int64_t row, const float *values)
{
    const float *v = values + row * p->num_classes;
    const int32_t guess = gnti_argmax(v, p->num_classes);

    return (answer){ .sure = (double)v[guess], .right = guess == p->class_of[row] };
}

static int64_t collect(const gnti_panel *p, const float *values, answer *out)
{
    int64_t num = 0;

    for (int64_t k = 0; k < p->num_rows; k++) {
        const int64_t row = p->rows[k];

        if (p->kind == GNT_LABELS_CLASS) {
            out[num] = of_row(p, row, values);
            out[num].at = num;
            num++;
            continue;
        }
        for (int64_t at = row * p->num_classes; at < (row + 1) * p->num_classes; at++) {
            if (isnan(p->target[at]))
                continue;
            out[num] = (answer){ .sure = (double)values[at], .at = num, .right = p->target[at] > 0.5f };
            num++;
        }
    }
    return num;
}

static int compare_answers(const void *a, const void *b)
{
    const answer *x = a, *y = b;

    if (x->sure < y->sure || x->sure > y->sure)
        return x->sure < y->sure ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Bin b holds the sorted answers b n / 15 .. (b + 1) n / 15 - 1. */
static double equal_mass(const answer *sorted, int64_t num)
{
    double sum = 0.0;

    for (int64_t b = 0; b < GNTI_ECE_BINS; b++) {
        double gap = 0.0;

        for (int64_t i = b * num / GNTI_ECE_BINS; i < (b + 1) * num / GNTI_ECE_BINS; i++)
            gap += (sorted[i].right ? 1.0 : 0.0) - sorted[i].sure;
        sum += fabs(gap) / (double)num;
    }
    return sum;
}

/* As gnti_calibration has it: bin b holds (b / 15, (b + 1) / 15], the first one 0 too. */
static int bin_of(double sure)
{
    const int bin = (int)ceil(sure * GNTI_ECE_BINS) - 1;

    return bin < 0 ? 0 : bin >= GNTI_ECE_BINS ? GNTI_ECE_BINS - 1 : bin;
}

static double resampled(const answer *answers, int64_t num, uint32_t sample)
{
    double gap[GNTI_ECE_BINS] = { 0 }, sum = 0.0;
    uint32_t words[4] = { 0 };

    for (int64_t i = 0; i < num; i++) {
        if (i % 4 == 0)
            gnti_draw_quad(gnti_seed_key(SEED), GNTI_DRAW_SAMPLE, 2, sample, i / 4, 0, words);
        const answer *a = &answers[(int64_t)(((uint64_t)words[i % 4] * (uint64_t)num) >> 32)];

        gap[bin_of(a->sure)] += (a->right ? 1.0 : 0.0) - a->sure;
    }
    for (int b = 0; b < GNTI_ECE_BINS; b++)
        sum += fabs(gap[b]) / (double)num;
    return sum;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

gnt_status gnti_ece_measure(const gnti_panel *panel, const float *values, gnti_ece_more *out)
{
    gnt_status st = GNT_OK;
    const int64_t most = panel->num_rows * (panel->kind == GNT_LABELS_CLASS ? 1 : panel->num_classes);
    gnti_ece_more m = { (double)NAN, (double)NAN, (double)NAN };
    answer *answers = NULL;
    double *drawn = NULL;
    int64_t num = 0, samples = 0;

    if (panel->kind != GNT_LABELS_REGRESSION) {
        GNT_TRY(gnti_alloc_array(&answers, most));
        num = collect(panel, values, answers);
    }
    if (num > 0) {
        samples = gnti_max_i64(MIN_SAMPLES, gnti_min_i64(MAX_SAMPLES, (int64_t)(MAX_DRAWS / (double)num)));
        GNT_TRY(gnti_alloc_array(&drawn, samples));
        qsort(answers, (size_t)num, sizeof *answers, compare_answers);
        m.equal_mass = equal_mass(answers, num);
        for (int64_t s = 0; s < samples; s++)
            drawn[s] = resampled(answers, num, (uint32_t)s);
        qsort(drawn, (size_t)samples, sizeof *drawn, compare_doubles);
        m.low = drawn[(int64_t)(0.025 * (double)samples)];
        m.high = drawn[samples - 1 - (int64_t)(0.025 * (double)samples)];
    }
    *out = m;
done:
    gnti_free(answers);
    gnti_free(drawn);
    return st;
}
