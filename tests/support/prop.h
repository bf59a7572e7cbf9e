/* SPDX-License-Identifier: Apache-2.0 */
/* Property tests over seeded graphs.
 *
 * A property looks at one arc list and answers NULL when its law holds, else a short text. gnt_prop_run feeds
 * it graphs of every kind and many sizes; when one breaks the law, the graph is halved while it still breaks,
 * and what is left is printed arc by arc with the seed that makes it again (GNT_PROP_SEED=N runs that seed
 * alone).
 */
#ifndef GNT_PROP_H
#define GNT_PROP_H

#include "gnt_test.h"

typedef enum gnt_prop_kind {
    GNT_PROP_EMPTY,      /* no node, no arc */
    GNT_PROP_ISOLATED,   /* nodes without an arc */
    GNT_PROP_RANDOM,     /* uniform arcs, directed */
    GNT_PROP_SYMMETRIC,  /* uniform, each arc with its reverse, no loop, no repeat */
    GNT_PROP_LOOPS,      /* uniform plus a self loop at every third node */
    GNT_PROP_DUPLICATES, /* uniform, each arc up to four times */
    GNT_PROP_STAR,       /* node 0 to all others and back */
    GNT_PROP_PATH,       /* i to i + 1 */
    GNT_PROP_POWER_LAW,  /* both ends drawn as n u^3: a few hubs */
    GNT_PROP_NUM_KINDS
} gnt_prop_kind;

/* Arcs (source[i], target[i]) with weight[i] in (0, 1]; every array has at least one slot. */
typedef struct gnt_prop_graph {
    gnt_prop_kind kind;
    uint64_t seed;
    int64_t num_nodes, num_arcs;
    int64_t *source, *target;
    float *weight;
} gnt_prop_graph;

/* One graph of about num_nodes nodes; the same arguments give the same graph everywhere. */
void gnt_prop_graph_make(gnt_prop_kind kind, uint64_t seed, int64_t num_nodes, gnt_prop_graph *out);
void gnt_prop_graph_free(gnt_prop_graph *g);
const char *gnt_prop_kind_name(gnt_prop_kind kind);

typedef const char *(*gnt_property)(const gnt_prop_graph *g, void *user);

/* num_seeds graphs of each kind with up to max_nodes nodes; fails the test at the first that breaks the law.
 */
void gnt_prop_run(const char *law, gnt_property property, void *user, int num_seeds, int64_t max_nodes);

#endif
