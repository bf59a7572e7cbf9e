/* SPDX-License-Identifier: Apache-2.0 */
/* Refinement for communication volume: sweeps over the boundary in id order, the best legal move of each node at once.
 *
 * A move counts by (halo, cut, balance) in this order, so no sequence of moves comes back to where it was. After the first
 * sweep only neighbours of moved nodes are looked at. Effort is bounded by the slots looked at, not by a clock: the same input
 * gives the same cut on every machine.
 */
#include "partition/refine.h"

#include <math.h>
#include <string.h>

enum { STEPS_PER_ARC = 24, SMALL_ARCS = 400000 };
/* an arc; a graph that is all boundary is swept once, a thin one to the end */
static const double STEPS_FOR_MORE = 0.2;
static const double LEAST_GAIN = 0.005; /* of a sweep that is worth another */

gnt_status gnti_balance_make(const gnti_cut_graph *g, int32_t num_parts, const double *share,
                             const double *tolerance, gnti_balance **out)
{
    gnt_status st = GNT_OK;
    gnti_balance *b = NULL;
    const int64_t count = (int64_t)num_parts * g->num_weights;

    GNT_TRY(gnti_calloc_array(&b, 1));
    b->num_parts = num_parts;
    b->num_weights = g->num_weights;
    GNT_TRY(gnti_alloc_array(&b->target, count));
    GNT_TRY(gnti_alloc_array(&b->low, count));
    GNT_TRY(gnti_alloc_array(&b->high, count));
    for (int64_t i = 0; i < count; i++) {
        const int32_t w = (int32_t)(i % g->num_weights);
        const double wanted = share[i / g->num_weights] * (double)g->total[w];
        const double mean = w == 0 ? (double)g->total[w] / (double)gnti_max_i64(1, g->num_nodes) : 1.0;

        b->target[i] = wanted;
        b->high[i] = fmax(tolerance[w] * wanted, wanted + mean);
        b->low[i] = fmin((2.0 - tolerance[w]) * wanted, wanted - mean);
    }
    *out = b;
    b = NULL;
done:
    gnti_balance_free(&b);
    return st;
}

void gnti_balance_free(gnti_balance **b)
{
    if (*b == NULL)
        return;
    gnti_free((*b)->target);
    gnti_free((*b)->low);
    gnti_free((*b)->high);
    gnti_free(*b);
    *b = NULL;
}

double gnti_balance_worst(const gnti_balance *b, const gnti_halo_table *t, bool *over)
{
    double worst = 0.0;

    *over = false;
    for (int32_t i = 0; i < b->num_parts * b->num_weights; i++) {
        *over = *over || (double)t->work[i] > b->high[i];
        if (i % b->num_weights == 0 && b->target[i] > 0.0)
            worst = fmax(worst, (double)t->work[i] / b->target[i]);
    }
    return worst;
}

bool gnti_balance_allows(const gnti_balance *b, const gnti_halo_table *t, int32_t v, int32_t to)
{
    const int32_t from = t->part[v], num = b->num_weights;

    if (t->count[from] < 2)
        return false;
    for (int32_t w = 0; w < num; w++) {
        const double x = t->g->weight[(int64_t)v * num + w];

        if (x > 0.0 && ((double)t->work[to * num + w] + x > b->high[to * num + w] ||
                        (double)t->work[from * num + w] - x < b->low[from * num + w]))
            return false;
    }
    return true;
}

/* By how much the heavier of both parts gets lighter, relative to its target. */
static double relief(const gnti_halo_table *t, const gnti_balance *b, int32_t v, int32_t to)
{
    const int32_t from = t->part[v], num = b->num_weights;
    const double x = t->g->weight[(int64_t)v * num];
    const double now = fmax((double)t->work[from * num] / b->target[from * num],
                            (double)t->work[to * num] / b->target[to * num]);
    const double then = fmax(((double)t->work[from * num] - x) / b->target[from * num],
                             ((double)t->work[to * num] + x) / b->target[to * num]);

    return now - then;
}

/* What a sweep works on. */
typedef struct sweeper {
    gnti_halo_table *t;
    const gnti_balance *b;
    const int32_t *group;
    uint64_t *siblings; /* (num_parts) parts of one's group but oneself, modulo 64 */
} sweeper;

static bool may_go(const sweeper *w, int32_t from, int32_t to)
{
    return to != from && (w->group == NULL || w->group[to] == w->group[from]);
}

/* Whether v has twice as many neighbours at home as in any part that it may go to: such nodes hardly ever gain by a move, and most
 * nodes of a large graph are such. */
static bool is_settled(const sweeper *w, int32_t v, int32_t at_home)
{
    const gnti_halo_table *t = w->t;
    const gnti_halo_slot *s = t->slots + t->node[v].start;
    int32_t most = 0;

    for (int32_t i = 0; i < t->node[v].used; i++)
        if (s[i].count > most && may_go(w, t->part[v], s[i].part))
            most = s[i].count;
    return at_home > 2 * most;
}

typedef struct move {
    int64_t halo;
    double relief;
    int32_t cut, to;
} move;

/* The better of `best` and a move of v to slot i that lowers the halo by `halo`. */
static void consider(const sweeper *w, int32_t v, int32_t i, int32_t at_home, int64_t halo, move *best)
{
    const gnti_halo_slot *s = &w->t->slots[w->t->node[v].start + i];
    const int32_t cut = s->count - at_home;
    double light;

    if (halo < best->halo || (halo == best->halo && cut < best->cut) ||
        !gnti_balance_allows(w->b, w->t, v, s->part))
        return;
    light = relief(w->t, w->b, v, s->part);
    if (halo == best->halo && cut == best->cut && light <= best->relief)
        return;
    *best = (move){ .halo = halo, .cut = cut, .relief = light, .to = s->part };
}

/* Moves v where it pays; whether it did. */
static bool improve(const sweeper *w, int32_t v)
{
    gnti_halo_table *t = w->t;
    const int32_t from = t->part[v], at_home = gnti_halo_neighbours(t, v, from);
    const gnti_halo_slot *s = t->slots + t->node[v].start;
    move best = { .relief = 1e-12, .to = -1 };
    gnti_halo_sets sets;

    if (t->g->num_arcs > SMALL_ARCS && is_settled(w, v, at_home))
        return false;
    gnti_halo_candidates(t, v, w->siblings[from], &sets);
    if (sets.all == 0)
        return false;
    if (!sets.exact)
        gnti_halo_weigh(t, v, sets.all, -1);
    for (int32_t i = 0; i < t->node[v].used; i++)
        if ((sets.all >> (s[i].part % GNTI_HALO_MASK_PARTS) & 1) != 0 && may_go(w, from, s[i].part))
            consider(w, v, i, at_home,
                     sets.exact ? gnti_halo_sets_gain(&sets, s[i].part) : gnti_halo_gain(t, v, s[i].part),
                     &best);
    if (best.to < 0)
        return false;
    if (sets.exact)
        gnti_halo_weigh(t, v, (uint64_t)1 << best.to, -1);
    gnti_halo_move(t, v, best.to);
    return true;
}

static void wake(const gnti_cut_graph *g, int32_t v, uint8_t *awake)
{
    awake[v] = 1;
    for (int32_t a = g->offsets[v]; a < g->offsets[v + 1]; a++)
        awake[g->columns[a]] = 1;
}

static gnt_status find_siblings(sweeper *w)
{
    gnt_status st = GNT_OK;
    const int32_t num_parts = w->t->num_parts;

    GNT_TRY(gnti_calloc_array(&w->siblings, num_parts));
    for (int32_t p = 0; p < num_parts; p++) {
        if (num_parts > GNTI_HALO_MASK_PARTS)
            w->siblings[p] = UINT64_MAX;
        for (int32_t q = 0; q < num_parts && num_parts <= GNTI_HALO_MASK_PARTS; q++)
            w->siblings[p] |= may_go(w, p, q) ? (uint64_t)1 << q : 0;
    }
done:
    return st;
}

gnt_status gnti_refine_volume(gnti_halo_table *t, const gnti_balance *b, const int32_t *group,
                              const uint8_t *only, int max_sweeps)
{
    gnt_status st = GNT_OK;
    const gnti_cut_graph *g = t->g;
    const int64_t before = t->num_steps, limit = before + STEPS_PER_ARC * (int64_t)g->num_arcs + 1000;
    sweeper w = { .t = t, .b = b, .group = group };
    uint8_t *awake = NULL;

    GNT_TRY(find_siblings(&w));
    GNT_TRY(gnti_alloc_array(&awake, g->num_nodes));
    for (int32_t v = 0; v < g->num_nodes; v++)
        awake[v] = only == NULL || only[v] != 0;
    for (int sweep = 0; sweep < max_sweeps; sweep++) {
        const int64_t halo = t->halo;

        for (int32_t v = 0; v < g->num_nodes && t->num_steps < limit; v++) {
            if (!awake[v])
                continue;
            awake[v] = 0;
            if (gnti_halo_is_boundary(t, v) && improve(&w, v))
                wake(g, v, awake);
        }
        const bool dear =
            g->num_arcs > SMALL_ARCS && (double)(t->num_steps - before) > STEPS_FOR_MORE * g->num_arcs;

        if (dear || t->num_steps >= limit || (double)(halo - t->halo) < LEAST_GAIN * (double)halo)
            break;
    }
done:
    gnti_free(awake);
    gnti_free(w.siblings);
    return st;
}
