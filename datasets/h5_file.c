/* SPDX-License-Identifier: Apache-2.0 */
/* HDF5 files, the groups, datasets and attributes there are, and what its errors become (calls: h5_library.h). */
#include "datasets/h5_library.h"

#include "base/file.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CAUSE_BYTES = 400 }; /* kept of one HDF5 message */
const char *const gnti_h5_version = H5_VERS_INFO;

/* What the newest failed call of the library said. */
typedef struct cause {
    char text[CAUSE_BYTES];
    bool no_memory;
    int error; /* errno, 0 when it was none */
} cause;

static herr_t keep_deepest(unsigned n, const H5E_error2_t *e, void *user)
{
    cause *c = user;
    const char *number = e->desc != NULL ? strstr(e->desc, "errno = ") : NULL;

    if (n == 0 && e->desc != NULL)
        snprintf(c->text, sizeof c->text, "%s", e->desc);
    c->no_memory = c->no_memory || (e->maj_num == H5E_RESOURCE && e->min_num == H5E_NOSPACE);
    if (number != NULL && c->error == 0)
        c->error = (int)strtol(number + strlen("errno = "), NULL, 10);
    return 0;
}

gnt_status gnti_h5_fail(const gnti_h5 *file, const char *path, const char *what)
{
    cause c = { .text = "" };
    gnt_status code = file->temporary != NULL ? GNT_ERR_OUTPUT : GNT_ERR_FORMAT;

    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_deepest, &c);
    H5Eclear2(H5E_DEFAULT);
    if (strstr(c.text, ": time = ") != NULL) /* lines of details: addresses, sizes */
        snprintf(c.text, sizeof c.text, "%s", strerror(c.error));
    if (c.error == ENOSPC || c.error == EDQUOT)
        code = GNT_ERR_DISK_FULL;
    else if (c.error != 0)
        code = file->temporary != NULL ? GNT_ERR_OUTPUT : GNT_ERR_IO;
    else if (c.no_memory)
        code = GNT_ERR_NOMEM;
    return gnti_error_set(code, __FILE__, __LINE__, __func__, "cannot %s '%s%s%s': %s%s", what,
                          path != NULL ? path : "", path != NULL ? "' of file '" : "", file->path, c.text,
                          gnti_h5_remedy(c.text));
}

static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int g_depth; /* entries of this thread that are under way */

/* The settings are a thread's: without them the library prints to stderr, and at exit it would crash over what a full disk
 * kept it from closing (we close our files). */
void gnti_h5_enter(void)
{
    if (g_depth++ > 0)
        return;
    pthread_mutex_lock(&g_lock);
    H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void gnti_h5_leave(void)
{
    if (--g_depth == 0)
        pthread_mutex_unlock(&g_lock);
}

void gnti_h5_drop(hid_t id)
{
    if (id > 0)
        H5Idec_ref(id);
}

/* --- files --- */

static gnt_status file_alloc(const char *path, gnti_h5 **out)
{
    gnt_status st = GNT_OK;
    gnti_h5 *f = NULL;

    GNT_TRY(gnti_calloc_array(&f, 1));
    f->id = H5I_INVALID_HID;
    GNT_TRY(gnti_strdup(&f->path, path));
    GNT_TRY(gnti_calloc_array(&f->bytes_read, 1));
    *out = f;
    f = NULL;
done:
    gnti_h5_close(&f);
    return st;
}

/* File access without locks, in the format that old readers know. */
static gnt_status make_access(const gnti_h5 *file, hid_t *out)
{
    gnt_status st = GNT_OK;
    const char *path = NULL;
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);

    GNT_TRY_H5(access, "prepare");
    GNT_TRY_H5(H5Pset_file_locking(access, false, true), "prepare");
    GNT_TRY_H5(H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_V110), "prepare");
    GNT_TRY_H5(H5Pset_fclose_degree(access, H5F_CLOSE_STRONG), "prepare");
    *out = access;
    access = H5I_INVALID_HID;
done:
    gnti_h5_drop(access);
    return st;
}

gnt_status gnti_h5_open_unfenced(const char *name, gnti_h5 **out)
{
    gnt_status st = GNT_OK;
    gnti_h5 *file = NULL;
    const char *path = NULL;
    hid_t access = H5I_INVALID_HID;
    struct stat info;

    gnti_h5_enter();
    if (stat(name, &info) != 0)
        GNT_TRY(gnti_error_errno(errno, 0, "open", name));
    GNT_CHECK(S_ISREG(info.st_mode), GNT_ERR_IO, "'%s' is no ordinary file", name);
    GNT_TRY(file_alloc(name, &file));
    GNT_TRY(make_access(file, &access));
    file->id = H5Fopen(name, H5F_ACC_RDONLY, access);
    GNT_TRY_H5(file->id, "open");
    *out = file;
    file = NULL;
done:
    gnti_h5_drop(access);
    gnti_h5_close(&file);
    gnti_h5_leave();
    return st;
}

gnt_status gnti_h5_create(const char *name, gnti_h5 **out)
{
    gnt_status st = GNT_OK;
    gnti_h5 *file = NULL;
    const char *path = NULL;
    hid_t access = H5I_INVALID_HID;

    gnti_h5_enter();
    GNT_CHECK(name != NULL, GNT_ERR_ARG, "path must not be NULL");
    GNT_TRY(file_alloc(name, &file));
    GNT_TRY(gnti_atomic_begin(name, &file->temporary));
    GNT_TRY(make_access(file, &access));
    GNT_TRY_H5(H5Pset_sieve_buf_size(access, 0), "create"); /* a full disk shows in writing, not in closing */
    file->id = H5Fcreate(file->temporary, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    GNT_TRY_H5(file->id, "create");
    *out = file;
    file = NULL;
done:
    gnti_h5_drop(access);
    gnti_h5_close(&file);
    gnti_h5_leave();
    return st;
}

gnt_status gnti_h5_commit(gnti_h5 **handle, const char *previous)
{
    gnt_status st = GNT_OK;
    gnti_h5 *file = *handle;
    const char *path = NULL;

    gnti_h5_enter();
    GNT_TRY_H5(H5Fflush(file->id, H5F_SCOPE_GLOBAL), "write");
    GNT_TRY_H5(H5Fclose(file->id), "write");
    file->id = H5I_INVALID_HID;
    if (previous != NULL)
        GNT_TRY(gnti_atomic_commit_keep(&file->temporary, file->path, previous));
    else
        GNT_TRY(gnti_atomic_commit(&file->temporary, file->path));
done:
    gnti_h5_close(handle);
    gnti_h5_leave();
    return st;
}

void gnti_h5_close(gnti_h5 **file)
{
    gnti_h5 *f = file == NULL ? NULL : *file;

    if (f == NULL)
        return;
    gnti_h5_enter();
    gnti_atomic_empty(f->temporary); /* on a full disk closing would fail */
    if (f->id >= 0)
        H5Fclose(f->id);
    gnti_h5_leave();
    gnti_atomic_abandon(&f->temporary);
    gnti_free(f->path);
    gnti_free(f->bytes_read);
    gnti_free(f);
    *file = NULL;
}

int64_t gnti_h5_bytes_read(const gnti_h5 *file)
{
    return *file->bytes_read;
}

const char *gnti_h5_path(const gnti_h5 *file)
{
    return file->path;
}

/* --- what there is --- */

/* Every link of the path must exist and lead to an object: asking for a deeper one fails otherwise. */
bool gnti_h5_exists(const gnti_h5 *file, const char *path)
{
    char prefix[1024];
    const size_t length = strlen(path);

    if (strcmp(path, "/") == 0 || length >= sizeof prefix)
        return length == 1;
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(prefix, path, i);
        prefix[i] = '\0';
        if (H5Lexists(file->id, prefix, H5P_DEFAULT) <= 0)
            return false;
    }
    return true;
}

gnti_h5_kind gnti_h5_kind_of(const gnti_h5 *file, const char *path)
{
    gnti_h5_kind kind = GNTI_H5_NOTHING;
    hid_t object = H5I_INVALID_HID;

    gnti_h5_enter();
    if (gnti_h5_exists(file, path))
        object = H5Oopen(file->id, path, H5P_DEFAULT);
    if (object > 0 && H5Iget_type(object) == H5I_GROUP)
        kind = GNTI_H5_GROUP;
    else if (object > 0 && H5Iget_type(object) == H5I_DATASET)
        kind = GNTI_H5_DATASET;
    gnti_h5_drop(object);
    gnti_h5_leave();
    return kind;
}

static herr_t add_link(hid_t group, const char *name, const H5L_info_t *info, void *user)
{
    (void)group;
    (void)info;
    return gnti_h5_names_add(user, name) ? 0 : -1;
}

static herr_t add_attribute(hid_t object, const char *name, const H5A_info_t *info, void *user)
{
    (void)object;
    (void)info;
    return gnti_h5_names_add(user, name) ? 0 : -1;
}

static gnt_status list_names(const gnti_h5 *file, const char *path, bool attributes, char ***names,
                             int64_t *num)
{
    gnt_status st = GNT_OK;
    gnti_h5_names list = { .status = GNT_OK };
    herr_t went;

    gnti_h5_enter();
    /* by name, as what is read later: an object of a damaged file may have no kind and still attributes */
    if (attributes)
        went = H5Aiterate_by_name(file->id, path, H5_INDEX_NAME, H5_ITER_INC, NULL, add_attribute, &list,
                                  H5P_DEFAULT);
    else
        went = H5Literate_by_name(file->id, path, H5_INDEX_NAME, H5_ITER_INC, NULL, add_link, &list,
                                  H5P_DEFAULT);
    GNT_TRY(list.status);
    GNT_TRY_H5(went, "list the members of");
    GNT_TRY(gnti_h5_check_utf8(file, path, list.names, list.num));
    *names = list.names;
    *num = list.num;
    list.names = NULL;
done:
    gnti_h5_free_texts(&list.names, list.num);
    gnti_h5_leave();
    return st;
}

gnt_status gnti_h5_list(const gnti_h5 *file, const char *path, char ***names, int64_t *num_names)
{
    *names = NULL;
    *num_names = 0;
    return gnti_h5_kind_of(file, path) == GNTI_H5_GROUP ? list_names(file, path, false, names, num_names)
                                                        : GNT_OK;
}

gnt_status gnti_h5_list_attributes(const gnti_h5 *file, const char *path, char ***names, int64_t *num_names)
{
    return list_names(file, path, true, names, num_names);
}

bool gnti_h5_has_attribute(const gnti_h5 *file, const char *path, const char *attribute)
{
    bool has;

    gnti_h5_enter();
    has = gnti_h5_exists(file, path) && H5Aexists_by_name(file->id, path, attribute, H5P_DEFAULT) > 0;
    gnti_h5_leave();
    return has;
}

/* --- making --- */

gnt_status gnti_h5_link_list(const gnti_h5 *file, const char *path, hid_t *out)
{
    gnt_status st = GNT_OK;
    hid_t plist = H5Pcreate(H5P_LINK_CREATE);

    GNT_TRY_H5(plist, "create");
    GNT_TRY_H5(H5Pset_create_intermediate_group(plist, 1), "create");
    GNT_TRY_H5(H5Pset_char_encoding(plist, H5T_CSET_UTF8), "create");
    *out = plist;
    plist = H5I_INVALID_HID;
done:
    gnti_h5_drop(plist);
    return st;
}

gnt_status gnti_h5_make_group(gnti_h5 *file, const char *path)
{
    gnt_status st = GNT_OK;
    hid_t links = H5I_INVALID_HID, group = H5I_INVALID_HID;

    gnti_h5_enter();
    if (gnti_h5_kind_of(file, path) == GNTI_H5_GROUP)
        goto done;
    GNT_TRY(gnti_h5_link_list(file, path, &links));
    group = H5Gcreate2(file->id, path, links, H5P_DEFAULT, H5P_DEFAULT);
    GNT_TRY_H5(group, "create group");
done:
    gnti_h5_drop(group);
    gnti_h5_drop(links);
    gnti_h5_leave();
    return st;
}
