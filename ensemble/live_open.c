/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of a run and what an earlier process left there: whose it is, which members have ended, how far the others are.
 *
 * The journal decides: its first line names spec and dataset by their hashes, a member whose end it has is not trained again. Any
 * other member goes on from its newest checkpoint, whatever the journal says of epochs, since checkpoints are whole or not there.
 */
#include "ensemble/live_task.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "ensemble/ensemble_file.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

double gnti_live_now(const gnti_live *run)
{
    return run->is_virtual ? run->now : gnti_clock_seconds() - run->started;
}

bool gnti_live_should_stop(const gnti_live *run)
{
    const double limit = run->config->time_limit;

    return (run->config->stop != NULL && atomic_load(run->config->stop) != 0) ||
           (limit > 0.0 && gnti_clock_seconds() - run->started >= limit);
}

void gnti_live_fail(gnti_live *run, gnt_status st)
{
    if (run->status == GNT_OK && st != GNT_OK) {
        run->status = st;
        run->error = *gnti_error_get();
    }
    run->halting = run->halting || st != GNT_OK;
    pthread_cond_broadcast(&run->wake);
    pthread_cond_broadcast(&run->changed);
}

gnt_status gnti_live_note(gnti_live *run, const char *format, ...)
{
    char text[2 * GNTI_LIVE_TEXT_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    gnti_text_printf(&run->notes, "%s\n", text);
    return gnti_run_log(run->folder, "%s", text);
}

/* ---- whose folder ------------------------------------------------------------------------------------------------------ */

static gnt_status write_first_line(gnti_live *run)
{
    gnt_status st = GNT_OK;
    gnti_json *o = NULL;
    char *copy = NULL, *data = NULL;

    GNT_TRY(gnti_path_absolute(run->data->path, &data));
    GNT_TRY(gnti_path_join(run->config->run, "ensemble.yaml", &copy));
    GNT_TRY(gnti_file_write_all(copy, run->spec->text, strlen(run->spec->text)));
    GNT_TRY(gnti_json_create_object(&o));
    GNT_TRY(gnti_json_set_int(o, "format", 1));
    GNT_TRY(gnti_json_set_text(o, "software", GNT_VERSION));
    GNT_TRY(gnti_json_set_text(o, "spec_sha256", run->spec->sha256));
    GNT_TRY(gnti_json_set_text(o, "data_sha256", run->data->content_sha256));
    GNT_TRY(gnti_json_set_text(o, "data", data));
    GNT_TRY(gnti_json_set_int(o, "members", run->spec->num_members));
    GNT_TRY(gnti_journal_add(run->journal, "began", o, true));
done:
    gnti_json_free(&o);
    gnti_free(copy);
    gnti_free(data);
    return st;
}

static gnt_status check_hash(const gnti_live *run, const gnti_json *line, const char *key, const char *what,
                             const char *given, const char *path)
{
    gnt_status st = GNT_OK;
    const char *there = NULL;

    GNT_TRY(gnti_json_get_text(line, key, &there));
    GNT_CHECK(strcmp(there, given) == 0, GNT_ERR_FORMAT,
              "run folder '%s' was begun with another %s: its sha256 is %s there and %s of '%s': give the "
              "one of the "
              "start, or another --run",
              run->config->run, what, there, given, path != NULL ? path : "in memory");
done:
    return st;
}

static gnt_status check_first_line(const gnti_live *run)
{
    gnt_status st = GNT_OK;
    const gnti_json *line = gnti_journal_line(run->journal, 0);
    const char *event = "";

    GNT_TRY(gnti_json_get_text(line, "event", &event));
    GNT_CHECK(strcmp(event, "began") == 0, GNT_ERR_FORMAT,
              "the first line of '%s/journal.jsonl' is '%s', not 'began'", run->config->run, event);
    GNT_TRY(check_hash(run, line, "spec_sha256", "spec", run->spec->sha256, run->spec->path));
    GNT_TRY(check_hash(run, line, "data_sha256", "dataset", run->data->content_sha256, run->data->path));
done:
    return st;
}

/* ---- what was ------------------------------------------------------------------------------------------------------------ */

static int32_t find_member(const gnti_live *run, const char *name)
{
    for (int32_t m = 0; m < run->spec->num_members; m++)
        if (strcmp(run->spec->members[m].name, name) == 0)
            return m;
    return -1;
}

/* How a member failed; of lines without it: as its loss or gradient does. */
static gnt_status read_status(const gnti_json *line)
{
    const char *name = NULL;

    if (gnti_json_find(line, "status") == NULL || gnti_json_get_text(line, "status", &name) != GNT_OK)
        return GNT_ERR_NUMERIC;
#define NAMED(status, value, text)                                                                           \
    if (strcmp(name, #status) == 0)                                                                          \
        return GNT_##status;
    GNT_STATUS_MAP(NAMED)
#undef NAMED
    return GNT_ERR_NUMERIC;
}

/* Ends and failures that were given up or set aside. */
static gnt_status replay_line(gnti_live *run, const gnti_json *line, bool *combined)
{
    gnt_status st = GNT_OK;
    const char *event = "", *name = NULL, *text = "";
    int32_t m;

    GNT_TRY(gnti_json_get_text(line, "event", &event));
    *combined = *combined || strcmp(event, "combined") == 0;
    if (strcmp(event, "ended") != 0 && strcmp(event, "given-up") != 0 && strcmp(event, "set-aside") != 0)
        return GNT_OK;
    GNT_TRY(gnti_json_get_text(line, "member", &name));
    m = find_member(run, name);
    GNT_CHECK(m >= 0, GNT_ERR_FORMAT, "'%s/journal.jsonl' tells of a member '%s' that the spec does not have",
              run->config->run, name);
    GNT_TRY(gnti_json_get_int(line, "epochs", &run->members[m].epochs_trained));
    GNT_TRY(gnti_json_get_number(line, "seconds", &run->members[m].seconds));
    if (strcmp(event, "ended") == 0) {
        GNT_TRY(gnti_json_get_text(line, "how", &text));
        run->members[m].outcome = GNTI_LIVE_ENDED;
        run->members[m].how = strcmp(text, "stopped early") == 0 ? "stopped early" : "ended";
    } else {
        GNT_TRY(gnti_json_get_text(line, "message", &text));
        run->members[m].outcome = GNTI_LIVE_FAILED;
        run->members[m].how = "failed";
        run->members[m].status = read_status(line);
        snprintf(run->members[m].failure, sizeof run->members[m].failure, "%s", text);
    }
done:
    return st;
}

/* Members that were set aside are tried on the devices of this time, as long as nothing has been combined without them. */
static void set_back(gnti_live *run)
{
    for (int32_t m = 0; m < run->spec->num_members; m++) {
        gnti_live_member *member = &run->members[m];

        if (member->outcome != GNTI_LIVE_FAILED || member->status == GNT_ERR_NUMERIC)
            continue;
        member->outcome = GNTI_LIVE_PENDING;
        member->how = "pending";
        member->status = GNT_OK;
        member->failure[0] = '\0';
    }
}

static gnt_status make_members(gnti_live *run)
{
    gnt_status st = GNT_OK;
    char *folder = NULL;

    GNT_TRY(gnti_calloc_array(&run->members, run->spec->num_members + 1));
    GNT_TRY(gnti_path_join(run->config->run, GNTI_ENSEMBLE_MEMBERS, &folder));
    for (int32_t m = 0; m < run->spec->num_members; m++) {
        GNT_TRY(gnti_path_join(folder, run->spec->members[m].name, &run->members[m].folder));
        GNT_TRY(gnti_folder_create(run->members[m].folder));
        run->members[m].how = "pending";
    }
done:
    gnti_free(folder);
    return st;
}

static gnt_status find_epochs(gnti_live *run)
{
    for (int32_t m = 0; m < run->spec->num_members; m++) {
        gnti_live_member *member = &run->members[m];
        const int64_t epoch =
            member->outcome == GNTI_LIVE_PENDING ? gnti_member_file_epoch(member->folder) : 0;

        member->epoch = epoch > 0 ? epoch : 0;
    }
    return GNT_OK;
}

/* Members whose views are equal share a dataset. */
static gnt_status find_views(gnti_live *run)
{
    gnt_status st = GNT_OK;
    const gnti_spec *spec = run->spec;

    GNT_TRY(gnti_calloc_array(&run->views, spec->num_members + 1));
    GNT_TRY(gnti_alloc_array(&run->view_of, spec->num_members + 1));
    for (int32_t m = 0; m < spec->num_members; m++) {
        const gnti_member_view *what = &spec->members[m].view;
        int32_t v = 0;

        while (v < run->num_views &&
               (run->views[v].what.drop_features != what->drop_features ||
                run->views[v].what.drop_edges != what->drop_edges || run->views[v].what.seed != what->seed))
            v++;
        if (v == run->num_views)
            run->views[run->num_views++] = (gnti_live_view){ .what = *what };
        run->view_of[m] = v;
    }
done:
    return st;
}

static void begin(gnti_live *run)
{
    run->started = gnti_clock_seconds();
    (void)gnti_energy_open(NULL, NULL, &run->energy);
    pthread_mutex_init(&run->lock, NULL);
    pthread_cond_init(&run->wake, NULL);
    pthread_cond_init(&run->changed, NULL);
    run->has_lock = true;
}

gnt_status gnti_live_open_beside(gnti_live *run)
{
    gnt_status st = GNT_OK;

    begin(run);
    GNT_TRY(make_members(run));
    GNT_TRY(find_views(run));
    GNT_TRY(gnti_method_open(run->ctx, run->spec, run->data, run->config->run, &run->method));
done:
    return st;
}

/* One that may not be written is a matter of usage, told before anything is computed. */
static gnt_status make_folder(gnti_live *run)
{
    const gnt_status st = gnti_run_create(run->config->run, NULL, 1, &run->folder);
    const gnti_error_record first = *gnti_error_get();

    if (st != GNT_ERR_OUTPUT)
        return st;
    return gnti_error_set(GNT_ERR_USAGE, __FILE__, __LINE__, __func__,
                          "%s: name another run folder with --run", first.text);
}

gnt_status gnti_live_open(gnti_live *run, bool *complete)
{
    gnt_status st = GNT_OK;
    char *path = NULL;

    begin(run);
    GNT_TRY(make_folder(run));
    GNT_TRY(gnti_path_join(run->config->run, "journal.jsonl", &path));
    GNT_TRY(gnti_journal_open(path, &run->journal));
    if (gnti_journal_num_lines(run->journal) == 0)
        GNT_TRY(write_first_line(run));
    else
        GNT_TRY(check_first_line(run));
    GNT_TRY(make_members(run));
    for (int64_t i = 0; i < gnti_journal_num_lines(run->journal); i++)
        GNT_TRY(replay_line(run, gnti_journal_line(run->journal, i), complete));
    if (!*complete)
        set_back(run);
    GNT_TRY(find_epochs(run));
    GNT_TRY(find_views(run));
    GNT_TRY(gnti_method_open(run->ctx, run->spec, run->data, run->config->run, &run->method));
    if (*complete)
        goto done;
    GNT_TRY(gnti_run_log(run->folder, "%s: %d members",
                         gnti_journal_num_lines(run->journal) == 0 ? "started" : "going on",
                         (int)run->spec->num_members));
done:
    gnti_free(path);
    return st;
}

void gnti_live_close(gnti_live *run)
{
    for (int64_t i = 0; i < run->num_tasks; i++)
        gnti_live_task_free(&run->tasks[i]);
    gnti_free(run->tasks);
    gnti_manager_free(&run->manager);
    gnti_live_devices_close(run);
    gnti_method_close(&run->method);
    for (int32_t v = 0; v < run->num_views; v++)
        gnt_dataset_free(&run->views[v].data);
    gnti_free(run->views);
    gnti_free(run->view_of);
    for (int32_t m = 0; run->members != NULL && m < run->spec->num_members; m++)
        gnti_free(run->members[m].folder);
    gnti_free(run->members);
    gnti_journal_close(&run->journal);
    gnti_energy_free(&run->energy);
    gnti_free(run->tries);
    gnti_comm_free(&run->world);
    gnti_run_free(&run->folder);
    gnti_text_free(&run->notes);
    if (run->has_lock) {
        pthread_mutex_destroy(&run->lock);
        pthread_cond_destroy(&run->wake);
        pthread_cond_destroy(&run->changed);
    }
}
