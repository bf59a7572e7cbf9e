/* SPDX-License-Identifier: Apache-2.0 */
/* The reading half of file.h: whole files, sizes, folders, joined names, where caches lie. */
#include "base/file.h"

#include "base/alloc.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static gnt_status read_fully(int fd, const char *path, char *out, size_t count, size_t *out_read)
{
    size_t done_bytes = 0;

    while (done_bytes < count) {
        const ssize_t n = read(fd, out + done_bytes, count - done_bytes);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return gnti_error_errno(errno, 0, "read", path);
        if (n == 0)
            break;
        done_bytes += (size_t)n;
    }
    *out_read = done_bytes;
    return GNT_OK;
}

/* Grows with what comes, so that pipes and files that lie about their size are read as well. */
gnt_status gnti_file_read_all(const char *path, size_t max_bytes, char **out, size_t *out_bytes)
{
    gnt_status st = GNT_OK;
    char *bytes = NULL;
    int64_t capacity = 0;
    size_t used = 0, got = 0;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return gnti_error_errno(errno, 0, "open", path);
    do {
        GNT_TRY(gnti_grow_array(&bytes, &capacity, (int64_t)used + 4096));
        GNT_TRY(read_fully(fd, path, bytes + used, (size_t)capacity - used - 1, &got));
        used += got;
        GNT_CHECK(used <= max_bytes, GNT_ERR_LIMIT, "'%s' has more than %zu bytes", path, max_bytes);
    } while (got > 0);
    bytes[used] = '\0';
    *out = bytes;
    *out_bytes = used;
    bytes = NULL;
done:
    close(fd);
    gnti_free(bytes);
    return st;
}

bool gnti_file_exists(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0;
}

bool gnti_file_same(const char *a, const char *b)
{
    struct stat x, y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

gnt_status gnti_file_size(const char *path, int64_t *out)
{
    struct stat s;

    if (stat(path, &s) != 0)
        return gnti_error_errno(errno, 0, "open", path);
    *out = (int64_t)s.st_size;
    return GNT_OK;
}

static gnt_status make_one(const char *path)
{
    gnt_status st = GNT_OK;
    struct stat s;

    if (mkdir(path, 0777) == 0)
        return GNT_OK;
    if (errno != EEXIST) {
        const int error = errno;

        /* a read-only folder that exists already is no failure */
        if (stat(path, &s) == 0 && S_ISDIR(s.st_mode))
            return GNT_OK;
        return gnti_error_errno(error, 1, "create folder", path);
    }
    GNT_CHECK(stat(path, &s) == 0 && S_ISDIR(s.st_mode), GNT_ERR_OUTPUT, "'%s' is a file, a folder is needed",
              path);
done:
    return st;
}

gnt_status gnti_folder_create(const char *path)
{
    gnt_status st = GNT_OK;
    char *copy = NULL;

    GNT_CHECK(path[0] != '\0', GNT_ERR_ARG, "the name of a folder is empty");
    GNT_TRY(gnti_strdup(&copy, path));
    for (char *p = copy + 1; *p != '\0'; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        GNT_TRY(make_one(copy));
        *p = '/';
    }
    GNT_TRY(make_one(copy));
done:
    gnti_free(copy);
    return st;
}

gnt_status gnti_folder_sweep(const char *path, bool (*goes)(const char *path, const char *name))
{
    gnt_status st = GNT_OK;
    char *file = NULL;
    DIR *dir = opendir(path);

    for (struct dirent *e = dir != NULL ? readdir(dir) : NULL; e != NULL; e = readdir(dir)) {
        GNT_TRY(gnti_path_join(path, e->d_name, &file));
        if (goes(file, e->d_name))
            (void)unlink(file);
        gnti_free(file);
        file = NULL;
    }
done:
    if (dir != NULL)
        closedir(dir);
    gnti_free(file);
    return st;
}

gnt_status gnti_path_absolute(const char *path, char **out)
{
    gnt_status st = GNT_OK;
    char room[PATH_MAX];

    *out = NULL;
    if (path == NULL)
        return GNT_OK;
    if (realpath(path, room) != NULL)
        return gnti_strdup(out, room);
    if (path[0] == '/')
        return gnti_strdup(out, path);
    GNT_CHECK(getcwd(room, sizeof room) != NULL, GNT_ERR_IO,
              "cannot tell where '%s' is: the working folder is gone", path);
    GNT_TRY(gnti_path_join(room, path, out));
done:
    return st;
}

gnt_status gnti_path_join(const char *folder, const char *name, char **out)
{
    gnt_status st = GNT_OK;
    const size_t length = strlen(folder), bytes = length + strlen(name) + 2;
    char *path = NULL;

    GNT_TRY(gnti_alloc_array(&path, (int64_t)bytes));
    snprintf(path, bytes, "%s%s%s", folder, length > 0 && folder[length - 1] == '/' ? "" : "/", name);
    *out = path;
done:
    return st;
}

gnt_status gnti_cache_path(const char *name, char **out)
{
    gnt_status st = GNT_OK;
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    gnti_text t = { 0 };

    *out = NULL;
    if (cache != NULL && cache[0] == '/')
        gnti_text_printf(&t, "%s/gnntrain/%s", cache, name);
    else if (home != NULL && home[0] == '/')
        gnti_text_printf(&t, "%s/.cache/gnntrain/%s", home, name);
    else
        return GNT_OK;
    GNT_TRY(gnti_text_take(&t, out));
done:
    return st;
}
