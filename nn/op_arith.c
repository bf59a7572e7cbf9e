/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise sums and products. The second operand may have the first one's shape, one row (1, M, width), one column
 * (rows, M, 1) or one value a member (1, M, 1); its gradient is then summed over what it broadcasts:
 *   d/db (a + b): g        d/db (a b): g a        d/da (a b): g b
 */
#include "nn/parts.h"
#include "nn/tape.h"

typedef enum fit { FIT_NOT, FIT_SAME, FIT_ROW, FIT_COLUMN, FIT_ONE } fit;

static fit how_fits(const gnti_ir *ir, int32_t a, int32_t b)
{
    const gnti_value *v = &ir->values[a], *w = &ir->values[b];
    const bool same_rows = v->space == w->space && (v->space != 0 || v->rows == w->rows);
    const bool one_row = w->space == 0 && w->rows == 1;

    if (same_rows && v->width == w->width)
        return FIT_SAME;
    if (one_row && v->width == w->width)
        return FIT_ROW;
    if (same_rows && w->width == 1)
        return FIT_COLUMN;
    return one_row && w->width == 1 ? FIT_ONE : FIT_NOT;
}

static gnt_var record(gnt_tape *t, const char *name, gnti_op op, gnt_var a, gnt_var b)
{
    char text_a[GNTI_SHAPE_BYTES], text_b[GNTI_SHAPE_BYTES];
    const gnti_value *v, *w;
    int32_t y;

    if (!gnti_tape_takes(t, name, (gnt_var[]){ a, b }, 2))
        return (gnt_var){ 0 };
    v = gnti_tape_value(t, a);
    w = gnti_tape_value(t, b);
    if (how_fits(&t->ir, a.id, b.id) == FIT_NOT)
        return gnti_tape_fail(t, GNT_ERR_ARG, name, "%s does not fit %s%s", gnti_tape_shape(t, b, text_b),
                              gnti_tape_shape(t, a, text_a),
                              v->space != w->space && v->space != 0 && w->space != 0
                                  ? ": rows of two spaces mix, take the destination's own rows with gnt_self"
                                  : "");
    y = gnti_ir_value(&t->ir, v->space, v->rows, v->width, v->shared && w->shared);
    gnti_ir_node(&t->ir, op, a.id, b.id, y);
    return (gnt_var){ y };
}

gnt_var gnt_add(gnt_tape *t, gnt_var a, gnt_var b)
{
    return record(t, "add", GNTI_IR_ADD, a, b);
}

gnt_var gnt_mul(gnt_tape *t, gnt_var a, gnt_var b)
{
    return record(t, "mul", GNTI_IR_MUL, a, b);
}

gnt_var gnt_scale(gnt_tape *t, gnt_var h, gnt_var s)
{
    char a[GNTI_SHAPE_BYTES];

    if (!gnti_tape_takes(t, "scale", (gnt_var[]){ h, s }, 2))
        return (gnt_var){ 0 };
    if (gnti_tape_value(t, s)->space != 0 || gnti_tape_value(t, s)->rows != 1 ||
        gnti_tape_value(t, s)->width != 1)
        return gnti_tape_fail(t, GNT_ERR_ARG, "scale", "the factor %s must be one value, (1 rows, width 1)",
                              gnti_tape_shape(t, s, a));
    return record(t, "scale", GNTI_IR_MUL, h, s);
}

gnt_var gnt_scale_by(gnt_tape *t, gnt_var h, float s)
{
    int32_t y;

    if (!gnti_tape_takes(t, "scale", &h, 1))
        return (gnt_var){ 0 };
    y = gnti_ir_like(&t->ir, h.id, gnti_tape_value(t, h)->width);
    gnti_ir_node(&t->ir, GNTI_IR_SCALE_BY, h.id, 0, y)->alpha = s;
    return (gnt_var){ y };
}

/* Row sums as a product with a column of ones: the closed list of reductions has none. */
static int32_t sum_columns(gnti_ir *ir, int32_t g)
{
    const int32_t ones = gnti_ir_value(ir, 0, ir->values[g].width, 1, true), y = gnti_ir_like(ir, g, 1);

    gnti_ir_node(ir, GNTI_IR_FILL, 0, 0, ones);
    gnti_ir_node(ir, GNTI_IR_MATMUL, g, ones, y);
    return y;
}

static int32_t reduce(gnti_ir *ir, gnt_reduce_kind kind, int32_t g, int32_t other)
{
    const gnti_value v = ir->values[g];
    int32_t y;

    if (kind == GNT_REDUCE_DOT_COLS)
        y = gnti_ir_like(ir, g, 1);
    else
        y = gnti_ir_value(ir, 0, 1, kind == GNT_REDUCE_DOT_ALL ? 1 : v.width, v.shared);
    gnti_ir_node(ir, GNTI_IR_REDUCE, g, other, y)->reduce = (int32_t)kind;
    return y;
}

int32_t gnti_autodiff_reduce(gnti_autodiff *ad, int32_t g, int32_t other, int32_t like)
{
    gnti_ir *ir = ad->ir;
    int32_t y = g;

    switch (how_fits(ir, g, like)) {
    case FIT_SAME:
        if (other != 0) {
            y = gnti_ir_like(ir, g, ir->values[g].width);
            gnti_ir_node(ir, GNTI_IR_MUL, g, other, y);
        }
        return y;
    case FIT_ROW:
        return reduce(ir, other != 0 ? GNT_REDUCE_DOT_ROWS : GNT_REDUCE_SUM_ROWS, g, other);
    case FIT_COLUMN:
        return other != 0 ? reduce(ir, GNT_REDUCE_DOT_COLS, g, other) : sum_columns(ir, g);
    default:
        return other != 0 ? reduce(ir, GNT_REDUCE_DOT_ALL, g, other)
                          : sum_columns(ir, reduce(ir, GNT_REDUCE_SUM_ROWS, g, 0));
    }
}

static int32_t scaled(gnti_ir *ir, int32_t v, float s)
{
    int32_t y;

    if (s == 1.0f)
        return v;
    y = gnti_ir_like(ir, v, ir->values[v].width);
    gnti_ir_node(ir, GNTI_IR_SCALE_BY, v, 0, y)->alpha = s;
    return y;
}

void gnti_grad_add(gnti_autodiff *ad, const gnti_node *n)
{
    const gnti_node f = *n;
    const int32_t g = gnti_autodiff_of(ad, f.out[0]);

    if (gnti_autodiff_wants(ad, f.in[0]))
        gnti_autodiff_add(ad, f.in[0], scaled(ad->ir, g, f.alpha));
    if (gnti_autodiff_wants(ad, f.in[1]))
        gnti_autodiff_add(ad, f.in[1], scaled(ad->ir, gnti_autodiff_reduce(ad, g, 0, f.in[1]), f.beta));
}

void gnti_grad_mul(gnti_autodiff *ad, const gnti_node *n)
{
    const gnti_node f = *n;
    const int32_t g = gnti_autodiff_of(ad, f.out[0]);

    if (gnti_autodiff_wants(ad, f.in[0]))
        gnti_autodiff_add(ad, f.in[0], gnti_autodiff_reduce(ad, g, f.in[1], f.in[0]));
    if (gnti_autodiff_wants(ad, f.in[1]))
        gnti_autodiff_add(ad, f.in[1], gnti_autodiff_reduce(ad, g, f.in[0], f.in[1]));
}

void gnti_grad_scale_by(gnti_autodiff *ad, const gnti_node *n)
{
    const gnti_node f = *n;

    if (gnti_autodiff_wants(ad, f.in[0]))
        gnti_autodiff_add(ad, f.in[0], scaled(ad->ir, gnti_autodiff_of(ad, f.out[0]), f.alpha));
}

gnt_status gnti_lower_add_mul(gnti_lowering *lo, const gnti_node *n)
{
    gnt_status st = GNT_OK;
    gnti_instr *in = NULL;

    GNT_TRY(gnti_lower_new(lo, GNTI_INSTR_MAP, n, &in));
    in->a.map = (gnt_map_args){ .kind = n->op == GNTI_IR_ADD ? GNT_MAP_ADD : GNT_MAP_MUL,
                                .a = gnti_lower_view(lo, n->in[0]),
                                .b = gnti_lower_view(lo, n->in[1]),
                                .y = gnti_lower_view(lo, n->out[0]),
                                .alpha = n->alpha,
                                .beta = n->beta };
    in->a.map.dropout.hyper = -1;
done:
    return st;
}

gnt_status gnti_lower_scale_by(gnti_lowering *lo, const gnti_node *n)
{
    return gnti_lower_copy(lo, n, gnti_lower_view(lo, n->in[0]), gnti_lower_view(lo, n->out[0]), n->alpha);
}

static gnt_status lower_rows(gnti_lowering *lo, const gnti_node *n, const gnti_sum_root *root)
{
    gnt_status st = GNT_OK;
    gnti_instr *in = NULL;

    GNT_TRY(gnti_lower_new(lo, GNTI_INSTR_REDUCE, n, &in));
    in->tree = root->tree;
    in->a.reduce =
        (gnt_reduce_args){ .kind = (gnt_reduce_kind)n->reduce,
                           .a = gnti_view_rows(gnti_lower_view(lo, n->in[0]), root->first, root->rows),
                           .y = gnti_lower_sum(lo, n->out[0], root),
                           .row_tree = &in->tree };
    if (n->in[1] == 0)
        return GNT_OK;
    in->a.reduce.b = gnti_lower_view(lo, n->in[1]);
    if (gnti_lower_value(lo, n->in[1])->space != 0)
        in->a.reduce.b = gnti_view_rows(in->a.reduce.b, root->first, root->rows);
done:
    return st;
}

gnt_status gnti_lower_reduce(gnti_lowering *lo, const gnti_node *n)
{
    const gnti_sum_root all = { .rows = gnti_lower_rows(lo, n->in[0]),
                                .tree = gnti_lower_tree(lo, n->in[0]) };

    return gnti_lower_value(lo, n->out[0])->storage == GNTI_IN_PARTIAL
               ? gnti_lower_by_root(lo, n, n->in[0], false, lower_rows)
               : lower_rows(lo, n, &all);
}
