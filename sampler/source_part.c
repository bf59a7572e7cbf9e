/* SPDX-License-Identifier: Apache-2.0 */
/* Full batch over parts: each rank binds its part and its own rows.
 *
 * The sum of the loss weights is that of the whole job, with the same bits for any number of ranks: rows are added in order
 * inside their chunk, each rank puts its chunks' sums into a vector of K (adding zeros changes nothing), and the chunks are
 * folded along their tree, [a, b) split at a + the largest power of two < b - a.
 */
#include "sampler/source_base.h"

#include "base/alloc.h"
#include "dist/chunk_sum.h"

typedef struct part_source {
    gnti_source head;
    const gnti_operator **adj; /* (num_adjs) */
    gnti_source_rows rows;     /* of an inductive run */
    gnti_source_batch batch;
    double *member_sums; /* of the whole job, or NULL */
    bool handed_out;
} part_source;

static void part_begin(gnti_source *s)
{
    (void)s;
}

static bool part_next(gnti_source *s, gnti_source_batch *out)
{
    part_source *p = (part_source *)s;

    if (s->position >= s->num_batches)
        return false;
    s->position++;
    *out = p->batch;
    out->same = p->handed_out;
    p->handed_out = true;
    return true;
}

static void part_free(gnti_source *s)
{
    part_source *p = (part_source *)s;

    gnti_free(p->adj);
    gnti_free(p->member_sums);
    gnti_source_rows_free(&p->rows);
    gnti_free(p);
}

static const gnti_source_class part_class = { part_begin, part_next, part_free };

static gnt_status sum_weights(gnti_comm *comm, const gnti_part *part, const float *weight, double *out)
{
    gnt_status st = GNT_OK;
    double *sums = NULL;

    GNT_TRY(gnti_calloc_array(&sums, part->num_chunks));
    for (int32_t c = 0; c < part->num_own_chunks; c++)
        sums[part->own_chunks[c]] = gnti_source_weight_sum(weight + part->chunk_start[c],
                                                           part->chunk_start[c + 1] - part->chunk_start[c]);
    GNT_TRY(gnti_chunk_sum(comm, sums, 1, part->num_chunks, out));
done:
    gnti_free(sums);
    return st;
}

static gnt_status sum_members(const gnti_source_part_data *data, const gnti_part *part, part_source *p)
{
    gnt_status st = GNT_OK;
    const float *weight = p->batch.bind.weight; /* (num_members, num_own) */

    if (data->member_weight == NULL)
        return GNT_OK;
    GNT_TRY(gnti_alloc_array(&p->member_sums, data->num_members));
    for (int32_t m = 0; m < data->num_members; m++)
        GNT_TRY(sum_weights(data->comm, part, weight + m * part->num_own, &p->member_sums[m]));
    p->batch.member_sums = p->member_sums;
done:
    return st;
}

/* Rows of the training part, which are some of the own rows. */
static gnt_status gather_train(const gnti_local_data *local, part_source *p)
{
    gnt_status st = GNT_OK;
    const int64_t num = local->train_part->num_own;
    int64_t *rows = NULL;

    GNT_TRY(gnti_alloc_array(&rows, num));
    for (int64_t i = 0; i < num; i++)
        rows[i] = local->train_rows[i];
    GNT_TRY(gnti_source_rows_gather(&p->head.data, rows, num, &p->rows));
    p->batch = gnti_source_rows_batch(&p->rows);
done:
    gnti_free(rows);
    return st;
}

static gnt_status fill_batch(const gnti_source_part_data *data, const gnti_part *part, part_source *p)
{
    gnt_status st = GNT_OK;
    const gnti_local_data *local = data->local;

    if (local->train_part != NULL)
        GNT_TRY(gather_train(local, p));
    else
        p->batch = (gnti_source_batch){
            .bind = { .x = p->head.data.x,
                      .labels = local->y.class_of,
                      .target = local->y.rows,
                      .apart = data->apart,
                      .weight = data->member_weight != NULL ? data->member_weight : data->weight },
            .num_rows = local->num_own,
        };
    GNT_TRY(gnti_alloc_array(&p->adj, data->num_adjs));
    for (int32_t l = 0; l < data->num_adjs; l++)
        p->adj[l] = part->op;
    p->batch.bind.part = part;
    p->batch.bind.adj = p->adj;
done:
    return st;
}

gnt_status gnti_source_create_part(const gnti_source_part_data *data, gnti_source **out)
{
    gnt_status st = GNT_OK;
    const gnti_local_data *local = data->local;
    const gnti_part *part = local->train_part != NULL ? local->train_part : local->part;
    part_source *p = NULL;
    gnti_source *made = NULL;

    GNT_TRY(gnti_calloc_array(&p, 1));
    made = &p->head;
    made->class = &part_class;
    made->data = (gnti_source_data){ .x = data->x != NULL ? data->x : &local->x,
                                     .labels = local->y.class_of,
                                     .target = local->y.rows,
                                     .apart = data->apart,
                                     .num_classes = local->y.num_classes,
                                     .weight = data->weight,
                                     .member_weight = data->member_weight,
                                     .num_members = data->num_members,
                                     .num_adjs = data->num_adjs };
    made->num_batches = 1;
    made->square = true;
    GNT_TRY(fill_batch(data, part, p));
    GNT_TRY(sum_weights(data->comm, part, p->rows.weight != NULL ? p->rows.weight : data->weight,
                        &p->batch.weight_sum));
    GNT_TRY(sum_members(data, part, p));
    made->whole = local->part->op;
    made->max_entries = p->batch.bind.x->sparse != NULL ? p->batch.bind.x->sparse->num_arcs : 0;
    made->max_rows = part->num_own;
    made->expected_arcs = made->max_arcs = part->op->forward->num_arcs;
    *out = made;
    made = NULL;
done:
    if (st != GNT_OK)
        gnti_comm_abort(data->comm, gnt_last_error());
    gnti_source_free(&made);
    return st;
}
