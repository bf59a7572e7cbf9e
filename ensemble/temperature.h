/* SPDX-License-Identifier: Apache-2.0 */
/* One number that makes probabilities as sure as they are right: p ~ exp(z / T) (Guo, Pleiss, Sun, Weinberger, ICML 2017). */
#ifndef GNTI_ENSEMBLE_TEMPERATURE_H
#define GNTI_ENSEMBLE_TEMPERATURE_H

#include "ensemble/panel.h"

#define GNTI_TEMPERATURE_MIN 0.05
#define GNTI_TEMPERATURE_MAX 20.0
enum { GNTI_TEMPERATURE_FEW_ROWS = 200, GNTI_TEMPERATURE_MIN_ROWS = 10 };

/* The temperature of least -log p over the panel's n rows and one more row of which each class is as likely as the others (a share
 * 1 / (n + 1) of each label; Platt, 1999); logits (num_nodes, num_classes). Class and multi-label panels only. */
double gnti_temperature_fit(const gnti_panel *panel, const float *logits);
/* Mean -log p at 1 / T = u, a share `doubt` of each label spread over all classes, and its first and second derivative by u. */
typedef struct gnti_temperature_point {
    double nll, slope, curvature;
} gnti_temperature_point;
gnti_temperature_point gnti_temperature_at(const gnti_panel *panel, const float *logits, double u,
                                           double doubt);

#endif
