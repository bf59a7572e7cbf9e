/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a trainer: made from a model, a dataset and a config; resumed when its run folder has a
 * checkpoint; finished with test values of the best weights, best.h5 and summary.json.
 */
#include <gnntrain/experimental.h>

#include "train/run_folder.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "kernels/choices.h"
#include "train/checkpoint.h"
#include "train/plot.h"

#include <math.h>

static gnt_status check_determinism(const gnt_trainer *tr)
{
    gnt_status st = GNT_OK;
    static const char *const words[] = { "off", "run", "bitwise" };
    const int32_t wanted = tr->config.deterministic - 1; /* word 0: as the context */
    const int32_t have = (int32_t)gnti_context_determinism(tr->ctx);

    GNT_CHECK(
        wanted < 0 || wanted == have, GNT_ERR_USAGE,
        "deterministic '%s' is asked for but the device was opened with '%s': give it to the context too",
        words[wanted < 0 ? 0 : wanted], words[have]);
done:
    return st;
}

/* All arrays by member, and those that evaluation needs. */
static gnt_status alloc_arrays(gnt_trainer *tr)
{
    gnt_status st = GNT_OK;
    const int64_t num = tr->num_members, classes = tr->data->y.num_classes;

    GNT_TRY(gnti_calloc_array(&tr->live, num));
    GNT_TRY(gnti_alloc_array(&tr->members, num));
    GNT_TRY(gnti_calloc_array(&tr->sums, num));
    GNT_TRY(gnti_calloc_array(&tr->out_values, 4 * num));
    GNT_TRY(gnti_alloc_array(&tr->test_metric, num));
    GNT_TRY(gnti_alloc_array(&tr->test_loss, num));
    if (tr->data->y.kind == GNT_LABELS_CLASS && classes <= GNTI_TRAIN_CONFUSION_CLASSES)
        GNT_TRY(gnti_calloc_array(&tr->confusion, num * classes * classes));
    GNT_TRY(gnti_alloc_array(&tr->seconds, GNTI_TRAIN_SECONDS_KEPT));
    for (int32_t m = 0; m < tr->num_members; m++) {
        gnti_member_init(&tr->members[m]);
        tr->test_metric[m] = tr->test_loss[m] = NAN;
    }
done:
    return st;
}

/* The run folder, empty of an earlier run when asked for. */
static gnt_status open_run(gnt_trainer *tr)
{
    gnt_status st = GNT_OK;

    if (tr->config.run == NULL || !gnti_trainer_is_root(tr))
        return GNT_OK;
    GNT_TRY(gnti_run_create(tr->config.run, tr->seeds, tr->num_members, &tr->run));
    if (gnti_config_resume(&tr->config) == GNTI_RESUME_NEVER)
        GNT_TRY(gnti_run_clear(tr->run));
done:
    return st;
}

/* What an earlier run left in the folder, else what --resume names. */
static gnt_status find_checkpoint(gnt_trainer *tr, gnti_checkpoint **found)
{
    gnt_status st = GNT_OK;
    const gnti_resume resume = gnti_config_resume(&tr->config);

    if (tr->run != NULL && resume != GNTI_RESUME_NEVER)
        GNT_TRY(gnti_checkpoint_find(tr, found));
    if (*found == NULL && resume == GNTI_RESUME_PATH && gnti_trainer_is_root(tr)) {
        GNT_TRY(gnti_checkpoint_find_at(tr, tr->config.resume, found));
        tr->from_elsewhere = true;
    }
    if (*found != NULL)
        GNT_TRY(gnti_checkpoint_take_choices(*found, tr));
done:
    return st;
}

static gnt_status start_run(gnt_trainer *tr, const gnti_checkpoint *found)
{
    gnt_status st = GNT_OK;

    bool resumed = found != NULL;

    if (found != NULL)
        GNT_TRY(gnti_checkpoint_restore(found, tr));
    GNT_TRY(gnti_trainer_share_flag(tr, &resumed));
    if (resumed)
        GNT_TRY(gnti_trainer_share_state(tr));
    if (resumed)
        tr->was_complete = gnti_trainer_is_complete(tr);
    if (tr->from_elsewhere)
        tr->saved_epoch = tr->saved_step = -1; /* not in this run's folder */
    if (tr->run != NULL && found != NULL)
        GNT_TRY(gnti_run_log(tr->run, "resumed after epoch %lld of %lld, step %lld, from '%s'",
                             (long long)tr->epoch, (long long)tr->config.epochs, (long long)tr->step,
                             found->path));
    if (tr->run != NULL) {
        if (!tr->was_complete)
            GNT_TRY(gnti_run_write_summary(tr->run, tr, "running", NULL));
        GNT_TRY(gnti_run_cut_metrics(tr->run, tr->epoch));
        GNT_TRY(gnti_run_write_config(tr->run, tr));
        if (found == NULL)
            GNT_TRY(gnti_run_log(tr->run,
                                 "started: model '%s', %lld parameters, %d members, %lld training nodes",
                                 gnti_model_text(tr->model), (long long)gnt_model_num_parameters(tr->model),
                                 (int)tr->num_members, (long long)tr->prepared.num_train));
    }
done:
    return st;
}

gnt_status gnti_trainer_create_from(gnt_model *model, const gnt_dataset *data,
                                    const gnt_trainer_config *config, const gnti_member_options *members,
                                    int32_t num, gnt_trainer **out)
{
    gnt_status st = GNT_OK;
    gnt_trainer *tr = NULL;
    gnti_checkpoint *found = NULL;

    GNT_TRY(gnti_calloc_array(&tr, 1));
    tr->model = gnti_model_hold(model);
    tr->data = gnti_dataset_hold(data);
    tr->ctx = gnti_model_context(model);
    tr->objects = gnti_objects_add(tr->ctx, GNTI_OBJECT_TRAINER);
    tr->started = gnti_clock_seconds();
    tr->saved_epoch = tr->saved_step = -1;
    GNT_TRY(gnti_config_copy(config, &tr->config));
    tr->isolates = members != NULL;
    GNT_TRY(check_determinism(tr));
    GNT_TRY(gnti_passes_parse(tr->config.no_pass, &tr->disabled_passes));
    GNT_TRY(gnti_check_fit(model, data, true));
    GNT_TRY(gnti_config_loss(&tr->config, data->y.kind, &tr->loss_kind));
    GNT_TRY(gnti_metric_resolve((gnti_metric)tr->config.metric, data->y.kind, &tr->metric));
    GNT_TRY(gnti_prepare(data, &tr->config, &tr->prepared));
    GNT_TRY(gnti_trainer_set_members(tr, members, members != NULL ? num : (int32_t)tr->config.seeds));
    GNT_TRY(alloc_arrays(tr));
    GNT_TRY(gnti_job_open(tr->ctx, &tr->config, &tr->job));
    if (gnti_trainer_is_root(tr))
        GNT_TRY(gnti_trace_check(tr->config.trace));
    GNT_TRY(gnti_trainer_check_processes(tr));
    GNT_TRY(open_run(tr));
    GNT_TRY(gnti_job_find_partition(&tr->job, data, &tr->config));
    GNT_TRY(find_checkpoint(tr, &found));
    GNT_TRY(gnti_trainer_share_choices(tr));
    GNT_TRY(gnti_trainer_open_choices(tr));
    GNT_TRY(gnti_job_foresee(&tr->job, model, data, &tr->config));
    GNT_TRY(gnti_job_place(&tr->job, data, NULL, NULL, NULL));
    GNT_TRY(gnti_trainer_make_ranks(tr, NULL));
    GNT_TRY(gnti_trainer_count_ranks(tr));
    GNT_TRY(gnti_trainer_watch(tr));
    GNT_TRY(start_run(tr, found));
    *out = tr;
    tr = NULL;
done:
    if (st != GNT_OK && tr != NULL)
        gnti_comm_abort(tr->job.processes, gnt_last_error());
    gnti_checkpoint_free(&found);
    gnt_trainer_free(&tr);
    return st;
}

void gnt_trainer_free(gnt_trainer **trainer)
{
    gnt_trainer *tr = trainer != NULL ? *trainer : NULL;
    gnti_objects *objects;
    gnti_error_record kept;

    if (tr == NULL)
        return;
    objects = tr->objects;
    gnti_error_keep(&kept); /* ranks of a lost device fail again while they leave */
    *trainer = NULL;
    gnti_ranks_free(&tr->ranks);
    gnti_job_close(&tr->job);
    gnti_drift_free(&tr->drift);
    gnti_free(tr->rank_seconds);
    gnti_free(tr->rank_counts);
    gnti_free(tr->rank_work);
    gnti_run_free(&tr->run);
    gnti_prepared_free(&tr->prepared);
    gnti_trainer_free_members(tr);
    gnti_config_free(&tr->config);
    gnti_choices_free(&tr->measured);
    gnti_free(tr->choices);
    gnti_free(tr->live);
    gnti_free(tr->members);
    gnti_free(tr->sums);
    gnti_free(tr->out_values);
    gnti_free(tr->test_metric);
    gnti_free(tr->test_loss);
    gnti_free(tr->confusion);
    gnti_free(tr->seconds);
    gnt_model_free(&tr->model);
    gnti_dataset_let_go(&tr->data);
    gnti_free(tr);
    gnti_objects_drop(&objects, GNTI_OBJECT_TRAINER);
    gnti_error_give_back(&kept);
}

static gnt_status save_best(gnt_trainer *tr, int32_t member)
{
    gnt_status st = GNT_OK;
    char *path = NULL;

    GNT_TRY(gnti_run_join(tr->run, member, "best.h5", &path));
    GNT_TRY(gnti_checkpoint_save_best(tr, member, path));
done:
    gnti_free(path);
    return st;
}

gnt_status gnt_trainer_finish(gnt_trainer *tr)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(tr != NULL, GNT_ERR_ARG, "trainer must not be NULL");
    GNT_CHECK(tr->status == GNT_OK && gnti_trainer_is_complete(tr), GNT_ERR_STATE,
              "finish after epoch %lld of %lld: the run is not complete", (long long)tr->epoch,
              (long long)tr->config.epochs);
    GNT_CHECK(!tr->finished, GNT_ERR_STATE, "finish was called before");
    GNT_TRY(gnti_trainer_test(tr));
    if (tr->run != NULL && !(tr->was_complete && gnti_run_has_summary(tr->run))) {
        if (tr->saved_epoch != tr->epoch || tr->saved_step != tr->step)
            GNT_TRY(gnti_checkpoint_save(tr));
        for (int32_t m = 0; m < tr->num_members; m++)
            GNT_TRY(save_best(tr, m));
        GNT_TRY(gnti_run_write_summary(tr->run, tr, "complete", NULL));
        GNT_TRY(gnti_run_write_report(gnti_run_path(tr->run)));
        GNT_TRY(gnti_run_log(tr->run, "complete after epoch %lld", (long long)tr->epoch));
    }
    tr->finished = true;
done:
    return st;
}

gnt_status gnt_trainer_status(const gnt_trainer *tr)
{
    return tr != NULL ? tr->status : GNT_ERR_ARG;
}

int32_t gnt_trainer_num_members(const gnt_trainer *tr)
{
    return tr != NULL ? tr->num_members : 0;
}

double gnt_trainer_test_metric(const gnt_trainer *tr, int32_t member)
{
    return tr != NULL && member >= 0 && member < tr->num_members ? tr->test_metric[member] : NAN;
}

int64_t gntx_trainer_epochs_done(const gnt_trainer *tr)
{
    return tr != NULL ? tr->epoch : 0;
}

gnt_status gntx_trainer_set_config_text(gnt_trainer *tr, const char *yaml)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(tr != NULL && yaml != NULL, GNT_ERR_ARG, "trainer and text must not be NULL");
    if (tr->run != NULL)
        GNT_TRY(gnti_run_write_config_text(tr->run, tr, yaml));
done:
    return st;
}
