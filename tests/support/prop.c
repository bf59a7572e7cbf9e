/* SPDX-License-Identifier: Apache-2.0 */
/* Seeded graphs and halving.
 *
 * Draw i of a graph is one Philox word keyed by the seed, so no state is carried. A broken graph is shrunk
 * greedily: drop the second or the first half of the arcs, or keep the arcs among the first half of the
 * nodes, as long as the law stays broken. Shrinking therefore takes a logarithmic number of rounds.
 */
#include "prop.h"

#include "base/philox.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct draws {
    gnti_philox_key key;
    uint32_t next;
} draws;

static uint32_t draw(draws *d)
{
    const uint32_t counter[4] = { d->next++, 0, 0x50524f50u, 0 };
    uint32_t words[4];

    gnti_philox(counter, d->key, words);
    return words[0];
}

static int64_t draw_node(draws *d, int64_t num_nodes)
{
    return (int64_t)gnti_below(draw(d), (uint32_t)num_nodes);
}

static int64_t draw_hub(draws *d, int64_t num_nodes)
{
    const double u = (double)gnti_uniform(draw(d));

    return (int64_t)((double)num_nodes * u * u * u);
}

static void add(gnt_prop_graph *g, draws *d, int64_t source, int64_t target)
{
    g->source[g->num_arcs] = source;
    g->target[g->num_arcs] = target;
    g->weight[g->num_arcs++] = 1.0f - gnti_uniform(draw(d));
}

static bool has_arc(const gnt_prop_graph *g, int64_t source, int64_t target)
{
    for (int64_t i = 0; i < g->num_arcs; i++) {
        if (g->source[i] == source && g->target[i] == target)
            return true;
    }
    return false;
}

static void add_uniform(gnt_prop_graph *g, draws *d, int64_t num_arcs)
{
    for (int64_t i = 0; i < num_arcs; i++) {
        const int64_t source = draw_node(d, g->num_nodes), target = draw_node(d, g->num_nodes);
        const int64_t copies = g->kind == GNT_PROP_DUPLICATES ? 1 + (int64_t)gnti_below(draw(d), 4) : 1;

        if (g->kind == GNT_PROP_SYMMETRIC) {
            if (source == target || has_arc(g, source, target))
                continue;
            add(g, d, target, source);
            g->weight[g->num_arcs] = g->weight[g->num_arcs - 1];
            add(g, d, source, target);
            g->weight[g->num_arcs - 1] = g->weight[g->num_arcs - 2];
            continue;
        }
        for (int64_t c = 0; c < copies; c++)
            add(g, d, source, target);
    }
}

static void fill(gnt_prop_graph *g, draws *d)
{
    const int64_t n = g->num_nodes;

    switch (g->kind) {
    case GNT_PROP_STAR:
        for (int64_t i = 1; i < n; i++) {
            add(g, d, 0, i);
            add(g, d, i, 0);
        }
        break;
    case GNT_PROP_PATH:
        for (int64_t i = 0; i + 1 < n; i++)
            add(g, d, i, i + 1);
        break;
    case GNT_PROP_POWER_LAW:
        for (int64_t i = 0; i < 4 * n; i++)
            add(g, d, draw_hub(d, n), draw_hub(d, n));
        break;
    case GNT_PROP_LOOPS:
        for (int64_t i = 0; i < n; i += 3)
            add(g, d, i, i);
        add_uniform(g, d, 2 * n);
        break;
    case GNT_PROP_RANDOM:
    case GNT_PROP_SYMMETRIC:
    case GNT_PROP_DUPLICATES:
        add_uniform(g, d, 2 * n);
        break;
    case GNT_PROP_EMPTY:
    case GNT_PROP_ISOLATED:
    case GNT_PROP_NUM_KINDS:
        break;
    }
}

static void alloc_arcs(gnt_prop_graph *g, int64_t capacity)
{
    gnt_assert_ok(gnti_alloc_array(&g->source, capacity));
    gnt_assert_ok(gnti_alloc_array(&g->target, capacity));
    gnt_assert_ok(gnti_alloc_array(&g->weight, capacity));
}

void gnt_prop_graph_make(gnt_prop_kind kind, uint64_t seed, int64_t num_nodes, gnt_prop_graph *out)
{
    draws d = { .key = { (uint32_t)seed, (uint32_t)(seed >> 32) ^ (uint32_t)kind * 0x9E3779B9u } };

    memset(out, 0, sizeof *out);
    out->kind = kind;
    out->seed = seed;
    out->num_nodes = kind == GNT_PROP_EMPTY ? 0 : gnti_max_i64(num_nodes, 1);
    alloc_arcs(out, 9 * out->num_nodes + 1);
    fill(out, &d);
}

void gnt_prop_graph_free(gnt_prop_graph *g)
{
    gnti_free(g->source);
    gnti_free(g->target);
    gnti_free(g->weight);
    memset(g, 0, sizeof *g);
}

const char *gnt_prop_kind_name(gnt_prop_kind kind)
{
    static const char *const names[] = { "empty",      "isolated", "random", "symmetric", "loops",
                                         "duplicates", "star",     "path",   "power law" };

    return kind < GNT_PROP_NUM_KINDS ? names[kind] : "unknown";
}

/* The arcs from first on, at most count of them, whose ends lie below num_nodes. */
static void part_of(const gnt_prop_graph *g, int64_t first, int64_t count, int64_t num_nodes,
                    gnt_prop_graph *out)
{
    *out = (gnt_prop_graph){ .kind = g->kind, .seed = g->seed, .num_nodes = num_nodes };
    alloc_arcs(out, count + 1);
    for (int64_t i = first; i < first + count; i++) {
        if (g->source[i] < num_nodes && g->target[i] < num_nodes) {
            out->source[out->num_arcs] = g->source[i];
            out->target[out->num_arcs] = g->target[i];
            out->weight[out->num_arcs++] = g->weight[i];
        }
    }
}

/* Replaces g by its i-th smaller candidate if that one still breaks the law. */
static bool shrink_once(gnt_prop_graph *g, int i, gnt_property property, void *user)
{
    const int64_t half = g->num_arcs / 2;
    gnt_prop_graph small;

    if (i < 2 ? g->num_arcs == 0 : g->num_nodes < 2)
        return false;
    if (i == 0)
        part_of(g, 0, half, g->num_nodes, &small);
    else if (i == 1)
        part_of(g, g->num_arcs - half, half, g->num_nodes, &small);
    else
        part_of(g, 0, g->num_arcs, g->num_nodes / 2, &small);
    if (property(&small, user) == NULL) {
        gnt_prop_graph_free(&small);
        return false;
    }
    gnt_prop_graph_free(g);
    *g = small;
    return true;
}

static void report(const char *law, gnt_prop_graph *g, gnt_property property, void *user)
{
    const int64_t nodes = g->num_nodes, arcs = g->num_arcs;

    for (int i = 0; i < 3; i++) {
        if (shrink_once(g, i, property, user))
            i = -1;
    }
    print_error("law broken: %s\n  %s\n", law, property(g, user));
    print_error("  graph '%s', GNT_PROP_SEED=%" PRIu64 ", %" PRId64 " nodes and %" PRId64
                " arcs, halved to %" PRId64 " and %" PRId64 ":\n",
                gnt_prop_kind_name(g->kind), g->seed, nodes, arcs, g->num_nodes, g->num_arcs);
    for (int64_t i = 0; i < gnti_min_i64(g->num_arcs, 40); i++)
        print_error("  %" PRId64 " -> %" PRId64 "  %.9g\n", g->source[i], g->target[i], (double)g->weight[i]);
    gnt_prop_graph_free(g);
    fail();
}

void gnt_prop_run(const char *law, gnt_property property, void *user, int num_seeds, int64_t max_nodes)
{
    const char *only = getenv("GNT_PROP_SEED");
    const uint64_t first = only != NULL ? strtoull(only, NULL, 10) : 1;
    const uint64_t last = only != NULL ? first : (uint64_t)num_seeds;

    for (uint64_t seed = first; seed <= last; seed++) {
        for (int kind = 0; kind < GNT_PROP_NUM_KINDS; kind++) {
            draws d = { .key = { (uint32_t)seed, 0x53495a45u } };
            gnt_prop_graph g;

            gnt_prop_graph_make((gnt_prop_kind)kind, seed, 1 + draw_node(&d, max_nodes), &g);
            if (property(&g, user) != NULL)
                report(law, &g, property, user);
            gnt_prop_graph_free(&g);
        }
    }
}
