/* SPDX-License-Identifier: Apache-2.0 */
/* A dataset without arcs whose labels and splits are known, and members' predictions in memory, for tests of combinations.
 * Nodes 0 and 1 are for training, the next num_valid for validation, all others for testing.
 */
#ifndef GNT_VOTES_CASE_H
#define GNT_VOTES_CASE_H

#include "gnt_test.h"

#include "ensemble/combine.h"

typedef struct votes_case {
    gnt_context *ctx;
    gnt_dataset *data;
    gnti_votes *votes; /* (num) */
    int32_t num;
    gnti_combine_config config; /* mean, 20 rounds, temperature */
} votes_case;

/* Labels are drawn; members' logits (or outputs) are noise in [-1, 1) plus `skill[m]` where the truth is. */
void votes_case_make(votes_case *c, gnt_label_kind kind, int64_t num_nodes, int64_t num_classes,
                     int64_t num_valid, const double *skill, int32_t num, uint64_t seed);
void votes_case_free(votes_case *c);

/* Values of a member, to be changed; (num_nodes, num_classes). */
float *votes_case_values(const votes_case *c, int32_t member);
/* Softmax (or sigmoid) of a member's logits takes their place. */
void votes_case_to_probabilities(votes_case *c, int32_t member);

#endif
