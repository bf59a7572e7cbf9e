/* SPDX-License-Identifier: Apache-2.0 */
/* Run folders of the small training case: one call of the command, and what two folders must have in common. */
#ifndef GNT_RUN_CASE_H
#define GNT_RUN_CASE_H

#include "tests/support/train_case.h"

typedef struct run_case_folder {
    char path[GNT_TEST_PATH_BYTES];
} run_case_folder;

/* A name for a run folder that does not exist. */
run_case_folder run_case_new_folder(const char *name);

/* The path of a file in it. */
char *run_case_in_folder(const run_case_folder *f, const char *name, char out[GNT_TEST_PATH_BYTES]);

/* Fails unless both have the same metrics file, seconds apart. */
void run_case_same_metrics(const run_case_folder *a, const run_case_folder *b, const char *name);

/* Fails unless both checkpoints decide the future alike, bit for bit. */
void run_case_same_state(const run_case_folder *a, const run_case_folder *b);

/* summary.json's outcome. */
char *run_case_outcome_of(const run_case_folder *f, char out[32]);

/* One call of the command: to the end, or a stop requested after `epochs`. */
gnt_status run_case_once(train_case *c, const run_case_folder *f, int64_t epochs);

#endif
