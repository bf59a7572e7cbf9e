/* SPDX-License-Identifier: Apache-2.0 */
/* The levels of the nested cut.
 *
 * A piece is a range of chunks and the nodes that will fill it. Each level splits every piece of more than one chunk: between
 * shares while it holds several, then in two until the pieces of a launch on 2, 4 or 8 devices are there, then into all its
 * chunks at once (METIS' recursive bisection numbers them along its tree; k-way ids are put in order afterwards). Pieces too
 * small for METIS' coarsening are bisected by ourselves, so the same loop serves small graphs. After each level the parts are
 * repaired and refined for volume, nodes staying inside the piece that was split: what a launch would send never gets worse
 * by what comes below it. Tolerance is handed out from the top: little is left unused where cuts are dearest.
 */
#include "partition/cut_nested.h"

#include "partition/bisect.h"

#include "base/clock.h"

#include <math.h>
#include <string.h>

enum {
    LAUNCH_DEPTH = 3,
    METIS_NODES = 600,
    NODES_A_PART = 60,
    RECURSIVE_ARCS = 10000000,
    SMALL_ARCS = 400000,
    CLIMB_WORK = 4000000,
    MAX_SWEEPS = 8
};

typedef struct piece {
    int32_t first, end; /* chunks */
    int32_t depth;      /* splits since it has been inside one share */
    int32_t num_arcs;   /* inside it */
    int32_t num_parts;  /* of the next split; 1: done */
    int32_t request;    /* METIS' request, -1: our own bisection */
    int32_t first_child;
} piece;

typedef struct nested {
    const gnti_cut_graph *g;
    const gnti_partition_config *config;
    const gnti_cut_targets *t;
    gnti_cut_story *story;
    gnti_halo_table *table;
    piece *pieces, *children; /* (K) by first chunk */
    int32_t num_pieces, level, variant;
    bool shares;                    /* some piece of this level is still to be cut into shares */
    int32_t *label;                 /* (n) piece of each node */
    int32_t *order, *local, *start; /* nodes by piece, ascending; place in the piece; (K + 1) */
    int32_t *answer;                /* (n) part within the piece, by order */
    double begin;
} nested;

static double share_of(const gnti_cut_targets *t, int32_t first, int32_t end)
{
    double sum = 0.0;

    for (int32_t c = first; c < end; c++)
        sum += t->chunk_share[c];
    return sum;
}

static double tolerance_of(const gnti_partition_config *c, int32_t w)
{
    return w == 0 ? (c->tolerance > 0.0 ? c->tolerance : 1.05) : 1.10;
}

/* Part of the tolerance that a level may have used up: 0.4, 0.6, 0.73, ...; all of it at the chunks. */
static double level_tolerance(const nested *n, int32_t level, bool last, int32_t w)
{
    return pow(tolerance_of(n->config, w), last ? 1.0 : 1.0 - 0.6 * pow(2.0 / 3.0, level));
}

static int32_t piece_nodes(const nested *n, int32_t i)
{
    return n->start[i + 1] - n->start[i];
}

/* Nodes by piece and the arcs inside each piece. */
static void sort_nodes(nested *n)
{
    const gnti_cut_graph *g = n->g;

    memset(n->start, 0, ((size_t)n->num_pieces + 1) * sizeof *n->start);
    for (int32_t i = 0; i < n->num_pieces; i++)
        n->pieces[i].num_arcs = 0;
    for (int32_t v = 0; v < g->num_nodes; v++) {
        const int32_t i = n->label[v];
        int32_t inside = 0;

        for (int32_t a = g->offsets[v]; a < g->offsets[v + 1]; a++)
            inside += n->label[g->columns[a]] == i;
        n->pieces[i].num_arcs += inside;
        n->local[v] = n->start[i + 1]++;
    }
    for (int32_t i = 0; i < n->num_pieces; i++)
        n->start[i + 1] += n->start[i];
    for (int32_t v = 0; v < g->num_nodes; v++)
        n->order[n->start[n->label[v]] + n->local[v]] = v;
}

static bool is_power_of_two(int32_t x)
{
    return (x & (x - 1)) == 0;
}

static bool spans_shares(const nested *n, const piece *p)
{
    for (int32_t s = 1; s < n->t->num_shares; s++)
        if (n->t->share_chunks[s] > p->first && n->t->share_chunks[s] < p->end)
            return true;
    return false;
}

/* Into how many parts, and by whom. */
static void plan_piece(const nested *n, int32_t i, int32_t *num_requests)
{
    piece *p = &n->pieces[i];
    const int32_t chunks = p->end - p->first, nodes = piece_nodes(n, i);
    const bool kway = n->config->metis_volume || n->g->num_arcs > RECURSIVE_ARCS;
    const int32_t launch = n->t->num_shares > 1 || kway ? 0 : LAUNCH_DEPTH;

    p->request = -1;
    p->num_parts = chunks > 1 ? 2 : 1;
    if (n->shares && !spans_shares(n, p))
        p->num_parts = 1; /* the shares come first, all of them */
    if (p->num_parts == 1)
        return;
    if (!n->shares && p->depth >= launch && (kway || is_power_of_two(chunks)) &&
        nodes >= NODES_A_PART * (int64_t)chunks)
        p->num_parts = chunks;
    if (nodes >= METIS_NODES || p->num_parts > 2)
        p->request = (*num_requests)++;
}

/* More seeds where a graph is small and a cut decides what a launch sends. */
static int32_t tries_of(const nested *n, const piece *p)
{
    const bool launch = n->shares || (n->t->num_shares == 1 && p->depth < LAUNCH_DEPTH);

    if (p->num_parts > 2 || !launch)
        return 1;
    return n->g->num_arcs <= SMALL_ARCS ? 8 : n->g->num_arcs <= 2000000 ? 4 : 1;
}

/* Where a piece is split in two. Variants of small graphs differ in the order in which shares come off. */
static int32_t split_of(const nested *n, const piece *p)
{
    const gnti_cut_targets *t = n->t;
    int32_t first = 0, last = t->num_shares;

    if (n->variant == 0 || !spans_shares(n, p))
        return gnti_tree_split(p->first, p->end, t->num_shares > 1 ? t->num_shares : 0, t->share_chunks);
    while (t->share_chunks[first] <= p->first)
        first++;
    while (t->share_chunks[last] >= p->end)
        last--;
    return t->share_chunks[n->variant == 1 ? first : last];
}

/* First chunk of part k of a piece; k = num_parts: its end. */
static int32_t part_chunk(const nested *n, const piece *p, int32_t k)
{
    if (k == 0 || k == p->num_parts)
        return k == 0 ? p->first : p->end;
    if (p->num_parts == p->end - p->first)
        return p->first + k;
    return split_of(n, p);
}

/* How far over its target a piece already is, in weight w. */
static double load_of(const nested *n, const piece *p, const gnti_cut_graph *graph, int32_t w)
{
    const double wanted = share_of(n->t, p->first, p->end) * (double)n->g->total[w];

    return wanted > 0.0 ? (double)graph->total[w] / wanted : 1.0;
}

static gnti_metis_request request_of(const nested *n, int32_t i)
{
    const piece *p = &n->pieces[i];
    const bool kway = n->config->metis_volume || n->g->num_arcs > RECURSIVE_ARCS;
    gnti_metis_request r = { .num_nodes = piece_nodes(n, i),
                             .num_arcs = p->num_arcs,
                             .num_weights = 1,
                             .num_parts = p->num_parts,
                             .num_tries = tries_of(n, p),
                             .seed = (int32_t)(n->config->seed & 0x3fffffff),
                             .kway = kway && p->num_parts > 2,
                             .volume = n->config->metis_volume && p->num_parts > 2 };

    for (int32_t k = n->start[i]; n->g->num_weights == 2 && k < n->start[i + 1]; k++)
        if (n->g->weight[2 * (int64_t)n->order[k] + 1] > 0)
            r.num_weights = 2; /* METIS divides by the sum of each weight */
    return r;
}

static void set_goal(const nested *n, const piece *p, const gnti_cut_graph *graph, float *targets,
                     gnti_metis_request *r)
{
    const double whole = share_of(n->t, p->first, p->end);
    const bool last = p->num_parts == p->end - p->first;

    for (int32_t k = 0; k < p->num_parts; k++)
        for (int32_t w = 0; w < graph->num_weights; w++)
            targets[k * graph->num_weights + w] =
                (float)(share_of(n->t, part_chunk(n, p, k), part_chunk(n, p, k + 1)) / whole);
    for (int32_t w = 0; w < graph->num_weights; w++)
        r->tolerance[w] = (float)fmax(1.001, level_tolerance(n, n->level, last, w) / load_of(n, p, graph, w));
}

/* All pieces that METIS cuts, in one run of its program. */
static gnt_status fill_batch(nested *n, int32_t num_requests, gnti_metis_batch **out)
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
        const piece *p = &n->pieces[i];

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

static gnt_status take_answers(nested *n, gnti_metis_batch *batch)
{
    gnt_status st = GNT_OK;
    gnti_cut_graph *graph = NULL;
    int32_t chosen;

    for (int32_t i = 0; i < n->num_pieces; i++) {
        const piece *p = &n->pieces[i];

        if (p->request < 0)
            continue;
        GNT_TRY(best_try(batch, p->request, &chosen));
        memcpy(n->answer + n->start[i], gnti_metis_batch_parts(batch, p->request, chosen),
               (size_t)piece_nodes(n, i) * sizeof *n->answer);
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

static gnt_status cut_by_metis(nested *n, int32_t num_requests)
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

static gnt_status cut_ourselves(nested *n, int32_t i)
{
    gnt_status st = GNT_OK;
    const piece *p = &n->pieces[i];
    const int32_t nodes = piece_nodes(n, i), mid = part_chunk(n, p, 1);
    const int64_t left = mid - p->first, right = p->end - mid;
    const double whole = share_of(n->t, p->first, p->end);
    gnti_bisect_goal goal = { .fraction = share_of(n->t, p->first, mid) / whole };
    gnti_cut_graph *graph = NULL;
    uint8_t *side = NULL;

    goal.min_nodes[0] = (int32_t)gnti_min_i64(left, nodes * left / (left + right));
    goal.min_nodes[1] = (int32_t)gnti_min_i64(right, nodes * right / (left + right));
    GNT_TRY(gnti_cut_graph_alloc(nodes, p->num_arcs, n->g->num_weights, &graph));
    GNT_TRY(gnti_alloc_array(&side, nodes));
    gnti_cut_graph_induce(n->g, n->label, i, n->order + n->start[i], n->local, graph);
    goal.slack = (level_tolerance(n, n->level, p->end - p->first == 2, 0) / load_of(n, p, graph, 0) - 1.0) *
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

/* The children become the pieces; label follows. */
static void descend(nested *n)
{
    int32_t num = 0;
    piece *old = n->pieces;

    for (int32_t i = 0; i < n->num_pieces; i++) {
        const bool inside = !spans_shares(n, &old[i]);

        old[i].first_child = num;
        for (int32_t k = 0; k < old[i].num_parts; k++)
            n->children[num++] = (piece){ .first = part_chunk(n, &old[i], k),
                                          .end = part_chunk(n, &old[i], k + 1),
                                          .depth = inside && old[i].num_parts > 1 ? old[i].depth + 1 : 0 };
    }
    for (int32_t i = 0; i < n->num_pieces; i++)
        for (int32_t k = n->start[i]; k < n->start[i + 1]; k++)
            n->label[n->order[k]] = old[i].first_child + (old[i].num_parts > 1 ? n->answer[k] : 0);
    n->pieces = n->children;
    n->children = old;
    n->num_pieces = num;
}

/* Repairs and refines what a level has cut, inside the groups of its parents. */
static gnt_status polish(const nested *n, const int32_t *group, const double *share, const uint8_t *only)
{
    gnt_status st = GNT_OK;
    gnti_cut_story *story = n->story;
    gnti_halo_table *t = n->table;
    gnti_balance *b = NULL;
    gnti_cut_level *level =
        &story
             ->level[story->num_levels < GNTI_CUT_MAX_LEVELS ? story->num_levels++ : GNTI_CUT_MAX_LEVELS - 1];
    const bool last = n->num_pieces == n->t->num_chunks;
    const double tolerance[GNTI_CUT_MAX_WEIGHTS] = { level_tolerance(n, n->level, last, 0),
                                                     level_tolerance(n, n->level, last, 1) };

    const double begin = gnti_clock_seconds();

    gnti_halo_table_load(t, n->num_pieces, n->label);
    *level = (gnti_cut_level){ .num_parts = n->num_pieces, .volume_before = t->halo, .cut_before = t->cut };
    GNT_TRY(gnti_balance_make(n->g, n->num_pieces, share, tolerance, &b));
    GNT_TRY(gnti_repair(t, b));
    GNT_TRY(gnti_refine_volume(t, b, group, only, MAX_SWEEPS));
    if ((int64_t)n->g->num_nodes * n->g->num_arcs <= CLIMB_WORK)
        GNT_TRY(gnti_refine_climb(t, b, group));
    level->volume_after = t->halo;
    level->cut_after = t->cut;
    story->worst_load = gnti_balance_worst(b, t, &story->over);
    story->polish_seconds += gnti_clock_seconds() - begin;
done:
    gnti_balance_free(&b);
    return st;
}

/* Only the shares' own borders are a launch's; those of the splits on the way to them may be crossed. */
static gnt_status polish_level(nested *n, int32_t num_parents, const piece *parents)
{
    gnt_status st = GNT_OK;
    int32_t *group = NULL;
    double *share = NULL;

    GNT_TRY(gnti_alloc_array(&group, n->num_pieces));
    GNT_TRY(gnti_alloc_array(&share, n->num_pieces));
    for (int32_t i = 0; i < num_parents; i++)
        for (int32_t k = 0; k < parents[i].num_parts; k++)
            group[parents[i].first_child + k] = i;
    for (int32_t i = 0; i < n->num_pieces; i++)
        share[i] = share_of(n->t, n->pieces[i].first, n->pieces[i].end);
    GNT_TRY(polish(n, n->shares ? NULL : group, share, NULL));
    if (n->shares)
        n->story->launch_volume = n->table->halo;
done:
    gnti_free(group);
    gnti_free(share);
    return st;
}

static gnt_status cut_level(nested *n)
{
    gnt_status st = GNT_OK;
    const int32_t num_parents = n->num_pieces;
    int32_t num_requests = 0;

    sort_nodes(n);
    n->shares = false;
    for (int32_t i = 0; i < n->num_pieces; i++)
        n->shares = n->shares || spans_shares(n, &n->pieces[i]);
    for (int32_t i = 0; i < n->num_pieces; i++)
        plan_piece(n, i, &num_requests);
    if (num_requests > 0)
        GNT_TRY(cut_by_metis(n, num_requests));
    if (n->story->failure[0] != '\0')
        goto done;
    for (int32_t i = 0; i < n->num_pieces; i++)
        if (n->pieces[i].num_parts > 1 && n->pieces[i].request < 0)
            GNT_TRY(cut_ourselves(n, i));
    descend(n);
    GNT_TRY(polish_level(n, num_parents, n->children));
    n->level++;
done:
    return st;
}

static gnt_status nested_make(nested *n, int32_t *label)
{
    gnt_status st = GNT_OK;
    const int64_t nodes = n->g->num_nodes, chunks = n->t->num_chunks;

    n->label = label;
    GNT_TRY(gnti_halo_table_create(n->g, n->t->num_chunks, &n->table));
    GNT_TRY(gnti_calloc_array(&n->pieces, chunks));
    GNT_TRY(gnti_calloc_array(&n->children, chunks));
    GNT_TRY(gnti_alloc_array(&n->order, nodes));
    GNT_TRY(gnti_alloc_array(&n->local, nodes));
    GNT_TRY(gnti_alloc_array(&n->answer, nodes));
    GNT_TRY(gnti_alloc_array(&n->start, chunks + 1));
done:
    return st;
}

static void nested_free(nested *n)
{
    gnti_halo_table_free(&n->table);
    gnti_free(n->pieces);
    gnti_free(n->children);
    gnti_free(n->order);
    gnti_free(n->local);
    gnti_free(n->answer);
    gnti_free(n->start);
}

static gnt_status cut_variant(const nested *like, int32_t variant, int32_t *chunk_of, gnti_cut_story *story)
{
    gnt_status st = GNT_OK;
    nested n = *like;

    n.variant = variant;
    n.story = story;
    GNT_TRY(nested_make(&n, chunk_of));
    memset(chunk_of, 0, (size_t)n.g->num_nodes * sizeof *chunk_of);
    n.pieces[0] = (piece){ .first = 0, .end = n.t->num_chunks };
    n.num_pieces = 1;
    while (n.num_pieces < n.t->num_chunks && story->failure[0] == '\0')
        GNT_TRY(cut_level(&n));
done:
    nested_free(&n);
    return st;
}

static bool is_better(const gnti_cut_story *a, const gnti_cut_story *b)
{
    if (a->over != b->over)
        return b->over;
    if (a->launch_volume != b->launch_volume)
        return a->launch_volume < b->launch_volume;
    return a->level[a->num_levels - 1].volume_after < b->level[b->num_levels - 1].volume_after;
}

gnt_status gnti_cut_nested(const gnti_cut_graph *g, const gnti_partition_config *config,
                           const gnti_cut_targets *t, int32_t *chunk_of, gnti_cut_story *story)
{
    gnt_status st = GNT_OK;
    const nested like = { .g = g, .config = config, .t = t, .begin = gnti_clock_seconds() };
    const int32_t num_variants = t->num_shares > 2 && g->num_arcs <= SMALL_ARCS ? 3 : 1;
    gnti_cut_story other;
    int32_t *vector = NULL;

    GNT_TRY(cut_variant(&like, 0, chunk_of, story));
    if (num_variants > 1)
        GNT_TRY(gnti_alloc_array(&vector, g->num_nodes));
    for (int32_t i = 1; i < num_variants && story->failure[0] == '\0'; i++) {
        other = (gnti_cut_story){ .metis_seconds = story->metis_seconds,
                                  .polish_seconds = story->polish_seconds };
        GNT_TRY(cut_variant(&like, i, vector, &other));
        if (other.failure[0] == '\0' && is_better(&other, story)) {
            memcpy(chunk_of, vector, (size_t)g->num_nodes * sizeof *vector);
            *story = other;
        }
        story->metis_seconds = other.metis_seconds;
        story->polish_seconds = other.polish_seconds;
    }
done:
    gnti_free(vector);
    return st;
}

gnt_status gnti_cut_polish(const gnti_cut_graph *g, const gnti_partition_config *config,
                           const gnti_cut_targets *t, const uint8_t *only, int32_t *chunk_of,
                           gnti_cut_story *story)
{
    gnt_status st = GNT_OK;
    nested n = { .g = g, .config = config, .t = t, .story = story, .num_pieces = t->num_chunks };

    n.label = chunk_of;
    GNT_TRY(gnti_halo_table_create(g, t->num_chunks, &n.table));
    GNT_TRY(polish(&n, NULL, t->chunk_share, only));
done:
    gnti_halo_table_free(&n.table);
    return st;
}
