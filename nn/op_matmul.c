/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products. y = h w with h (rows, M, in), w (M, in, out). Backward: dh = dy w^T, dw = h^T dy, the latter summed over
 * rows by the fixed tree of row blocks. A shared operand (features, constants) broadcasts over the members.
 */
#include "nn/parts.h"
#include "nn/tape.h"

gnt_var gnt_matmul(gnt_tape *t, gnt_var h, gnt_var w)
{
    char a[GNTI_SHAPE_BYTES], b[GNTI_SHAPE_BYTES];
    const gnti_value *x, *m;
    int32_t y;

    if (!gnti_tape_takes(t, "matmul", (gnt_var[]){ h, w }, 2))
        return (gnt_var){ 0 };
    x = gnti_tape_value(t, h);
    m = gnti_tape_value(t, w);
    if (m->space != 0)
        return gnti_tape_fail(t, GNT_ERR_ARG, "matmul",
                              "the right side %s must be a parameter, not rows of a graph",
                              gnti_tape_shape(t, w, b));
    if (x->width != m->rows)
        return gnti_tape_fail(t, GNT_ERR_ARG, "matmul", "%s times %s: width %lld does not meet %lld rows",
                              gnti_tape_shape(t, h, a), gnti_tape_shape(t, w, b), (long long)x->width,
                              (long long)m->rows);
    y = gnti_ir_value(&t->ir, x->space, x->rows, m->width, x->shared && m->shared);
    gnti_ir_node(&t->ir, GNTI_IR_MATMUL, h.id, w.id, y);
    return (gnt_var){ y };
}

gnt_var gnt_linear(gnt_tape *t, gnt_var h, gnt_param w, gnt_param b)
{
    return gnt_add(t, gnt_matmul(t, h, gnt_use(t, w)), gnt_use(t, b));
}

void gnti_grad_matmul(gnti_autodiff *ad, const gnti_node *n)
{
    gnti_ir *ir = ad->ir;
    const int32_t h = n->in[0], w = n->in[1], g = gnti_autodiff_of(ad, n->out[0]);

    if (gnti_autodiff_wants(ad, w)) {
        const int32_t dw = gnti_ir_like(ir, w, ir->values[w].width);
        gnti_node *product = gnti_ir_node(ir, GNTI_IR_MATMUL, h, g, dw);

        product->trans_a = true;
        gnti_autodiff_add(ad, w, dw);
    }
    if (gnti_autodiff_wants(ad, h)) {
        const int32_t dh = gnti_ir_like(ir, h, ir->values[h].width);
        gnti_node *product = gnti_ir_node(ir, GNTI_IR_MATMUL, g, w, dh);

        product->trans_b = true;
        gnti_autodiff_add(ad, h, dh);
    }
}

/* The rows of one root: a^T b, in the order of its tree. */
static gnt_status lower_sum(gnti_lowering *lo, const gnti_node *n, const gnti_sum_root *root)
{
    gnt_status st = GNT_OK;
    gnti_instr *in = NULL;

    GNT_TRY(gnti_lower_new(lo, GNTI_INSTR_GEMM, n, &in));
    in->tree = root->tree;
    in->a.gemm = (gnt_gemm_args){ .a = gnti_view_rows(gnti_lower_view(lo, n->in[0]), root->first, root->rows),
                                  .b = gnti_view_rows(gnti_lower_view(lo, n->in[1]), root->first, root->rows),
                                  .c = gnti_lower_sum(lo, n->out[0], root),
                                  .trans_a = true,
                                  .trans_b = n->trans_b,
                                  .alpha = n->alpha,
                                  .row_tree = &in->tree,
                                  .epilogue = GNT_EPILOGUE_NONE };
done:
    return st;
}

gnt_status gnti_lower_matmul(gnti_lowering *lo, const gnti_node *n)
{
    gnt_status st = GNT_OK;
    gnti_instr *in = NULL;

    if (n->out[0] != 0 && gnti_lower_value(lo, n->out[0])->storage == GNTI_IN_PARTIAL)
        return gnti_lower_by_root(lo, n, n->in[0], false, lower_sum);
    GNT_TRY(gnti_lower_added(lo, n));
    GNT_TRY(gnti_lower_new(lo, GNTI_INSTR_GEMM, n, &in));
    in->a.gemm = (gnt_gemm_args){ .a = gnti_lower_view(lo, n->in[0]),
                                  .b = gnti_lower_view(lo, n->in[1]),
                                  .c = gnti_lower_view(lo, n->out[0]),
                                  .trans_a = n->trans_a,
                                  .trans_b = n->trans_b,
                                  .alpha = n->alpha,
                                  .beta = n->added != 0 ? n->beta : 0.0f };
    in->a.gemm.epilogue = gnti_lower_epilogue(lo, in, n, 0);
    if (n->trans_a) {
        in->tree = gnti_lower_tree(lo, n->in[0]);
        in->a.gemm.row_tree = &in->tree;
    }
done:
    return st;
}

gnt_status gnti_lower_fill(gnti_lowering *lo, const gnti_node *n)
{
    gnt_status st = GNT_OK;
    gnti_instr *in = NULL;

    GNT_TRY(gnti_lower_new(lo, GNTI_INSTR_MAP, n, &in));
    in->a.map =
        (gnt_map_args){ .kind = GNT_MAP_FILL, .y = gnti_lower_view(lo, n->out[0]), .alpha = n->alpha };
    in->a.map.dropout.hyper = -1;
done:
    return st;
}
