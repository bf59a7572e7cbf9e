/* SPDX-License-Identifier: Apache-2.0 */
/* Synthetic datasets: what a generator hands over, and the parts they share. Draws are counters keyed by the seed and the
 * number of the node or edge, so a graph is the same on every machine and for every number of threads.
 */
#ifndef GNTI_DATASETS_GENERATE_H
#define GNTI_DATASETS_GENERATE_H

#include <gnntrain/experimental.h>

#include "base/json.h"
#include "base/philox.h"
#include "datasets/dataset.h"

/* Which draws are whose; a number is never used twice. */
enum {
    GNTI_GENERATE_CLASSES,
    GNTI_GENERATE_ARCS,
    GNTI_GENERATE_MEANS,
    GNTI_GENERATE_NOISE,
    GNTI_GENERATE_LABELS,
    GNTI_GENERATE_FEATURES,
    GNTI_GENERATE_NAMES,
    GNTI_GENERATE_BITS
};

/* Under construction: options with the kind's defaults filled in, undirected edges, the dataset, facts to report. */
typedef struct gnti_generation {
    gntx_generate_options o;
    gnt_context *ctx;
    gnti_arc_list edges;
    gnt_dataset *data;
    gnti_json *facts; /* lent; what else is worth telling */
} gnti_generation;

gnt_status gnti_generate_karate(gnti_generation *g);
gnt_status gnti_generate_csbm(gnti_generation *g);
gnt_status gnti_generate_rmat(gnti_generation *g);
gnt_status gnti_generate_grid(gnti_generation *g);
gnt_status gnti_generate_star(gnti_generation *g);
gnt_status gnti_generate_path(gnti_generation *g);

/* Room for the edges; then the dataset of them (symmetrised, repeats merged, loops dropped), which frees the list. */
gnt_status gnti_generation_edges(gnti_generation *g, int64_t num_edges);
gnt_status gnti_generation_build(gnti_generation *g, int64_t num_nodes);

/* The nodes 0 .. num_nodes - 1 in the order of their draws `what` (two words, equal ones by number); to be freed. */
gnt_status gnti_generation_order(const gnti_generation *g, uint32_t what, int64_t num_nodes, int64_t **out);

/* One word of draw `column` of item id. */
static inline uint32_t gnti_generation_word(const gnti_generation *g, uint32_t what, int64_t id,
                                            uint32_t column)
{
    return gnti_draw_word(gnti_seed_key((uint64_t)g->o.seed), GNTI_DRAW_GENERATE, what, 0, id, column);
}

#endif
