/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to a run that is going on, as files, so that another process of the same machine or file system can make them:
 *
 *   RUN/requests/ID.json          {"devices": "2"}                            whole or not there
 *   RUN/requests/ID.answer.json   {"accepted": true, "added": 1, ...}        or {"accepted": false, "message": "..."}
 * The run takes them between epochs, in the order of their names; whoever asked removes both. What an ended run left unanswered is
 * refused by the next one.
 */
#include "ensemble/live.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ANSWER ".answer.json"

static const double POLL_EVERY = 0.05;

/* ---- the run's side ------------------------------------------------------------------------------------------------------ */

/* The first name in the folder that has no answer yet; NULL: none. To be freed. */
static gnt_status find_request(const char *folder, char **out)
{
    gnt_status st = GNT_OK;
    DIR *dir = opendir(folder);
    char *best = NULL, *path = NULL;

    for (struct dirent *e = dir != NULL ? readdir(dir) : NULL; e != NULL; e = readdir(dir)) {
        const size_t length = strlen(e->d_name);
        char answer[320];

        if (length < 6 || length > 255 || e->d_name[0] == '.' ||
            strcmp(e->d_name + length - 5, ".json") != 0 ||
            (length > sizeof ANSWER - 1 && strcmp(e->d_name + length - (sizeof ANSWER - 1), ANSWER) == 0))
            continue;
        snprintf(answer, sizeof answer, "%.*s" ANSWER, (int)length - 5, e->d_name);
        GNT_TRY(gnti_path_join(folder, answer, &path));
        if (!gnti_file_exists(path) && (best == NULL || strcmp(e->d_name, best) < 0)) {
            gnti_free(best);
            best = NULL;
            GNT_TRY(gnti_strdup(&best, e->d_name));
        }
        gnti_free(path);
        path = NULL;
    }
    *out = best;
    best = NULL;
done:
    if (dir != NULL)
        closedir(dir);
    gnti_free(best);
    gnti_free(path);
    return st;
}

static gnt_status resize(gnti_live *run, const char *devices, gnti_json *answer)
{
    gnt_status st = GNT_OK;
    int32_t added = 0, removed = 0;

    GNT_TRY(gnti_live_devices_set(run, devices, &added, &removed));
    GNT_TRY(gnti_json_set_bool(answer, "accepted", true));
    GNT_TRY(gnti_json_set_text(answer, "devices", devices));
    GNT_TRY(gnti_json_set_int(answer, "added", added));
    GNT_TRY(gnti_json_set_int(answer, "removed", removed));
    GNT_TRY(gnti_journal_add(run->journal, "resized", answer, true));
    GNT_TRY(gnti_live_note(run, "at %.3g s: devices '%s', %d added, %d leave", gnti_live_now(run), devices,
                           (int)added, (int)removed));
done:
    return st;
}

/* A request that makes no sense is the asker's failure, not the run's. */
static gnt_status answer_request(gnti_live *run, const char *path, const char *answer_path)
{
    gnt_status st = GNT_OK;
    gnti_json *request = NULL, *answer = NULL;
    const char *devices = NULL;

    GNT_TRY(gnti_json_create_object(&answer));
    st = gnti_json_read(path, &request);
    if (st == GNT_OK)
        st = gnti_json_get_text(request, "devices", &devices);
    if (st == GNT_OK)
        st = resize(run, devices, answer);
    if (st == GNT_ERR_USAGE || st == GNT_ERR_FORMAT || st == GNT_ERR_UNSUPPORTED || st == GNT_ERR_LIMIT) {
        gnti_json_free(&answer);
        GNT_TRY(gnti_json_create_object(&answer));
        GNT_TRY(gnti_json_set_bool(answer, "accepted", false));
        GNT_TRY(gnti_json_set_text(answer, "message", gnt_last_error()));
        st = GNT_OK;
    }
    GNT_TRY(st);
    GNT_TRY(gnti_json_write(answer_path, answer));
done:
    gnti_json_free(&request);
    gnti_json_free(&answer);
    return st;
}

gnt_status gnti_live_take_requests(gnti_live *run)
{
    gnt_status st = GNT_OK;
    const double now = gnti_clock_seconds();
    char *folder = NULL, *name = NULL, *path = NULL, *answer = NULL;
    char answer_name[320];

    if (now - run->polled_at < POLL_EVERY)
        return GNT_OK;
    run->polled_at = now;
    GNT_TRY(gnti_path_join(run->config->run, "requests", &folder));
    GNT_TRY(find_request(folder, &name));
    if (name != NULL) {
        snprintf(answer_name, sizeof answer_name, "%.*s" ANSWER, (int)strlen(name) - 5, name);
        GNT_TRY(gnti_path_join(folder, name, &path));
        GNT_TRY(gnti_path_join(folder, answer_name, &answer));
        GNT_TRY(answer_request(run, path, answer));
    }
done:
    gnti_free(folder);
    gnti_free(name);
    gnti_free(path);
    gnti_free(answer);
    return st;
}

gnt_status gnti_live_forget_requests(const gnti_live *run)
{
    gnt_status st = GNT_OK;
    char *folder = NULL, *path = NULL;
    DIR *dir = NULL;

    GNT_TRY(gnti_path_join(run->config->run, "requests", &folder));
    GNT_TRY(gnti_folder_create(folder));
    dir = opendir(folder);
    for (struct dirent *e = dir != NULL ? readdir(dir) : NULL; e != NULL; e = readdir(dir)) {
        if (e->d_name[0] == '.')
            continue;
        GNT_TRY(gnti_path_join(folder, e->d_name, &path));
        (void)unlink(path);
        gnti_free(path);
        path = NULL;
    }
done:
    if (dir != NULL)
        closedir(dir);
    gnti_free(folder);
    gnti_free(path);
    return st;
}

/* ---- the asker's side ---------------------------------------------------------------------------------------------------- */

static gnt_status write_request(const char *path, const char *devices)
{
    gnt_status st = GNT_OK;
    gnti_json *o = NULL;

    GNT_TRY(gnti_json_create_object(&o));
    GNT_TRY(gnti_json_set_text(o, "devices", devices));
    GNT_TRY(gnti_json_write(path, o));
done:
    gnti_json_free(&o);
    return st;
}

static gnt_status wait_for_answer(const char *run, const char *path, double limit)
{
    gnt_status st = GNT_OK;
    const double begin = gnti_clock_seconds();
    const struct timespec moment = { 0, 20000000 };

    while (!gnti_file_exists(path)) {
        GNT_CHECK(!gnti_run_is_abandoned(run) || gnti_file_exists(path), GNT_ERR_USAGE,
                  "the run '%s' ended before it answered", run);
        GNT_CHECK(limit <= 0.0 || gnti_clock_seconds() - begin < limit, GNT_ERR_TIMEOUT,
                  "the run '%s' did not answer within %g s: it takes requests between epochs", run, limit);
        nanosleep(&moment, NULL);
    }
done:
    return st;
}

gnt_status gnti_ensemble_resize(const char *run, const char *devices, double wait_limit, gnti_json **out)
{
    gnt_status st = GNT_OK;
    gnti_device_spec *specs = NULL;
    gnti_json *answer = NULL;
    int32_t num = 0;
    char *folder = NULL, *request = NULL, *answer_path = NULL, *journal = NULL, name[96];
    bool accepted = false;
    const char *message = NULL;

    GNT_TRY(gnti_path_join(run, "journal.jsonl", &journal));
    GNT_CHECK(gnti_file_exists(journal), GNT_ERR_USAGE,
              "'%s' is not the folder of an ensemble: it has no journal.jsonl", run);
    GNT_TRY(gnti_device_specs_parse(devices, &specs, &num));
    GNT_CHECK(!gnti_run_is_abandoned(run), GNT_ERR_USAGE,
              "nobody trains in '%s': start it with --devices '%s' instead", run, devices);
    GNT_TRY(gnti_path_join(run, "requests", &folder));
    GNT_TRY(gnti_folder_create(folder));
    snprintf(name, sizeof name, "%020.6f-%ld.json", gnti_clock_seconds(), (long)getpid());
    GNT_TRY(gnti_path_join(folder, name, &request));
    snprintf(name + strlen(name) - 5, 32, ANSWER);
    GNT_TRY(gnti_path_join(folder, name, &answer_path));
    GNT_TRY(write_request(request, devices));
    GNT_TRY(wait_for_answer(run, answer_path, wait_limit));
    GNT_TRY(gnti_json_read(answer_path, &answer));
    GNT_TRY(gnti_json_get_bool(answer, "accepted", &accepted));
    if (!accepted)
        GNT_TRY(gnti_json_get_text(answer, "message", &message));
    GNT_CHECK(accepted, GNT_ERR_USAGE, "the run refuses: %s", message);
    *out = answer;
    answer = NULL;
done:
    if (request != NULL)
        (void)unlink(request);
    if (answer_path != NULL)
        (void)unlink(answer_path);
    gnti_json_free(&answer);
    gnti_free(specs);
    gnti_free(folder);
    gnti_free(request);
    gnti_free(answer_path);
    gnti_free(journal);
    return st;
}
