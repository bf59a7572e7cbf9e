/* SPDX-License-Identifier: Apache-2.0 */
/* A chunk map under change: what each device holds, and what one move would do, from the neighbours of one chunk alone.
 *
 * H_d = sum of q_pr over p in d, r not in d. When p goes from a to b:
 *   H_a  loses what p reads outside a, gains what a's other chunks read of p
 *   H_b  gains what p reads outside b, loses what b's chunks read of p
 * and no other H changes.
 */
#ifndef GNTI_PARTITION_MAP_STATE_H
#define GNTI_PARTITION_MAP_STATE_H

#include "partition/chunk_map.h"

/* The quotient graph by owner in place of by reader: chunk r's rows are read by neighbour[e], halo_rows[e] of them. */
typedef struct gnti_chunk_readers {
    int64_t *offsets;
    int32_t *neighbour;
    double *halo_rows;
} gnti_chunk_readers;
gnt_status gnti_chunk_readers_make(const gnti_chunk_facts *f, gnti_chunk_readers *out);
void gnti_chunk_readers_clear(gnti_chunk_readers *r);

typedef struct gnti_map_state {
    const gnti_chunk_facts *f;
    const gnti_map_config *c;
    gnti_chunk_readers readers;
    int32_t *owner;       /* (K), -1: nobody's; the caller's */
    double *load, *bytes; /* (D) */
    int32_t *count;       /* (D) chunks */
    double halo;          /* sum of H_d over all devices; chunks of nobody are remote to all */
} gnti_map_state;

/* owner: lent, and changed by gnti_map_state_put. */
gnt_status gnti_map_state_make(const gnti_chunk_facts *f, const gnti_map_config *c, int32_t *owner,
                               gnti_map_state *out);
void gnti_map_state_clear(gnti_map_state *s);

/* Halo rows that chunk p and device d would share: what p reads in d plus what d reads of p. */
double gnti_map_affinity(const gnti_map_state *s, int32_t p, int32_t device);
/* The same with one chunk: q_pr + q_rp. */
double gnti_chunk_affinity(const gnti_map_state *s, int32_t p, int32_t other);

/* Gives p to a device, or to nobody (-1). */
void gnti_map_state_put(gnti_map_state *s, int32_t p, int32_t device);

/* chunk_map.c: the best contiguous ranges; ERR_LIMIT when none keep the memory limits. */
gnt_status gnti_chunk_map_ranges(const gnti_chunk_facts *f, const gnti_map_config *c, int32_t *owner);

/* Facts and configuration that make no sense are ERR_ARG; more devices than chunks ERR_USAGE. */
gnt_status gnti_chunk_map_check(const gnti_chunk_facts *f, const gnti_map_config *c);

#endif
