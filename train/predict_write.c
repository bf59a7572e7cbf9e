/* SPDX-License-Identifier: Apache-2.0 */
/* Predictions as CSV (RFC 4180), NumPy .npy (format 1.0, little-endian, C order) and HDF5 (/id, /prediction or another
 * name; readable in one line of h5py).
 */
#include "train/predict_table.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "datasets/h5_value.h"

#include <stdio.h>
#include <string.h>

enum { NPY_HEADER_BYTES = 128 };

static int64_t node_of(const gnti_predict_table *t, int64_t row)
{
    return t->order != NULL ? t->order[row] : row;
}

/* Columns of an ensemble behind the predictions. */
static const char *const extra_names[] = { "entropy", "disagreement" };
enum { NUM_EXTRAS = sizeof extra_names / sizeof extra_names[0] };

static const float *extra(const gnti_predict_table *t, int which)
{
    return which == 0 ? t->entropy : t->disagreement;
}

/* A CSV field, in quotes when it needs them. */
static gnt_status write_field(gnti_file_writer *w, const char *text)
{
    gnt_status st = GNT_OK;

    if (strpbrk(text, ",\"\r\n") == NULL) {
        GNT_TRY(gnti_file_writer_printf(w, "%s", text));
        goto done;
    }
    GNT_TRY(gnti_file_writer_write(w, "\"", 1));
    for (; *text != 0; text++)
        GNT_TRY(gnti_file_writer_write(w, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1));
    GNT_TRY(gnti_file_writer_write(w, "\"", 1));
done:
    return st;
}

/* The id of an output row: the user's, or the row itself, which is that of the imported dataset whatever the file's order. */
static int64_t id_of(const gnti_predict_table *t, int64_t row)
{
    return t->data->id != NULL ? t->data->id[node_of(t, row)] : row;
}

static gnt_status write_id(gnti_file_writer *w, const gnti_predict_table *t, int64_t row, bool quoted)
{
    gnt_status st = GNT_OK;
    const gnt_dataset *data = t->data;
    const int64_t node = node_of(t, row);

    if (data->id_text != NULL && quoted)
        GNT_TRY(write_field(w, data->id_text[node]));
    else if (data->id_text != NULL)
        GNT_TRY(gnti_file_writer_printf(w, "%s", data->id_text[node]));
    else
        GNT_TRY(gnti_file_writer_printf(w, "%lld", (long long)id_of(t, row)));
done:
    return st;
}

static gnt_status write_csv_head(gnti_file_writer *w, const gnti_predict_table *t)
{
    gnt_status st = GNT_OK;
    char name[64];

    GNT_TRY(gnti_file_writer_printf(w, "id"));
    if (t->classes != NULL)
        GNT_TRY(gnti_file_writer_printf(w, ",%s", t->column));
    for (int64_t c = 0; t->classes == NULL && c < t->width; c++) {
        snprintf(name, sizeof name, "%s_%lld", t->column, (long long)c);
        GNT_TRY(gnti_file_writer_write(w, ",", 1));
        GNT_TRY(write_field(w, t->class_names != NULL ? t->class_names[c] : name));
    }
    for (int e = 0; e < NUM_EXTRAS; e++)
        if (extra(t, e) != NULL)
            GNT_TRY(gnti_file_writer_printf(w, ",%s", extra_names[e]));
    GNT_TRY(gnti_file_writer_write(w, "\n", 1));
done:
    return st;
}

static gnt_status write_csv_row(gnti_file_writer *w, const gnti_predict_table *t, int64_t row)
{
    gnt_status st = GNT_OK;
    const int64_t node = node_of(t, row);
    char number[GNTI_NUMBER_BYTES];

    GNT_TRY(write_id(w, t, row, true));
    if (t->classes != NULL) {
        GNT_TRY(gnti_file_writer_write(w, ",", 1));
        if (t->class_names != NULL)
            GNT_TRY(write_field(w, t->class_names[t->classes[node]]));
        else
            GNT_TRY(gnti_file_writer_printf(w, "%d", (int)t->classes[node]));
    }
    for (int64_t c = 0; t->classes == NULL && c < t->width; c++) {
        gnti_format_float(t->values[node * t->width + c], number);
        GNT_TRY(gnti_file_writer_printf(w, ",%s", number));
    }
    for (int e = 0; e < NUM_EXTRAS; e++)
        if (extra(t, e) != NULL) {
            gnti_format_float(extra(t, e)[node], number);
            GNT_TRY(gnti_file_writer_printf(w, ",%s", number));
        }
    GNT_TRY(gnti_file_writer_write(w, "\n", 1));
done:
    return st;
}

gnt_status gnti_predict_write_csv(const gnti_predict_table *t, const char *path)
{
    gnt_status st = GNT_OK;
    gnti_file_writer *w = NULL;

    GNT_TRY(gnti_file_writer_open(path, &w));
    GNT_TRY(write_csv_head(w, t));
    for (int64_t r = 0; r < t->num_rows; r++)
        GNT_TRY(write_csv_row(w, t, r));
    GNT_TRY(gnti_file_writer_commit(&w));
done:
    gnti_file_writer_abandon(&w);
    return st;
}

/* Magic, version, length of the header, then a Python dictionary padded so that the data start at a multiple of 64. */
static gnt_status write_npy_head(gnti_file_writer *w, const char *type, const char *shape)
{
    gnt_status st = GNT_OK;
    char head[NPY_HEADER_BYTES + 1];
    int used = 0;

    memset(head, ' ', sizeof head);
    memcpy(head, "\x93NUMPY\x01\x00", 8);
    head[8] = (char)(NPY_HEADER_BYTES - 10);
    head[9] = 0;
    used = snprintf(head + 10, NPY_HEADER_BYTES - 10,
                    "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", type, shape);
    head[10 + used] = ' ';
    head[NPY_HEADER_BYTES - 1] = '\n';
    GNT_TRY(gnti_file_writer_write(w, head, NPY_HEADER_BYTES));
done:
    return st;
}

/* PATH.WHAT, to be freed. */
static gnt_status path_beside(const char *path, const char *what, char **out)
{
    gnti_text name = { 0 };

    gnti_text_printf(&name, "%s.%s", path, what);
    return gnti_text_take(&name, out);
}

static gnt_status write_ids_beside(const gnti_predict_table *t, const char *path)
{
    gnt_status st = GNT_OK;
    gnti_file_writer *w = NULL;
    char *ids = NULL;

    GNT_TRY(path_beside(path, "ids.txt", &ids));
    GNT_TRY(gnti_file_writer_open(ids, &w));
    for (int64_t r = 0; r < t->num_rows; r++) {
        GNT_TRY(write_id(w, t, r, false));
        GNT_TRY(gnti_file_writer_write(w, "\n", 1));
    }
    GNT_TRY(gnti_file_writer_commit(&w));
done:
    gnti_file_writer_abandon(&w);
    gnti_free(ids);
    return st;
}

/* PATH.entropy.npy and PATH.disagreement.npy, (N) each: a .npy has one array. */
static gnt_status write_extra_beside(const gnti_predict_table *t, int which, const char *path)
{
    gnt_status st = GNT_OK;
    gnti_file_writer *w = NULL;
    char name[32], shape[64], *beside = NULL;

    snprintf(name, sizeof name, "%s.npy", extra_names[which]);
    snprintf(shape, sizeof shape, "(%lld,)", (long long)t->num_rows);
    GNT_TRY(path_beside(path, name, &beside));
    GNT_TRY(gnti_file_writer_open(beside, &w));
    GNT_TRY(write_npy_head(w, "<f4", shape));
    for (int64_t r = 0; r < t->num_rows; r++)
        GNT_TRY(gnti_file_writer_write(w, &extra(t, which)[node_of(t, r)], sizeof(float)));
    GNT_TRY(gnti_file_writer_commit(&w));
done:
    gnti_file_writer_abandon(&w);
    gnti_free(beside);
    return st;
}

gnt_status gnti_predict_write_npy(const gnti_predict_table *t, const char *path)
{
    gnt_status st = GNT_OK;
    gnti_file_writer *w = NULL;
    char shape[64];

    if (t->data->id != NULL || t->data->id_text != NULL)
        GNT_TRY(write_ids_beside(t, path));
    for (int e = 0; e < NUM_EXTRAS; e++)
        if (extra(t, e) != NULL)
            GNT_TRY(write_extra_beside(t, e, path));
    if (t->classes != NULL)
        snprintf(shape, sizeof shape, "(%lld,)", (long long)t->num_rows);
    else
        snprintf(shape, sizeof shape, "(%lld, %lld)", (long long)t->num_rows, (long long)t->width);
    GNT_TRY(gnti_file_writer_open(path, &w));
    GNT_TRY(write_npy_head(w, t->classes != NULL ? "<i4" : "<f4", shape));
    for (int64_t r = 0; r < t->num_rows; r++) {
        const int64_t node = node_of(t, r);

        if (t->classes != NULL)
            GNT_TRY(gnti_file_writer_write(w, &t->classes[node], sizeof *t->classes));
        else
            GNT_TRY(
                gnti_file_writer_write(w, t->values + node * t->width, (size_t)t->width * sizeof *t->values));
    }
    GNT_TRY(gnti_file_writer_commit(&w));
done:
    gnti_file_writer_abandon(&w);
    return st;
}

static gnt_status write_h5_ids(const gnti_predict_table *t, gnti_h5 *file)
{
    gnt_status st = GNT_OK;
    const char **texts = NULL;
    int64_t *ids = NULL;

    if (t->data->id_text != NULL) {
        GNT_TRY(gnti_alloc_array(&texts, t->num_rows));
        for (int64_t r = 0; r < t->num_rows; r++)
            texts[r] = t->data->id_text[node_of(t, r)];
        GNT_TRY(gnti_h5_write_values(file, "/id", GNTI_FILE_TEXT, 1, &t->num_rows, texts));
        goto done;
    }
    GNT_TRY(gnti_alloc_array(&ids, t->num_rows));
    for (int64_t r = 0; r < t->num_rows; r++)
        ids[r] = id_of(t, r);
    GNT_TRY(gnti_h5_write_values(file, "/id", GNTI_FILE_I64, 1, &t->num_rows, ids));
done:
    gnti_free(texts);
    gnti_free(ids);
    return st;
}

static gnt_status write_h5_values(const gnti_predict_table *t, gnti_h5 *file)
{
    gnt_status st = GNT_OK;
    const size_t item = t->classes != NULL ? sizeof *t->classes : (size_t)t->width * sizeof *t->values;
    const char *from = t->classes != NULL ? (const char *)t->classes : (const char *)t->values;
    const int64_t dims[] = { t->num_rows, t->width };
    char path[32], *rows = NULL;
    size_t bytes = 0;

    GNT_TRY(gnti_mul_size((size_t)t->num_rows, item, &bytes));
    GNT_TRY(gnti_alloc_bytes((void **)(void *)&rows, bytes));
    for (int64_t r = 0; r < t->num_rows; r++)
        memcpy(rows + (size_t)r * item, from + (size_t)node_of(t, r) * item, item);
    snprintf(path, sizeof path, "/%s", t->column);
    GNT_TRY(gnti_h5_write_values(file, path, t->classes != NULL ? GNTI_FILE_I32 : GNTI_FILE_F32,
                                 t->classes != NULL ? 1 : 2, dims, rows));
    if (t->class_names != NULL) {
        const int64_t num = t->width;

        GNT_TRY(gnti_h5_write_values(file, "/classes", GNTI_FILE_TEXT, 1, &num, t->class_names));
    }
done:
    gnti_free(rows);
    return st;
}

static gnt_status write_h5_extra(const gnti_predict_table *t, int which, gnti_h5 *file)
{
    gnt_status st = GNT_OK;
    float *rows = NULL;
    char path[32];

    GNT_TRY(gnti_alloc_array(&rows, t->num_rows));
    for (int64_t r = 0; r < t->num_rows; r++)
        rows[r] = extra(t, which)[node_of(t, r)];
    snprintf(path, sizeof path, "/%s", extra_names[which]);
    GNT_TRY(gnti_h5_write_values(file, path, GNTI_FILE_F32, 1, &t->num_rows, rows));
done:
    gnti_free(rows);
    return st;
}

gnt_status gnti_predict_write_h5(const gnti_predict_table *t, const char *path)
{
    gnt_status st = GNT_OK;
    gnti_h5 *file = NULL;

    GNT_TRY(gnti_h5_create(path, &file));
    GNT_TRY(gnti_h5_set_text(file, "/", "format", "gnntrain-predictions"));
    GNT_TRY(gnti_h5_set_text(file, "/", "format_version", "1.0"));
    GNT_TRY(write_h5_ids(t, file));
    GNT_TRY(write_h5_values(t, file));
    for (int e = 0; e < NUM_EXTRAS; e++)
        if (extra(t, e) != NULL)
            GNT_TRY(write_h5_extra(t, e, file));
    GNT_TRY(gnti_h5_commit(&file, NULL));
done:
    gnti_h5_close(&file);
    return st;
}

/* ---- by suffix ---- */

typedef gnt_status (*writer)(const gnti_predict_table *t, const char *path);

static writer find_writer(const char *path)
{
    const char *suffix = strrchr(path, '.');

    if (suffix == NULL)
        return NULL;
    return strcmp(suffix, ".csv") == 0   ? gnti_predict_write_csv
           : strcmp(suffix, ".npy") == 0 ? gnti_predict_write_npy
           : strcmp(suffix, ".h5") == 0  ? gnti_predict_write_h5
                                         : NULL;
}

gnt_status gnti_predict_check_name(const char *path)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(find_writer(path) != NULL, GNT_ERR_USAGE, "'%s' ends with none of .csv, .npy, .h5", path);
done:
    return st;
}

gnt_status gnti_predict_write(const gnti_predict_table *t, const char *path)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_predict_check_name(path));
    GNT_TRY(find_writer(path)(t, path));
done:
    return st;
}
