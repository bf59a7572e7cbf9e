/* SPDX-License-Identifier: Apache-2.0 */
/* Atomic files.
 *
 *     open ".name.PID-k" in the folder -> write -> fsync -> rename over "name" -> fsync the folder
 *
 * A crash at any point leaves the old file or the new one, at worst beside a hidden temporary. The writer
 * buffers 64 KiB. Reading, folders and joined names are in path.c.
 */
#include "base/file.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_BYTES = 64 * 1024 };

struct gnti_file_writer {
    int fd;
    char *path, *temporary;
    size_t used;
    gnt_status status; /* the first failed write sticks: such a file is never committed */
    char buffer[BUFFER_BYTES];
};

static atomic_llong g_num_temporaries;
static atomic_llong g_fail_in = -1;
static atomic_int g_fail_errno;

void gnti_file_fail_at(int64_t k, int error)
{
    atomic_store(&g_fail_errno, error);
    atomic_store(&g_fail_in, k);
}

static bool must_fail(void)
{
    if (atomic_load(&g_fail_in) < 0 || atomic_fetch_sub(&g_fail_in, 1) != 0)
        return false;
    errno = atomic_load(&g_fail_errno);
    return true;
}

gnt_status gnti_fd_write(int fd, const char *path, const void *bytes, size_t count)
{
    const char *p = bytes;

    while (count > 0) {
        const ssize_t n = must_fail() ? -1 : write(fd, p, count);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return gnti_error_errno(errno, 1, "write", path);
        p += n;
        count -= (size_t)n;
    }
    return GNT_OK;
}

gnt_status gnti_fd_sync(int fd, const char *path)
{
    if (must_fail() || (fsync(fd) != 0 && errno != EINVAL && errno != EROFS)) /* pipes cannot */
        return gnti_error_errno(errno, 1, "flush", path);
    return GNT_OK;
}

/* Makes "folder/.name.PID-k" of "folder/name" for the first k that is free. open, not mkstemp: the file gets
 * the rights that the user's mask asks for. */
static gnt_status open_temporary(const char *path, char **temporary, int *out_fd)
{
    gnt_status st = GNT_OK;
    struct stat old;
    const char *slash = strrchr(path, '/');
    const int folder = slash == NULL ? 0 : (int)(slash - path + 1);
    const size_t bytes = strlen(path) + 48;
    char *name = NULL;
    int fd = -1;

    GNT_CHECK(path[folder] != '\0' && (stat(path, &old) != 0 || !S_ISDIR(old.st_mode)), GNT_ERR_OUTPUT,
              "'%s' is a folder, a file name is needed", path);
    GNT_CHECK(stat(path, &old) != 0 || S_ISREG(old.st_mode), GNT_ERR_OUTPUT,
              "'%s' is a device or a pipe, which a file would replace: name a file", path);
    GNT_TRY(gnti_alloc_array(&name, (int64_t)bytes));
    do {
        snprintf(name, bytes, "%.*s.%s.%ld-%lld", folder, path, path + folder, (long)getpid(),
                 atomic_fetch_add(&g_num_temporaries, 1));
        fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (fd < 0 && errno == EEXIST);
    if (fd < 0) {
        st = gnti_error_errno(errno, 1, "create", path);
        goto done;
    }
    *out_fd = fd;
    *temporary = name;
    name = NULL;
done:
    gnti_free(name);
    return st;
}

gnt_status gnti_atomic_begin(const char *path, char **temporary)
{
    gnt_status st = GNT_OK;
    int fd = -1;

    GNT_TRY(open_temporary(path, temporary, &fd));
    close(fd);
done:
    return st;
}

static gnt_status sync_path(const char *path, int flags)
{
    gnt_status st = GNT_OK;
    const int fd = open(path, flags | O_CLOEXEC);

    if (fd < 0)
        return gnti_error_errno(errno, 1, "open", path);
    GNT_TRY(gnti_fd_sync(fd, path));
done:
    close(fd);
    return st;
}

static gnt_status sync_folder_of(const char *path)
{
    gnt_status st = GNT_OK;
    const char *slash = strrchr(path, '/');
    char *folder = NULL;

    GNT_TRY(gnti_strdup(&folder, slash == NULL ? "." : path));
    if (slash != NULL)
        folder[slash == path ? 1 : slash - path] = '\0';
    GNT_TRY(sync_path(folder, O_RDONLY | O_DIRECTORY));
done:
    gnti_free(folder);
    return st;
}

static gnt_status rename_to(const char *from, const char *to)
{
    return rename(from, to) == 0 ? GNT_OK : gnti_error_errno(errno, 1, "rename the finished file to", to);
}

gnt_status gnti_atomic_commit_keep(char **temporary, const char *path, const char *previous)
{
    gnt_status st = GNT_OK;

    GNT_TRY(sync_path(*temporary, O_RDONLY));
    if (previous != NULL && gnti_file_exists(path))
        GNT_TRY(rename_to(path, previous));
    GNT_TRY(rename_to(*temporary, path));
    gnti_free(*temporary);
    *temporary = NULL;
    GNT_TRY(sync_folder_of(path));
done:
    gnti_atomic_abandon(temporary);
    return st;
}

gnt_status gnti_atomic_commit(char **temporary, const char *path)
{
    return gnti_atomic_commit_keep(temporary, path, NULL);
}

void gnti_atomic_empty(const char *temporary)
{
    if (temporary != NULL && truncate(temporary, 0) != 0)
        errno = 0; /* it only meant to help */
}

void gnti_atomic_abandon(char **temporary)
{
    if (*temporary == NULL)
        return;
    (void)unlink(*temporary);
    gnti_free(*temporary);
    *temporary = NULL;
}

gnt_status gnti_file_writer_open(const char *path, gnti_file_writer **out)
{
    gnt_status st = GNT_OK;
    gnti_file_writer *w = NULL;

    GNT_TRY(gnti_alloc_array(&w, 1));
    *w = (gnti_file_writer){ .fd = -1 };
    GNT_TRY(gnti_strdup(&w->path, path));
    GNT_TRY(open_temporary(path, &w->temporary, &w->fd));
    *out = w;
    w = NULL;
done:
    gnti_file_writer_abandon(&w);
    return st;
}

static gnt_status flush_buffer(gnti_file_writer *w)
{
    const size_t used = w->used;

    w->used = 0;
    return gnti_fd_write(w->fd, w->path, w->buffer, used);
}

gnt_status gnti_file_writer_write(gnti_file_writer *w, const void *bytes, size_t count)
{
    gnt_status st = w->status;

    if (st != GNT_OK)
        return st;
    if (count > BUFFER_BYTES - w->used)
        GNT_TRY(flush_buffer(w));
    if (count > BUFFER_BYTES) {
        GNT_TRY(gnti_fd_write(w->fd, w->path, bytes, count));
        return st;
    }
    memcpy(w->buffer + w->used, bytes, count);
    w->used += count;
done:
    w->status = st;
    return st;
}

gnt_status gnti_file_writer_printf(gnti_file_writer *w, const char *format, ...)
{
    gnt_status st = GNT_OK;
    char line[4096];
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    GNT_CHECK(n >= 0 && (size_t)n < sizeof line, GNT_ERR_LIMIT, "a line of %d bytes, room for %zu", n,
              sizeof line);
    GNT_TRY(gnti_file_writer_write(w, line, (size_t)n));
done:
    return st;
}

gnt_status gnti_file_writer_commit(gnti_file_writer **writer)
{
    gnt_status st = GNT_OK;
    gnti_file_writer *w = *writer;

    GNT_TRY(w->status);
    GNT_TRY(flush_buffer(w));
    close(w->fd);
    w->fd = -1;
    GNT_TRY(gnti_atomic_commit(&w->temporary, w->path));
done:
    gnti_file_writer_abandon(writer);
    return st;
}

void gnti_file_writer_abandon(gnti_file_writer **writer)
{
    gnti_file_writer *w = *writer;

    if (w == NULL)
        return;
    if (w->fd >= 0)
        close(w->fd);
    gnti_atomic_abandon(&w->temporary);
    gnti_free(w->path);
    gnti_free(w);
    *writer = NULL;
}

gnt_status gnti_file_write_all(const char *path, const void *bytes, size_t count)
{
    gnt_status st = GNT_OK;
    gnti_file_writer *w = NULL;

    GNT_TRY(gnti_file_writer_open(path, &w));
    GNT_TRY(gnti_file_writer_write(w, bytes, count));
    GNT_TRY(gnti_file_writer_commit(&w));
done:
    gnti_file_writer_abandon(&w);
    return st;
}
