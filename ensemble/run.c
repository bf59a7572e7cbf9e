/* SPDX-License-Identifier: Apache-2.0 */
/* A run of an ensemble, from its spec to its summary: what was left to do is trained, then combined. */
#include "ensemble/live_past.h"
#include "ensemble/live_task.h"

#include "base/file.h"
#include "partition/partition.h"

#include <string.h>

/* The results of a complete run, NULL: one of its files is not there or not whole, so they are made anew. */
static gnt_status read_results(const gnti_live *run, gnti_json **out)
{
    gnt_status st = GNT_OK;
    static const char *const files[] = { "ensemble.h5", "report.json", "report.html", "summary.json" };
    char *path = NULL;
    bool whole = true;

    for (size_t i = 0; i < sizeof files / sizeof files[0] && whole; i++) {
        gnti_free(path);
        path = NULL;
        GNT_TRY(gnti_path_join(run->config->run, files[i], &path));
        whole = gnti_file_exists(path);
    }
    whole = whole && gnti_json_read(path, out) == GNT_OK;
    if (whole && gnti_json_find(*out, "ensemble") == NULL)
        gnti_json_free(out);
done:
    gnti_free(path);
    return st;
}

/* What would fail each member is told before any is tried. */
static gnt_status check(const gnti_live *run)
{
    gnt_status st = GNT_OK;
    const char *path = run->config->partition;
    gnti_partition *partition = NULL;

    GNT_CHECK(run->config->run != NULL && run->config->run[0] != '\0', GNT_ERR_ARG,
              "an ensemble needs a run folder");
    if (path != NULL && path[0] != '\0')
        GNT_TRY(gnti_partition_read(path, gnti_dataset_source_graph(run->data), &partition));
done:
    gnti_partition_free(&partition);
    return st;
}

/* Over MPI processes trainers see those of their crew alone (live_crew.c), and nobody else any. */
static gnt_status take_processes(gnti_live *run)
{
    gnt_status st = GNT_OK;
    gnti_comm *processes = gnti_context_processes(run->ctx);

    if (processes != NULL) {
        GNT_TRY(gnti_comm_split(processes, 0, processes->rank, &run->world));
        run->all = gnti_context_swap_processes(run->ctx, NULL);
    }
done:
    return st;
}

static bool is_root(const gnti_live *run)
{
    return run->world == NULL || run->world->rank == 0;
}

static gnt_status drive(gnti_live *run)
{
    gnt_status st = GNT_OK;

    if (run->world != NULL)
        return gnti_live_drive_processes(run);
    pthread_mutex_lock(&run->lock);
    st = gnti_live_devices_open(run);
    if (st == GNT_OK)
        st = gnti_live_arrive(run, NULL, 0);
    if (st == GNT_OK && run->num_tasks > 0)
        st = gnti_live_note_process(run);
    pthread_mutex_unlock(&run->lock);
    GNT_TRY(st);
    GNT_TRY(run->is_virtual ? gnti_live_drive_virtual(run) : gnti_live_drive_threads(run));
done:
    return st;
}

static gnt_status note_stop(gnti_live *run)
{
    gnt_status st = GNT_OK;
    gnti_json *o = NULL;

    GNT_TRY(gnti_json_create_object(&o));
    GNT_TRY(gnti_json_set_number(o, "at", gnti_live_now(run)));
    GNT_TRY(gnti_journal_add(run->journal, "stopped", o, true));
done:
    gnti_json_free(&o);
    return st;
}

/* Members that an earlier process has not ended. */
static gnt_status train(gnti_live *run)
{
    gnt_status st = GNT_OK;

    if (is_root(run))
        GNT_TRY(gnti_live_forget_requests(run));
    GNT_TRY(drive(run));
    GNT_TRY(gnti_live_show(run, true));
    if (!gnti_live_all_done(run)) {
        if (run->profile != NULL)
            GNT_TRY(gnti_live_write_profile(run));
        GNT_TRY(note_stop(run));
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

    *out_summary = NULL;
    GNT_TRY(check(&run));
    GNT_TRY(take_processes(&run));
    GNT_TRY(run.world != NULL ? gnti_live_open_processes(&run, &complete) : gnti_live_open(&run, &complete));
    if (!is_root(&run)) {
        run.watch = NULL;
        if (!complete)
            GNT_TRY(train(&run));
        goto done; /* the root combines */
    }
    if (complete)
        GNT_TRY(read_results(&run, out_summary));
    if (*out_summary != NULL)
        goto done;
    if (!complete || run.world == NULL)
        GNT_TRY(train(&run));
    GNT_TRY(gnti_live_finish(&run, out_summary));
done:
    if (st == GNT_OK && *out_summary != NULL)
        st = gnti_json_set_text(*out_summary, "run", config->run);
    if (run.all != NULL)
        (void)gnti_context_swap_processes(ctx, run.all);
    if (st != GNT_OK && st != GNT_STOPPED && run.folder != NULL) {
        const gnti_error_record first = *gnti_error_get();

        (void)gnti_run_log(run.folder, "failed: %s", first.text);
        (void)gnti_error_adopt(&first);
    }
    gnti_live_close(&run);
    return st;
}
