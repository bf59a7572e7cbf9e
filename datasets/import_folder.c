/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the files of a data set in a folder, by what their names end with. */
#include "datasets/import.h"

#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

static const char *const COMPRESSED[] = { ".gz", ".bz2", ".xz", ".zst", ".lz4" };

static bool ends_with(const char *text, size_t length, const char *suffix)
{
    const size_t n = strlen(suffix);

    return length >= n && memcmp(text + length - n, suffix, n) == 0;
}

bool gnti_import_has_suffix(const char *path, const char *suffix)
{
    size_t length = strlen(path);

    for (size_t i = 0; i < sizeof COMPRESSED / sizeof *COMPRESSED; i++) {
        if (ends_with(path, length, COMPRESSED[i]) && !ends_with(suffix, strlen(suffix), COMPRESSED[i])) {
            length -= strlen(COMPRESSED[i]);
            break;
        }
    }
    return ends_with(path, length, suffix);
}

static gnt_status find_in(DIR *dir, const char *folder, const char *name, const char *suffix, char **out)
{
    gnt_status st = GNT_OK;
    char *found = NULL;

    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        if (entry->d_name[0] == '.' || !gnti_import_has_suffix(entry->d_name, suffix))
            continue;
        if (name != NULL && name[0] != '\0' && strncmp(entry->d_name, name, strlen(name)) != 0)
            continue;
        GNT_CHECK(found == NULL, GNT_ERR_USAGE,
                  "'%s' has several files *%s, '%s' and '%s' among them: --name states the start of one",
                  folder, suffix, found + strlen(folder) + 1, entry->d_name);
        GNT_TRY(gnti_path_join(folder, entry->d_name, &found));
    }
    *out = found;
    found = NULL; /* handed over */
done:
    gnti_free(found);
    return st;
}

gnt_status gnti_import_find(const char *folder, const char *name, const char *suffix, char **out)
{
    gnt_status st = GNT_OK;
    DIR *dir = opendir(folder);

    if (dir == NULL) {
        st = gnti_error_errno(errno, 0, "open", folder);
        goto done;
    }
    *out = NULL;
    GNT_TRY(find_in(dir, folder, name, suffix, out));
done:
    if (dir != NULL)
        closedir(dir);
    return st;
}

gnt_status gnti_import_find_exact(const char *folder, const char *relative, char **out)
{
    gnt_status st = GNT_OK;
    char *path = NULL;

    GNT_TRY(gnti_path_join(folder, relative, &path));
    *out = NULL;
    if (gnti_file_exists(path)) {
        *out = path;
        path = NULL; /* handed over */
    }
done:
    gnti_free(path);
    return st;
}
