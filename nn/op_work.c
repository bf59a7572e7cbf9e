/* SPDX-License-Identifier: Apache-2.0 */
/* The work of a node by the formulas of kernels/cost.h: what a stream's counters will say of its instructions, known before it
 * runs. Values have the rows of their space, or those of a question ("with so many rows and arcs"); what is only a view, was
 * fused away or is computed once does no work in a step. What goes slice by slice of members is that much work for each slice:
 * values that members share are read once a slice.
 */
#include "nn/program_state.h"

typedef struct question {
    const gnti_program *p;
    const gnti_step_counts *c; /* NULL: rows and arcs as bound */
    const gnti_cost_device *dev;
    int64_t members; /* that go together */
} question;

static double rows_of(const question *q, int32_t value)
{
    const gnti_value *v = &q->p->ir.values[value];

    if (v->space == 0)
        return (double)v->rows;
    if (q->c != NULL)
        return v->space == q->p->ir.entry_space ? q->c->entries : q->c->rows;
    return (double)gnti_max_i64(q->p->spaces[v->space].rows, q->p->spaces[v->space].capacity);
}

/* Floats of a row of the members that go together. */
static int64_t row_floats(const question *q, int32_t value)
{
    const gnti_value *v = &q->p->ir.values[value];

    return v->width * (v->shared ? 1 : q->members);
}

static double values_of(const question *q, int32_t value)
{
    return rows_of(q, value) * (double)row_floats(q, value);
}

static double arcs_of(const question *q, const gnti_node *n)
{
    const gnti_program *p = q->p;
    const gnti_step_counts *c = q->c;
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
static double sources_of(const question *q, const gnti_node *n, int32_t value)
{
    return rows_of(q, value) + (q->c != NULL && n->op != GNTI_IR_SPARSE_MATMUL ? q->c->halo_rows : 0.0);
}

static gnti_cost cost_matmul(const question *q, const gnti_node *n)
{
    const double inner = n->trans_a ? rows_of(q, n->in[0]) : (double)q->p->ir.values[n->in[0]].width;
    const double out = values_of(q, n->out[0]);

    return gnti_cost_product(q->dev, inner * out, values_of(q, n->in[0]) + values_of(q, n->in[1]) + out);
}

static gnti_cost cost_attend(const question *q, const gnti_node *n)
{
    const int32_t scores = n->op == GNTI_IR_ATTEND        ? n->in[1]
                           : n->op == GNTI_IR_ATTEND_ROWS ? n->in[2]
                                                          : n->in[3];
    const int32_t h = n->op == GNTI_IR_ATTEND_ROWS ? n->in[1] : n->in[0];

    return gnti_cost_attend(q->dev, (int64_t)rows_of(q, n->out[0]), (int64_t)sources_of(q, n, h),
                            (int64_t)arcs_of(q, n), row_floats(q, h), row_floats(q, scores),
                            n->op != GNTI_IR_ATTEND);
}

static gnti_cost cost_spmm(const question *q, const gnti_node *n)
{
    const bool sparse = n->op == GNTI_IR_SPARSE_MATMUL;
    const gnti_operator *op = q->p->operators[n->adj].host;
    const double arcs = arcs_of(q, n), sources = sources_of(q, n, n->in[0]);
    const bool weighted =
        sparse || (q->c != NULL ? q->c->weighted : op != NULL && op->forward->weights != NULL);

    return gnti_cost_spmm(q->dev, (int64_t)rows_of(q, n->out[0]), (int64_t)(sources < arcs ? sources : arcs),
                          (int64_t)arcs, row_floats(q, n->out[0]), weighted, sizeof(float));
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

static gnti_cost cost_of(const question *q, const gnti_node *n, gnti_op_kind *kind)
{
    const int32_t out = n->num_out > 0 ? n->out[0] : 0, in = n->num_in > 0 ? n->in[0] : 0;

    *kind = GNTI_OP_MAP;
    switch (n->op) {
    case GNTI_IR_UPDATE:
        return gnti_cost_each(q->dev, *kind = GNTI_OP_OPTIMIZER, parameter_values(q->p));
    case GNTI_IR_LOSS:
        return gnti_cost_each(q->dev, *kind = GNTI_OP_LOSS, values_of(q, in));
    case GNTI_IR_NONE:
    case GNTI_IR_EXCHANGE:
    case GNTI_IR_SUM_RANKS:
    case GNTI_IR_SLICE:
    case GNTI_IR_SELF:
        return (gnti_cost){ 0.0, 0.0, 0.0 };
    case GNTI_IR_MATMUL:
        *kind = GNTI_OP_GEMM;
        return out != 0 ? cost_matmul(q, n) : (gnti_cost){ 0.0, 0.0, 0.0 };
    case GNTI_IR_ATTEND:
    case GNTI_IR_ATTEND_ROWS:
    case GNTI_IR_ATTEND_COLUMNS:
        *kind = GNTI_OP_ATTEND;
        return cost_attend(q, n);
    case GNTI_IR_AGGREGATE:
    case GNTI_IR_MAX_GRAD:
    case GNTI_IR_SPARSE_MATMUL:
        *kind = GNTI_OP_SPMM;
        return cost_spmm(q, n);
    case GNTI_IR_NORM:
        return gnti_cost_each(q->dev, *kind = GNTI_OP_NORM, norm_passes(q->p, n) * values_of(q, in));
    case GNTI_IR_NORM_GRAD:
        return gnti_cost_each(q->dev, *kind = GNTI_OP_NORM, norm_passes(q->p, n) * values_of(q, n->in[1]));
    case GNTI_IR_REDUCE:
        return gnti_cost_each(q->dev, *kind = GNTI_OP_REDUCE, values_of(q, in));
    default:
        return gnti_cost_each(q->dev, GNTI_OP_MAP, values_of(q, out != 0 ? out : in));
    }
}

gnti_cost gnti_node_cost(const gnti_program *p, const gnti_node *n, const gnti_step_counts *c,
                         const gnti_cost_device *dev, gnti_op_kind *kind)
{
    question q = { p, c, dev, p->ir.num_members };
    gnti_cost sum = { 0.0, 0.0, 0.0 };

    if (n->run == 0 || p->slices.members == 0)
        return cost_of(&q, n, kind);
    for (int64_t left = p->ir.num_members; left > 0; left -= q.members) {
        gnti_cost one;

        q.members = gnti_min_i64(left, p->slices.members);
        one = cost_of(&q, n, kind);
        sum.flops += one.flops;
        sum.bytes += one.bytes;
        sum.seconds += one.seconds;
    }
    return sum;
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

        w.wire_bytes_a_row =
            (double)row_floats(&(question){ .p = p, .members = p->ir.num_members }, n->in[0]) *
            (bf16 ? 2.0 : 4.0);
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
