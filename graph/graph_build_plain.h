/* SPDX-License-Identifier: Apache-2.0 */
/* The fast way of gnti_graph_build for arcs without weights whose records need not be followed. */
#ifndef GNTI_GRAPH_GRAPH_BUILD_PLAIN_H
#define GNTI_GRAPH_GRAPH_BUILD_PLAIN_H

#include "graph/graph.h"

/* As gnti_graph_build without weights and origin; duplicates are never an error. num_nodes is at most 2^31 - 1. */
gnt_status gnti_graph_build_plain(int64_t num_nodes, const gnti_arc_list *arcs,
                                  const gnti_build_options *options, gnti_build_report *report,
                                  gnti_graph **out);

#endif
