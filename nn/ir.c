/* SPDX-License-Identifier: Apache-2.0 */
/* Growing and asking the intermediate form. A failed allocation sticks in ir->status; new nodes then go to a scratch
 * place, so that recording code needs no checks. Insertions move the nodes behind them: O(nodes), and there are few.
 */
#include "nn/ir.h"

#include <string.h>

void gnti_ir_free(gnti_ir *ir)
{
    gnti_free(ir->values);
    gnti_free(ir->nodes);
    gnti_free(ir->adjs);
    memset(ir, 0, sizeof *ir);
}

gnt_status gnti_ir_copy(const gnti_ir *from, gnti_ir *to)
{
    gnt_status st = GNT_OK;
    gnti_ir copy = *from;

    copy.values = NULL;
    copy.nodes = NULL;
    copy.adjs = NULL;
    GNT_TRY(gnti_alloc_array(&copy.values, gnti_max_i64(from->values_capacity, 1)));
    GNT_TRY(gnti_alloc_array(&copy.nodes, gnti_max_i64(from->nodes_capacity, 1)));
    GNT_TRY(gnti_alloc_array(&copy.adjs, gnti_max_i64(from->adjs_capacity, 1)));
    if (from->num_values > 0)
        memcpy(copy.values, from->values, (size_t)from->num_values * sizeof *copy.values);
    if (from->num_nodes > 0)
        memcpy(copy.nodes, from->nodes, (size_t)from->num_nodes * sizeof *copy.nodes);
    if (from->num_adjs > 0)
        memcpy(copy.adjs, from->adjs, (size_t)from->num_adjs * sizeof *copy.adjs);
    *to = copy;
    return GNT_OK;
done:
    gnti_free(copy.values);
    gnti_free(copy.nodes);
    gnti_free(copy.adjs);
    return st;
}

int32_t gnti_ir_space(gnti_ir *ir)
{
    return ++ir->num_spaces;
}

int32_t gnti_ir_value(gnti_ir *ir, int32_t space, int64_t rows, int64_t width, bool shared)
{
    gnti_value *v;

    if (ir->status != GNT_OK)
        return 0;
    ir->status = gnti_grow_array(&ir->values, &ir->values_capacity, ir->num_values + 2);
    if (ir->status != GNT_OK)
        return 0;
    if (ir->num_values == 0)
        memset(&ir->values[ir->num_values++], 0, sizeof *ir->values);
    v = &ir->values[ir->num_values];
    memset(v, 0, sizeof *v);
    v->space = space;
    v->rows = rows;
    v->width = width;
    v->shared = shared;
    v->dtype = GNT_F32;
    v->block_members = 1;
    v->offset = -1;
    return (int32_t)ir->num_values++;
}

int32_t gnti_ir_like(gnti_ir *ir, int32_t value, int64_t width)
{
    const gnti_value v = ir->values[value];

    return gnti_ir_value(ir, v.space, v.rows, width, v.shared);
}

int32_t gnti_ir_vector(gnti_ir *ir, int32_t adj, gnti_vector vector)
{
    int32_t id;

    for (int32_t i = 1; i < ir->num_values; i++)
        if (ir->values[i].storage == GNTI_IN_OPERATOR && ir->values[i].adj == adj &&
            ir->values[i].vector == vector)
            return i;
    /* sym scales the sources (and, its first rows, the destinations); the others belong to the destinations */
    id = gnti_ir_value(ir, vector == GNTI_VECTOR_SYM ? ir->adjs[adj].source : ir->adjs[adj].destination, 0, 1,
                       true);
    if (id != 0) {
        ir->values[id].storage = GNTI_IN_OPERATOR;
        ir->values[id].adj = adj;
        ir->values[id].vector = vector;
    }
    return id;
}

static void set_node(gnti_ir *ir, gnti_node *n, gnti_op op, int32_t in0, int32_t in1, int32_t out)
{
    memset(n, 0, sizeof *n);
    n->op = op;
    n->in[0] = in0;
    n->in[1] = in1;
    n->num_in = in1 != 0 ? 2 : in0 != 0;
    n->out[0] = out;
    n->num_out = out != 0;
    n->layer = ir->layer;
    n->alpha = 1.0f;
    n->beta = 1.0f;
}

gnti_node *gnti_ir_insert(gnti_ir *ir, int64_t at, gnti_op op, int32_t in0, int32_t in1, int32_t out)
{
    gnti_node *n = &ir->scratch;

    if (ir->status == GNT_OK)
        ir->status = gnti_grow_array(&ir->nodes, &ir->nodes_capacity, ir->num_nodes + 1);
    if (ir->status == GNT_OK) {
        n = &ir->nodes[at];
        memmove(n + 1, n, (size_t)(ir->num_nodes - at) * sizeof *n);
        ir->num_nodes++;
    }
    set_node(ir, n, op, in0, in1, out);
    return n;
}

gnti_node *gnti_ir_node(gnti_ir *ir, gnti_op op, int32_t in0, int32_t in1, int32_t out)
{
    return gnti_ir_insert(ir, ir->num_nodes, op, in0, in1, out);
}

bool gnti_value_is_temporary(const gnti_value *v)
{
    return v->storage == GNTI_IN_WORKSPACE && !v->keep;
}

int32_t gnti_ir_root(const gnti_ir *ir, int32_t value)
{
    while (ir->values[value].storage == GNTI_IN_VIEW)
        value = ir->values[value].parent;
    return value;
}

bool gnti_ir_same_shape(const gnti_ir *ir, int32_t a, int32_t b)
{
    const gnti_value *v = &ir->values[a], *w = &ir->values[b];

    return v->space == w->space && v->width == w->width && v->shared == w->shared &&
           (v->space != 0 || v->rows == w->rows);
}

int gnti_node_reads(const gnti_node *n, int32_t out[GNTI_NODE_READS])
{
    const int32_t more[6] = { n->added,         n->epilogue.row_scale, n->epilogue.bias,
                              n->epilogue.gate, n->running_mean,       n->running_var };
    int count = 0;

    for (int32_t i = 0; i < n->num_in; i++)
        if (n->in[i] != 0)
            out[count++] = n->in[i];
    for (int i = 0; i < 6; i++)
        if (more[i] != 0)
            out[count++] = more[i];
    return count;
}

uint32_t gnti_node_row_sums(const gnti_ir *ir, const gnti_node *n)
{
    uint32_t sums = 0;

    if (n->hoisted || n->num_in == 0 || n->in[0] == 0 || ir->values[n->in[0]].space == 0)
        return 0;
    switch (n->op) {
    case GNTI_IR_MATMUL:
        return n->trans_a;
    case GNTI_IR_SPARSE_MATMUL:
        return n->transposed;
    case GNTI_IR_REDUCE:
        return n->reduce != GNT_REDUCE_DOT_COLS;
    case GNTI_IR_NORM_GRAD: /* a batch norm adds up its own */
        return n->norm == GNT_NORM_LAYER ? 6 : 0;
    case GNTI_IR_CUSTOM_GRAD:
        for (int32_t k = 0; k < n->num_out; k++)
            if (n->out[k] != 0 && ir->values[n->out[k]].space == 0)
                sums |= 1u << k;
        return sums;
    default:
        return 0;
    }
}

void gnti_node_replace(gnti_node *n, int32_t from, int32_t to)
{
    int32_t *more[6] = { &n->added,         &n->epilogue.row_scale, &n->epilogue.bias,
                         &n->epilogue.gate, &n->running_mean,       &n->running_var };

    for (int32_t i = 0; i < n->num_in; i++)
        if (n->in[i] == from)
            n->in[i] = to;
    for (int i = 0; i < 6; i++)
        if (*more[i] == from)
            *more[i] = to;
}

gnt_status gnti_ir_uses(const gnti_ir *ir, gnti_uses **out)
{
    gnt_status st = GNT_OK;
    gnti_uses *uses = NULL;
    int32_t reads[GNTI_NODE_READS];

    GNT_TRY(gnti_alloc_array(&uses, gnti_max_i64(ir->num_values, 1)));
    for (int64_t v = 0; v < gnti_max_i64(ir->num_values, 1); v++)
        uses[v] = (gnti_uses){ .writer = -1, .last = -1 };
    for (int64_t i = 0; i < ir->num_nodes; i++) {
        const int count = gnti_node_reads(&ir->nodes[i], reads);

        for (int32_t k = 0; k < ir->nodes[i].num_out; k++)
            if (ir->nodes[i].out[k] != 0)
                uses[ir->nodes[i].out[k]].writer = i;
        for (int k = 0; k < count; k++) {
            uses[reads[k]].reads++;
            uses[reads[k]].last = i;
            /* a view's reader also reads the value behind it */
            for (int32_t v = reads[k]; ir->values[v].storage == GNTI_IN_VIEW; v = ir->values[v].parent)
                uses[ir->values[v].parent].last = i;
        }
    }
    *out = uses;
    uses = NULL;
done:
    gnti_free(uses);
    return st;
}

void gnti_ir_close_gaps(gnti_ir *ir)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < ir->num_nodes; i++)
        if (ir->nodes[i].op != GNTI_IR_NONE)
            ir->nodes[kept++] = ir->nodes[i];
    ir->num_nodes = kept;
}

gnt_status gnti_ir_remove_dead(gnti_ir *ir)
{
    gnt_status st = GNT_OK;
    bool *needed = NULL;
    int32_t reads[GNTI_NODE_READS];

    GNT_TRY(gnti_calloc_array(&needed, gnti_max_i64(ir->num_values, 1)));
    for (int64_t i = ir->num_nodes - 1; i >= 0; i--) {
        gnti_node *n = &ir->nodes[i];
        bool live = n->op == GNTI_IR_LOSS || n->op == GNTI_IR_UPDATE || n->running_mean != 0;

        for (int32_t k = 0; k < n->num_out; k++) {
            const int32_t v = n->out[k];

            live = live ||
                   (v != 0 && (needed[v] || ir->values[v].keep || ir->values[v].storage == GNTI_IN_GRADS));
        }
        if (!live) {
            n->op = GNTI_IR_NONE;
            continue;
        }
        /* without a gradient nobody reads an attention's maxima and sums */
        if (n->op == GNTI_IR_ATTEND && n->num_out > 1 && !needed[n->out[1]] && !ir->values[n->out[1]].keep)
            n->num_out = 1;
        for (int k = gnti_node_reads(n, reads) - 1; k >= 0; k--)
            for (int32_t v = reads[k]; v != 0;
                 v = ir->values[v].storage == GNTI_IN_VIEW ? ir->values[v].parent : 0)
                needed[v] = true;
    }
    gnti_ir_close_gaps(ir);
done:
    gnti_free(needed);
    return st;
}
