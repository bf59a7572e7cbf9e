/* SPDX-License-Identifier: Apache-2.0 */
/* The optional members of a dataset file: carried arrays, splits, provenance.
 *
 * An array's axis follows from its path: /nodes/... counts nodes, /edges/... arcs, /graphs/... graphs (but
 * for /graphs/ptr), /pairs/... pairs. Members that we know must have that many rows; others that have not are
 * carried as they are. A split part is a list of indices or a mask (boolean, byte or float, one value a node;
 * of several columns the first counts).
 */
#include "datasets/dataset_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 4, PATH_BYTES = 512 };

/* What dataset_read.c has read already. */
static bool is_read_elsewhere(const char *path)
{
    static const char *const known[] = { "/nodes/x", "/nodes/y", "/nodes/id", "/nodes/classes" };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(path, known[i]) == 0)
            return true;
    return false;
}

/* The axis by path, and whether the schema fixes the number of rows. */
static gnti_axis axis_of(const char *path, bool *fixed)
{
    static const char *const known[] = { "/nodes/type", "/nodes/origin", "/edges/type",
                                         "/edges/x",    "/edges/time",   "/edges/id" };

    *fixed = false;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        *fixed = *fixed || strcmp(path, known[i]) == 0;
    if (strcmp(path, "/graphs/ptr") == 0)
        return GNTI_AXIS_OTHER;
    if (strncmp(path, "/nodes/", 7) == 0)
        return GNTI_AXIS_NODE;
    if (strncmp(path, "/edges/", 7) == 0)
        return GNTI_AXIS_ARC;
    return strncmp(path, "/graphs/", 8) == 0 ? GNTI_AXIS_GRAPH : GNTI_AXIS_PAIR;
}

typedef struct reader {
    const gnti_h5 *file;
    const int64_t *origin;
    int64_t num_stored;
    gnt_dataset *d;
} reader;

/* Rows that an axis has in the file; -1: not known yet. */
static int64_t rows_of(const reader *r, gnti_axis axis)
{
    const gnti_array *pairs;

    switch (axis) {
    case GNTI_AXIS_NODE:
        return r->d->num_nodes;
    case GNTI_AXIS_ARC:
        return r->num_stored;
    case GNTI_AXIS_GRAPH:
        return gnti_dataset_num_graphs(r->d);
    case GNTI_AXIS_PAIR:
        pairs = gnti_dataset_find_array(r->d, "/pairs/nodes");
        return pairs != NULL ? pairs->rows : -1;
    case GNTI_AXIS_OTHER:
        break;
    }
    return -1;
}

/* Puts the rows of a per-arc array in the order of the canonical arcs. */
static gnt_status follow_origin(const reader *r, gnti_array *a)
{
    gnt_status st = GNT_OK;
    const size_t row_bytes = (size_t)a->width * gnti_file_dtype_bytes(a->dtype);
    const int64_t num = r->d->graph->num_arcs;
    char *moved = NULL;

    GNT_CHECK(a->dtype != GNTI_FILE_TEXT, GNT_ERR_FORMAT,
              "'%s' of file '%s' holds texts and '/graph/adj' is not sorted: sort and merge its rows first",
              a->path, gnti_h5_path(r->file));
    GNT_TRY(gnti_array_bytes((void **)(void *)&moved, num, row_bytes, false));
    for (int64_t i = 0; i < num; i++)
        memcpy(moved + (size_t)i * row_bytes, (char *)a->data + (size_t)r->origin[i] * row_bytes, row_bytes);
    gnti_free(a->data);
    a->data = moved;
    a->rows = num;
done:
    return st;
}

static gnt_status read_array(const reader *r, const char *path)
{
    gnt_status st = GNT_OK;
    gnti_array a = { .path = NULL };
    bool fixed;
    int64_t want;

    if (is_read_elsewhere(path) || gnti_dataset_find_array(r->d, path) != NULL)
        return GNT_OK;
    GNT_TRY(gnti_strdup(&a.path, path));
    GNT_TRY(gnti_h5_read_values(r->file, path, &a.dtype, &a.rows, &a.width, &a.data));
    a.axis = axis_of(path, &fixed);
    want = rows_of(r, a.axis);
    GNT_CHECK(a.rows == want || !fixed, GNT_ERR_FORMAT, "'%s' of file '%s' has %lld rows, expected %lld",
              path, gnti_h5_path(r->file), (long long)a.rows, (long long)want);
    if (a.rows != want && strcmp(path, "/pairs/nodes") != 0)
        a.axis = GNTI_AXIS_OTHER;
    if (a.axis == GNTI_AXIS_ARC && r->origin != NULL)
        GNT_TRY(follow_origin(r, &a));
    GNT_TRY(gnti_h5_get_attributes(r->file, path, &a.attributes));
    GNT_TRY(gnti_dataset_take_array(r->d, &a));
done:
    gnti_array_free(&a);
    return st;
}

/* All datasets below a group, by name; what lies deeper than MAX_DEPTH is not ours. */
static gnt_status read_group(const reader *r, const char *group, int depth)
{
    gnt_status st = GNT_OK;
    char **names = NULL, path[PATH_BYTES];
    int64_t num = 0;

    GNT_TRY(gnti_h5_list(r->file, group, &names, &num));
    for (int64_t i = 0; i < num; i++) {
        if ((size_t)snprintf(path, sizeof path, "%s/%s", group, names[i]) >= sizeof path ||
            is_read_elsewhere(path))
            continue;
        switch (gnti_h5_kind_of(r->file, path)) {
        case GNTI_H5_DATASET:
            GNT_TRY(read_array(r, path));
            break;
        case GNTI_H5_GROUP:
            if (depth < MAX_DEPTH)
                GNT_TRY(read_group(r, path, depth + 1));
            break;
        case GNTI_H5_NOTHING:
            break;
        }
    }
done:
    gnti_h5_free_texts(&names, num);
    return st;
}

gnt_status gnti_dataset_read_arrays(const gnti_h5 *file, const int64_t *origin, int64_t num_stored,
                                    gnt_dataset *d)
{
    gnt_status st = GNT_OK;
    const reader r = { .file = file, .origin = origin, .num_stored = num_stored, .d = d };

    if (gnti_h5_kind_of(file, "/graphs/ptr") == GNTI_H5_DATASET)
        GNT_TRY(read_array(&r, "/graphs/ptr"));
    if (gnti_h5_kind_of(file, "/pairs/nodes") == GNTI_H5_DATASET)
        GNT_TRY(read_array(&r, "/pairs/nodes"));
    GNT_TRY(read_group(&r, "/nodes", 1));
    GNT_TRY(read_group(&r, "/edges", 1));
    GNT_TRY(read_group(&r, "/graphs", 1));
    GNT_TRY(read_group(&r, "/pairs", 1));
done:
    return st;
}

/* --- splits --- */

static int compare_i64(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static gnt_status read_mask(const gnti_h5 *file, const char *path, int64_t rows, int64_t width,
                            int64_t **nodes, int64_t *num_nodes)
{
    gnt_status st = GNT_OK;
    float *mask = NULL;
    int64_t num = 0;

    GNT_TRY(gnti_array_bytes((void **)(void *)&mask, rows * width, sizeof *mask, false));
    GNT_TRY(gnti_h5_read_floats(file, path, rows, width, mask));
    GNT_TRY(gnti_alloc_array(nodes, rows));
    for (int64_t i = 0; i < rows; i++) {
        const float m = mask[i * width];

        GNT_CHECK(m == 0.0f || m == 1.0f, GNT_ERR_FORMAT,
                  "mask '%s' of file '%s' has %g in row %lld, expected 0 or 1", path, gnti_h5_path(file),
                  (double)m, (long long)i);
        if (m == 1.0f)
            (*nodes)[num++] = i;
    }
    *num_nodes = num;
done:
    gnti_free(mask);
    return st;
}

bool gnti_dataset_is_mask(const gnti_h5_info *info, int64_t num_nodes)
{
    return (info->type == GNTI_H5_FLOAT || (info->type == GNTI_H5_INT && info->item_bytes == 1)) &&
           info->rank > 0 && info->dims[0] == num_nodes && info->dims[1] * info->dims[2] * info->dims[3] > 0;
}

static gnt_status read_part(const gnti_h5 *file, const char *path, int64_t limit, bool lists, int64_t **nodes,
                            int64_t *num)
{
    gnt_status st = GNT_OK;
    gnti_h5_info info;
    int64_t width;

    if (gnti_h5_kind_of(file, path) != GNTI_H5_DATASET)
        return lists ? gnti_alloc_array(nodes, 0) : GNT_OK;
    GNT_TRY(gnti_h5_expect(file, path, -1, -1, &info));
    width = info.dims[1] * info.dims[2] * info.dims[3];
    if (gnti_dataset_is_mask(&info, limit)) {
        GNT_TRY(read_mask(file, path, limit, width, nodes, num));
        if (!lists) {
            gnti_free(*nodes);
            *nodes = NULL;
        }
        return GNT_OK;
    }
    GNT_CHECK(info.num_values <= limit, GNT_ERR_FORMAT, "'%s' of file '%s' lists %lld of %lld nodes", path,
              gnti_h5_path(file), (long long)info.num_values, (long long)limit);
    *num = info.num_values;
    if (!lists)
        return GNT_OK;
    GNT_TRY(gnti_alloc_array(nodes, info.num_values));
    GNT_TRY(gnti_h5_read_i64(file, path, info.num_values, *nodes));
    qsort(*nodes, (size_t)*num, sizeof **nodes, compare_i64);
done:
    return st;
}

static gnt_status read_split(const gnti_h5 *file, const char *name, int64_t limit, bool lists, gnti_split *s)
{
    static const char *const parts[] = { "train", "valid", "test" };
    gnt_status st = GNT_OK;
    char group[PATH_BYTES - 16], path[PATH_BYTES];
    int64_t seed = 0, inductive = 0;
    bool found;

    snprintf(group, sizeof group, "/splits/%s", name);
    GNT_TRY(gnti_strdup(&s->name, name));
    GNT_TRY(gnti_h5_get_text(file, group, "kind", &found, &s->kind));
    GNT_TRY(gnti_h5_get_text(file, group, "source", &found, &s->source));
    GNT_TRY(gnti_h5_get_int(file, group, "seed", &found, &seed));
    GNT_TRY(gnti_h5_get_int(file, group, "inductive", &found, &inductive));
    s->seed = (uint64_t)seed;
    s->inductive = inductive != 0;
    for (int part = 0; part < 3; part++) {
        snprintf(path, sizeof path, "%s/%s", group, parts[part]);
        GNT_TRY(read_part(file, path, limit, lists, &s->nodes[part], &s->num_nodes[part]));
    }
done:
    return st;
}

gnt_status gnti_dataset_read_splits(const gnti_h5 *file, bool lists, gnt_dataset *d)
{
    gnt_status st = GNT_OK;
    const int64_t limit = gnti_dataset_splits_graphs(d) ? gnti_dataset_num_graphs(d) : d->num_nodes;
    gnti_split split = { .name = NULL };
    char **names = NULL, path[PATH_BYTES];
    int64_t num = 0;

    GNT_TRY(gnti_h5_list(file, "/splits", &names, &num));
    for (int64_t i = 0; i < num; i++) {
        GNT_CHECK(strlen(names[i]) < PATH_BYTES - 64, GNT_ERR_FORMAT,
                  "file '%s' has a split whose name has %zu letters", gnti_h5_path(file), strlen(names[i]));
        snprintf(path, sizeof path, "/splits/%s", names[i]);
        if (gnti_h5_kind_of(file, path) != GNTI_H5_GROUP)
            continue;
        GNT_TRY(read_split(file, names[i], limit, lists, &split));
        GNT_TRY(gnti_dataset_take_split(d, &split));
    }
done:
    gnti_split_free(&split);
    gnti_h5_free_texts(&names, num);
    return st;
}

gnt_status gnti_dataset_read_provenance(const gnti_h5 *file, gnt_dataset *d)
{
    gnt_status st = GNT_OK;
    gnti_h5_info info;
    char **texts = NULL;
    int64_t num = 0;

    if (gnti_h5_kind_of(file, "/provenance") != GNTI_H5_DATASET)
        return GNT_OK;
    GNT_TRY(gnti_h5_expect(file, "/provenance", 1, 1, &info));
    GNT_TRY(gnti_h5_read_texts(file, "/provenance", &texts, &num));
    d->provenance = texts[0];
    texts[0] = NULL;
done:
    gnti_h5_free_texts(&texts, num);
    return st;
}
