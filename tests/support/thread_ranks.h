/* SPDX-License-Identifier: Apache-2.0 */
/* A job of ranks as threads for a test: each rank runs a function that answers a status; only the test's own thread asserts,
 * for cmocka jumps. */
#ifndef GNT_TEST_RANKS_H
#define GNT_TEST_RANKS_H

#include "gnt_test.h"

#include "dist/comm.h"

enum { GNT_RANKS_MAX = 16 };

typedef gnt_status (*gnt_rank_fn)(gnti_comm *comm, void *user);

typedef struct gnt_rank_result {
    gnt_status status;
    double seconds;
    char text[1024]; /* of the error */
} gnt_rank_result;

/* Runs size <= GNT_RANKS_MAX ranks with a time limit (0: the default) on every wait. results (size) NULL: every rank must
 * answer OK, and the first that does not ends the others. With results a rank that fails ends nobody: that is tested. */
void gnt_ranks_run(int32_t size, double time_limit, gnt_rank_fn run, void *user, gnt_rank_result *results);

/* For use inside ranks: a condition that does not hold becomes an error that names it. */
#define GNT_RANK_CHECK(condition)                                                                            \
    GNT_CHECK(condition, GNT_ERR_INTERNAL, "%s:%d: rank %d: %s", __FILE__, __LINE__, (int)comm->rank,        \
              #condition)

#endif
