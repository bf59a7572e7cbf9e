/* SPDX-License-Identifier: Apache-2.0 */
/* Loss rows: the gradient of the loss is zero in rows without a loss weight (all but 8 % of the nodes on some sets), and stays
 * so until it moves along arcs. The first backward aggregation then needs only the arcs that come from rows in the loss:
 * the pass marks such nodes, binding makes a matrix of these arcs when it drops a fifth of them at least. Zeros left out of
 * a sum change no result. Where members have loss weights of their own, a row is in the loss that is in it for one of them. Over
 * parts, ranks tell each other which halo rows are in the loss, and decide together: by all arcs.
 */
#include "nn/program_state.h"

#include <string.h>

/* Whether each row of the node's output is zero where that of its first input is. */
static bool keeps_zero_rows(const gnti_node *n)
{
    const gnti_epilogue_plan *e = &n->epilogue;

    switch (n->op) {
    case GNTI_IR_MATMUL:
        return !n->trans_a && e->bias == 0 && (e->act == GNT_ACT_NONE || e->act == GNT_ACT_RELU);
    case GNTI_IR_SCALE_BY:
    case GNTI_IR_MUL:
    case GNTI_IR_ACT_GRAD:
    case GNTI_IR_DROPOUT:
    case GNTI_IR_SLICE:
    case GNTI_IR_PAD:
        return true;
    default:
        return false;
    }
}

gnt_status gnti_plan_loss_rows(gnti_program *p)
{
    gnt_status st = GNT_OK;
    gnti_ir *ir = &p->ir;
    bool *zero = NULL;

    if (ir->loss_grad == 0)
        return GNT_OK;
    GNT_TRY(gnti_calloc_array(&zero, ir->num_values + 1));
    zero[ir->loss_grad] = true;
    for (int64_t i = 0; i < ir->num_nodes; i++) {
        gnti_node *n = &ir->nodes[i];
        const bool in = n->num_in > 0 && zero[n->in[0]] && (n->added == 0 || zero[n->added]);

        if (n->num_out == 0 || n->out[0] == 0)
            continue;
        if (in && keeps_zero_rows(n))
            zero[n->out[0]] = true;
        if (in && n->op == GNTI_IR_ADD && gnti_ir_same_shape(ir, n->in[0], n->in[1]))
            zero[n->out[0]] = zero[n->in[1]];
        if (in && n->transposed &&
            (n->op == GNTI_IR_ATTEND_COLUMNS ||
             (n->op == GNTI_IR_AGGREGATE && n->aggregate != GNT_AGG_MAX)) &&
            (p->loss_rows.adj == 0 || p->loss_rows.adj == n->adj)) {
            p->loss_rows.adj = n->adj;
            n->masked = true;
            p->fired[GNTI_LOSS_ROWS]++;
        }
    }
done:
    gnti_free(zero);
    return st;
}

void gnti_loss_rows_free(gnti_program *p)
{
    gnti_spmm_plan_free(&p->loss_rows.plan);
    gnti_graph_free(&p->loss_rows.arcs);
    gnti_free(p->loss_rows.mask);
    p->loss_rows.mask = NULL;
    p->loss_rows.num_rows = 0;
}

/* Arcs of g whose column is in the mask. */
static gnt_status filter(const gnti_graph *g, const uint8_t *mask, int64_t count, gnti_graph **out)
{
    gnt_status st = GNT_OK;
    gnti_graph *f = NULL;
    int64_t at = 0;

    GNT_TRY(gnti_graph_alloc(g->num_rows, g->num_cols, count, g->weights != NULL, &f));
    for (int64_t r = 0; r < g->num_rows; r++) {
        f->offsets[r] = at;
        for (int64_t e = g->offsets[r]; e < g->offsets[r + 1]; e++)
            if (mask[g->columns[e]]) {
                f->columns[at] = g->columns[e];
                if (g->weights != NULL)
                    f->weights[at] = g->weights[e];
                at++;
            }
    }
    f->offsets[g->num_rows] = at;
    *out = f;
done:
    return st;
}

/* Whether some member has the row in its loss. */
static bool is_in_loss(const gnti_program *p, int64_t rows, const float *weight, int64_t r)
{
    const int64_t members = p->ir.loss_config.weight_per_member ? p->ir.num_members : 1;

    for (int64_t m = 0; m < members; m++)
        if (weight[m * rows + r] != 0.0f)
            return true;
    return false;
}

static bool same_mask(const gnti_program *p, const gnti_operator *op, const float *weight)
{
    if (p->loss_rows.mask == NULL || p->loss_rows.owner != op || p->loss_rows.num_rows < op->num_dst)
        return false;
    for (int64_t r = 0; r < op->num_dst; r++)
        if (p->loss_rows.mask[r] != is_in_loss(p, op->num_dst, weight, r))
            return false;
    return true;
}

/* Which rows that the transpose gathers have a loss weight. */
static gnt_status make_mask(gnti_program *p, const gnti_operator *op, const float *weight)
{
    gnt_status st = GNT_OK;
    const int64_t rows = op->transposed->num_cols;
    float *in_loss = NULL;

    gnti_loss_rows_free(p);
    p->loss_rows.owner = op;
    GNT_TRY(gnti_alloc_array(&p->loss_rows.mask, rows + 1));
    GNT_TRY(gnti_alloc_array(&in_loss, rows + 1));
    p->loss_rows.num_rows = rows;
    for (int64_t r = 0; r < op->num_dst; r++)
        in_loss[r] = is_in_loss(p, op->num_dst, weight, r) ? 1.0f : 0.0f;
    if (p->parts.on)
        GNT_TRY(gnti_parts_exchange_floats(p, GNTI_BACKWARD, in_loss));
    for (int64_t r = 0; r < rows; r++)
        p->loss_rows.mask[r] = in_loss[r] != 0.0f;
done:
    gnti_free(in_loss);
    return st;
}

/* Whether the mask is as before, on every rank. */
static gnt_status is_known(gnti_program *p, const gnti_operator *op, const float *weight, bool *out)
{
    gnt_status st = GNT_OK;
    int64_t changed = !same_mask(p, op, weight);

    if (p->parts.on)
        GNT_TRY(gnti_parts_max(p, &changed));
    *out = changed == 0;
done:
    return st;
}

gnt_status gnti_bind_loss_rows(gnti_program *p, const float *weight)
{
    gnt_status st = GNT_OK;
    const gnti_operator *op = p->loss_rows.adj != 0 ? p->operators[p->loss_rows.adj].host : NULL;
    const gnti_graph *g;
    int64_t arcs[2] = { 0, 0 }, kept; /* kept ones, all */
    bool known = false;
    static const float none = 0.0f;

    if (p->parts.on && weight == NULL && p->parts.part->num_own == 0)
        weight = &none; /* a rank without rows answers the others all the same */
    if (op == NULL || weight == NULL)
        return GNT_OK;
    GNT_TRY(is_known(p, op, weight, &known));
    if (known)
        return GNT_OK;
    GNT_TRY(make_mask(p, op, weight));
    g = op->transposed;
    for (int64_t e = 0; e < g->num_arcs; e++)
        arcs[0] += p->loss_rows.mask[g->columns[e]];
    kept = arcs[0];
    arcs[1] = g->num_arcs;
    if (p->parts.on)
        GNT_TRY(gnti_parts_sum(p, arcs, 2));
    gnti_text_free(&p->notes[GNTI_LOSS_ROWS]);
    gnti_pass_note(p, GNTI_LOSS_ROWS, "%lld of %lld arcs carry a gradient of the loss%s", (long long)arcs[0],
                   (long long)arcs[1], 5 * arcs[0] > 4 * arcs[1] ? ", too many to leave the others out" : "");
    GNT_TRY(p->notes[GNTI_LOSS_ROWS].status);
    if (5 * arcs[0] > 4 * arcs[1])
        return GNT_OK;
    GNT_TRY(filter(g, p->loss_rows.mask, kept, &p->loss_rows.arcs));
    GNT_TRY(gnti_make_spmm_plan(p, p->loss_rows.arcs, &p->loss_rows.plan));
    if (p->parts.on)
        GNT_TRY(gnti_bind_masked_overlap(p, p->loss_rows.arcs));
done:
    if (st != GNT_OK)
        gnti_loss_rows_free(p);
    return st;
}
