/* SPDX-License-Identifier: Apache-2.0 */
/* The nested cut: a tree of bisections from the whole graph down to chunks, each level refined before the next is cut. */
#ifndef GNTI_PARTITION_CUT_NESTED_H
#define GNTI_PARTITION_CUT_NESTED_H

#include "partition/part_metis.h"
#include "partition/refine.h"

typedef struct gnti_cut_level {
    int32_t num_parts;
    int64_t volume_before, volume_after, cut_before, cut_after; /* of repair and refinement */
} gnti_cut_level;

enum { GNTI_CUT_MAX_LEVELS = 64 };

typedef struct gnti_cut_story {
    gnti_cut_level level[GNTI_CUT_MAX_LEVELS];
    int32_t num_levels;
    int32_t num_metis, num_own; /* pieces cut by METIS and by our own bisection */
    double metis_seconds;       /* wall time of the METIS program */
    double polish_seconds;      /* of verifying, repairing and refining */
    int64_t launch_volume;      /* between the shares, where there are several */
    double worst_load;          /* largest work of a chunk over its target */
    bool over;                  /* a chunk is heavier than the tolerance allows */
    char version[16];
    int index_bits;
    char failure[GNTI_METIS_FAILURE_BYTES]; /* not empty: METIS' program failed, chunk_of says nothing */
} gnti_cut_story;

/* chunk_of (g->num_nodes). What METIS' program does is told in the story; the status speaks of ourselves. */
gnt_status gnti_cut_nested(const gnti_cut_graph *g, const gnti_partition_config *config,
                           const gnti_cut_targets *t, int32_t *chunk_of, gnti_cut_story *story);

/* Repairs and refines a vector of K chunks made elsewhere (story->level gets one entry more). only, as in refine.h. */
gnt_status gnti_cut_polish(const gnti_cut_graph *g, const gnti_partition_config *config,
                           const gnti_cut_targets *t, const uint8_t *only, int32_t *chunk_of,
                           gnti_cut_story *story);

#endif
