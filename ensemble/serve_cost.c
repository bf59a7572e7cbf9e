/* SPDX-License-Identifier: Apache-2.0 */
/* What a batch of units costs: the evaluation of one member planned dry, at each size of a batch. Rows and arcs
 * count with what they reach, so on graphs where everything is near the least batch costs almost what all cost, and replicas do not pay.
 *
 *   rows      of the batch and of all within num_hops of it      arcs      those that end in these rows
 *   seconds   sum over ops of max(flops / rate, bytes / rate) and 5 us to start each
 *   bytes     weights, workspace and values computed once, laid out for these rows
 */
#include "ensemble/serve.h"

#include "base/alloc.h"

#include <math.h>

/* Records and plans the evaluation of one member. */
static gnt_status plan_dry(const gnti_serve *s, gnti_serve_shape *shape)
{
    gnt_status st = GNT_OK;
    const gnti_serve_member *m = &s->members[shape->first];
    const gnti_serve_sight *sight = &s->sights[m->sight];
    const gnti_features *x = &sight->features[m->normalizes].x;
    const gnti_plan_config plan = { .row_capacity = gnti_max_i64(s->data->num_nodes, 1),
                                    .expected_arcs = sight->whole->forward->num_arcs,
                                    .expected_entries = x->sparse != NULL ? x->sparse->num_arcs : 0 };
    gnt_tape *t = NULL;
    gnti_inputs in;
    gnt_var logits;

    GNT_TRY(gnti_tape_create(s->ctx, 1, false, &t));
    gnti_record_inputs(t, m->trained.model, true, x->sparse != NULL, &in);
    logits = gnt_model_record(m->trained.model, t, in.adj, in.x);
    gnti_tape_keep(t, logits);
    GNT_TRY(gnti_tape_num_hops(t, logits, &shape->num_hops));
    GNT_TRY(gnti_plan_program(t, m->trained.model, &plan, NULL, NULL, &shape->dry));
done:
    gnti_tape_free(&t);
    return st;
}

static int64_t data_bytes(const gnti_serve_sight *sight, const gnti_features *x, double rows, double arcs,
                          double entries)
{
    const bool weighted = sight->whole->forward->weights != NULL;
    double bytes = 16.0 * rows + arcs * (weighted ? 8.0 : 4.0);

    if (x->sparse != NULL)
        bytes += 8.0 * rows + 8.0 * entries;
    else
        bytes += 4.0 * rows * (double)x->width;
    return (int64_t)bytes;
}

/* Rows, arcs and bytes of a batch of `units`, which lie in the middle. */
static gnt_status measure(const gnti_serve *s, int32_t units, int at, gnti_serve_shape *shape)
{
    gnt_status st = GNT_OK;
    const gnti_serve_member *m = &s->members[shape->first];
    const gnti_serve_sight *sight = &s->sights[m->sight];
    const gnti_features *x = &sight->features[m->normalizes].x;
    const gnti_graph *g = sight->whole->forward;
    const int64_t n = s->data->num_nodes, first = n * (GNTI_SERVE_UNITS - units) / 2 / GNTI_SERVE_UNITS;
    int64_t *nodes = NULL, num = n;
    gnti_program_bytes bytes;

    shape->arcs[at] = (double)g->num_arcs;
    if (units < GNTI_SERVE_UNITS) {
        GNT_TRY(gnti_operator_reach(sight->whole, first, first + n * units / GNTI_SERVE_UNITS,
                                    shape->num_hops, &nodes, &num));
        shape->arcs[at] = 0.0;
        for (int64_t i = 0; i < num; i++)
            shape->arcs[at] += (double)(g->offsets[nodes[i] + 1] - g->offsets[nodes[i]]);
    }
    shape->rows[at] = (double)num;
    shape->entries[at] =
        x->sparse != NULL && n > 0 ? (double)x->sparse->num_arcs * (double)num / (double)n : 0.0;
    GNT_TRY(gnti_program_lay_out(shape->dry, gnti_max_i64(num, 1), 0));
    gnti_program_get_bytes(shape->dry, &bytes);
    shape->bytes[at] = (int64_t)(bytes.workspace + bytes.hoisted + bytes.hoist_temp + bytes.params);
    shape->data_bytes[at] = data_bytes(sight, x, shape->rows[at], shape->arcs[at], shape->entries[at]);
done:
    gnti_free(nodes);
    return st;
}

gnt_status gnti_serve_fit(gnti_serve *s)
{
    gnt_status st = GNT_OK;

    for (int32_t i = 0; i < s->num_shapes; i++) {
        GNT_TRY(plan_dry(s, &s->shapes[i]));
        for (int k = 0; k < GNTI_SERVE_BATCHES; k++)
            GNT_TRY(measure(s, GNTI_SERVE_LEAST << k, k, &s->shapes[i]));
    }
done:
    return st;
}
