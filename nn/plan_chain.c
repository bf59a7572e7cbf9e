/* SPDX-License-Identifier: Apache-2.0 */
/* Chains: neighbouring ops on the same rows become one pass over blocks of rows, so that what one writes is still in the
 * cache when the next reads it (aggregate then GEMM; dH, dW and db of a layer). Two parts:
 *   - before memory is laid out, nodes get a chain number; the memory pass then keeps apart in memory what a chain touches;
 *   - after lowering, runs of instructions of one chain become its ops, unless their views would collide after all. Where a
 *     chain begins with the boundary rows of a product, its interior rows are chains too, which run while halo rows travel.
 */
#include "nn/program_state.h"

#include <string.h>

/* Whether value v is read or written row by row in space `space`, or is one small matrix. */
static bool fits(const gnti_ir *ir, int32_t v, int32_t space)
{
    return v == 0 || ir->values[v].space == space || ir->values[v].space == 0;
}

/* The space whose rows the node works through, 0: it cannot be part of a chain. */
static int32_t chain_space(const gnti_program *p, const gnti_node *n)
{
    const gnti_ir *ir = &p->ir;
    /* sums over chunks follow another tree than that of chains */
    const bool sums_apart = p->parts.on && gnti_context_determinism(p->ctx) == GNTI_DET_BITWISE;
    int32_t space;

    switch (n->op) {
    case GNTI_IR_MATMUL:
        if (n->trans_a && sums_apart)
            return 0;
        space = ir->values[n->in[0]].space;
        return n->trans_a && ir->values[n->in[1]].space != space ? 0 : space;
    case GNTI_IR_AGGREGATE:
        return n->aggregate == GNT_AGG_MAX ? 0 : ir->values[n->out[0]].space;
    case GNTI_IR_REDUCE:
        if (sums_apart)
            return 0;
        return n->reduce == GNT_REDUCE_SUM_ROWS || n->reduce == GNT_REDUCE_DOT_ROWS
                   ? ir->values[n->in[0]].space
                   : 0;
    case GNTI_IR_ADD:
    case GNTI_IR_MUL:
    case GNTI_IR_SCALE_BY:
    case GNTI_IR_ACT:
    case GNTI_IR_ACT_GRAD:
    case GNTI_IR_DROPOUT:
        space = ir->values[n->out[0]].space;
        return fits(ir, n->in[0], space) && fits(ir, n->in[1], space) ? space : 0;
    default:
        return 0;
    }
}

/* Whether some earlier node of the chain that starts at `first` writes the memory of value v. */
static bool written_since(const gnti_ir *ir, int64_t first, int64_t at, int32_t v)
{
    const int32_t root = gnti_ir_root(ir, v);

    for (int64_t i = first; i < at; i++)
        for (int32_t k = 0; k < ir->nodes[i].num_out; k++)
            if (ir->nodes[i].out[k] != 0 && gnti_ir_root(ir, ir->nodes[i].out[k]) == root)
                return true;
    return false;
}

/* Whether node `at` may follow the nodes from `first` on: it reads neither sums that they make nor, from all over the graph,
 * rows that they write; what it adds to must be rows. */
static bool may_follow(const gnti_program *p, int64_t first, int64_t at, int32_t space)
{
    const gnti_ir *ir = &p->ir;
    const gnti_node *n = &ir->nodes[at];
    int32_t reads[GNTI_NODE_READS];

    if (n->hoisted || chain_space(p, n) != space)
        return false;
    if (n->op == GNTI_IR_AGGREGATE && written_since(ir, first, at, n->in[0]))
        return false;
    for (int k = gnti_node_reads(n, reads) - 1; k >= 0; k--)
        if (ir->values[reads[k]].space == 0 && written_since(ir, first, at, reads[k]))
            return false;
    return n->added == 0 || ir->values[n->added].space == space;
}

void gnti_plan_chains(gnti_program *p)
{
    gnti_ir *ir = &p->ir;
    int32_t number = 0;

    for (int64_t i = 0; i < ir->num_nodes;) {
        const int32_t space = ir->nodes[i].hoisted ? 0 : chain_space(p, &ir->nodes[i]);
        int64_t end = i + 1;

        if (space != 0 && may_follow(p, i, i, space))
            while (end < ir->num_nodes && may_follow(p, i, end, space))
                end++;
        if (end > i + 1) {
            number++;
            for (int64_t k = i; k < end; k++)
                ir->nodes[k].chain = number;
        }
        i = end;
    }
    p->fired[GNTI_CHAIN] = number;
    gnti_pass_note(p, GNTI_CHAIN, "%d runs of ops go block by block", number);
}

void gnti_chain_span(const gnti_ir *ir, int64_t at, int64_t *first, int64_t *last)
{
    *first = *last = at;
    if (ir->nodes[at].chain == 0)
        return;
    while (*first > 0 && ir->nodes[*first - 1].chain == ir->nodes[at].chain)
        --*first;
    while (*last + 1 < ir->num_nodes && ir->nodes[*last + 1].chain == ir->nodes[at].chain)
        ++*last;
}

/* ---- after lowering ------------------------------------------------------------------------------------------------ */

/* What an op touches: `rows` views go row by row, others are read or written as a whole. */
typedef struct touch {
    const gnt_mat_view *view;
    bool writes, whole;
} touch;
enum { MAX_TOUCHES = 12 };

static int add_touch(touch *t, int n, const gnt_mat_view *v, bool writes, bool whole)
{
    if (v == NULL || v->buf == NULL)
        return n;
    t[n] = (touch){ v, writes, whole };
    return n + 1;
}

static int epilogue_touches(touch *t, int n, const gnt_epilogue *e)
{
    n = add_touch(t, n, e->row_scale, false, false);
    n = add_touch(t, n, e->bias, false, true);
    return add_touch(t, n, e->gate, false, false);
}

static int touches_of(const gnti_instr *in, touch *t)
{
    int n = 0;

    switch (in->kind) {
    case GNTI_INSTR_GEMM:
        n = add_touch(t, n, &in->a.gemm.a, false, false);
        n = add_touch(t, n, &in->a.gemm.b, false, !in->a.gemm.trans_a);
        n = add_touch(t, n, &in->a.gemm.c, true, in->a.gemm.trans_a);
        return epilogue_touches(t, n, &in->a.gemm.epilogue);
    case GNTI_INSTR_SPMM:
        n = add_touch(t, n, &in->a.spmm.x, false, true);
        n = add_touch(t, n, &in->a.spmm.y, true, false);
        return epilogue_touches(t, n, &in->a.spmm.epilogue);
    case GNTI_INSTR_MAP:
        n = add_touch(t, n, &in->a.map.a, false, false);
        n = add_touch(t, n, &in->a.map.b, false, in->a.map.b.rows != in->a.map.y.rows);
        return add_touch(t, n, &in->a.map.y, true, false);
    default:
        n = add_touch(t, n, &in->a.reduce.a, false, false);
        n = add_touch(t, n, &in->a.reduce.b, false, false);
        return add_touch(t, n, &in->a.reduce.y, true, true);
    }
}

/* Bytes from the first element to behind the last one. */
static size_t extent(const gnt_mat_view *v)
{
    const int64_t blocks = gnti_ceil_div(v->members, v->block_members),
                  inner = gnti_min_i64(v->block_members, v->members);

    if (v->rows == 0 || v->width == 0)
        return 0;
    return (size_t)((v->rows - 1) * v->row_stride + (blocks - 1) * v->block_stride +
                    (inner - 1) * v->member_stride + v->width) *
           sizeof(float);
}

static bool overlap(const gnt_mat_view *a, const gnt_mat_view *b)
{
    const size_t a_end = a->offset + extent(a), b_end = b->offset + extent(b);

    return a->buf == b->buf && a->offset < b_end && b->offset < a_end;
}

/* Row r of both is at the same place. */
static bool same_rows(const gnt_mat_view *a, const gnt_mat_view *b)
{
    return a->row_stride == b->row_stride && a->block_stride == b->block_stride && a->rows == b->rows;
}

static bool collide(const gnti_instr *x, const gnti_instr *y)
{
    touch a[MAX_TOUCHES], b[MAX_TOUCHES];
    const int num_a = touches_of(x, a), num_b = touches_of(y, b);

    for (int i = 0; i < num_a; i++)
        for (int k = 0; k < num_b; k++)
            if ((a[i].writes || b[k].writes) && overlap(a[i].view, b[k].view) &&
                (a[i].whole || b[k].whole || !same_rows(a[i].view, b[k].view)))
                return true;
    return false;
}

static int64_t rows_of(const gnti_instr *in)
{
    switch (in->kind) {
    case GNTI_INSTR_GEMM:
        return in->a.gemm.trans_a ? in->a.gemm.a.rows : in->a.gemm.c.rows;
    case GNTI_INSTR_SPMM:
        return in->a.spmm.y.rows;
    case GNTI_INSTR_MAP:
        return in->a.map.y.rows;
    default:
        return in->a.reduce.a.rows;
    }
}

static gnt_chain_op op_of(const gnti_instr *in)
{
    switch (in->kind) {
    case GNTI_INSTR_GEMM:
        return (gnt_chain_op){ .kind = GNTI_OP_GEMM, .a.gemm = &in->a.gemm };
    case GNTI_INSTR_SPMM:
        return (gnt_chain_op){ .kind = GNTI_OP_SPMM, .plan = in->plan, .a.spmm = &in->a.spmm };
    case GNTI_INSTR_MAP:
        return (gnt_chain_op){ .kind = GNTI_OP_MAP, .a.map = &in->a.map };
    default:
        return (gnt_chain_op){ .kind = GNTI_OP_REDUCE, .a.reduce = &in->a.reduce };
    }
}

/* Instructions [first, end) belong together: same chain, same rows, no collision. */
static int64_t chain_end(const gnti_lowering *lo, int64_t first)
{
    int64_t end = first + 1;

    if (lo->list[first]->node->chain == 0 || lo->list[first]->alone)
        return end;
    for (; end < lo->count && lo->list[end]->node->chain == lo->list[first]->node->chain; end++) {
        if (lo->list[end]->alone || lo->list[end]->slice != lo->list[first]->slice)
            return end;
        if (rows_of(lo->list[end]) != rows_of(lo->list[first]))
            return end;
        for (int64_t k = first; k < end; k++)
            if (collide(lo->list[k], lo->list[end]))
                return end;
    }
    return end;
}

/* Ops of instructions [first, end) for the run; the first of them is `head`. */
static void add_ops(gnti_program *p, gnti_chain_run *run, const gnti_instr *head, int64_t first, int64_t end)
{
    run->first_op = p->num_chain_ops;
    run->num_ops = (int32_t)(end - first);
    for (int64_t k = first; k < end; k++)
        p->chain_ops[p->num_chain_ops++] = op_of(k == first ? head : p->lowering.list[k]);
}

/* The runs before the newest that have interior rows of its product become chains with its ops, if any op can go with them. */
static void take_along(gnti_program *p, int64_t first, int64_t end)
{
    gnti_lowering *lo = &p->lowering;
    gnti_chain_run *late = &p->chains[p->num_chains - 1];
    const gnt_chain_args args = { &p->chain_ops[late->first_op], late->num_ops, 0, GNT_CHAIN_LATE };

    if (first == 0 || lo->list[first]->kind != GNTI_INSTR_SPMM || !lo->list[first]->boundary)
        return;
    late->go = GNT_CHAIN_LATE;
    for (int64_t i = p->num_chains - 2; i >= 0 && gnti_chain_row_ops(&args) > 1; i--) {
        const gnti_instr *in = lo->list[p->chains[i].first];

        if (in->node != lo->list[first]->node && !gnti_instr_talks(in))
            return;
        if (!in->interior)
            continue;
        add_ops(p, &p->chains[i], in, first, end);
        p->chains[i].go = GNT_CHAIN_EARLY;
    }
}

gnt_status gnti_chain_lower(gnti_program *p)
{
    gnt_status st = GNT_OK;
    gnti_lowering *lo = &p->lowering;

    GNT_TRY(
        gnti_grow_array(&p->chain_ops, &p->chain_ops_capacity, (1 + GNTI_INTERIOR_PIECES) * (lo->count + 1)));
    GNT_TRY(gnti_grow_array(&p->chains, &p->chains_capacity, lo->count + 1));
    p->num_chains = p->num_chain_ops = 0;
    for (int64_t i = p->num_hoist_instrs; i < lo->count;) {
        const int64_t end = chain_end(lo, i);
        gnti_chain_run *run = &p->chains[p->num_chains++];

        *run = (gnti_chain_run){ .first = i, .end = end };
        if (end > i + 1) {
            add_ops(p, run, lo->list[i], i, end);
            take_along(p, i, end);
        }
        i = end;
    }
done:
    return st;
}

gnt_status gnti_chain_execute(gnti_program *p, const gnti_chain_run *run)
{
    gnt_chain_args args;

    if (run->num_ops == 0)
        return gnti_instr_run(p->stream, p->lowering.list[run->first]);
    args = (gnt_chain_args){ &p->chain_ops[run->first_op], run->num_ops,
                             rows_of(p->lowering.list[run->first]), run->go };
    return gnti_chain(p->stream, &args);
}
