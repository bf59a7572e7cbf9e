/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of square graphs: loops taken out of the arcs, rows turned to destinations, scales from the
 * degrees.
 *
 *   symmetric, no loops   forward = the dataset's own graph, nothing is copied
 *   symmetric             forward = a copy without loops, transposed = forward
 *   directed              forward = transpose of the arcs without loops, transposed = the arcs themselves
 *
 * Sums over a row are in double and in the order of the row. A node without any neighbour or loop has the
 * degree 0, which is no error: t = 1 (its output is x W + b) and a mean of 0.
 */
#include "graph/operator.h"

#include <math.h>

static bool has_loops(const gnti_graph *g)
{
    for (int64_t r = 0; r < g->num_rows; r++)
        for (int64_t a = g->offsets[r]; a < g->offsets[r + 1]; a++)
            if (g->columns[a] == r)
                return true;
    return false;
}

static int64_t count_loops(const gnti_graph *g)
{
    int64_t num = 0;

    for (int64_t r = 0; r < g->num_rows; r++)
        for (int64_t a = g->offsets[r]; a < g->offsets[r + 1]; a++)
            num += g->columns[a] == r;
    return num;
}

/* The graph without its loops; their weights go to loop (zeroed). */
static gnt_status split_loops(const gnti_graph *g, float *loop, gnti_graph **out)
{
    gnt_status st = GNT_OK;
    gnti_graph *s = NULL;
    int64_t num = 0;

    GNT_TRY(gnti_graph_alloc(g->num_rows, g->num_cols, g->num_arcs - count_loops(g), g->weights != NULL, &s));
    for (int64_t r = 0; r < g->num_rows; r++) {
        for (int64_t a = g->offsets[r]; a < g->offsets[r + 1]; a++) {
            const float w = g->weights != NULL ? g->weights[a] : 1.0f;

            if (g->columns[a] == r) {
                loop[r] = w;
                continue;
            }
            s->columns[num] = g->columns[a];
            if (s->weights != NULL)
                s->weights[num] = w;
            num++;
        }
        s->offsets[r + 1] = num;
    }
    *out = s;
    s = NULL;
done:
    gnti_graph_free(&s);
    return st;
}

/* forward, transposed, symmetric, loop, from a graph whose rows are sources. */
static gnt_status set_graphs(gnti_operator *op, const gnti_graph *sources)
{
    gnt_status st = GNT_OK;
    gnti_graph *bare = NULL;

    if (has_loops(sources)) {
        GNT_TRY(gnti_calloc_array(&op->loop, sources->num_rows));
        GNT_TRY(split_loops(sources, op->loop, &bare));
    }
    GNT_TRY(gnti_graph_is_symmetric(bare != NULL ? bare : sources, &op->symmetric));
    if (op->symmetric) {
        op->owned_forward = bare;
        op->forward = bare != NULL ? bare : sources;
        op->transposed = op->forward;
    } else {
        op->owned_transposed = bare;
        op->transposed = bare != NULL ? bare : sources;
    }
    bare = NULL;
    if (!op->symmetric) {
        GNT_TRY(gnti_graph_transpose(op->transposed, NULL, &op->owned_forward));
        op->forward = op->owned_forward;
    }
done:
    gnti_graph_free(&bare);
    return st;
}

/* self: what sym adds for the node itself. Kept only when some stored loop does not weigh 1. */
static gnt_status set_self(gnti_operator *op)
{
    gnt_status st = GNT_OK;
    bool ones = true;

    for (int64_t i = 0; op->loop != NULL && i < op->num_dst; i++)
        ones = ones && (op->loop[i] == 0.0f || op->loop[i] == 1.0f);
    if (ones)
        return GNT_OK;
    GNT_TRY(gnti_alloc_array(&op->self, op->num_dst));
    for (int64_t i = 0; i < op->num_dst; i++)
        op->self[i] = op->loop[i] != 0.0f ? op->loop[i] : 1.0f;
done:
    return st;
}

/* node i of op, in the numbers of the whole graph */
static long long global_id(const gnti_operator *op, int64_t i)
{
    return (long long)(op->src_ids != NULL ? op->src_ids[i] : i);
}

gnt_status gnti_operator_fill_scales(gnti_operator *op)
{
    gnt_status st = GNT_OK;
    double *degree = NULL;

    GNT_TRY(gnti_graph_degrees(op->forward, &degree));
    for (int64_t i = 0; i < op->num_dst; i++) {
        const double loop = op->loop != NULL ? (double)op->loop[i] : 0.0;
        const double self = op->self != NULL ? (double)op->self[i] : 1.0;
        const bool alone = op->forward->offsets[i] == op->forward->offsets[i + 1] && loop == 0.0;
        const double mean = degree[i] + loop, sym = degree[i] + self;

        GNT_CHECK(
            alone || mean > 0.0, GNT_ERR_FORMAT,
            "node %lld has the weighted degree %g, a degree must be positive: fix or drop its arcs' weights",
            global_id(op, i), mean);
        GNT_CHECK(sym > 0.0, GNT_ERR_FORMAT,
                  "node %lld has the weighted degree %g with its own loop, a degree must be positive: fix "
                  "its weights",
                  global_id(op, i), sym);
        op->mean_scale[i] = alone ? 0.0f : (float)(1.0 / mean);
        op->sym_scale[i] = (float)(1.0 / sqrt(sym));
    }
done:
    gnti_free(degree);
    return st;
}

/* Takes ids (NULL: row r is node r), also when it fails. */
static gnt_status create(const gnti_graph *sources, int64_t **ids, gnti_operator **out)
{
    gnt_status st = GNT_OK;
    gnti_operator *op = NULL;

    GNT_CHECK(sources->num_rows == sources->num_cols, GNT_ERR_ARG,
              "an operator is made from a square graph, this one is %lld x %lld",
              (long long)sources->num_rows, (long long)sources->num_cols);
    GNT_TRY(gnti_calloc_array(&op, 1));
    op->num_dst = op->num_src = sources->num_rows;
    op->owned_ids = *ids;
    op->src_ids = *ids;
    *ids = NULL;
    GNT_TRY(set_graphs(op, sources));
    GNT_TRY(set_self(op));
    GNT_TRY(gnti_alloc_array(&op->sym_scale, op->num_src));
    GNT_TRY(gnti_alloc_array(&op->mean_scale, op->num_dst));
    GNT_TRY(gnti_operator_fill_scales(op));
    *out = op;
    op = NULL;
done:
    gnti_operator_free(&op);
    return st;
}

gnt_status gnti_operator_create(const gnti_graph *sources, gnti_operator **out)
{
    int64_t *ids = NULL;

    return create(sources, &ids, out);
}

/* A symmetric graph without loops is borrowed by its operator; here the operator must own it. */
static void adopt_graph(gnti_operator *op, gnti_graph **sub)
{
    if (op->forward == *sub) {
        op->owned_forward = *sub;
        *sub = NULL;
    } else if (op->transposed == *sub) {
        op->owned_transposed = *sub;
        *sub = NULL;
    }
}

gnt_status gnti_operator_induced(const gnti_graph *sources, const int64_t *nodes, int64_t num_nodes,
                                 gnti_operator **out)
{
    gnt_status st = GNT_OK;
    gnti_graph *sub = NULL;
    gnti_operator *op = NULL;
    int64_t *ids = NULL;

    GNT_TRY(gnti_graph_subgraph(sources, nodes, num_nodes, NULL, &sub));
    GNT_TRY(gnti_alloc_array(&ids, num_nodes));
    for (int64_t i = 0; i < num_nodes; i++)
        ids[i] = nodes[i];
    GNT_TRY(create(sub, &ids, &op));
    adopt_graph(op, &sub);
    *out = op;
done:
    gnti_free(ids);
    gnti_graph_free(&sub);
    return st;
}

void gnti_operator_free(gnti_operator **op)
{
    gnti_operator *o;

    if (op == NULL || *op == NULL)
        return;
    o = *op;
    gnti_graph_free(&o->owned_forward);
    gnti_graph_free(&o->owned_transposed);
    gnti_free(o->loop);
    gnti_free(o->self);
    gnti_free(o->sym_scale);
    gnti_free(o->mean_scale);
    gnti_free(o->sym_scale_t);
    gnti_free(o->mean_scale_t);
    gnti_free(o->owned_ids);
    gnti_free(o);
    *op = NULL;
}
