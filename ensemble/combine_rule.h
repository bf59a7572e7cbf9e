/* SPDX-License-Identifier: Apache-2.0 */
/* The two halves of a combination's rule on one row, in double: what of a member is averaged, and what the average becomes. */
#ifndef GNTI_ENSEMBLE_COMBINE_RULE_H
#define GNTI_ENSEMBLE_COMBINE_RULE_H

#include "ensemble/panel.h"

/* row, out (num_classes): probabilities, logits or votes, as the rule averages them. */
void gnti_rule_take(gnti_combine how, gnt_label_kind kind, const float *row, bool is_logits,
                    int64_t num_classes, double *out);
/* The weighted sum (num_classes) becomes probabilities, tempered; in place. */
void gnti_rule_finish(gnti_combine how, gnt_label_kind kind, double temperature, int64_t num_classes,
                      double *sum);

#endif
