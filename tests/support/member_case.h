/* SPDX-License-Identifier: Apache-2.0 */
/* Members that differ in everything that members of one trainer may differ in, over the dataset of train_case. */
#ifndef GNT_MEMBER_CASE_H
#define GNT_MEMBER_CASE_H

#include "tests/support/train_case.h"

#include "train/member.h"

enum { MEMBER_CASE_MOST = 8 };

typedef struct member_case {
    train_case c;
    gnti_member_options members[MEMBER_CASE_MOST];
    float weight[MEMBER_CASE_MOST][TRAIN_CASE_NODES];
    char decay[MEMBER_CASE_MOST][32];
} member_case;

/* After train_case_dataset: seeds, rates, dropout, decay (rule "1:X") and length by member; weighted: member m leaves out every
 * training node i with (i + m) % 4 == 0, counts every fifth twice, and member 0 has all of them. */
void member_case_options(member_case *mc, bool weighted);

/* A trainer of members first .. first + num - 1. */
gnt_trainer *member_case_trainer(member_case *mc, int32_t first, int32_t num);

/* Equal in weights, best weights, moments, progress, epoch and step; tolerance 0: to the bit. */
void member_case_assert_states(const gnti_member_state *a, const gnti_member_state *b, float tolerance);
void member_case_assert_same(gnt_trainer *a, int32_t member_a, gnt_trainer *b, int32_t member_b,
                             float tolerance);

#endif
