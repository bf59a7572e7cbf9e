/* SPDX-License-Identifier: Apache-2.0 */
/* Values of HDF5 datasets and attributes: their types, shapes, numbers and texts, read and written (calls: h5_library.h).
 * On disk all is little-endian; the library converts.
 */
#include "datasets/h5_library.h"

#include <string.h>

enum { CHUNK_VALUES = 1 << 20 }; /* values a chunk */

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
    gnti_h5_drop(plist);
}

/* A dataset or one of its (or a group's) attributes, opened with its type and space. */
typedef struct opened {
    hid_t id, type, space;
} opened;

static void opened_close(opened *o)
{
    gnti_h5_drop(o->space);
    gnti_h5_drop(o->type);
    gnti_h5_drop(o->id);
}

/* *o starts as NOT_OPEN, so that the caller may close it whatever comes. */
static const opened NOT_OPEN = { H5I_INVALID_HID, H5I_INVALID_HID, H5I_INVALID_HID };

static gnt_status open_values(const gnti_h5 *file, const char *path, const char *attribute, opened *o,
                              gnti_h5_info *info)
{
    gnt_status st = GNT_OK;

    memset(info, 0, sizeof *info);
    GNT_CHECK(gnti_h5_exists(file, path), GNT_ERR_FORMAT, "file '%s' has no '%s'", file->path, path);
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

    gnti_h5_enter();
    GNT_TRY(open_values(file, path, attribute, &o, &info));
    *out = info;
done:
    opened_close(&o);
    gnti_h5_leave();
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

    gnti_h5_enter();
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
    gnti_h5_drop(memory);
    gnti_h5_drop(as);
    opened_close(&o);
    gnti_h5_leave();
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
    gnti_h5_drop(as);
    gnti_free(lent);
    return st;
}

static gnt_status read_texts(const gnti_h5 *file, const char *path, const char *attribute, char ***out,
                             int64_t *num)
{
    gnt_status st = GNT_OK;
    text_reader r = { .file = file, .path = path, .attribute = attribute, .o = NOT_OPEN };
    char **texts = NULL;

    gnti_h5_enter();
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
    gnti_h5_leave();
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

    gnti_h5_enter();
    GNT_CHECK(rank >= 0 && rank <= GNTI_H5_MAX_RANK, GNT_ERR_ARG, "a dataset of %d dimensions", rank);
    for (int i = 0; i < rank; i++) {
        size[i] = (hsize_t)dims[i];
        empty = empty || dims[i] == 0;
    }
    GNT_TRY(gnti_h5_link_list(file, path, &links));
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
    gnti_h5_drop(dataset);
    gnti_h5_drop(space);
    gnti_h5_drop(as);
    gnti_h5_drop(plist);
    gnti_h5_drop(links);
    gnti_h5_leave();
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

    gnti_h5_enter();
    as = make_type(type);
    GNT_TRY_H5(as, "create attribute");
    space = num < 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &size, NULL);
    GNT_TRY_H5(space, "create attribute");
    a = H5Acreate_by_name(file->id, path, attribute, as, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    GNT_TRY_H5(a, "create attribute");
    if (num != 0)
        GNT_TRY_H5(H5Awrite(a, as, values), "write attribute");
done:
    gnti_h5_drop(a);
    gnti_h5_drop(space);
    gnti_h5_drop(as);
    gnti_h5_leave();
    return st;
}
