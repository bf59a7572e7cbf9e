/* SPDX-License-Identifier: Apache-2.0 */
/* A few rows that are all right (or all wrong) have no best temperature but its limit. So labels are doubted a little, as Platt does with
 * the targets of his sigmoid (Advances in Large Margin Classifiers, 1999): of n rows each label counts 1 - 1 / (n + 1) as it is and
 * 1 / (n + 1) as any class, which is one more row about which nothing is known. At 500 rows it changes nothing, with 10 it makes a
 * temperature of use (docs/ensembles.md has figures).
 *
 * In u = 1 / T the mean of -log p is convex: with p = softmax(u z) its slope is mean(<p, z> - z_y) and its curvature the mean
 * variance of z under p; a label of a multi-label row is a softmax over (0, z). So Newton's steps, kept in a bracket that
 * every slope narrows, end at the minimum, or at the limit of T beyond which it lies.
 */
#include "ensemble/temperature.h"

#include <math.h>

enum { MAX_STEPS = 100 };

static void add_class_row(const float *z, int64_t num_classes, int32_t label, double u, double doubt,
                          gnti_temperature_point *sum)
{
    const double top = (double)z[gnti_argmax(z, num_classes)];
    double total = 0.0, mean = 0.0, square = 0.0, any = 0.0, wanted;

    for (int64_t c = 0; c < num_classes; c++) {
        const double d = (double)z[c] - top, e = exp(u * d);

        total += e;
        mean += e * d;
        square += e * d * d;
        any += d;
    }
    mean /= total;
    square /= total;
    wanted = (1.0 - doubt) * ((double)z[label] - top) + doubt * any / (double)num_classes;
    sum->nll += log(total) - u * wanted;
    sum->slope += mean - wanted;
    sum->curvature += fmax(square - mean * mean, 0.0);
}

static void add_label(double z, bool one, double u, double doubt, gnti_temperature_point *sum)
{
    const double s = u * z, e = exp(-fabs(s)), p = s >= 0.0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
    const double y = (1.0 - doubt) * (one ? 1.0 : 0.0) + doubt * 0.5;

    sum->nll += log1p(e) + (1.0 - y) * fmax(s, 0.0) + y * fmax(-s, 0.0);
    sum->slope += (p - y) * z;
    sum->curvature += p * (1.0 - p) * z * z;
}

gnti_temperature_point gnti_temperature_at(const gnti_panel *p, const float *logits, double u, double doubt)
{
    gnti_temperature_point sum = { 0 };
    int64_t count = 0;

    for (int64_t k = 0; k < p->num_rows; k++) {
        const int64_t at = p->rows[k] * p->num_classes;

        if (p->kind == GNT_LABELS_CLASS) {
            add_class_row(logits + at, p->num_classes, p->class_of[p->rows[k]], u, doubt, &sum);
            count++;
            continue;
        }
        for (int64_t c = 0; c < p->num_classes; c++) {
            if (isnan(p->target[at + c]))
                continue;
            add_label((double)logits[at + c], p->target[at + c] > 0.5f, u, doubt, &sum);
            count++;
        }
    }
    sum.nll /= (double)count;
    sum.slope /= (double)count;
    sum.curvature /= (double)count;
    return sum;
}

double gnti_temperature_fit(const gnti_panel *panel, const float *logits)
{
    const double doubt = 1.0 / (double)(panel->num_rows + 1);
    double low = 1.0 / GNTI_TEMPERATURE_MAX, high = 1.0 / GNTI_TEMPERATURE_MIN, u = 1.0;

    GNT_ASSERT(panel->kind != GNT_LABELS_REGRESSION && panel->num_rows > 0);
    if (gnti_temperature_at(panel, logits, low, doubt).slope > 0.0)
        return GNTI_TEMPERATURE_MAX;
    if (gnti_temperature_at(panel, logits, high, doubt).slope < 0.0)
        return GNTI_TEMPERATURE_MIN;
    for (int step = 0; step < MAX_STEPS; step++) {
        const gnti_temperature_point at = gnti_temperature_at(panel, logits, u, doubt);
        double next = u - at.slope / at.curvature;

        if (at.slope > 0.0)
            high = u;
        else if (at.slope < 0.0)
            low = u;
        else
            break; /* also where all logits are equal: T stays 1 */
        if (!(next > low && next < high))
            next = 0.5 * (low + high);
        if (fabs(next - u) <= 1e-12 * u)
            break;
        u = next;
    }
    return 1.0 / u;
}
