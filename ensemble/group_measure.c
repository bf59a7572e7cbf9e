/* SPDX-License-Identifier: Apache-2.0 */
/* A short run of a group: its members with their own settings and loss weights, on one device of a pool of one, which counts the bytes
 * that are out. Early stop cannot end it before the fourth epoch, since patience is switched off.
 */
#include "ensemble/group_profile.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "kernels/quota.h"
#include "nn/program.h"

#include <math.h>
#include <string.h>

enum { WARM_UP = 1, EPOCHS = 3 };

typedef struct short_run {
    gnti_member_options *options; /* (num) */
    float **weights;              /* (num), of folds and bags */
    int32_t num;
    gnt_dataset *view; /* NULL: the dataset itself */
    gnt_model *model;
    gnt_trainer *trainer;
} short_run;

static void free_run(short_run *r)
{
    gnt_trainer_free(&r->trainer);
    gnt_model_free(&r->model);
    gnt_dataset_free(&r->view);
    for (int32_t i = 0; r->weights != NULL && i < r->num; i++)
        gnti_free(r->weights[i]);
    gnti_free(r->weights);
    gnti_free(r->options);
}

static gnt_status make_run(const gnti_spec *spec, const gnti_fused_group *g, const gnt_dataset *data,
                           short_run *r)
{
    gnt_status st = GNT_OK;
    const gnti_spec_member *first = &spec->members[g->members[0]];
    gnt_trainer_config config = first->train, plain;

    gnt_trainer_config_init(&plain);
    config.run = config.trace = NULL;
    config.resume = "never";
    config.devices = GNTI_POOL_BACKEND ":0";
    config.partition = NULL;
    config.chunks = 0;
    config.patience = 0;
    config.schedule = GNTI_SCHEDULE_CONSTANT; /* rates do not change what an epoch takes */
    config.schedule_epochs = config.warmup_epochs = 0;
    config.schedule_factor = plain.schedule_factor;
    config.epochs = WARM_UP + EPOCHS;
    GNT_TRY(gnti_spec_member_dataset(first, data, &r->view));
    data = r->view != NULL ? r->view : data;
    GNT_TRY(gnt_model_create_with(data, first->model, &first->net, &r->model));
    GNT_TRY(gnti_calloc_array(&r->options, g->num_members));
    GNT_TRY(gnti_calloc_array(&r->weights, g->num_members));
    r->num = g->num_members;
    for (int32_t i = 0; i < r->num; i++) {
        const gnti_spec_member *m = &spec->members[g->members[i]];

        gnti_member_options_init(r->model, &m->train, 0, &r->options[i]);
        r->options[i].seed = m->seed;
        r->options[i].dropout = m->net.dropout;
        r->options[i].input_dropout = m->net.input_dropout;
        r->options[i].epochs = WARM_UP + EPOCHS;
        r->options[i].patience = 0;
        GNT_TRY(gnti_spec_member_weights(m, data, &r->weights[i]));
        r->options[i].weight = r->weights[i];
    }
    GNT_TRY(gnti_trainer_create_members(r->model, data, &config, r->options, r->num, &r->trainer));
done:
    return st;
}

static gnt_status run_epochs(gnt_trainer *tr, double *out)
{
    double least = INFINITY;
    gnt_epoch_stats stats = { .struct_size = sizeof stats };

    for (int i = 0; i < WARM_UP + EPOCHS; i++) {
        const double begin = gnti_clock_seconds();

        if (!gnt_trainer_next(tr, &stats))
            break;
        if (i >= WARM_UP)
            least = fmin(least, isfinite(stats.virtual_seconds) ? stats.virtual_seconds
                                                                : gnti_clock_seconds() - begin);
    }
    *out = least;
    return gnt_trainer_status(tr);
}

gnt_status gnti_group_measure_run(gnt_context *ctx, const gnti_spec *spec, const gnti_fused_group *group,
                                  const gnt_dataset *data, const gnti_device_spec *device,
                                  gnti_group_measure *out)
{
    gnt_status st = GNT_OK;
    gnti_quota quota = { .limit = device->memory };
    gnti_device_spec pool = *device;
    short_run r = { 0 };
    double seconds = 0.0;

    pool.quota = &quota;
    pool.lost_step = -1; /* a device that is to be lost is so in the run */
    gnti_context_set_pool(ctx, &pool, 1);
    GNT_TRY(make_run(spec, group, data, &r));
    GNT_TRY(run_epochs(r.trainer, &seconds));
    GNT_CHECK(isfinite(seconds), GNT_ERR_NUMERIC, "the group of member %s diverges within %d epochs",
              spec->members[group->members[0]].name, WARM_UP + EPOCHS);
    *out = (gnti_group_measure){ .seconds = seconds, .bytes = (int64_t)atomic_load(&quota.peak) };
done:
    free_run(&r);
    gnti_context_set_pool(ctx, NULL, 0);
    return st;
}
