/* SPDX-License-Identifier: Apache-2.0 */
/* What moving rows between ranks costs, the other half of kernels/cost.h. For one product along arcs of d floats a row:
 *   halo       time = peers a + |H| d s b (1 + pack)          H: halo rows of the rank, pack: gathering rows before they leave
 *   broadcast  time = P (a log2 P) + n d s b (P - 1) / P      every rank's rows to all, whatever the arcs are
 * a latency, b seconds a byte, s bytes of an element. Collectives run nearer to the peak than exchanges, so halo is taken when
 * max |H| (1 + pack) < 0.77 n (P - 1) / P.
 */
#ifndef GNTI_DIST_LINK_COST_H
#define GNTI_DIST_LINK_COST_H

#include "dist/comm.h"

#define GNTI_COST_PACK       0.25
#define GNTI_COST_COLLECTIVE 0.77

/* Measures every class of link that the communicator has: exchanges with all ranks of the class at once, of few bytes and of
 * many, medians, the slowest rank's. Some milliseconds. Every rank calls this. Never chooses what bits depend on. */
gnt_status gnti_cost_measure(gnti_comm *c);
gnti_link_class gnti_cost_link_class(const gnti_comm *c, int32_t rank);

/* The communicator's link where it has one (virtual clocks), else the slowest that was measured, else that of its kind. */
gnti_link gnti_cost_link(const gnti_comm *c);
gnti_link gnti_cost_link_default(const gnti_comm *c); /* that of its kind */
/* Whether messages travel while the cores compute: over a network. Ranks of one host copy rows with their cores. */
bool gnti_cost_link_is_apart(const gnti_comm *c);
double gnti_cost_halo_seconds(const gnti_link *link, int32_t num_peers, int64_t num_rows, int64_t row_bytes);
double gnti_cost_broadcast_seconds(const gnti_link *link, int32_t num_ranks, int64_t num_nodes,
                                   int64_t row_bytes);
/* most_halo: of all ranks. */
bool gnti_cost_prefers_broadcast(int32_t num_ranks, int64_t num_nodes, int64_t most_halo);

#endif
