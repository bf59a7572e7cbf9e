/* SPDX-License-Identifier: Apache-2.0 */
/* Hoisting: what depends on neither parameters nor step (A^ X of the first layer, all hops of SGC, constants) is computed
 * when the program is bound and lives on. Dropout or learned weights before it forbid this; the notes say so. A value that
 * only hoisted nodes read needs memory while binding alone.
 */
#include "nn/program_state.h"

gnt_status gnti_ir_constant(const gnti_ir *ir, bool **out)
{
    gnt_status st = GNT_OK;
    bool *constant = NULL;
    int32_t reads[GNTI_NODE_READS];

    GNT_TRY(gnti_calloc_array(&constant, ir->num_values + 1));
    for (int64_t v = 1; v < ir->num_values; v++)
        constant[v] = ir->values[v].storage == GNTI_IN_FEATURES || ir->values[v].storage == GNTI_IN_OPERATOR;
    for (int64_t i = 0; i < ir->num_nodes; i++) {
        const gnti_node *n = &ir->nodes[i];
        bool all = !gnti_op_get_info(n->op)->varies;

        for (int k = gnti_node_reads(n, reads) - 1; k >= 0; k--)
            all = all && constant[reads[k]];
        for (int32_t k = 0; k < n->num_out; k++)
            constant[n->out[k]] = all;
    }
    *out = constant;
done:
    return st;
}

/* Why an aggregation of the first layer stays in the step. */
static void note_blocked(gnti_program *p, const gnti_node *n, const gnti_uses *uses)
{
    const int32_t x = gnti_ir_root(&p->ir, n->in[0]);
    const int64_t writer = uses[x].writer;

    if (writer < 0 || n->backward)
        return;
    if (p->ir.nodes[writer].op == GNTI_IR_DROPOUT && p->ir.nodes[writer].in[0] == p->ir.x)
        gnti_pass_note(p, GNTI_HOIST,
                       "layer %d: aggregation stays in the step, dropout on the features comes before it",
                       n->layer);
}

/* The memory of what hoisted nodes write: it stays if a node of the step reads it. */
static void set_storage(gnti_program *p)
{
    gnti_ir *ir = &p->ir;
    int32_t reads[GNTI_NODE_READS];

    for (int64_t i = 0; i < ir->num_nodes; i++)
        for (int32_t k = 0; ir->nodes[i].hoisted && k < ir->nodes[i].num_out; k++) {
            gnti_value *v = &ir->values[ir->nodes[i].out[k]];

            if (v->storage == GNTI_IN_WORKSPACE)
                v->storage = v->keep ? GNTI_IN_HOISTED : GNTI_IN_HOIST_TEMP;
        }
    for (int64_t i = 0; i < ir->num_nodes; i++) {
        if (ir->nodes[i].hoisted)
            continue;
        for (int k = gnti_node_reads(&ir->nodes[i], reads) - 1; k >= 0; k--) {
            gnti_value *v = &ir->values[gnti_ir_root(ir, reads[k])];

            if (v->storage == GNTI_IN_HOIST_TEMP)
                v->storage = GNTI_IN_HOISTED;
        }
    }
}

gnt_status gnti_plan_hoist(gnti_program *p)
{
    gnt_status st = GNT_OK;
    bool *constant = NULL;
    gnti_uses *uses = NULL;

    GNT_TRY(gnti_ir_constant(&p->ir, &constant));
    GNT_TRY(gnti_ir_uses(&p->ir, &uses));
    for (int64_t i = 0; i < p->ir.num_nodes; i++) {
        gnti_node *n = &p->ir.nodes[i];

        if (n->num_out == 0 || n->out[0] == 0)
            continue;
        n->hoisted = constant[n->out[0]] && p->ir.values[n->out[0]].storage != GNTI_IN_GRADS;
        if (n->op == GNTI_IR_AGGREGATE && n->hoisted) {
            p->fired[GNTI_HOIST]++;
            gnti_pass_note(p, GNTI_HOIST, "layer %d: aggregation of the features is computed once", n->layer);
        } else if (n->op == GNTI_IR_AGGREGATE) {
            note_blocked(p, n, uses);
        }
    }
    set_storage(p);
done:
    gnti_free(uses);
    gnti_free(constant);
    return st;
}
