/* SPDX-License-Identifier: Apache-2.0 */
/* Which device owns which chunk: target shares, the first map, resizes and balancing. Pure functions of numbers.
 *
 * Cost c_p of a chunk = predicted seconds on a device of speed 1; q_pr = halo rows of chunk p that chunk r owns; device d has
 * speed s_d (its predicted time is sum c_p / s_d) and a memory cap in bytes. Formulas: docs/distributed.md.
 */
#ifndef GNTI_PARTITION_CHUNK_MAP_H
#define GNTI_PARTITION_CHUNK_MAP_H

#include "datasets/arc_stream.h"
#include "partition/partition.h"

typedef struct gnti_chunk_facts {
    int32_t num_chunks;
    double *cost;                    /* (K) seconds at speed 1 */
    double *bytes;                   /* (K) memory, resident when owned */
    int64_t *rows, *arcs, *arcs_out; /* (K) arcs that end in the chunk, that start in it */
    int64_t *offsets;
    int32_t *neighbour;
    double *halo_rows; /* quotient graph, CSR over chunks: q_pr */
} gnti_chunk_facts;
/* From a graph and a partition; cost = arc_seconds arcs + row_seconds rows, bytes = bytes_per_row rows + bytes_per_arc arcs. */
typedef struct gnti_chunk_rates {
    double arc_seconds, row_seconds, bytes_per_row, bytes_per_arc;
} gnti_chunk_rates;
gnt_status gnti_chunk_facts_make(const gnti_graph *graph, const gnti_partition *p,
                                 const gnti_chunk_rates *rates, gnti_chunk_facts **out);
/* Of a dataset, whatever the order it is stored in (partition_rewrite.c). */
gnt_status gnti_chunk_facts_make_dataset(const gnt_dataset *data, const gnti_partition *p,
                                         const gnti_chunk_rates *rates, gnti_chunk_facts **out);
/* The same from a file's arcs as they pass; origin as for gnti_arc_stream_read_origin. With more than 1024 chunks without the
 * quotient graph. */
gnt_status gnti_chunk_facts_stream(gnti_arc_stream *stream, const int64_t *origin, const gnti_partition *p,
                                   const gnti_chunk_rates *rates, gnti_chunk_facts **out);
void gnti_chunk_facts_free(gnti_chunk_facts **f);
/* Cost and bytes anew, by other rates. */
void gnti_chunk_facts_weigh(gnti_chunk_facts *f, const gnti_chunk_rates *rates);

/* chunk_halo.c: rows that each device receives before a product with the graph when chunks lie so, each row once (sums of
 * halo_rows count a row for every chunk that reads it). Of a dataset in memory, or one pass over the file of a header. */
gnt_status gnti_chunk_owner_halo(const gnt_dataset *data, const gnti_partition *p, const int32_t *owner,
                                 int32_t num_devices, int64_t *halo);
/* Facts by reading what a dataset has: its graph, or its file when only the header was read. */
gnt_status gnti_chunk_facts_read(const gnt_dataset *data, const gnti_partition *p,
                                 const gnti_chunk_rates *rates, gnti_chunk_facts **out);

typedef struct gnti_map_device {
    double speed;  /* > 0 */
    double memory; /* bytes, 0: no cap */
} gnti_map_device;

/* w_d = s_d / sum s, those over their memory cap fixed at the cap, the rest shared again. ERR_LIMIT when all caps together
 * are too small: needed, available. */
gnt_status gnti_target_shares(const gnti_map_device *devices, int32_t num_devices, double total_bytes,
                              double *shares);

/* owner (K): device of each chunk. First map: contiguous ranges, then local search over the borders. A device may be left out
 * (no chunk) when that is predicted faster and allow_idle. ERR_USAGE: more devices than chunks (names --chunks). */
typedef struct gnti_map_config {
    const gnti_map_device *devices;
    int32_t num_devices;
    double halo_seconds; /* rho: predicted seconds per halo row */
    double tolerance;    /* eps, 0.05 */
    bool allow_idle;
} gnti_map_config;
gnt_status gnti_chunk_map_first(const gnti_chunk_facts *f, const gnti_map_config *c, int32_t *owner);

/* From old_owner (device numbers of the old set; new_of_old (old devices) says its number in the new set, -1: leaving) to
 * owner, moving few bytes; more than these only where the halo would be far from that of a direct cut. moved (may be NULL). */
typedef struct gnti_moves {
    int32_t num_chunks;
    double bytes, load, bound; /* load moved (seconds) and its lower bound */
    double bought;             /* load moved for less halo, beyond the bound and one chunk a device */
} gnti_moves;
gnt_status gnti_chunk_map_resize(const gnti_chunk_facts *f, const gnti_map_config *c,
                                 const int32_t *old_owner, const int32_t *new_of_old, int32_t num_old,
                                 int32_t *owner, gnti_moves *moved);

/* Predicted seconds of a step per device: sum cost / speed + rho * halo rows; answers the largest. */
double gnti_chunk_map_time(const gnti_chunk_facts *f, const gnti_map_config *c, const int32_t *owner,
                           double *seconds);

#endif
