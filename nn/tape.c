/* SPDX-License-Identifier: Apache-2.0 */
/* Life of a tape, its failure, its inputs, hypers and the use of parameters. Names and lists live in an arena; hypers of
 * the model come first, under the ids that its builder gave out, then those that the trainer asks for by name.
 */
#include "nn/tape.h"

#include "nn/model.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

gnt_status gnti_tape_create(gnt_context *ctx, int32_t num_members, bool training, gnt_tape **out)
{
    gnt_status st = GNT_OK;
    gnt_tape *t = NULL;

    GNT_CHECK(ctx != NULL && out != NULL, GNT_ERR_ARG, "context and out must not be NULL");
    GNT_CHECK(num_members >= 1, GNT_ERR_ARG, "a tape needs 1 member at least, not %d", num_members);
    GNT_TRY(gnti_calloc_array(&t, 1));
    GNT_TRY(gnti_arena_create(&t->arena));
    GNT_TRY(gnti_grow_array(&t->hypers, &t->hypers_capacity, 1));
    t->hypers[t->num_hypers++] = (gnti_hyper_info){ "", 0.0 };
    t->ctx = ctx;
    t->ir.num_members = num_members;
    t->ir.training = training;
    *out = t;
    t = NULL;
done:
    gnti_tape_free(&t);
    return st;
}

void gnti_tape_free(gnt_tape **t)
{
    if (t == NULL || *t == NULL)
        return;
    gnti_ir_free(&(*t)->ir);
    gnti_free((*t)->param_values);
    gnti_free((*t)->hypers);
    gnti_arena_free(&(*t)->arena);
    gnti_free(*t);
    *t = NULL;
}

gnt_status gnti_tape_status(const gnt_tape *t)
{
    if (t->failure.code != GNT_OK)
        return gnti_error_adopt(&t->failure);
    if (t->ir.status != GNT_OK)
        return gnti_error_set(t->ir.status, __FILE__, __LINE__, __func__, "no memory to record the tape");
    return gnti_arena_status(t->arena);
}

const char *gnti_tape_shape(const gnt_tape *t, gnt_var v, char out[GNTI_SHAPE_BYTES])
{
    const gnti_value *x = gnti_tape_value(t, v);

    if (x->space != 0)
        snprintf(out, GNTI_SHAPE_BYTES, "(row space %d, width %lld)", x->space, (long long)x->width);
    else
        snprintf(out, GNTI_SHAPE_BYTES, "(%lld rows, width %lld)", (long long)x->rows, (long long)x->width);
    return out;
}

gnt_var gnti_tape_fail(gnt_tape *t, gnt_status code, const char *op, const char *format, ...)
{
    if (t->failure.code == GNT_OK) {
        char text[512];
        va_list args;

        va_start(args, format);
        vsnprintf(text, sizeof text, format, args);
        va_end(args);
        if (t->ir.layer > 0)
            gnti_error_set(code, __FILE__, __LINE__, __func__, "layer %d '%s', %s: %s", t->ir.layer,
                           t->layer_name, op, text);
        else
            gnti_error_set(code, __FILE__, __LINE__, __func__, "%s: %s", op, text);
        t->failure = *gnti_error_get();
    }
    return (gnt_var){ 0 };
}

const gnti_value *gnti_tape_value(const gnt_tape *t, gnt_var v)
{
    static const gnti_value none = { 0 };

    return v.id > 0 && v.id < t->ir.num_values ? &t->ir.values[v.id] : &none;
}

bool gnti_tape_takes(gnt_tape *t, const char *op, const gnt_var *in, int count)
{
    if (t == NULL || t->failure.code != GNT_OK || t->ir.status != GNT_OK ||
        gnti_arena_status(t->arena) != GNT_OK)
        return false;
    for (int i = 0; i < count; i++) {
        if (in[i].id == 0)
            gnti_tape_fail(t, GNT_ERR_ARG, op,
                           "input %d is no value (an optional one that is missing, or unset)", i + 1);
        else if (in[i].id < 0 || in[i].id >= t->ir.num_values)
            gnti_tape_fail(t, GNT_ERR_ARG, op, "input %d is no value of this tape (id %d of %lld)", i + 1,
                           in[i].id, (long long)t->ir.num_values - 1);
        else
            continue;
        return false;
    }
    return true;
}

bool gnti_tape_takes_adj(gnt_tape *t, const char *op, gnt_adj adj)
{
    if (adj.id <= 0 || adj.id >= t->ir.num_adjs) {
        gnti_tape_fail(t, GNT_ERR_ARG, op, "adjacency %d is none of this tape's %lld", adj.id,
                       (long long)gnti_max_i64(t->ir.num_adjs - 1, 0));
        return false;
    }
    return true;
}

gnt_status gnti_tape_num_hops(const gnt_tape *t, gnt_var v, int32_t *out)
{
    gnt_status st = GNT_OK;
    const gnti_ir *ir = &t->ir;
    int32_t *hops = NULL; /* of each value; a tape is in the order in which it runs */

    GNT_TRY(gnti_tape_status(t));
    GNT_CHECK(v.id > 0 && v.id < ir->num_values, GNT_ERR_ARG, "there is no value %d", v.id);
    GNT_TRY(gnti_calloc_array(&hops, ir->num_values));
    for (int64_t i = 0; i < ir->num_nodes; i++) {
        const gnti_node *n = &ir->nodes[i];
        int32_t longest = 0;

        for (int32_t k = 0; k < n->num_in; k++)
            longest = hops[n->in[k]] > longest ? hops[n->in[k]] : longest;
        longest += n->op == GNTI_IR_AGGREGATE || n->op == GNTI_IR_ATTEND;
        for (int32_t k = 0; k < n->num_out; k++)
            hops[n->out[k]] = longest;
    }
    *out = hops[v.id];
done:
    gnti_free(hops);
    return st;
}

static int32_t new_adj(gnt_tape *t, int32_t source, int32_t destination)
{
    gnti_ir *ir = &t->ir;

    if (ir->status == GNT_OK)
        ir->status = gnti_grow_array(&ir->adjs, &ir->adjs_capacity, ir->num_adjs + 2);
    if (ir->status != GNT_OK)
        return 0;
    if (ir->num_adjs == 0)
        ir->adjs[ir->num_adjs++] = (gnti_adj_info){ 0, 0 };
    ir->adjs[ir->num_adjs] = (gnti_adj_info){ source, destination };
    return (int32_t)ir->num_adjs++;
}

/* The model's hypers under their own ids, behind row 0. */
static void take_model(gnt_tape *t, const gnt_model *model)
{
    if (t->ir.status == GNT_OK)
        t->ir.status = gnti_calloc_array(&t->param_values, model->num_params + 1);
    if (t->ir.status == GNT_OK)
        t->ir.status = gnti_grow_array(&t->hypers, &t->hypers_capacity, model->num_hypers + 1);
    if (t->ir.status != GNT_OK)
        return;
    t->model = model;
    for (int32_t i = 0; i < model->num_hypers; i++)
        t->hypers[t->num_hypers++] = (gnti_hyper_info){ model->hypers[i].name, model->hypers[i].value };
}

void gnti_record_inputs(gnt_tape *t, const gnt_model *model, bool square, bool sparse_x, gnti_inputs *out)
{
    const int32_t layers = model->num_layers;
    int32_t space = gnti_ir_space(&t->ir);

    if (t->model != NULL) {
        gnti_tape_fail(t, GNT_ERR_STATE, "inputs", "this tape has its inputs already");
        return;
    }
    take_model(t, model);
    out->x = (gnt_var){ gnti_ir_value(&t->ir, space, 0, model->in_width, true) };
    out->adj = gnti_arena_array(t->arena, layers + 1, sizeof *out->adj);
    if (out->adj == NULL || out->x.id == 0)
        return;
    t->ir.values[out->x.id].storage = GNTI_IN_FEATURES;
    t->ir.x = out->x.id;
    t->ir.sparse_x = sparse_x;
    for (int32_t l = 0; l < layers; l++) {
        const int32_t next = square ? space : gnti_ir_space(&t->ir);

        out->adj[l] = (gnt_adj){ new_adj(t, space, next) };
        space = next;
    }
}

gnt_hyper gnti_tape_hyper(gnt_tape *t, const char *name, double value)
{
    if (t->failure.code != GNT_OK || t->ir.status != GNT_OK || gnti_arena_status(t->arena) != GNT_OK)
        return (gnt_hyper){ 0 };
    for (int64_t i = 1 + (t->model != NULL ? t->model->num_hypers : 0); i < t->num_hypers; i++)
        if (strcmp(t->hypers[i].name, name) == 0)
            return (gnt_hyper){ (int32_t)i };
    if (t->model == NULL) {
        gnti_tape_fail(t, GNT_ERR_STATE, "hyper", "record the inputs before hyper '%s'", name);
        return (gnt_hyper){ 0 };
    }
    t->ir.status = gnti_grow_array(&t->hypers, &t->hypers_capacity, t->num_hypers + 1);
    if (t->ir.status != GNT_OK)
        return (gnt_hyper){ 0 };
    t->hypers[t->num_hypers] = (gnti_hyper_info){ gnti_arena_strdup(t->arena, name), value };
    return (gnt_hyper){ (int32_t)t->num_hypers++ };
}

void gnti_tape_keep(gnt_tape *t, gnt_var v)
{
    if (v.id > 0 && v.id < t->ir.num_values) {
        t->ir.values[v.id].keep = true;
        t->ir.values[gnti_ir_root(&t->ir, v.id)].keep = true;
    }
}

gnt_var gnti_tape_hidden(const gnt_tape *t)
{
    return (gnt_var){ t->hidden };
}

gnt_var gnt_use(gnt_tape *t, gnt_param p)
{
    const gnti_param_decl *decl;
    int32_t v;

    if (!gnti_tape_takes(t, "use", NULL, 0))
        return (gnt_var){ 0 };
    if (t->model == NULL || p.id <= 0 || p.id > t->model->num_params)
        return gnti_tape_fail(t, GNT_ERR_ARG, "use", "parameter %d was not declared by this model's layers",
                              p.id);
    if (t->param_values[p.id] != 0)
        return (gnt_var){ t->param_values[p.id] };
    decl = &t->model->params[p.id - 1];
    v = gnti_ir_value(&t->ir, 0, decl->in, decl->out, false);
    if (v != 0) {
        t->ir.values[v].storage = GNTI_IN_WEIGHTS;
        t->ir.values[v].param = p.id - 1;
    }
    t->param_values[p.id] = v;
    return (gnt_var){ v };
}

int64_t gnt_width(const gnt_tape *t, gnt_var h)
{
    return gnti_tape_value(t, h)->width;
}
