/* SPDX-License-Identifier: Apache-2.0 */
/* See halo_table.h. A node's slots are a short unordered list: most nodes have one to three adjacent parts. */
#include "partition/halo_table.h"

#include <string.h>

void gnti_halo_table_free(gnti_halo_table **table)
{
    gnti_halo_table *t = *table;

    if (t == NULL)
        return;
    gnti_free(t->start);
    gnti_free(t->used);
    gnti_free(t->slots);
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

    GNT_TRY(gnti_calloc_array(&t, 1));
    t->g = g;
    t->max_parts = max_parts;
    GNT_TRY(gnti_alloc_array(&t->start, (int64_t)g->num_nodes + 1));
    t->start[0] = 0;
    for (int32_t v = 0; v < g->num_nodes; v++)
        t->start[v + 1] = t->start[v] + gnti_min_i64(g->offsets[v + 1] - g->offsets[v], max_parts);
    GNT_TRY(gnti_alloc_array(&t->used, g->num_nodes));
    GNT_TRY(gnti_alloc_array(&t->slots, t->start[g->num_nodes]));
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
    gnti_halo_slot *s = t->slots + t->start[v];

    for (int32_t i = 0; i < t->used[v]; i++)
        if (s[i].part == part)
            return &s[i];
    return NULL;
}

static void add(gnti_halo_table *t, int32_t v, int32_t part)
{
    gnti_halo_slot *s = find(t, v, part);

    if (s == NULL) {
        s = t->slots + t->start[v] + t->used[v]++;
        *s = (gnti_halo_slot){ part, 0 };
    }
    s->count++;
}

static void take(gnti_halo_table *t, int32_t v, int32_t part)
{
    gnti_halo_slot *s = find(t, v, part);

    if (--s->count == 0)
        *s = t->slots[t->start[v] + --t->used[v]];
}

static void load_node(gnti_halo_table *t, int32_t v)
{
    const gnti_cut_graph *g = t->g;
    const int32_t p = t->part[v];
    int32_t outside = 0;

    t->used[v] = 0;
    for (int32_t a = g->offsets[v]; a < g->offsets[v + 1]; a++)
        outside += t->part[g->columns[a]] != p;
    if (outside == 0)
        return;
    for (int32_t a = g->offsets[v]; a < g->offsets[v + 1]; a++)
        add(t, v, t->part[g->columns[a]]);
    t->cut += outside;
    t->halo += t->used[v] - (outside < g->offsets[v + 1] - g->offsets[v]);
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

    if (t->used[v] == 0)
        return part == t->part[v] ? t->g->offsets[v + 1] - t->g->offsets[v] : 0;
    s = find(t, v, part);
    return s == NULL ? 0 : s->count;
}

void gnti_halo_weigh(gnti_halo_table *t, int32_t v, int32_t extra)
{
    const gnti_cut_graph *g = t->g;
    const int32_t p = t->part[v];
    const gnti_halo_slot *own = t->slots + t->start[v];

    for (int32_t i = 0; i < t->used[v]; i++)
        t->saved[own[i].part] = 0;
    if (extra >= 0)
        t->saved[extra] = 0;
    t->missed = 0;
    for (int32_t a = g->offsets[v]; a < g->offsets[v + 1]; a++) {
        const int32_t u = g->columns[a], r = t->part[u];
        const gnti_halo_slot *s = t->slots + t->start[u];
        bool with_own = false;

        for (int32_t i = 0; i < t->used[u]; i++) {
            t->saved[s[i].part]++;
            with_own = with_own || s[i].part == r;
            t->missed += s[i].part == p && s[i].count == 1 && r != p;
        }
        t->saved[r] += !with_own;
        t->num_steps += t->used[u] + 1;
    }
}

int64_t gnti_halo_gain(const gnti_halo_table *t, int32_t v, int32_t to)
{
    const int32_t degree = t->g->offsets[v + 1] - t->g->offsets[v];
    const bool here = gnti_halo_neighbours(t, v, t->part[v]) > 0, there = gnti_halo_neighbours(t, v, to) > 0;

    return (int64_t)there - here + t->missed - (degree - t->saved[to]);
}

void gnti_halo_move(gnti_halo_table *t, int32_t v, int32_t to)
{
    const gnti_cut_graph *g = t->g;
    const int32_t from = t->part[v], degree = g->offsets[v + 1] - g->offsets[v];

    t->halo -= gnti_halo_gain(t, v, to);
    t->cut += gnti_halo_neighbours(t, v, from) - gnti_halo_neighbours(t, v, to);
    for (int32_t a = g->offsets[v]; a < g->offsets[v + 1]; a++) {
        const int32_t u = g->columns[a];

        if (t->used[u] == 0) {
            t->slots[t->start[u]] = (gnti_halo_slot){ t->part[u], g->offsets[u + 1] - g->offsets[u] };
            t->used[u] = 1;
        }
        take(t, u, from);
        add(t, u, to);
    }
    if (t->used[v] == 0 && degree > 0) {
        t->slots[t->start[v]] = (gnti_halo_slot){ from, degree };
        t->used[v] = 1;
    }
    t->part[v] = to;
    t->count[from]--;
    t->count[to]++;
    for (int32_t w = 0; w < g->num_weights; w++) {
        t->work[from * g->num_weights + w] -= g->weight[(int64_t)v * g->num_weights + w];
        t->work[to * g->num_weights + w] += g->weight[(int64_t)v * g->num_weights + w];
    }
}
