/* SPDX-License-Identifier: Apache-2.0 */
/* R-MAT (Chakrabarti, Zhan, Faloutsos, SDM 2004) with the parameters of Graph500: a = 0.57, b = c = 0.19, d = 0.05.
 *
 * Edge e chooses one of four quarters per level by one 32-bit draw (e, level): row bit 0 or 1, column bit 0 or 1. The
 * recursion makes node 0 the largest hub, so names are shuffled: node v is called by the rank of its draw.
 */
#include "datasets/generate.h"

/* Cumulative probabilities times 2^32: a, a + b, a + b + c. */
static const uint32_t QUARTERS[3] = { 2448131358u, 3264175144u, 4080218931u };

static gnt_status shuffle_names(const gnti_generation *g, int64_t num_nodes, int64_t **out)
{
    gnt_status st = GNT_OK;
    int64_t *order = NULL, *name = NULL;

    GNT_TRY(gnti_generation_order(g, GNTI_GENERATE_NAMES, num_nodes, &order));
    GNT_TRY(gnti_alloc_array(&name, num_nodes));
    for (int64_t i = 0; i < num_nodes; i++)
        name[order[i]] = i;
    *out = name;
    name = NULL;
done:
    gnti_free(order);
    gnti_free(name);
    return st;
}

static void draw_edge(const gnti_generation *g, int64_t e, int64_t *source, int64_t *target)
{
    uint32_t w[4];

    *source = *target = 0;
    for (int64_t level = 0; level < g->o.scale; level++) {
        uint32_t draw;

        if (level % 4 == 0)
            gnti_draw_quad(gnti_seed_key((uint64_t)g->o.seed), GNTI_DRAW_GENERATE, GNTI_GENERATE_BITS, 0, e,
                           (uint32_t)(level / 4), w);
        draw = w[level % 4];
        *source = *source << 1 | (draw >= QUARTERS[1]);
        *target = *target << 1 | ((draw >= QUARTERS[0] && draw < QUARTERS[1]) || draw >= QUARTERS[2]);
    }
}

gnt_status gnti_generate_rmat(gnti_generation *g)
{
    gnt_status st = GNT_OK;
    const int64_t n = (int64_t)1 << g->o.scale, m = n * g->o.edge_factor;
    int64_t *name = NULL;

    GNT_TRY(shuffle_names(g, n, &name));
    GNT_TRY(gnti_generation_edges(g, m));
    for (int64_t e = 0; e < m; e++) {
        int64_t u, v;

        draw_edge(g, e, &u, &v);
        g->edges.source[e] = name[u];
        g->edges.target[e] = name[v];
    }
    GNT_TRY(gnti_generation_build(g, n));
done:
    gnti_free(name);
    return st;
}
