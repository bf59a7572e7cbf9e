/* SPDX-License-Identifier: Apache-2.0 */
/* What check says about the graph: symmetry, loops, isolated nodes, degrees, components, weights, memory, sums. */
#include "datasets/check_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Counts of one walk over all arcs. */
typedef struct walk {
    int64_t num_loops, num_isolated, hub, most, num_bad_weights, num_nonpositive;
    int64_t first_nonpositive;
    double first_degree;
} walk;

static int compare_i64(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Degrees are counts of arcs of a row, loops included; in_degree counts those that arrive. */
static void walk_rows(const gnti_graph *g, const int64_t *in_degree, int64_t *degree, walk *w)
{
    for (int64_t r = 0; r < g->num_rows; r++) {
        degree[r] = g->offsets[r + 1] - g->offsets[r];
        if (degree[r] > w->most) {
            w->most = degree[r];
            w->hub = r;
        }
        w->num_isolated += degree[r] == 0 && in_degree[r] == 0;
        for (int64_t a = g->offsets[r]; a < g->offsets[r + 1]; a++)
            w->num_loops += g->columns[a] == r;
    }
}

/* Nodes whose incoming weights add up to nothing: every normalisation divides by that sum. */
static gnt_status walk_weights(const gnti_graph *g, walk *w)
{
    gnt_status st = GNT_OK;
    double *sum = NULL;
    int64_t *count = NULL;

    if (g->weights == NULL)
        return GNT_OK;
    GNT_TRY(gnti_calloc_array(&sum, g->num_rows));
    GNT_TRY(gnti_calloc_array(&count, g->num_rows));
    for (int64_t a = 0; a < g->num_arcs; a++) {
        sum[g->columns[a]] += (double)g->weights[a];
        count[g->columns[a]]++;
        w->num_bad_weights += g->weights[a] <= 0.0f;
    }
    for (int64_t v = g->num_rows - 1; v >= 0; v--) {
        if (count[v] == 0 || sum[v] > 0.0)
            continue;
        w->num_nonpositive++;
        w->first_nonpositive = v;
        w->first_degree = sum[v];
    }
done:
    gnti_free(sum);
    gnti_free(count);
    return st;
}

static gnt_status report_degrees(gnti_check *c, int64_t *degree, const walk *w)
{
    static const int percents[] = { 0, 10, 25, 50, 75, 90, 99, 100 };
    gnt_status st = GNT_OK;
    const int64_t n = c->data->num_nodes;
    gnti_json *to;
    char name[16];

    GNT_TRY(gnti_json_set_object(c->facts, "degree", &to));
    GNT_TRY(gnti_json_set_number(to, "mean", n > 0 ? (double)c->data->graph->num_arcs / (double)n : 0.0));
    GNT_TRY(gnti_json_set_int(to, "max", w->most));
    GNT_TRY(gnti_json_set_int(to, "hub", w->hub));
    qsort(degree, (size_t)n, sizeof *degree, compare_i64);
    for (size_t i = 0; i < sizeof percents / sizeof percents[0] && n > 0; i++) {
        snprintf(name, sizeof name, "p%d", percents[i]);
        GNT_TRY(gnti_json_set_int(to, name, degree[(n - 1) * percents[i] / 100]));
    }
done:
    return st;
}

static gnt_status report_symmetry(gnti_check *c)
{
    gnt_status st = GNT_OK;
    const gnt_dataset *d = c->data;
    bool symmetric;

    GNT_TRY(gnti_graph_is_symmetric(d->graph, &symmetric));
    GNT_TRY(gnti_json_set_bool(c->facts, "directed", d->directed));
    GNT_TRY(gnti_json_set_bool(c->facts, "symmetric", symmetric));
    if (d->directed && symmetric)
        GNT_TRY(gnti_check_add(c, GNTI_FINDING_NOTE, "import it without --directed",
                               "the graph is said to be directed but every arc has its reverse"));
    else if (d->directed)
        GNT_TRY(gnti_check_add(c, GNTI_FINDING_NOTE, "import it with --undirected to use arcs both ways",
                               "the graph is directed: messages go from source to destination only"));
done:
    return st;
}

static gnt_status report_components(gnti_check *c, int64_t num_isolated)
{
    gnt_status st = GNT_OK;
    int64_t *component = NULL, *size = NULL, num = 0, largest = 0;

    GNT_TRY(gnti_graph_components(c->data->graph, &component, &num));
    GNT_TRY(gnti_calloc_array(&size, num));
    for (int64_t v = 0; v < c->data->num_nodes; v++)
        largest = gnti_max_i64(largest, ++size[component[v]]);
    GNT_TRY(gnti_json_set_int(c->facts, "num_components", num));
    GNT_TRY(gnti_json_set_int(c->facts, "largest_component", largest));
    if (num - num_isolated > 1 && gnti_dataset_num_graphs(c->data) == 1)
        GNT_TRY(gnti_check_add(c, GNTI_FINDING_NOTE, NULL,
                               "the graph has %lld components, the largest holds %lld of %lld nodes",
                               (long long)num, (long long)largest, (long long)c->data->num_nodes));
done:
    gnti_free(component);
    gnti_free(size);
    return st;
}

static gnt_status report_walk(gnti_check *c, const walk *w)
{
    gnt_status st = GNT_OK;
    const gnt_dataset *d = c->data;
    const double n = (double)d->num_nodes;

    GNT_TRY(gnti_json_set_int(c->facts, "num_self_loops", w->num_loops));
    GNT_TRY(gnti_json_set_int(c->facts, "num_isolated", w->num_isolated));
    GNT_TRY(gnti_json_set_bool(c->facts, "weighted", d->graph->weights != NULL));
    if (d->graph->num_arcs == 0)
        GNT_TRY(gnti_check_add(c, GNTI_FINDING_WARNING, NULL, "the graph has no arcs: a GNN is an MLP here"));
    if (w->num_isolated > 0 && d->graph->num_arcs > 0)
        GNT_TRY(gnti_check_add(c, GNTI_FINDING_NOTE, NULL,
                               "%lld nodes are isolated (%.1f %%): each sees only itself",
                               (long long)w->num_isolated, 100.0 * (double)w->num_isolated / n));
    if (w->num_loops > 0)
        GNT_TRY(
            gnti_check_add(c, GNTI_FINDING_NOTE, "import it with --drop-loops to be rid of them",
                           "%lld nodes have a self loop; sym normalisation adds only those that are missing",
                           (long long)w->num_loops));
    if (w->num_nonpositive > 0)
        GNT_TRY(gnti_check_add(
            c, GNTI_FINDING_ERROR, "make the weights positive or drop these arcs, then import again",
            "node %lld has the weighted degree %g (%lld such nodes): normalisation needs positive "
            "degrees",
            (long long)w->first_nonpositive, w->first_degree, (long long)w->num_nonpositive));
    else if (w->num_bad_weights > 0)
        GNT_TRY(gnti_check_add(c, GNTI_FINDING_WARNING, NULL, "%lld arcs have a weight of zero or less",
                               (long long)w->num_bad_weights));
    if (w->most > 1000 && (double)w->most > 100.0 * (double)d->graph->num_arcs / n)
        GNT_TRY(gnti_check_add(c, GNTI_FINDING_NOTE, NULL,
                               "node %lld is a hub with %lld arcs, the mean is %.1f", (long long)w->hub,
                               (long long)w->most, (double)d->graph->num_arcs / n));
done:
    return st;
}

static gnt_status report_sums(gnti_check *c)
{
    gnt_status st = GNT_OK;
    const gnt_dataset *d = c->data;
    char graph[65], content[65];

    GNT_TRY(gnti_dataset_sums(d, graph, content));
    GNT_TRY(gnti_json_set_text(c->facts, "content_sha256", content));
    if (d->content_sha256[0] != '\0' && strcmp(content, d->content_sha256) != 0)
        GNT_TRY(gnti_check_add(
            c, GNTI_FINDING_ERROR, "import it again",
            "the content has the SHA-256 %.12s... but the file states %.12s...: it was changed or is "
            "damaged",
            content, d->content_sha256));
done:
    return st;
}

/* Host bytes of the two big members; what training needs is estimate's to say. */
static gnt_status report_memory(gnti_check *c)
{
    gnt_status st = GNT_OK;
    const gnt_dataset *d = c->data;
    const int64_t arc_bytes = d->graph->weights != NULL ? 8 : 4;
    const gnti_graph *s = d->x.sparse;
    gnti_json *to;

    GNT_TRY(gnti_json_set_object(c->facts, "memory", &to));
    GNT_TRY(gnti_json_set_int(to, "graph_bytes", 8 * (d->num_nodes + 1) + arc_bytes * d->graph->num_arcs));
    GNT_TRY(gnti_json_set_int(to, "feature_bytes",
                              s != NULL ? 8 * (s->num_rows + 1) + (s->weights != NULL ? 8 : 4) * s->num_arcs
                                        : 4 * d->x.rows * d->x.width));
done:
    return st;
}

gnt_status gnti_check_structure(gnti_check *c)
{
    gnt_status st = GNT_OK;
    const gnti_graph *g = c->data->graph;
    int64_t *degree = NULL, *in_degree = NULL;
    walk w = { .first_nonpositive = -1 };

    GNT_TRY(gnti_json_set_int(c->facts, "num_nodes", g->num_rows));
    GNT_TRY(gnti_json_set_int(c->facts, "num_arcs", g->num_arcs));
    GNT_TRY(gnti_alloc_array(&degree, g->num_rows));
    GNT_TRY(gnti_calloc_array(&in_degree, g->num_rows));
    for (int64_t a = 0; a < g->num_arcs; a++)
        in_degree[g->columns[a]]++;
    walk_rows(g, in_degree, degree, &w);
    GNT_TRY(walk_weights(g, &w));
    GNT_TRY(report_sums(c));
    GNT_TRY(report_symmetry(c));
    GNT_TRY(report_walk(c, &w));
    GNT_TRY(report_degrees(c, degree, &w));
    GNT_TRY(report_components(c, w.num_isolated));
    GNT_TRY(report_memory(c));
done:
    gnti_free(degree);
    gnti_free(in_degree);
    return st;
}
