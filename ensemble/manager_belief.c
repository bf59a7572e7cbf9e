/* SPDX-License-Identifier: Apache-2.0 */
/* What the manager believes about types of devices: by how much what was given about them is off.
 *
 * log(measured / given) of task j on type k is taken to be mu + a_j + b_k + noise: a level of all, the task's own part, the type's. The state
 * (mu, b) is Gaussian and is told of each task's first epoch on a type: alone it says mu + b_k, blurred by a_j; beside an earlier one on
 * type l it says b_k - b_l, blurred by noise alone. So one task that has been on two types tells more than many that have been on one each,
 * and types are not taken for slow because large tasks were put there (Kalman, 1960; two-way layout).
 */
#include "ensemble/manager_state.h"

#define LEVEL_VARIANCE 4.0  /* seconds that were given may be made up */
#define TYPE_VARIANCE  0.5  /* speeds that were given are off by a factor of two at times */
#define TASK_VARIANCE  0.5  /* and so are those of a task */
#define NOISE_VARIANCE 0.01 /* of two epochs of the same */
#define DRIFT_VARIANCE 1e-6 /* that nothing is ever certain */

gnt_status gnti_belief_create(gnti_belief *b, int32_t num_types)
{
    gnt_status st = GNT_OK;
    const int64_t n = (int64_t)num_types + 1;

    b->size = (int32_t)n;
    GNT_TRY(gnti_calloc_array(&b->mean, n));
    GNT_TRY(gnti_calloc_array(&b->gain, n));
    GNT_TRY(gnti_calloc_array(&b->covariance, n * n));
    for (int64_t i = 0; i < n; i++)
        b->covariance[i * n + i] = i == 0 ? LEVEL_VARIANCE : TYPE_VARIANCE;
done:
    return st;
}

void gnti_belief_free(gnti_belief *b)
{
    gnti_free(b->mean);
    gnti_free(b->gain);
    gnti_free(b->covariance);
}

double gnti_belief_level(const gnti_belief *b)
{
    return b->mean[0];
}

double gnti_belief_type(const gnti_belief *b, int32_t type)
{
    return b->mean[type + 1];
}

/* Observation of mean[i] + sign * mean[j]; answers the largest change of a mean. */
static double observe(gnti_belief *b, int32_t i, int32_t j, double sign, double value, double variance)
{
    const int64_t n = b->size;
    double *p = b->covariance;
    double total = variance, surprise, largest = 0.0;

    for (int64_t r = 0; r < n; r++)
        b->gain[r] = p[r * n + i] + sign * p[r * n + j];
    total += b->gain[i] + sign * b->gain[j];
    surprise = value - b->mean[i] - sign * b->mean[j];
    for (int64_t r = 0; r < n; r++) {
        const double change = b->gain[r] / total * surprise;

        b->mean[r] += change;
        largest = fabs(change) > largest ? fabs(change) : largest;
        for (int64_t c = 0; c < n; c++)
            p[r * n + c] -= b->gain[r] * b->gain[c] / total;
    }
    for (int64_t r = 0; r < n; r++)
        p[r * n + r] += DRIFT_VARIANCE;
    return largest;
}

double gnti_belief_tell(gnti_belief *b, int32_t type, double log_ratio)
{
    return observe(b, 0, type + 1, 1.0, log_ratio, TASK_VARIANCE);
}

double gnti_belief_compare(gnti_belief *b, int32_t type, int32_t other, double log_ratio)
{
    return observe(b, type + 1, other + 1, -1.0, log_ratio, NOISE_VARIANCE);
}
