/* SPDX-License-Identifier: Apache-2.0 */
/* An epoch of a group: metrics of each member, what its method wants, ends and failures of members, checkpoints, compaction.
 *
 * The end of a member, in this order: checkpoint.h5 and best.h5, logits.npy, summary.json, what its method does with it, then the
 * journal's line, which has reached the disk before anybody relies on it. A crash before that line repeats the end; the files are
 * functions of the checkpoint.
 */
#include "ensemble/live_task.h"

#include "base/alloc.h"
#include "base/clock.h"

#include "base/file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Slots that idle, as a share of all, before the others go on without them. */
static const double MOST_IDLE = 0.25;

void gnti_live_report_clear(gnti_live_report *report)
{
    gnti_free(report->failed);
    memset(report, 0, sizeof *report);
}

/* Of a crew of MPI processes the first one. */
static bool writes_files(const gnti_live *run)
{
    return run->crew == NULL || run->crew->rank == 0;
}

/* ---- the end of a member --------------------------------------------------------------------------------------------- */

static gnt_status write_logits(gnti_live_task *t, int32_t slot)
{
    gnt_status st = GNT_OK;
    gnti_live *run = t->run;
    gnti_live_member *member = &run->members[t->members[slot]];
    const int64_t classes = run->data->y.num_classes;
    gnti_member_state state = { 0 };
    float *logits = NULL;
    char *path = NULL;

    GNT_TRY(gnti_trainer_take_member(t->trainer, slot, &state));
    GNT_TRY(gnti_alloc_array(&logits, run->data->num_nodes * classes + 1));
    GNT_TRY(gnti_trainer_member_logits(t->trainer, slot, true, logits));
    if (!writes_files(run))
        goto done;
    GNT_TRY(gnti_path_join(member->folder, "logits.npy", &path));
    GNT_TRY(gnti_votes_write(path, run->data, logits, classes));
    GNT_TRY(gnti_live_member_summary(run, t->members[slot], logits, &state.progress));
done:
    gnti_member_state_free(&state);
    gnti_free(path);
    gnti_free(logits);
    return st;
}

gnt_status gnti_live_note_end(gnti_live *run, int32_t m, int64_t task)
{
    gnt_status st = GNT_OK;
    gnti_json *o = NULL;

    GNT_TRY(gnti_json_create_object(&o));
    GNT_TRY(gnti_json_set_text(o, "member", run->spec->members[m].name));
    GNT_TRY(gnti_json_set_text(o, "how", run->members[m].how));
    GNT_TRY(gnti_json_set_int(o, "task", task));
    GNT_TRY(gnti_json_set_int(o, "epochs", run->members[m].epochs_trained));
    GNT_TRY(gnti_json_set_number(o, "seconds", run->members[m].seconds));
    GNT_TRY(gnti_json_set_number(o, "at", gnti_live_now(run)));
    GNT_TRY(gnti_journal_add(run->journal, "ended", o, true));
done:
    gnti_json_free(&o);
    return st;
}

static gnt_status end_member(gnti_live_task *t, int32_t slot, bool early)
{
    gnt_status st = GNT_OK;
    gnti_live *run = t->run;
    const int32_t m = t->members[slot];
    gnti_live_member *member = &run->members[m];

    member->how = early ? "stopped early" : "ended";
    member->epochs_trained = t->epoch;
    GNT_TRY(gnti_trainer_save_member(t->trainer, slot, member->folder, true));
    GNT_TRY(write_logits(t, slot));
    GNT_TRY(gnti_method_after_member(run->method, t->trainer, slot, m));
    if (run->world == NULL) /* else the root does, when the round is over */
        GNT_TRY(gnti_live_note_end(run, m, t->id));
    t->done[slot] = 1;
    pthread_mutex_lock(&run->lock);
    member->epoch = t->epoch;
    member->outcome = GNTI_LIVE_ENDED;
    pthread_mutex_unlock(&run->lock);
done:
    return st;
}

/* ---- after an epoch ---------------------------------------------------------------------------------------------------- */

static gnt_status fail_member(gnti_live_task *t, int32_t slot, gnti_live_report *report)
{
    gnt_status st = GNT_OK;
    gnti_live_member *member = &t->run->members[t->members[slot]];
    const char *text = gnti_trainer_member_failure(t->trainer, slot);

    if (report->failed == NULL)
        GNT_TRY(gnti_calloc_array(&report->failed, t->num_members));
    snprintf(member->failure, sizeof member->failure, "%s", text != NULL ? text : "no reason was given");
    report->failed[report->num_failed++] = t->members[slot];
    t->done[slot] = 1;
done:
    return st;
}

static gnt_status look_at_member(gnti_live_task *t, int32_t slot, const gnt_epoch_stats *stats,
                                 gnti_live_report *report)
{
    gnt_status st = GNT_OK;
    gnti_live *run = t->run;
    const int32_t m = t->members[slot];
    const gnti_member_phase phase = gnti_trainer_member_phase(t->trainer, slot);
    bool ended = phase == GNTI_MEMBER_ENDED || phase == GNTI_MEMBER_STOPPED;

    if (phase == GNTI_MEMBER_FAILED)
        return fail_member(t, slot, report);
    run->members[m].seconds += report->seconds / t->num_members;
    if (writes_files(run))
        GNT_TRY(gnti_folder_write_metrics(run->members[m].folder, stats, slot));
    if (!ended)
        GNT_TRY(gnti_method_after_epoch(run->method, t->trainer, slot, m, &ended));
    if (ended)
        GNT_TRY(end_member(t, slot, phase == GNTI_MEMBER_STOPPED));
done:
    return st;
}

/* The program is made anew for those that are left; where that fails they go on as they are. */
static gnt_status compact(gnti_live_task *t, gnti_live_report *report)
{
    gnt_status st = GNT_OK;
    const int32_t before = t->num_members, left = gnti_live_task_live(t, NULL);
    uint8_t *keep = NULL;

    if (left == 0 || (double)(before - left) < MOST_IDLE * (double)before)
        return GNT_OK;
    GNT_TRY(gnti_alloc_array(&keep, before));
    for (int32_t i = 0; i < before; i++)
        keep[i] = !t->done[i];
    if (gnti_trainer_keep_members(t->trainer, keep) == GNT_OK) {
        t->num_members = gnti_live_task_live(t, t->members);
        memset(t->done, 0, (size_t)t->num_members);
        report->scale = (double)left / (double)before;
    } else {
        GNT_TRY(gnti_run_log(t->run->folder, "task %lld keeps %d idle members: %s", (long long)t->id,
                             (int)(before - left), gnt_last_error()));
    }
done:
    gnti_free(keep);
    return st;
}

static bool is_due(const gnti_live_task *t)
{
    const int64_t every = t->run->config->checkpoint_every;

    return every > 0 && t->epoch % every == 0;
}

/* Members whose last epoch an earlier process has saved, but not their end. */
static gnt_status end_complete(gnti_live_task *t)
{
    gnt_status st = GNT_OK;

    for (int32_t i = 0; i < t->num_members; i++) {
        const gnti_member_phase phase = gnti_trainer_member_phase(t->trainer, i);

        if (!t->done[i] && (phase == GNTI_MEMBER_ENDED || phase == GNTI_MEMBER_STOPPED))
            GNT_TRY(end_member(t, i, phase == GNTI_MEMBER_STOPPED));
    }
done:
    return st;
}

gnt_status gnti_live_task_train(gnti_live_task *t, gnti_live_report *report)
{
    gnt_status st = GNT_OK;
    const double begin = gnti_clock_seconds();
    const int64_t steps = gnti_trainer_steps_done(t->trainer);

    t->waited = 0.0;
    *report = (gnti_live_report){ .scale = 1.0, .stats = { .struct_size = sizeof report->stats } };
    GNT_TRY(end_complete(t));
    report->over = gnti_live_task_live(t, NULL) == 0;
    if (report->over)
        return GNT_OK;
    if (!gnt_trainer_next(t->trainer, &report->stats)) {
        report->status = gnt_trainer_status(t->trainer);
        report->error = *gnti_error_get();
        GNT_CHECK(report->status != GNT_OK, GNT_ERR_INTERNAL, "task %lld is complete but its members are not",
                  (long long)t->id);
        return GNT_OK;
    }
    t->epoch = report->stats.epoch;
    report->num_members = t->num_members;
    report->bytes = gnti_trainer_device_bytes(t->trainer);
    report->num_steps = gnti_trainer_steps_done(t->trainer) - steps;
    report->waited = t->waited;
    report->seconds = isfinite(report->stats.virtual_seconds) ? report->stats.virtual_seconds
                                                              : gnti_clock_seconds() - begin - t->waited;
done:
    return st;
}

gnt_status gnti_live_task_follow(gnti_live_task *t, gnti_live_report *report)
{
    gnt_status st = GNT_OK;

    if (report->over || report->status != GNT_OK)
        return GNT_OK;
    for (int32_t i = 0; i < t->num_members; i++)
        if (!t->done[i])
            GNT_TRY(look_at_member(t, i, &report->stats, report));
    report->over = gnti_live_task_live(t, NULL) == 0;
    if (!report->over && is_due(t))
        GNT_TRY(gnti_live_task_save(t));
    GNT_TRY(compact(t, report));
done:
    return st;
}
