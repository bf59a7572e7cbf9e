/* SPDX-License-Identifier: Apache-2.0 */
/* Splitting the pieces of a level: those that METIS cuts in one run of its program, the others by our own bisection.
 *
 * Of several seeds the cut of least volume among those in balance is taken; k-way ids are put along a tree.
 */
#include "partition/cut_pieces.h"

#include "partition/bisect.h"

#include "base/clock.h"

#include <math.h>
#include <string.h>

static gnti_metis_request request_of(const gnti_nested *n, int32_t i)
{
    const gnti_piece *p = &n->pieces[i];
    const bool kway = n->config->metis_volume || n->g->num_arcs > GNTI_NESTED_RECURSIVE_ARCS;
    gnti_metis_request r = { .num_nodes = gnti_nested_nodes(n, i),
                             .num_arcs = p->num_arcs,
                             .num_weights = 1,
                             .num_parts = p->num_parts,
                             .num_tries = gnti_nested_tries(n, p),
                             .seed = (int32_t)(n->config->seed & 0x3fffffff),
                             .kway = kway && p->num_parts > 2,
                             .volume = n->config->metis_volume && p->num_parts > 2 };

    for (int32_t k = n->start[i]; n->g->num_weights == 2 && k < n->start[i + 1]; k++)
        if (n->g->weight[2 * (int64_t)n->order[k] + 1] > 0)
            r.num_weights = 2; /* METIS divides by the sum of each weight */
    return r;
}

static void set_goal(const gnti_nested *n, const gnti_piece *p, const gnti_cut_graph *graph, float *targets,
                     gnti_metis_request *r)
{
    const double whole = gnti_nested_share(n->t, p->first, p->end);
    const bool last = p->num_parts == p->end - p->first;

    for (int32_t k = 0; k < p->num_parts; k++)
        for (int32_t w = 0; w < graph->num_weights; w++)
            targets[k * graph->num_weights + w] =
                (float)(gnti_nested_share(n->t, gnti_nested_chunk(n, p, k), gnti_nested_chunk(n, p, k + 1)) /
                        whole);
    for (int32_t w = 0; w < graph->num_weights; w++)
        r->tolerance[w] = (float)fmax(1.001, gnti_nested_tolerance(n, n->level, last, w) /
                                                 gnti_nested_load(n, p, graph, w));
}

/* All pieces that METIS cuts, in one run of its program. */
static gnt_status fill_batch(gnti_nested *n, int32_t num_requests, gnti_metis_batch **out)
{
    gnt_status st = GNT_OK;
    gnti_metis_request *requests = NULL;
    gnti_metis_batch *batch = NULL;
    gnti_cut_graph *graph = NULL;

    GNT_TRY(gnti_alloc_array(&requests, num_requests));
    for (int32_t i = 0; i < n->num_pieces; i++)
        if (n->pieces[i].request >= 0)
            requests[n->pieces[i].request] = request_of(n, i);
    GNT_TRY(gnti_metis_batch_create(requests, num_requests, &batch));
    for (int32_t i = 0; i < n->num_pieces; i++) {
        const gnti_piece *p = &n->pieces[i];

        if (p->request < 0)
            continue;
        GNT_TRY(gnti_metis_batch_graph(batch, p->request, &graph));
        gnti_cut_graph_induce(n->g, n->label, i, n->order + n->start[i], n->local, graph);
        set_goal(n, p, graph, gnti_metis_batch_targets(batch, p->request),
                 gnti_metis_batch_request(batch, p->request));
        gnti_cut_graph_free(&graph);
    }
    *out = batch;
    batch = NULL;
done:
    gnti_free(requests);
    gnti_cut_graph_free(&graph);
    gnti_metis_batch_free(&batch);
    return st;
}

/* Volume of a cut of a piece in two, and by how much its worst weight exceeds its bound. */
static void judge(const gnti_cut_graph *g, const int32_t *part, const gnti_metis_request *r,
                  const float *targets, int64_t *volume, double *excess)
{
    const int32_t num = g->num_weights;
    int64_t work[2 * GNTI_CUT_MAX_WEIGHTS] = { 0 };

    *volume = 0;
    for (int32_t v = 0; v < g->num_nodes; v++) {
        for (int32_t w = 0; w < num; w++)
            work[part[v] * num + w] += g->weight[(int64_t)v * num + w];
        for (int32_t a = g->offsets[v]; a < g->offsets[v + 1]; a++)
            if (part[g->columns[a]] != part[v]) {
                ++*volume;
                break;
            }
    }
    *excess = 0.0;
    for (int32_t i = 0; i < 2 * num; i++) {
        const double wanted = (double)targets[i] * (double)(work[i % num] + work[num + i % num]);

        *excess = fmax(*excess, (double)work[i] / wanted - (double)r->tolerance[i % num]);
        if (work[i] == 0 && i % num == 0)
            *excess = INFINITY;
    }
}

/* The try of least volume among those in balance, or the one nearest to it. */
static gnt_status best_try(gnti_metis_batch *batch, int32_t request, int32_t *out)
{
    gnt_status st = GNT_OK;
    const gnti_metis_request *r = gnti_metis_batch_request(batch, request);
    gnti_cut_graph *graph = NULL;
    int64_t best = 0, volume;
    double best_excess = 0.0, excess;

    *out = 0;
    GNT_TRY(gnti_metis_batch_graph(batch, request, &graph));
    for (int32_t k = 0; k < r->num_tries && r->num_tries > 1; k++) {
        judge(graph, gnti_metis_batch_parts(batch, request, k), r, gnti_metis_batch_targets(batch, request),
              &volume, &excess);
        excess = fmax(0.0, excess - 0.002);
        if (k == 0 || excess < best_excess || (excess == best_excess && volume < best)) {
            *out = k;
            best = volume;
            best_excess = excess;
        }
    }
done:
    gnti_cut_graph_free(&graph);
    return st;
}

/* k-way ids are in no order: puts them along a tree. */
static gnt_status order_parts(const gnti_cut_graph *graph, int32_t num_parts, int32_t *part)
{
    gnt_status st = GNT_OK;
    gnti_quotient *q = NULL;
    int32_t *rank = NULL;

    GNT_TRY(gnti_quotient_create(num_parts, &q));
    for (int32_t v = 0; v < graph->num_nodes; v++)
        for (int32_t a = graph->offsets[v]; a < graph->offsets[v + 1]; a++)
            if (part[v] < part[graph->columns[a]])
                GNT_TRY(gnti_quotient_add(q, part[v], part[graph->columns[a]], 1));
    GNT_TRY(gnti_alloc_array(&rank, num_parts));
    GNT_TRY(gnti_tree_order(q, 0, NULL, rank));
    for (int32_t v = 0; v < graph->num_nodes; v++)
        part[v] = rank[part[v]];
done:
    gnti_free(rank);
    gnti_quotient_free(&q);
    return st;
}

static gnt_status take_answers(gnti_nested *n, gnti_metis_batch *batch)
{
    gnt_status st = GNT_OK;
    gnti_cut_graph *graph = NULL;
    int32_t chosen;

    for (int32_t i = 0; i < n->num_pieces; i++) {
        const gnti_piece *p = &n->pieces[i];

        if (p->request < 0)
            continue;
        GNT_TRY(best_try(batch, p->request, &chosen));
        memcpy(n->answer + n->start[i], gnti_metis_batch_parts(batch, p->request, chosen),
               (size_t)gnti_nested_nodes(n, i) * sizeof *n->answer);
        if (gnti_metis_batch_request(batch, p->request)->kway) {
            GNT_TRY(gnti_metis_batch_graph(batch, p->request, &graph));
            GNT_TRY(order_parts(graph, p->num_parts, n->answer + n->start[i]));
            gnti_cut_graph_free(&graph);
        }
        n->story->num_metis++;
    }
done:
    gnti_cut_graph_free(&graph);
    return st;
}

gnt_status gnti_nested_by_metis(gnti_nested *n, int32_t num_requests)
{
    gnt_status st = GNT_OK;
    gnti_metis_batch *batch = NULL;
    const double limit = n->config->time_limit > 0.0 ? n->config->time_limit : 3600.0;
    const gnti_metis_limits limits = { .seconds = fmax(0.001, limit - (gnti_clock_seconds() - n->begin)),
                                       .memory_bytes = n->config->memory_limit };
    double begin;

    GNT_TRY(fill_batch(n, num_requests, &batch));
    begin = gnti_clock_seconds();
    GNT_TRY(gnti_metis_batch_run(batch, &limits, n->story->failure));
    n->story->metis_seconds += gnti_clock_seconds() - begin;
    if (n->story->failure[0] != '\0')
        goto done;
    memcpy(n->story->version, gnti_metis_batch_version(batch, &n->story->index_bits),
           sizeof n->story->version);
    GNT_TRY(take_answers(n, batch));
done:
    gnti_metis_batch_free(&batch);
    return st;
}

gnt_status gnti_nested_ourselves(gnti_nested *n, int32_t i)
{
    gnt_status st = GNT_OK;
    const gnti_piece *p = &n->pieces[i];
    const int32_t nodes = gnti_nested_nodes(n, i), mid = gnti_nested_chunk(n, p, 1);
    const int64_t left = mid - p->first, right = p->end - mid;
    const double whole = gnti_nested_share(n->t, p->first, p->end);
    gnti_bisect_goal goal = { .fraction = gnti_nested_share(n->t, p->first, mid) / whole };
    gnti_cut_graph *graph = NULL;
    uint8_t *side = NULL;

    goal.min_nodes[0] = (int32_t)gnti_min_i64(left, nodes * left / (left + right));
    goal.min_nodes[1] = (int32_t)gnti_min_i64(right, nodes * right / (left + right));
    GNT_TRY(gnti_cut_graph_alloc(nodes, p->num_arcs, n->g->num_weights, &graph));
    GNT_TRY(gnti_alloc_array(&side, nodes));
    gnti_cut_graph_induce(n->g, n->label, i, n->order + n->start[i], n->local, graph);
    goal.slack =
        (gnti_nested_tolerance(n, n->level, p->end - p->first == 2, 0) / gnti_nested_load(n, p, graph, 0) -
         1.0) *
        fmin(goal.fraction, 1.0 - goal.fraction);
    goal.slack = fmax(goal.slack, nodes > 0 ? 0.5 / nodes : 0.0);
    GNT_TRY(gnti_bisect(graph, &goal, side));
    for (int32_t k = 0; k < nodes; k++)
        n->answer[n->start[i] + k] = side[k];
    n->story->num_own++;
done:
    gnti_free(side);
    gnti_cut_graph_free(&graph);
    return st;
}
