/* SPDX-License-Identifier: Apache-2.0 */
/* Records an evaluation tape (no loss, no dropout), plans it, binds graph and features once. Logits, and the
 * input of the last layer when asked for, are marked to be kept.
 */
#include "train/evaluator.h"

#include "base/alloc.h"

struct gnti_evaluator {
    gnti_program *program;
    gnti_operator *own;
    const gnti_operator **adj;
    gnt_var logits, hidden;
    int64_t hidden_width;
    uint64_t *seeds; /* (M) zeros: nothing is drawn */
    uint8_t *live;   /* (M) ones */
};

static gnt_status compile(gnti_evaluator *ev, const gnti_evaluator_config *c)
{
    gnt_status st = GNT_OK;
    gnt_tape *t = NULL;
    gnti_inputs in;
    const gnti_plan_config plan = { .dist = c->part != NULL ? c->dist : NULL,
                                    .disabled_passes = c->disabled_passes,
                                    .row_capacity = c->x->rows,
                                    .expected_arcs =
                                        c->part != NULL ? c->part->op->forward->num_arcs : c->graph->num_arcs,
                                    .choices = c->choices,
                                    .measured = c->measured };

    GNT_TRY(gnti_tape_create(c->ctx, c->num_members, false, &t));
    gnti_record_inputs(t, c->model, true, c->x->sparse != NULL, &in);
    ev->logits = gnt_model_record(c->model, t, in.adj, in.x);
    gnti_tape_keep(t, ev->logits);
    if (c->keep_hidden) {
        ev->hidden = gnti_tape_hidden(t);
        ev->hidden_width = gnt_width(t, ev->hidden);
        gnti_tape_keep(t, ev->hidden);
    }
    GNT_TRY(gnti_plan_program(t, c->model, &plan, c->device != NULL ? c->device : gnti_context_device(c->ctx),
                              c->params, &ev->program));
    gnti_program_set_clock(ev->program, c->clock);
    if (c->share != NULL)
        GNT_TRY(gnti_program_share(ev->program, c->share));
done:
    gnti_tape_free(&t);
    return st;
}

static gnt_status bind(gnti_evaluator *ev, const gnti_evaluator_config *c)
{
    gnt_status st = GNT_OK;
    const gnti_operator *op = c->whole;
    const int32_t num_adjs = gnt_model_num_layers(c->model);
    gnti_batch batch = { .part = c->part, .x = c->x };

    if (c->part != NULL)
        op = c->part->op;
    if (op == NULL) {
        GNT_TRY(gnti_operator_create(c->graph, &ev->own));
        op = ev->own;
    }
    GNT_TRY(gnti_alloc_array(&ev->adj, num_adjs));
    for (int32_t l = 0; l < num_adjs; l++)
        ev->adj[l] = op;
    batch.adj = ev->adj;
    if (c->clock != NULL) /* what is computed once is computed here */
        gnti_virtual_begin(c->clock, gnti_program_stream(ev->program), 0);
    st = gnti_program_bind(ev->program, &batch);
    if (c->clock != NULL)
        gnti_virtual_end(c->clock, gnti_program_stream(ev->program));
    GNT_TRY(st);
done:
    return st;
}

gnt_status gnti_evaluator_create(const gnti_evaluator_config *config, gnti_evaluator **out)
{
    gnt_status st = GNT_OK;
    gnti_evaluator *ev = NULL;

    GNT_TRY(gnti_calloc_array(&ev, 1));
    GNT_TRY(gnti_calloc_array(&ev->seeds, config->num_members));
    GNT_TRY(gnti_alloc_array(&ev->live, config->num_members));
    for (int32_t m = 0; m < config->num_members; m++)
        ev->live[m] = 1;
    GNT_TRY(compile(ev, config));
    GNT_TRY(bind(ev, config));
    *out = ev;
    ev = NULL;
done:
    gnti_evaluator_free(&ev);
    return st;
}

void gnti_evaluator_free(gnti_evaluator **ev)
{
    if (ev == NULL || *ev == NULL)
        return;
    gnti_program_free(&(*ev)->program);
    gnti_operator_free(&(*ev)->own);
    gnti_free((*ev)->adj);
    gnti_free((*ev)->seeds);
    gnti_free((*ev)->live);
    gnti_free(*ev);
    *ev = NULL;
}

gnt_status gnti_evaluator_run(gnti_evaluator *ev)
{
    const gnti_step step = { .step = 0, .seeds = ev->seeds, .live = ev->live };

    return gnti_program_run(ev->program, &step);
}

size_t gnti_evaluator_scratch_bytes(const gnti_evaluator *ev)
{
    return gnti_program_scratch_bytes(ev->program);
}

void gnti_evaluator_settle(gnti_evaluator *ev)
{
    if (gnti_program_scratch_bytes(ev->program) == 0)
        return;
    (void)gnti_program_hold(ev->program);
    gnti_program_release(ev->program);
}

gnt_status gnti_evaluator_read(gnti_evaluator *ev, int32_t member, float *logits)
{
    return gnti_program_read_var(ev->program, ev->logits, member, logits);
}

gnt_status gnti_evaluator_read_hidden(gnti_evaluator *ev, int32_t member, float *out)
{
    return gnti_program_read_var(ev->program, ev->hidden, member, out);
}

int64_t gnti_evaluator_hidden_width(const gnti_evaluator *ev)
{
    return ev->hidden_width;
}
