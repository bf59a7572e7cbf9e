/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of chunks for tests of chunk maps, without a graph. */
#ifndef GNT_MAP_CASE_H
#define GNT_MAP_CASE_H

#include "gnt_test.h"

#include "partition/map_state.h"

/* The next of a sequence in [0, 1). */
double gnt_map_draw(uint64_t *seed);

/* Chunks in a chain, each with some random neighbours besides; cost 1 and 1000 bytes, each +- half the spread. */
gnti_chunk_facts *gnt_map_case(int32_t num_chunks, uint64_t seed, double spread);

#endif
