/* SPDX-License-Identifier: Apache-2.0 */
/* Bipartite blocks of a whole operator: all in-neighbours of some roots.
 *
 *   sources   [ roots, as given | other in-neighbours, by ascending id ]
 *   rows      the roots' rows of the whole operator, entries in its order
 *
 * Entries keep the order of the whole graph's ids, not of the local columns: that is the fixed order in which
 * a row is summed, so a block gives the same bits as the whole graph. The transpose lists destinations by
 * ascending id for the same reason.
 */
#include "graph/operator.h"

#include <stdlib.h>

/* Numbers of the block: local[v] of each node of the whole graph (-1: not in it), node[i] of each source. */
typedef struct block_ids {
    int32_t *local;
    int64_t *node;
    int64_t num;
} block_ids;

static gnt_status number_roots(const gnti_operator *whole, const int64_t *roots, int64_t num_roots,
                               block_ids *ids)
{
    gnt_status st = GNT_OK;

    for (int64_t v = 0; v < whole->num_src; v++)
        ids->local[v] = -1;
    for (int64_t i = 0; i < num_roots; i++) {
        GNT_CHECK(roots[i] >= 0 && roots[i] < whole->num_dst, GNT_ERR_ARG,
                  "root %lld of a graph of %lld nodes", (long long)roots[i], (long long)whole->num_dst);
        GNT_CHECK(ids->local[roots[i]] < 0, GNT_ERR_ARG, "root %lld is named twice", (long long)roots[i]);
        ids->local[roots[i]] = (int32_t)i;
    }
done:
    return st;
}

static int compare_ids(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* The in-neighbours that are no roots, each once, ascending, behind the roots. */
static gnt_status number_sources(const gnti_operator *whole, const int64_t *roots, int64_t num_roots,
                                 block_ids *ids)
{
    gnt_status st = GNT_OK;
    const gnti_graph *g = whole->forward;
    int64_t most = num_roots;

    for (int64_t i = 0; i < num_roots; i++)
        most += g->offsets[roots[i] + 1] - g->offsets[roots[i]];
    GNT_TRY(gnti_alloc_array(&ids->node, gnti_min_i64(most, whole->num_src)));
    for (int64_t i = 0; i < num_roots; i++)
        ids->node[i] = roots[i];
    ids->num = num_roots;
    for (int64_t i = 0; i < num_roots; i++) {
        for (int64_t a = g->offsets[roots[i]]; a < g->offsets[roots[i] + 1]; a++) {
            const int32_t v = g->columns[a];

            if (ids->local[v] >= 0)
                continue;
            ids->local[v] = 0; /* seen; its number is known after sorting */
            ids->node[ids->num++] = v;
        }
    }
    qsort(ids->node + num_roots, (size_t)(ids->num - num_roots), sizeof *ids->node, compare_ids);
    for (int64_t i = num_roots; i < ids->num; i++)
        ids->local[ids->node[i]] = (int32_t)i;
done:
    return st;
}

static gnt_status copy_rows(const gnti_graph *g, const int64_t *roots, int64_t num_roots,
                            const block_ids *ids, gnti_graph **out)
{
    gnt_status st = GNT_OK;
    gnti_graph *b = NULL;
    int64_t num = 0;

    for (int64_t i = 0; i < num_roots; i++)
        num += g->offsets[roots[i] + 1] - g->offsets[roots[i]];
    GNT_TRY(gnti_graph_alloc(num_roots, ids->num, num, g->weights != NULL, &b));
    num = 0;
    for (int64_t i = 0; i < num_roots; i++) {
        for (int64_t a = g->offsets[roots[i]]; a < g->offsets[roots[i] + 1]; a++) {
            b->columns[num] = ids->local[g->columns[a]];
            if (b->weights != NULL)
                b->weights[num] = g->weights[a];
            num++;
        }
        b->offsets[i + 1] = num;
    }
    *out = b;
done:
    return st;
}

/* The transpose of a block's rows; each of its rows lists the destinations by ascending id. */
static gnt_status transpose_by_id(const gnti_graph *b, const int64_t *roots, gnti_graph **out)
{
    gnt_status st = GNT_OK;
    gnti_graph *t = NULL;
    int64_t *next = NULL, *order = NULL;

    GNT_TRY(gnti_graph_alloc(b->num_cols, b->num_rows, b->num_arcs, b->weights != NULL, &t));
    GNT_TRY(gnti_alloc_array(&next, b->num_cols));
    GNT_TRY(gnti_alloc_array(&order, 2 * b->num_rows));
    for (int64_t i = 0; i < b->num_rows; i++) {
        order[2 * i] = roots[i];
        order[2 * i + 1] = i;
    }
    qsort(order, (size_t)b->num_rows, 2 * sizeof *order, compare_ids);
    for (int64_t a = 0; a < b->num_arcs; a++)
        t->offsets[b->columns[a] + 1]++;
    for (int64_t c = 0; c < b->num_cols; c++) {
        next[c] = t->offsets[c];
        t->offsets[c + 1] += t->offsets[c];
    }
    for (int64_t k = 0; k < b->num_rows; k++) {
        const int64_t r = order[2 * k + 1];

        for (int64_t a = b->offsets[r]; a < b->offsets[r + 1]; a++) {
            const int64_t to = next[b->columns[a]]++;

            t->columns[to] = (int32_t)r;
            if (t->weights != NULL)
                t->weights[to] = b->weights[a];
        }
    }
    *out = t;
    t = NULL;
done:
    gnti_free(order);
    gnti_free(next);
    gnti_graph_free(&t);
    return st;
}

/* to[i] = from[node[i]]; nothing when the whole operator has no such array. */
static gnt_status pick(const float *from, const int64_t *node, int64_t num, float **to)
{
    gnt_status st = GNT_OK;

    if (from == NULL)
        return GNT_OK;
    GNT_TRY(gnti_alloc_array(to, num));
    for (int64_t i = 0; i < num; i++)
        (*to)[i] = from[node[i]];
done:
    return st;
}

static gnt_status set_arrays(const gnti_operator *whole, const int64_t *roots, const block_ids *ids,
                             gnti_operator *op)
{
    gnt_status st = GNT_OK;

    GNT_TRY(pick(whole->loop, roots, op->num_dst, &op->loop));
    GNT_TRY(pick(whole->self, roots, op->num_dst, &op->self));
    GNT_TRY(pick(whole->mean_scale, roots, op->num_dst, &op->mean_scale));
    GNT_TRY(pick(whole->sym_scale, ids->node, op->num_src, &op->sym_scale));
    GNT_TRY(gnti_alloc_array(&op->owned_ids, op->num_src));
    op->src_ids = op->owned_ids;
    for (int64_t i = 0; i < op->num_src; i++)
        op->owned_ids[i] = whole->src_ids != NULL ? whole->src_ids[ids->node[i]] : ids->node[i];
done:
    return st;
}

gnt_status gnti_operator_block(const gnti_operator *whole, const int64_t *roots, int64_t num_roots,
                               gnti_operator **out)
{
    gnt_status st = GNT_OK;
    gnti_operator *op = NULL;
    block_ids ids = { NULL, NULL, 0 };

    GNT_CHECK(whole->num_dst == whole->num_src, GNT_ERR_ARG,
              "blocks are cut from a square operator, this one is %lld x %lld", (long long)whole->num_dst,
              (long long)whole->num_src);
    GNT_TRY(gnti_alloc_array(&ids.local, whole->num_src));
    GNT_TRY(number_roots(whole, roots, num_roots, &ids));
    GNT_TRY(number_sources(whole, roots, num_roots, &ids));
    GNT_TRY(gnti_calloc_array(&op, 1));
    op->num_dst = num_roots;
    op->num_src = ids.num;
    GNT_TRY(copy_rows(whole->forward, roots, num_roots, &ids, &op->owned_forward));
    GNT_TRY(transpose_by_id(op->owned_forward, roots, &op->owned_transposed));
    op->forward = op->owned_forward;
    op->transposed = op->owned_transposed;
    GNT_TRY(set_arrays(whole, roots, &ids, op));
    *out = op;
    op = NULL;
done:
    gnti_free(ids.local);
    gnti_free(ids.node);
    gnti_operator_free(&op);
    return st;
}
