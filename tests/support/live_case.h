/* SPDX-License-Identifier: Apache-2.0 */
/* Ensembles that really train in a test: a run from a spec's text, and what it left in its folder. */
#ifndef GNT_LIVE_CASE_H
#define GNT_LIVE_CASE_H

#include "tests/support/train_case.h"

#include "ensemble/run.h"

typedef struct live_call {
    train_case *data;
    const char *spec, *run, *devices;
    int64_t checkpoint_every; /* 0: 3 */
    gnti_ensemble_watch watch;
    void *user;
    const atomic_int *stop;
} live_call;

/* summary may be NULL. */
gnt_status live_case_run(const live_call *c, gnti_json **summary);
/* A folder's name that nobody had before. */
char *live_case_folder(char out[GNT_TEST_PATH_BYTES], const char *name);
/* RUN/members/MEMBER/logits.npy, to be freed. */
char *live_case_logits(const char *run, const char *member, int64_t *bytes);
void live_case_same_member(const char *a, const char *member, const char *b, const char *other);
/* How many lines of the journal tell of this event (and this member, unless NULL). */
int live_case_count(const char *run, const char *event, const char *member);

#endif
