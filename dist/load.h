/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of loading by rank (dist/part_load.h), in the order they are taken:
 *
 *   place     where each row of the file lies: position in global order, rank
 *   csr       own rows of an adjacency or of sparse features, columns as in the file
 *   arcs      columns to positions, rows in global order, loops apart; what is true of the whole graph
 *   reverse   in-arcs of own rows from whoever holds them
 *   finish    the part: plans, then ids and scales of halo rows from their owners
 *   rows      features, labels, split, ids of own rows
 */
#ifndef GNTI_DIST_LOAD_H
#define GNTI_DIST_LOAD_H

#include "datasets/dataset_read.h"
#include "datasets/h5_ranges.h"
#include "dist/halo.h"
#include "dist/part_load.h"
#include "partition/local_build.h"
#include "partition/part_build.h"

typedef struct gnti_load {
    const gnt_dataset *head; /* the file's header */
    const gnti_local_config *config;
    gnti_comm *comm;
    gnti_h5 *file;
    gnti_part_layout *layout;
    int32_t
        *position; /* (N) of each row of the file; NULL: row i has the position i (a file in chunk order) */
    int64_t *own_start; /* (K) first own row of a chunk; -1: another rank's */
    int64_t *ids;       /* (num_own) rows of the imported dataset */
    int64_t num_own;
} gnti_load;

/* ---- load_place.c ------------------------------------------------------------------------------------------------- */
gnt_status gnti_load_place(gnti_load *l);
void gnti_load_clear(gnti_load *l);
/* (K) first own row of each chunk, -1: another rank's; and by it the own row of a position, or -1. */
gnt_status gnti_load_own_start(const gnti_part_layout *layout, int32_t rank, int64_t **own_start);
int64_t gnti_load_own_row(const gnti_part_layout *layout, const int64_t *own_start, int64_t position);

/* Runs of own rows in the order of the file: rows row .. row + count - 1 are own rows own .. . */
typedef struct gnti_load_runs {
    const gnti_load *load;
    int64_t next; /* row, or chunk in chunk order */
} gnti_load_runs;
bool gnti_load_next_run(gnti_load_runs *runs, int64_t *row, int64_t *count, int64_t *own);
/* The same for gnti_h5_read_ranges, user is a gnti_load_runs. gap_bytes: 0 in chunk order, so that nothing else is read. */
bool gnti_load_next_range(void *user, gnti_h5_range *out);
int64_t gnti_load_gap(const gnti_load *l);

/* ---- load_csr.c --------------------------------------------------------------------------------------------------- */
/* group "/graph/adj" or "/nodes/x"; weights NULL where the file has none or all are 1, on every rank alike. Collective. */
gnt_status gnti_load_csr(gnti_load *l, const char *group, int64_t num_values, int64_t num_cols,
                         gnti_graph **out);

/* ---- load_arcs.c -------------------------------------------------------------------------------------------------- */
/* Sums of num values of all ranks, and whether any rank says yes. Collective. */
gnt_status gnti_load_sum(gnti_comm *comm, int64_t *values, int64_t num);
/* Own rows of the adjacency, columns positions, rows sorted by them. Needs ids. ERR_FORMAT: an arc twice, weights. Collective. */
gnt_status gnti_load_arcs(gnti_load *l, gnti_graph **out);
gnt_status gnti_load_sort_rows(gnti_graph *g);
/* Takes loops out of own rows (positions) into rows->loop and rows->self, drops weights that are all 1, proves symmetry; then
 * out-arcs are forward, or forward comes from the others. Takes out_arcs. num_arcs: of the whole graph. Collective. */
gnt_status gnti_load_settle(const gnti_part_layout *layout, gnti_comm *comm, gnti_graph **out_arcs,
                            gnti_part_rows *rows, int64_t *num_arcs);

/* ---- load_reverse.c ----------------------------------------------------------------------------------------------- */
/* In-arcs of own rows, columns positions, sorted. Collective; memory beyond the result: some MiB. */
gnt_status gnti_load_reverse(const gnti_part_layout *layout, gnti_comm *comm, const gnti_graph *out_arcs,
                             gnti_graph **in_arcs);

/* ---- load_finish.c ------------------------------------------------------------------------------------------------ */
/* Takes rows; ids (num_own) of own rows. Collective. */
gnt_status gnti_load_finish(const gnti_part_layout *layout, gnti_comm *comm, gnti_part_rows *rows,
                            const int64_t *ids, int64_t num_arcs, gnti_part **out);
/* The part induced by the own rows with keep set. Collective. */
gnt_status gnti_load_induce(const gnti_part *part, gnti_comm *comm, const uint8_t *keep, gnti_part **out);

/* ---- load_rows.c, load_split.c ------------------------------------------------------------------------------------ */
gnt_status gnti_load_ids(gnti_load *l);
gnt_status gnti_load_features(gnti_load *l, gnti_features *x);
gnt_status gnti_load_labels(gnti_load *l, gnti_labels *y);
gnt_status gnti_load_split(gnti_load *l, gnti_local_data *d);

#endif
