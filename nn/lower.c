/* SPDX-License-Identifier: Apache-2.0 */
/* From values to views and from nodes to instructions. Row strides and the distance between blocks of members follow from
 * width, g and the capacity of the space, so that binding fewer rows only changes `rows`.
 */
#include "nn/lower.h"

#include "nn/program_state.h"

#include <string.h>

gnt_status gnti_lower_new(gnti_lowering *lo, gnti_instr_kind kind, const gnti_node *n, gnti_instr **out)
{
    gnt_status st = GNT_OK;

    if (lo->count == lo->capacity) {
        const int64_t before = lo->capacity;

        GNT_TRY(gnti_grow_array(&lo->list, &lo->capacity, lo->count + 1));
        for (int64_t i = before; i < lo->capacity; i++)
            lo->list[i] = NULL;
    }
    if (lo->list[lo->count] == NULL)
        GNT_TRY(gnti_alloc_array(&lo->list[lo->count], 1));
    *out = lo->list[lo->count++];
    memset(*out, 0, sizeof **out);
    (*out)->kind = kind;
    (*out)->node = n;
    (*out)->slice = lo->slice != NULL ? lo->slice->number : 0;
done:
    return st;
}

void gnti_lowering_free(gnti_lowering *lo)
{
    for (int64_t i = 0; i < lo->capacity; i++)
        gnti_free(lo->list[i]);
    gnti_free(lo->list);
    lo->list = NULL;
    lo->count = lo->capacity = 0;
}

const gnti_value *gnti_lower_value(const gnti_lowering *lo, int32_t value)
{
    return &lo->p->ir.values[value];
}

int64_t gnti_lower_rows(const gnti_lowering *lo, int32_t value)
{
    const gnti_value *v = gnti_lower_value(lo, value);

    return v->space == 0 ? v->rows : lo->p->spaces[v->space].rows;
}

/* Buffer and first byte of a value that is no view. */
static void find_memory(const gnti_program *p, const gnti_value *v, gnt_mat_view *view)
{
    const gnti_params *params = p->params;
    const gnti_program *owner = p->hoisted_shared ? p->partner : p;

    view->offset = v->offset > 0 ? (size_t)v->offset : 0;
    switch (v->storage) {
    case GNTI_IN_WORKSPACE:
        view->buf = gnti_scratch_buffer(p->workspace);
        break;
    case GNTI_IN_HOISTED:
        view->buf = owner->hoisted;
        break;
    case GNTI_IN_HOIST_TEMP:
        view->buf = p->temp;
        break;
    case GNTI_IN_WEIGHTS:
    case GNTI_IN_GRADS:
        view->buf = params->blocks[v->storage == GNTI_IN_WEIGHTS ? GNTI_BLOCK_WEIGHTS : GNTI_BLOCK_GRADS];
        view->offset = (size_t)params->infos[v->param].offset * sizeof(float);
        break;
    case GNTI_IN_FEATURES:
        view->buf = p->x.dense;
        break;
    case GNTI_IN_OPERATOR:
        view->buf = p->operators[v->adj].vectors[v->vector];
        break;
    case GNTI_IN_PARTIAL:
        view->buf = p->parts.partial;
        view->offset *= sizeof(float);
        break;
    case GNTI_IN_SUMS:
        view->buf = p->parts.result;
        break;
    default:
        break;
    }
}

int64_t gnti_value_rows_kept(const gnti_program *p, const gnti_value *v)
{
    const int32_t *halo = p->parts.halo_space;

    if (v->space == 0)
        return v->rows;
    if (v->halo_space == 0)
        return p->spaces[v->space].capacity;
    /* room for either direction, so that a gradient may take the memory of its activation */
    return gnti_max_i64(p->spaces[halo[GNTI_FORWARD]].capacity, p->spaces[halo[GNTI_BACKWARD]].capacity);
}

gnt_mat_view gnti_lower_view(const gnti_lowering *lo, int32_t value)
{
    const gnti_program *p = lo->p;
    const gnti_value *v = &p->ir.values[value];
    gnt_mat_view view = { .dtype = v->dtype };

    if (v->storage == GNTI_IN_VIEW) {
        view = gnti_view_columns(gnti_lower_view(lo, v->parent), v->first_column, v->width);
        view.rows = gnti_lower_rows(lo, value);
        return view;
    }
    view.rows = gnti_lower_rows(lo, value);
    view.members = v->shared ? 1 : p->ir.num_members;
    view.block_members = v->block_members;
    view.width = v->width;
    view.row_stride = gnti_value_stride(v);
    if (!v->shared) {
        view.member_stride = v->width;
        view.block_stride = view.row_stride * gnti_value_rows_kept(p, v);
    }
    find_memory(p, v, &view);
    return gnti_slice_view(lo->slice, view, v->sliced);
}

gnt_mat_view gnti_view_columns(gnt_mat_view v, int64_t first, int64_t width)
{
    v.offset += (size_t)first * sizeof(float);
    v.width = width;
    return v;
}

gnt_mat_view gnti_view_rows(gnt_mat_view v, int64_t first, int64_t rows)
{
    if (v.buf == NULL)
        return v;
    v.offset += (size_t)(first * v.row_stride) * sizeof(float);
    v.rows = rows;
    return v;
}

const gnt_buffer *gnti_lower_step(const gnti_lowering *lo)
{
    return lo->slice != NULL ? lo->slice->step : lo->p->step;
}

bool gnti_lower_is_training(const gnti_lowering *lo)
{
    return lo->p->ir.training;
}

int32_t gnti_lower_features(const gnti_lowering *lo)
{
    return lo->p->ir.x;
}

int32_t gnti_lower_num_members(const gnti_lowering *lo)
{
    return lo->p->ir.num_members;
}

const gnt_buffer *gnti_lower_ids(const gnti_lowering *lo, int32_t value)
{
    return lo->p->spaces[gnti_lower_value(lo, value)->space].ids;
}

/* A block's destinations are its first sources; a part's transpose has halo rows of its own. */
gnti_arc_ids gnti_lower_arc_ids(const gnti_lowering *lo, const gnti_node *n)
{
    const gnti_bound_operator *b = &lo->p->operators[n->adj];

    return (gnti_arc_ids){ b->ids, n->transposed && b->ids_transposed != NULL ? b->ids_transposed : b->ids };
}

gnt_dropout gnti_lower_dropout(const gnti_lowering *lo, int32_t hyper, uint32_t ordinal, int32_t value)
{
    return (gnt_dropout){ .hyper = hyper,
                          .ordinal = ordinal,
                          .row_ids = lo->p->spaces[gnti_lower_value(lo, value)->space].ids };
}

gnt_row_tree gnti_lower_tree(const gnti_lowering *lo, int32_t value)
{
    const int64_t rows = gnti_lower_rows(lo, value);

    return (gnt_row_tree){ rows, gnti_ceil_div(rows, GNTI_TREE_ROWS), NULL };
}

gnt_epilogue gnti_lower_epilogue(const gnti_lowering *lo, gnti_instr *in, const gnti_node *n, int first)
{
    const gnti_epilogue_plan *e = &n->epilogue;
    gnt_epilogue out = GNT_EPILOGUE_NONE;

    if (e->row_scale != 0) {
        in->views[first] = gnti_lower_view(lo, e->row_scale);
        in->views[first].rows = gnti_lower_rows(lo, n->out[0]);
        out.row_scale = &in->views[first];
    }
    if (e->bias != 0) {
        in->views[first + 1] = gnti_lower_view(lo, e->bias);
        out.bias = &in->views[first + 1];
    }
    out.act = e->act;
    out.act_alpha = e->act_alpha;
    if (e->hyper != 0)
        out.dropout = gnti_lower_dropout(lo, e->hyper, e->ordinal, n->out[0]);
    if (e->gate != 0) {
        in->views[first + 2] = gnti_lower_view(lo, e->gate);
        out.gate = &in->views[first + 2];
        out.gate_act = e->gate_act;
        out.gate_alpha = e->gate_alpha;
    }
    if (e->gate_hyper != 0)
        out.gate_dropout = gnti_lower_dropout(lo, e->gate_hyper, e->gate_ordinal, n->out[0]);
    out.step = gnti_lower_step(lo);
    return out;
}

gnt_status gnti_lower_copy(gnti_lowering *lo, const gnti_node *n, gnt_mat_view a, gnt_mat_view y, float alpha)
{
    gnt_status st = GNT_OK;
    gnti_instr *in = NULL;

    GNT_TRY(gnti_lower_new(lo, GNTI_INSTR_MAP, n, &in));
    in->a.map =
        (gnt_map_args){ .kind = GNT_MAP_COPY, .a = a, .y = y, .alpha = alpha, .dropout = { .hyper = -1 } };
done:
    return st;
}

gnt_status gnti_lower_added(gnti_lowering *lo, const gnti_node *n)
{
    gnt_mat_view from, to;

    if (n->added == 0)
        return GNT_OK;
    from = gnti_lower_view(lo, n->added);
    to = gnti_lower_view(lo, n->out[0]);
    if (from.buf == to.buf && from.offset == to.offset)
        return GNT_OK;
    return gnti_lower_copy(lo, n, from, to, 1.0f);
}

gnti_lower_operator gnti_lower_get_operator(const gnti_lowering *lo, int32_t adj)
{
    const gnti_bound_operator *b = &lo->p->operators[adj];

    return (gnti_lower_operator){ b->forward, b->transposed, b->vectors[GNTI_VECTOR_LOOP] != NULL,
                                  b->vectors[GNTI_VECTOR_SELF] != NULL, lo->p->loss_rows.plan };
}

gnt_mat_view gnti_lower_vector(const gnti_lowering *lo, int32_t adj, gnti_vector vector)
{
    const gnti_bound_operator *b = &lo->p->operators[adj];

    return (gnt_mat_view){ .buf = b->vectors[vector],
                           .rows = vector == GNTI_VECTOR_SYM ? b->host->num_src
                                   : vector == GNTI_VECTOR_SYM_T || vector == GNTI_VECTOR_MEAN_T
                                       ? b->host->num_src_t
                                       : b->host->num_dst,
                           .members = 1,
                           .block_members = 1,
                           .width = 1,
                           .row_stride = 1 };
}

static gnt_mat_view entries_view(gnt_buffer *buf, int64_t count)
{
    return (gnt_mat_view){
        .buf = buf, .rows = count, .members = 1, .block_members = 1, .width = 1, .row_stride = 1
    };
}

gnti_lower_sparse gnti_lower_get_sparse(const gnti_lowering *lo)
{
    const gnti_bound_features *x = &lo->p->x;
    const int64_t count = x->view.sparse->num_arcs;

    return (gnti_lower_sparse){ x->forward,
                                x->transposed,
                                entries_view(x->values, count),
                                entries_view(x->values_transposed, count),
                                x->rows,
                                x->columns,
                                x->rows_transposed,
                                x->columns_transposed };
}

/* (rows, shared or M, width) over a plain array. */
static gnt_mat_view plain_view(gnt_buffer *buf, int64_t rows, int64_t members, int64_t width)
{
    gnt_mat_view v = {
        .buf = buf, .rows = rows, .members = members, .block_members = 1, .width = width, .row_stride = width
    };

    if (members > 1) {
        v.member_stride = width;
        v.block_stride = rows * width;
    }
    return v;
}

void gnti_lower_loss_inputs(const gnti_lowering *lo, gnt_loss_args *a, gnti_instr *in)
{
    const gnti_program *p = lo->p;
    const gnti_loss_config *c = &p->ir.loss_config;
    const int64_t rows = a->logits.rows, all = gnti_lower_rows(lo, p->ir.logits);

    a->kind = c->kind;
    a->weight = plain_view(p->loss.weight, all, c->weight_per_member ? p->ir.num_members : 1, 1);
    a->weight = gnti_view_rows(gnti_slice_view(lo->slice, a->weight, false), a->first_row, rows);
    a->labels = p->loss.labels;
    if (c->kind != GNT_LOSS_SOFTMAX)
        a->target = gnti_view_rows(plain_view(p->loss.target, all, 1, a->logits.width), a->first_row, rows);
    if (c->num_class_weights > 0) {
        in->views[1] = plain_view(p->loss.class_weight, 1, 1, c->num_class_weights);
        a->class_weight = &in->views[1];
    }
    if (c->apart) {
        in->views[2] = gnti_view_rows(plain_view(p->loss.apart, all, 1, a->logits.width), a->first_row, rows);
        a->apart = &in->views[2];
        a->apart_hyper = p->ir.loss_apart;
    }
    a->norm_hyper = p->ir.loss_norm;
    a->stats = p->parts.on ? p->parts.stats : p->stats;
    a->stats_offset += lo->slice != NULL ? (size_t)lo->slice->first * 4 * sizeof(double) : 0;
}

void gnti_lower_update_inputs(const gnti_lowering *lo, gnt_optimizer_args *a)
{
    const gnti_program *p = lo->p;

    *a = (gnt_optimizer_args){ .kind = p->update.kind,
                               .nesterov = p->update.nesterov,
                               .beta1 = p->update.beta1,
                               .beta2 = p->update.beta2,
                               .eps = p->update.eps,
                               .weights = p->params->blocks[GNTI_BLOCK_WEIGHTS],
                               .grads = p->params->blocks[GNTI_BLOCK_GRADS],
                               .moment1 = p->params->blocks[GNTI_BLOCK_MOMENT1],
                               .moment2 = p->params->blocks[GNTI_BLOCK_MOMENT2],
                               .segments = p->segments,
                               .num_segments = p->num_segments,
                               .num_members = p->ir.num_members,
                               .lr_hyper = p->lr,
                               .corr1_hyper = p->corr1,
                               .corr2_hyper = p->corr2,
                               .clip_hyper = p->clip != 0 ? p->clip : -1,
                               .step = p->step,
                               .bad = p->bad };
}

static gnt_status lower_node(gnti_lowering *lo, const gnti_node *n)
{
    gnt_status st = GNT_OK;

    if (!gnti_is_product(n) && n->op != GNTI_IR_EXCHANGE)
        GNT_TRY(gnti_lower_end_exchanges(lo));
    GNT_TRY(gnti_op_get_info(n->op)->lower(lo, n));
done:
    return st;
}

/* All nodes of a run for the first slice of members, then for the next. */
static gnt_status lower_run(gnti_program *p, int64_t first, int64_t last)
{
    gnt_status st = GNT_OK;

    for (int32_t s = 0; s < p->slices.count; s++) {
        p->lowering.slice = &p->slices.list[s];
        for (int64_t i = first; i <= last; i++)
            if (!p->ir.nodes[i].hoisted)
                GNT_TRY(lower_node(&p->lowering, &p->ir.nodes[i]));
    }
done:
    p->lowering.slice = NULL;
    return st;
}

static gnt_status lower_nodes(gnti_program *p, bool hoisted)
{
    gnt_status st = GNT_OK;

    for (int64_t i = 0; i < p->ir.num_nodes; i++) {
        const gnti_node *n = &p->ir.nodes[i];
        int64_t first;

        if (n->hoisted != hoisted)
            continue;
        if (n->run == 0 || p->slices.count == 0) {
            GNT_TRY(lower_node(&p->lowering, n));
            continue;
        }
        gnti_slices_span(p, i, &first, &i);
        GNT_TRY(lower_run(p, first, i));
    }
    GNT_TRY(gnti_lower_end_exchanges(&p->lowering));
done:
    return st;
}

gnt_status gnti_lower_program(gnti_program *p)
{
    gnt_status st = GNT_OK;

    gnti_scratch_hold(p->workspace, p->params);
    p->lowering.count = 0;
    p->lowering.num_under_way = 0;
    if (!p->hoisted_shared)
        GNT_TRY(lower_nodes(p, true));
    p->num_hoist_instrs = p->lowering.count;
    GNT_TRY(lower_nodes(p, false));
    GNT_TRY(gnti_chain_lower(p));
    p->workspace_version = gnti_scratch_version(p->workspace);
done:
    gnti_scratch_release(p->workspace);
    return st;
}

/* A user's op may answer a bare status: the text that goes with it is made here. */
static gnt_status run_custom(const gnti_instr *in, const gnt_op_args *args)
{
    gnt_status st;

    gnt_clear_error();
    st = in->custom(args);
    if (st == GNT_OK || gnti_error_get()->code == st)
        return st;
    return gnti_error_set(st, __FILE__, __LINE__, __func__, "layer %d: op '%s' answered %s%s%s",
                          in->node->layer, in->node->custom->name, gnt_status_name(st),
                          gnti_error_get()->code != GNT_OK ? ": " : "", gnti_error_get()->text);
}

gnt_status gnti_instr_run(gnt_stream *s, const gnti_instr *in)
{
    gnt_op_args custom;

    switch (in->kind) {
    case GNTI_INSTR_GEMM:
        return gnti_gemm(s, &in->a.gemm);
    case GNTI_INSTR_SPMM:
        return gnti_spmm(s, in->plan, &in->a.spmm);
    case GNTI_INSTR_NORM:
        return gnti_norm(s, &in->a.norm);
    case GNTI_INSTR_MAP:
        return gnti_map(s, &in->a.map);
    case GNTI_INSTR_REDUCE:
        return gnti_reduce(s, &in->a.reduce);
    case GNTI_INSTR_ATTEND:
        return gnti_attend(s, in->plan, &in->a.attend);
    case GNTI_INSTR_ATTEND_GRAD:
        return gnti_attend_backward(s, in->plan, &in->a.attend_grad);
    case GNTI_INSTR_LOSS:
        return gnti_loss(s, &in->a.loss);
    case GNTI_INSTR_UPDATE:
        return gnti_optimizer_step(s, &in->a.update);
    case GNTI_INSTR_NOTHING:
        return GNT_OK;
    default:
        if (gnti_instr_talks(in))
            return gnti_parts_run(in);
        custom = in->a.custom;
        custom.stream = s;
        return run_custom(in, &custom);
    }
}
