/* SPDX-License-Identifier: Apache-2.0 */
/* Fusion into products (GEMM, SpMM). A product's epilogue does, in this order: scale the row, add to an older value, bias,
 * activation, dropout, and the gate through which a backward product passes activation and dropout. Rules, repeated until
 * none applies:
 *   y = a s1 + b s2, one of them a scaled copy     -> the factors move into the sum
 *   sum of a product and a value that dies there   -> the product adds to it
 *   dx = dropout(g), da = act'(.) dx, g a product  -> gate of the product (the mask is drawn again or read off a ReLU)
 *   y + bias, act(y), dropout(y) of a product      -> its epilogue
 *   product that only a scaled aggregation reads   -> the source scale becomes the product's row scale, SpMM only adds
 */
#include "nn/program_state.h"

typedef struct state {
    gnti_program *p;
    gnti_ir *ir;
    gnti_uses *uses;
} state;

static bool empty(const gnti_epilogue_plan *e)
{
    return e->row_scale == 0 && e->bias == 0 && e->act == GNT_ACT_NONE && e->hyper == 0 && e->gate == 0;
}

/* The product that wrote v and that a rule may change: v is its only output and read once. NULL: none. */
static gnti_node *product_of(const state *s, int32_t v)
{
    const int64_t i = v != 0 ? s->uses[v].writer : -1;
    gnti_node *n;

    if (i < 0 || s->uses[v].reads != 1 || s->ir->values[v].keep ||
        s->ir->values[v].storage != GNTI_IN_WORKSPACE)
        return NULL;
    n = &s->ir->nodes[i];
    if (!gnti_op_get_info(n->op)->epilogue || n->hoisted || n->trans_a || n->num_out != 1 ||
        (n->op == GNTI_IR_SPARSE_MATMUL && n->transposed))
        return NULL;
    return n;
}

static bool fuse_factor(state *s, gnti_node *sum)
{
    for (int k = 0; k < 2; k++) {
        const int32_t v = sum->in[k];
        const int64_t i = s->uses[v].writer;

        if (i < 0 || s->ir->nodes[i].op != GNTI_IR_SCALE_BY || s->ir->nodes[i].hoisted ||
            s->uses[v].reads != 1 || s->ir->values[v].keep)
            continue;
        *(k == 0 ? &sum->alpha : &sum->beta) *= s->ir->nodes[i].alpha;
        sum->in[k] = s->ir->nodes[i].in[0];
        s->ir->nodes[i].op = GNTI_IR_NONE;
        return true;
    }
    return false;
}

/* Whether v is memory of its own that nothing reads after node `at`. */
static bool dies_at(const state *s, int32_t v, int64_t at)
{
    return gnti_value_is_temporary(&s->ir->values[v]) && s->uses[v].writer >= 0 && s->uses[v].last == at;
}

static bool fuse_sum(state *s, int64_t at)
{
    gnti_node *sum = &s->ir->nodes[at];
    int32_t reads[GNTI_NODE_READS];

    if (!gnti_ir_same_shape(s->ir, sum->in[0], sum->in[1]) ||
        !gnti_value_is_temporary(&s->ir->values[sum->out[0]]))
        return false;
    for (int k = 1; k >= 0; k--) {
        const int32_t v = sum->in[k], other = sum->in[1 - k];
        gnti_node *product = product_of(s, v);
        gnti_node moved;
        bool reads_it = false;

        if (product == NULL || !empty(&product->epilogue) || product->added != 0 || !dies_at(s, other, at))
            continue;
        for (int r = gnti_node_reads(product, reads) - 1; r >= 0; r--)
            reads_it = reads_it || gnti_ir_root(s->ir, reads[r]) == other;
        if (reads_it)
            continue;
        moved = *product;
        moved.alpha *= k == 1 ? sum->beta : sum->alpha;
        moved.beta = k == 1 ? sum->alpha : sum->beta;
        moved.added = other;
        moved.out[0] = sum->out[0];
        product->op = GNTI_IR_NONE;
        *sum = moved;
        return true;
    }
    return false;
}

/* The forward dropout of activation output a under this ordinal. */
static const gnti_node *find_dropout(const gnti_ir *ir, int32_t a, uint32_t ordinal)
{
    for (int64_t i = 0; i < ir->num_nodes; i++)
        if (ir->nodes[i].op == GNTI_IR_DROPOUT && ir->nodes[i].in[0] == a &&
            ir->nodes[i].ordinal == ordinal && !ir->nodes[i].backward)
            return &ir->nodes[i];
    return NULL;
}

static bool fuse_gate(state *s, gnti_node *n)
{
    const int64_t before = s->uses[n->in[0]].writer;
    gnti_node *drop =
        before >= 0 && s->ir->nodes[before].op == GNTI_IR_DROPOUT ? &s->ir->nodes[before] : NULL;
    const gnti_node *forward = NULL;
    gnti_node *product;
    int32_t gate = n->in[1];

    if (drop != NULL) {
        forward = find_dropout(s->ir, n->in[1], drop->ordinal);
        if (forward == NULL || s->uses[n->in[0]].reads != 1 || s->ir->values[n->in[0]].keep)
            return false;
        gate = forward->out[0];
    }
    product = product_of(s, drop != NULL ? drop->in[0] : n->in[0]);
    if (product == NULL || product->epilogue.bias != 0 || product->epilogue.act != GNT_ACT_NONE ||
        product->epilogue.hyper != 0 || product->epilogue.gate != 0)
        return false;
    product->epilogue.gate = gate;
    product->epilogue.gate_act = n->act;
    product->epilogue.gate_alpha = n->act_alpha;
    if (drop != NULL) {
        product->epilogue.gate_hyper = drop->hyper;
        product->epilogue.gate_ordinal = drop->ordinal;
        drop->op = GNTI_IR_NONE;
    }
    product->out[0] = n->out[0];
    n->op = GNTI_IR_NONE;
    return true;
}

static bool fuse_bias(state *s, gnti_node *sum)
{
    gnti_node *product = product_of(s, sum->in[0]);
    const gnti_value *b = &s->ir->values[sum->in[1]];

    if (product == NULL || b->space != 0 || b->rows != 1 || b->storage != GNTI_IN_WEIGHTS ||
        b->width != s->ir->values[sum->in[0]].width || sum->alpha != 1.0f || sum->beta != 1.0f ||
        s->ir->values[sum->in[0]].space == 0 || product->epilogue.bias != 0 ||
        s->ir->values[sum->in[0]].shared != s->ir->values[sum->out[0]].shared ||
        product->epilogue.act != GNT_ACT_NONE || product->epilogue.hyper != 0 || product->epilogue.gate != 0)
        return false;
    product->epilogue.bias = sum->in[1];
    product->out[0] = sum->out[0];
    sum->op = GNTI_IR_NONE;
    return true;
}

static bool fuse_activation(state *s, gnti_node *act)
{
    gnti_node *product = product_of(s, act->in[0]);

    if (product == NULL || product->epilogue.act != GNT_ACT_NONE || product->epilogue.hyper != 0 ||
        product->epilogue.gate != 0)
        return false;
    product->epilogue.act = act->act;
    product->epilogue.act_alpha = act->act_alpha;
    product->out[0] = act->out[0];
    act->op = GNTI_IR_NONE;
    return true;
}

static bool fuse_dropout(state *s, gnti_node *drop)
{
    gnti_node *product = product_of(s, drop->in[0]);

    if (product == NULL || product->epilogue.hyper != 0 || product->epilogue.gate != 0 ||
        s->ir->values[drop->in[0]].shared)
        return false;
    product->epilogue.hyper = drop->hyper;
    product->epilogue.ordinal = drop->ordinal;
    product->out[0] = drop->out[0];
    drop->op = GNTI_IR_NONE;
    return true;
}

static bool fuse_scale(state *s, int64_t at)
{
    gnti_node *n = &s->ir->nodes[at], *product;
    const bool sym = n->aggregate == GNT_AGG_SYM, mean = n->aggregate == GNT_AGG_MEAN && n->transposed;
    int32_t vector;

    if (n->scaled || n->hoisted || (!sym && !mean))
        return false;
    product = product_of(s, n->in[0]);
    if (product == NULL || product->added != 0 || !empty(&product->epilogue) ||
        (product->op == GNTI_IR_AGGREGATE && product->aggregate != GNT_AGG_SUM))
        return false;
    vector = gnti_ir_vector(s->ir, n->adj, sym ? GNTI_VECTOR_SYM : GNTI_VECTOR_MEAN);
    product->epilogue.row_scale = vector;
    n->scaled = true;
    return true;
}

/* One change; answers whether there was one. Gates come before what would hide their pattern. */
static bool change_one(state *s)
{
    gnti_ir *ir = s->ir;

    for (int64_t i = 0; i < ir->num_nodes; i++)
        if (ir->nodes[i].op == GNTI_IR_ADD && !ir->nodes[i].hoisted &&
            (fuse_factor(s, &ir->nodes[i]) || fuse_sum(s, i)))
            return true;
    for (int64_t i = 0; i < ir->num_nodes; i++)
        if (ir->nodes[i].op == GNTI_IR_ACT_GRAD && fuse_gate(s, &ir->nodes[i]))
            return true;
    for (int64_t i = 0; i < ir->num_nodes; i++) {
        gnti_node *n = &ir->nodes[i];

        if (n->hoisted)
            continue;
        if ((n->op == GNTI_IR_ADD && fuse_bias(s, n)) || (n->op == GNTI_IR_ACT && fuse_activation(s, n)) ||
            (n->op == GNTI_IR_DROPOUT && fuse_dropout(s, n)) ||
            (n->op == GNTI_IR_AGGREGATE && fuse_scale(s, i)))
            return true;
    }
    return false;
}

gnt_status gnti_plan_fuse(gnti_program *p)
{
    gnt_status st = GNT_OK;
    state s = { .p = p, .ir = &p->ir };
    bool changed = true;

    while (changed) {
        gnti_free(s.uses);
        s.uses = NULL;
        GNT_TRY(gnti_ir_uses(&p->ir, &s.uses));
        changed = change_one(&s);
        p->fired[GNTI_FUSE] += changed;
        GNT_TRY(p->ir.status);
        gnti_ir_close_gaps(&p->ir);
    }
    gnti_pass_note(p, GNTI_FUSE, "%lld ops went into products", (long long)p->fired[GNTI_FUSE]);
done:
    gnti_free(s.uses);
    return st;
}
