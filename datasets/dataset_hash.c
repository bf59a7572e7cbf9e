/* SPDX-License-Identifier: Apache-2.0 */
/* graph_sha256 and content_sha256, as docs/file-format.md states them: equal content gives equal sums
 * whatever the storage (dense or sparse features, int32 or int64 indices, float16 or float32, which
 * importer).
 *
 *   graph    N, directed | indptr, indices | weights if any is not 1
 *   content  N, F, C, directed | the same three | non-zero features | labels | optional arrays by path
 *
 * Everything little-endian: integers as int64, floats as float32 (float64 arrays as float64). A feature is a
 * record of row, column (int64) and value (float32): 20 bytes without padding.
 */
#include "datasets/dataset.h"

#include "datasets/half.h"

#include "base/sha256.h"

#include <stdlib.h>
#include <string.h>

enum { BUFFER_VALUES = 8192, FEATURE_BYTES = 20 };

/* A sum under way with the buffer that values are widened in. */
typedef struct feed {
    gnti_sha256 *hash;
    unsigned char *buffer; /* BUFFER_VALUES * FEATURE_BYTES */
    size_t used;
    gnt_status status; /* sticky */
} feed;

static gnt_status feed_open(feed *f)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_sha256_create(&f->hash));
    GNT_TRY(gnti_alloc_array(&f->buffer, (int64_t)BUFFER_VALUES * FEATURE_BYTES));
done:
    return st;
}

static void feed_close(feed *f)
{
    gnti_sha256_free(&f->hash);
    gnti_free(f->buffer);
}

static void flush(feed *f)
{
    if (f->status == GNT_OK && f->used > 0)
        f->status = gnti_sha256_update(f->hash, f->buffer, f->used);
    f->used = 0;
}

/* The host is little-endian, as all we build for. */
static void put(feed *f, const void *bytes, size_t count)
{
    if (f->used + count > (size_t)BUFFER_VALUES * FEATURE_BYTES)
        flush(f);
    memcpy(f->buffer + f->used, bytes, count);
    f->used += count;
}

static void put_i64(feed *f, int64_t value)
{
    put(f, &value, sizeof value);
}

static void put_block(feed *f, const void *bytes, size_t count)
{
    flush(f);
    if (f->status == GNT_OK && count > 0)
        f->status = gnti_sha256_update(f->hash, bytes, count);
}

static void put_graph(feed *f, const gnti_graph *g)
{
    put_block(f, g->offsets, (size_t)(g->num_rows + 1) * sizeof *g->offsets);
    for (int64_t a = 0; a < g->num_arcs; a++)
        put_i64(f, g->columns[a]);
    if (g->weights != NULL)
        put_block(f, g->weights, (size_t)g->num_arcs * sizeof *g->weights);
}

static void put_feature(feed *f, int64_t row, int64_t column, float value)
{
    unsigned char record[FEATURE_BYTES];

    if (value == 0.0f)
        return;
    memcpy(record, &row, 8);
    memcpy(record + 8, &column, 8);
    memcpy(record + 16, &value, 4);
    put(f, record, sizeof record);
}

static void put_features(feed *f, const gnti_features *x)
{
    for (int64_t r = 0; x->dense != NULL && r < x->rows; r++)
        for (int64_t c = 0; c < x->width; c++)
            put_feature(f, r, c, x->dense[r * x->width + c]);
    for (int64_t r = 0; x->sparse != NULL && r < x->rows; r++)
        for (int64_t a = x->sparse->offsets[r]; a < x->sparse->offsets[r + 1]; a++)
            put_feature(f, r, x->sparse->columns[a],
                        x->sparse->weights != NULL ? x->sparse->weights[a] : 1.0f);
}

static void put_labels(feed *f, const gnti_labels *y, int64_t num_nodes)
{
    switch (y->kind) {
    case GNT_LABELS_NONE:
        break;
    case GNT_LABELS_CLASS:
        for (int64_t i = 0; i < num_nodes; i++)
            put_i64(f, y->class_of[i]);
        break;
    case GNT_LABELS_MULTI:
        for (int64_t i = 0; i < num_nodes * y->num_classes; i++)
            put_i64(f, (int64_t)y->rows[i]);
        break;
    case GNT_LABELS_REGRESSION:
        put_block(f, y->rows, (size_t)(num_nodes * y->num_classes) * sizeof *y->rows);
        break;
    }
}

static void put_value(feed *f, const gnti_array *a, int64_t i)
{
    const uint16_t *half = a->data;
    float value;

    switch (a->dtype) {
    case GNTI_FILE_U8:
        put_i64(f, ((const uint8_t *)a->data)[i]);
        break;
    case GNTI_FILE_I32:
        put_i64(f, ((const int32_t *)a->data)[i]);
        break;
    case GNTI_FILE_I64:
    case GNTI_FILE_U64:
        put_i64(f, ((const int64_t *)a->data)[i]);
        break;
    case GNTI_FILE_F16:
    case GNTI_FILE_BF16:
        value = a->dtype == GNTI_FILE_F16 ? gnti_f16_to_float(half[i]) : gnti_bf16_to_float(half[i]);
        put(f, &value, sizeof value);
        break;
    case GNTI_FILE_F32:
        put(f, (const float *)a->data + i, sizeof(float));
        break;
    case GNTI_FILE_F64:
        put(f, (const double *)a->data + i, sizeof(double));
        break;
    case GNTI_FILE_TEXT:
        put_i64(f, (int64_t)strlen(((char *const *)a->data)[i]));
        put_block(f, ((char *const *)a->data)[i], strlen(((char *const *)a->data)[i]));
        break;
    }
}

static int by_path(const void *a, const void *b)
{
    const gnti_array *const *x = a, *const *y = b;

    return strcmp((*x)->path, (*y)->path);
}

/* The user's numbering is no content. */
static bool is_outside(const gnti_array *a)
{
    return strcmp(a->path, "/nodes/origin") == 0 || strcmp(a->path, "/edges/id") == 0;
}

static gnt_status put_arrays(feed *f, const gnt_dataset *d)
{
    gnt_status st = GNT_OK;
    const gnti_array **sorted = NULL;

    GNT_TRY(gnti_alloc_array(&sorted, d->num_arrays));
    for (int64_t i = 0; i < d->num_arrays; i++)
        sorted[i] = &d->arrays[i];
    qsort(sorted, (size_t)d->num_arrays, sizeof *sorted, by_path);
    for (int64_t i = 0; i < d->num_arrays; i++) {
        if (is_outside(sorted[i]))
            continue;
        put_block(f, sorted[i]->path, strlen(sorted[i]->path));
        for (int64_t k = 0; k < sorted[i]->rows * sorted[i]->width; k++)
            put_value(f, sorted[i], k);
    }
done:
    gnti_free(sorted);
    return st;
}

static gnt_status finish(feed *f, char hex[GNTI_SHA256_HEX_BYTES])
{
    gnt_status st = GNT_OK;

    flush(f);
    GNT_TRY(f->status);
    GNT_TRY(gnti_sha256_finish(f->hash, hex));
done:
    return st;
}

gnt_status gnti_dataset_sums(const gnt_dataset *data, char graph_hex[65], char content_hex[65])
{
    gnt_status st = GNT_OK;
    feed graph = { .status = GNT_OK }, content = { .status = GNT_OK };

    GNT_TRY(feed_open(&graph));
    GNT_TRY(feed_open(&content));
    put_i64(&graph, data->num_nodes);
    put_i64(&graph, data->directed);
    put_graph(&graph, data->graph);
    GNT_TRY(finish(&graph, graph_hex));
    put_i64(&content, data->num_nodes);
    put_i64(&content, data->x.width);
    put_i64(&content, data->y.num_classes);
    put_i64(&content, data->directed);
    put_graph(&content, data->graph);
    put_features(&content, &data->x);
    put_labels(&content, &data->y, data->num_nodes);
    GNT_TRY(put_arrays(&content, data));
    GNT_TRY(finish(&content, content_hex));
done:
    feed_close(&graph);
    feed_close(&content);
    return st;
}

gnt_status gnti_dataset_hash(gnt_dataset *data)
{
    return gnti_dataset_sums(data, data->graph_sha256, data->content_sha256);
}

gnt_status gnti_split_sum(const gnti_split *split, char hex[65])
{
    gnt_status st = GNT_OK;
    feed f = { .status = GNT_OK };

    GNT_TRY(feed_open(&f));
    for (int part = 0; part < 3; part++) {
        put_i64(&f, split->num_nodes[part]);
        put_block(&f, split->nodes[part], (size_t)split->num_nodes[part] * sizeof *split->nodes[part]);
    }
    GNT_TRY(finish(&f, hex));
done:
    feed_close(&f);
    return st;
}
