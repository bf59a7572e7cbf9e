/* SPDX-License-Identifier: Apache-2.0 */
/* gnntrain train: starts a run and, called again with the same line, continues it. */
#include "cli/setup.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* A run folder that cannot be written is told before anything is computed. */
static gnt_status check_run_folder(const char *run)
{
    gnt_status st;

    if (run == NULL)
        return GNT_OK;
    st = gntx_folder_create(run);
    if (st == GNT_ERR_OUTPUT)
        return gntx_fail(GNT_ERR_USAGE, "%s (option --run)", gnt_last_error());
    if (st == GNT_OK && access(run, W_OK | X_OK) != 0)
        return gntx_fail(GNT_ERR_USAGE, "cannot write to run folder '%s': %s (option --run)", run,
                         strerror(errno));
    return st;
}

static gnt_status say_what_runs(const cli_setup *s, int64_t epochs_done)
{
    char nodes[CLI_FORMAT_BYTES], arcs[CLI_FORMAT_BYTES], parameters[CLI_FORMAT_BYTES];

    cli_say("%s nodes, %s arcs, %lld features, %lld classes; %s parameters%s",
            cli_format_count(gnt_dataset_num_nodes(s->data), nodes),
            cli_format_count(gnt_dataset_num_arcs(s->data), arcs),
            (long long)gnt_dataset_num_features(s->data), (long long)gnt_dataset_num_classes(s->data),
            cli_format_count(gnt_model_num_parameters(s->model), parameters),
            s->trainer->seeds > 1 ? " a seed" : "");
    if (epochs_done > 0)
        cli_say("going on after epoch %lld of run '%s'", (long long)epochs_done, s->trainer->run);
    return GNT_OK;
}

static void say_stopped(const cli_call *call, const cli_setup *s, int64_t epoch)
{
    const char *reason = cli_stop_reason();

    if (reason == NULL)
        reason = s->trainer->time_limit > 0.0 ? "the time limit" : "a signal to another rank";
    if (s->trainer->run != NULL)
        cli_say("stopped by %s after epoch %lld, checkpoint written: run the same line again to go on (run "
                "folder '%s')",
                reason, (long long)epoch, s->trainer->run);
    else
        cli_say("stopped by %s after epoch %lld; without --run nothing was kept", reason, (long long)epoch);
    (void)call;
}

static gnt_status finish(const cli_setup *s, gnt_trainer *tr)
{
    gnt_status st = GNT_OK;
    gntx_json *summary = NULL;

    GNT_TRY(gnt_trainer_finish(tr));
    GNT_TRY(gntx_trainer_summary(tr, &summary));
    GNT_TRY(cli_print_facts(summary));
    if (s->trainer->run != NULL)
        cli_say("next: gnntrain predict %s -o predictions.csv", s->trainer->run);
done:
    gntx_json_free(&summary);
    return st;
}

/* Runs all epochs; the signals are ours meanwhile. */
static gnt_status run_epochs(const cli_call *call, const cli_setup *s, gnt_trainer *tr)
{
    gnt_status st = GNT_OK;
    gnt_epoch_stats stats = { .struct_size = sizeof stats };
    cli_progress progress;

    cli_stop_begin(tr);
    cli_progress_begin(&progress, gntx_trainer_epochs_done(tr), s->trainer->epochs);
    while (gnt_trainer_next(tr, &stats))
        if (!call->common.quiet && gntx_context_rank(s->ctx) == 0)
            cli_progress_show(&progress, &stats);
    cli_progress_end(&progress);
    st = gnt_trainer_status(tr);
    if (st == GNT_STOPPED)
        say_stopped(call, s, stats.epoch);
    cli_stop_end();
    return st;
}

static gnt_status run(cli_call *call)
{
    gnt_status st = GNT_OK;
    cli_setup s = { 0 };
    gnt_trainer *tr = NULL;
    char *config = NULL;

    GNT_TRY(cli_setup_create(call, &s));
    GNT_TRY(check_run_folder(s.trainer->run));
    GNT_TRY(gnt_trainer_create(s.model, s.data, s.trainer, &tr));
    GNT_TRY(cli_config_text(call, &config));
    GNT_TRY(gntx_trainer_set_config_text(tr, config));
    GNT_TRY(say_what_runs(&s, gntx_trainer_epochs_done(tr)));
    GNT_TRY(run_epochs(call, &s, tr));
    GNT_TRY(finish(&s, tr));
done:
    gnt_trainer_free(&tr);
    cli_setup_free(&s);
    gntx_free(config);
    return st;
}

const cli_verb cmd_train = {
    .name = "train",
    .summary = "train a model; the same line continues a run that was stopped",
    .arguments = "FILE",
    .details = "FILE is a dataset made by import or generate. With --run the folder keeps metrics, "
               "checkpoints, the best "
               "weights and a summary; called again with the same line, the run goes on where it was. "
               "Ctrl-C, SIGTERM, "
               "SIGUSR1 and SIGUSR2 save a checkpoint and end with exit code 75.",
    .examples = { "gnntrain train cora.h5 --model 'gcn:16, gcn' --dropout 0.5 --run cora-run",
                  "gnntrain train cora.h5 --model 'gcn:16, gcn' --seeds 10 --weight-decay 1:5e-4 --patience "
                  "50 --run ten" },
    .min_arguments = 1,
    .max_arguments = 1,
    .sections = CLI_SETUP_SECTIONS,
    .ranks = true,
    .run = run,
};
