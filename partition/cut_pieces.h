/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of the nested cut and how one is split: what cut_nested.c, cut_pieces.c and cut_split.c share.
 *
 * A piece is a range of chunks and the nodes that will fill it; a level splits every piece of more than one chunk.
 */
#ifndef GNTI_PARTITION_CUT_PIECES_H
#define GNTI_PARTITION_CUT_PIECES_H

#include "partition/cut_nested.h"

enum { GNTI_NESTED_RECURSIVE_ARCS = 10000000, GNTI_NESTED_SMALL_ARCS = 400000 };

typedef struct gnti_piece {
    int32_t first, end; /* chunks */
    int32_t depth;      /* splits since it has been inside one share */
    int32_t num_arcs;   /* inside it */
    int32_t num_parts;  /* of the next split; 1: done */
    int32_t request;    /* METIS' request, -1: our own bisection */
    int32_t first_child;
} gnti_piece;

typedef struct gnti_nested {
    const gnti_cut_graph *g;
    const gnti_partition_config *config;
    const gnti_cut_targets *t;
    gnti_cut_story *story;
    gnti_halo_table *table;
    gnti_piece *pieces, *children; /* (K) by first chunk */
    int32_t num_pieces, level, variant;
    bool shares;                    /* some piece of this level is still to be cut into shares */
    int32_t *label;                 /* (n) piece of each node */
    int32_t *order, *local, *start; /* nodes by piece, ascending; place in the piece; (K + 1) */
    int32_t *answer;                /* (n) part within the piece, by order */
    double begin;
} gnti_nested;

/* ---- cut_pieces.c ---- */
/* Sum of the targets of chunks first .. end - 1. */
double gnti_nested_share(const gnti_cut_targets *t, int32_t first, int32_t end);
/* What a part of a level may weigh over its target: some of the tolerance, all of it at the chunks. */
double gnti_nested_tolerance(const gnti_nested *n, int32_t level, bool last, int32_t w);
int32_t gnti_nested_nodes(const gnti_nested *n, int32_t i);
/* Orders nodes by piece, counts the arcs inside each. */
void gnti_nested_sort(gnti_nested *n);
/* Whether a piece holds chunks of several shares. */
bool gnti_nested_spans(const gnti_nested *n, const gnti_piece *p);
/* Into how many parts piece i is split, and by whom. */
void gnti_nested_plan(const gnti_nested *n, int32_t i, int32_t *num_requests);
int32_t gnti_nested_tries(const gnti_nested *n, const gnti_piece *p);
/* First chunk of part k of a piece; k = num_parts: its end. */
int32_t gnti_nested_chunk(const gnti_nested *n, const gnti_piece *p, int32_t k);
/* How far over its target a piece already is, in weight w. */
double gnti_nested_load(const gnti_nested *n, const gnti_piece *p, const gnti_cut_graph *graph, int32_t w);

/* ---- cut_split.c: fill answer ---- */
/* All pieces that METIS cuts, in one run of its program; story->failure tells when that fails. */
gnt_status gnti_nested_by_metis(gnti_nested *n, int32_t num_requests);
gnt_status gnti_nested_ourselves(gnti_nested *n, int32_t i);

#endif
