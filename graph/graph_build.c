/* SPDX-License-Identifier: Apache-2.0 */
/* From a list of arcs to canonical CSR.
 *
 *   records --(two stable counting sorts: by target, then by source)--> order
 *   order   --(equal neighbours merge by the policy)-----------------> directed CSR + origin
 *   CSR     --(rows merged with the rows of its transpose)-----------> symmetric CSR + origin
 *
 * All steps are O(n + m). A pair that is stored in both directions keeps its arcs; where the two weights
 * differ, the symmetric graph takes in both directions the larger one (SUM), the one whose record came first
 * (FIRST), or refuses (ERROR). The larger one is what Kipf and Welling's reference code does: max(A, A^T).
 */
#include "graph/graph_build_plain.h"

#include <math.h>
#include <string.h>

/* A graph under construction: origin[a] is the record of arc a. */
typedef struct built {
    gnti_graph *graph;
    int64_t *origin;
} built;

static void built_free(built *b)
{
    gnti_graph_free(&b->graph);
    gnti_free(b->origin);
    b->origin = NULL;
}

static gnt_status check_records(int64_t num_nodes, const gnti_arc_list *arcs)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(num_nodes >= 0 && num_nodes <= INT32_MAX, GNT_ERR_LIMIT,
              "%lld nodes: a graph holds at most %d of them", (long long)num_nodes, INT32_MAX);
    for (int64_t i = 0; i < arcs->num_arcs; i++) {
        const int64_t u = arcs->source[i], v = arcs->target[i];

        GNT_CHECK(u >= 0 && u < num_nodes && v >= 0 && v < num_nodes, GNT_ERR_FORMAT,
                  "arc record %lld goes from %lld to %lld but the graph has the nodes 0 .. %lld",
                  (long long)i, (long long)u, (long long)v, (long long)num_nodes - 1);
        GNT_CHECK(arcs->weight == NULL || isfinite(arcs->weight[i]), GNT_ERR_FORMAT,
                  "arc record %lld from %lld to %lld has the weight %g, weights must be finite", (long long)i,
                  (long long)u, (long long)v, (double)arcs->weight[i]);
    }
done:
    return st;
}

/* Stable counting sort of the records in `from` (NULL: 0, 1, 2, ...) by key[record]; start has num_nodes + 1
 * places. */
static void sort_by(const int64_t *key, const int64_t *from, int64_t count, int64_t num_nodes, int64_t *start,
                    int64_t *to)
{
    memset(start, 0, (size_t)(num_nodes + 1) * sizeof *start);
    for (int64_t i = 0; i < count; i++)
        start[key[from == NULL ? i : from[i]] + 1]++;
    for (int64_t v = 0; v < num_nodes; v++)
        start[v + 1] += start[v];
    for (int64_t i = 0; i < count; i++) {
        const int64_t record = from == NULL ? i : from[i];

        to[start[key[record]]++] = record;
    }
}

/* The records by source, then target, then position. */
static gnt_status sort_records(int64_t num_nodes, const gnti_arc_list *arcs, int64_t **out)
{
    gnt_status st = GNT_OK;
    int64_t *start = NULL, *by_target = NULL, *order = NULL;

    GNT_TRY(gnti_alloc_array(&start, num_nodes + 1));
    GNT_TRY(gnti_alloc_array(&by_target, arcs->num_arcs));
    GNT_TRY(gnti_alloc_array(&order, arcs->num_arcs));
    sort_by(arcs->target, NULL, arcs->num_arcs, num_nodes, start, by_target);
    sort_by(arcs->source, by_target, arcs->num_arcs, num_nodes, start, order);
    *out = order;
    order = NULL;
done:
    gnti_free(order);
    gnti_free(by_target);
    gnti_free(start);
    return st;
}

static gnt_status merge_record(const gnti_arc_list *arcs, const gnti_build_options *options, int64_t record,
                               const int64_t *first, double *sum)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(options->duplicates != GNTI_DUPLICATES_ERROR, GNT_ERR_FORMAT,
              "the arc from %lld to %lld is listed twice (records %lld and %lld)",
              (long long)arcs->source[record], (long long)arcs->target[record], (long long)*first,
              (long long)record);
    if (arcs->weight != NULL && options->duplicates == GNTI_DUPLICATES_SUM)
        *sum += (double)arcs->weight[record];
done:
    return st;
}

/* Fills the arrays of b (made for all records) and leaves their true number in num_arcs. */
static gnt_status merge_records(const gnti_arc_list *arcs, const gnti_build_options *options,
                                const int64_t *order, gnti_build_report *report, built *b)
{
    gnt_status st = GNT_OK;
    gnti_graph *g = b->graph;
    int64_t num = 0, i = 0;

    while (i < arcs->num_arcs) {
        const int64_t first = order[i++], u = arcs->source[first], v = arcs->target[first];
        double sum = arcs->weight == NULL ? 1.0 : (double)arcs->weight[first];
        int64_t copies = 1;

        for (; i < arcs->num_arcs && arcs->source[order[i]] == u && arcs->target[order[i]] == v;
             i++, copies++)
            GNT_TRY(merge_record(arcs, options, order[i], &first, &sum));
        report->num_repeated += copies - 1;
        report->num_loops += u == v ? copies : 0;
        if (u == v && options->drop_loops)
            continue;
        GNT_CHECK(isfinite((float)sum), GNT_ERR_FORMAT,
                  "the %lld records of the arc from %lld to %lld add up to %g, which float32 cannot hold",
                  (long long)copies, (long long)u, (long long)v, sum);
        g->columns[num] = (int32_t)v;
        if (g->weights != NULL)
            g->weights[num] = (float)sum;
        b->origin[num++] = first;
        g->offsets[u + 1] = num;
    }
    for (int64_t r = 0; r < g->num_rows; r++) /* rows without arcs begin where the row before ended */
        g->offsets[r + 1] = gnti_max_i64(g->offsets[r + 1], g->offsets[r]);
    g->num_arcs = num;
done:
    return st;
}

static gnt_status build_directed(int64_t num_nodes, const gnti_arc_list *arcs,
                                 const gnti_build_options *options, gnti_build_report *report, built *out)
{
    gnt_status st = GNT_OK;
    built b = { NULL, NULL };
    int64_t *order = NULL;

    GNT_TRY(sort_records(num_nodes, arcs, &order));
    GNT_TRY(gnti_graph_alloc(num_nodes, num_nodes, arcs->num_arcs, arcs->weight != NULL, &b.graph));
    GNT_TRY(gnti_alloc_array(&b.origin, arcs->num_arcs));
    GNT_TRY(merge_records(arcs, options, order, report, &b));
    *out = b;
    b = (built){ NULL, NULL };
done:
    gnti_free(order);
    built_free(&b);
    return st;
}

/* The state of merging row r of a graph with row r of its transpose. */
typedef struct merge {
    const built *from;
    const gnti_graph *back;
    const int64_t *back_arc; /* arc of back -> arc of from */
    gnti_duplicates policy;
    built to;
    int64_t num;
} merge;

/* The weight of a pair that is stored both ways, from arcs a and b of the input. */
static gnt_status pair_weight(const merge *m, int64_t row, int64_t a, int64_t b, float *out)
{
    gnt_status st = GNT_OK;
    const gnti_graph *g = m->from->graph;
    const float there = g->weights[a], here = g->weights[b];

    GNT_CHECK(there == here || m->policy != GNTI_DUPLICATES_ERROR, GNT_ERR_FORMAT,
              "the arc from %lld to %d weighs %g but its reverse %g in a graph said to be undirected",
              (long long)row, g->columns[a], (double)there, (double)here);
    if (m->policy == GNTI_DUPLICATES_FIRST)
        *out = m->from->origin[a] < m->from->origin[b] ? there : here;
    else
        *out = there > here ? there : here;
done:
    return st;
}

static gnt_status merge_row(merge *m, int64_t row)
{
    gnt_status st = GNT_OK;
    const gnti_graph *g = m->from->graph, *t = m->back;
    int64_t a = g->offsets[row], b = t->offsets[row];

    while (a < g->offsets[row + 1] || b < t->offsets[row + 1]) {
        const int64_t left = a < g->offsets[row + 1] ? g->columns[a] : INT64_MAX;
        const int64_t right = b < t->offsets[row + 1] ? t->columns[b] : INT64_MAX;
        const int64_t arc = left <= right ? a : m->back_arc[b]; /* where weight and origin come from */

        m->to.graph->columns[m->num] = (int32_t)gnti_min_i64(left, right);
        m->to.origin[m->num] = m->from->origin[arc];
        if (g->weights != NULL) {
            m->to.graph->weights[m->num] = g->weights[arc];
            if (left == right)
                GNT_TRY(pair_weight(m, row, a, m->back_arc[b], &m->to.graph->weights[m->num]));
        }
        a += left <= right;
        b += right <= left;
        m->num++;
    }
    m->to.graph->offsets[row + 1] = m->num;
done:
    return st;
}

/* b becomes the union of itself and its transpose. */
static gnt_status symmetrise(gnti_duplicates policy, gnti_build_report *report, built *b)
{
    gnt_status st = GNT_OK;
    gnti_graph *back = NULL;
    int64_t *back_arc = NULL;
    merge m = { .from = b, .policy = policy };
    const int64_t before = b->graph->num_arcs;

    GNT_CHECK(before <= INT64_MAX / 2, GNT_ERR_LIMIT, "%lld arcs are too many", (long long)before);
    GNT_TRY(gnti_graph_transpose(b->graph, &back_arc, &back));
    m.back = back;
    m.back_arc = back_arc;
    GNT_TRY(gnti_graph_alloc(b->graph->num_rows, b->graph->num_cols, 2 * before, b->graph->weights != NULL,
                             &m.to.graph));
    GNT_TRY(gnti_alloc_array(&m.to.origin, 2 * before));
    for (int64_t r = 0; r < b->graph->num_rows; r++)
        GNT_TRY(merge_row(&m, r));
    m.to.graph->num_arcs = m.num;
    report->num_reversed_added = m.num - before;
    built_free(b);
    *b = m.to;
    m.to = (built){ NULL, NULL };
done:
    built_free(&m.to);
    gnti_graph_free(&back);
    gnti_free(back_arc);
    return st;
}

/* Gives back what the arrays hold beyond num_arcs, and weights that are all 1. */
static gnt_status trim(built *b)
{
    gnt_status st = GNT_OK;
    gnti_graph *g = b->graph;
    bool ones = true;

    for (int64_t a = 0; g->weights != NULL && a < g->num_arcs && ones; a++)
        ones = g->weights[a] == 1.0f;
    if (ones) {
        gnti_free(g->weights);
        g->weights = NULL;
    }
    GNT_TRY(gnti_realloc_array(&g->columns, g->num_arcs));
    GNT_TRY(gnti_realloc_array(&b->origin, g->num_arcs));
    if (g->weights != NULL)
        GNT_TRY(gnti_realloc_array(&g->weights, g->num_arcs));
done:
    return st;
}

gnt_status gnti_graph_build(int64_t num_nodes, const gnti_arc_list *arcs, const gnti_build_options *options,
                            gnti_build_report *report, int64_t **origin, gnti_graph **out)
{
    gnt_status st = GNT_OK;
    built b = { NULL, NULL };
    gnti_build_report r = { .num_records = arcs->num_arcs };

    if (arcs->weight == NULL && origin == NULL && options->duplicates != GNTI_DUPLICATES_ERROR &&
        num_nodes >= 0 && num_nodes <= INT32_MAX) {
        GNT_TRY(gnti_graph_build_plain(num_nodes, arcs, options, &r, out));
        if (report != NULL)
            *report = r;
        goto done;
    }
    GNT_TRY(check_records(num_nodes, arcs));
    GNT_TRY(build_directed(num_nodes, arcs, options, &r, &b));
    if (options->symmetrise)
        GNT_TRY(symmetrise(options->duplicates, &r, &b));
    GNT_TRY(trim(&b));
    r.num_arcs = b.graph->num_arcs;
    *out = b.graph;
    b.graph = NULL;
    if (report != NULL)
        *report = r;
    if (origin != NULL) {
        *origin = b.origin;
        b.origin = NULL;
    }
done:
    built_free(&b);
    return st;
}
