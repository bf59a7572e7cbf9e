/* SPDX-License-Identifier: Apache-2.0 */
/* A rank's data cut from a dataset in memory: parts first, then own rows gathered in their order. */
#include "partition/local_data.h"

#include "base/alloc.h"
#include "partition/local_build.h"

#include <string.h>

/* What all ranks are cut from. */
typedef struct whole_data {
    const gnt_dataset *data;
    const gnti_split *split; /* or NULL */
    const int64_t *origin;   /* (N) or NULL */
    int64_t *row_of;         /* (N) row of the dataset of each imported one; NULL: the same */
    gnti_part_source graph, train;
    char split_sha256[65];
} whole_data;

static gnt_status whole_make(const gnt_dataset *data, const gnti_local_config *config, whole_data *w)
{
    gnt_status st = GNT_OK;

    w->data = data;
    GNT_CHECK(!gnti_dataset_splits_graphs(data), GNT_ERR_UNSUPPORTED,
              "the dataset has labels of whole graphs, only labels of nodes can be cut into parts");
    if (!config->without_split)
        GNT_TRY(gnti_dataset_find_split(data, config->split, &w->split));
    GNT_TRY(gnti_dataset_get_origin(data, &w->origin));
    if (w->origin != NULL)
        GNT_TRY(gnti_graph_invert(w->origin, data->num_nodes, &w->row_of));
    if (w->split != NULL)
        GNT_TRY(gnti_split_sum_imported(w->split, w->origin, w->split_sha256));
    w->graph = (gnti_part_source){ .graph = data->graph,
                                   .partition = config->partition,
                                   .owner = config->owner,
                                   .num_ranks = config->num_ranks,
                                   .origin = w->origin };
    w->train = w->graph;
    if (w->split != NULL) {
        w->train.nodes = w->split->nodes[GNTI_TRAIN];
        w->train.num_nodes = w->split->num_nodes[GNTI_TRAIN];
    }
done:
    return st;
}

/* ---- own rows ---------------------------------------------------------------------------------------------------- */

/* (num_own) rows of the dataset. */
static gnt_status list_rows(const whole_data *w, const gnti_part *part, int64_t **out)
{
    gnt_status st = GNT_OK;
    int64_t *rows = NULL;

    GNT_TRY(gnti_alloc_array(&rows, part->num_own));
    for (int64_t i = 0; i < part->num_own; i++)
        rows[i] = w->row_of != NULL ? w->row_of[part->ids[i]] : part->ids[i];
    *out = rows;
done:
    return st;
}

static bool in_one_piece(const int64_t *rows, int64_t num)
{
    for (int64_t i = 1; i < num; i++)
        if (rows[i] != rows[i - 1] + 1)
            return false;
    return num > 0;
}

static gnt_status take_floats(const float *from, int64_t width, const int64_t *rows, int64_t num, float **out)
{
    gnt_status st = GNT_OK;
    float *own = NULL;

    GNT_TRY(gnti_array_bytes((void **)(void *)&own, num, (size_t)width * sizeof *own, false));
    for (int64_t i = 0; i < num && width > 0; i++)
        memcpy(own + i * width, from + rows[i] * width, (size_t)width * sizeof *own);
    *out = own;
done:
    return st;
}

static gnt_status take_sparse(const gnti_graph *x, const int64_t *rows, int64_t num, gnti_graph **out)
{
    gnt_status st = GNT_OK;
    gnti_graph *g = NULL;
    int64_t entries = 0;

    for (int64_t i = 0; i < num; i++)
        entries += x->offsets[rows[i] + 1] - x->offsets[rows[i]];
    GNT_TRY(gnti_graph_alloc(num, x->num_cols, entries, x->weights != NULL, &g));
    for (int64_t i = 0; i < num; i++) {
        const int64_t from = x->offsets[rows[i]], count = x->offsets[rows[i] + 1] - from, to = g->offsets[i];

        g->offsets[i + 1] = to + count;
        if (count == 0)
            continue;
        memcpy(g->columns + to, x->columns + from, (size_t)count * sizeof *g->columns);
        if (x->weights != NULL)
            memcpy(g->weights + to, x->weights + from, (size_t)count * sizeof *g->weights);
    }
    *out = g;
done:
    return st;
}

/* The first rows of sparse features, as a view. */
static gnt_status lend_sparse(const gnti_graph *x, int64_t num, gnti_graph **out)
{
    gnt_status st = GNT_OK;
    gnti_graph *g = NULL;

    GNT_TRY(gnti_calloc_array(&g, 1));
    *g = *x;
    g->num_rows = num;
    g->num_arcs = x->offsets[num];
    g->borrowed = true;
    *out = g;
done:
    return st;
}

static gnt_status take_features(const gnti_features *x, const int64_t *rows, gnti_local_data *d)
{
    gnt_status st = GNT_OK;
    const bool piece = in_one_piece(rows, d->num_own);

    d->x.rows = d->num_own;
    d->x.width = x->width;
    if (x->sparse != NULL && piece && rows[0] == 0) {
        GNT_TRY(lend_sparse(x->sparse, d->num_own, &d->x.sparse));
    } else if (x->sparse != NULL) {
        GNT_TRY(take_sparse(x->sparse, rows, d->num_own, &d->x.sparse));
    } else if (x->dense != NULL && piece) {
        d->x.dense = x->dense + rows[0] * x->width;
        d->x.borrowed = true;
    } else if (x->dense != NULL) {
        GNT_TRY(take_floats(x->dense, x->width, rows, d->num_own, &d->x.dense));
    }
done:
    return st;
}

static gnt_status take_labels(const gnti_labels *y, const int64_t *rows, gnti_local_data *d)
{
    gnt_status st = GNT_OK;

    d->y.kind = y->kind;
    d->y.num_classes = y->num_classes;
    if (y->class_of != NULL) {
        GNT_TRY(gnti_alloc_array(&d->y.class_of, d->num_own));
        for (int64_t i = 0; i < d->num_own; i++)
            d->y.class_of[i] = y->class_of[rows[i]];
    }
    if (y->rows != NULL)
        GNT_TRY(take_floats(y->rows, y->num_classes, rows, d->num_own, &d->y.rows));
done:
    return st;
}

/* Whether a list, which ascends, names the row. */
static bool lists(const int64_t *nodes, int64_t num, int64_t row)
{
    int64_t low = 0, high = num;

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;

        if (nodes[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low < num && nodes[low] == row;
}

static gnt_status take_split(const whole_data *w, const int64_t *rows, gnti_local_data *d)
{
    gnt_status st = GNT_OK;

    if (w->split == NULL)
        return GNT_OK;
    GNT_TRY(gnti_strdup(&d->split_name, w->split->name != NULL ? w->split->name : ""));
    GNT_TRY(gnti_calloc_array(&d->member, d->num_own));
    memcpy(d->split_sha256, w->split_sha256, sizeof d->split_sha256);
    d->inductive = w->split->inductive;
    for (int part = 0; part < 3; part++) {
        d->num_split[part] = w->split->num_nodes[part];
        for (int64_t i = 0; i < d->num_own; i++)
            if (lists(w->split->nodes[part], w->split->num_nodes[part], rows[i]))
                d->member[i] = (uint8_t)(d->member[i] | 1u << part);
    }
    if (d->inductive)
        GNT_TRY(gnti_local_train_rows(d));
done:
    return st;
}

/* Takes the parts, also when it fails. train: NULL unless inductive. */
static gnt_status take_rank(const whole_data *w, gnti_part **part, gnti_part **train, gnti_local_data **out)
{
    gnt_status st = GNT_OK;
    gnti_local_data *d = NULL;
    int64_t *rows = NULL;

    GNT_TRY(gnti_calloc_array(&d, 1));
    d->part = *part;
    d->train_part = *train;
    *part = *train = NULL;
    d->num_own = d->part->num_own;
    GNT_TRY(list_rows(w, d->part, &rows));
    GNT_TRY(take_features(&w->data->x, rows, d));
    GNT_TRY(take_labels(&w->data->y, rows, d));
    GNT_TRY(take_split(w, rows, d));
    *out = d;
    d = NULL;
done:
    gnti_free(rows);
    gnti_part_free(part);
    gnti_part_free(train);
    gnti_local_data_free(&d);
    return st;
}

gnt_status gnti_local_data_make(const gnt_dataset *data, const gnti_local_config *config, int32_t rank,
                                gnti_local_data **out)
{
    gnt_status st = GNT_OK;
    whole_data w = { 0 };
    gnti_part *part = NULL, *train = NULL;

    GNT_TRY(whole_make(data, config, &w));
    GNT_TRY(gnti_part_make(&w.graph, rank, &part));
    if (w.split != NULL && w.split->inductive)
        GNT_TRY(gnti_part_make(&w.train, rank, &train));
    GNT_TRY(take_rank(&w, &part, &train, out));
done:
    gnti_part_free(&part);
    gnti_part_free(&train);
    gnti_free(w.row_of);
    return st;
}

gnt_status gnti_local_data_make_all(const gnt_dataset *data, const gnti_local_config *config,
                                    gnti_local_data **out)
{
    gnt_status st = GNT_OK;
    whole_data w = { 0 };
    gnti_part **part = NULL, **train = NULL;
    gnti_local_data **made = NULL;
    const int32_t num_ranks = config->num_ranks;

    GNT_CHECK(num_ranks >= 1, GNT_ERR_ARG, "data for %d ranks", (int)num_ranks);
    GNT_TRY(whole_make(data, config, &w));
    GNT_TRY(gnti_calloc_array(&part, num_ranks));
    GNT_TRY(gnti_calloc_array(&train, num_ranks));
    GNT_TRY(gnti_calloc_array(&made, num_ranks));
    GNT_TRY(gnti_parts_make(&w.graph, part));
    if (w.split != NULL && w.split->inductive)
        GNT_TRY(gnti_parts_make(&w.train, train));
    for (int32_t r = 0; r < num_ranks; r++)
        GNT_TRY(take_rank(&w, &part[r], &train[r], &made[r]));
    for (int32_t r = 0; r < num_ranks; r++) {
        out[r] = made[r];
        made[r] = NULL;
    }
done:
    for (int32_t r = 0; r < num_ranks; r++) {
        if (part != NULL)
            gnti_part_free(&part[r]);
        if (train != NULL)
            gnti_part_free(&train[r]);
        if (made != NULL)
            gnti_local_data_free(&made[r]);
    }
    gnti_free(part);
    gnti_free(train);
    gnti_free(made);
    gnti_free(w.row_of);
    return st;
}
