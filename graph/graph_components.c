/* SPDX-License-Identifier: Apache-2.0 */
/* Connected components, direction ignored: union-find with path halving, the smaller root wins, so that
 * components are numbered by their smallest node whatever the order of the arcs. O(m a(n)).
 */
#include "graph/graph.h"

static int64_t find_root(int64_t *parent, int64_t v)
{
    while (parent[v] != v) {
        parent[v] = parent[parent[v]];
        v = parent[v];
    }
    return v;
}

static void unite(int64_t *parent, int64_t u, int64_t v)
{
    const int64_t a = find_root(parent, u), b = find_root(parent, v);

    if (a < b)
        parent[b] = a;
    else
        parent[a] = b;
}

gnt_status gnti_graph_components(const gnti_graph *graph, int64_t **component, int64_t *num_components)
{
    gnt_status st = GNT_OK;
    int64_t *parent = NULL, *number = NULL, num = 0;
    const int64_t n = graph->num_rows;

    GNT_CHECK(n == graph->num_cols, GNT_ERR_ARG,
              "only a square graph has components, this one is %lld x %lld", (long long)n,
              (long long)graph->num_cols);
    GNT_TRY(gnti_alloc_array(&parent, n));
    GNT_TRY(gnti_alloc_array(&number, n));
    for (int64_t v = 0; v < n; v++)
        parent[v] = v;
    for (int64_t r = 0; r < n; r++)
        for (int64_t a = graph->offsets[r]; a < graph->offsets[r + 1]; a++)
            unite(parent, r, graph->columns[a]);
    for (int64_t v = 0; v < n; v++) {
        const int64_t root =
            find_root(parent, v); /* the smallest node of the component, so numbered before v */

        number[v] = root == v ? num++ : number[root];
    }
    *num_components = num;
    *component = number;
    number = NULL;
done:
    gnti_free(number);
    gnti_free(parent);
    return st;
}
