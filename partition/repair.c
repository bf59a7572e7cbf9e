/* SPDX-License-Identifier: Apache-2.0 */
/* Repair of a cut: no part empty, none too heavy where that can be helped.
 *
 * An empty part, or one below a fifth of its target, gets a piece of the part that is heaviest for its target: breadth first from
 * its boundary node with the fewest inner arcs until half a share is over. A part over its bound gives boundary nodes away, the
 * best gain of halo first, then the heaviest, to an adjacent part with room, else to the lightest part. Training nodes, when
 * they are balanced, are also brought to parts that have too few.
 */
#include "partition/refine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROUNDS = 16, MAX_MOVES = 2 };

typedef struct offer {
    int64_t halo;
    int32_t node, weight;
} offer;

typedef struct mender {
    gnti_halo_table *t;
    const gnti_balance *b;
    uint8_t *moves;  /* (n) for balance */
    int32_t *queue;  /* (n) */
    uint8_t *queued; /* (n) */
    offer *offers;   /* (n) */
} mender;

static double load(const mender *m, int32_t part, int32_t w)
{
    const int32_t i = part * m->b->num_weights + w;

    return m->b->target[i] > 0.0 ? (double)m->t->work[i] / m->b->target[i] : 0.0;
}

static int32_t weight_of(const mender *m, int32_t v, int32_t w)
{
    return m->t->g->weight[(int64_t)v * m->b->num_weights + w];
}

/* ---- empty parts ---- */

static int32_t heaviest_part(const mender *m, int32_t but)
{
    int32_t found = -1;

    for (int32_t p = 0; p < m->b->num_parts; p++)
        if (p != but && m->t->count[p] > 1 && (found < 0 || load(m, p, 0) > load(m, found, 0)))
            found = p;
    return found;
}

/* The node of a part to begin a piece with: on the boundary if any is, then fewest neighbours inside, then smallest. */
static int32_t corner_of(const mender *m, int32_t part)
{
    const gnti_halo_table *t = m->t;
    int32_t found = -1, inner = 0;
    bool outer = false;

    for (int32_t v = 0; v < t->g->num_nodes; v++) {
        if (t->part[v] != part)
            continue;
        const bool boundary = gnti_halo_is_boundary(t, v);
        const int32_t inside = gnti_halo_neighbours(t, v, part);

        if (found < 0 || (boundary && !outer) || (boundary == outer && inside < inner)) {
            found = v;
            inner = inside;
            outer = boundary;
        }
    }
    return found;
}

/* Takes a piece of part `from` for part `to`, half a share of the smaller one, leaving a node behind. */
static void carve(mender *m, int32_t from, int32_t to)
{
    gnti_halo_table *t = m->t;
    const gnti_cut_graph *g = t->g;
    const int32_t num = m->b->num_weights;
    const double wanted = 0.5 * fmin(m->b->target[to * num], (double)t->work[from * num]);
    int32_t head = 0, tail = 0;
    double taken = 0.0;

    memset(m->queued, 0, (size_t)g->num_nodes);
    while (t->count[from] > 1 && (taken == 0.0 || taken < wanted)) {
        int32_t v;

        if (head == tail) { /* the next component of the part */
            v = corner_of(m, from);
            m->queue[tail++] = v;
            m->queued[v] = 1;
        }
        v = m->queue[head++];
        for (int32_t a = g->offsets[v]; a < g->offsets[v + 1]; a++) {
            const int32_t u = g->columns[a];

            if (t->part[u] == from && !m->queued[u]) {
                m->queued[u] = 1;
                m->queue[tail++] = u;
            }
        }
        gnti_halo_weigh(t, v, UINT64_MAX, to);
        gnti_halo_move(t, v, to);
        taken += weight_of(m, v, 0);
    }
}

static void fill_empty(mender *m)
{
    for (int32_t p = 0; p < m->b->num_parts; p++)
        for (int round = 0; round < MAX_ROUNDS && (m->t->count[p] == 0 || load(m, p, 0) < 0.2); round++) {
            const int32_t from = heaviest_part(m, p);

            if (from < 0 || (m->t->count[p] > 0 && load(m, from, 0) <= 1.0))
                break;
            carve(m, from, p);
        }
}

/* ---- heavy parts ---- */

/* Which parts may take a node: adjacent ones with room; any with room; any with room for the weight in question, whose other
 * weight is mended afterwards by nodes that have none of this one. */
typedef enum reach { REACH_ADJACENT, REACH_ALL, REACH_FORCED } reach;

/* Where v should go from a part that has too much of weight w: the adjacent part of best halo, then load; or the lightest
 * one. -1: nowhere. v is weighed for it. */
static int32_t taker(const mender *m, int32_t v, int32_t w, reach how, int64_t *halo)
{
    const bool anywhere = how != REACH_ADJACENT;
    gnti_halo_table *t = m->t;
    const gnti_halo_slot *s = t->slots + t->node[v].start;
    const int32_t from = t->part[v], num = m->b->num_weights,
                  candidates = anywhere ? m->b->num_parts : t->node[v].used;
    int32_t found = -1;

    if (!anywhere)
        gnti_halo_weigh(t, v, UINT64_MAX, -1);
    for (int32_t i = 0; i < candidates; i++) {
        const int32_t to = anywhere ? i : s[i].part;
        bool room = to != from;

        for (int32_t k = 0; k < num && room; k++)
            room = weight_of(m, v, k) == 0 || (how == REACH_FORCED && k != w) ||
                   (double)t->work[to * num + k] + weight_of(m, v, k) <= m->b->high[to * num + k];
        if (!room)
            continue;
        const int64_t gain = anywhere ? 0 : gnti_halo_gain(t, v, to);

        if (found < 0 || gain > *halo || (gain == *halo && load(m, to, w) < load(m, found, w))) {
            found = to;
            *halo = gain;
        }
    }
    if (anywhere && found >= 0) {
        gnti_halo_weigh(t, v, UINT64_MAX, found);
        *halo = gnti_halo_gain(t, v, found);
    }
    return found;
}

/* Whether v's part would not miss v's other weight. */
static bool spare(const mender *m, int32_t v, int32_t w)
{
    const int32_t num = m->b->num_weights, from = m->t->part[v] * num;

    for (int32_t k = 0; k < num; k++)
        if (k > 0 && k != w && weight_of(m, v, k) > 0 &&
            (double)(m->t->work[from + k] - weight_of(m, v, k)) < m->b->low[from + k])
            return false;
    return true;
}

static int compare_offers(const void *left, const void *right)
{
    const offer *a = left, *b = right;

    if (a->halo != b->halo)
        return a->halo > b->halo ? -1 : 1;
    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

static bool too_heavy(const mender *m, int32_t part, int32_t w)
{
    const int32_t i = part * m->b->num_weights + w;

    return (double)m->t->work[i] > m->b->high[i] && m->t->count[part] > 1;
}

/* One round for one part: offers of its nodes, taken in order. Whether any node moved. */
static bool unload(mender *m, int32_t part, int32_t w, reach how)
{
    const bool anywhere = how != REACH_ADJACENT;
    gnti_halo_table *t = m->t;
    int32_t num_offers = 0, num_moved = 0;

    for (int32_t v = 0; v < t->g->num_nodes; v++) {
        offer o = { 0, v, weight_of(m, v, w) };

        if (t->part[v] == part && m->moves[v] < MAX_MOVES && o.weight > 0 &&
            (anywhere || gnti_halo_is_boundary(t, v)) && taker(m, v, w, how, &o.halo) >= 0)
            m->offers[num_offers++] = o;
    }
    qsort(m->offers, (size_t)num_offers, sizeof *m->offers, compare_offers);
    for (int32_t i = 0; i < num_offers && too_heavy(m, part, w); i++) {
        const int32_t v = m->offers[i].node;
        int64_t halo = 0;
        const int32_t to = spare(m, v, w) ? taker(m, v, w, how, &halo) : -1;

        if (to < 0 || (!anywhere && i + 1 < num_offers && halo < m->offers[i + 1].halo - 2))
            continue; /* moves before it have made it a bad one */
        gnti_halo_move(t, v, to);
        m->moves[v]++;
        num_moved++;
    }
    return num_moved > 0;
}

static bool unload_somehow(mender *m, int32_t part, int32_t w)
{
    if (!too_heavy(m, part, w))
        return false;
    return unload(m, part, w, REACH_ADJACENT) || unload(m, part, w, REACH_ALL) ||
           (w > 0 && unload(m, part, w, REACH_FORCED));
}

/* Gives a part that has too little of weight w nodes of parts that keep their target, the best gain of halo first. */
static bool feed(mender *m, int32_t part, int32_t w)
{
    gnti_halo_table *t = m->t;
    const int32_t num = m->b->num_weights, i = part * num + w;
    int32_t num_offers = 0, num_moved = 0;

    if ((double)t->work[i] >= m->b->low[i])
        return false;
    for (int32_t v = 0; v < t->g->num_nodes; v++) {
        offer o = { 0, v, weight_of(m, v, w) };

        if (o.weight == 0 || t->part[v] == part || m->moves[v] >= MAX_MOVES)
            continue;
        gnti_halo_weigh(t, v, UINT64_MAX, part);
        o.halo = gnti_halo_gain(t, v, part);
        m->offers[num_offers++] = o;
    }
    qsort(m->offers, (size_t)num_offers, sizeof *m->offers, compare_offers);
    for (int32_t k = 0; k < num_offers && (double)t->work[i] < m->b->low[i]; k++) {
        const int32_t v = m->offers[k].node, from = t->part[v];

        if ((double)(t->work[from * num + w] - m->offers[k].weight) < m->b->target[from * num + w] ||
            t->count[from] < 2)
            continue;
        gnti_halo_weigh(t, v, UINT64_MAX, part);
        gnti_halo_move(t, v, part);
        m->moves[v]++;
        num_moved++;
    }
    return num_moved > 0;
}

/* Training nodes first, since mending work leaves them alone where it can. */
static void balance(mender *m)
{
    for (int round = 0; round < MAX_ROUNDS; round++) {
        bool moved = false;

        for (int32_t w = m->b->num_weights - 1; w >= 0; w--)
            for (int32_t p = 0; p < m->b->num_parts; p++)
                moved = unload_somehow(m, p, w) || (w > 0 && feed(m, p, w)) || moved;
        if (!moved)
            break;
    }
}

gnt_status gnti_repair(gnti_halo_table *t, const gnti_balance *b)
{
    gnt_status st = GNT_OK;
    mender m = { .t = t, .b = b };
    bool bad = false;

    for (int32_t p = 0; p < b->num_parts; p++) {
        bad = bad || t->count[p] == 0 || load(&m, p, 0) < 0.2;
        for (int32_t w = 0; w < b->num_weights; w++)
            bad = bad || too_heavy(&m, p, w) ||
                  (w > 0 && (double)t->work[p * b->num_weights + w] < b->low[p * b->num_weights + w]);
    }
    if (!bad)
        return GNT_OK;
    GNT_TRY(gnti_calloc_array(&m.moves, t->g->num_nodes));
    GNT_TRY(gnti_alloc_array(&m.queue, t->g->num_nodes));
    GNT_TRY(gnti_alloc_array(&m.queued, t->g->num_nodes));
    GNT_TRY(gnti_alloc_array(&m.offers, t->g->num_nodes));
    fill_empty(&m);
    balance(&m);
    fill_empty(&m);
done:
    gnti_free(m.moves);
    gnti_free(m.queue);
    gnti_free(m.queued);
    gnti_free(m.offers);
    return st;
}
