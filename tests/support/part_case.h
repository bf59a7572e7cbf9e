/* SPDX-License-Identifier: Apache-2.0 */
/* Parts in tests: partitions and owners drawn at random, rows carried between parts by their plans, comparison to the bit. */
#ifndef GNT_PART_CASE_H
#define GNT_PART_CASE_H

#include "gnt_test.h"

#include "partition/local_data.h"

/* Chunks drawn per node; some may be empty. */
void gnt_part_case_partition(int64_t num_nodes, int32_t num_chunks, uint64_t seed, gnti_partition *out);
void gnt_part_case_partition_clear(gnti_partition *p);

/* (num_chunks) owners drawn among num_ranks; kind 0: contiguous ranges, 1: scattered, 2: all at the last rank. */
int32_t *gnt_part_case_owner(int32_t num_chunks, int32_t num_ranks, int kind, uint64_t seed);

/* Carries the own rows of all parts to the halo rows of all, as a halo exchange does: rows[r] (num_own + num_halo) values of
 * 8 bytes. NULL, or what does not fit together. */
const char *gnt_part_case_exchange(gnti_part *const *parts, int32_t num_ranks, bool backward, double **rows);

/* NULL, or the first member that differs. */
const char *gnt_part_case_compare(const gnti_part *a, const gnti_part *b);
const char *gnt_part_case_compare_data(const gnti_local_data *a, const gnti_local_data *b);

#endif
