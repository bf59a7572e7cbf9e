/* SPDX-License-Identifier: Apache-2.0 */
/* Opening files that may be damaged: the HDF5 library (1.10) crashes or loops on some broken heaps and indices, and no
 * check from outside can tell. So a child process walks the file first and does all that a reader may do later: it opens
 * every object, reads every attribute and text, and every value that lies in chunks. Contiguous values are not read, they
 * are bytes at an offset that the library compares with the file's end. A child that dies says that the file is damaged.
 *
 * The walk costs a fork and what chunked data cost to read; the file is then in the page cache. When no child can be
 * made, the file is opened all the same. The fork waits until no other thread is in the library (h5_file.c): the child would
 * inherit a lock that nobody opens.
 */
#include "datasets/h5_value.h"

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Groups may be cyclic, so depth and number of objects are bounded. A healthy file takes milliseconds, or seconds per GiB
 * in chunks: the child may use CPU_MICROSECONDS and a second more per CPU_BYTES. LIMIT_SECONDS: disks that do not answer. */
enum { CANNOT_LIST = 3, NO_MEMORY = 4 }; /* exit codes of the child */
enum { MAX_DEPTH = 8, MAX_OBJECTS = 1 << 20, PATH_BYTES = 1024, SLAB_BYTES = 16 << 20 };
enum { CPU_MICROSECONDS = 400000, CPU_BYTES = 16 << 20, LIMIT_SECONDS = 600 };

/* --- in the child: results do not matter, only that it comes back --- */

/* Fails where they cannot be listed, so that they could not be tried. */
static gnt_status walk_attributes(const gnti_h5 *file, const char *path)
{
    char **names = NULL;
    int64_t num = 0;

    const gnt_status st = gnti_h5_list_attributes(file, path, &names, &num);

    if (st != GNT_OK)
        return st;
    for (int64_t i = 0; i < num; i++) {
        gnti_h5_info info;
        char **texts = NULL;
        int64_t num_texts = 0;
        double *numbers = NULL;

        if (gnti_h5_inspect(file, path, names[i], &info) != GNT_OK)
            continue;
        if (info.type == GNTI_H5_TEXT) {
            if (gnti_h5_read_attribute_texts(file, path, names[i], &texts, &num_texts) == GNT_OK)
                gnti_h5_free_texts(&texts, num_texts);
        } else if (gnti_alloc_array(&numbers, info.num_values) == GNT_OK) {
            (void)gnti_h5_read_attribute(file, path, names[i], GNTI_FILE_I64, numbers);
            (void)gnti_h5_read_attribute(file, path, names[i], GNTI_FILE_F64, numbers);
            gnti_free(numbers);
        }
    }
    gnti_h5_free_texts(&names, num);
    return GNT_OK;
}

/* The type that needs least conversion; no wider than 8 bytes. */
static gnti_dtype_file memory_type(const gnti_h5_info *info)
{
    if (info->type == GNTI_H5_INT)
        return GNTI_FILE_I64;
    if (info->type == GNTI_H5_F16 || info->type == GNTI_H5_BF16)
        return info->type == GNTI_H5_F16 ? GNTI_FILE_F16 : GNTI_FILE_BF16;
    return info->item_bytes == 4 ? GNTI_FILE_F32 : GNTI_FILE_F64;
}

static void walk_values(const gnti_h5 *file, const char *path)
{
    gnti_h5_info info;
    char **texts = NULL;
    int64_t num = 0, step = 1;
    void *slab = NULL;

    if (gnti_h5_expect(file, path, -1, -1, &info) != GNT_OK)
        return;
    if (info.type == GNTI_H5_TEXT) {
        if (gnti_h5_read_texts(file, path, &texts, &num) == GNT_OK)
            gnti_h5_free_texts(&texts, num);
        return;
    }
    if (info.num_values == 0)
        return;
    if (info.chunked && info.stored_bytes > 0)
        step = gnti_max_i64(1, SLAB_BYTES / gnti_max_i64(1, 8 * info.dims[1] * info.dims[2] * info.dims[3]));
    step = gnti_min_i64(step, info.dims[0]);
    if (gnti_array_bytes(&slab, step * info.dims[1] * info.dims[2] * info.dims[3], 8, false) != GNT_OK)
        return;
    for (int64_t first = 0; first < info.dims[0]; first += step) {
        const int64_t count = gnti_min_i64(step, info.dims[0] - first);

        if (gnti_h5_read_rows(file, path, memory_type(&info), first, count, slab) != GNT_OK)
            break;
        if (!info.chunked || info.stored_bytes == 0)
            break; /* one row shows that reading works */
    }
    gnti_free(slab);
}

/* All below path. Fails where something cannot be listed: a reader that knows its name may reach it all the same. A link to
 * nothing is fine. */
static gnt_status walk(const gnti_h5 *file, const char *path, int depth, int64_t *num_objects)
{
    gnt_status st = GNT_OK;
    char **names = NULL, child[PATH_BYTES];
    int64_t num = 0;
    const gnti_h5_kind kind = gnti_h5_kind_of(file, path);

    if (++*num_objects > MAX_OBJECTS)
        return GNT_OK;
    st = walk_attributes(file, path);
    if (kind == GNTI_H5_NOTHING)
        return depth == 0 ? GNT_ERR_FORMAT : st == GNT_ERR_NOMEM ? st : GNT_OK;
    if (st == GNT_OK && kind == GNTI_H5_DATASET)
        walk_values(file, path);
    gnti_alloc_poison(); /* a block that the library frees unset shall crash here */
    if (st != GNT_OK || kind == GNTI_H5_DATASET || depth >= MAX_DEPTH)
        return st;
    st = gnti_h5_list(file, path, &names, &num);
    for (int64_t i = 0; i < num && st == GNT_OK; i++)
        if ((size_t)snprintf(child, sizeof child, "%s/%s", depth > 0 ? path : "", names[i]) < sizeof child)
            st = walk(file, child, depth + 1, num_objects);
    gnti_h5_free_texts(&names, num);
    return st;
}

/* Never returns. Handlers and core files of the parent have no business here. */
static void run_child(const char *path, int64_t file_bytes)
{
    static const int deadly[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGPROF, SIGTERM, SIGINT };
    const struct rlimit none = { 0, 0 };
    const struct itimerval cpu = { .it_value = { file_bytes / CPU_BYTES, CPU_MICROSECONDS } };
    const struct sigaction as_usual = { .sa_handler = SIG_DFL };
    int64_t num_objects = 0;
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    gnti_h5 *file = NULL;
    gnt_status st = GNT_OK; /* what cannot be opened will say why */

    for (size_t i = 0; i < sizeof deadly / sizeof deadly[0]; i++)
        sigaction(deadly[i], &as_usual, NULL);
    if (nowhere >= 0)
        dup2(nowhere, STDERR_FILENO); /* the C library's last words are not for our user */
    gnti_log_end();                   /* another thread may have held its lock, which nobody opens here */
    gnti_alloc_fail_at(-1);           /* a failure that a test asked for is the parent's */
    setrlimit(RLIMIT_CORE, &none);
    setitimer(ITIMER_PROF, &cpu, NULL);
    if (gnti_h5_open_unfenced(path, &file) == GNT_OK) {
        st = walk(file, "/", 0, &num_objects);
        gnti_h5_close(&file);
    }
    _exit(st == GNT_OK ? 0 : st == GNT_ERR_NOMEM ? NO_MEMORY : CANNOT_LIST);
}

/* --- in the parent --- */

/* Waits for the child, LIMIT_SECONDS at most. False: nothing is known about it. */
static bool wait_for(pid_t child, int *status, bool *late)
{
    struct timespec pause = { 0, 100000 };
    double waited = 0.0;

    *late = false;
    for (;;) {
        const pid_t got = waitpid(child, status, WNOHANG);

        if (got == child)
            return true;
        if (got < 0 && errno != EINTR)
            return false;
        if (waited > LIMIT_SECONDS) {
            *late = true;
            kill(child, SIGKILL);
            return waitpid(child, status, 0) == child;
        }
        nanosleep(&pause, NULL);
        waited += (double)pause.tv_nsec * 1e-9;
        pause.tv_nsec = pause.tv_nsec < 5000000 ? pause.tv_nsec * 5 / 4 : pause.tv_nsec;
    }
}

static gnt_status probe(const char *path)
{
    gnt_status st = GNT_OK;
    int status = 0;
    bool late;
    pid_t child;
    struct stat info;

    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) || access(path, R_OK) != 0)
        return GNT_OK; /* opening it says why */
    child = gnti_h5_fork();
    if (child == 0)
        run_child(path, info.st_size);
    if (child < 0 || !wait_for(child, &status, &late))
        return GNT_OK;
    late = late || (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF);
    GNT_CHECK(!late, GNT_ERR_FORMAT,
              "'%s' is damaged: the HDF5 library comes to no end with its structures, get or write it again",
              path);
    GNT_CHECK(!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL, GNT_ERR_NOMEM,
              "reading '%s' was killed by the system: not enough memory", path);
    GNT_CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) != NO_MEMORY, GNT_ERR_NOMEM,
              "not enough memory to look at '%s'", path);
    GNT_CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) != CANNOT_LIST, GNT_ERR_FORMAT,
              "'%s' is damaged: its groups or attributes cannot be listed, get or write it again", path);
    GNT_CHECK(
        !WIFSIGNALED(status) && WEXITSTATUS(status) == 0, GNT_ERR_FORMAT,
        "'%s' is damaged: the HDF5 library crashes on its structures (signal %d), get or write it again",
        path, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
done:
    return st;
}

gnt_status gnti_h5_open(const char *path, gnti_h5 **out)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(path != NULL, GNT_ERR_ARG, "path must not be NULL");
    GNT_TRY(probe(path));
    GNT_TRY(gnti_h5_open_unfenced(path, out));
done:
    return st;
}
