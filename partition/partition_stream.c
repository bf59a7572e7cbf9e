/* SPDX-License-Identifier: Apache-2.0 */
/* Partitions of graphs whose arcs are never in memory at once: every step is a pass over the rows of the file.
 *
 *   passes of LDG or Fennel | arcs between chunks, for the order of their ids | what the cut costs
 * The same placer serves a graph in memory (gnti_cut_stream) and gives the same vector. Memory: the vector, 4 n bytes, the
 * mask of training nodes, n, tables of the chunks, and one block of arcs.
 */
#include "partition/stream_cut.h"

#include "base/clock.h"
#include "datasets/arc_stream.h"

#include <string.h>

/* --- LDG and Fennel --- */

gnt_status gnti_cut_stream(const gnti_graph *graph, const gnti_partition_config *config,
                           const gnti_cut_targets *t, int32_t *chunk_of)
{
    gnt_status st = GNT_OK;
    gnti_stream_cut *cut = NULL;

    GNT_TRY(gnti_stream_cut_create(graph->num_rows, graph->num_arcs, config, t, chunk_of, &cut));
    do {
        gnti_stream_cut_begin_pass(cut);
        gnti_stream_cut_add_rows(cut, 0, graph->num_rows, graph->offsets, graph->columns);
    } while (gnti_stream_cut_wants_more(cut));
    GNT_TRY(gnti_fill_empty_chunks(graph->num_rows, t, chunk_of));
done:
    gnti_stream_cut_free(&cut);
    return st;
}

/* What the passes took, for whoever asks how fast they are. */
typedef struct effort {
    int32_t num_passes;
    double pass_seconds;
} effort;

static gnt_status cut_rows(gnti_arc_stream *stream, const gnti_partition_config *config,
                           const gnti_cut_targets *t, int32_t *chunk_of, effort *e)
{
    gnt_status st = GNT_OK;
    const double begin = gnti_clock_seconds();
    const gnti_arc_stream_facts *facts = gnti_arc_stream_get_facts(stream);
    gnti_stream_cut *cut = NULL;
    gnti_arc_block b;

    GNT_TRY(gnti_stream_cut_create(facts->num_nodes, facts->num_arcs, config, t, chunk_of, &cut));
    do {
        gnti_stream_cut_begin_pass(cut);
        gnti_arc_stream_rewind(stream);
        while (gnti_arc_stream_next(stream, &b))
            gnti_stream_cut_add_rows(cut, b.first_row, b.num_rows, b.offsets, b.columns);
        GNT_TRY(gnti_arc_stream_status(stream));
    } while (gnti_stream_cut_wants_more(cut));
    *e = (effort){ gnti_stream_cut_num_passes(cut), gnti_clock_seconds() - begin };
    GNT_TRY(gnti_fill_empty_chunks(facts->num_nodes, t, chunk_of));
done:
    gnti_stream_cut_free(&cut);
    return st;
}

/* --- the order of ids --- */

static gnt_status add_row(gnti_quotient *q, const int32_t *chunk_of, int32_t own, const int32_t *columns,
                          int64_t num)
{
    gnt_status st = GNT_OK;

    for (int64_t a = 0; a < num; a++)
        GNT_TRY(gnti_quotient_add(q, own, chunk_of[columns[a]], 1));
done:
    return st;
}

static gnt_status count_quotient(gnti_arc_stream *stream, const int32_t *chunk_of, gnti_quotient *q)
{
    gnt_status st = GNT_OK;
    gnti_arc_block b;

    gnti_arc_stream_rewind(stream);
    while (gnti_arc_stream_next(stream, &b))
        for (int64_t r = 0; r < b.num_rows; r++)
            GNT_TRY(add_row(q, chunk_of, chunk_of[b.first_row + r], b.columns + b.offsets[r],
                            b.offsets[r + 1] - b.offsets[r]));
    GNT_TRY(gnti_arc_stream_status(stream));
done:
    return st;
}

/* Neighbouring chunks get neighbouring ids, the shares being ranges of ids. */
static gnt_status renumber(gnti_arc_stream *stream, const gnti_cut_targets *t, int32_t *chunk_of)
{
    gnt_status st = GNT_OK;
    const int64_t num_nodes = gnti_arc_stream_get_facts(stream)->num_nodes;
    gnti_quotient *q = NULL;
    int32_t *rank = NULL;

    GNT_TRY(gnti_quotient_create(t->num_chunks, &q));
    GNT_TRY(gnti_alloc_array(&rank, t->num_chunks));
    GNT_TRY(count_quotient(stream, chunk_of, q));
    GNT_TRY(gnti_tree_order(q, t->num_shares, t->share_chunks, rank));
    for (int64_t v = 0; v < num_nodes; v++)
        chunk_of[v] = rank[chunk_of[v]];
done:
    gnti_quotient_free(&q);
    gnti_free(rank);
    return st;
}

/* --- what it costs --- */

/* As gnti_quality_measure, for a symmetric graph; of a directed one rows that are sent forward and arcs that are cut. */
static void measure_row(gnti_quality *q, int64_t *seen, const int32_t *chunk_of, bool directed, int64_t row,
                        const int32_t *columns, int64_t num)
{
    const int32_t p = chunk_of[row];

    for (int64_t a = 0; a < num; a++) {
        const int32_t r = chunk_of[columns[a]];

        q->arcs[p] += columns[a] != row;
        if (r == p)
            continue;
        q->cut += directed || columns[a] > row;
        if (seen[r] == row + 1)
            continue;
        seen[r] = row + 1;
        q->halo[r]++;
        q->sent[p]++;
        q->volume++;
        if (q->send != NULL)
            q->send[(int64_t)p * q->num_parts + r]++;
    }
}

static gnt_status measure(gnti_arc_stream *stream, const char *split, const int32_t *chunk_of,
                          int32_t num_chunks, gnti_quality **out)
{
    gnt_status st = GNT_OK;
    const gnti_arc_stream_facts *facts = gnti_arc_stream_get_facts(stream);
    gnti_quality *q = NULL;
    uint8_t *train = NULL;
    int64_t *seen = NULL;
    gnti_arc_block b;

    GNT_TRY(gnti_quality_alloc(num_chunks, &q));
    GNT_TRY(gnti_calloc_array(&seen, num_chunks));
    GNT_TRY(gnti_arc_stream_read_train(stream, split, &train));
    gnti_arc_stream_rewind(stream);
    while (gnti_arc_stream_next(stream, &b)) {
        for (int64_t r = 0; r < b.num_rows; r++) {
            const int64_t row = b.first_row + r;

            q->rows[chunk_of[row]]++;
            q->train[chunk_of[row]] += train != NULL && train[row] != 0;
            measure_row(q, seen, chunk_of, facts->directed, row, b.columns + b.offsets[r],
                        b.offsets[r + 1] - b.offsets[r]);
        }
    }
    GNT_TRY(gnti_arc_stream_status(stream));
    *out = q;
    q = NULL;
done:
    gnti_quality_free(&q);
    gnti_free(train);
    gnti_free(seen);
    return st;
}

/* --- together --- */

static const char *method_name(gnti_partition_method method)
{
    switch (method) {
    case GNTI_PART_LDG:
        return "ldg";
    case GNTI_PART_FENNEL:
        return "fennel";
    case GNTI_PART_RANGE:
        return "range";
    case GNTI_PART_RANDOM:
        return "random";
    case GNTI_PART_FILE:
        return "file";
    case GNTI_PART_METIS:
        break;
    }
    return NULL;
}

/* A given vector says how many chunks there are, so it comes before the targets. */
static gnt_status make_vector(gnti_arc_stream *stream, const gnti_partition_config *config,
                              gnti_cut_targets **targets, int32_t *chunk_of, effort *e)
{
    gnt_status st = GNT_OK;
    const int64_t num_nodes = gnti_arc_stream_get_facts(stream)->num_nodes;
    gnti_partition_config c = *config;

    if (c.method == GNTI_PART_FILE)
        GNT_TRY(gnti_cut_file(c.path, num_nodes, &c.num_chunks, chunk_of));
    GNT_TRY(gnti_cut_targets_make(num_nodes, &c, targets));
    if (c.method == GNTI_PART_RANGE)
        GNT_TRY(gnti_cut_range(num_nodes, *targets, chunk_of));
    else if (c.method == GNTI_PART_RANDOM)
        GNT_TRY(gnti_cut_random(num_nodes, *targets, c.seed, chunk_of));
    else if (c.method != GNTI_PART_FILE)
        GNT_TRY(cut_rows(stream, &c, *targets, chunk_of, e));
    if (c.method != GNTI_PART_RANGE)
        GNT_TRY(renumber(stream, *targets, chunk_of));
done:
    return st;
}

static gnt_status check_config(const gnti_partition_config *c)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(method_name(c->method) != NULL, GNT_ERR_USAGE,
              "METIS needs all arcs in memory: stream with --method ldg or fennel");
    GNT_CHECK(c->train == NULL && !c->metis_volume, GNT_ERR_USAGE,
              "--balance-train and --metis-volume are for --method metis");
    GNT_CHECK(c->method != GNTI_PART_FILE || c->num_shares == 0, GNT_ERR_USAGE,
              "a partition from a file is cut already: leave out --shares");
done:
    return st;
}

static gnt_status add_notes(gnti_partition *p, const gnti_partition_config *config, const effort *e,
                            double seconds)
{
    gnt_status st = GNT_OK;
    gnti_json *made;

    GNT_TRY(gnti_json_set_object(p->quality, "made", &made));
    GNT_TRY(gnti_json_set_int(made, "seed", (int64_t)config->seed));
    GNT_TRY(gnti_json_set_bool(made, "streamed", true));
    if (e->num_passes > 0) {
        GNT_TRY(gnti_json_set_int(made, "passes", e->num_passes));
        GNT_TRY(gnti_json_set_number(made, "pass_seconds", e->pass_seconds));
    }
    GNT_TRY(gnti_json_set_number(made, "seconds", seconds));
done:
    return st;
}

gnt_status gnti_partition_stream(const char *dataset_path, const gnti_partition_config *config,
                                 gnti_partition **out)
{
    gnt_status st = GNT_OK;
    gnti_arc_stream *stream = NULL;
    gnti_cut_targets *t = NULL;
    gnti_quality *q = NULL;
    gnti_partition *p = NULL;
    effort e = { 0, 0.0 };
    int32_t *chunk_of = NULL;
    int64_t *origin = NULL;
    const double begin = gnti_clock_seconds();

    GNT_CHECK(dataset_path != NULL && config != NULL && out != NULL, GNT_ERR_ARG,
              "dataset_path, config and out must not be NULL");
    GNT_TRY(check_config(config));
    GNT_TRY(gnti_arc_stream_open(dataset_path, &stream));
    GNT_TRY(gnti_alloc_array(&chunk_of, gnti_arc_stream_get_facts(stream)->num_nodes));
    GNT_TRY(make_vector(stream, config, &t, chunk_of, &e));
    GNT_TRY(measure(stream, config->split, chunk_of, t->num_chunks, &q));
    GNT_TRY(gnti_arc_stream_read_origin(stream, &origin));
    GNT_TRY(gnti_vector_to_source(gnti_arc_stream_get_facts(stream)->num_nodes, origin, &chunk_of));
    GNT_TRY(gnti_partition_finish(gnti_arc_stream_get_facts(stream)->num_nodes, t, chunk_of,
                                  method_name(config->method), &p));
    chunk_of = NULL; /* handed over */
    memcpy(p->graph_sha256, gnti_arc_stream_get_facts(stream)->source_sha256, sizeof p->graph_sha256);
    GNT_TRY(gnti_quality_to_json(q, &p->quality));
    GNT_TRY(add_notes(p, config, &e, gnti_clock_seconds() - begin));
    *out = p;
    p = NULL;
done:
    gnti_partition_free(&p);
    gnti_quality_free(&q);
    gnti_cut_targets_free(&t);
    gnti_free(chunk_of);
    gnti_free(origin);
    gnti_arc_stream_close(&stream);
    return st;
}
