/* SPDX-License-Identifier: Apache-2.0 */
/* Full batch: the whole graph with nothing copied, or the induced subgraph of the training nodes, made once.
 */
#include "sampler/source_base.h"

#include "base/alloc.h"

typedef struct full_source {
    gnti_source head;
    gnti_operator *op; /* of the whole graph */
    const gnti_operator **adj;
    gnti_source_rows rows; /* of an inductive run */
    gnti_source_batch batch;
    double *member_sums; /* of the whole graph, or NULL */
    bool handed_out;
} full_source;

static void full_begin(gnti_source *s)
{
    (void)s;
}

static bool full_next(gnti_source *s, gnti_source_batch *out)
{
    full_source *f = (full_source *)s;

    if (s->position >= s->num_batches)
        return false;
    s->position++;
    *out = f->batch;
    out->same = f->handed_out;
    f->handed_out = true;
    return true;
}

static void full_free(gnti_source *s)
{
    full_source *f = (full_source *)s;

    gnti_operator_free(&f->op);
    gnti_free(f->adj);
    gnti_free(f->member_sums);
    gnti_source_rows_free(&f->rows);
    gnti_free(f);
}

static const gnti_source_class full_class = { full_begin, full_next, full_free };

static gnt_status make_whole(full_source *f, const gnti_source_data *data)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_operator_create(data->graph, &f->op));
    f->op->src_ids = data->ids;
    f->head.whole = f->op;
    GNT_TRY(gnti_alloc_array(&f->adj, data->num_adjs));
    for (int32_t l = 0; l < data->num_adjs; l++)
        f->adj[l] = f->op;
    GNT_TRY(gnti_source_member_sums(data->member_weight, data->num_members, data->graph->num_rows,
                                    &f->member_sums));
    f->batch = (gnti_source_batch){
        .bind = { .adj = f->adj,
                  .x = data->x,
                  .labels = data->labels,
                  .target = data->target,
                  .apart = data->apart,
                  .weight = data->member_weight != NULL ? data->member_weight : data->weight },
        .num_rows = data->graph->num_rows,
        .weight_sum = gnti_source_weight_sum(data->weight, data->graph->num_rows),
        .member_sums = f->member_sums,
    };
done:
    return st;
}

gnt_status gnti_source_create_full(const gnti_source_data *data, gnti_source **out)
{
    gnt_status st = GNT_OK;
    full_source *f = NULL;
    gnti_source *made = NULL;

    GNT_TRY(gnti_calloc_array(&f, 1));
    made = &f->head;
    made->class = &full_class;
    made->data = *data;
    made->num_batches = 1;
    made->square = true;
    if (data->nodes != NULL) {
        GNT_TRY(gnti_source_rows_make(data, data->nodes, data->num_nodes, &f->rows));
        f->batch = gnti_source_rows_batch(&f->rows);
    } else {
        GNT_TRY(make_whole(f, data));
    }
    made->max_entries = f->batch.bind.x->sparse != NULL ? f->batch.bind.x->sparse->num_arcs : 0;
    made->max_rows = f->batch.num_rows;
    made->expected_arcs = made->max_arcs = f->batch.bind.adj[0]->forward->num_arcs;
    *out = made;
    made = NULL;
done:
    gnti_source_free(&made);
    return st;
}
