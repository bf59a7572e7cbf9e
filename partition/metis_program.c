/* SPDX-License-Identifier: Apache-2.0 */
/* Finding, starting and awaiting the METIS program.
 *
 * It lies at ../libexec/gnntrain/part-metis from the folder of the library, in a build tree as when installed, beside a program
 * of libexec that holds the library itself, or in the folder that GNNTRAIN_LIBEXEC names. It starts with the shared memory as descriptor 3, nothing to read, its words thrown away, default
 * signals, in a process group of its own (a Ctrl-C is for us, and it dies with us). Its end is read by its process id; where
 * the caller's program lets the system reap children, the answer's own mark decides.
 */
#include "partition/part_metis.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static gnt_status find_program(char **out)
{
    gnt_status st = GNT_OK;
    const char *named = getenv("GNNTRAIN_LIBEXEC");
    char *folder = NULL, *path = NULL, *beside = NULL;

    if (named != NULL) {
        GNT_TRY(gnti_path_join(named, "part-metis", &path));
    } else {
        GNT_TRY(gnti_plugin_own_folder(&folder));
        GNT_TRY(gnti_path_join(folder, "../libexec/gnntrain/part-metis", &path));
        GNT_TRY(gnti_path_join(folder, "part-metis", &beside));
    }
    *out = beside != NULL && gnti_file_exists(beside) && !gnti_file_exists(path) ? beside : path;
    path = *out == path ? NULL : path;
    beside = *out == beside ? NULL : beside;
done:
    gnti_free(folder);
    gnti_free(beside);
    gnti_free(path);
    return st;
}

static int prepare(int fd, posix_spawn_file_actions_t *files, posix_spawnattr_t *attributes)
{
    sigset_t none, all;

    sigemptyset(&none);
    sigfillset(&all);
    if (posix_spawn_file_actions_adddup2(files, fd, GNTI_METIS_FD) != 0 ||
        posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0) != 0 ||
        posix_spawn_file_actions_addopen(files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0) != 0 ||
        posix_spawn_file_actions_addopen(files, STDERR_FILENO, "/dev/null", O_WRONLY, 0) != 0)
        return ENOMEM;
    if (posix_spawnattr_setsigmask(attributes, &none) != 0 ||
        posix_spawnattr_setsigdefault(attributes, &all) != 0 || posix_spawnattr_setpgroup(attributes, 0) != 0)
        return EINVAL;
    return posix_spawnattr_setflags(attributes,
                                    POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
}

static int start(const char *path, int fd, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    char name[] = "part-metis";
    char *const arguments[] = { name, NULL };
    int error = posix_spawn_file_actions_init(&files);

    if (error != 0)
        return error;
    error = posix_spawnattr_init(&attributes);
    if (error == 0) {
        error = prepare(fd, &files, &attributes);
        if (error == 0)
            error = posix_spawn(pid, path, &files, &attributes, arguments, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&files);
    return error;
}

/* The exit status, or -1 when the system has reaped the process; *late when it had to be killed. */
static int await(pid_t pid, double seconds, bool *late)
{
    const double begin = gnti_clock_seconds();
    double waited = 0.0;
    int status = 0;

    *late = false;
    for (;;) {
        const pid_t got = waitpid(pid, &status, *late ? 0 : WNOHANG);
        const double pause = waited / 16.0 < 0.02 ? waited / 16.0 + 5e-5 : 0.02;

        if (got == pid)
            return status;
        if (got < 0 && errno != EINTR)
            return -1;
        waited = gnti_clock_seconds() - begin;
        if (waited > seconds) {
            *late = true;
            (void)kill(pid, SIGKILL);
            continue;
        }
        (void)nanosleep(&(struct timespec){ 0, (long)(pause * 1e9) }, NULL);
    }
}

gnt_status gnti_metis_program_run(int fd, double seconds, char failure[GNTI_METIS_FAILURE_BYTES])
{
    gnt_status st = GNT_OK;
    char *path = NULL;
    pid_t pid = -1;
    bool late = false;
    int status, error;

    failure[0] = '\0';
    GNT_TRY(find_program(&path));
    error = start(path, fd, &pid);
    if (error != 0) {
        snprintf(failure, GNTI_METIS_FAILURE_BYTES, "cannot be started as '%.180s': %.40s", path,
                 strerror(error));
    } else {
        status = await(pid, seconds, &late);
        if (late)
            snprintf(failure, GNTI_METIS_FAILURE_BYTES, "ran longer than %.3g s", seconds);
        else if (status != -1 && WIFSIGNALED(status))
            snprintf(failure, GNTI_METIS_FAILURE_BYTES, "was killed by signal %d", WTERMSIG(status));
        else if (status != -1 && WEXITSTATUS(status) != 0)
            snprintf(failure, GNTI_METIS_FAILURE_BYTES, "ended with status %d", WEXITSTATUS(status));
    }
done:
    gnti_free(path);
    return st;
}
