/* SPDX-License-Identifier: Apache-2.0 */
/* The work of a node by the formulas of kernels/cost.h: what a stream's counters will say of its instructions, known before it
 * runs. Values have the rows of their space, or those of a question ("with so many rows and arcs"); what is only a view, was
 * fused away or is computed once does no work in a step.
 */
#include "nn/program_state.h"

static double rows_of(const gnti_program *p, const gnti_step_counts *c, int32_t value)
{
    const gnti_value *v = &p->ir.values[value];

    if (v->space == 0)
        return (double)v->rows;
    if (c != NULL)
        return v->space == p->ir.entry_space ? c->entries : c->rows;
    return (double)gnti_max_i64(p->spaces[v->space].rows, p->spaces[v->space].capacity);
}

/* Floats of a row of all members. */
static int64_t row_floats(const gnti_program *p, int32_t value)
{
    return p->ir.values[value].width * (p->ir.values[value].shared ? 1 : p->ir.num_members);
}

static double values_of(const gnti_program *p, const gnti_step_counts *c, int32_t value)
{
    return rows_of(p, c, value) * (double)row_floats(p, value);
}

static double arcs_of(const gnti_program *p, const gnti_step_counts *c, const gnti_node *n)
{
    const gnti_operator *op = p->operators[n->adj].host;

    if (n->op == GNTI_IR_SPARSE_MATMUL && c == NULL)
        return p->x.view.sparse != NULL ? (double)p->x.view.sparse->num_arcs
                                        : (double)p->config.expected_entries;
    if (n->op == GNTI_IR_SPARSE_MATMUL)
        return c->entries;
    if (c == NULL)
        return op != NULL ? (double)op->forward->num_arcs : (double)p->config.expected_arcs;
    return n->masked ? c->loss_arcs : c->arcs[n->transposed];
}

/* Rows that a product along arcs may read: own ones and the halo's. */
static double sources_of(const gnti_program *p, const gnti_step_counts *c, const gnti_node *n, int32_t value)
{
    return rows_of(p, c, value) + (c != NULL && n->op != GNTI_IR_SPARSE_MATMUL ? c->halo_rows : 0.0);
}

static gnti_cost cost_matmul(const gnti_program *p, const gnti_step_counts *c, const gnti_node *n,
                             const gnti_cost_device *dev)
{
    const double inner = n->trans_a ? rows_of(p, c, n->in[0]) : (double)p->ir.values[n->in[0]].width;
    const double out = values_of(p, c, n->out[0]);

    return gnti_cost_product(dev, inner * out, values_of(p, c, n->in[0]) + values_of(p, c, n->in[1]) + out);
}

static gnti_cost cost_attend(const gnti_program *p, const gnti_step_counts *c, const gnti_node *n,
                             const gnti_cost_device *dev)
{
    const int32_t scores = n->op == GNTI_IR_ATTEND        ? n->in[1]
                           : n->op == GNTI_IR_ATTEND_ROWS ? n->in[2]
                                                          : n->in[3];
    const int32_t h = n->op == GNTI_IR_ATTEND_ROWS ? n->in[1] : n->in[0];

    return gnti_cost_attend(dev, (int64_t)rows_of(p, c, n->out[0]), (int64_t)sources_of(p, c, n, h),
                            (int64_t)arcs_of(p, c, n), row_floats(p, h), row_floats(p, scores),
                            n->op != GNTI_IR_ATTEND);
}

static gnti_cost cost_spmm(const gnti_program *p, const gnti_step_counts *c, const gnti_node *n,
                           const gnti_cost_device *dev)
{
    const bool sparse = n->op == GNTI_IR_SPARSE_MATMUL;
    const gnti_operator *op = p->operators[n->adj].host;
    const double arcs = arcs_of(p, c, n), sources = sources_of(p, c, n, n->in[0]);
    const bool weighted = sparse || (c != NULL ? c->weighted : op != NULL && op->forward->weights != NULL);

    return gnti_cost_spmm(dev, (int64_t)rows_of(p, c, n->out[0]), (int64_t)(sources < arcs ? sources : arcs),
                          (int64_t)arcs, row_floats(p, n->out[0]), weighted, sizeof(float));
}

/* Times that a norm goes over its rows: a batch norm over parts in training has phases (kernels/args.h). */
static double norm_passes(const gnti_program *p, const gnti_node *n)
{
    if (!p->parts.on || n->norm != GNT_NORM_BATCH || !p->ir.training)
        return 1.0;
    return n->op == GNTI_IR_NORM ? 4.0 : 2.0;
}

static double parameter_values(const gnti_program *p)
{
    double values = 0.0;

    for (int32_t i = 0; i < p->num_segments; i++)
        values += (double)p->segments[i].count * p->ir.num_members;
    return values;
}

gnti_cost gnti_node_cost(const gnti_program *p, const gnti_node *n, const gnti_step_counts *c,
                         const gnti_cost_device *dev, gnti_op_kind *kind)
{
    const int32_t out = n->num_out > 0 ? n->out[0] : 0, in = n->num_in > 0 ? n->in[0] : 0;

    *kind = GNTI_OP_MAP;
    switch (n->op) {
    case GNTI_IR_UPDATE:
        return gnti_cost_each(dev, *kind = GNTI_OP_OPTIMIZER, parameter_values(p));
    case GNTI_IR_LOSS:
        return gnti_cost_each(dev, *kind = GNTI_OP_LOSS, values_of(p, c, in));
    case GNTI_IR_NONE:
    case GNTI_IR_EXCHANGE:
    case GNTI_IR_SUM_RANKS:
    case GNTI_IR_SLICE:
    case GNTI_IR_SELF:
        return (gnti_cost){ 0.0, 0.0, 0.0 };
    case GNTI_IR_MATMUL:
        *kind = GNTI_OP_GEMM;
        return out != 0 ? cost_matmul(p, c, n, dev) : (gnti_cost){ 0.0, 0.0, 0.0 };
    case GNTI_IR_ATTEND:
    case GNTI_IR_ATTEND_ROWS:
    case GNTI_IR_ATTEND_COLUMNS:
        *kind = GNTI_OP_ATTEND;
        return cost_attend(p, c, n, dev);
    case GNTI_IR_AGGREGATE:
    case GNTI_IR_MAX_GRAD:
    case GNTI_IR_SPARSE_MATMUL:
        *kind = GNTI_OP_SPMM;
        return cost_spmm(p, c, n, dev);
    case GNTI_IR_NORM:
        return gnti_cost_each(dev, *kind = GNTI_OP_NORM, norm_passes(p, n) * values_of(p, c, in));
    case GNTI_IR_NORM_GRAD:
        return gnti_cost_each(dev, *kind = GNTI_OP_NORM, norm_passes(p, n) * values_of(p, c, n->in[1]));
    case GNTI_IR_REDUCE:
        return gnti_cost_each(dev, *kind = GNTI_OP_REDUCE, values_of(p, c, in));
    default:
        return gnti_cost_each(dev, GNTI_OP_MAP, values_of(p, c, out != 0 ? out : in));
    }
}

/* ---- questions of train/ ------------------------------------------------------------------------------------------- */

int64_t gnti_program_num_ops(const gnti_program *p)
{
    return p->ir.num_nodes;
}

gnti_op_work gnti_program_op_work(const gnti_program *p, int64_t index, const gnti_step_counts *c)
{
    const gnti_node *n = &p->ir.nodes[index];
    const gnti_cost_device dev = gnti_cost_device_default(1);
    gnti_op_work w = { .kind = GNTI_OP_MAP };
    gnti_cost cost;

    if (n->hoisted)
        return w;
    w.meets = n->op == GNTI_IR_EXCHANGE || n->op == GNTI_IR_SUM_RANKS ||
              ((n->op == GNTI_IR_NORM || n->op == GNTI_IR_NORM_GRAD) && norm_passes(p, n) > 1.0);
    if (n->op == GNTI_IR_EXCHANGE) {
        const bool bf16 = p->parts.dist.wire == GNTI_WIRE_BF16;

        w.wire_bytes_a_row = (double)row_floats(p, n->in[0]) * (bf16 ? 2.0 : 4.0);
        return w;
    }
    if (n->op == GNTI_IR_SUM_RANKS) {
        w.sum_bytes = sizeof(float) * (double)p->parts.groups[n->group].count;
        return w;
    }
    cost = gnti_node_cost(p, n, c, &dev, &w.kind);
    w.flops = cost.flops;
    w.bytes = cost.bytes;
    return w;
}

gnt_status gnti_program_lay_out(gnti_program *p, int64_t rows, int64_t halo_rows)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(p->params == NULL, GNT_ERR_STATE, "only a dry run is laid out for rows that nobody binds");
    for (int32_t s = 1; s <= p->ir.num_spaces; s++) {
        const bool halo = p->parts.on && (s == p->parts.halo_space[0] || s == p->parts.halo_space[1]);

        if (s != p->ir.entry_space)
            p->spaces[s].capacity = gnti_max_i64(rows + (halo ? halo_rows : 0), 1);
    }
    GNT_TRY(gnti_plan_memory(p));
    p->laid_out = true;
done:
    return st;
}
