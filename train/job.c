/* SPDX-License-Identifier: Apache-2.0 */
/* From settings to ranks: how many, on what, over which partition. */
#include "train/job.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/option.h"
#include "base/sha256.h"
#include "base/team.h"
#include "base/text.h"
#include "train/checkpoint.h"
#include "train/checkpoint_facts.h"

#include <stdio.h>
#include <string.h>

/* Floats of a row and of an arc of an ordinary layer: what chunks are weighed with until rates were measured. */
static const gnti_chunk_rates plain_rates = {
    .arc_seconds = 4e-9, .row_seconds = 4e-8, .bytes_per_row = 1024.0, .bytes_per_arc = 8.0
};

gnt_status gnti_job_open(gnt_context *ctx, const gnt_trainer_config *config, gnti_job *job)
{
    gnt_status st = GNT_OK;

    if (gnti_context_processes(ctx) != NULL)
        GNT_TRY(gnti_comm_split(gnti_context_processes(ctx), 0, gnti_context_processes(ctx)->rank,
                                &job->processes));
    else
        GNT_TRY(gnti_comm_self_create(&job->processes));
    job->processes->time_limit = config->wait_limit;
    GNT_TRY(gnti_device_specs_parse(config->devices, &job->place.specs, &job->place.size));
    GNT_TRY(gnti_launch_check_devices(gnti_context_launch(ctx), job->place.size));
    job->place.num_local = job->place.size;
    if (job->processes->size > 1) {
        GNT_TRY(gnti_realloc_array(&job->place.specs, job->processes->size));
        for (int32_t i = job->place.size; i < job->processes->size; i++)
            job->place.specs[i] = job->place.specs[0];
        job->place.size = job->processes->size;
        job->place.first = job->processes->rank;
        job->place.num_local = 1;
    }
    GNT_CHECK(
        config->source == GNTI_SOURCE_WORD_FULL ||
            (job->place.size == 1 && config->partition == NULL && config->chunks == 0),
        GNT_ERR_UNSUPPORTED,
        "source clusters trains on one device without a partition, not on %d ranks: leave --devices and "
        "--partition and --chunks out, or take --source full",
        (int)job->place.size);
done:
    return st;
}

/* Model, data and every setting: what must be the same on all ranks. */
static gnt_status hash_launch(const gnt_model *model, const gnt_dataset *data,
                              const gnt_trainer_config *config, char out[GNTI_SHA256_HEX_BYTES])
{
    gnt_status st = GNT_OK;
    gnti_text t = { 0 };
    char *text = NULL, buffer[64], sha[GNTI_SHA256_HEX_BYTES];
    const char *value = NULL;

    GNT_TRY(gnti_model_sha256(model, sha));
    gnti_text_append(&t, sha);
    gnti_text_printf(&t, "\n%lld %s\n", (long long)data->num_nodes, data->content_sha256);
    for (int i = 0; i < gnti_options_count(gnti_trainer_table); i++)
        if (gnti_trainer_table[i].kind != GNT_OPTION_KIND_END) {
            GNT_TRY(gnti_setting_text(&gnti_trainer_table[i], config, buffer, sizeof buffer, &value));
            gnti_text_printf(&t, "%s %s\n", gnti_trainer_table[i].name, value);
        }
    GNT_TRY(gnti_text_take(&t, &text));
    GNT_TRY(gnti_sha256_of(text, strlen(text), out));
done:
    gnti_text_free(&t);
    gnti_free(text);
    return st;
}

gnt_status gnti_job_check(const gnti_job *job, const gnt_model *model, const gnt_dataset *data,
                          const gnt_trainer_config *config)
{
    gnt_status st = GNT_OK;
    char what[160], sha256[GNTI_SHA256_HEX_BYTES];

    if (job->processes->size == 1)
        return GNT_OK;
    GNT_TRY(hash_launch(model, data, config, sha256));
    snprintf(what, sizeof what, "gnntrain " GNT_VERSION ", model '%.40s', %lld nodes, seed %lld, %lld epochs",
             gnti_model_text(model), (long long)data->num_nodes, (long long)config->seed,
             (long long)config->epochs);
    GNT_TRY(gnti_comm_check_launch(job->processes, what, sha256));
done:
    return st;
}

void gnti_job_close(gnti_job *job)
{
    gnti_comm_free(&job->processes);
    gnti_partition_free(&job->partition);
    gnti_chunk_facts_free(&job->facts);
    gnti_free(job->row_of);
    gnti_placement_free(&job->place);
    memset(job, 0, sizeof *job);
}

/* Makes one and keeps it in the run folder, so that a resumed run finds it. */
static gnt_status make_partition(gnti_job *job, const gnt_dataset *data, const gnt_trainer_config *config,
                                 const char graph_sha256[65], const char *path)
{
    gnt_status st = GNT_OK;
    const gnti_partition_config how = { .method = GNTI_PART_METIS,
                                        .num_chunks = (int32_t)config->chunks,
                                        .tolerance = 1.05 };

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
    char graph[65], content[65];
    const bool has_kept = kept != NULL && gnti_file_exists(kept);
    const bool make = given == NULL && !has_kept && (job->place.size > 1 || config->chunks > 0);

    if (given == NULL && !has_kept && !make)
        return GNT_OK;
    memcpy(graph, gnti_dataset_source_graph(data), sizeof graph);
    if (graph[0] == 0)
        GNT_TRY(gnti_dataset_sums(data, graph, content));
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
    GNT_CHECK(job->partition != NULL || config->trace == NULL, GNT_ERR_USAGE,
              "trace '%s' shows ranks and this run has none: give --devices, --partition or --chunks too",
              config->trace);
    GNT_CHECK(job->partition == NULL || job->place.size <= job->partition->num_chunks, GNT_ERR_USAGE,
              "%d devices but only %d chunks: use fewer devices, or gnntrain partition --chunks %d",
              (int)job->place.size, (int)job->partition->num_chunks, (int)job->place.size);
done:
    gnti_free(kept);
    return st;
}

void gnti_placement_free(gnti_placement *place)
{
    gnti_free(place->specs);
    gnti_free(place->owner);
    memset(place, 0, sizeof *place);
}

/* From where the chunks lie. */
static gnt_status place_again(gnti_job *job, const gnti_map_config *config, const gnti_placement *from,
                              gnti_moves *moved)
{
    gnt_status st = GNT_OK;
    int32_t *new_of_old = NULL;

    GNT_TRY(gnti_alloc_array(&new_of_old, from->size));
    for (int32_t d = 0; d < from->size; d++)
        new_of_old[d] = d < job->place.size ? d : -1;
    GNT_TRY(gnti_chunk_map_resize(job->facts, config, from->owner, new_of_old, from->size, job->place.owner,
                                  moved));
done:
    gnti_free(new_of_old);
    return st;
}

gnt_status gnti_job_place(gnti_job *job, const gnt_dataset *data, const double *speeds,
                          const gnti_placement *from, gnti_moves *moved)
{
    gnt_status st = GNT_OK;
    gnti_map_device *devices = NULL;
    const int64_t *origin = NULL;
    /* seconds a halo row are not known yet: so few that balance decides, and halo between equals */
    gnti_map_config config = { .num_devices = job->place.size, .halo_seconds = 1e-15, .tolerance = 0.05 };

    if (job->partition == NULL)
        return GNT_OK;
    if (job->facts == NULL) {
        GNT_TRY(gnti_chunk_facts_make_dataset(data, job->partition, &plain_rates, &job->facts));
        GNT_TRY(gnti_dataset_get_origin(data, &origin));
        if (origin != NULL && job->row_of == NULL)
            GNT_TRY(gnti_graph_invert(origin, data->num_nodes, &job->row_of));
    }
    GNT_TRY(gnti_alloc_array(&devices, job->place.size));
    for (int32_t i = 0; i < job->place.size; i++)
        devices[i] =
            (gnti_map_device){ speeds != NULL ? speeds[i] : 1.0, (double)job->place.specs[i].memory };
    config.devices = devices;
    GNT_TRY(gnti_alloc_array(&job->place.owner, job->partition->num_chunks));
    if (from != NULL && from->owner != NULL)
        GNT_TRY(place_again(job, &config, from, moved));
    else
        GNT_TRY(gnti_chunk_map_first(job->facts, &config, job->place.owner));
done:
    gnti_free(devices);
    return st;
}

gnt_status gnti_job_open_device(const gnti_job *job, gnt_context *ctx, int32_t rank, gnt_device **out,
                                bool *owns)
{
    gnt_status st = GNT_OK;
    const gnti_device_spec *spec = &job->place.specs[rank];
    gnti_device_config config = *gnti_context_device_config(ctx);

    *owns = job->place.size > 1 || spec->memory > 0 || spec->threads > 0;
    if (!*owns) {
        *out = gnti_context_device(ctx);
        return GNT_OK;
    }
    if (spec->threads > 0)
        config.num_threads = spec->threads;
    else if (config.num_threads > 0) /* of this process */
        config.num_threads =
            config.num_threads > job->place.num_local ? config.num_threads / job->place.num_local : 1;
    else
        GNT_TRY(gnti_team_threads(0, job->place.num_local * gnti_context_launch(ctx)->local_size,
                                  &config.num_threads));
    config.memory_limit = spec->memory;
    GNT_TRY(gnti_device_open(spec->backend, 0, &config, out));
done:
    return st;
}
