/* SPDX-License-Identifier: Apache-2.0 */
/* Refinement that may go through a valley, for graphs small enough to look at every boundary node before each move: the best
 * legal move is made even when it costs halo, each node once a pass, and the pass goes back to the best state that it saw.
 */
#include "partition/refine.h"

#include <string.h>

enum { MAX_PASSES = 6, PATIENCE = 40 };

typedef struct climber {
    gnti_halo_table *t;
    const gnti_balance *b;
    const int32_t *group;
    uint8_t *locked;         /* (n) */
    int32_t *trail, *origin; /* (n) nodes moved in this pass and where they came from */
} climber;

typedef struct step {
    int32_t node, to;
    int64_t halo;
    int32_t cut;
} step;

static void consider(climber *c, int32_t v, step *best)
{
    gnti_halo_table *t = c->t;
    const int32_t from = t->part[v], at_home = gnti_halo_neighbours(t, v, from);
    const gnti_halo_slot *s = t->slots + t->node[v].start;

    gnti_halo_weigh(t, v, UINT64_MAX, -1);
    for (int32_t i = 0; i < t->node[v].used; i++) {
        const step now = { v, s[i].part, gnti_halo_gain(t, v, s[i].part), s[i].count - at_home };

        if (now.to == from || (c->group != NULL && c->group[now.to] != c->group[from]))
            continue;
        if (best->node >= 0 && (now.halo < best->halo || (now.halo == best->halo && now.cut <= best->cut)))
            continue;
        if (gnti_balance_allows(c->b, t, v, now.to))
            *best = now;
    }
}

static bool climb_once(climber *c)
{
    gnti_halo_table *t = c->t;
    const int64_t first_halo = t->halo, first_cut = t->cut;
    int64_t best_halo = first_halo, best_cut = first_cut;
    int32_t num_moves = 0, num_best = 0;

    memset(c->locked, 0, (size_t)t->g->num_nodes);
    while (num_moves - num_best < PATIENCE) {
        step best = { .node = -1 };

        for (int32_t v = 0; v < t->g->num_nodes; v++)
            if (!c->locked[v] && gnti_halo_is_boundary(t, v))
                consider(c, v, &best);
        if (best.node < 0)
            break;
        c->trail[num_moves] = best.node;
        c->origin[num_moves++] = t->part[best.node];
        c->locked[best.node] = 1;
        gnti_halo_weigh(t, best.node, UINT64_MAX, best.to);
        gnti_halo_move(t, best.node, best.to);
        if (t->halo < best_halo || (t->halo == best_halo && t->cut < best_cut)) {
            best_halo = t->halo;
            best_cut = t->cut;
            num_best = num_moves;
        }
    }
    while (num_moves > num_best) {
        num_moves--;
        gnti_halo_weigh(t, c->trail[num_moves], UINT64_MAX, c->origin[num_moves]);
        gnti_halo_move(t, c->trail[num_moves], c->origin[num_moves]);
    }
    return best_halo < first_halo || best_cut < first_cut;
}

gnt_status gnti_refine_climb(gnti_halo_table *t, const gnti_balance *b, const int32_t *group)
{
    gnt_status st = GNT_OK;
    climber c = { .t = t, .b = b, .group = group };

    GNT_TRY(gnti_alloc_array(&c.locked, t->g->num_nodes));
    GNT_TRY(gnti_alloc_array(&c.trail, t->g->num_nodes));
    GNT_TRY(gnti_alloc_array(&c.origin, t->g->num_nodes));
    for (int pass = 0; pass < MAX_PASSES && climb_once(&c); pass++)
        continue;
done:
    gnti_free(c.locked);
    gnti_free(c.trail);
    gnti_free(c.origin);
    return st;
}
