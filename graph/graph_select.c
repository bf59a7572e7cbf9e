/* SPDX-License-Identifier: Apache-2.0 */
/* Induced subgraphs and renamed graphs.
 *
 * Both take the rows of chosen nodes and rename the columns. Renaming keeps a row sorted only when the nodes
 * were given in ascending order; otherwise two transpositions sort all rows in O(n + m).
 */
#include "graph/graph.h"

/* renamed[old] = position in nodes, -1 for the others. */
static gnt_status rename_nodes(int64_t num_all, const int64_t *nodes, int64_t num_nodes, int32_t **out)
{
    gnt_status st = GNT_OK;
    int32_t *renamed = NULL;

    GNT_CHECK(num_nodes >= 0 && num_nodes <= num_all, GNT_ERR_ARG, "%lld nodes chosen from a graph of %lld",
              (long long)num_nodes, (long long)num_all);
    GNT_TRY(gnti_alloc_array(&renamed, num_all));
    for (int64_t v = 0; v < num_all; v++)
        renamed[v] = -1;
    for (int64_t i = 0; i < num_nodes; i++) {
        GNT_CHECK(nodes[i] >= 0 && nodes[i] < num_all, GNT_ERR_ARG,
                  "node %lld chosen from a graph of %lld nodes", (long long)nodes[i], (long long)num_all);
        GNT_CHECK(renamed[nodes[i]] < 0, GNT_ERR_ARG, "node %lld is chosen twice", (long long)nodes[i]);
        renamed[nodes[i]] = (int32_t)i;
    }
    *out = renamed;
    renamed = NULL;
done:
    gnti_free(renamed);
    return st;
}

static int64_t count_kept(const gnti_graph *g, const int64_t *nodes, int64_t num_nodes,
                          const int32_t *renamed)
{
    int64_t num = 0;

    for (int64_t i = 0; i < num_nodes; i++)
        for (int64_t a = g->offsets[nodes[i]]; a < g->offsets[nodes[i] + 1]; a++)
            num += renamed[g->columns[a]] >= 0;
    return num;
}

/* Copies the kept arcs in the old order; answers whether all rows came out sorted. */
static bool copy_kept(const gnti_graph *g, const int64_t *nodes, const int32_t *renamed, gnti_graph *s,
                      int64_t *arc)
{
    bool sorted = true;
    int64_t num = 0;

    for (int64_t i = 0; i < s->num_rows; i++) {
        int32_t previous = -1;

        for (int64_t a = g->offsets[nodes[i]]; a < g->offsets[nodes[i] + 1]; a++) {
            const int32_t c = renamed[g->columns[a]];

            if (c < 0)
                continue;
            sorted = sorted && c > previous;
            previous = c;
            s->columns[num] = c;
            if (s->weights != NULL)
                s->weights[num] = g->weights[a];
            arc[num++] = a;
        }
        s->offsets[i + 1] = num;
    }
    return sorted;
}

/* Sorts the rows of *graph by transposing twice; arc follows. */
static gnt_status sort_rows(gnti_graph **graph, int64_t *arc)
{
    gnt_status st = GNT_OK;
    gnti_graph *once = NULL, *twice = NULL;
    int64_t *first = NULL, *second = NULL, *old = NULL;
    const int64_t num = (*graph)->num_arcs;

    GNT_TRY(gnti_alloc_array(&old, num));
    GNT_TRY(gnti_graph_transpose(*graph, &first, &once));
    GNT_TRY(gnti_graph_transpose(once, &second, &twice));
    for (int64_t a = 0; a < num; a++)
        old[a] = arc[a];
    for (int64_t a = 0; a < num; a++)
        arc[a] = old[first[second[a]]];
    gnti_graph_free(graph);
    *graph = twice;
    twice = NULL;
done:
    gnti_free(old);
    gnti_free(second);
    gnti_free(first);
    gnti_graph_free(&twice);
    gnti_graph_free(&once);
    return st;
}

/* Weights that are all 1 are no weights. */
static void drop_ones(gnti_graph *g)
{
    for (int64_t a = 0; a < g->num_arcs; a++)
        if (g->weights == NULL || g->weights[a] != 1.0f)
            return;
    gnti_free(g->weights);
    g->weights = NULL;
}

gnt_status gnti_graph_subgraph(const gnti_graph *graph, const int64_t *nodes, int64_t num_nodes,
                               int64_t **arc, gnti_graph **out)
{
    gnt_status st = GNT_OK;
    gnti_graph *s = NULL;
    int32_t *renamed = NULL;
    int64_t *map = NULL, num;

    GNT_CHECK(graph->num_rows == graph->num_cols, GNT_ERR_ARG,
              "only a square graph has induced subgraphs, this one is %lld x %lld",
              (long long)graph->num_rows, (long long)graph->num_cols);
    GNT_TRY(rename_nodes(graph->num_rows, nodes, num_nodes, &renamed));
    num = count_kept(graph, nodes, num_nodes, renamed);
    GNT_TRY(gnti_graph_alloc(num_nodes, num_nodes, num, graph->weights != NULL, &s));
    GNT_TRY(gnti_alloc_array(&map, num));
    if (!copy_kept(graph, nodes, renamed, s, map))
        GNT_TRY(sort_rows(&s, map));
    drop_ones(s);
    *out = s;
    s = NULL;
    if (arc != NULL) {
        *arc = map;
        map = NULL;
    }
done:
    gnti_free(map);
    gnti_free(renamed);
    gnti_graph_free(&s);
    return st;
}

gnt_status gnti_graph_invert(const int64_t *rank, int64_t num_nodes, int64_t **out)
{
    gnt_status st = GNT_OK;
    int64_t *nodes = NULL;

    GNT_TRY(gnti_alloc_array(&nodes, num_nodes));
    for (int64_t i = 0; i < num_nodes; i++)
        nodes[i] = -1;
    for (int64_t i = 0; i < num_nodes; i++) {
        GNT_CHECK(rank[i] >= 0 && rank[i] < num_nodes, GNT_ERR_ARG,
                  "node %lld gets the number %lld, numbers are 0 .. %lld", (long long)i, (long long)rank[i],
                  (long long)num_nodes - 1);
        GNT_CHECK(nodes[rank[i]] < 0, GNT_ERR_ARG, "nodes %lld and %lld both get the number %lld",
                  (long long)nodes[rank[i]], (long long)i, (long long)rank[i]);
        nodes[rank[i]] = i;
    }
    *out = nodes;
    nodes = NULL;
done:
    gnti_free(nodes);
    return st;
}

gnt_status gnti_graph_permute(const gnti_graph *graph, const int64_t *rank, int64_t **arc, gnti_graph **out)
{
    gnt_status st = GNT_OK;
    int64_t *nodes = NULL;

    GNT_TRY(gnti_graph_invert(rank, graph->num_rows, &nodes));
    GNT_TRY(gnti_graph_subgraph(graph, nodes, graph->num_rows, arc, out));
done:
    gnti_free(nodes);
    return st;
}
