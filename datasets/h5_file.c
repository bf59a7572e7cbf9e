/* SPDX-License-Identifier: Apache-2.0 */
/* The only file that sees hdf5.h.
 *
 * Every call of the library goes through GNT_TRY_H5, which walks the error stack right after a failure (any
 * other call would clear it) and keeps the deepest description: that is the cause, what lies above only
 * repeats who called whom. Identifiers live inside one function and are closed at its end; a failed close is
 * no error but for the file's. The 2-suffixed functions are named: Debian builds with the 1.8 mapping.
 */
#include "datasets/h5_file.h"
#include "datasets/h5_text.h"

#include "base/file.h"

#include <errno.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CHUNK_VALUES = 1 << 20, CAUSE_BYTES = 400 }; /* values a chunk; bytes kept of one HDF5 message */
const char *const gnti_h5_version = H5_VERS_INFO;

struct gnti_h5 {
    hid_t id;
    char *path, *temporary; /* temporary: NULL when reading */
    int64_t *bytes_read;    /* counts in a const file too */
};

/* What the newest failed call of the library said. */
typedef struct cause {
    char text[CAUSE_BYTES];
    bool no_memory;
    int error; /* errno, 0 when it was none */
} cause;

/* Needs the locals `file` and `path` (NULL: the file itself) besides those of GNT_TRY. */
#define GNT_TRY_H5(call, what)                                                                               \
    do {                                                                                                     \
        if ((call) < 0) {                                                                                    \
            st = fail(file, path, (what));                                                                   \
            gnti_error_trace(__FILE__, __LINE__, __func__);                                                  \
            goto done;                                                                                       \
        }                                                                                                    \
    } while (0)

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

static gnt_status fail(const gnti_h5 *file, const char *path, const char *what)
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

/* Per thread in a thread-safe build: without it the library prints to stderr. And we close our files: at exit it would
 * crash over what a full disk kept it from closing. */
static void silence(void)
{
    H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

/* Closes an identifier of whatever kind; H5S_ALL (0) and invalid ones are left alone. */
static void drop(hid_t id)
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
    drop(access);
    return st;
}

gnt_status gnti_h5_open_unfenced(const char *name, gnti_h5 **out)
{
    gnt_status st = GNT_OK;
    gnti_h5 *file = NULL;
    const char *path = NULL;
    hid_t access = H5I_INVALID_HID;
    struct stat info;

    silence();
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
    drop(access);
    gnti_h5_close(&file);
    return st;
}

gnt_status gnti_h5_create(const char *name, gnti_h5 **out)
{
    gnt_status st = GNT_OK;
    gnti_h5 *file = NULL;
    const char *path = NULL;
    hid_t access = H5I_INVALID_HID;

    silence();
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
    drop(access);
    gnti_h5_close(&file);
    return st;
}

gnt_status gnti_h5_commit(gnti_h5 **handle, const char *previous)
{
    gnt_status st = GNT_OK;
    gnti_h5 *file = *handle;
    const char *path = NULL;

    silence();
    GNT_TRY_H5(H5Fflush(file->id, H5F_SCOPE_GLOBAL), "write");
    GNT_TRY_H5(H5Fclose(file->id), "write");
    file->id = H5I_INVALID_HID;
    if (previous != NULL)
        GNT_TRY(gnti_atomic_commit_keep(&file->temporary, file->path, previous));
    else
        GNT_TRY(gnti_atomic_commit(&file->temporary, file->path));
done:
    gnti_h5_close(handle);
    return st;
}

void gnti_h5_close(gnti_h5 **file)
{
    gnti_h5 *f = file == NULL ? NULL : *file;

    silence();
    if (f == NULL)
        return;
    gnti_atomic_empty(f->temporary); /* on a full disk closing would fail */
    if (f->id >= 0)
        H5Fclose(f->id);
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
static bool exists(const gnti_h5 *file, const char *path)
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

    silence();
    if (exists(file, path))
        object = H5Oopen(file->id, path, H5P_DEFAULT);
    if (object > 0 && H5Iget_type(object) == H5I_GROUP)
        kind = GNTI_H5_GROUP;
    else if (object > 0 && H5Iget_type(object) == H5I_DATASET)
        kind = GNTI_H5_DATASET;
    drop(object);
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
    const hid_t object = H5Oopen(file->id, path, H5P_DEFAULT);

    GNT_TRY_H5(object, "open");
    if (attributes)
        went = H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, NULL, add_attribute, &list);
    else
        went = H5Literate(object, H5_INDEX_NAME, H5_ITER_INC, NULL, add_link, &list);
    GNT_TRY(list.status);
    GNT_TRY_H5(went, "list the members of");
    GNT_TRY(gnti_h5_check_utf8(file, path, list.names, list.num));
    *names = list.names;
    *num = list.num;
    list.names = NULL;
done:
    drop(object);
    gnti_h5_free_texts(&list.names, list.num);
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
    silence();
    return list_names(file, path, true, names, num_names);
}

bool gnti_h5_has_attribute(const gnti_h5 *file, const char *path, const char *attribute)
{
    silence();
    return exists(file, path) && H5Aexists_by_name(file->id, path, attribute, H5P_DEFAULT) > 0;
}

/* --- types --- */

/* A 16-bit float: sign in bit 15, then exponent, then mantissa. */
static hid_t small_float(size_t exponent_bits, size_t bias)
{
    const size_t mantissa_bits = 15 - exponent_bits;
    const hid_t t = H5Tcopy(H5T_IEEE_F32LE);

    if (t >= 0 && (H5Tset_fields(t, 15, mantissa_bits, exponent_bits, 0, mantissa_bits) < 0 ||
                   H5Tset_size(t, 2) < 0 || H5Tset_ebias(t, bias) < 0)) {
        H5Tclose(t);
        return H5I_INVALID_HID;
    }
    return t;
}

/* The little-endian type on disk and in memory; to be closed. */
static hid_t make_type(gnti_dtype_file type)
{
    hid_t t;

    switch (type) {
    case GNTI_FILE_U8:
        return H5Tcopy(H5T_STD_U8LE);
    case GNTI_FILE_I32:
        return H5Tcopy(H5T_STD_I32LE);
    case GNTI_FILE_I64:
        return H5Tcopy(H5T_STD_I64LE);
    case GNTI_FILE_U64:
        return H5Tcopy(H5T_STD_U64LE);
    case GNTI_FILE_F16:
        return small_float(5, 15);
    case GNTI_FILE_BF16:
        return small_float(8, 127);
    case GNTI_FILE_F32:
        return H5Tcopy(H5T_IEEE_F32LE);
    case GNTI_FILE_F64:
        return H5Tcopy(H5T_IEEE_F64LE);
    case GNTI_FILE_TEXT:
        break;
    }
    t = H5Tcopy(H5T_C_S1);
    if (t >= 0 && (H5Tset_size(t, H5T_VARIABLE) < 0 || H5Tset_cset(t, H5T_CSET_UTF8) < 0)) {
        H5Tclose(t);
        return H5I_INVALID_HID;
    }
    return t;
}

static gnti_h5_class class_of_float(hid_t type)
{
    size_t sign, exponent, exponent_bits, mantissa, mantissa_bits;

    if (H5Tget_size(type) != 2)
        return GNTI_H5_FLOAT;
    if (H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits) < 0)
        return GNTI_H5_OTHER;
    if (exponent_bits == 5 && mantissa_bits == 10)
        return GNTI_H5_F16;
    return exponent_bits == 8 && mantissa_bits == 7 ? GNTI_H5_BF16 : GNTI_H5_OTHER;
}

static void classify(hid_t type, gnti_h5_info *info)
{
    info->item_bytes = H5Tget_size(type);
    switch (H5Tget_class(type)) {
    case H5T_INTEGER:
        info->type = info->item_bytes <= 8 ? GNTI_H5_INT : GNTI_H5_OTHER;
        info->is_unsigned = H5Tget_sign(type) == H5T_SGN_NONE;
        break;
    case H5T_ENUM: /* h5py's booleans */
        info->type = GNTI_H5_INT;
        break;
    case H5T_FLOAT:
        info->type = class_of_float(type);
        break;
    case H5T_STRING:
        info->type = GNTI_H5_TEXT;
        break;
    default:
        info->type = GNTI_H5_OTHER;
    }
}

/* Dimensions of a space into info. An empty ("null") space has no values. */
static gnt_status measure(const gnti_h5 *file, const char *path, hid_t space, gnti_h5_info *info)
{
    gnt_status st = GNT_OK;
    hsize_t dims[H5S_MAX_RANK];
    const int rank = H5Sget_simple_extent_ndims(space);

    GNT_TRY_H5(rank, "measure");
    GNT_CHECK(rank <= GNTI_H5_MAX_RANK, GNT_ERR_FORMAT,
              "'%s' of file '%s' has %d dimensions, at most %d are read", path, file->path, rank,
              GNTI_H5_MAX_RANK);
    GNT_TRY_H5(H5Sget_simple_extent_dims(space, dims, NULL), "measure");
    info->rank = rank;
    info->num_values = H5Sget_simple_extent_type(space) == H5S_NULL ? 0 : 1;
    for (int i = 0; i < GNTI_H5_MAX_RANK; i++) {
        info->dims[i] = i < rank ? (int64_t)dims[i] : 1;
        GNT_CHECK(info->dims[i] >= 0 &&
                      !__builtin_mul_overflow(info->num_values, info->dims[i], &info->num_values) &&
                      info->num_values <= INT64_MAX / 16,
                  GNT_ERR_FORMAT, "'%s' of file '%s' has impossible dimensions", path, file->path);
    }
done:
    return st;
}

/* Filters, fill value and stored bytes of a dataset. */
static void look_at_storage(hid_t dataset, gnti_h5_info *info)
{
    const hid_t plist = H5Dget_create_plist(dataset);
    double fill = 0.0;

    info->stored_bytes = (int64_t)H5Dget_storage_size(dataset);
    info->chunked = H5Pget_layout(plist) == H5D_CHUNKED;
    for (int i = 0; i < H5Pget_nfilters(plist); i++) {
        unsigned flags, config;
        size_t num = 0;
        const H5Z_filter_t filter = H5Pget_filter2(plist, (unsigned)i, &flags, &num, NULL, 0, NULL, &config);

        if (filter >= 0 && H5Zfilter_avail(filter) <= 0)
            info->missing_filter = (int32_t)filter;
    }
    if (info->type == GNTI_H5_INT || info->type == GNTI_H5_FLOAT)
        info->fill_is_one = H5Pget_fill_value(plist, H5T_NATIVE_DOUBLE, &fill) >= 0 && fill == 1.0;
    drop(plist);
}

/* A dataset or one of its (or a group's) attributes, opened with its type and space. */
typedef struct opened {
    hid_t id, type, space;
} opened;

static void opened_close(opened *o)
{
    drop(o->space);
    drop(o->type);
    drop(o->id);
}

/* *o starts as NOT_OPEN, so that the caller may close it whatever comes. */
static const opened NOT_OPEN = { H5I_INVALID_HID, H5I_INVALID_HID, H5I_INVALID_HID };

static gnt_status open_values(const gnti_h5 *file, const char *path, const char *attribute, opened *o,
                              gnti_h5_info *info)
{
    gnt_status st = GNT_OK;

    silence();
    memset(info, 0, sizeof *info);
    GNT_CHECK(exists(file, path), GNT_ERR_FORMAT, "file '%s' has no '%s'", file->path, path);
    if (attribute != NULL) {
        o->id = H5Aopen_by_name(file->id, path, attribute, H5P_DEFAULT, H5P_DEFAULT);
        GNT_TRY_H5(o->id, "open attribute");
        o->type = H5Aget_type(o->id);
        o->space = H5Aget_space(o->id);
    } else {
        GNT_CHECK(gnti_h5_kind_of(file, path) != GNTI_H5_GROUP, GNT_ERR_FORMAT,
                  "'%s' of file '%s' is a group, a dataset was expected", path, file->path);
        o->id = H5Dopen2(file->id, path, H5P_DEFAULT);
        GNT_TRY_H5(o->id, "open dataset");
        o->type = H5Dget_type(o->id);
        o->space = H5Dget_space(o->id);
    }
    GNT_TRY_H5(o->type, "read the type of");
    GNT_TRY_H5(o->space, "read the shape of");
    classify(o->type, info);
    GNT_TRY(measure(file, path, o->space, info));
    if (attribute == NULL)
        look_at_storage(o->id, info);
done:
    return st;
}

gnt_status gnti_h5_inspect(const gnti_h5 *file, const char *path, const char *attribute, gnti_h5_info *out)
{
    gnt_status st = GNT_OK;
    opened o = NOT_OPEN;
    gnti_h5_info info;

    GNT_TRY(open_values(file, path, attribute, &o, &info));
    *out = info;
done:
    opened_close(&o);
    return st;
}

/* --- numbers --- */

/* Restricts a file space to rows first .. first + count - 1 and makes the memory space that fits. */
static gnt_status select_rows(const gnti_h5 *file, const char *path, const gnti_h5_info *info, int64_t first,
                              int64_t count, hid_t space, hid_t *out_memory)
{
    gnt_status st = GNT_OK;
    hsize_t start[GNTI_H5_MAX_RANK] = { 0 }, size[GNTI_H5_MAX_RANK];
    hid_t memory;

    if (info->rank == 0)
        return GNT_OK;
    GNT_CHECK(first >= 0 && count >= 0 && count <= info->dims[0] - first, GNT_ERR_ARG,
              "rows %lld .. %lld of '%s' which has %lld", (long long)first, (long long)(first + count - 1),
              path, (long long)info->dims[0]);
    for (int i = 0; i < GNTI_H5_MAX_RANK; i++)
        size[i] = (hsize_t)info->dims[i];
    start[0] = (hsize_t)first;
    size[0] = (hsize_t)count;
    GNT_TRY_H5(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, size, NULL), "select rows of");
    memory = H5Screate_simple(info->rank, size, NULL);
    GNT_TRY_H5(memory, "select rows of");
    *out_memory = memory;
done:
    return st;
}

/* What moves: rows of a dataset or a whole attribute, from memory (in) or to it (out). */
typedef struct motion {
    const char *path, *attribute;
    gnti_dtype_file type;
    int64_t first, count;
    const void *in;
    void *out;
} motion;

static gnt_status transfer(const gnti_h5 *file, const motion *m)
{
    gnt_status st = GNT_OK;
    opened o = NOT_OPEN;
    gnti_h5_info info;
    const char *path = m->path;
    hid_t memory = H5S_ALL, as = H5I_INVALID_HID;

    GNT_TRY(open_values(file, path, m->attribute, &o, &info));
    as = make_type(m->type);
    GNT_TRY_H5(as, "choose a type for");
    if (info.num_values == 0 || m->count == 0)
        goto done;
    if (m->attribute != NULL) {
        GNT_TRY_H5(H5Aread(o.id, as, m->out), "read attribute");
        goto done;
    }
    GNT_TRY(select_rows(file, path, &info, m->first, m->count, o.space, &memory));
    if (m->in != NULL)
        GNT_TRY_H5(H5Dwrite(o.id, as, memory, o.space, H5P_DEFAULT, m->in), "write");
    else
        GNT_TRY_H5(H5Dread(o.id, as, memory, o.space, H5P_DEFAULT, m->out), "read");
    if (m->in == NULL)
        *file->bytes_read += (int64_t)info.item_bytes * (info.num_values / info.dims[0] * m->count);
done:
    drop(memory);
    drop(as);
    opened_close(&o);
    return st;
}

gnt_status gnti_h5_read_rows(const gnti_h5 *file, const char *path, gnti_dtype_file type, int64_t first,
                             int64_t count, void *out)
{
    return transfer(file,
                    &(motion){ .path = path, .type = type, .first = first, .count = count, .out = out });
}

gnt_status gnti_h5_read_attribute(const gnti_h5 *file, const char *path, const char *attribute,
                                  gnti_dtype_file type, void *out)
{
    return transfer(file,
                    &(motion){ .path = path, .attribute = attribute, .type = type, .count = 1, .out = out });
}

/* --- texts --- */

typedef struct text_reader {
    const gnti_h5 *file;
    const char *path, *attribute;
    opened o;
    gnti_h5_info info;
} text_reader;

static herr_t read_all(const text_reader *r, hid_t as, void *out)
{
    return r->attribute != NULL ? H5Aread(r->o.id, as, out)
                                : H5Dread(r->o.id, as, H5S_ALL, H5S_ALL, H5P_DEFAULT, out);
}

static gnt_status read_fixed(const text_reader *r, char **texts)
{
    gnt_status st = GNT_OK;
    const gnti_h5 *file = r->file;
    const char *path = r->path;
    char *all = NULL;
    size_t bytes;

    GNT_TRY(gnti_mul_size((size_t)r->info.num_values, r->info.item_bytes, &bytes));
    GNT_TRY(gnti_calloc_array(&all, (int64_t)bytes));
    GNT_TRY_H5(read_all(r, r->o.type, all), "read text");
    GNT_TRY(gnti_h5_copy_fixed(all, r->info.item_bytes, H5Tget_strpad(r->o.type) == H5T_STR_SPACEPAD,
                               r->info.num_values, texts));
done:
    gnti_free(all);
    return st;
}

static gnt_status read_variable(const text_reader *r, char **texts)
{
    gnt_status st = GNT_OK;
    const gnti_h5 *file = r->file;
    const char *path = r->path;
    char **lent = NULL;
    hid_t as = make_type(GNTI_FILE_TEXT);
    bool reclaim = false;

    GNT_TRY(gnti_calloc_array(&lent, r->info.num_values));
    GNT_TRY_H5(as, "read text");
    GNT_TRY_H5(H5Tset_cset(as, H5Tget_cset(r->o.type)), "read text");
    GNT_TRY_H5(read_all(r, as, lent), "read text");
    reclaim = true;
    for (int64_t i = 0; i < r->info.num_values; i++)
        GNT_TRY(gnti_strdup(&texts[i], lent[i] != NULL ? lent[i] : ""));
done:
    if (reclaim)
        H5Dvlen_reclaim(as, r->o.space, H5P_DEFAULT, lent);
    drop(as);
    gnti_free(lent);
    return st;
}

static gnt_status read_texts(const gnti_h5 *file, const char *path, const char *attribute, char ***out,
                             int64_t *num)
{
    gnt_status st = GNT_OK;
    text_reader r = { .file = file, .path = path, .attribute = attribute, .o = NOT_OPEN };
    char **texts = NULL;

    GNT_TRY(open_values(file, path, attribute, &r.o, &r.info));
    GNT_CHECK(r.info.type == GNTI_H5_TEXT, GNT_ERR_FORMAT, "'%s%s%s' of file '%s' is no text", path,
              attribute != NULL ? " @" : "", attribute != NULL ? attribute : "", file->path);
    GNT_TRY(gnti_calloc_array(&texts, r.info.num_values));
    if (r.info.num_values > 0 && H5Tis_variable_str(r.o.type) > 0)
        GNT_TRY(read_variable(&r, texts));
    else if (r.info.num_values > 0)
        GNT_TRY(read_fixed(&r, texts));
    GNT_TRY(gnti_h5_check_utf8(file, path, texts, r.info.num_values));
    *out = texts;
    *num = r.info.num_values;
    texts = NULL;
done:
    gnti_h5_free_texts(&texts, r.info.num_values);
    opened_close(&r.o);
    return st;
}

gnt_status gnti_h5_read_texts(const gnti_h5 *file, const char *path, char ***out, int64_t *num)
{
    return read_texts(file, path, NULL, out, num);
}

gnt_status gnti_h5_read_attribute_texts(const gnti_h5 *file, const char *path, const char *attribute,
                                        char ***out, int64_t *num)
{
    return read_texts(file, path, attribute, out, num);
}

/* --- writing --- */

/* Link creation with the groups above and UTF-8 names. */
static gnt_status make_link_list(const gnti_h5 *file, const char *path, hid_t *out)
{
    gnt_status st = GNT_OK;
    hid_t plist = H5Pcreate(H5P_LINK_CREATE);

    silence();
    GNT_TRY_H5(plist, "create");
    GNT_TRY_H5(H5Pset_create_intermediate_group(plist, 1), "create");
    GNT_TRY_H5(H5Pset_char_encoding(plist, H5T_CSET_UTF8), "create");
    *out = plist;
    plist = H5I_INVALID_HID;
done:
    drop(plist);
    return st;
}

gnt_status gnti_h5_make_group(gnti_h5 *file, const char *path)
{
    gnt_status st = GNT_OK;
    hid_t links = H5I_INVALID_HID, group = H5I_INVALID_HID;

    if (gnti_h5_kind_of(file, path) == GNTI_H5_GROUP)
        return GNT_OK;
    GNT_TRY(make_link_list(file, path, &links));
    group = H5Gcreate2(file->id, path, links, H5P_DEFAULT, H5P_DEFAULT);
    GNT_TRY_H5(group, "create group");
done:
    drop(group);
    drop(links);
    return st;
}

/* Chunks that exist only once they are written, and a fill value of one: unweighted arcs cost nothing. */
static gnt_status set_fill_one(const gnti_h5 *file, const char *path, int32_t rank, const int64_t *dims,
                               hid_t plist)
{
    gnt_status st = GNT_OK;
    hsize_t chunk[GNTI_H5_MAX_RANK];
    const int one = 1;

    for (int i = 0; i < rank; i++)
        chunk[i] = (hsize_t)gnti_min_i64(dims[i], CHUNK_VALUES);
    GNT_TRY_H5(H5Pset_chunk(plist, rank, chunk), "create dataset");
    GNT_TRY_H5(H5Pset_fill_value(plist, H5T_NATIVE_INT, &one), "create dataset");
done:
    return st;
}

gnt_status gnti_h5_make_dataset(gnti_h5 *file, const char *path, gnti_dtype_file type, int32_t rank,
                                const int64_t *dims, bool fill_one)
{
    gnt_status st = GNT_OK;
    hid_t links = H5I_INVALID_HID, plist = H5I_INVALID_HID, as = H5I_INVALID_HID, space = H5I_INVALID_HID,
          dataset = H5I_INVALID_HID;
    hsize_t size[GNTI_H5_MAX_RANK];
    bool empty = false;

    GNT_CHECK(rank >= 0 && rank <= GNTI_H5_MAX_RANK, GNT_ERR_ARG, "a dataset of %d dimensions", rank);
    for (int i = 0; i < rank; i++) {
        size[i] = (hsize_t)dims[i];
        empty = empty || dims[i] == 0;
    }
    GNT_TRY(make_link_list(file, path, &links));
    plist = H5Pcreate(H5P_DATASET_CREATE);
    GNT_TRY_H5(plist, "create dataset");
    GNT_TRY_H5(H5Pset_obj_track_times(plist, false), "create dataset"); /* same content, same bytes */
    if (fill_one && !empty)
        GNT_TRY(set_fill_one(file, path, rank, dims, plist));
    as = make_type(type);
    GNT_TRY_H5(as, "create dataset");
    space = rank == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(rank, size, NULL);
    GNT_TRY_H5(space, "create dataset");
    dataset = H5Dcreate2(file->id, path, as, space, links, plist, H5P_DEFAULT);
    GNT_TRY_H5(dataset, "create dataset");
done:
    drop(dataset);
    drop(space);
    drop(as);
    drop(plist);
    drop(links);
    return st;
}

gnt_status gnti_h5_write_rows(gnti_h5 *file, const char *path, gnti_dtype_file type, int64_t first,
                              int64_t count, const void *data)
{
    const motion m = { .path = path, .type = type, .first = first, .count = count, .in = data };
    const gnt_status st = type == GNTI_FILE_TEXT ? gnti_h5_check_utf8(file, path, data, count) : GNT_OK;

    return st != GNT_OK ? st : transfer(file, &m);
}

gnt_status gnti_h5_write_attribute(gnti_h5 *file, const char *path, const char *attribute,
                                   gnti_dtype_file type, const void *values, int64_t num)
{
    gnt_status st = GNT_OK;
    hid_t as, space = H5I_INVALID_HID, a = H5I_INVALID_HID;
    const hsize_t size = (hsize_t)num;

    silence();
    as = make_type(type);
    GNT_TRY_H5(as, "create attribute");
    space = num < 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &size, NULL);
    GNT_TRY_H5(space, "create attribute");
    a = H5Acreate_by_name(file->id, path, attribute, as, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    GNT_TRY_H5(a, "create attribute");
    if (num != 0)
        GNT_TRY_H5(H5Awrite(a, as, values), "write attribute");
done:
    drop(a);
    drop(space);
    drop(as);
    return st;
}
