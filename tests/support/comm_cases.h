/* SPDX-License-Identifier: Apache-2.0 */
/* What every communicator must do, as functions that each rank runs (gnt_ranks_run, or the ranks of an MPI job): they answer
 * a status and need no other rank's memory. */
#ifndef GNT_TEST_COMM_CASES_H
#define GNT_TEST_COMM_CASES_H

#include "thread_ranks.h"

#include "dist/halo.h"

gnt_status gnt_case_sum_floats(gnti_comm *comm, void *user); /* int64_t: values */
gnt_status gnt_case_reduce_each_type(gnti_comm *comm, void *user);
gnt_status gnt_case_exchange_with_all(gnti_comm *comm, void *user); /* bool: poll until they are done */
gnt_status gnt_case_broadcast_blocks(gnti_comm *comm, void *user);
gnt_status gnt_case_split_twice(gnti_comm *comm, void *user);
gnt_status gnt_case_repeat_calls(gnti_comm *comm, void *user); /* no allocation once warm; 2 ranks or more */
gnt_status gnt_case_halo_rounds(gnti_comm *comm,
                                void *user); /* uint64_t: seed of a random plan; 8 ranks at most */
/* The same over rows in the memory of a backend's device, each rank its own or all the first. */
typedef struct gnt_device_halo_case {
    const char *backend;
    bool one_device;
    uint64_t seed;
    bool grouped; /* all ranks are a group of devices (dist/group.h) */
} gnt_device_halo_case;
gnt_status gnt_case_device_halo_rounds(gnti_comm *comm, void *user);
gnt_status gnt_case_halo_swap(gnti_comm *comm, void *user); /* gnti_wire; 2 ranks */

/* Which rank owns which chunk, and what is summed. */
typedef struct gnt_tree_placement {
    int32_t num_chunks;
    int32_t owner[80];
    int64_t count;
    gnt_dtype dtype;
    bool by_rank;
    uint64_t seed;
} gnt_tree_placement;

/* kind 0: equal ranges, 1: random ranges (some empty), 2: scattered, 3: all on the last rank */
void gnt_tree_place(gnt_tree_placement *p, int32_t size, int kind);
gnt_status gnt_tree_roots_of(const gnt_tree_placement *p, int32_t rank, gnti_tree_roots **out);
gnt_status gnt_case_tree_sum(gnti_comm *comm, void *user); /* gnt_tree_placement */

#endif
