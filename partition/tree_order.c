/* SPDX-License-Identifier: Apache-2.0 */
/* Chunk ids along a tree: the quotient graph (a node a chunk, weighted by the arcs between chunks) is bisected until every
 * piece is one chunk; ids are given out from left to right. Counts live in a table while K is small, else in an open hash keyed by
 * the pair, so K may be large.
 */
#include "partition/bisect.h"

#include <string.h>

enum { MAX_DENSE_CHUNKS = 1024 };

typedef struct pair {
    uint64_t key; /* smaller chunk << 32 | larger; NONE: free */
    int64_t count;
} pair;

struct gnti_quotient {
    int32_t num_chunks;
    int64_t num_pairs, capacity; /* a power of two, at most half full */
    pair *pairs;
    int64_t *dense; /* (K, K) counts that are not among the pairs yet; NULL: there are too many chunks */
};

static const uint64_t NONE = UINT64_MAX;

static gnt_status pairs_alloc(int64_t capacity, pair **out)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_alloc_array(out, capacity));
    for (int64_t i = 0; i < capacity; i++)
        (*out)[i] = (pair){ NONE, 0 };
done:
    return st;
}

gnt_status gnti_quotient_create(int32_t num_chunks, gnti_quotient **out)
{
    gnt_status st = GNT_OK;
    gnti_quotient *q = NULL;

    GNT_TRY(gnti_calloc_array(&q, 1));
    q->num_chunks = num_chunks;
    q->capacity = 1024;
    GNT_TRY(pairs_alloc(q->capacity, &q->pairs));
    if (num_chunks <= MAX_DENSE_CHUNKS)
        GNT_TRY(gnti_calloc_array(&q->dense, (int64_t)num_chunks * num_chunks));
    *out = q;
    q = NULL;
done:
    gnti_quotient_free(&q);
    return st;
}

void gnti_quotient_free(gnti_quotient **q)
{
    if (*q == NULL)
        return;
    gnti_free((*q)->pairs);
    gnti_free((*q)->dense);
    gnti_free(*q);
    *q = NULL;
}

static pair *find(pair *pairs, int64_t capacity, uint64_t key)
{
    uint64_t i = (key * 0x9E3779B97F4A7C15u) >> 20;

    for (;; i++) {
        pair *p = &pairs[i & (uint64_t)(capacity - 1)];

        if (p->key == key || p->key == NONE)
            return p;
    }
}

static gnt_status add_pair(gnti_quotient *q, int32_t a, int32_t b, int64_t count)
{
    gnt_status st = GNT_OK;
    const uint64_t key = a < b ? (uint64_t)a << 32 | (uint64_t)b : (uint64_t)b << 32 | (uint64_t)a;
    pair *wider = NULL, *p;

    p = find(q->pairs, q->capacity, key);
    if (p->key == NONE && 2 * (q->num_pairs + 1) > q->capacity) {
        GNT_TRY(pairs_alloc(2 * q->capacity, &wider));
        for (int64_t i = 0; i < q->capacity; i++)
            if (q->pairs[i].key != NONE)
                *find(wider, 2 * q->capacity, q->pairs[i].key) = q->pairs[i];
        gnti_free(q->pairs);
        q->pairs = wider;
        q->capacity *= 2;
        p = find(q->pairs, q->capacity, key);
    }
    q->num_pairs += p->key == NONE;
    p->key = key;
    p->count += count;
done:
    return st;
}

gnt_status gnti_quotient_add(gnti_quotient *q, int32_t a, int32_t b, int64_t count)
{
    if (q->dense == NULL)
        return a != b ? add_pair(q, a, b, count) : GNT_OK;
    q->dense[(int64_t)a * q->num_chunks + b] += count;
    return GNT_OK;
}

/* Counts of the table become pairs. */
static gnt_status settle(gnti_quotient *q)
{
    gnt_status st = GNT_OK;

    for (int32_t a = 0; a < q->num_chunks && q->dense != NULL; a++)
        for (int32_t b = 0; b < q->num_chunks; b++) {
            int64_t *count = &q->dense[(int64_t)a * q->num_chunks + b];

            if (a != b && *count > 0)
                GNT_TRY(add_pair(q, a, b, *count));
            *count = 0;
        }
done:
    return st;
}

/* The quotient as a graph whose nodes weigh 1. Rows come out in the hash's order, which is the same for the same counts. */
static gnt_status to_graph(const gnti_quotient *q, gnti_cut_graph **out)
{
    gnt_status st = GNT_OK;
    gnti_cut_graph *g = NULL;
    int32_t *next = NULL, num_arcs;

    GNT_TRY(gnti_to_i32(2 * q->num_pairs, "pairs of neighbouring chunks", &num_arcs));
    GNT_TRY(gnti_cut_graph_alloc(q->num_chunks, num_arcs, 1, &g));
    GNT_TRY(gnti_alloc_array(&g->arc_weight, num_arcs));
    GNT_TRY(gnti_calloc_array(&next, q->num_chunks));
    for (int64_t i = 0; i < q->capacity; i++)
        if (q->pairs[i].key != NONE) {
            next[q->pairs[i].key >> 32]++;
            next[q->pairs[i].key & UINT32_MAX]++;
        }
    for (int32_t c = 0; c < q->num_chunks; c++) {
        g->offsets[c + 1] = g->offsets[c] + next[c];
        next[c] = g->offsets[c];
        g->weight[c] = 1;
    }
    g->total[0] = q->num_chunks;
    for (int64_t i = 0; i < q->capacity; i++) {
        const int32_t a = (int32_t)(q->pairs[i].key >> 32), b = (int32_t)(q->pairs[i].key & UINT32_MAX);

        if (q->pairs[i].key == NONE)
            continue;
        g->arc_weight[next[a]] = g->arc_weight[next[b]] = q->pairs[i].count;
        g->columns[next[a]++] = b;
        g->columns[next[b]++] = a;
    }
    *out = g;
    g = NULL;
done:
    gnti_free(next);
    gnti_cut_graph_free(&g);
    return st;
}

/* The subgraph of the chunks list[0 .. num - 1] of g, in their order; local is scratch, -1 before and after. */
static gnt_status induce(const gnti_cut_graph *g, const int32_t *list, int32_t num, int32_t *local,
                         gnti_cut_graph **out)
{
    gnt_status st = GNT_OK;
    gnti_cut_graph *piece = NULL;
    int32_t num_arcs = 0;

    for (int32_t i = 0; i < num; i++) {
        local[list[i]] = i;
        num_arcs += g->offsets[list[i] + 1] - g->offsets[list[i]];
    }
    GNT_TRY(gnti_cut_graph_alloc(num, num_arcs, 1, &piece));
    GNT_TRY(gnti_alloc_array(&piece->arc_weight, num_arcs));
    num_arcs = 0;
    for (int32_t i = 0; i < num; i++) {
        for (int32_t a = g->offsets[list[i]]; a < g->offsets[list[i] + 1]; a++)
            if (local[g->columns[a]] >= 0) {
                piece->columns[num_arcs] = local[g->columns[a]];
                piece->arc_weight[num_arcs++] = g->arc_weight[a];
            }
        piece->offsets[i + 1] = num_arcs;
        piece->weight[i] = 1;
    }
    piece->total[0] = num;
    *out = piece;
    piece = NULL;
done:
    for (int32_t i = 0; i < num; i++)
        local[list[i]] = -1;
    gnti_cut_graph_free(&piece);
    return st;
}

/* Orders the chunks list[first .. end - 1] so that those before mid are one side. buffer: room for a list, side for as many. */
static gnt_status split(const gnti_cut_graph *g, int32_t *list, int32_t num, int32_t left, int32_t *local,
                        uint8_t *side)
{
    gnt_status st = GNT_OK;
    const gnti_bisect_goal goal = { .fraction = (double)left / num, .min_nodes = { left, num - left } };
    gnti_cut_graph *piece = NULL;
    int32_t *before = NULL, to[2] = { 0, left };

    GNT_TRY(induce(g, list, num, local, &piece));
    GNT_TRY(gnti_alloc_array(&before, num));
    GNT_TRY(gnti_bisect(piece, &goal, side));
    memcpy(before, list, (size_t)num * sizeof *list);
    for (int32_t i = 0; i < num; i++)
        list[to[side[i]]++] = before[i];
done:
    gnti_free(before);
    gnti_cut_graph_free(&piece);
    return st;
}

gnt_status gnti_tree_order(gnti_quotient *q, int32_t num_shares, const int32_t *share_chunks, int32_t *rank)
{
    gnt_status st = GNT_OK;
    gnti_cut_graph *g = NULL;
    int32_t *list = NULL, *local = NULL, *stack = NULL, depth = 0;
    uint8_t *side = NULL;

    GNT_TRY(settle(q));
    GNT_TRY(to_graph(q, &g));
    GNT_TRY(gnti_alloc_array(&list, q->num_chunks));
    GNT_TRY(gnti_alloc_array(&local, q->num_chunks));
    GNT_TRY(gnti_alloc_array(&stack, 2 * ((int64_t)q->num_chunks + 1)));
    GNT_TRY(gnti_alloc_array(&side, q->num_chunks));
    for (int32_t c = 0; c < q->num_chunks; c++) {
        list[c] = c;
        local[c] = -1;
    }
    stack[depth++] = 0;
    stack[depth++] = q->num_chunks;
    while (depth > 0) {
        const int32_t end = stack[--depth], first = stack[--depth];

        if (end - first < 2)
            continue;
        const int32_t mid = gnti_tree_split(first, end, num_shares, share_chunks);

        GNT_TRY(split(g, list + first, end - first, mid - first, local, side));
        stack[depth++] = first;
        stack[depth++] = mid;
        stack[depth++] = mid;
        stack[depth++] = end;
    }
    for (int32_t i = 0; i < q->num_chunks; i++)
        rank[list[i]] = i;
done:
    gnti_free(list);
    gnti_free(local);
    gnti_free(stack);
    gnti_free(side);
    gnti_cut_graph_free(&g);
    return st;
}

gnt_status gnti_tree_renumber(const gnti_graph *graph, int32_t num_chunks, int32_t num_shares,
                              const int32_t *share_chunks, int32_t *chunk_of)
{
    gnt_status st = GNT_OK;
    gnti_quotient *q = NULL;
    int32_t *rank = NULL;

    GNT_TRY(gnti_quotient_create(num_chunks, &q));
    for (int64_t r = 0; r < graph->num_rows; r++)
        for (int64_t a = graph->offsets[r]; a < graph->offsets[r + 1]; a++)
            if (chunk_of[r] != chunk_of[graph->columns[a]])
                GNT_TRY(gnti_quotient_add(q, chunk_of[r], chunk_of[graph->columns[a]], 1));
    GNT_TRY(gnti_alloc_array(&rank, num_chunks));
    GNT_TRY(gnti_tree_order(q, num_shares, share_chunks, rank));
    for (int64_t r = 0; r < graph->num_rows; r++)
        chunk_of[r] = rank[chunk_of[r]];
done:
    gnti_free(rank);
    gnti_quotient_free(&q);
    return st;
}
