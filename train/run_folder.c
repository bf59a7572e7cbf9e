/* SPDX-License-Identifier: Apache-2.0 */
/* The run folder: its paths, its log, and the removal of what an earlier run left. Paths are made once, so that writing
 * a line of metrics allocates nothing.
 */
#include "train/run_folder.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/option.h"
#include "base/text.h"
#include "train/checkpoint.h"
#include "train/run_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define CONFIG_HEAD "# settings in effect, gnntrain "

enum { LOG_LINE_BYTES = 2048, NAME_BYTES = 48 };

static gnt_status make_place(gnti_run_place *p, const char *folder)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_strdup(&p->folder, folder));
    GNT_TRY(gnti_path_join(folder, "metrics.jsonl", &p->jsonl));
    GNT_TRY(gnti_path_join(folder, "metrics.csv", &p->csv));
    GNT_TRY(gnti_path_join(folder, "summary.json", &p->summary));
    GNT_TRY(gnti_path_join(folder, "best.h5", &p->best));
    GNT_TRY(gnti_folder_create(folder));
done:
    return st;
}

static gnt_status make_seed_places(gnti_run *run, const uint64_t *seeds)
{
    gnt_status st = GNT_OK;
    char *folder = NULL;

    for (int32_t m = 0; m < run->num_members; m++) {
        char name[NAME_BYTES];

        snprintf(name, sizeof name, "seed-%llu", (unsigned long long)seeds[m]);
        GNT_TRY(gnti_path_join(run->top.folder, name, &folder));
        GNT_TRY(make_place(&run->seeds[m], folder));
        gnti_free(folder);
        folder = NULL;
    }
done:
    gnti_free(folder);
    return st;
}

/* A folder that holds other things than a run is not written to: its config.yaml would be lost. */
static gnt_status check_folder(const gnti_run *run)
{
    gnt_status st = GNT_OK;
    char head[sizeof CONFIG_HEAD] = "";
    FILE *f = fopen(run->config, "r");
    size_t length;

    if (f == NULL)
        return GNT_OK; /* a new run, or one that cannot be read: opening its log tells */
    length = fread(head, 1, sizeof head - 1, f);
    fclose(f);
    GNT_CHECK(length == 0 || strncmp(head, CONFIG_HEAD, length) == 0, GNT_ERR_USAGE,
              "'%s' is not the settings of a run and would be overwritten: take another run folder",
              run->config);
done:
    return st;
}

/* Nor is an ensemble's folder to a run, or the other way round: each would overwrite the other's summary.json and best.h5. */
static gnt_status check_kind(const gnti_run *run, bool is_ensemble)
{
    gnt_status st = GNT_OK;
    char *journal = NULL;

    GNT_TRY(gnti_path_join(run->top.folder, "journal.jsonl", &journal));
    GNT_CHECK(is_ensemble || !gnti_file_exists(journal), GNT_ERR_USAGE,
              "'%s' is the folder of an ensemble: take another run folder", run->top.folder);
    GNT_CHECK(!is_ensemble || !gnti_file_exists(run->config), GNT_ERR_USAGE,
              "'%s' is the folder of a run of gnntrain train: take another run folder", run->top.folder);
done:
    gnti_free(journal);
    return st;
}

/* False: somebody else has it. File systems without locks are taken at their word. */
static bool take_lock(int fd)
{
    const struct timespec moment = { 0, 20000000 };
    int refused = flock(fd, LOCK_EX | LOCK_NB);

    for (int i = 0; i < 3 && refused != 0 && errno == EWOULDBLOCK; i++) {
        nanosleep(&moment, NULL); /* info looks whether somebody has the lock by taking it for a moment */
        refused = flock(fd, LOCK_EX | LOCK_NB);
    }
    return refused == 0 || errno != EWOULDBLOCK;
}

/* One process at a time trains in a folder. Two locks: that of the folder stays when the log is moved away (rotated) or deleted, that
 * of the log works on NFS, where a folder cannot be locked. */
static gnt_status lock_folder(gnti_run *run)
{
    gnt_status st = GNT_OK;

    run->lock = open(run->log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (run->lock < 0)
        return gnti_error_errno(errno, 1, "open", run->log);
    run->folder_lock = open(run->top.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    GNT_CHECK(take_lock(run->lock) && (run->folder_lock < 0 || take_lock(run->folder_lock)), GNT_ERR_USAGE,
              "run folder '%s' is in use by another process: wait for it or take another folder",
              run->top.folder);
done:
    return st;
}

/* A lock that is not to be had shows the process. */
typedef enum seen {
    SEEN_NOTHING,
    SEEN_FREE,
    SEEN_HELD
} seen; /* nothing: no such file, or a system without locks */

static seen look_at(const char *folder, const char *name)
{
    char *path = NULL;
    seen answer = SEEN_NOTHING;
    int fd = -1;

    if (gnti_path_join(folder, name, &path) == GNT_OK)
        fd = open(path, O_RDONLY | O_CLOEXEC);
    gnti_free(path);
    if (fd < 0)
        return SEEN_NOTHING;
    if (flock(fd, LOCK_SH | LOCK_NB) == 0)
        answer = SEEN_FREE;
    else if (errno == EWOULDBLOCK)
        answer = SEEN_HELD;
    close(fd);
    return answer;
}

/* The folder is RUN or RUN/seed-S. Without a log (moved away, and no line since) its own lock has to do. */
bool gnti_run_is_abandoned(const char *folder)
{
    const seen here = look_at(folder, "."), above = look_at(folder, "..");
    seen log = look_at(folder, "log.txt");

    if (log == SEEN_NOTHING)
        log = look_at(folder, "../log.txt");
    return here != SEEN_HELD && above != SEEN_HELD &&
           (log == SEEN_FREE || (log == SEEN_NOTHING && here == SEEN_FREE));
}

gnt_status gnti_run_create(const char *path, const uint64_t *seeds, int32_t num_members, gnti_run **out)
{
    gnt_status st = GNT_OK;
    gnti_run *run = NULL;

    GNT_TRY(gnti_calloc_array(&run, 1));
    run->lock = run->folder_lock = -1;
    GNT_TRY(make_place(&run->top, path));
    GNT_TRY(gnti_path_join(path, "checkpoint.h5", &run->checkpoint));
    GNT_TRY(gnti_path_join(path, "checkpoint.prev.h5", &run->previous));
    GNT_TRY(gnti_path_join(path, GNTI_RUN_PARTITION, &run->partition));
    GNT_TRY(gnti_path_join(path, "log.txt", &run->log));
    GNT_TRY(gnti_path_join(path, "config.yaml", &run->config));
    run->num_members = num_members;
    if (num_members > 1) {
        GNT_TRY(gnti_calloc_array(&run->seeds, num_members));
        GNT_TRY(make_seed_places(run, seeds));
    }
    GNT_TRY(check_folder(run));
    GNT_TRY(check_kind(run, seeds == NULL));
    GNT_TRY(lock_folder(run)); /* a folder that cannot be written to shows here */
    *out = run;
    run = NULL;
done:
    gnti_run_free(&run);
    return st;
}

static void free_place(gnti_run_place *p)
{
    gnti_free(p->folder);
    gnti_free(p->jsonl);
    gnti_free(p->csv);
    gnti_free(p->summary);
    gnti_free(p->best);
}

void gnti_run_free(gnti_run **run)
{
    if (run == NULL || *run == NULL)
        return;
    if ((*run)->lock >= 0)
        close((*run)->lock);
    if ((*run)->folder_lock >= 0)
        close((*run)->folder_lock);
    free_place(&(*run)->top);
    for (int32_t m = 0; (*run)->seeds != NULL && m < (*run)->num_members; m++)
        free_place(&(*run)->seeds[m]);
    gnti_free((*run)->seeds);
    gnti_free((*run)->checkpoint);
    gnti_free((*run)->previous);
    gnti_free((*run)->partition);
    gnti_free((*run)->log);
    gnti_free((*run)->config);
    gnti_free(*run);
    *run = NULL;
}

const char *gnti_run_path(const gnti_run *run)
{
    return run->top.folder;
}

const char *gnti_run_checkpoint(const gnti_run *run)
{
    return run->checkpoint;
}

const char *gnti_run_previous_checkpoint(const gnti_run *run)
{
    return run->previous;
}

gnt_status gnti_run_join(const gnti_run *run, int32_t member, const char *name, char **out)
{
    return gnti_path_join(member >= 0 && run->seeds != NULL ? run->seeds[member].folder : run->top.folder,
                          name, out);
}

gnt_status gnti_run_append(const char *path, const char *bytes, size_t count)
{
    gnt_status st = GNT_OK;
    const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);

    if (fd < 0)
        return gnti_error_errno(errno, 1, "open", path);
    if (count > 0)
        st = gnti_fd_write(fd, path, bytes, count);
    if (close(fd) != 0 && st == GNT_OK)
        st = gnti_error_errno(errno, 1, "close", path);
    return st;
}

gnt_status gnti_run_log(gnti_run *run, const char *format, ...)
{
    char line[LOG_LINE_BYTES];
    char now[GNTI_CLOCK_UTC_BYTES];
    va_list args;
    int used = 0, more = 0;

    if (run == NULL) /* another process writes it */
        return GNT_OK;
    gnti_clock_utc(now);
    used = snprintf(line, sizeof line, "%s  ", now);
    va_start(args, format);
    more = vsnprintf(line + used, sizeof line - (size_t)used - 1, format, args);
    va_end(args);
    used = more < 0 ? used : used + more;
    used = used > LOG_LINE_BYTES - 2 ? LOG_LINE_BYTES - 2 : used;
    for (int i = 0; i < used; i++)
        line[i] = line[i] == '\n' ? ' ' : line[i];
    line[used] = '\n';
    return gnti_run_append(run->log, line, (size_t)used + 1);
}

static gnt_status remove_file(const char *path)
{
    gnt_status st = GNT_OK;

    if (unlink(path) != 0 && errno != ENOENT)
        st = gnti_error_errno(errno, 1, "remove", path);
    return st;
}

static gnt_status clear_place(const gnti_run_place *p)
{
    gnt_status st = GNT_OK;

    GNT_TRY(remove_file(p->summary));
    GNT_TRY(remove_file(p->best));
done:
    return st;
}

gnt_status gnti_run_clear(gnti_run *run)
{
    gnt_status st = GNT_OK;

    GNT_TRY(remove_file(run->checkpoint));
    GNT_TRY(remove_file(run->previous));
    GNT_TRY(remove_file(run->partition));
    GNT_TRY(clear_place(&run->top));
    for (int32_t m = 0; run->seeds != NULL && m < run->num_members; m++)
        GNT_TRY(clear_place(&run->seeds[m]));
done:
    return st;
}

gnt_status gnti_run_write_config_text(gnti_run *run, const gnt_trainer *tr, const char *yaml)
{
    gnt_status st = GNT_OK;
    gnti_text t = { 0 };
    char *text = NULL;

    gnti_text_printf(&t, CONFIG_HEAD GNT_VERSION "\n# data: %s\n# measured choices: %s\n",
                     tr->data->path != NULL ? tr->data->path : "in memory", tr->choices);
    gnti_text_append(&t, yaml);
    GNT_TRY(gnti_text_take(&t, &text));
    GNT_TRY(gnti_file_write_all(run->config, text, strlen(text)));
done:
    gnti_text_free(&t);
    gnti_free(text);
    return st;
}

gnt_status gnti_run_write_config(gnti_run *run, const gnt_trainer *tr)
{
    gnt_status st = GNT_OK;
    gnti_text t = { 0 };
    gnt_model_config model;
    char *options = NULL, *text = NULL;

    gnti_model_get_config(tr->model, &model);
    GNT_TRY(gnti_options_to_yaml(gnti_trainer_table, &tr->config, NULL, &options));
    gnti_text_printf(&t,
                     "model: '%s'\nact: %s\nnorm: %s\ndropout: %.17g\ninput-dropout: %.17g\nresidual: %s\n",
                     gnti_model_text(tr->model), gnti_act_words[model.act], gnti_norm_words[model.norm],
                     model.dropout, model.input_dropout, model.residual ? "true" : "false");
    gnti_text_append(&t, options);
    GNT_TRY(gnti_text_take(&t, &text));
    GNT_TRY(gnti_run_write_config_text(run, tr, text));
done:
    gnti_text_free(&t);
    gnti_free(options);
    gnti_free(text);
    return st;
}
