/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that only move or show data: a slice is a view of columns, gnt_self a view of the first rows (destinations come
 * first in a source space), concat copies its parts side by side. Gradients: a slice's goes into a wider matrix of
 * zeros, a self's is extended by zero rows, a concat's are two slices.
 */
#include "nn/lower.h"
#include "nn/tape.h"

static int32_t view(gnti_ir *ir, gnti_op op, int32_t h, int32_t space, int64_t first, int64_t width)
{
    const gnti_value v = ir->values[h];
    const int32_t y = gnti_ir_value(ir, space, v.rows, width, v.shared);

    if (y != 0) {
        ir->values[y].storage = GNTI_IN_VIEW;
        ir->values[y].parent = h;
        ir->values[y].first_column = first;
    }
    gnti_ir_node(ir, op, h, 0, y);
    return y;
}

gnt_var gnt_self(gnt_tape *t, gnt_adj adj, gnt_var h)
{
    char a[GNTI_SHAPE_BYTES];
    gnti_adj_info spaces;

    if (!gnti_tape_takes(t, "self", &h, 1) || !gnti_tape_takes_adj(t, "self", adj))
        return (gnt_var){ 0 };
    spaces = t->ir.adjs[adj.id];
    if (gnti_tape_value(t, h)->space != spaces.source)
        return gnti_tape_fail(t, GNT_ERR_ARG, "self",
                              "input %s is not in row space %d, where adjacency %d starts",
                              gnti_tape_shape(t, h, a), spaces.source, adj.id);
    if (spaces.source == spaces.destination)
        return h;
    return (gnt_var){ view(&t->ir, GNTI_IR_SELF, h.id, spaces.destination, 0, gnti_tape_value(t, h)->width) };
}

gnt_var gnt_slice(gnt_tape *t, gnt_var h, int64_t first, int64_t width)
{
    const gnti_value *x;

    if (!gnti_tape_takes(t, "slice", &h, 1))
        return (gnt_var){ 0 };
    x = gnti_tape_value(t, h);
    if (first < 0 || width < 1 || first > x->width - width)
        return gnti_tape_fail(t, GNT_ERR_ARG, "slice", "columns %lld .. %lld lie outside of width %lld",
                              (long long)first, (long long)(first + width - 1), (long long)x->width);
    return (gnt_var){ view(&t->ir, GNTI_IR_SLICE, h.id, x->space, first, width) };
}

gnt_var gnt_concat(gnt_tape *t, gnt_var a, gnt_var b)
{
    char text_a[GNTI_SHAPE_BYTES], text_b[GNTI_SHAPE_BYTES];
    const gnti_value *v, *w;
    int32_t y;

    if (!gnti_tape_takes(t, "concat", (gnt_var[]){ a, b }, 2))
        return (gnt_var){ 0 };
    v = gnti_tape_value(t, a);
    w = gnti_tape_value(t, b);
    if (v->space != w->space || (v->space == 0 && v->rows != w->rows))
        return gnti_tape_fail(t, GNT_ERR_ARG, "concat", "rows of %s and %s do not belong together",
                              gnti_tape_shape(t, a, text_a), gnti_tape_shape(t, b, text_b));
    y = gnti_ir_value(&t->ir, v->space, v->rows, v->width + w->width, v->shared && w->shared);
    gnti_ir_node(&t->ir, GNTI_IR_CONCAT, a.id, b.id, y);
    return (gnt_var){ y };
}

void gnti_grad_slice(gnti_autodiff *ad, const gnti_node *n)
{
    const gnti_node f = *n;
    gnti_ir *ir = ad->ir;
    const int64_t first = ir->values[f.out[0]].first_column;
    int32_t dh;

    if (!gnti_autodiff_wants(ad, f.in[0]))
        return;
    dh = gnti_ir_like(ir, f.in[0], ir->values[f.in[0]].width);
    gnti_ir_node(ir, GNTI_IR_PAD, gnti_autodiff_of(ad, f.out[0]), 0, dh)->first_column = first;
    gnti_autodiff_add(ad, f.in[0], dh);
}

void gnti_grad_concat(gnti_autodiff *ad, const gnti_node *n)
{
    const gnti_node f = *n;
    gnti_ir *ir = ad->ir;
    const int32_t g = gnti_autodiff_of(ad, f.out[0]);
    const int64_t first = ir->values[f.in[0]].width, second = ir->values[f.in[1]].width;

    if (gnti_autodiff_wants(ad, f.in[0]))
        gnti_autodiff_add(ad, f.in[0], view(ir, GNTI_IR_SLICE, g, ir->values[g].space, 0, first));
    if (gnti_autodiff_wants(ad, f.in[1]))
        gnti_autodiff_add(ad, f.in[1], view(ir, GNTI_IR_SLICE, g, ir->values[g].space, first, second));
}

void gnti_grad_self(gnti_autodiff *ad, const gnti_node *n)
{
    const gnti_node f = *n;
    gnti_ir *ir = ad->ir;
    int32_t dh;

    if (!gnti_autodiff_wants(ad, f.in[0]))
        return;
    dh = gnti_ir_like(ir, f.in[0], ir->values[f.in[0]].width);
    gnti_ir_node(ir, GNTI_IR_EXTEND, gnti_autodiff_of(ad, f.out[0]), 0, dh);
    gnti_autodiff_add(ad, f.in[0], dh);
}

gnt_status gnti_lower_nothing(gnti_lowering *lo, const gnti_node *n)
{
    (void)lo;
    (void)n;
    return GNT_OK;
}

static gnt_status lower_zero(gnti_lowering *lo, const gnti_node *n, gnt_mat_view y)
{
    gnt_status st = GNT_OK;
    gnti_instr *in = NULL;

    GNT_TRY(gnti_lower_new(lo, GNTI_INSTR_MAP, n, &in));
    in->a.map = (gnt_map_args){ .kind = GNT_MAP_FILL, .y = y, .dropout = { .hyper = -1 } };
done:
    return st;
}

gnt_status gnti_lower_concat(gnti_lowering *lo, const gnti_node *n)
{
    gnt_status st = GNT_OK;
    const gnt_mat_view y = gnti_lower_view(lo, n->out[0]);
    const gnt_mat_view a = gnti_lower_view(lo, n->in[0]), b = gnti_lower_view(lo, n->in[1]);

    GNT_TRY(gnti_lower_copy(lo, n, a, gnti_view_columns(y, 0, a.width), 1.0f));
    GNT_TRY(gnti_lower_copy(lo, n, b, gnti_view_columns(y, a.width, b.width), 1.0f));
done:
    return st;
}

gnt_status gnti_lower_pad(gnti_lowering *lo, const gnti_node *n)
{
    gnt_status st = GNT_OK;
    const gnt_mat_view y = gnti_lower_view(lo, n->out[0]), g = gnti_lower_view(lo, n->in[0]);
    const int64_t first = n->first_column, rest = y.width - first - g.width;

    if (first > 0)
        GNT_TRY(lower_zero(lo, n, gnti_view_columns(y, 0, first)));
    if (rest > 0)
        GNT_TRY(lower_zero(lo, n, gnti_view_columns(y, first + g.width, rest)));
    GNT_TRY(gnti_lower_copy(lo, n, g, gnti_view_columns(y, first, g.width), 1.0f));
done:
    return st;
}

gnt_status gnti_lower_extend(gnti_lowering *lo, const gnti_node *n)
{
    gnt_status st = GNT_OK;
    const gnt_mat_view g = gnti_lower_view(lo, n->in[0]);
    gnt_mat_view y = gnti_lower_view(lo, n->out[0]), below = y;

    y.rows = g.rows;
    below.rows -= g.rows;
    below.offset += (size_t)(g.rows * y.row_stride) * sizeof(float);
    if (below.rows > 0)
        GNT_TRY(lower_zero(lo, n, below));
    GNT_TRY(gnti_lower_copy(lo, n, g, y, 1.0f));
done:
    return st;
}
