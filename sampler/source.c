/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of sampler/source.h and the rows of an induced batch: operator, features (dense or CSR), labels,
 * weights.
 *
 * A batch copies its rows; the graph itself is cut by gnti_operator_induced, which keeps the global ids as
 * keys of the random numbers.
 */
#include "sampler/source_base.h"

#include "base/alloc.h"

#include <string.h>

void gnti_source_free(gnti_source **source)
{
    if (source == NULL || *source == NULL)
        return;
    (*source)->class->free(*source);
    *source = NULL;
}

void gnti_source_begin(gnti_source *source, int64_t epoch, int64_t position)
{
    source->status = GNT_OK;
    source->epoch = epoch;
    source->position = position;
    source->class->begin(source);
}

bool gnti_source_next(gnti_source *source, gnti_source_batch *out)
{
    return source->status == GNT_OK && source->class->next(source, out);
}

gnt_status gnti_source_status(const gnti_source *source)
{
    return source->status;
}

bool gnti_source_ended(const gnti_source *source)
{
    return source->status == GNT_OK && source->position >= source->num_batches;
}

int64_t gnti_source_position(const gnti_source *source)
{
    return source->position;
}

int64_t gnti_source_max_rows(const gnti_source *source)
{
    return source->max_rows;
}

int64_t gnti_source_max_arcs(const gnti_source *source)
{
    return source->max_arcs;
}

int64_t gnti_source_max_entries(const gnti_source *source)
{
    return source->max_entries;
}

int64_t gnti_source_expected_arcs(const gnti_source *source)
{
    return source->expected_arcs;
}

bool gnti_source_is_square(const gnti_source *source)
{
    return source->square;
}

const gnti_operator *gnti_source_whole(const gnti_source *source)
{
    return source->whole;
}

double gnti_source_weight_sum(const float *weight, int64_t num_rows)
{
    double sum = 0.0;

    for (int64_t r = 0; r < num_rows; r++)
        sum += (double)weight[r];
    return sum;
}

gnt_status gnti_source_member_sums(const float *member_weight, int32_t num_members, int64_t num_rows,
                                   double **out)
{
    gnt_status st = GNT_OK;

    if (member_weight == NULL)
        return GNT_OK;
    GNT_TRY(gnti_alloc_array(out, num_members));
    for (int32_t m = 0; m < num_members; m++)
        (*out)[m] = gnti_source_weight_sum(member_weight + m * num_rows, num_rows);
done:
    return st;
}

static gnt_status gather_sparse(const gnti_graph *x, const int64_t *nodes, int64_t num_nodes,
                                gnti_graph **out)
{
    gnt_status st = GNT_OK;
    gnti_graph *g = NULL;
    int64_t num = 0;

    for (int64_t i = 0; i < num_nodes; i++)
        num += x->offsets[nodes[i] + 1] - x->offsets[nodes[i]];
    GNT_TRY(gnti_graph_alloc(num_nodes, x->num_cols, num, x->weights != NULL, &g));
    g->offsets[0] = num = 0;
    for (int64_t i = 0; i < num_nodes; i++) {
        const int64_t from = x->offsets[nodes[i]], count = x->offsets[nodes[i] + 1] - from;

        if (count > 0) {
            memcpy(g->columns + num, x->columns + from, (size_t)count * sizeof *g->columns);
            if (x->weights != NULL)
                memcpy(g->weights + num, x->weights + from, (size_t)count * sizeof *g->weights);
        }
        num += count;
        g->offsets[i + 1] = num;
    }
    *out = g;
done:
    return st;
}

static gnt_status gather_dense(const float *from, int64_t width, const int64_t *nodes, int64_t num_nodes,
                               float **out)
{
    gnt_status st = GNT_OK;
    float *rows = NULL;
    size_t bytes = 0;

    GNT_TRY(gnti_mul_size((size_t)num_nodes, (size_t)width, &bytes));
    GNT_TRY(gnti_alloc_array(&rows, (int64_t)bytes));
    for (int64_t i = 0; i < num_nodes; i++)
        memcpy(rows + i * width, from + nodes[i] * width, (size_t)width * sizeof *rows);
    *out = rows;
done:
    return st;
}

static gnt_status gather_members(const gnti_source_data *data, const int64_t *nodes, int64_t num_nodes,
                                 gnti_source_rows *rows)
{
    gnt_status st = GNT_OK;

    if (data->member_weight == NULL)
        return GNT_OK;
    GNT_TRY(gnti_alloc_array(&rows->member_weight, data->num_members * num_nodes));
    for (int32_t m = 0; m < data->num_members; m++)
        for (int64_t i = 0; i < num_nodes; i++)
            rows->member_weight[m * num_nodes + i] = data->member_weight[m * data->x->rows + nodes[i]];
    GNT_TRY(gnti_source_member_sums(rows->member_weight, data->num_members, num_nodes, &rows->member_sums));
done:
    return st;
}

static gnt_status gather_labels(const gnti_source_data *data, const int64_t *nodes, int64_t num_nodes,
                                gnti_source_rows *rows)
{
    gnt_status st = GNT_OK;

    if (data->labels != NULL) {
        GNT_TRY(gnti_alloc_array(&rows->labels, num_nodes));
        for (int64_t i = 0; i < num_nodes; i++)
            rows->labels[i] = data->labels[nodes[i]];
    }
    if (data->target != NULL)
        GNT_TRY(gather_dense(data->target, data->num_classes, nodes, num_nodes, &rows->target));
    if (data->apart != NULL)
        GNT_TRY(gather_dense(data->apart, data->num_classes, nodes, num_nodes, &rows->apart));
    GNT_TRY(gather_dense(data->weight, 1, nodes, num_nodes, &rows->weight));
    GNT_TRY(gather_members(data, nodes, num_nodes, rows));
done:
    return st;
}

gnt_status gnti_source_rows_gather(const gnti_source_data *data, const int64_t *nodes, int64_t num_nodes,
                                   gnti_source_rows *rows)
{
    gnt_status st = GNT_OK;
    gnti_source_rows made = { .num_rows = num_nodes };

    made.x = (gnti_features){ .rows = num_nodes, .width = data->x->width };
    if (data->x->sparse != NULL)
        GNT_TRY(gather_sparse(data->x->sparse, nodes, num_nodes, &made.x.sparse));
    else
        GNT_TRY(gather_dense(data->x->dense, data->x->width, nodes, num_nodes, &made.x.dense));
    GNT_TRY(gather_labels(data, nodes, num_nodes, &made));
    made.weight_sum = gnti_source_weight_sum(made.weight, num_nodes);
    *rows = made;
    memset(&made, 0, sizeof made);
done:
    gnti_source_rows_free(&made);
    return st;
}

gnt_status gnti_source_rows_make(const gnti_source_data *data, const int64_t *nodes, int64_t num_nodes,
                                 gnti_source_rows *rows)
{
    gnt_status st = GNT_OK;
    gnti_source_rows made = { 0 };

    GNT_TRY(gnti_source_rows_gather(data, nodes, num_nodes, &made));
    GNT_TRY(gnti_operator_induced(data->graph, nodes, num_nodes, &made.op));
    for (int64_t i = 0; data->ids != NULL && i < num_nodes; i++)
        made.op->owned_ids[i] = data->ids[made.op->owned_ids[i]];
    GNT_TRY(gnti_alloc_array(&made.adj, data->num_adjs));
    for (int32_t l = 0; l < data->num_adjs; l++)
        made.adj[l] = made.op;
    *rows = made;
    memset(&made, 0, sizeof made);
done:
    gnti_source_rows_free(&made);
    return st;
}

void gnti_source_rows_free(gnti_source_rows *rows)
{
    gnti_operator_free(&rows->op);
    gnti_free(rows->adj);
    gnti_free(rows->x.dense);
    gnti_graph_free(&rows->x.sparse);
    gnti_free(rows->labels);
    gnti_free(rows->target);
    gnti_free(rows->weight);
    gnti_free(rows->apart);
    gnti_free(rows->member_weight);
    gnti_free(rows->member_sums);
    memset(rows, 0, sizeof *rows);
}

gnti_source_batch gnti_source_rows_batch(const gnti_source_rows *rows)
{
    return (gnti_source_batch){
        .bind = { .adj = rows->adj,
                  .x = &rows->x,
                  .labels = rows->labels,
                  .target = rows->target,
                  .apart = rows->apart,
                  .weight = rows->member_weight != NULL ? rows->member_weight : rows->weight },
        .num_rows = rows->num_rows,
        .weight_sum = rows->weight_sum,
        .member_sums = rows->member_sums,
    };
}
