/* SPDX-License-Identifier: Apache-2.0 */
/* What crews of MPI processes tell each other without waiting, as empty files in the run folder, which all of them see:
 *
 *   RUN/requests/.round-N.take-G    a crew has taken group G of round N: who creates the file has it
 *   RUN/requests/.round-N.done-C    crew C has nothing more to train in round N
 *   RUN/requests/.round-N.over      everybody leaves round N at the end of the epoch under way
 * N is the first task of the round. The root removes all of them when a run begins and after each round.
 */
#include "ensemble/live_processes.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const double LOOK_EVERY = 0.05; /* seconds */

static gnt_status mark_path(const gnti_live *run, const gnti_live_round *r, const char *what, char **out)
{
    char name[96];

    snprintf(name, sizeof name, "requests/.round-%lld.%s", (long long)r->first_task, what);
    return gnti_path_join(run->config->run, name, out);
}

/* made: nobody had made it before. */
static gnt_status make_mark(const gnti_live *run, const gnti_live_round *r, const char *what, bool *made)
{
    gnt_status st = GNT_OK;
    char *path = NULL;
    int file;

    GNT_TRY(mark_path(run, r, what, &path));
    file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    *made = file >= 0;
    GNT_CHECK(file >= 0 || errno == EEXIST, GNT_ERR_IO, "cannot create '%s': %s", path, strerror(errno));
    if (file >= 0)
        (void)close(file);
done:
    gnti_free(path);
    return st;
}

static bool has_mark(const gnti_live *run, const gnti_live_round *r, const char *what)
{
    char *path = NULL;
    bool found = false;

    if (mark_path(run, r, what, &path) == GNT_OK)
        found = gnti_file_exists(path);
    gnti_free(path);
    return found;
}

gnt_status gnti_live_take_group(const gnti_live *run, const gnti_live_round *r, int32_t group, bool *taken)
{
    char what[32];

    snprintf(what, sizeof what, "take-%d", (int)group);
    return make_mark(run, r, what, taken);
}

gnt_status gnti_live_crew_is_done(const gnti_live *run, const gnti_live_round *r, int32_t crew)
{
    char what[32];
    bool made;

    snprintf(what, sizeof what, "done-%d", (int)crew);
    return make_mark(run, r, what, &made);
}

bool gnti_live_crews_are_done(const gnti_live *run, const gnti_live_round *r)
{
    for (int32_t p = 0; p < run->world->size; p++) {
        char what[32];

        snprintf(what, sizeof what, "done-%d", (int)r->crew_of[p]);
        if (r->crew_of[p] >= 0 && !has_mark(run, r, what))
            return false;
    }
    return true;
}

gnt_status gnti_live_end_round(const gnti_live *run, gnti_live_round *r)
{
    bool made;

    r->over = true;
    return make_mark(run, r, "over", &made);
}

bool gnti_live_round_is_over(const gnti_live *run, gnti_live_round *r)
{
    const double now = gnti_clock_seconds();

    if (!r->over && now - r->looked_at >= LOOK_EVERY) {
        r->looked_at = now;
        r->over = has_mark(run, r, "over");
    }
    return r->over;
}

static bool is_mark(const char *path, const char *name)
{
    (void)path;
    return strncmp(name, ".round-", 7) == 0;
}

gnt_status gnti_live_clear_marks(const gnti_live *run)
{
    gnt_status st = GNT_OK;
    char *folder = NULL;

    GNT_TRY(gnti_path_join(run->config->run, "requests", &folder));
    GNT_TRY(gnti_folder_create(folder));
    GNT_TRY(gnti_folder_sweep(folder, is_mark));
done:
    gnti_free(folder);
    return st;
}
