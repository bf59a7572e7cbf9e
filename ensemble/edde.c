/* SPDX-License-Identifier: Apache-2.0 */
/* With H the mean of earlier members (p itself for the first, so that Sim is 1):
 *   Sim = 1 - |p - H|_2 / sqrt 2      how near the member is to them; sqrt 2 is the largest distance of two distributions
 *   Bias = |p - y|_2 / sqrt 2         how far it is from the truth
 *   W' = exp(b (Sim + Bias)) where the member is wrong, else 1; b = 1 is the paper's; then scaled so that each class keeps its share of the rows. The paper divides
 *        by one sum: a few hard rows of one class then weigh as if the class were more frequent, and a member of few epochs, whose
 *        logits are small, predicts it everywhere (CiteSeer: 58 % instead of 70 %)
 *   vote = 1/2 ln(sum over right rows Sim W / sum over wrong rows Sim W), held in [0.05, 5]
 */
#include "ensemble/edde.h"

#include <math.h>

static const double least_vote = 0.05, largest_vote = 5.0;

static double distance(const float *a, const float *b, int64_t n)
{
    double sum = 0.0;

    for (int64_t c = 0; c < n; c++)
        sum += ((double)a[c] - (double)b[c]) * ((double)a[c] - (double)b[c]);
    return sqrt(sum);
}

static double bias(const float *p, int32_t label, int64_t n)
{
    double sum = 0.0;

    for (int64_t c = 0; c < n; c++) {
        const double d = (double)p[c] - (c == label ? 1.0 : 0.0);

        sum += d * d;
    }
    return sqrt(sum / 2.0);
}

static int32_t first_largest(const float *p, int64_t n)
{
    int32_t best = 0;

    for (int64_t c = 1; c < n; c++)
        if (p[c] > p[best])
            best = (int32_t)c;
    return best;
}

/* Weights of a class's rows sum to the class's share of all rows. */
static void keep_share(const gnti_edde_round *r, int32_t class, double *weight)
{
    double sum = 0.0, count = 0.0;

    for (int64_t i = 0; i < r->num_rows; i++)
        if (r->labels[i] == class) {
            sum += weight[i];
            count += 1.0;
        }
    for (int64_t i = 0; i < r->num_rows; i++)
        if (r->labels[i] == class)
            weight[i] *= count / (sum * (double)r->num_rows);
}

void gnti_edde_advance(const gnti_edde_round *r, double *next, double *vote)
{
    double right = 0.0, wrong = 0.0;

    for (int64_t i = 0; i < r->num_rows; i++) {
        const float *p = r->p + i * r->num_classes;
        const double sim =
            r->earlier != NULL
                ? 1.0 - distance(p, r->earlier + i * r->num_classes, r->num_classes) / sqrt(2.0)
                : 1.0;
        const bool is_right = first_largest(p, r->num_classes) == r->labels[i];

        *(is_right ? &right : &wrong) += sim * r->weight[i];
        next[i] = is_right ? 1.0 : exp(r->boost * (sim + bias(p, r->labels[i], r->num_classes)));
    }
    for (int64_t c = 0; c < r->num_classes; c++)
        keep_share(r, (int32_t)c, next);
    *vote = wrong > 0.0 ? 0.5 * log(right / wrong) : largest_vote;
    *vote = *vote > least_vote ? *vote : least_vote; /* no right row: log 0 */
    *vote = *vote < largest_vote ? *vote : largest_vote;
}

void gnti_edde_mean_add(float *mean, double before, const float *p, double vote, int64_t num_values)
{
    for (int64_t i = 0; i < num_values; i++)
        mean[i] = (float)((before * (double)mean[i] + vote * (double)p[i]) / (before + vote));
}

int32_t gnti_edde_layers(double share, int32_t num_layers)
{
    const int32_t n = (int32_t)lround(share * (double)num_layers);

    return n < num_layers ? n : num_layers;
}

bool gnti_edde_remembers(const uint8_t *seen, const uint8_t *unseen, int64_t num_rows, double *gap,
                         double *error)
{
    double square = 0.0;

    *gap = *error = 0.0;
    for (int64_t i = 0; i < num_rows; i++)
        *gap += ((double)seen[i] - (double)unseen[i]) / (double)num_rows;
    for (int64_t i = 0; i < num_rows; i++) {
        const double d = (double)seen[i] - (double)unseen[i] - *gap;

        square += d * d;
    }
    if (num_rows > 1)
        *error = sqrt(square / ((double)num_rows * (double)(num_rows - 1)));
    return *gap > *error;
}
