/* SPDX-License-Identifier: Apache-2.0 */
/* Predictions of a member, mapped. A .npy of float32 in the dataset's own order is shown where it lies; anything else is moved
 * into a file without a name, which is mapped too: so the system may write it back, and memory of our own does not grow with
 * the number of members.
 *
 * Rows of a .npy without names beside it (PATH.ids.txt) are those of the dataset that was imported, as gnntrain predict
 * writes them, whatever order the dataset is stored in now.
 */
#include "ensemble/votes_read.h"

#include "base/file.h"
#include "datasets/npy.h"
#include "datasets/reader.h"
#include "train/predict_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_LIMIT = 4096 };

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

/* ---- room ---- */

gnt_status gnti_votes_make_room(const gnt_dataset *data, gnti_votes *v, float **values)
{
    gnt_status st = GNT_OK;
    const char *folder = getenv("TMPDIR");
    char name[PATH_LIMIT];
    size_t bytes = 0;
    void *room = MAP_FAILED;
    int fd = -1, error = 0;

    GNT_TRY(gnti_mul_size((size_t)data->num_nodes, (size_t)data->y.num_classes, &bytes));
    GNT_TRY(gnti_mul_size(bytes, sizeof(float), &bytes));
    snprintf(name, sizeof name, "%s/gnntrain-XXXXXX",
             folder != NULL && folder[0] != '\0' && strlen(folder) < PATH_LIMIT - 32 ? folder : "/tmp");
    fd = mkostemp(name, O_CLOEXEC);
    GNT_CHECK(fd >= 0, GNT_ERR_OUTPUT, "cannot make a temporary file '%s': %s (TMPDIR names another folder)",
              name, strerror(errno));
    unlink(name);
    error = bytes > 0 ? posix_fallocate(fd, 0, (off_t)bytes) : 0;
    GNT_CHECK(error == 0, error == ENOSPC || error == EDQUOT ? GNT_ERR_DISK_FULL : GNT_ERR_OUTPUT,
              "%zu bytes in the folder of temporary files: %s (TMPDIR names another folder)", bytes,
              strerror(error));
    if (bytes > 0) {
        room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        GNT_CHECK(room != MAP_FAILED, GNT_ERR_NOMEM, "cannot map %zu bytes: %s", bytes, strerror(errno));
        v->mapping = room;
        v->mapping_bytes = bytes;
    }
    v->num_rows = data->num_nodes;
    v->num_classes = data->y.num_classes;
    v->values = v->mapping;
    *values = v->mapping;
done:
    if (fd >= 0)
        close(fd);
    return st;
}

void gnti_votes_close(gnti_votes *v)
{
    if (v->mapping != NULL)
        munmap(v->mapping, v->mapping_bytes);
    gnti_free(v->name);
    *v = (gnti_votes){ 0 };
}

/* ---- .npy ---- */

/* By lines of PATH.ids.txt. */
static gnt_status read_ids_beside(const char *ids, const gnt_dataset *data, int64_t num_rows, int64_t *node)
{
    gnt_status st = GNT_OK;
    gnti_reader reader = { 0 };
    gnti_id_join join = { 0 };

    GNT_TRY(gnti_id_join_begin(data, ids, &join));
    GNT_TRY(gnti_reader_open(ids, &reader));
    while (gnti_reader_next(&reader)) {
        GNT_CHECK(join.num_rows < num_rows, GNT_ERR_FORMAT, "'%s' has more than the %lld rows of its array",
                  ids, (long long)num_rows);
        GNT_TRY(gnti_id_join_next(&join, reader.line, reader.length, &node[join.num_rows]));
    }
    GNT_TRY(gnti_reader_status(&reader));
    GNT_TRY(gnti_id_join_finish(&join));
done:
    gnti_reader_close(&reader);
    gnti_id_join_free(&join);
    return st;
}

/* The node of each row; NULL: row r is node r. */
static gnt_status find_nodes(const char *path, const gnt_dataset *data, int64_t **out)
{
    gnt_status st = GNT_OK;
    char ids[PATH_LIMIT + 16];
    int64_t *node = NULL, moved = 0;

    snprintf(ids, sizeof ids, "%s.ids.txt", path);
    if (strlen(path) < PATH_LIMIT && gnti_file_exists(ids)) {
        GNT_TRY(gnti_alloc_array(&node, data->num_nodes));
        GNT_TRY(read_ids_beside(ids, data, data->num_nodes, node));
        for (int64_t r = 0; r < data->num_nodes; r++)
            moved += node[r] != r;
        if (moved == 0) {
            gnti_free(node);
            node = NULL;
        }
    } else {
        GNT_TRY(gnti_output_order(data, &node));
    }
    *out = node;
    node = NULL;
done:
    gnti_free(node);
    return st;
}

static gnt_status check_shape(const char *path, const gnti_npy *a, const gnt_dataset *data)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(a->num_dimensions == 2, GNT_ERR_FORMAT,
              "'%s' has %d dimensions, 2 are needed: a row per node, a column per class%s", path,
              a->num_dimensions,
              a->num_dimensions == 1 ? " (gnntrain predict --what probabilities writes them)" : "");
    GNT_CHECK(a->shape[0] == data->num_nodes && a->shape[1] == data->y.num_classes, GNT_ERR_FORMAT,
              "'%s' has %lld rows of %lld values, the dataset has %lld nodes and %lld classes", path,
              (long long)a->shape[0], (long long)a->shape[1], (long long)data->num_nodes,
              (long long)data->y.num_classes);
done:
    return st;
}

/* Shows the values where they lie, or moves them. mapping is handed over on success. */
static gnt_status take_mapped(const char *path, const gnt_dataset *data, char **mapping, size_t bytes,
                              int64_t data_at, gnti_votes *v)
{
    gnt_status st = GNT_OK;
    const int64_t width = data->y.num_classes;
    const float *from = (const float *)(const void *)(*mapping + data_at);
    int64_t *node = NULL;
    float *values = NULL;

    GNT_TRY(find_nodes(path, data, &node));
    if (node == NULL) {
        v->mapping = *mapping;
        v->mapping_bytes = bytes;
        v->values = from;
        v->num_rows = data->num_nodes;
        v->num_classes = width;
        *mapping = NULL;
        goto done;
    }
    GNT_TRY(gnti_votes_make_room(data, v, &values));
    for (int64_t r = 0; r < data->num_nodes; r++)
        memcpy(values + node[r] * width, from + r * width, (size_t)width * sizeof *values);
done:
    gnti_free(node);
    return st;
}

/* Other types and orders, and what is compressed: read as a whole, then moved. */
static gnt_status read_other(const char *path, const gnt_dataset *data, gnti_votes *v)
{
    gnt_status st = GNT_OK;
    gnti_byte_source *source = NULL;
    gnti_npz npz = { 0 };
    const gnti_npy *a = NULL;
    const int64_t width = data->y.num_classes;
    int64_t *node = NULL;
    float *values = NULL;

    GNT_TRY(gnti_byte_source_open(path, &source));
    GNT_TRY(gnti_npy_read(source, &npz));
    GNT_TRY(gnti_npz_find_readable(&npz, "array", &a));
    GNT_TRY(check_shape(path, a, data));
    GNT_TRY(find_nodes(path, data, &node));
    GNT_TRY(gnti_votes_make_room(data, v, &values));
    for (int64_t r = 0; r < data->num_nodes; r++)
        for (int64_t c = 0; c < width; c++)
            GNT_TRY(
                gnti_npy_float(&npz, a, r * width + c, &values[(node != NULL ? node[r] : r) * width + c]));
done:
    gnti_npz_clear(&npz);
    gnti_byte_source_free(&source);
    gnti_free(node);
    return st;
}

static gnt_status map_file(const char *path, char **mapping, size_t *bytes)
{
    gnt_status st = GNT_OK;
    struct stat s = { 0 };
    void *block = NULL;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return gnti_error_errno(errno, 0, "open", path);
    GNT_CHECK(fstat(fd, &s) == 0 && S_ISREG(s.st_mode), GNT_ERR_IO, "'%s' is no file", path);
    GNT_CHECK(s.st_size > 0, GNT_ERR_FORMAT, "'%s' is empty", path);
    block = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    GNT_CHECK(block != MAP_FAILED, GNT_ERR_IO, "cannot map '%s': %s", path, strerror(errno));
    *mapping = block;
    *bytes = (size_t)s.st_size;
done:
    close(fd);
    return st;
}

static bool is_plain(const gnti_npy *a, int64_t data_at)
{
    return a->kind == 'f' && a->item_bytes == 4 && !a->swapped && !a->fortran &&
           data_at % (int64_t)sizeof(float) == 0;
}

static gnt_status read_npy(const char *path, const gnt_dataset *data, gnti_votes *v)
{
    gnt_status st = GNT_OK;
    char *mapping = NULL;
    size_t bytes = 0;
    gnti_npy head = { 0 };
    int64_t data_at = 0;

    GNT_TRY(map_file(path, &mapping, &bytes));
    if (bytes < 6 || memcmp(mapping, "\x93NUMPY", 6) != 0) {
        GNT_TRY(read_other(path, data, v));
        goto done;
    }
    GNT_TRY(gnti_npy_read_head(path, mapping, bytes, &head, &data_at));
    if (!is_plain(&head, data_at)) {
        GNT_TRY(read_other(path, data, v));
        goto done;
    }
    GNT_TRY(check_shape(path, &head, data));
    GNT_CHECK((int64_t)bytes - data_at == head.count * (int64_t)sizeof(float), GNT_ERR_FORMAT,
              "'%s': %lld bytes of items, but its shape makes %lld", path, (long long)bytes - data_at,
              (long long)head.count * (long long)sizeof(float));
    GNT_TRY(take_mapped(path, data, &mapping, bytes, data_at, v));
done:
    if (mapping != NULL)
        munmap(mapping, bytes);
    return st;
}

/* ---- all of them ---- */

/* "m03" of RUN/members/m03/logits.npy, else the file's name without its suffix. */
static gnt_status name_of(const char *path, char **out)
{
    gnt_status st = GNT_OK;
    gnti_text t = { 0 };
    const char *file = strrchr(path, '/'), *dot = NULL;

    file = file != NULL ? file + 1 : path;
    if (strcmp(file, "logits.npy") == 0 && file > path + 1) {
        const char *end = file - 1, *begin = end;

        while (begin > path && begin[-1] != '/')
            begin--;
        gnti_text_append_bytes(&t, begin, (size_t)(end - begin));
    } else {
        dot = strrchr(file, '.');
        gnti_text_append_bytes(&t, file, dot != NULL && dot > file ? (size_t)(dot - file) : strlen(file));
    }
    GNT_TRY(gnti_text_take(&t, out));
done:
    return st;
}

gnt_status gnti_votes_open(const char *path, const gnt_dataset *data, gnti_votes *out)
{
    gnt_status st = GNT_OK;
    gnti_votes v = { 0 };

    GNT_CHECK(data->y.kind != GNT_LABELS_NONE && data->y.num_classes > 0, GNT_ERR_USAGE,
              "the dataset has no labels: predictions of it cannot be combined");
    GNT_TRY(name_of(path, &v.name));
    v.are_logits = data->y.kind == GNT_LABELS_REGRESSION || ends_with(path, "logits.npy") ||
                   ends_with(path, "logits.h5") || ends_with(path, "logits.csv");
    if (ends_with(path, ".npy"))
        GNT_TRY(read_npy(path, data, &v));
    else if (ends_with(path, ".h5"))
        GNT_TRY(gnti_votes_read_h5(path, data, &v));
    else if (ends_with(path, ".csv"))
        GNT_TRY(gnti_votes_read_csv(path, data, &v));
    else
        GNT_FAIL(GNT_ERR_USAGE, "'%s' ends with none of .csv, .npy, .h5", path);
    *out = v;
    v = (gnti_votes){ 0 };
done:
    gnti_votes_close(&v);
    return st;
}

gnt_status gnti_votes_write(const char *path, const gnt_dataset *data, const float *logits,
                            int64_t num_classes)
{
    gnt_status st = GNT_OK;
    gnt_dataset nameless = *data; /* a run knows its dataset: no names beside each member */
    int64_t *order = NULL;

    nameless.id = NULL;
    nameless.id_text = NULL;
    GNT_TRY(gnti_output_order(data, &order));
    const gnti_predict_table table = { .data = &nameless,
                                       .order = order,
                                       .num_rows = data->num_nodes,
                                       .width = num_classes,
                                       .values = logits,
                                       .column = "logit" };

    GNT_TRY(gnti_predict_write_npy(&table, path));
done:
    gnti_free(order);
    return st;
}
