/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse input: features that are stored by their non-zero entries stay so. X W and X^T G become products over CSR rows,
 * and dropout on X draws for the entries alone; the transpose's entries are drawn again by their own row and column, so
 * that nothing is permuted or stored. Any other reader of X (aggregation, slices) makes binding expand X.
 */
#include "nn/program_state.h"

/* Whether every reader of v is a product with v on its left. */
static bool only_products(const gnti_ir *ir, int32_t v)
{
    int32_t reads[GNTI_NODE_READS];

    for (int64_t i = 0; i < ir->num_nodes; i++) {
        const gnti_node *n = &ir->nodes[i];

        for (int k = gnti_node_reads(n, reads) - 1; k >= 0; k--)
            if (reads[k] == v && (n->op != GNTI_IR_MATMUL || n->in[0] != v || n->in[1] == v || n->trans_b))
                return false;
    }
    return true;
}

static void make_sparse(gnti_program *p, gnti_node *n, int32_t entries)
{
    n->op = GNTI_IR_SPARSE_MATMUL;
    n->transposed = n->trans_a;
    n->trans_a = false;
    n->in[0] = n->in[1];
    n->in[1] = entries;
    n->num_in = entries != 0 ? 2 : 1;
    p->fired[GNTI_SPARSE_INPUT]++;
}

/* Entries of X (or of its transpose) after dropout d, drawn just before node `at`. */
static int32_t insert_entries(gnti_ir *ir, int64_t at, const gnti_node *d, bool transposed)
{
    int32_t entries;
    gnti_node *n;

    if (ir->entry_space == 0)
        ir->entry_space = gnti_ir_space(ir);
    entries = gnti_ir_value(ir, ir->entry_space, 0, 1, false);
    n = gnti_ir_insert(ir, at, GNTI_IR_SPARSE_DROPOUT, 0, 0, entries);
    n->hyper = d->hyper;
    n->ordinal = d->ordinal;
    n->transposed = transposed;
    n->layer = d->layer;
    return entries;
}

static void convert_dropout(gnti_program *p, int64_t at)
{
    gnti_ir *ir = &p->ir;
    const gnti_node d = ir->nodes[at];

    ir->nodes[at].op = GNTI_IR_NONE;
    for (int64_t i = at; i < ir->num_nodes && ir->status == GNT_OK; i++)
        if (ir->nodes[i].op == GNTI_IR_MATMUL && ir->nodes[i].in[0] == d.out[0]) {
            const bool transposed = ir->nodes[i].trans_a;
            const int32_t entries = insert_entries(ir, i, &d, transposed);

            i++; /* the product moved */
            if (ir->status == GNT_OK)
                make_sparse(p, &ir->nodes[i], entries);
        }
}

gnt_status gnti_plan_sparse_input(gnti_program *p)
{
    gnt_status st = GNT_OK;
    gnti_ir *ir = &p->ir;

    if (!ir->sparse_x)
        return GNT_OK;
    for (int64_t i = 0; i < ir->num_nodes; i++) {
        gnti_node *n = &ir->nodes[i];

        if (n->op == GNTI_IR_MATMUL && n->in[0] == ir->x && n->in[1] != ir->x && !n->trans_b)
            make_sparse(p, n, 0);
        else if (n->op == GNTI_IR_DROPOUT && n->in[0] == ir->x && only_products(ir, n->out[0]))
            convert_dropout(p, i);
    }
    gnti_ir_close_gaps(ir);
    GNT_TRY(ir->status);
    gnti_pass_note(p, GNTI_SPARSE_INPUT, "%lld products read the entries of the features",
                   (long long)p->fired[GNTI_SPARSE_INPUT]);
done:
    return st;
}
