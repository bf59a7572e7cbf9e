/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of a ranking: area under the ROC curve and average precision, exact about ties.
 *
 * Scores descend; equal scores form a group that enters at once. P positives, N negatives:
 *   AUC = sum over groups of negatives_g (positives before g + positives_g / 2), over P N     (Mann, Whitney
 * 1947) AP  = sum over groups of (positives_g / P) (positives so far / entries so far) Heapsort, since qsort
 * of the C library may allocate and an epoch must not.
 */
#include "train/metrics_scratch.h"

#include <math.h>

void gnti_metric_clear(gnti_metric_scratch *scratch)
{
    scratch->count = 0;
}

void gnti_metric_push(gnti_metric_scratch *scratch, double score, bool positive)
{
    GNT_ASSERT(scratch->count < scratch->capacity);
    scratch->pairs[scratch->count++] = (gnti_metric_pair){ score, positive };
}

/* Restores the heap (smallest score at the root) below `root`. */
static void sift_down(gnti_metric_pair *p, int64_t root, int64_t count)
{
    const gnti_metric_pair moved = p[root];

    for (;;) {
        int64_t child = 2 * root + 1;

        if (child >= count)
            break;
        if (child + 1 < count && p[child + 1].score < p[child].score)
            child++;
        if (p[child].score >= moved.score)
            break;
        p[root] = p[child];
        root = child;
    }
    p[root] = moved;
}

static void sort_descending(gnti_metric_pair *p, int64_t count)
{
    for (int64_t i = count / 2 - 1; i >= 0; i--)
        sift_down(p, i, count);
    for (int64_t last = count - 1; last > 0; last--) {
        const gnti_metric_pair smallest = p[0];

        p[0] = p[last];
        p[last] = smallest;
        sift_down(p, 0, last);
    }
}

/* The next group of equal scores: its size in positives and negatives. Answers its end. */
static int64_t next_group(const gnti_metric_scratch *s, int64_t begin, double *positives, double *negatives)
{
    int64_t end = begin;

    *positives = 0.0;
    *negatives = 0.0;
    for (; end < s->count && s->pairs[end].score == s->pairs[begin].score; end++)
        *(s->pairs[end].positive ? positives : negatives) += 1.0;
    return end;
}

double gnti_metric_roc_auc(gnti_metric_scratch *scratch)
{
    double above = 0.0, positives = 0.0, negatives = 0.0;

    sort_descending(scratch->pairs, scratch->count);
    for (int64_t i = 0; i < scratch->count;) {
        double p = 0.0, n = 0.0;

        i = next_group(scratch, i, &p, &n);
        above += n * (positives + 0.5 * p);
        positives += p;
        negatives += n;
    }
    return positives > 0.0 && negatives > 0.0 ? above / (positives * negatives) : NAN;
}

double gnti_metric_average_precision(gnti_metric_scratch *scratch)
{
    double sum = 0.0, positives = 0.0, entries = 0.0;

    sort_descending(scratch->pairs, scratch->count);
    for (int64_t i = 0; i < scratch->count;) {
        double p = 0.0, n = 0.0;

        i = next_group(scratch, i, &p, &n);
        positives += p;
        entries += p + n;
        sum += p * (positives / entries);
    }
    return positives > 0.0 ? sum / positives : NAN;
}
