/* SPDX-License-Identifier: Apache-2.0 */
/* Our nested cut beside METIS' own cut into the same shares, by what a launch would send.
 *
 *   bench_partition GRAPH [--parts P] [--shares 4:2:1] [--chunks K] [--seeds S]
 *
 * GRAPH is a dataset, a graph file, or grid:ROWSxCOLUMNS. Direct cuts are METIS' program over the same cleaned graph, weights
 * (degree + 1) and tolerance 1.05, recursive and k-way, seeds 1 .. S, nothing refined. Ours is cut into K chunks (for the
 * shares when given, for nobody otherwise) and launched as ranges of chunks. A JSON line each: halo is the sum over the parts.
 */
#include "base/clock.h"
#include "base/error.h"
#include "bench/harness.h"
#include "partition/part_metis.h"

#include <gnntrain/experimental.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PARTS = 64 };

typedef struct bench {
    gnt_dataset *data;
    gnti_graph *grid;
    const gnti_graph *graph;
    int32_t num_parts;
    double share[MAX_PARTS];
    bool shares_given;
} bench;

static gnt_status make_grid(int64_t rows, int64_t columns, gnti_graph **out)
{
    gnt_status st = GNT_OK;
    gnti_graph *g = NULL;
    int64_t next = 0;

    GNT_TRY(gnti_graph_alloc(rows * columns, rows * columns,
                             2 * (rows * (columns - 1) + columns * (rows - 1)), false, &g));
    for (int64_t v = 0; v < rows * columns; v++) {
        const int64_t r = v / columns, c = v % columns;

        if (r > 0)
            g->columns[next++] = (int32_t)(v - columns);
        if (c > 0)
            g->columns[next++] = (int32_t)(v - 1);
        if (c + 1 < columns)
            g->columns[next++] = (int32_t)(v + 1);
        if (r + 1 < rows)
            g->columns[next++] = (int32_t)(v + columns);
        g->offsets[v + 1] = next;
    }
    *out = g;
done:
    return st;
}

static gnt_status open_graph(bench *b, const char *name)
{
    gnt_status st = GNT_OK;
    const gntx_import_options options = { .num_nodes = -1 };
    long long rows, columns;

    if (sscanf(name, "grid:%lldx%lld", &rows, &columns) == 2) {
        GNT_CHECK(rows > 0 && columns > 0 && rows * columns < INT32_MAX / 4, GNT_ERR_ARG,
                  "no grid of %lld x %lld", rows, columns);
        GNT_TRY(make_grid(rows, columns, &b->grid));
        b->graph = b->grid;
        return GNT_OK;
    }
    if (strlen(name) > 3 && strcmp(name + strlen(name) - 3, ".h5") == 0)
        GNT_TRY(gnt_dataset_open(NULL, name, &b->data));
    else
        GNT_TRY(gntx_import(NULL, &name, 1, &options, &b->data, NULL));
    b->graph = b->data->graph;
done:
    return st;
}

static gnt_status read_shares(bench *b, int argc, char **argv)
{
    gnt_status st = GNT_OK;
    const char *text = bench_text(argc, argv, "shares", NULL);
    double sum = 0.0;

    b->num_parts = (int32_t)bench_option(argc, argv, "parts", 4, 2, MAX_PARTS);
    b->shares_given = text != NULL;
    if (text != NULL)
        b->num_parts = 0;
    for (char *end = NULL; text != NULL && *text != '\0'; text = *end == ':' ? end + 1 : end) {
        GNT_CHECK(b->num_parts < MAX_PARTS, GNT_ERR_ARG, "more than %d shares", MAX_PARTS);
        b->share[b->num_parts] = strtod(text, &end);
        GNT_CHECK(end != text && (*end == ':' || *end == '\0'), GNT_ERR_ARG, "shares look like 4:2:1");
        sum += b->share[b->num_parts++];
    }
    for (int32_t p = 0; p < b->num_parts; p++)
        b->share[p] = b->shares_given ? b->share[p] / sum : 1.0 / b->num_parts;
done:
    return st;
}

/* load: the largest work (degree + 1) of a part over its share. */
static void print_halo(const bench *b, const char *what, int64_t seed, const gnti_quality *q, double seconds)
{
    double load = 0.0;

    for (int32_t p = 0; p < b->num_parts; p++) {
        const double work = (double)(q->arcs[p] + q->rows[p]),
                     all = (double)(b->graph->num_arcs + b->graph->num_rows);

        load = work / all / b->share[p] > load ? work / all / b->share[p] : load;
    }
    printf(
        "{\"what\": \"%s\", \"seed\": %lld, \"halo\": %lld, \"cut\": %lld, \"load\": %.4f, \"seconds\": %.4f",
        what, (long long)seed, (long long)q->volume, (long long)q->cut, load, seconds);
}

/* METIS alone, one seed. */
static gnt_status direct(const bench *b, const gnti_cut_graph *g, bool kway, int32_t seed, int32_t *part_of)
{
    gnt_status st = GNT_OK;
    const gnti_metis_request r = { .num_nodes = g->num_nodes,
                                   .num_arcs = g->num_arcs,
                                   .num_weights = 1,
                                   .num_parts = b->num_parts,
                                   .num_tries = 1,
                                   .seed = seed,
                                   .kway = kway,
                                   .tolerance = { 1.05f } };
    gnti_metis_batch *batch = NULL;
    gnti_cut_graph *graph = NULL;
    gnti_quality *q = NULL;
    char failure[GNTI_METIS_FAILURE_BYTES];
    double begin;

    GNT_TRY(gnti_metis_batch_create(&r, 1, &batch));
    GNT_TRY(gnti_metis_batch_graph(batch, 0, &graph));
    memcpy(graph->offsets, g->offsets, ((size_t)g->num_nodes + 1) * sizeof *g->offsets);
    memcpy(graph->columns, g->columns, (size_t)g->num_arcs * sizeof *g->columns);
    memcpy(graph->weight, g->weight, (size_t)g->num_nodes * sizeof *g->weight);
    for (int32_t p = 0; p < b->num_parts; p++)
        gnti_metis_batch_targets(batch, 0)[p] = (float)b->share[p];
    begin = gnti_clock_seconds();
    GNT_TRY(gnti_metis_batch_run(batch, &(gnti_metis_limits){ .seconds = 0.0 }, failure));
    begin = gnti_clock_seconds() - begin;
    GNT_CHECK(failure[0] == '\0', GNT_ERR_UNSUPPORTED, "METIS' program %s", failure);
    memset(part_of, 0, (size_t)b->graph->num_rows * sizeof *part_of);
    for (int32_t v = 0; v < g->num_nodes; v++)
        part_of[g->node[v]] = gnti_metis_batch_parts(batch, 0, 0)[v];
    GNT_TRY(gnti_quality_measure(b->graph, part_of, b->num_parts, NULL, &q));
    print_halo(b, kway ? "kway" : "recursive", seed, q, begin);
    printf("}\n");
done:
    gnti_quality_free(&q);
    gnti_cut_graph_free(&graph);
    gnti_metis_batch_free(&batch);
    return st;
}

/* Our chunks as ranges: at the shares' borders, or K / P chunks each. */
static gnt_status ours(const bench *b, int32_t num_chunks, int32_t *part_of)
{
    gnt_status st = GNT_OK;
    const gnti_partition_config config = { .num_chunks = num_chunks,
                                           .shares = b->shares_given ? b->share : NULL,
                                           .num_shares = b->shares_given ? b->num_parts : 0 };
    gnti_partition *p = NULL;
    gnti_quality *q = NULL;
    double begin = gnti_clock_seconds(), metis = 0.0, own = 0.0, load = 0.0;
    int64_t before = 0, after = 0;

    GNT_TRY(gnti_partition_make(b->graph, &config, &p));
    begin = gnti_clock_seconds() - begin;
    for (int64_t v = 0; v < b->graph->num_rows; v++) {
        const int32_t c = p->chunk_of[v];

        part_of[v] = (int32_t)((int64_t)c * b->num_parts / p->num_chunks);
        for (int32_t s = 0; s < p->num_shares; s++)
            if (c >= p->share_chunks[s] && c < p->share_chunks[s + 1])
                part_of[v] = s;
    }
    GNT_TRY(gnti_quality_measure(b->graph, part_of, b->num_parts, NULL, &q));
    const gnti_json *made = gnti_json_find(p->quality, "made");

    (void)gnti_json_get_number(made, "metis_seconds", &metis);
    (void)gnti_json_get_number(made, "refine_seconds", &own);
    (void)gnti_json_get_number(made, "largest_work_over_target", &load);
    (void)gnti_json_get_int(made, "volume_before_refinement", &before);
    (void)gnti_json_get_int(made, "volume_after_refinement", &after);
    print_halo(b, p->method, 0, q, begin);
    printf(", \"chunks\": %d, \"metis_seconds\": %.4f, \"refine_seconds\": %.4f, \"volume_before\": %lld, "
           "\"volume_after\": %lld, "
           "\"chunk_load\": %.4f}\n",
           p->num_chunks, metis, own, (long long)before, (long long)after, load);
done:
    gnti_quality_free(&q);
    gnti_partition_free(&p);
    return st;
}

static gnt_status measure(bench *b, int argc, char **argv)
{
    gnt_status st = GNT_OK;
    const gnti_partition_config plain = { .num_chunks = 1 };
    gnti_cut_graph *g = NULL;
    int32_t *isolated = NULL, *part_of = NULL, num_isolated, weight, num_chunks;
    const int64_t seeds = bench_option(argc, argv, "seeds", 5, 0, 1000);

    GNT_TRY(open_graph(b, argv[1]));
    GNT_TRY(read_shares(b, argc, argv));
    GNT_TRY(gnti_alloc_array(&part_of, b->graph->num_rows));
    GNT_TRY(gnti_cut_graph_clean(b->graph, &plain, 1, &g, &isolated, &num_isolated, &weight));
    for (int64_t s = 1; s <= seeds; s++) {
        GNT_TRY(direct(b, g, false, (int32_t)s, part_of));
        GNT_TRY(direct(b, g, true, (int32_t)s, part_of));
    }
    num_chunks = gnti_default_chunks(b->graph->num_rows);
    num_chunks = num_chunks < b->num_parts ? b->num_parts : num_chunks;
    GNT_TRY(ours(b, (int32_t)bench_option(argc, argv, "chunks", num_chunks, 1, INT32_MAX), part_of));
done:
    gnti_free(isolated);
    gnti_free(part_of);
    gnti_cut_graph_free(&g);
    return st;
}

int main(int argc, char **argv)
{
    bench b = { .num_parts = 0 };
    gnt_status st;

    if (argc < 2) {
        fprintf(stderr,
                "usage: bench_partition GRAPH [--parts P] [--shares 4:2:1] [--chunks K] [--seeds S]\n");
        return 2;
    }
    st = measure(&b, argc, argv);
    if (st != GNT_OK)
        fprintf(stderr, "bench_partition: %s\n", gnt_last_error());
    gnti_graph_free(&b.grid);
    gnt_dataset_free(&b.data);
    return st == GNT_OK ? 0 : 1;
}
