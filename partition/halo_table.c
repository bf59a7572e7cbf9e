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
    gnti_free(t->mask);
    gnti_free(t->short_part);
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
    GNT_TRY(gnti_alloc_array(&t->mask, g->num_nodes));
    if (max_parts <= 256)
        GNT_TRY(gnti_alloc_array(&t->short_part, g->num_nodes));
    for (int32_t v = 0; v < g->num_nodes; v++) {
        t->node[v].start = num_slots;
        num_slots += (int32_t)gnti_min_i64(g->offsets[v + 1] - g->offsets[v], max_parts);
    }
    GNT_TRY(gnti_alloc_array(&t->slots, (int64_t)num_slots + 1));
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

static uint64_t bit_of(int32_t part)
{
    return (uint64_t)1 << (part & 63);
}

static void set_masks(gnti_halo_table *t, int32_t v)
{
    gnti_halo_masks m = { bit_of(t->part[v]), 0 };
    const gnti_halo_slot *s = t->slots + t->node[v].start;

    for (int32_t i = 0; i < t->node[v].used; i++) {
        m.near |= bit_of(s[i].part);
        if (s[i].count == 1 && s[i].part != t->part[v])
            m.once |= bit_of(s[i].part);
    }
    t->mask[v] = m;
}

/* A neighbour of v goes from one part to another. Up to 64 parts each has a bit of its own, and no other bits change. */
static void follow(gnti_halo_table *t, int32_t v, int32_t from, int32_t to)
{
    gnti_halo_node *n = &t->node[v];
    gnti_halo_slot *s = t->slots + n->start, *left = find(t, v, from), *entered;
    const int32_t own = t->part[v], left_count = --left->count;

    if (left_count == 0)
        *left = s[--n->used];
    entered = find(t, v, to);
    if (entered == NULL) {
        entered = &s[n->used++];
        *entered = (gnti_halo_slot){ to, 0 };
    }
    entered->count++;
    if (t->num_parts > GNTI_HALO_MASK_PARTS) {
        set_masks(t, v);
        return;
    }
    gnti_halo_masks m = t->mask[v];

    if (left_count == 0 && from != own)
        m.near &= ~bit_of(from);
    m.near |= bit_of(to);
    m.once &= ~(bit_of(from) | bit_of(to));
    m.once |= left_count == 1 && from != own ? bit_of(from) : 0;
    m.once |= entered->count == 1 && to != own ? bit_of(to) : 0;
    t->mask[v] = m;
}

static int32_t count_outside(const gnti_halo_table *t, int32_t v)
{
    const gnti_cut_graph *g = t->g;
    const int32_t p = t->part[v];
    int32_t outside = 0;

    if (t->short_part != NULL)
        for (int32_t a = g->offsets[v]; a < g->offsets[v + 1]; a++)
            outside += t->short_part[g->columns[a]] != p;
    else
        for (int32_t a = g->offsets[v]; a < g->offsets[v + 1]; a++)
            outside += t->part[g->columns[a]] != p;
    return outside;
}

/* saved counts the neighbours in each part while a row is read; it is zero before and after. A part is written behind the slots
 * so far whether it is new or not, which is faster than to ask; the slot behind the last may be the next node's, not loaded yet. */
static int32_t load_slots(gnti_halo_table *t, int32_t v)
{
    const gnti_cut_graph *g = t->g;
    gnti_halo_slot *s = t->slots + t->node[v].start;
    int32_t used = 0;

    for (int32_t a = g->offsets[v]; a < g->offsets[v + 1]; a++) {
        const int32_t u = g->columns[a], q = t->short_part != NULL ? t->short_part[u] : t->part[u];

        s[used].part = q;
        used += t->saved[q]++ == 0;
    }
    for (int32_t i = 0; i < used; i++) {
        s[i].count = t->saved[s[i].part];
        t->saved[s[i].part] = 0;
    }
    return used;
}

static void load_node(gnti_halo_table *t, int32_t v)
{
    const int32_t outside = count_outside(t, v);

    t->node[v].used = outside > 0 ? load_slots(t, v) : 0;
    set_masks(t, v);
    if (outside == 0)
        return;
    t->cut += outside;
    t->halo += t->node[v].used - (outside < t->g->offsets[v + 1] - t->g->offsets[v]);
}

void gnti_halo_table_load(gnti_halo_table *t, int32_t num_parts, int32_t *part)
{
    const gnti_cut_graph *g = t->g;

    t->num_parts = num_parts;
    t->part = part;
    t->halo = t->cut = 0;
    memset(t->work, 0, (size_t)num_parts * (size_t)g->num_weights * sizeof *t->work);
    memset(t->count, 0, (size_t)num_parts * sizeof *t->count);
    memset(t->saved, 0, (size_t)num_parts * sizeof *t->saved);
    for (int32_t v = 0; v < g->num_nodes && t->short_part != NULL; v++)
        t->short_part[v] = (uint8_t)part[v];
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
void gnti_halo_candidates(gnti_halo_table *t, int32_t v, uint64_t among, gnti_halo_sets *out)
{
    const gnti_cut_graph *g = t->g;
    const uint64_t home = bit_of(t->part[v]);
    uint64_t slice[3] = { 0, 0, 0 }, candidates = t->mask[v].near & among;
    int32_t allowed = gnti_halo_neighbours(t, v, t->part[v]) > 0 ? 0 : 1;

    *out = (gnti_halo_sets){ .all = candidates };
    if (candidates == 0)
        return;
    t->num_steps += (int64_t)g->offsets[v + 1] - g->offsets[v];
    for (int32_t a = g->offsets[v]; a < g->offsets[v + 1]; a++) {
        const gnti_halo_masks *m = &t->mask[g->columns[a]];
        const uint64_t first = candidates & ~m->near, second = slice[0] & first, third = slice[1] & second;

        allowed += (m->once & home) != 0;
        slice[0] ^= first;
        slice[1] ^= second;
        candidates &= ~(slice[2] & third); /* an eighth neighbour without it */
        slice[2] ^= third;
    }
    if (allowed > 7)
        return;
    out->exact = t->num_parts <= GNTI_HALO_MASK_PARTS;
    out->all = 0;
    for (int32_t lack = 0; lack <= allowed; lack++) {
        out->gain[allowed - lack] = candidates & (lack & 1 ? slice[0] : ~slice[0]) &
                                    (lack & 2 ? slice[1] : ~slice[1]) & (lack & 4 ? slice[2] : ~slice[2]);
        out->all |= out->gain[allowed - lack];
    }
}

int64_t gnti_halo_sets_gain(const gnti_halo_sets *s, int32_t part)
{
    int64_t gain = GNTI_HALO_SETS - 1;

    while (gain > 0 && (s->gain[gain] >> part & 1) == 0)
        gain--;
    return gain;
}

/* Up to 64 parts the masks say it all: whatever neighbour has a part near it saves, and most have most that are asked for. */
static void weigh_by_masks(gnti_halo_table *t, int32_t v, uint64_t among)
{
    const gnti_cut_graph *g = t->g;
    const uint64_t home = bit_of(t->part[v]);

    for (int32_t a = g->offsets[v]; a < g->offsets[v + 1]; a++) {
        const gnti_halo_masks m = t->mask[g->columns[a]];

        t->missed += (m.once & home) != 0;
        for (uint64_t bits = among & ~m.near; bits != 0; bits &= bits - 1)
            t->saved[__builtin_ctzll(bits)]--;
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
    const int32_t p = t->part[v], degree = t->g->offsets[v + 1] - t->g->offsets[v],
                  before = t->num_parts <= GNTI_HALO_MASK_PARTS ? degree : 0;
    const gnti_halo_slot *own = t->slots + t->node[v].start;
    uint64_t bits = 0;

    for (int32_t i = 0; i < t->node[v].used; i++) {
        t->saved[own[i].part] = before;
        bits |= bit_of(own[i].part) & among;
    }
    if (extra >= 0) {
        t->saved[extra] = before;
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
    for (int32_t a = g->offsets[v]; a < g->offsets[v + 1]; a++)
        __builtin_prefetch(&t->slots[t->node[g->columns[a]].start], 1);
    for (int32_t a = g->offsets[v]; a < g->offsets[v + 1]; a++) {
        const int32_t u = g->columns[a];

        if (t->node[u].used == 0) {
            t->slots[t->node[u].start] = (gnti_halo_slot){ t->part[u], g->offsets[u + 1] - g->offsets[u] };
            t->node[u].used = 1;
        }
        follow(t, u, from, to);
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
