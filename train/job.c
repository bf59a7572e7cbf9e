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

#include <string.h>

gnt_status gnti_job_open(gnt_context *ctx, const gnt_trainer_config *config, gnti_job *job)
{
    gnt_status st = GNT_OK;

    job->ctx = ctx;
    if (gnti_context_processes(ctx) != NULL)
        GNT_TRY(gnti_comm_split(gnti_context_processes(ctx), 0, gnti_context_processes(ctx)->rank,
                                &job->processes));
    else
        GNT_TRY(gnti_comm_self_create(&job->processes));
    job->processes->time_limit = config->wait_limit;
    GNT_TRY(gnti_device_specs_parse(config->devices, &job->place.specs, &job->place.size));
    GNT_TRY(gnti_context_take_pool(ctx, job->place.specs, job->place.size));
    gnti_context_expect(ctx, job->place.specs, job->place.size);
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

/* Version, model, data and every setting: what must be the same on all ranks. Files may have other names there. */
static gnt_status list_facts(const gnt_model *model, const gnt_dataset *data,
                             const gnt_trainer_config *config, gnti_determinism determinism, const char *more,
                             char **out)
{
    gnt_status st = GNT_OK;
    gnti_text t = { 0 };
    char buffer[64], sha[GNTI_SHA256_HEX_BYTES];
    const char *value = NULL, *path = data->path != NULL ? data->path : "in memory";

    GNT_TRY(gnti_model_sha256(model, sha));
    gnti_text_printf(&t, "gnntrain\t%s\n--model\t%s\nthe model's sha256\t%s\n", GNT_VERSION,
                     gnti_model_text(model), sha);
    gnti_text_printf(&t, "the number of nodes\t%lld\t%s\n", (long long)data->num_nodes, path);
    gnti_text_printf(&t, "the dataset's content\t%s\t%s\n", data->content_sha256, path);
    gnti_text_printf(&t, "the level of --deterministic\t%d\n", (int)determinism);
    for (int i = 0; i < gnti_options_count(gnti_trainer_table); i++)
        if (gnti_trainer_table[i].kind != GNT_OPTION_KIND_END) {
            GNT_TRY(gnti_setting_text(&gnti_trainer_table[i], config, buffer, sizeof buffer, &value));
            gnti_text_printf(&t, "--%s\t%s\n", gnti_trainer_table[i].name, value);
        }
    gnti_text_printf(&t, "%s", more != NULL ? more : "");
    GNT_TRY(gnti_text_take(&t, out));
done:
    gnti_text_free(&t);
    return st;
}

gnt_status gnti_job_check(const gnti_job *job, const gnt_model *model, const gnt_dataset *data,
                          const gnt_trainer_config *config, const char *more)
{
    gnt_status st = GNT_OK;
    char *facts = NULL;

    if (job->processes->size == 1)
        return GNT_OK;
    GNT_TRY(list_facts(model, data, config, gnti_context_determinism(job->ctx), more, &facts));
    GNT_TRY(gnti_comm_check_launch(job->processes, facts));
done:
    gnti_free(facts);
    return st;
}

gnt_status gnti_job_foresee(gnti_job *job, const gnt_model *model, const gnt_dataset *data,
                            const gnt_trainer_config *config)
{
    if (job->partition == NULL || job->forecast != NULL)
        return GNT_OK;
    return gnti_forecast_create(model, data, config, &job->forecast);
}

void gnti_job_close(gnti_job *job)
{
    gnti_comm_free(&job->processes);
    gnti_partition_free(&job->partition);
    gnti_forecast_free(&job->forecast);
    gnti_free(job->rates);
    gnti_chunk_facts_free(&job->facts);
    gnti_free(job->cost);
    gnti_placement_free(&job->place);
    memset(job, 0, sizeof *job);
}

gnt_status gnti_job_device_config(const gnti_job *job, int32_t rank, gnti_device_config *out)
{
    gnt_status st = GNT_OK;
    const gnti_device_spec *spec = &job->place.specs[rank];
    gnti_device_config config = *gnti_context_device_config(job->ctx);

    if (spec->threads > 0)
        config.num_threads = spec->threads;
    else if (config.num_threads > 0) /* of this process */
        config.num_threads =
            config.num_threads > job->place.num_local ? config.num_threads / job->place.num_local : 1;
    else
        GNT_TRY(gnti_team_threads(0, job->place.num_local * gnti_context_launch(job->ctx)->local_size,
                                  &config.num_threads));
    config.memory_limit = spec->room > 0 ? spec->room : spec->memory;
    config.quota = spec->quota;
    *out = config;
done:
    return st;
}

gnt_status gnti_job_open_device(const gnti_job *job, int32_t rank, gnt_device **out, bool *owns)
{
    gnt_status st = GNT_OK;
    const gnti_device_spec *spec = &job->place.specs[rank];
    gnti_device_config config;
    int32_t number;

    *owns = job->place.size > 1 || spec->memory > 0 || spec->room > 0 || spec->quota != NULL ||
            spec->threads > 0 || strcmp(spec->backend, "auto") != 0;
    if (!*owns) {
        *out = gnti_context_device(job->ctx);
        return GNT_OK;
    }
    GNT_TRY(gnti_job_device_config(job, rank, &config));
    if (job->processes->size > 1) { /* among those of this host, whose ranks come one behind the other */
        const int32_t local = gnti_context_launch(job->ctx)->local_rank;

        number = gnti_device_number(spec - local, local);
        GNT_TRY(gnti_device_number_of_process(spec, number, &number));
    } else {
        number = gnti_device_number(job->place.specs, rank);
    }
    GNT_TRY(gnti_device_open_spec(spec, number, &config, out));
done:
    return st;
}
