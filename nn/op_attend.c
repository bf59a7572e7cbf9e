/* SPDX-License-Identifier: Apache-2.0 */
/* Attention along an adjacency (Velickovic et al., ICLR 2018), and scores of heads.
 *   attend   e_ij = s_dst[i] + s_src[j], a_ij = softmax_j leaky_relu(e_ij), y_i = sum_j keep_ij a_ij h_j
 * over the arcs into i and i itself. Backward, two nodes: by rows, ds_dst and what the destinations tell their sources
 * (stat = s_dst | max | 1 / sum | r per head, r_i = <g_i, y_i>); by columns, along the transpose, dh and ds_src. Both compute
 * a_ij again from max and sum, so no value has the size of the arcs. Through arcs go h and s_src, then g and stat: each is a
 * value of its own, whose halo rows ranks exchange (op_table.c, gathers).
 *   head dots   s[r, k] = sum of h[r, c] a[c] over the columns c of head k: a product with a times a mask of heads
 */
#include "nn/parts.h"
#include "nn/tape.h"

enum { MAX_HEADS = 64, MAX_RANDOM_OPS = 4096 };

/* (width, heads): 1 where the row's column belongs to the head. */
static int32_t head_mask(gnti_ir *ir, int64_t width, int64_t heads)
{
    int32_t mask;

    for (int64_t i = 0; i < ir->num_nodes; i++)
        if (ir->nodes[i].op == GNTI_IR_HEAD_MASK && ir->values[ir->nodes[i].out[0]].rows == width &&
            ir->values[ir->nodes[i].out[0]].width == heads)
            return ir->nodes[i].out[0];
    mask = gnti_ir_value(ir, 0, width, heads, true);
    gnti_ir_node(ir, GNTI_IR_HEAD_MASK, 0, 0, mask);
    return mask;
}

gnt_var gnt_head_dots(gnt_tape *t, gnt_var h, gnt_var a, int64_t heads)
{
    char x[GNTI_SHAPE_BYTES], y[GNTI_SHAPE_BYTES];
    const gnti_value *v, *w;
    gnt_var weights;
    int64_t width;
    int32_t mask;

    if (!gnti_tape_takes(t, "head_dots", (gnt_var[]){ h, a }, 2))
        return (gnt_var){ 0 };
    v = gnti_tape_value(t, h);
    w = gnti_tape_value(t, a);
    if (heads < 1 || heads > MAX_HEADS || v->width % heads != 0)
        return gnti_tape_fail(t, GNT_ERR_ARG, "head_dots",
                              "%lld heads of %s: from 1 to %d heads must share its width", (long long)heads,
                              gnti_tape_shape(t, h, x), (int)MAX_HEADS);
    if (w->space != 0 || w->rows != v->width || w->width != 1)
        return gnti_tape_fail(t, GNT_ERR_ARG, "head_dots",
                              "%s does not fit %s: needed is one value a column, (%lld rows, width 1)",
                              gnti_tape_shape(t, a, y), gnti_tape_shape(t, h, x), (long long)v->width);
    if (heads == 1)
        return gnt_matmul(t, h, a);
    width = v->width; /* new values move the old ones */
    weights.id = gnti_ir_value(&t->ir, 0, width, heads, false);
    mask = head_mask(&t->ir, width, heads);
    gnti_ir_node(&t->ir, GNTI_IR_MUL, mask, a.id, weights.id);
    return gnt_matmul(t, h, weights);
}

static bool check_attend(gnt_tape *t, gnt_adj adj, gnt_var h, gnt_var s_src, gnt_var s_dst)
{
    char a[GNTI_SHAPE_BYTES], b[GNTI_SHAPE_BYTES];
    const gnti_value *x = gnti_tape_value(t, h), *s = gnti_tape_value(t, s_src),
                     *d = gnti_tape_value(t, s_dst);
    const gnti_adj_info spaces = t->ir.adjs[adj.id];

    if (x->space != spaces.source || s->space != spaces.source)
        gnti_tape_fail(t, GNT_ERR_ARG, "attend",
                       "inputs %s and %s must be in row space %d, where adjacency %d starts",
                       gnti_tape_shape(t, h, a), gnti_tape_shape(t, s_src, b), spaces.source, adj.id);
    else if (d->space != spaces.destination)
        gnti_tape_fail(
            t, GNT_ERR_ARG, "attend",
            "scores %s must be in row space %d, where adjacency %d ends: take its own rows with gnt_self",
            gnti_tape_shape(t, s_dst, a), spaces.destination, adj.id);
    else if (s->width != d->width || s->width > MAX_HEADS || x->width % s->width != 0)
        gnti_tape_fail(
            t, GNT_ERR_ARG, "attend",
            "%s with %lld and %lld scores a row: equally many heads, at most %d, must share its width",
            gnti_tape_shape(t, h, a), (long long)s->width, (long long)d->width, (int)MAX_HEADS);
    else
        return true;
    return false;
}

gnt_var gnt_attend(gnt_tape *t, gnt_adj adj, gnt_var h, gnt_var s_src, gnt_var s_dst, float slope,
                   gnt_hyper dropout)
{
    const bool wants_drop = dropout.id != 0;
    bool shared;
    int32_t y, soft, space;
    int64_t width, heads;
    gnti_node *n;

    if (!gnti_tape_takes(t, "attend", (gnt_var[]){ h, s_src, s_dst }, 3) ||
        !gnti_tape_takes_adj(t, "attend", adj) || !check_attend(t, adj, h, s_src, s_dst))
        return (gnt_var){ 0 };
    if (!(slope >= 0.0f && slope <= 1.0f))
        return gnti_tape_fail(t, GNT_ERR_ARG, "attend", "the slope %g is outside of 0 to 1", (double)slope);
    if (wants_drop && (dropout.id < 0 || dropout.id >= t->num_hypers))
        return gnti_tape_fail(t, GNT_ERR_ARG, "attend", "the dropout is no hyper of this model (id %d)",
                              dropout.id);
    if (wants_drop && t->num_random >= MAX_RANDOM_OPS)
        return gnti_tape_fail(t, GNT_ERR_LIMIT, "attend", "more than %d random ops on one tape",
                              (int)MAX_RANDOM_OPS);
    shared = gnti_tape_value(t, h)->shared && gnti_tape_value(t, s_src)->shared &&
             gnti_tape_value(t, s_dst)->shared && !wants_drop;
    space = t->ir.adjs[adj.id].destination;
    width = gnti_tape_value(t, h)->width;
    heads = gnti_tape_value(t, s_src)->width;
    y = gnti_ir_value(&t->ir, space, 0, width, shared);
    soft = gnti_ir_value(&t->ir, space, 0, 2 * heads, shared);
    n = gnti_ir_node(&t->ir, GNTI_IR_ATTEND, h.id, s_src.id, y);
    n->in[n->num_in++] = s_dst.id;
    n->out[n->num_out++] = soft;
    n->adj = adj.id;
    n->act_alpha = slope;
    if (wants_drop && t->ir.training) {
        n->hyper = dropout.id;
        n->ordinal = t->num_random++;
    }
    return (gnt_var){ y };
}

/* ---- gradient ------------------------------------------------------------------------------------------------------ */

static void copy_options(gnti_node *to, const gnti_node *from)
{
    to->adj = from->adj;
    to->act_alpha = from->act_alpha;
    to->hyper = from->hyper;
    to->ordinal = from->ordinal;
}

void gnti_grad_attend(gnti_autodiff *ad, const gnti_node *n)
{
    gnti_ir *ir = ad->ir;
    const gnti_node f = *n;
    const int32_t h = f.in[0], s_src = f.in[1], s_dst = f.in[2], y = f.out[0];
    const int32_t g = gnti_autodiff_of(ad, y);
    const int64_t heads = ir->values[s_src].width;
    const int32_t rows_in[] = { h, s_src, s_dst, f.out[1], y };
    const int32_t stat = gnti_ir_like(ir, y, 4 * heads), ds_dst = gnti_ir_like(ir, y, heads);
    int32_t dh, ds_src;
    gnti_node *rows = gnti_ir_node(ir, GNTI_IR_ATTEND_ROWS, g, 0, ds_dst), *columns;

    for (int i = 0; i < 5; i++)
        rows->in[i + 1] = rows_in[i];
    rows->num_in = 6;
    rows->out[rows->num_out++] = stat;
    copy_options(rows, &f);
    if (gnti_autodiff_wants(ad, s_dst))
        gnti_autodiff_add(ad, s_dst, ds_dst);
    if (!gnti_autodiff_wants(ad, h) && !gnti_autodiff_wants(ad, s_src))
        return;
    /* h and s_src may be shared by the members (what no parameter reaches); their gradients are not, and unwanted */
    dh = gnti_ir_value(ir, ir->values[h].space, 0, ir->values[h].width, ir->values[y].shared);
    ds_src = gnti_ir_value(ir, ir->values[h].space, 0, heads, ir->values[y].shared);
    columns = gnti_ir_node(ir, GNTI_IR_ATTEND_COLUMNS, g, stat, dh);
    columns->in[2] = h;
    columns->in[3] = s_src;
    columns->num_in = 4;
    columns->out[columns->num_out++] = ds_src;
    columns->transposed = true;
    copy_options(columns, &f);
    if (gnti_autodiff_wants(ad, h))
        gnti_autodiff_add(ad, h, dh);
    if (gnti_autodiff_wants(ad, s_src))
        gnti_autodiff_add(ad, s_src, ds_src);
}

/* ---- lowering ------------------------------------------------------------------------------------------------------ */

static gnt_arc_dropout arc_dropout(const gnti_lowering *lo, const gnti_node *n)
{
    const gnti_arc_ids ids = gnti_lower_arc_ids(lo, n);

    return (gnt_arc_dropout){ .hyper = n->hyper != 0 ? n->hyper : -1,
                              .ordinal = n->ordinal,
                              .src_ids = ids.src,
                              .dst_ids = ids.dst,
                              .step = gnti_lower_step(lo) };
}

gnt_status gnti_lower_attend(gnti_lowering *lo, const gnti_node *n)
{
    gnt_status st = GNT_OK;
    gnti_instr *in = NULL;

    GNT_TRY(gnti_lower_added(lo, n));
    GNT_TRY(gnti_lower_new(lo, GNTI_INSTR_ATTEND, n, &in));
    in->plan = gnti_lower_get_operator(lo, n->adj).forward;
    in->a.attend = (gnt_attend_args){ .heads = (int32_t)gnti_lower_value(lo, n->in[1])->width,
                                      .slope = n->act_alpha,
                                      .h = gnti_lower_gathered(lo, n->in[0]),
                                      .s_src = gnti_lower_gathered(lo, n->in[1]),
                                      .s_dst = gnti_lower_view(lo, n->in[2]),
                                      .out = gnti_lower_view(lo, n->out[0]),
                                      .alpha = n->alpha,
                                      .beta = n->added != 0 ? n->beta : 0.0f,
                                      .dropout = arc_dropout(lo, n) };
    if (n->num_out > 1)
        in->a.attend.soft = gnti_lower_view(lo, n->out[1]);
    in->a.attend.epilogue = gnti_lower_epilogue(lo, in, n, 0);
    GNT_TRY(gnti_lower_product(lo, n, in));
done:
    return st;
}

gnt_status gnti_lower_attend_rows(gnti_lowering *lo, const gnti_node *n)
{
    gnt_status st = GNT_OK;
    gnti_instr *in = NULL;

    GNT_TRY(gnti_lower_new(lo, GNTI_INSTR_ATTEND_GRAD, n, &in));
    in->plan = gnti_lower_get_operator(lo, n->adj).forward;
    in->a.attend_grad = (gnt_attend_grad_args){ .heads = (int32_t)gnti_lower_value(lo, n->in[2])->width,
                                                .slope = n->act_alpha,
                                                .grad = gnti_lower_view(lo, n->in[0]),
                                                .h = gnti_lower_gathered(lo, n->in[1]),
                                                .s_src = gnti_lower_gathered(lo, n->in[2]),
                                                .s_dst = gnti_lower_view(lo, n->in[3]),
                                                .soft = gnti_lower_view(lo, n->in[4]),
                                                .out = gnti_lower_view(lo, n->in[5]),
                                                .ds_dst = gnti_lower_view(lo, n->out[0]),
                                                .stat = gnti_lower_view(lo, n->out[1]),
                                                .dropout = arc_dropout(lo, n) };
done:
    return st;
}

gnt_status gnti_lower_attend_columns(gnti_lowering *lo, const gnti_node *n)
{
    gnt_status st = GNT_OK;
    const gnti_lower_operator op = gnti_lower_get_operator(lo, n->adj);
    gnti_instr *in = NULL;

    GNT_TRY(gnti_lower_new(lo, GNTI_INSTR_ATTEND_GRAD, n, &in));
    in->plan = n->masked && op.masked != NULL ? op.masked : op.transposed;
    in->a.attend_grad = (gnt_attend_grad_args){ .transposed = true,
                                                .heads = (int32_t)gnti_lower_value(lo, n->in[3])->width,
                                                .slope = n->act_alpha,
                                                .grad = gnti_lower_gathered(lo, n->in[0]),
                                                .stat = gnti_lower_gathered(lo, n->in[1]),
                                                .h = gnti_lower_view(lo, n->in[2]),
                                                .s_src = gnti_lower_view(lo, n->in[3]),
                                                .dh = gnti_lower_view(lo, n->out[0]),
                                                .ds_src = gnti_lower_view(lo, n->out[1]),
                                                .dropout = arc_dropout(lo, n) };
    GNT_TRY(gnti_lower_product(lo, n, in));
done:
    return st;
}

/* Zeros, then ones for the columns of each head. */
gnt_status gnti_lower_head_mask(gnti_lowering *lo, const gnti_node *n)
{
    gnt_status st = GNT_OK;
    const gnt_mat_view all = gnti_lower_view(lo, n->out[0]);
    const int64_t heads = all.width, width = all.rows / heads;
    gnti_instr *in = NULL;

    for (int64_t h = -1; h < heads; h++) {
        GNT_TRY(gnti_lower_new(lo, GNTI_INSTR_MAP, n, &in));
        in->a.map =
            (gnt_map_args){ .kind = GNT_MAP_FILL,
                            .y = h < 0 ? all : gnti_view_rows(gnti_view_columns(all, h, 1), h * width, width),
                            .alpha = h < 0 ? 0.0f : 1.0f,
                            .dropout = { .hyper = -1 } };
    }
done:
    return st;
}
