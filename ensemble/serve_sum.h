/* SPDX-License-Identifier: Apache-2.0 */
/* The combination of members whose logits come one after the other: three arrays, however many members there are. */
#ifndef GNTI_ENSEMBLE_SERVE_SUM_H
#define GNTI_ENSEMBLE_SERVE_SUM_H

#include "ensemble/serve.h"

/* Zeroed before use. */
typedef struct gnti_serve_sum {
    const gnti_serve *s;
    double *sum;    /* (N, C) what the rule averages, weighted */
    double *chosen; /* (N, C) weight of the members that choose it; regression: sum w (x - mean)^2 so far */
    double weight;  /* so far */
    /* after finish */
    float *probabilities; /* (N, C); regression: outputs */
    float *entropy;       /* (N), NULL of a regression */
    float *disagreement;  /* (N) */
} gnti_serve_sum;

gnt_status gnti_serve_sum_begin(const gnti_serve *s, gnti_serve_sum *out);
gnt_status gnti_serve_sum_take(void *sum, int32_t member, const float *logits); /* a gnti_serve_sink */
gnt_status gnti_serve_sum_finish(gnti_serve_sum *sum);
void gnti_serve_sum_free(gnti_serve_sum *sum);

#endif
