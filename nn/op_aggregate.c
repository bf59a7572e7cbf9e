/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregation along an adjacency and its gradient, which is the same product with the transpose:
 *   sum   y = (L + W) x                        dx = (L + W)^T g
 *   mean  y = m . ((L + W) x)                  dx = (L + W)^T (m . g)
 *   sym   y = t . ((S + W) (t . x))            dx = t . ((S + W)^T (t . g))
 *   max   y = max over arcs, arg = its column  dx_j = sum of the g_i whose arg is j
 * L: stored loops, S: loops or 1, m and t: scale vectors of the operator. Nothing is ever scattered, no arc has a value
 * of its own unless the graph is weighted.
 */
#include "nn/parts.h"
#include "nn/tape.h"

gnt_var gnt_aggregate(gnt_tape *t, gnt_adj adj, gnt_aggregate_kind kind, gnt_var h)
{
    char a[GNTI_SHAPE_BYTES];
    const gnti_value *x;
    gnti_adj_info spaces;
    gnti_node *n;
    int32_t y, arg = 0;
    bool shared;
    int64_t width;

    if (!gnti_tape_takes(t, "aggregate", &h, 1) || !gnti_tape_takes_adj(t, "aggregate", adj))
        return (gnt_var){ 0 };
    if ((int)kind < GNT_AGG_SUM || kind > GNT_AGG_MAX)
        return gnti_tape_fail(t, GNT_ERR_ARG, "aggregate", "kind %d is none of sum, mean, sym, max",
                              (int)kind);
    x = gnti_tape_value(t, h);
    spaces = t->ir.adjs[adj.id];
    if (x->space != spaces.source)
        return gnti_tape_fail(t, GNT_ERR_ARG, "aggregate",
                              "input %s is not in row space %d, where adjacency %d starts",
                              gnti_tape_shape(t, h, a), spaces.source, adj.id);
    width = x->width;
    shared = x->shared;
    y = gnti_ir_value(&t->ir, spaces.destination, 0, width, shared);
    if (kind == GNT_AGG_MAX) {
        arg = gnti_ir_value(&t->ir, spaces.destination, 0, width, shared);
        if (arg != 0)
            t->ir.values[arg].dtype = GNT_I32;
    }
    n = gnti_ir_node(&t->ir, GNTI_IR_AGGREGATE, h.id, 0, y);
    n->adj = adj.id;
    n->aggregate = kind;
    if (arg != 0)
        n->out[n->num_out++] = arg;
    return (gnt_var){ y };
}

void gnti_grad_aggregate(gnti_autodiff *ad, const gnti_node *n)
{
    gnti_ir *ir = ad->ir;
    const gnti_node forward = *n; /* new nodes move the old ones */
    const int32_t h = forward.in[0], g = gnti_autodiff_of(ad, forward.out[0]);
    gnti_node *back;
    int32_t dh;

    if (!gnti_autodiff_wants(ad, h))
        return;
    dh = gnti_ir_like(ir, h, ir->values[h].width);
    if (forward.aggregate == GNT_AGG_MAX)
        back = gnti_ir_node(ir, GNTI_IR_MAX_GRAD, g, forward.out[1], dh);
    else
        back = gnti_ir_node(ir, GNTI_IR_AGGREGATE, g, 0, dh);
    back->adj = forward.adj;
    back->aggregate = forward.aggregate;
    back->transposed = !forward.transposed;
    gnti_autodiff_add(ad, h, dh);
}

/* Own term: stored loops, or loops and ones (sym). */
static void lower_self(const gnti_lowering *lo, gnti_instr *in, const gnti_node *n, bool has_loop,
                       bool has_self)
{
    gnt_spmm_args *a = &in->a.spmm;
    const bool sym = n->aggregate == GNT_AGG_SYM;

    if (sym ? !has_self : !has_loop) {
        a->self_kind = sym ? GNT_SELF_ONE : GNT_SELF_NONE;
        return;
    }
    in->views[8] = gnti_lower_vector(lo, n->adj, sym ? GNTI_VECTOR_SELF : GNTI_VECTOR_LOOP);
    a->self_kind = GNT_SELF_VECTOR;
    a->self = &in->views[8];
}

static void lower_scales(const gnti_lowering *lo, gnti_instr *in, const gnti_node *n)
{
    gnt_spmm_args *a = &in->a.spmm;
    const bool sym = n->aggregate == GNT_AGG_SYM, mean = n->aggregate == GNT_AGG_MEAN;

    if ((sym || (mean && n->transposed)) && !n->scaled) {
        in->views[9] = gnti_lower_vector(lo, n->adj,
                                         gnti_lower_has_parts(lo) && n->transposed
                                             ? (sym ? GNTI_VECTOR_SYM_T : GNTI_VECTOR_MEAN_T)
                                         : sym ? GNTI_VECTOR_SYM
                                               : GNTI_VECTOR_MEAN);
        in->views[9].rows = a->x.rows;
        a->src_scale = &in->views[9];
    }
    if (sym || (mean && !n->transposed)) {
        in->views[10] = gnti_lower_vector(lo, n->adj, sym ? GNTI_VECTOR_SYM : GNTI_VECTOR_MEAN);
        in->views[10].rows = a->y.rows;
        a->epilogue.row_scale = &in->views[10];
    }
}

gnt_status gnti_lower_aggregate(gnti_lowering *lo, const gnti_node *n)
{
    gnt_status st = GNT_OK;
    const gnti_lower_operator op = gnti_lower_get_operator(lo, n->adj);
    gnti_instr *in = NULL;

    GNT_TRY(gnti_lower_added(lo, n));
    GNT_TRY(gnti_lower_new(lo, GNTI_INSTR_SPMM, n, &in));
    in->plan = n->transposed ? op.transposed : op.forward;
    if (n->masked && op.masked != NULL)
        in->plan = op.masked;
    in->a.spmm = (gnt_spmm_args){ .x = gnti_lower_gathered(lo, n->in[0]),
                                  .y = gnti_lower_view(lo, n->out[0]),
                                  .reduce = n->aggregate == GNT_AGG_MAX ? GNT_SPMM_MAX : GNT_SPMM_SUM,
                                  .alpha = n->alpha,
                                  .beta = n->added != 0 ? n->beta : 0.0f };
    in->a.spmm.epilogue = gnti_lower_epilogue(lo, in, n, 0);
    lower_self(lo, in, n, op.has_loop, op.has_self);
    lower_scales(lo, in, n);
    if (n->aggregate == GNT_AGG_MAX) {
        in->views[11] = gnti_lower_view(lo, n->out[1]);
        in->a.spmm.arg = &in->views[11];
        in->a.spmm.arg_ids = gnti_lower_has_parts(lo) ? gnti_lower_ids(lo, n->in[0]) : NULL;
    }
    GNT_TRY(gnti_lower_product(lo, n, in));
done:
    return st;
}

gnt_status gnti_lower_max_grad(gnti_lowering *lo, const gnti_node *n)
{
    gnt_status st = GNT_OK;
    const gnti_lower_operator op = gnti_lower_get_operator(lo, n->adj);
    gnti_instr *in = NULL;

    GNT_TRY(gnti_lower_new(lo, GNTI_INSTR_SPMM, n, &in));
    in->plan = op.transposed;
    in->a.spmm = (gnt_spmm_args){ .x = gnti_lower_gathered(lo, n->in[0]),
                                  .y = gnti_lower_view(lo, n->out[0]),
                                  .reduce = GNT_SPMM_MAX_GRAD,
                                  .alpha = 1.0f,
                                  .epilogue = GNT_EPILOGUE_NONE };
    lower_self(lo, in, n, op.has_loop, op.has_self);
    in->views[11] = gnti_lower_gathered(lo, n->in[1]);
    in->a.spmm.arg = &in->views[11];
    in->a.spmm.arg_ids = gnti_lower_has_parts(lo) ? gnti_lower_ids(lo, n->in[0]) : NULL;
    GNT_TRY(gnti_lower_product(lo, n, in));
done:
    return st;
}
