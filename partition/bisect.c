/* SPDX-License-Identifier: Apache-2.0 */
/* Bisection by growing and boundary refinement.
 *
 * From each of a few nodes, half of them as far out as can be, a region grows until it has its share of the work, by breadth or by best gain in turns;
 * then passes of Fiduccia and Mattheyses (DAC 1982): move the node of largest gain that balance allows, each node once a pass,
 * and go back to the best state seen. States are compared by excess over the slack, then cut, then balance, so a pass never
 * makes one worse; of all starts the one of least volume is taken. Gains are kept in an indexed heap a side; ties go to the smaller node, so one input has one answer.
 */
#include "partition/bisect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUM_STARTS = 16, MAX_PASSES = 8 };

typedef struct score {
    double excess;
    int64_t cut;
    double off;
} score;

typedef struct heap {
    int32_t *node, num;
} heap;

typedef struct state {
    const gnti_cut_graph *g;
    const gnti_bisect_goal *goal;
    uint8_t *side;
    int64_t *gain;          /* (n) outer minus inner arc weight */
    int32_t *place;         /* (n) in its side's heap, -1: not there */
    heap heaps[2];          /* room for n each */
    int32_t *trail, *queue; /* (n) */
    double wanted, slack;   /* work of side 0 */
    int64_t work0, cut;
    int32_t count[2];
} state;

static int64_t arc_weight(const gnti_cut_graph *g, int32_t a)
{
    return g->arc_weight == NULL ? 1 : g->arc_weight[a];
}

static int32_t work(const gnti_cut_graph *g, int32_t v)
{
    return g->weight[(int64_t)v * g->num_weights];
}

static bool before(const state *s, int32_t a, int32_t b)
{
    return s->gain[a] > s->gain[b] || (s->gain[a] == s->gain[b] && a < b);
}

static void heap_up(state *s, heap *h, int32_t i)
{
    const int32_t v = h->node[i];

    for (; i > 0 && before(s, v, h->node[(i - 1) / 2]); i = (i - 1) / 2) {
        h->node[i] = h->node[(i - 1) / 2];
        s->place[h->node[i]] = i;
    }
    h->node[i] = v;
    s->place[v] = i;
}

static void heap_down(state *s, heap *h, int32_t i)
{
    const int32_t v = h->node[i];

    for (int32_t child = 2 * i + 1; child < h->num; child = 2 * i + 1) {
        if (child + 1 < h->num && before(s, h->node[child + 1], h->node[child]))
            child++;
        if (!before(s, h->node[child], v))
            break;
        h->node[i] = h->node[child];
        s->place[h->node[i]] = i;
        i = child;
    }
    h->node[i] = v;
    s->place[v] = i;
}

static void heap_add(state *s, int32_t v)
{
    heap *h = &s->heaps[s->side[v]];

    h->node[h->num] = v;
    heap_up(s, h, h->num++);
}

static void heap_remove(state *s, int32_t v)
{
    heap *h = &s->heaps[s->side[v]];
    const int32_t i = s->place[v], last = h->node[--h->num];

    s->place[v] = -1;
    if (last == v)
        return;
    h->node[i] = last;
    s->place[last] = i;
    heap_up(s, h, i);
    heap_down(s, h, s->place[last]);
}

static score score_of(const state *s)
{
    const double off = fabs((double)s->work0 - s->wanted);

    return (score){ off > s->slack ? off - s->slack : 0.0, s->cut, off };
}

static bool better(score a, score b)
{
    if (a.excess != b.excess)
        return a.excess < b.excess;
    return a.cut != b.cut ? a.cut < b.cut : a.off < b.off;
}

/* Moves v over; gains of v and its neighbours follow, in the heaps too. */
static void move(state *s, int32_t v)
{
    const gnti_cut_graph *g = s->g;
    const uint8_t from = s->side[v];

    s->cut -= s->gain[v];
    s->gain[v] = -s->gain[v];
    s->side[v] = !from;
    s->work0 += from == 0 ? -work(g, v) : work(g, v);
    s->count[from]--;
    s->count[!from]++;
    for (int32_t a = g->offsets[v]; a < g->offsets[v + 1]; a++) {
        const int32_t u = g->columns[a];
        const int64_t change = 2 * arc_weight(g, a);

        s->gain[u] += s->side[u] == from ? change : -change;
        if (s->place[u] >= 0) {
            heap_up(s, &s->heaps[s->side[u]], s->place[u]);
            heap_down(s, &s->heaps[s->side[u]], s->place[u]);
        }
    }
}

/* All on side 1: nothing is cut. */
static void reset(state *s)
{
    const gnti_cut_graph *g = s->g;

    memset(s->side, 1, (size_t)g->num_nodes);
    s->heaps[0].num = s->heaps[1].num = 0;
    s->work0 = s->cut = 0;
    s->count[0] = 0;
    s->count[1] = g->num_nodes;
    for (int32_t v = 0; v < g->num_nodes; v++) {
        s->gain[v] = 0;
        s->place[v] = -1;
        for (int32_t a = g->offsets[v]; a < g->offsets[v + 1]; a++)
            s->gain[v] -= arc_weight(g, a);
    }
}

/* Whether side 0 has enough, or would come no nearer to it with v. */
static bool grown(const state *s, int32_t v)
{
    if (s->count[1] <= s->goal->min_nodes[1])
        return true;
    if (s->count[0] < s->goal->min_nodes[0])
        return false;
    return fabs((double)(s->work0 + work(s->g, v)) - s->wanted) >= fabs((double)s->work0 - s->wanted);
}

/* Breadth first from `start`, going on at the smallest node left when a component is through. */
static void grow_by_breadth(state *s, int32_t start)
{
    int32_t head = 0, tail = 0, next = 0;

    s->queue[tail++] = start;
    s->place[start] = 0; /* seen */
    for (;;) {
        int32_t v;

        while (head == tail && next < s->g->num_nodes) {
            if (s->place[next] < 0) {
                s->place[next] = 0;
                s->queue[tail++] = next;
            }
            next++;
        }
        if (head == tail || grown(s, s->queue[head]))
            break;
        v = s->queue[head++];
        for (int32_t a = s->g->offsets[v]; a < s->g->offsets[v + 1]; a++) {
            const int32_t u = s->g->columns[a];

            if (s->place[u] < 0) {
                s->place[u] = 0;
                s->queue[tail++] = u;
            }
        }
        s->trail[s->count[0]] = v;
        s->count[0]++;
        s->count[1]--;
        s->work0 += work(s->g, v);
    }
    /* the moves proper, once place is a heap's again */
    tail = s->count[0];
    reset(s);
    for (int32_t i = 0; i < tail; i++)
        move(s, s->trail[i]);
}

/* The node of largest gain next: the region stays compact by arc weight. */
static void grow_by_gain(state *s, int32_t start)
{
    int32_t v = start;

    for (int32_t u = 0; u < s->g->num_nodes; u++)
        heap_add(s, u);
    while (!grown(s, v)) {
        heap_remove(s, v);
        move(s, v);
        if (s->heaps[1].num == 0)
            break;
        v = s->heaps[1].node[0];
    }
}

/* The node to move next: the better top of both sides that balance allows; tops that it forbids are dropped. -1: none. */
static int32_t choose(state *s, double transient)
{
    int32_t found = -1;

    for (int side = 0; side < 2; side++) {
        heap *h = &s->heaps[side];

        while (h->num > 0) {
            const int32_t v = h->node[0];
            const double now = fabs((double)s->work0 - s->wanted);
            const double then =
                fabs((double)(s->work0 + (side == 0 ? -work(s->g, v) : work(s->g, v))) - s->wanted);

            if (s->count[side] > s->goal->min_nodes[side] && (then <= transient || then < now)) {
                if (found < 0 || s->gain[v] > s->gain[found])
                    found = v;
                break;
            }
            heap_remove(s, v);
        }
    }
    return found;
}

/* Nodes with a neighbour on the other side. */
static int64_t volume(const state *s)
{
    int64_t count = 0;

    for (int32_t v = 0; v < s->g->num_nodes; v++)
        for (int32_t a = s->g->offsets[v]; a < s->g->offsets[v + 1]; a++)
            if (s->side[s->g->columns[a]] != s->side[v]) {
                count++;
                break;
            }
    return count;
}

/* One pass; whether it ended better than it began. */
static bool refine_once(state *s, double transient)
{
    const score first = score_of(s);
    score best = first;
    int32_t num_moves = 0, num_best = 0;
    const int32_t patience = (int32_t)gnti_max_i64(100, s->g->num_nodes / 4);

    s->heaps[0].num = s->heaps[1].num = 0;
    for (int32_t v = 0; v < s->g->num_nodes; v++)
        heap_add(s, v);
    while (num_moves - num_best < patience) {
        const int32_t v = choose(s, transient);

        if (v < 0)
            break;
        heap_remove(s, v);
        move(s, v);
        s->trail[num_moves++] = v;
        if (better(score_of(s), best)) {
            best = score_of(s);
            num_best = num_moves;
        }
    }
    for (int32_t v = 0; v < s->g->num_nodes; v++)
        s->place[v] = -1;
    while (num_moves > num_best)
        move(s, s->trail[--num_moves]);
    return better(best, first);
}

/* The last node that a breadth-first walk from v reaches. */
static int32_t farthest(state *s, int32_t v)
{
    int32_t head = 0, tail = 0;

    for (int32_t u = 0; u < s->g->num_nodes; u++)
        s->place[u] = -1;
    s->queue[tail++] = v;
    s->place[v] = 0;
    while (head < tail) {
        v = s->queue[head++];
        for (int32_t a = s->g->offsets[v]; a < s->g->offsets[v + 1]; a++)
            if (s->place[s->g->columns[a]] < 0) {
                s->place[s->g->columns[a]] = 0;
                s->queue[tail++] = s->g->columns[a];
            }
    }
    return v;
}

static gnt_status state_make(state *s, const gnti_cut_graph *g, const gnti_bisect_goal *goal)
{
    gnt_status st = GNT_OK;

    s->g = g;
    s->goal = goal;
    s->wanted = goal->fraction * (double)g->total[0];
    s->slack = goal->slack * (double)g->total[0];
    GNT_TRY(gnti_alloc_array(&s->side, g->num_nodes));
    GNT_TRY(gnti_alloc_array(&s->gain, g->num_nodes));
    GNT_TRY(gnti_alloc_array(&s->place, g->num_nodes));
    GNT_TRY(gnti_alloc_array(&s->trail, g->num_nodes));
    GNT_TRY(gnti_alloc_array(&s->queue, g->num_nodes));
    GNT_TRY(gnti_alloc_array(&s->heaps[0].node, g->num_nodes));
    GNT_TRY(gnti_alloc_array(&s->heaps[1].node, g->num_nodes));
done:
    return st;
}

gnt_status gnti_bisect(const gnti_cut_graph *g, const gnti_bisect_goal *goal, uint8_t *side)
{
    gnt_status st = GNT_OK;
    state s = { 0 };
    score best = { 0 }, now;
    int32_t heaviest = 0, start;

    GNT_TRY(state_make(&s, g, goal));
    for (int32_t v = 0; v < g->num_nodes; v++)
        heaviest = work(g, v) > heaviest ? work(g, v) : heaviest;
    for (int32_t i = 0; i < NUM_STARTS && g->num_nodes > 0; i++) {
        start = (int32_t)((int64_t)g->num_nodes * i / NUM_STARTS);
        start = i % 2 == 0 ? farthest(&s, start) : start; /* corners, and nodes in between */
        reset(&s);
        if (i % 4 < 2)
            grow_by_breadth(&s, start);
        else
            grow_by_gain(&s, start);
        for (int pass = 0; pass < MAX_PASSES && refine_once(&s, s.slack + heaviest); pass++)
            continue;
        now = score_of(&s);
        now.cut = g->arc_weight == NULL
                      ? volume(&s)
                      : now.cut; /* what a graph's cut is for; a quotient's arcs are volume */
        if (i == 0 || better(now, best)) {
            best = now;
            memcpy(side, s.side, (size_t)g->num_nodes);
        }
    }
done:
    gnti_free(s.side);
    gnti_free(s.gain);
    gnti_free(s.place);
    gnti_free(s.trail);
    gnti_free(s.queue);
    gnti_free(s.heaps[0].node);
    gnti_free(s.heaps[1].node);
    return st;
}

int32_t gnti_tree_split(int32_t first, int32_t end, int32_t num_shares, const int32_t *share_chunks)
{
    int32_t half = 1, nearest = -1;

    for (int32_t i = 0; i <= num_shares && share_chunks != NULL; i++) {
        const int32_t c = share_chunks[i];

        if (c > first && c < end &&
            (nearest < 0 || abs(2 * c - first - end) < abs(2 * nearest - first - end)))
            nearest = c;
    }
    if (nearest >= 0)
        return nearest;
    while (2 * half < end - first)
        half *= 2;
    return first + half;
}
