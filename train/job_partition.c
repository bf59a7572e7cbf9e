/* SPDX-License-Identifier: Apache-2.0 */
/* Which partition a run goes over. Chunks are named by rows of the imported dataset, whatever the order of the file.
 */
#include "train/job.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"

#include <string.h>

/* A file with more arcs than this is cut as it streams by; up to here its arcs are read for METIS, for as long as that takes. */
enum { CUT_IN_MEMORY_ARCS = 20000000 };

/* The sum of the graph that partitions of this dataset state. */
static gnt_status graph_sum(const gnt_dataset *data, char out[65])
{
    gnt_status st = GNT_OK;
    char content[65];

    memcpy(out, gnti_dataset_source_graph(data), 65);
    if (out[0] == 0)
        GNT_TRY(gnti_dataset_sums(data, out, content));
done:
    return st;
}

/* From the chunk of each row of the file. */
static gnt_status from_rows(const int32_t *chunk_of_row, const int64_t *origin, int64_t num_nodes,
                            int32_t num_chunks, const char *method, gnti_partition **out)
{
    gnt_status st = GNT_OK;
    int32_t *chunk_of = NULL;

    GNT_TRY(gnti_alloc_array(&chunk_of, num_nodes + 1));
    for (int64_t r = 0; r < num_nodes; r++)
        chunk_of[origin != NULL ? origin[r] : r] = chunk_of_row[r];
    GNT_TRY(gnti_partition_from_vector(num_nodes, num_chunks, chunk_of, method, out));
    chunk_of = NULL;
done:
    gnti_free(chunk_of);
    return st;
}

/* The order that the file is stored in. */
static gnt_status from_order(const gnt_dataset *data, const int64_t *origin, gnti_partition **out)
{
    gnt_status st = GNT_OK;
    const gnti_chunk_order *order = &data->chunks;
    int32_t *chunk_of_row = NULL;

    GNT_TRY(gnti_alloc_array(&chunk_of_row, data->num_nodes + 1));
    for (int32_t k = 0; k < order->num_chunks; k++)
        for (int64_t r = order->first[k]; r < order->first[k + 1]; r++)
            chunk_of_row[r] = k;
    GNT_TRY(from_rows(chunk_of_row, origin, data->num_nodes, order->num_chunks, "file", out));
done:
    gnti_free(chunk_of_row);
    return st;
}

static gnt_status cut_in_memory(const gnti_graph *graph, const int64_t *origin,
                                const gnti_partition_config *how, gnti_partition **out)
{
    gnt_status st = GNT_OK;
    gnti_partition *rows = NULL;

    GNT_TRY(gnti_partition_make(graph, how, &rows));
    if (origin == NULL) {
        *out = rows;
        rows = NULL;
    } else {
        GNT_TRY(from_rows(rows->chunk_of, origin, rows->num_nodes, rows->num_chunks, rows->method, out));
    }
done:
    gnti_partition_free(&rows);
    return st;
}

/* Of a dataset whose arcs are in the file. */
static gnt_status cut_file(const gnt_dataset *data, const gnti_partition_config *how, gnti_partition **out)
{
    gnt_status st = GNT_OK;
    gnti_arc_stream *stream = NULL;
    gnti_graph *graph = NULL;
    int64_t *origin = NULL;
    gnti_partition_config streamed = *how;

    GNT_TRY(gnti_arc_stream_open(data->path, &stream));
    GNT_TRY(gnti_arc_stream_read_origin(stream, &origin));
    if (data->chunks.num_chunks > 0 && (how->num_chunks == 0 || how->num_chunks == data->chunks.num_chunks)) {
        GNT_TRY(from_order(data, origin, out));
    } else if (gnti_arc_stream_get_facts(stream)->num_arcs <= CUT_IN_MEMORY_ARCS) {
        GNT_TRY(gnti_arc_stream_read_graph(stream, &graph));
        GNT_TRY(cut_in_memory(graph, origin, how, out));
    } else {
        streamed.method = GNTI_PART_LDG;
        GNT_TRY(gnti_partition_stream(data->path, &streamed, out));
    }
done:
    gnti_graph_free(&graph);
    gnti_free(origin);
    gnti_arc_stream_close(&stream);
    return st;
}

/* Makes one and keeps it in the run folder, so that a resumed run finds it. */
static gnt_status make_partition(gnti_job *job, const gnt_dataset *data, const gnt_trainer_config *config,
                                 const char graph_sha256[65], const char *path)
{
    gnt_status st = GNT_OK;
    const int64_t *origin = NULL;
    const gnti_partition_config how = { .method = GNTI_PART_METIS,
                                        .num_chunks = (int32_t)config->chunks,
                                        .tolerance = 1.05 };

    if (data->header == NULL)
        GNT_TRY(gnti_dataset_get_origin(data, &origin));
    if (data->header != NULL)
        GNT_TRY(cut_file(data, &how, &job->partition));
    else if (data->chunks.num_chunks > 0 &&
             (how.num_chunks == 0 || how.num_chunks == data->chunks.num_chunks))
        GNT_TRY(from_order(data, origin, &job->partition));
    else
        GNT_TRY(gnti_partition_make_dataset(data, &how, &job->partition));
    memcpy(job->partition->graph_sha256, graph_sha256, sizeof job->partition->graph_sha256);
    if (path != NULL)
        GNT_TRY(gnti_partition_write(job->partition, path));
    gnti_log(GNT_LOG_INFO, "train", "cut the graph into %d chunks%s%s", (int)job->partition->num_chunks,
             path != NULL ? ", kept as " : "", path != NULL ? path : "");
done:
    return st;
}

/* The given one, the kept one, or one that is made now. */
static gnt_status find_partition(gnti_job *job, const gnt_dataset *data, const gnt_trainer_config *config,
                                 const char *given, const char *kept)
{
    gnt_status st = GNT_OK;
    char graph[65];
    const bool has_kept = kept != NULL && gnti_file_exists(kept);
    const bool make = given == NULL && !has_kept && (job->place.size > 1 || config->chunks > 0);

    if (given == NULL && !has_kept && !make)
        return GNT_OK;
    GNT_TRY(graph_sum(data, graph));
    if (make)
        GNT_TRY(make_partition(job, data, config, graph, kept));
    else
        GNT_TRY(gnti_partition_read(given != NULL ? given : kept, graph, &job->partition));
    if (given != NULL && kept != NULL && !has_kept) /* so that the run can go on without the option */
        GNT_TRY(gnti_partition_write(job->partition, kept));
    GNT_CHECK(config->chunks == 0 || config->chunks == job->partition->num_chunks, GNT_ERR_USAGE,
              "chunks %lld is asked for but partition '%s' has %d", (long long)config->chunks,
              given != NULL ? given : kept, (int)job->partition->num_chunks);
done:
    return st;
}

/* The root's, to all processes. */
static gnt_status share_partition(gnti_job *job)
{
    gnt_status st = GNT_OK;
    gnti_comm *c = job->processes;
    int64_t head[2] = { 0 }; /* chunks (0: none), nodes */
    int32_t *chunk_of = NULL;

    if (c->size == 1)
        return GNT_OK;
    if (job->partition != NULL) {
        head[0] = job->partition->num_chunks;
        head[1] = job->partition->num_nodes;
    }
    GNT_TRY(gnti_comm_broadcast(c, 0, head, sizeof head));
    if (head[0] == 0)
        goto done;
    if (c->rank == 0) {
        GNT_TRY(gnti_comm_broadcast(c, 0, job->partition->chunk_of, (size_t)head[1] * sizeof *chunk_of));
        goto done;
    }
    GNT_TRY(gnti_alloc_array(&chunk_of, head[1] + 1));
    GNT_TRY(gnti_comm_broadcast(c, 0, chunk_of, (size_t)head[1] * sizeof *chunk_of));
    GNT_TRY(gnti_partition_from_vector(head[1], (int32_t)head[0], chunk_of, "file", &job->partition));
    chunk_of = NULL;
done:
    gnti_free(chunk_of);
    return st;
}

gnt_status gnti_job_find_partition(gnti_job *job, const gnt_dataset *data, const gnt_trainer_config *config)
{
    gnt_status st = GNT_OK;
    char *kept = NULL;
    const bool given = config->partition != NULL && config->partition[0] != 0;

    if (job->partition == NULL) {
        if (config->run != NULL)
            GNT_TRY(gnti_path_join(config->run, GNTI_RUN_PARTITION, &kept));
        if (job->processes->rank == 0)
            GNT_TRY(find_partition(job, data, config, given ? config->partition : NULL, kept));
        GNT_TRY(share_partition(job));
    }
    GNT_CHECK(
        job->partition != NULL || data->header == NULL, GNT_ERR_UNSUPPORTED,
        "the arrays of '%s' were left in the file, which only runs over parts read by rank: give --devices, "
        "--partition or --chunks",
        data->path);
    GNT_CHECK(job->partition != NULL || config->trace == NULL, GNT_ERR_USAGE,
              "trace '%s' shows ranks and this run has none: give --devices, --partition or --chunks too",
              config->trace);
    GNT_CHECK(job->partition == NULL || job->place.size <= job->partition->num_chunks, GNT_ERR_USAGE,
              "%d devices but only %d chunks: use fewer devices, or a cut of more chunks (--chunks %d)",
              (int)job->place.size, (int)job->partition->num_chunks, (int)job->place.size);
done:
    gnti_free(kept);
    return st;
}
