/* SPDX-License-Identifier: Apache-2.0 */
/* See halo_table.h. A node's slots are a short unordered list: most nodes have one to three adjacent parts. */
#include "partition/halo_table.h"

#include <string.h>

void gnti_halo_table_free(gnti_halo_table **table)
{
    gnti_halo_table *t = *table;

    if (t == NULL)
        return;
    gnti_free(t->slots);
    gnti_free(t->node);
    gnti_free(t->work);
    gnti_free(t->count);
    gnti_free(t->saved);
    gnti_free(t);
    *table = NULL;
}

gnt_status gnti_halo_table_create(const gnti_cut_graph *g, int32_t max_parts, gnti_halo_table **out)
{
    gnt_status st = GNT_OK;
    gnti_halo_table *t = NULL;
    int32_t num_slots = 0;

    GNT_TRY(gnti_calloc_array(&t, 1));
    t->g = g;
    t->max_parts = max_parts;
    GNT_TRY(gnti_alloc_array(&t->node, g->num_nodes));
    for (int32_t v = 0; v < g->num_nodes; v++) {
        t->node[v].start = num_slots;
        num_slots += (int32_t)gnti_min_i64(g->offsets[v + 1] - g->offsets[v], max_parts);
    }
    GNT_TRY(gnti_alloc_array(&t->slots, num_slots));
    GNT_TRY(gnti_alloc_array(&t->work, (int64_t)max_parts * g->num_weights));
    GNT_TRY(gnti_alloc_array(&t->count, max_parts));
    GNT_TRY(gnti_alloc_array(&t->saved, max_parts));
    *out = t;
    t = NULL;
done:
    gnti_halo_table_free(&t);
    return st;
}

static gnti_halo_slot *find(const gnti_halo_table *t, int32_t v, int32_t part)
{
    gnti_halo_slot *s = t->slots + t->node[v].start;

    for (int32_t i = 0; i < t->node[v].used; i++)
        if (s[i].part == part)
            return &s[i];
    return NULL;
}

static void add(gnti_halo_table *t, int32_t v, int32_t part)
{
    gnti_halo_slot *s = find(t, v, part);

    if (s == NULL) {
        s = t->slots + t->node[v].start + t->node[v].used++;
        *s = (gnti_halo_slot){ part, 0 };
    }
    s->count++;
}

static void take(gnti_halo_table *t, int32_t v, int32_t part)
{
    gnti_halo_slot *s = find(t, v, part);

    if (--s->count == 0)
        *s = t->slots[t->node[v].start + --t->node[v].used];
}

static uint64_t bit_of(int32_t part)
{
    return (uint64_t)1 << (part & 63);
}

static void set_masks(gnti_halo_table *t, int32_t v)
{
    gnti_halo_node *n = &t->node[v];
    const gnti_halo_slot *s = t->slots + n->start;

    n->near = bit_of(t->part[v]);
    n->once = 0;
    for (int32_t i = 0; i < n->used; i++) {
        n->near |= bit_of(s[i].part);
        if (s[i].count == 1 && s[i].part != t->part[v])
            n->once |= bit_of(s[i].part);
    }
}

static void load_node(gnti_halo_table *t, int32_t v)
{
    const gnti_cut_graph *g = t->g;
    const int32_t p = t->part[v];
    int32_t outside = 0;

    t->node[v].used = 0;
    t->node[v].near = bit_of(p);
    t->node[v].once = 0;
    for (int32_t a = g->offsets[v]; a < g->offsets[v + 1]; a++)
        outside += t->part[g->columns[a]] != p;
    if (outside == 0)
        return;
    for (int32_t a = g->offsets[v]; a < g->offsets[v + 1]; a++)
        add(t, v, t->part[g->columns[a]]);
    set_masks(t, v);
    t->cut += outside;
    t->halo += t->node[v].used - (outside < g->offsets[v + 1] - g->offsets[v]);
}

void gnti_halo_table_load(gnti_halo_table *t, int32_t num_parts, int32_t *part)
{
    const gnti_cut_graph *g = t->g;

    t->num_parts = num_parts;
    t->part = part;
    t->halo = t->cut = 0;
    memset(t->work, 0, (size_t)num_parts * (size_t)g->num_weights * sizeof *t->work);
    memset(t->count, 0, (size_t)num_parts * sizeof *t->count);
    for (int32_t v = 0; v < g->num_nodes; v++) {
        load_node(t, v);
        t->count[part[v]]++;
        for (int32_t w = 0; w < g->num_weights; w++)
            t->work[part[v] * g->num_weights + w] += g->weight[(int64_t)v * g->num_weights + w];
    }
    t->cut /= 2;
}

int32_t gnti_halo_neighbours(const gnti_halo_table *t, int32_t v, int32_t part)
{
    const gnti_halo_slot *s;

    if (t->node[v].used == 0)
        return part == t->part[v] ? t->g->offsets[v + 1] - t->g->offsets[v] : 0;
    s = find(t, v, part);
    return s == NULL ? 0 : s->count;
}

/* A move may cost as many readers as it wins: 1 for v itself, once-masks for the parts that neighbours would lose. Neighbours that
 * lack a candidate are counted for all candidates at once, in bit slices of a counter up to 7. */
uint64_t gnti_halo_candidates(gnti_halo_table *t, int32_t v)
{
    const gnti_cut_graph *g = t->g;
    const uint64_t home = bit_of(t->part[v]);
    uint64_t slice[3] = { 0, 0, 0 }, candidates = t->node[v].near, found = 0;
    int32_t allowed = gnti_halo_neighbours(t, v, t->part[v]) > 0 ? 0 : 1;

    t->num_steps += 2 * ((int64_t)g->offsets[v + 1] - g->offsets[v]);
    for (int32_t a = g->offsets[v]; a < g->offsets[v + 1]; a++)
        allowed += (t->node[g->columns[a]].once & home) != 0;
    if (t->num_parts <= GNTI_HALO_MASK_PARTS)
        candidates &= ~home;
    if (allowed > 7)
        return candidates;
    for (int32_t a = g->offsets[v]; a < g->offsets[v + 1] && candidates != 0; a++) {
        uint64_t carry = candidates & ~t->node[g->columns[a]].near;

        for (int i = 0; i < 3 && carry != 0; i++) {
            const uint64_t next = slice[i] & carry;

            slice[i] ^= carry;
            carry = next;
        }
        candidates &= ~carry; /* an eighth neighbour without it */
    }
    for (int32_t lack = 0; lack <= allowed; lack++) {
        uint64_t equal = candidates;

        for (int i = 0; i < 3; i++)
            equal &= (lack >> i & 1) != 0 ? slice[i] : ~slice[i];
        found |= equal;
    }
    return found;
}

/* Up to 64 parts the masks say it all. */
static void weigh_by_masks(gnti_halo_table *t, int32_t v, uint64_t among)
{
    const gnti_cut_graph *g = t->g;
    const uint64_t home = bit_of(t->part[v]);

    for (int32_t a = g->offsets[v]; a < g->offsets[v + 1]; a++) {
        const gnti_halo_node m = t->node[g->columns[a]];

        t->missed += (m.once & home) != 0;
        for (uint64_t bits = m.near & among; bits != 0; bits &= bits - 1)
            t->saved[__builtin_ctzll(bits)]++;
    }
    t->num_steps += (int64_t)g->offsets[v + 1] - g->offsets[v];
}

static void weigh_by_slots(gnti_halo_table *t, int32_t v)
{
    const gnti_cut_graph *g = t->g;
    const int32_t p = t->part[v];

    for (int32_t a = g->offsets[v]; a < g->offsets[v + 1]; a++) {
        const int32_t u = g->columns[a], r = t->part[u];
        const gnti_halo_slot *s = t->slots + t->node[u].start;
        bool with_own = false;

        for (int32_t i = 0; i < t->node[u].used; i++) {
            t->saved[s[i].part]++;
            with_own = with_own || s[i].part == r;
            t->missed += s[i].part == p && s[i].count == 1 && r != p;
        }
        t->saved[r] += !with_own;
        t->num_steps += t->node[u].used + 1;
    }
}

void gnti_halo_weigh(gnti_halo_table *t, int32_t v, uint64_t among, int32_t extra)
{
    const int32_t p = t->part[v];
    const gnti_halo_slot *own = t->slots + t->node[v].start;
    uint64_t bits = 0;

    for (int32_t i = 0; i < t->node[v].used; i++) {
        t->saved[own[i].part] = 0;
        bits |= bit_of(own[i].part) & among;
    }
    if (extra >= 0) {
        t->saved[extra] = 0;
        bits |= bit_of(extra);
    }
    t->here = gnti_halo_neighbours(t, v, p) > 0;
    t->extra = extra;
    t->extra_is_adjacent = extra >= 0 && gnti_halo_neighbours(t, v, extra) > 0;
    t->missed = 0;
    if (t->num_parts <= GNTI_HALO_MASK_PARTS)
        weigh_by_masks(t, v, bits);
    else
        weigh_by_slots(t, v);
}

int64_t gnti_halo_gain(const gnti_halo_table *t, int32_t v, int32_t to)
{
    const int32_t degree = t->g->offsets[v + 1] - t->g->offsets[v];
    const bool there = to != t->extra || t->extra_is_adjacent;

    return (int64_t)there - t->here + t->missed - (degree - t->saved[to]);
}

void gnti_halo_move(gnti_halo_table *t, int32_t v, int32_t to)
{
    const gnti_cut_graph *g = t->g;
    const int32_t from = t->part[v], degree = g->offsets[v + 1] - g->offsets[v];

    t->halo -= gnti_halo_gain(t, v, to);
    t->cut += gnti_halo_neighbours(t, v, from) - gnti_halo_neighbours(t, v, to);
    for (int32_t a = g->offsets[v]; a < g->offsets[v + 1]; a++) {
        const int32_t u = g->columns[a];

        if (t->node[u].used == 0) {
            t->slots[t->node[u].start] = (gnti_halo_slot){ t->part[u], g->offsets[u + 1] - g->offsets[u] };
            t->node[u].used = 1;
        }
        take(t, u, from);
        add(t, u, to);
        set_masks(t, u);
    }
    if (t->node[v].used == 0 && degree > 0) {
        t->slots[t->node[v].start] = (gnti_halo_slot){ from, degree };
        t->node[v].used = 1;
    }
    t->part[v] = to;
    set_masks(t, v);
    t->count[from]--;
    t->count[to]++;
    for (int32_t w = 0; w < g->num_weights; w++) {
        t->work[from * g->num_weights + w] -= g->weight[(int64_t)v * g->num_weights + w];
        t->work[to * g->num_weights + w] += g->weight[(int64_t)v * g->num_weights + w];
    }
}
