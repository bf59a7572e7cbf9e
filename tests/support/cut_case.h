/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs and checks for tests of cutting: shapes with known answers, slow counts of what quality.c counts fast. */
#ifndef GNT_CUT_CASE_H
#define GNT_CUT_CASE_H

#include "gnt_test.h"
#include "prop.h"

#include "partition/partition.h"

/* Undirected, without loops; freed with gnti_graph_free. */
gnti_graph *gnt_cut_grid(int64_t rows, int64_t columns);
gnti_graph *gnt_cut_path(int64_t num_nodes);
gnti_graph *gnt_cut_star(int64_t num_nodes);
gnti_graph *gnt_cut_cliques(int64_t size); /* two of them and a bridge */
gnti_graph *gnt_cut_random(int64_t num_nodes, int64_t num_edges,
                           uint64_t seed); /* some nodes stay isolated */
/* Two communities of num_nodes / 2, node v in the first when v is even. */
gnti_graph *gnt_cut_communities(int64_t num_nodes, uint64_t seed);
/* Of an arc list as it is: CSR rows ascending, repeats and loops kept. */
gnti_graph *gnt_cut_as_listed(const gnt_prop_graph *p);

/* Every value in 0 .. K - 1, counts right, no chunk empty unless there are fewer nodes; fails the test otherwise. */
void gnt_cut_check(const gnti_partition *p, int64_t num_nodes, int32_t num_chunks);

/* Largest over smallest chunk by nodes. */
void gnt_cut_sizes(const gnti_partition *p, int64_t *smallest, int64_t *largest);

/* Volume and cut by definition, over a set of pairs: O(n K + m log m). */
void gnt_cut_recount(const gnti_graph *g, const int32_t *part_of, int32_t num_parts, int64_t *volume,
                     int64_t *cut);

#endif
