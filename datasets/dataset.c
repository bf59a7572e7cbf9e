/* SPDX-License-Identifier: Apache-2.0 */
/* Life cycle of datasets in memory and the public calls around them.
 *
 * A dataset is filled part by part by a reader, a generator or from_arrays, and is read-only afterwards.
 * Parts are taken in whole, so that a half-filled dataset can always be freed.
 */
#include "datasets/dataset.h"

#include "base/text.h"

#include <string.h>
#include <unistd.h>

double gnti_physical_memory(void)
{
    const double bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);

    return bytes > 0.0 ? bytes : 0.0;
}

void gnti_dataset_set_context(gnt_dataset *data, gnt_context *ctx)
{
    gnti_objects *before = data->objects;

    data->ctx = ctx;
    data->objects = gnti_objects_add(ctx, GNTI_OBJECT_DATASET);
    gnti_objects_drop(&before, GNTI_OBJECT_DATASET);
}

gnt_status gnti_dataset_create(gnt_context *ctx, int64_t num_nodes, gnt_dataset **out)
{
    gnt_status st = GNT_OK;
    gnt_dataset *d = NULL;

    GNT_CHECK(num_nodes >= 0 && num_nodes <= INT32_MAX, GNT_ERR_LIMIT,
              "%lld nodes: a dataset holds at most %d of them", (long long)num_nodes, INT32_MAX);
    GNT_TRY(gnti_calloc_array(&d, 1));
    gnti_dataset_set_context(d, ctx);
    d->num_nodes = num_nodes;
    *out = d;
done:
    return st;
}

static void free_texts(char **texts, int64_t num)
{
    for (int64_t i = 0; texts != NULL && i < num; i++)
        gnti_free(texts[i]);
    gnti_free(texts);
}

void gnti_array_free(gnti_array *array)
{
    if (array->dtype == GNTI_FILE_TEXT)
        free_texts(array->data, array->rows * array->width);
    else
        gnti_free(array->data);
    gnti_free(array->path);
    gnti_free(array->attributes);
    memset(array, 0, sizeof *array);
}

void gnti_split_free(gnti_split *split)
{
    gnti_free(split->name);
    gnti_free(split->kind);
    gnti_free(split->source);
    for (int part = 0; part < 3; part++)
        gnti_free(split->nodes[part]);
    memset(split, 0, sizeof *split);
}

void gnti_features_free(gnti_features *x)
{
    if (!x->borrowed)
        gnti_free(x->dense);
    gnti_graph_free(&x->sparse);
    memset(x, 0, sizeof *x);
}

void gnti_labels_free(gnti_labels *y)
{
    if (!y->borrowed)
        gnti_free(y->rows);
    gnti_free(y->class_of);
    free_texts(y->names, y->num_classes);
    memset(y, 0, sizeof *y);
}

void gnt_dataset_free(gnt_dataset **data)
{
    gnt_dataset *d = data != NULL ? *data : NULL;
    gnti_objects *objects;

    if (d == NULL)
        return;
    *data = NULL;
    if (atomic_fetch_sub(&d->holders, 1) > 0)
        return; /* a trainer still reads it */
    objects = d->objects;
    gnti_free(d->path);
    gnti_graph_free(&d->graph);
    gnti_features_free(&d->x);
    gnti_labels_free(&d->y);
    gnti_free(d->id);
    free_texts(d->id_text, d->num_nodes);
    for (int64_t i = 0; i < d->num_splits; i++)
        gnti_split_free(&d->splits[i]);
    gnti_free(d->splits);
    for (int64_t i = 0; i < d->num_arrays; i++)
        gnti_array_free(&d->arrays[i]);
    gnti_free(d->arrays);
    gnti_free(d->chunks.first);
    gnti_free(d->header);
    gnti_free(d->provenance);
    gnti_free(d);
    gnti_objects_drop(&objects, GNTI_OBJECT_DATASET);
}

const gnt_dataset *gnti_dataset_hold(const gnt_dataset *data)
{
    atomic_fetch_add(&((gnt_dataset *)data)->holders, 1); /* no part of what a dataset says */
    return data;
}

void gnti_dataset_let_go(const gnt_dataset **data)
{
    gnt_dataset *d = (gnt_dataset *)*data;

    *data = NULL;
    gnt_dataset_free(&d);
}

gnt_status gnti_dataset_take_array(gnt_dataset *data, gnti_array *array)
{
    gnt_status st = GNT_OK;
    int64_t at = 0;

    while (at < data->num_arrays && strcmp(data->arrays[at].path, array->path) != 0)
        at++;
    if (at == data->num_arrays) {
        GNT_TRY(gnti_realloc_array(&data->arrays, at + 1));
        data->num_arrays++;
    } else {
        gnti_array_free(&data->arrays[at]);
    }
    data->arrays[at] = *array;
    memset(array, 0, sizeof *array);
done:
    return st;
}

gnt_status gnti_dataset_take_split(gnt_dataset *data, gnti_split *split)
{
    gnt_status st = GNT_OK;
    int64_t at = 0;

    while (at < data->num_splits && strcmp(data->splits[at].name, split->name) != 0)
        at++;
    if (at == data->num_splits) {
        GNT_TRY(gnti_realloc_array(&data->splits, at + 1));
        data->num_splits++;
    } else {
        gnti_split_free(&data->splits[at]);
    }
    data->splits[at] = *split;
    memset(split, 0, sizeof *split);
done:
    return st;
}

const gnti_array *gnti_dataset_find_array(const gnt_dataset *data, const char *path)
{
    for (int64_t i = 0; i < data->num_arrays; i++)
        if (strcmp(data->arrays[i].path, path) == 0)
            return &data->arrays[i];
    return NULL;
}

int64_t gnti_dataset_num_graphs(const gnt_dataset *data)
{
    const gnti_array *ptr = gnti_dataset_find_array(data, "/graphs/ptr");

    return ptr != NULL ? ptr->rows - 1 : 1;
}

bool gnti_dataset_splits_graphs(const gnt_dataset *data)
{
    return gnti_dataset_find_array(data, "/graphs/y") != NULL;
}

gnt_status gnti_dataset_find_split(const gnt_dataset *data, const char *name, const gnti_split **out)
{
    gnt_status st = GNT_OK;
    gnti_text names = { .status = GNT_OK };
    const char *wanted = name != NULL ? name : "public";
    char *list = NULL;

    for (int64_t i = 0; i < data->num_splits; i++) {
        if (strcmp(data->splits[i].name, wanted) == 0 || (name == NULL && data->num_splits == 1)) {
            *out = &data->splits[i];
            return GNT_OK;
        }
    }
    for (int64_t i = 0; i < data->num_splits; i++)
        gnti_text_printf(&names, "%s%s", i > 0 ? ", " : "", data->splits[i].name);
    GNT_CHECK(data->num_splits > 0, GNT_ERR_USAGE,
              "'%s' has no split: make one with 'gnntrain split %s --kind stratified -o %s'",
              data->path != NULL ? data->path : "the dataset", data->path != NULL ? data->path : "FILE",
              data->path != NULL ? data->path : "FILE");
    GNT_TRY(gnti_text_take(&names, &list));
    GNT_FAIL(GNT_ERR_USAGE, "'%s' has no split '%s', it has %s: name one with --split",
             data->path != NULL ? data->path : "the dataset", wanted, list);
done:
    gnti_text_free(&names);
    gnti_free(list);
    return st;
}

gnt_status gnt_dataset_open(gnt_context *ctx, const char *path, gnt_dataset **out)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(path != NULL && out != NULL, GNT_ERR_ARG, "path and out must not be NULL");
    GNT_TRY(gnti_dataset_read(ctx, path, out));
done:
    return st;
}

gnt_status gnt_dataset_save(const gnt_dataset *data, const char *path)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(data != NULL && path != NULL, GNT_ERR_ARG, "data and path must not be NULL");
    GNT_TRY(gnti_dataset_write(data, path));
done:
    return st;
}

int64_t gnt_dataset_num_nodes(const gnt_dataset *data)
{
    return data != NULL ? data->num_nodes : 0;
}

int64_t gnt_dataset_num_arcs(const gnt_dataset *data)
{
    if (data != NULL && data->header != NULL)
        return data->header->num_arcs;
    return data != NULL && data->graph != NULL ? data->graph->num_arcs : 0;
}

int64_t gnt_dataset_num_features(const gnt_dataset *data)
{
    return data != NULL ? data->x.width : 0;
}

int64_t gnt_dataset_num_classes(const gnt_dataset *data)
{
    return data != NULL ? data->y.num_classes : 0;
}

gnt_label_kind gnt_dataset_label_kind(const gnt_dataset *data)
{
    return data != NULL ? data->y.kind : GNT_LABELS_NONE;
}
