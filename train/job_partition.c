/* SPDX-License-Identifier: Apache-2.0 */
/* Which partition a run goes over. Chunks are named by rows of the imported dataset, whatever the order of the file.
 */
#include "train/job.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"

#include <string.h>

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

/* As many as the number of nodes asks for, in a small graph one for each device at least. */
static int32_t num_chunks(const gnti_job *job, const gnt_dataset *data, const gnt_trainer_config *config)
{
    const int32_t size = job->place.size;
    const bool is_free = config->chunks == 0 && data->chunks.num_chunks == 0;

    if (is_free && size > gnti_default_chunks(data->num_nodes) && size <= data->num_nodes)
        return size;
    return (int32_t)config->chunks; /* 0: by the number of nodes */
}

/* Makes one and keeps it in the run folder, so that a resumed run finds it. */
static gnt_status make_partition(gnti_job *job, const gnt_dataset *data, const gnt_trainer_config *config,
                                 const char graph_sha256[65], const char *path)
{
    gnt_status st = GNT_OK;
    const gnti_partition_config how = { .method = GNTI_PART_METIS,
                                        .num_chunks = num_chunks(job, data, config),
                                        .tolerance = 1.05 };

    GNT_TRY(gnti_partition_of_dataset(data, &how, &job->partition));
    memcpy(job->partition->graph_sha256, graph_sha256, sizeof job->partition->graph_sha256);
    if (path != NULL)
        GNT_TRY(gnti_partition_write(job->partition, path));
    gnti_log(GNT_LOG_INFO, "train", "the graph has %d chunks (%s)%s%s", (int)job->partition->num_chunks,
             job->partition->method, path != NULL ? ", kept as " : "", path != NULL ? path : "");
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
              "%d devices but only %d %s: use fewer devices, or a cut of more chunks (--chunks %d)",
              (int)job->place.size, (int)job->partition->num_chunks,
              job->partition->num_chunks == 1 ? "chunk" : "chunks", (int)job->place.size);
done:
    gnti_free(kept);
    return st;
}
