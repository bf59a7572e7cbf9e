/* SPDX-License-Identifier: Apache-2.0 */
/* Products with features that are stored by their non-zero entries: X W gathers rows of W, X^T G gathers rows of G, both
 * as sums over CSR rows. Dropout on X touches the entries alone (a dropped zero stays zero); entry (r, c) draws as the
 * dense matrix would, so the masks are equal. Over parts, X^T G is one sum over a rank's rows. Such nodes are made by plan_sparse_input.c, never recorded.
 */
#include "nn/parts.h"

gnt_status gnti_lower_sparse_matmul(gnti_lowering *lo, const gnti_node *n)
{
    gnt_status st = GNT_OK;
    const gnti_lower_sparse x = gnti_lower_get_sparse(lo);
    gnti_instr *in = NULL;

    GNT_TRY(gnti_lower_added(lo, n));
    GNT_TRY(gnti_lower_new(lo, GNTI_INSTR_SPMM, n, &in));
    in->plan = n->transposed ? x.transposed : x.forward;
    in->a.spmm = (gnt_spmm_args){ .x = gnti_lower_view(lo, n->in[0]),
                                  .y = gnti_lower_sum(lo, n->out[0], &(gnti_sum_root){ 0 }),
                                  .alpha = n->alpha,
                                  .beta = n->added != 0 ? n->beta : 0.0f };
    in->a.spmm.epilogue = gnti_lower_epilogue(lo, in, n, 0);
    if (n->in[1] != 0) {
        in->views[8] = gnti_lower_view(lo, n->in[1]);
        in->a.spmm.arc_weight = &in->views[8];
    }
done:
    return st;
}

gnt_status gnti_lower_sparse_dropout(gnti_lowering *lo, const gnti_node *n)
{
    gnt_status st = GNT_OK;
    const gnti_lower_sparse x = gnti_lower_get_sparse(lo);
    gnti_instr *in = NULL;

    GNT_TRY(gnti_lower_new(lo, GNTI_INSTR_MAP, n, &in));
    in->a.map = (gnt_map_args){ .kind = GNT_MAP_DROPOUT,
                                .a = n->transposed ? x.values_transposed : x.values,
                                .y = gnti_lower_view(lo, n->out[0]),
                                .alpha = 1.0f,
                                .arc_rows = n->transposed ? x.rows_transposed : x.rows,
                                .arc_columns = n->transposed ? x.columns_transposed : x.columns,
                                .step = gnti_lower_step(lo) };
    in->a.map.dropout = gnti_lower_dropout(lo, n->hyper, n->ordinal, gnti_lower_features(lo));
done:
    return st;
}
