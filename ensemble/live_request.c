/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to a run that is going on, as files, so that another process of the same machine or file system can make them:
 *
 *   RUN/requests/ID.json          {"devices": "2"}                            whole or not there
 *                                 {"devices": "2", "at": 0.5}                 not before this time of the run's clock
 *                                 {"lose": 1, "at": 0.5}                      device 1 is lost: for tests and figures
 *   RUN/requests/ID.answer.json   {"accepted": true, "added": 1, ...}        or {"accepted": false, "message": "..."}
 * Other keys, and devices beside lose, are refused. The run takes requests between epochs, in the order of their names; whoever asked
 * removes both. What an ended run left unanswered is removed by the next one, unless it names a time.
 */
#include "ensemble/live_past.h"
#include "ensemble/live_task.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/name.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ANSWER ".answer.json"

static const double POLL_EVERY = 0.05;

/* ---- the run's side ------------------------------------------------------------------------------------------------------ */

/* "x.json" is a request, "x.answer.json" and hidden files are none. */
static bool is_request(const char *name)
{
    const size_t length = strlen(name);

    return length > 5 && length <= 255 && name[0] != '.' && strcmp(name + length - 5, ".json") == 0 &&
           (length <= sizeof ANSWER - 1 || strcmp(name + length - (sizeof ANSWER - 1), ANSWER) != 0);
}

static gnt_status answer_path(const char *folder, const char *name, char **out)
{
    char answer[320];

    snprintf(answer, sizeof answer, "%.*s" ANSWER, (int)strlen(name) - 5, name);
    return gnti_path_join(folder, answer, out);
}

/* When it is due on the run's clock: 0 without a time, or when it cannot be read, which its answer will tell. */
static double due_at(const char *path)
{
    gnti_json *o = NULL;
    double at = 0.0;

    if (gnti_json_read(path, &o) != GNT_OK || gnti_json_find(o, "at") == NULL ||
        gnti_json_get_number(o, "at", &at) != GNT_OK || !(at > 0.0))
        at = 0.0;
    gnt_clear_error();
    gnti_json_free(&o);
    return at;
}

/* Whether a file of the folder is a request that is due and has no answer yet. */
static gnt_status is_open(const gnti_live *run, const char *folder, const char *name, bool *out)
{
    gnt_status st = GNT_OK;
    char *path = NULL, *answer = NULL;

    *out = false;
    if (!is_request(name))
        return GNT_OK;
    GNT_TRY(answer_path(folder, name, &answer));
    GNT_TRY(gnti_path_join(folder, name, &path));
    *out = !gnti_file_exists(answer) && due_at(path) <= gnti_live_now(run);
done:
    gnti_free(path);
    gnti_free(answer);
    return st;
}

/* The first name in the folder that is one; NULL: none. To be freed. */
static gnt_status find_request(const gnti_live *run, const char *folder, char **out)
{
    gnt_status st = GNT_OK;
    DIR *dir = opendir(folder);
    char *best = NULL;

    for (struct dirent *e = dir != NULL ? readdir(dir) : NULL; e != NULL; e = readdir(dir)) {
        bool open = false;

        GNT_TRY(is_open(run, folder, e->d_name, &open));
        if (!open || (best != NULL && strcmp(e->d_name, best) >= 0))
            continue;
        gnti_free(best);
        best = NULL;
        GNT_TRY(gnti_strdup(&best, e->d_name));
    }
    *out = best;
    best = NULL;
done:
    if (dir != NULL)
        closedir(dir);
    gnti_free(best);
    return st;
}

static gnt_status lose(gnti_live *run, const gnti_json *request, gnti_json *answer)
{
    gnt_status st = GNT_OK;
    int64_t device = 0;

    GNT_CHECK(run->world == NULL, GNT_ERR_UNSUPPORTED, "a process of an MPI job is lost with the job");
    GNT_TRY(gnti_json_get_int(request, "lose", &device));
    GNT_CHECK(device >= 0 && device < run->num_devices, GNT_ERR_USAGE,
              "there is no device %lld, the run has %d", (long long)device, (int)run->num_devices);
    GNT_TRY(gnti_live_lose_device(run, (int32_t)device, "as a request asks"));
    GNT_TRY(gnti_json_set_bool(answer, "accepted", true));
    GNT_TRY(gnti_json_set_int(answer, "lost", device));
done:
    return st;
}

/* Over MPI processes: so many of them, the first ones, go on working. */
static gnt_status set_processes(gnti_live *run, const char *devices, int32_t *added, int32_t *removed)
{
    gnt_status st = GNT_OK;
    gnti_device_spec *specs = NULL;
    const char *own = run->specs[0].backend;
    int32_t num = 0;

    GNT_TRY(gnti_device_specs_parse(devices, &specs, &num));
    GNT_CHECK(num <= run->world->size, GNT_ERR_USAGE,
              "devices '%s' are %d processes, mpirun started %d: ask for 1 to %d", devices, (int)num,
              (int)run->world->size, (int)run->world->size);
    for (int32_t i = 0; i < num; i++)
        GNT_CHECK((strcmp(specs[i].backend, "auto") == 0 || strcmp(own, "auto") == 0 ||
                   strcmp(specs[i].backend, own) == 0) &&
                      specs[i].threads == 0 && specs[i].memory == 0,
                  GNT_ERR_USAGE,
                  "devices '%s': the processes of an MPI job stay what they are, name as many as shall work",
                  devices);
    *added = num > run->num_working ? num - run->num_working : 0;
    *removed = num < run->num_working ? run->num_working - num : 0;
    run->num_working = num;
done:
    gnti_free(specs);
    return st;
}

static gnt_status resize(gnti_live *run, const char *devices, gnti_json *answer)
{
    gnt_status st = GNT_OK;
    int32_t added = 0, removed = 0;

    GNT_TRY(run->world != NULL ? set_processes(run, devices, &added, &removed)
                               : gnti_live_devices_set(run, devices, &added, &removed));
    GNT_TRY(gnti_json_set_bool(answer, "accepted", true));
    GNT_TRY(gnti_json_set_text(answer, "devices", devices));
    GNT_TRY(gnti_json_set_int(answer, "added", added));
    GNT_TRY(gnti_json_set_int(answer, "removed", removed));
    GNT_TRY(gnti_journal_add(run->journal, "resized", answer, true));
    GNT_TRY(gnti_live_note_pool(run));
    GNT_TRY(gnti_live_note(run, "at %.3g s: devices '%s', %d added, %d leave", gnti_live_now(run), devices,
                           (int)added, (int)removed));
done:
    return st;
}

/* A misspelt key must not make another request of it. */
static gnt_status check_keys(const gnti_json *request, const char *path)
{
    gnt_status st = GNT_OK;
    static const char *const keys[] = { "devices", "lose", "at" };
    const char *key = NULL;

    GNT_CHECK(gnti_json_is_object(request), GNT_ERR_FORMAT, "'%s' is no object such as {\"devices\": \"2\"}",
              path);
    for (int64_t i = 0; (key = gnti_json_key_at(request, i)) != NULL; i++) {
        const char *nearest = gnti_name_nearest(keys, sizeof keys / sizeof keys[0], key);

        GNT_CHECK(strcmp(key, "devices") == 0 || strcmp(key, "lose") == 0 || strcmp(key, "at") == 0,
                  GNT_ERR_FORMAT, "'%s': unknown key '%.64s'%s%s%s: a request has devices or lose, and at",
                  path, key, nearest != NULL ? ", did you mean '" : "", nearest != NULL ? nearest : "",
                  nearest != NULL ? "'?" : "");
    }
    GNT_CHECK(gnti_json_find(request, "devices") == NULL || gnti_json_find(request, "lose") == NULL,
              GNT_ERR_FORMAT, "'%s' has devices and lose: make two requests of it", path);
done:
    return st;
}

/* A request that makes no sense is the asker's failure, not the run's. */
static gnt_status answer_request(gnti_live *run, const char *path, const char *to)
{
    gnt_status st = GNT_OK;
    gnti_json *request = NULL, *answer = NULL;
    const char *devices = NULL;
    double at = 0.0;

    GNT_TRY(gnti_json_create_object(&answer));
    st = gnti_json_read(path, &request);
    if (st == GNT_OK)
        st = check_keys(request, path);
    if (st == GNT_OK && gnti_json_find(request, "at") != NULL)
        st = gnti_json_get_number(request, "at", &at);
    if (st == GNT_OK && gnti_json_find(request, "lose") != NULL)
        st = lose(run, request, answer);
    else if (st == GNT_OK && (st = gnti_json_get_text(request, "devices", &devices)) == GNT_OK)
        st = resize(run, devices, answer);
    if (st == GNT_ERR_USAGE || st == GNT_ERR_FORMAT || st == GNT_ERR_UNSUPPORTED || st == GNT_ERR_LIMIT ||
        (st == GNT_ERR_IO && request == NULL)) { /* no file, or gone: who asked waits no longer */
        gnti_json_free(&answer);
        GNT_TRY(gnti_json_create_object(&answer));
        GNT_TRY(gnti_json_set_bool(answer, "accepted", false));
        GNT_TRY(gnti_json_set_text(answer, "message", gnt_last_error()));
        st = GNT_OK;
    }
    GNT_TRY(st);
    GNT_TRY(gnti_json_write(to, answer));
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

    if (!run->is_virtual && now - run->polled_at < POLL_EVERY)
        return GNT_OK;
    run->polled_at = now;
    GNT_TRY(gnti_path_join(run->config->run, "requests", &folder));
    GNT_TRY(find_request(run, folder, &name));
    if (name != NULL) {
        GNT_TRY(gnti_path_join(folder, name, &path));
        GNT_TRY(answer_path(folder, name, &answer));
        GNT_TRY(answer_request(run, path, answer));
    }
done:
    gnti_free(folder);
    gnti_free(name);
    gnti_free(path);
    gnti_free(answer);
    return st;
}

static bool is_over(const char *path, const char *name)
{
    return name[0] != '.' && (!is_request(name) || due_at(path) == 0.0);
}

gnt_status gnti_live_forget_requests(const gnti_live *run)
{
    gnt_status st = GNT_OK;
    char *folder = NULL;

    GNT_TRY(gnti_path_join(run->config->run, "requests", &folder));
    GNT_TRY(gnti_folder_create(folder));
    GNT_TRY(gnti_folder_sweep(folder, is_over));
done:
    gnti_free(folder);
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
    char *folder = NULL, *request = NULL, *reply = NULL, *journal = NULL, name[96];
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
    GNT_TRY(gnti_path_join(folder, name, &reply));
    GNT_TRY(write_request(request, devices));
    GNT_TRY(wait_for_answer(run, reply, wait_limit));
    GNT_TRY(gnti_json_read(reply, &answer));
    GNT_TRY(gnti_json_get_bool(answer, "accepted", &accepted));
    if (!accepted)
        GNT_TRY(gnti_json_get_text(answer, "message", &message));
    GNT_CHECK(accepted, GNT_ERR_USAGE, "the run refuses: %s", message);
    *out = answer;
    answer = NULL;
done:
    if (request != NULL)
        (void)unlink(request);
    if (reply != NULL)
        (void)unlink(reply);
    gnti_json_free(&answer);
    gnti_free(specs);
    gnti_free(folder);
    gnti_free(request);
    gnti_free(reply);
    gnti_free(journal);
    return st;
}
