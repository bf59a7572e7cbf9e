/* SPDX-License-Identifier: Apache-2.0 */
/* A run of an ensemble, from its spec to its summary: what was left to do is trained, then combined. */
#include "ensemble/live.h"

#include "base/file.h"

#include <string.h>

static gnt_status read_summary(const gnti_live *run, gnti_json **out)
{
    gnt_status st = GNT_OK;
    char *path = NULL;

    GNT_TRY(gnti_path_join(run->config->run, "summary.json", &path));
    GNT_TRY(gnti_json_read(path, out));
done:
    gnti_free(path);
    return st;
}

static gnt_status check(const gnti_live *run)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(run->config->run != NULL && run->config->run[0] != '\0', GNT_ERR_ARG,
              "an ensemble needs a run folder");
    GNT_CHECK(gnti_context_processes(run->ctx) == NULL, GNT_ERR_UNSUPPORTED,
              "an ensemble over MPI processes is not built: start it as one process and name its devices "
              "(--devices)");
done:
    return st;
}

/* Members that an earlier process has not ended. */
static gnt_status train(gnti_live *run)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_live_forget_requests(run));
    pthread_mutex_lock(&run->lock);
    st = gnti_live_devices_open(run);
    if (st == GNT_OK)
        st = gnti_live_arrive(run, NULL, 0);
    pthread_mutex_unlock(&run->lock);
    GNT_TRY(st);
    GNT_TRY(run->is_virtual ? gnti_live_drive_virtual(run) : gnti_live_drive_threads(run));
    GNT_TRY(gnti_live_show(run, true));
    if (!gnti_live_all_done(run)) {
        GNT_TRY(gnti_live_write_profile(run));
        GNT_TRY(gnti_journal_add(run->journal, "stopped", NULL, true));
        GNT_TRY(gnti_run_log(run->folder, "stopped %s",
                             run->config->stop != NULL && atomic_load(run->config->stop) != 0
                                 ? "on request"
                                 : "at the time limit"));
        GNT_FAIL(GNT_STOPPED, "stopped; all members are saved in '%s': the same command goes on there",
                 run->config->run);
    }
done:
    return st;
}

gnt_status gnti_ensemble_run(gnt_context *ctx, const gnti_spec *spec, const gnt_dataset *data,
                             const gnti_ensemble_config *config, gnti_ensemble_watch watch, void *user,
                             gnti_json **out_summary)
{
    gnt_status st = GNT_OK;
    gnti_live run = { .ctx = ctx,
                      .spec = spec,
                      .data = data,
                      .config = config,
                      .watch = watch,
                      .user = user,
                      .epochs_before = -1 };
    bool complete = false;

    GNT_TRY(check(&run));
    GNT_TRY(gnti_live_open(&run, &complete));
    if (complete && read_summary(&run, out_summary) == GNT_OK)
        goto done;
    GNT_TRY(train(&run));
    GNT_TRY(gnti_live_finish(&run, out_summary));
done:
    if (st != GNT_OK && st != GNT_STOPPED && run.folder != NULL) {
        const gnti_error_record first = *gnti_error_get();

        (void)gnti_run_log(run.folder, "failed: %s", first.text);
        (void)gnti_error_adopt(&first);
    }
    gnti_live_close(&run);
    return st;
}
