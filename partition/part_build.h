/* SPDX-License-Identifier: Apache-2.0 */
/* From the rows of a rank to its part: the steps that parts from memory and parts from a file share.
 *
 *   rows        own rows as a graph whose columns are positions (partition/part_layout.h), ascending
 *   part        columns renumbered in place, plans, lists; halo = the positions of the halo rows
 *   finished    ids and scales of own and halo rows are set by who knows them
 */
#ifndef GNTI_PARTITION_PART_BUILD_H
#define GNTI_PARTITION_PART_BUILD_H

#include "partition/part.h"
#include "partition/part_layout.h"

/* The rows that a graph's columns name beyond the rank's own: by (owner, position). */
typedef struct gnti_halo_rows_of {
    int64_t num_halo;
    int32_t *position; /* (num_halo) */
    int64_t *rank_ptr; /* (num_ranks + 1) halo rows of each owner */
} gnti_halo_rows_of;
void gnti_halo_rows_of_clear(gnti_halo_rows_of *h);

/* Columns of rows from positions to own rows and halo rows, in place. Memory: num_nodes / 8 bytes and the halo. */
gnt_status gnti_part_renumber(const gnti_part_layout *layout, int32_t rank, gnti_graph *rows,
                              gnti_halo_rows_of *halo);

/* The plan by which the halo of `rows` is received. answers: the rows that name whom the rank sends to, the transpose's
 * (rows itself when symmetric), and their halo. Both renumbered. */
gnt_status gnti_halo_plan_make(int32_t num_ranks, const gnti_graph *rows, const gnti_halo_rows_of *halo,
                               const gnti_graph *answers, const gnti_halo_rows_of *answers_halo,
                               gnti_halo_plan **out);
void gnti_halo_plan_free(gnti_halo_plan **plan);

/* What a rank knows of itself before it is a part. Graphs are taken over (also when it fails). */
typedef struct gnti_part_rows {
    gnti_graph *forward;    /* in-arcs of own rows, without loops */
    gnti_graph *transposed; /* out-arcs; NULL: symmetric */
    float *loop, *self;     /* (num_own) as in graph/operator.h, or NULL */
} gnti_part_rows;
void gnti_part_rows_clear(gnti_part_rows *rows);

/* Everything but ids and scales, whose arrays are there, unset. halo_t: of the transpose; equal when symmetric. */
gnt_status gnti_part_assemble(const gnti_part_layout *layout, int32_t rank, gnti_part_rows *rows,
                              gnti_halo_rows_of *halo, gnti_halo_rows_of *halo_t, gnti_part **out);

#endif
