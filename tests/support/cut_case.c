/* SPDX-License-Identifier: Apache-2.0 */
/* Every random graph is a function of its seed, so that a failure can be made again. */
#include "tests/support/cut_case.h"

#include "base/philox.h"

#include <string.h>

static void add_edge(gnti_arc_list *list, int64_t u, int64_t v)
{
    list->source[list->num_arcs] = u;
    list->target[list->num_arcs++] = v;
}

static gnti_arc_list new_list(int64_t capacity)
{
    gnti_arc_list list = { .capacity = capacity };

    gnt_assert_ok(gnti_alloc_array(&list.source, capacity));
    gnt_assert_ok(gnti_alloc_array(&list.target, capacity));
    return list;
}

static gnti_graph *build(int64_t num_nodes, gnti_arc_list *list)
{
    const gnti_build_options options = { .symmetrise = true, .drop_loops = true };
    gnti_graph *g = NULL;

    gnt_assert_ok(gnti_graph_build(num_nodes, list, &options, NULL, NULL, &g));
    gnti_free(list->source);
    gnti_free(list->target);
    return g;
}

gnti_graph *gnt_cut_grid(int64_t rows, int64_t columns)
{
    gnti_arc_list list = new_list(2 * rows * columns);

    for (int64_t v = 0; v < rows * columns; v++) {
        if (v % columns + 1 < columns)
            add_edge(&list, v, v + 1);
        if (v + columns < rows * columns)
            add_edge(&list, v, v + columns);
    }
    return build(rows * columns, &list);
}

gnti_graph *gnt_cut_path(int64_t num_nodes)
{
    gnti_arc_list list = new_list(num_nodes);

    for (int64_t v = 0; v + 1 < num_nodes; v++)
        add_edge(&list, v, v + 1);
    return build(num_nodes, &list);
}

gnti_graph *gnt_cut_star(int64_t num_nodes)
{
    gnti_arc_list list = new_list(num_nodes);

    for (int64_t v = 1; v < num_nodes; v++)
        add_edge(&list, 0, v);
    return build(num_nodes, &list);
}

gnti_graph *gnt_cut_cliques(int64_t size)
{
    gnti_arc_list list = new_list(size * size + 1);

    for (int64_t u = 0; u < size; u++)
        for (int64_t v = u + 1; v < size; v++) {
            add_edge(&list, u, v);
            add_edge(&list, size + u, size + v);
        }
    add_edge(&list, size - 1, size);
    return build(2 * size, &list);
}

gnti_graph *gnt_cut_random(int64_t num_nodes, int64_t num_edges, uint64_t seed)
{
    gnti_arc_list list = new_list(num_edges);
    uint32_t word[4];

    for (int64_t e = 0; e < num_edges; e++) {
        gnti_draw_quad(gnti_seed_key(seed), GNTI_DRAW_GENERATE, 0, 0, e, 0, word);
        add_edge(
            &list, gnti_below(word[0], (uint32_t)num_nodes),
            (int64_t)(gnti_uniform(word[1]) * gnti_uniform(word[2]) * (float)num_nodes)); /* a few hubs */
    }
    return build(num_nodes, &list);
}

gnti_graph *gnt_cut_communities(int64_t num_nodes, uint64_t seed)
{
    gnti_arc_list list = new_list(8 * num_nodes);
    uint32_t word[4];

    for (int64_t e = 0; e < 8 * num_nodes; e++) {
        gnti_draw_quad(gnti_seed_key(seed), GNTI_DRAW_GENERATE, 1, 0, e, 0, word);
        const int64_t u = gnti_below(word[0], (uint32_t)num_nodes),
                      v = gnti_below(word[1], (uint32_t)num_nodes / 2);

        add_edge(&list, u, 2 * v + (word[2] % 20 == 0 ? 1 - u % 2 : u % 2));
    }
    return build(num_nodes, &list);
}

/* By target first; the transpose of that has rows in order, repeats and all. */
gnti_graph *gnt_cut_as_listed(const gnt_prop_graph *p)
{
    gnti_graph *g = NULL, *by_target = NULL;
    int64_t *next = NULL;

    gnt_assert_ok(gnti_graph_alloc(p->num_nodes, p->num_nodes, p->num_arcs, false, &by_target));
    gnt_assert_ok(gnti_alloc_array(&next, p->num_nodes));
    for (int64_t a = 0; a < p->num_arcs; a++)
        by_target->offsets[p->target[a] + 1]++;
    for (int64_t v = 0; v < p->num_nodes; v++) {
        next[v] = by_target->offsets[v];
        by_target->offsets[v + 1] += by_target->offsets[v];
    }
    for (int64_t a = 0; a < p->num_arcs; a++)
        by_target->columns[next[p->target[a]]++] = (int32_t)p->source[a];
    gnt_assert_ok(gnti_graph_transpose(by_target, NULL, &g));
    gnti_graph_free(&by_target);
    gnti_free(next);
    return g;
}

void gnt_cut_check(const gnti_partition *p, int64_t num_nodes, int32_t num_chunks)
{
    int64_t *count = NULL;

    assert_int_equal(p->num_nodes, num_nodes);
    assert_int_equal(p->num_chunks, num_chunks);
    gnt_assert_ok(gnti_calloc_array(&count, num_chunks));
    for (int64_t v = 0; v < num_nodes; v++) {
        assert_in_range(p->chunk_of[v], 0, num_chunks - 1);
        count[p->chunk_of[v]]++;
    }
    gnt_assert_same_i64(p->chunk_nodes, count, num_chunks);
    for (int32_t c = 0; c < num_chunks; c++)
        if (count[c] == 0 && num_nodes >= num_chunks)
            fail_msg("chunk %d of %d is empty, %lld nodes", c, num_chunks, (long long)num_nodes);
    gnti_free(count);
}

void gnt_cut_sizes(const gnti_partition *p, int64_t *smallest, int64_t *largest)
{
    *smallest = *largest = p->chunk_nodes[0];
    for (int32_t c = 1; c < p->num_chunks; c++) {
        *smallest = gnti_min_i64(*smallest, p->chunk_nodes[c]);
        *largest = gnti_max_i64(*largest, p->chunk_nodes[c]);
    }
}

void gnt_cut_recount(const gnti_graph *g, const int32_t *part_of, int32_t num_parts, int64_t *volume,
                     int64_t *cut)
{
    gnti_graph *t = NULL;
    uint8_t *seen = NULL;

    gnt_assert_ok(gnti_graph_transpose(g, NULL, &t));
    gnt_assert_ok(gnti_alloc_array(&seen, num_parts));
    *volume = *cut = 0;
    for (int64_t v = 0; v < g->num_rows; v++) {
        memset(seen, 0, (size_t)num_parts);
        for (int64_t a = g->offsets[v]; a < g->offsets[v + 1]; a++)
            seen[part_of[g->columns[a]]] = 1;
        for (int32_t p = 0; p < num_parts; p++)
            *volume += seen[p] && p != part_of[v];
        for (int64_t u = 0; u < v; u++) { /* an edge when either arc is there */
            bool joined = false;

            for (int64_t a = g->offsets[v]; a < g->offsets[v + 1] && !joined; a++)
                joined = g->columns[a] == u;
            for (int64_t a = t->offsets[v]; a < t->offsets[v + 1] && !joined; a++)
                joined = t->columns[a] == u;
            *cut += joined && part_of[u] != part_of[v];
        }
    }
    gnti_free(seen);
    gnti_graph_free(&t);
}
