/* SPDX-License-Identifier: Apache-2.0 */
/* What a piece of the nested cut is and how it will be split.
 *
 * Between shares while it holds several; then in two until the pieces of a launch on 2, 4 or 8 devices are there; then into all its
 * chunks at once, which METIS' recursive bisection numbers along its tree. Large graphs go to METIS' k-way as soon as shares are
 * cut. Pieces too small for METIS' coarsening are left to our own bisection.
 */
#include "partition/cut_pieces.h"

#include "partition/bisect.h"

#include <math.h>
#include <string.h>

enum { LAUNCH_DEPTH = 3, METIS_NODES = 600, NODES_A_PART = 60, TRIED_ARCS = 2000000 };

double gnti_nested_share(const gnti_cut_targets *t, int32_t first, int32_t end)
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

/* Part of the tolerance that a level may have used up: 0.55, 0.7, 0.8, ...; all of it at the chunks. */
double gnti_nested_tolerance(const gnti_nested *n, int32_t level, bool last, int32_t w)
{
    return pow(tolerance_of(n->config, w), last ? 1.0 : 1.0 - 0.45 * pow(2.0 / 3.0, level));
}

int32_t gnti_nested_nodes(const gnti_nested *n, int32_t i)
{
    return n->start[i + 1] - n->start[i];
}

/* Nodes by piece and the arcs inside each piece. */
void gnti_nested_sort(gnti_nested *n)
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

bool gnti_nested_spans(const gnti_nested *n, const gnti_piece *p)
{
    for (int32_t s = 1; s < n->t->num_shares; s++)
        if (n->t->share_chunks[s] > p->first && n->t->share_chunks[s] < p->end)
            return true;
    return false;
}

/* Into how many parts, and by whom. */
void gnti_nested_plan(const gnti_nested *n, int32_t i, int32_t *num_requests)
{
    gnti_piece *p = &n->pieces[i];
    const int32_t chunks = p->end - p->first, nodes = gnti_nested_nodes(n, i);
    const bool kway = n->config->metis_volume || n->g->num_arcs > GNTI_NESTED_RECURSIVE_ARCS;
    const int32_t launch = n->t->num_shares > 1 || kway ? 0 : LAUNCH_DEPTH;

    p->request = -1;
    p->num_parts = chunks > 1 ? 2 : 1;
    if (n->shares && !gnti_nested_spans(n, p))
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
int32_t gnti_nested_tries(const gnti_nested *n, const gnti_piece *p)
{
    const bool launch = n->shares || (n->t->num_shares == 1 && p->depth < LAUNCH_DEPTH);

    if (p->num_parts > 2 || !launch)
        return 1;
    return n->g->num_arcs <= GNTI_NESTED_SMALL_ARCS ? 8 : n->g->num_arcs <= TRIED_ARCS ? 4 : 1;
}

/* Where a piece is split in two. Variants of small graphs differ in the order in which shares come off. */
static int32_t split_of(const gnti_nested *n, const gnti_piece *p)
{
    const gnti_cut_targets *t = n->t;
    int32_t first = 0, last = t->num_shares;

    if (n->variant == 0 || !gnti_nested_spans(n, p))
        return gnti_tree_split(p->first, p->end, t->num_shares > 1 ? t->num_shares : 0, t->share_chunks);
    while (t->share_chunks[first] <= p->first)
        first++;
    while (t->share_chunks[last] >= p->end)
        last--;
    return t->share_chunks[n->variant == 1 ? first : last];
}

/* First chunk of part k of a piece; k = num_parts: its end. */
int32_t gnti_nested_chunk(const gnti_nested *n, const gnti_piece *p, int32_t k)
{
    if (k == 0 || k == p->num_parts)
        return k == 0 ? p->first : p->end;
    if (p->num_parts == p->end - p->first)
        return p->first + k;
    return split_of(n, p);
}

/* How far over its target a piece already is, in weight w. */
double gnti_nested_load(const gnti_nested *n, const gnti_piece *p, const gnti_cut_graph *graph, int32_t w)
{
    const double wanted = gnti_nested_share(n->t, p->first, p->end) * (double)n->g->total[w];

    return wanted > 0.0 ? (double)graph->total[w] / wanted : 1.0;
}
