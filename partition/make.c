/* SPDX-License-Identifier: Apache-2.0 */
/* One call for all methods over a graph in memory: targets, the method, ids along a tree, no empty chunk, quality.
 *
 * Chunks of K = 1 need no method: METIS would divide by zero there, the others would say what is known.
 */
#include "partition/partition_internal.h"

#include "base/clock.h"
#include "base/log.h"

#include <string.h>

static gnt_status run_method(const gnti_graph *graph, const gnti_partition_config *c,
                             const gnti_cut_targets *t, int32_t *chunk_of, const char **method,
                             gnti_json *notes)
{
    gnt_status st = GNT_OK;
    const int64_t n = graph->num_rows;

    if (t->num_chunks == 1) {
        memset(chunk_of, 0, (size_t)n * sizeof *chunk_of);
        *method = "one";
        return GNT_OK;
    }
    switch (c->method) {
    case GNTI_PART_METIS:
        return gnti_cut_metis(graph, c, t, chunk_of, method, notes);
    case GNTI_PART_RANGE:
        *method = "range";
        return gnti_cut_range(n, t, chunk_of);
    case GNTI_PART_RANDOM:
        *method = "random";
        GNT_TRY(gnti_cut_random(n, t, c->seed, chunk_of));
        break;
    case GNTI_PART_LDG:
    case GNTI_PART_FENNEL:
        *method = c->method == GNTI_PART_LDG ? "ldg" : "fennel";
        GNT_TRY(gnti_cut_stream(graph, c, t, chunk_of));
        break;
    default:
        GNT_FAIL(GNT_ERR_ARG, "%d is no method of partitioning", (int)c->method);
    }
    GNT_TRY(gnti_tree_renumber(graph, t->num_chunks, t->num_shares, t->share_chunks, chunk_of));
done:
    return st;
}

static gnt_status add_quality(const gnti_graph *graph, const gnti_partition_config *c, gnti_partition *p,
                              gnti_json *notes)
{
    gnt_status st = GNT_OK;
    gnti_quality *q = NULL;

    GNT_TRY(gnti_quality_measure(graph, p->chunk_of, p->num_chunks, c->train, &q));
    GNT_TRY(gnti_quality_to_json(q, &p->quality));
    GNT_TRY(gnti_json_set_copy(p->quality, "made", notes));
    gnti_log(GNT_LOG_INFO, "partition", "%d chunks by %s: cut %lld, volume %lld", p->num_chunks, p->method,
             (long long)q->cut, (long long)q->volume);
done:
    gnti_quality_free(&q);
    return st;
}

/* A vector from a file has its own K and may leave chunks empty. */
static gnt_status from_file(const gnti_graph *graph, const gnti_partition_config *c, gnti_partition **out)
{
    gnt_status st = GNT_OK;
    int32_t *chunk_of = NULL, num_chunks = c->num_chunks;

    GNT_CHECK(c->path != NULL, GNT_ERR_USAGE, "the method file needs the path of a vector");
    GNT_TRY(gnti_alloc_array(&chunk_of, graph->num_rows));
    GNT_TRY(gnti_cut_file(c->path, graph->num_rows, &num_chunks, chunk_of));
    GNT_TRY(gnti_tree_renumber(graph, num_chunks, 0, NULL, chunk_of));
    GNT_TRY(gnti_partition_from_vector(graph->num_rows, num_chunks, chunk_of, "file", out));
    chunk_of = NULL;
done:
    gnti_free(chunk_of);
    return st;
}

static gnt_status from_method(const gnti_graph *graph, const gnti_partition_config *c, gnti_json *notes,
                              gnti_partition **out)
{
    gnt_status st = GNT_OK;
    gnti_cut_targets *t = NULL;
    int32_t *chunk_of = NULL;
    const char *method = "";

    GNT_TRY(gnti_cut_targets_make(graph->num_rows, c, &t));
    GNT_TRY(gnti_alloc_array(&chunk_of, graph->num_rows));
    GNT_TRY(run_method(graph, c, t, chunk_of, &method, notes));
    if (graph->num_rows > 0)
        GNT_TRY(gnti_fill_empty_chunks(graph->num_rows, t, chunk_of));
    GNT_TRY(gnti_partition_finish(graph->num_rows, t, chunk_of, method, out));
    chunk_of = NULL;
done:
    gnti_free(chunk_of);
    gnti_cut_targets_free(&t);
    return st;
}

gnt_status gnti_partition_make(const gnti_graph *graph, const gnti_partition_config *config,
                               gnti_partition **out)
{
    gnt_status st = GNT_OK;
    gnti_partition *p = NULL;
    gnti_json *notes = NULL;
    const double begin = gnti_clock_seconds();

    GNT_CHECK(graph != NULL && config != NULL && out != NULL, GNT_ERR_ARG,
              "graph, config and out must not be NULL");
    GNT_CHECK(graph->num_rows == graph->num_cols, GNT_ERR_ARG, "a matrix of %lld x %lld is no graph to cut",
              (long long)graph->num_rows, (long long)graph->num_cols);
    GNT_TRY(gnti_json_create_object(&notes));
    if (config->method == GNTI_PART_FILE)
        GNT_TRY(from_file(graph, config, &p));
    else
        GNT_TRY(from_method(graph, config, notes, &p));
    GNT_TRY(gnti_json_set_number(notes, "seconds", gnti_clock_seconds() - begin));
    GNT_TRY(add_quality(graph, config, p, notes));
    *out = p;
    p = NULL;
done:
    gnti_json_free(&notes);
    gnti_partition_free(&p);
    return st;
}
