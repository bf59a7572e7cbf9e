/* SPDX-License-Identifier: Apache-2.0 */
/* Branch and bound over maps: the fewest bytes moved at a given fill of the devices. A depth-first walk in descending cost,
 * each chunk at home first, cut where a device is full or the bytes of the best map are reached. Exact unless its nodes run
 * out; few chunks need few nodes, and with many chunks the search before it has left little to gain.
 */
#include "partition/chunk_resize.h"

#include <stdlib.h>

enum { MAX_NODES = 100000, MAX_CHUNKS = 256 }; /* the walk is as deep as there are chunks */

/* Chunks are placed in descending cost; each tries its home first. */
typedef struct tree {
    const gnti_resize *r;
    gnti_pooled *order;            /* (K) */
    double *room;                  /* (D) load that still fits */
    double *memory;                /* (D) */
    int32_t *place, *count, *best; /* (K), (D), (K) */
    double load, bytes, least;
    int64_t num_nodes;
    bool found;
} tree;

static void keep_leaf(tree *t)
{
    const gnti_map_config *c = t->r->s.c;

    for (int32_t d = 0; d < c->num_devices && !c->allow_idle; d++)
        if (t->count[d] == 0)
            return;
    for (int32_t p = 0; p < t->r->s.f->num_chunks; p++)
        t->best[p] = t->place[p];
    t->least = t->bytes;
    t->found = true;
}

static void branch(tree *t, int32_t depth);

/* The chunk at this depth on device d, and all below it. */
static void try_device(tree *t, int32_t depth, int32_t d)
{
    const gnti_resize *r = t->r;
    const gnti_pooled *x = &t->order[depth];
    const bool away = gnti_resize_is_away(r, x->chunk, d);
    const double bytes = away ? x->bytes : 0.0, load = away ? x->cost : 0.0;

    if (x->cost > t->room[d] || (r->s.c->devices[d].memory > 0.0 && x->bytes > t->memory[d]) ||
        t->bytes + bytes >= t->least * (1.0 - 1e-12) || t->load + load > r->budget)
        return;
    t->place[x->chunk] = d;
    t->count[d]++;
    t->room[d] -= x->cost;
    t->memory[d] -= x->bytes;
    t->bytes += bytes;
    t->load += load;
    branch(t, depth + 1);
    t->count[d]--;
    t->room[d] += x->cost;
    t->memory[d] += x->bytes;
    t->bytes -= bytes;
    t->load -= load;
}

static void branch(tree *t, int32_t depth)
{
    const gnti_resize *r = t->r;

    if (++t->num_nodes > MAX_NODES)
        return;
    if (depth == r->s.f->num_chunks) {
        keep_leaf(t);
        return;
    }
    if (r->home[t->order[depth].chunk] >= 0)
        try_device(t, depth, r->home[t->order[depth].chunk]);
    for (int32_t d = 0; d < r->s.c->num_devices && t->num_nodes <= MAX_NODES; d++)
        if (d != r->home[t->order[depth].chunk])
            try_device(t, depth, d);
}

static void tree_clear(tree *t)
{
    gnti_free(t->order);
    gnti_free(t->room);
    gnti_free(t->memory);
    gnti_free(t->place);
    gnti_free(t->count);
    gnti_free(t->best);
}

gnt_status gnti_resize_exact(gnti_resize *r)
{
    gnt_status st = GNT_OK;
    const gnti_chunk_facts *f = r->s.f;
    const int32_t num_devices = r->s.c->num_devices;
    tree t = { .r = r, .least = r->moved_bytes };
    double price;

    if (f->num_chunks > MAX_CHUNKS)
        return GNT_OK;
    GNT_TRY(gnti_alloc_array(&t.order, f->num_chunks));
    GNT_TRY(gnti_alloc_array(&t.room, num_devices));
    GNT_TRY(gnti_alloc_array(&t.memory, num_devices));
    GNT_TRY(gnti_alloc_array(&t.place, f->num_chunks));
    GNT_TRY(gnti_calloc_array(&t.count, num_devices));
    GNT_TRY(gnti_alloc_array(&t.best, f->num_chunks));
    for (int32_t p = 0; p < f->num_chunks; p++)
        t.order[p] = (gnti_pooled){ f->cost[p], f->bytes[p], p };
    qsort(t.order, (size_t)f->num_chunks, sizeof *t.order, gnti_pooled_compare);
    for (int32_t d = 0; d < num_devices; d++) {
        t.room[d] = r->limit[d] * (1.0 + 1e-9);
        t.memory[d] = r->s.c->devices[d].memory;
    }
    branch(&t, 0);
    if (!t.found)
        goto done;
    price = r->byte_price * r->moved_bytes + r->halo_price * r->s.halo;
    for (int32_t p = 0; p < f->num_chunks; p++) {
        const int32_t now = r->s.owner[p];

        gnti_resize_put(r, p, t.best[p]);
        t.best[p] = now;
    }
    if (r->byte_price * r->moved_bytes + r->halo_price * r->s.halo > price)
        for (int32_t p = 0; p < f->num_chunks; p++)
            gnti_resize_put(r, p, t.best[p]);
done:
    tree_clear(&t);
    return st;
}
