/* SPDX-License-Identifier: Apache-2.0 */
/* How members come to be, beyond training each alone, and how weights of several become one.
 *
 *   independent  each member from its own seed
 *   snapshot     one run with a cyclic rate, a member at each minimum (Huang et al., ICLR 2017)
 *   swa          the running mean of weights at cycle ends of one run (Izmailov et al., UAI 2018), norm statistics refreshed
 *   swap         full batch first, then each worker alone on sampled batches, then the mean of weights (Gupta et al., ICLR 2020)
 *   edde         members in turn: lower layers handed on, diversity in the loss, boosting weights (Zhang et al., ICDE 2020)
 *   soup         the mean of weights of members that start from the same ones (Wortsman et al., ICML 2022): uniform, or greedy
 * Formulas and where they differ from the papers: docs/ensembles.md.
 */
#ifndef GNTI_ENSEMBLE_METHOD_H
#define GNTI_ENSEMBLE_METHOD_H

#include "ensemble/spec.h"

typedef enum gnti_method {
    GNTI_METHOD_INDEPENDENT,
    GNTI_METHOD_SNAPSHOT,
    GNTI_METHOD_SWA,
    GNTI_METHOD_SWAP,
    GNTI_METHOD_EDDE,
    GNTI_METHOD_SOUP
} gnti_method;
#define GNTI_METHOD_WORDS "independent|snapshot|swa|swap|edde|soup"

/* Called by the run after each epoch of a trainer that serves this method; it may take states, set weights, or ask for the end. */
typedef struct gnti_method_run gnti_method_run;

/* Mean of weights: states of one shape; norm statistics are those of a forward over the training graph afterwards. */
gnt_status gnti_states_mean(const gnti_member_state *const *states, const double *share, int32_t num,
                            gnti_member_state *out);

#endif
