/* SPDX-License-Identifier: Apache-2.0 */
/* Reassociation: (A H) W or A (H W), whichever moves fewer bytes along arcs. The products cost the same either way.
 *
 * A product along arcs costs its width, once forward and, where H needs a gradient or the product with W comes first,
 * once backward. So W first costs 2 d_out, A first 2 d_in when H needs a gradient and d_in when not (features under dropout);
 * nothing backward in evaluation. A H that can be hoisted costs nothing: then A first, unless H is stored sparse. The pass
 * runs before differentiation, so gradients are exact in both orders (Tripathy et al., ICPP 2022 compare the costs).
 */
#include "nn/program_state.h"

typedef struct state {
    gnti_program *p;
    gnti_uses *uses;
    bool *constant, *wanted;
} state;

/* Features stored sparse, perhaps aggregated or under dropout. */
static bool from_sparse(const state *s, int32_t v)
{
    const gnti_ir *ir = &s->p->ir;

    while (v != ir->x) {
        const gnti_node *n;

        if (s->uses[v].writer < 0)
            return false;
        n = &ir->nodes[s->uses[v].writer];
        if (n->op != GNTI_IR_DROPOUT && n->op != GNTI_IR_AGGREGATE)
            return false;
        v = n->in[0];
    }
    return ir->sparse_x && gnti_pass_is_on(s->p, GNTI_SPARSE_INPUT);
}

static bool product_first(const state *s, int32_t x, int64_t in, int64_t out)
{
    if (from_sparse(s, x))
        return true;
    if (s->constant[x] && gnti_pass_is_on(s->p, GNTI_HOIST))
        return false;
    if (!s->p->has_update || s->wanted[x])
        return out <= in;
    return 2 * out <= in;
}

static bool linear(const gnti_node *n)
{
    return n->op == GNTI_IR_AGGREGATE && n->aggregate != GNT_AGG_MAX;
}

/* The pair (i, j): j reads what i wrote, and nobody else does. */
static bool is_pair(const state *s, int64_t i, const gnti_node *second)
{
    const gnti_value *between = &s->p->ir.values[second->in[0]];

    return i >= 0 && s->uses[second->in[0]].reads == 1 && !between->keep &&
           between->storage == GNTI_IN_WORKSPACE;
}

static void swap_to_product_first(gnti_ir *ir, int64_t i, int64_t j)
{
    const gnti_node aggregate = ir->nodes[i], product = ir->nodes[j];
    const gnti_value x = ir->values[aggregate.in[0]], w = ir->values[product.in[1]];
    const int32_t y = gnti_ir_value(ir, x.space, 0, w.width, x.shared && w.shared);

    ir->nodes[i] = product;
    ir->nodes[i].in[0] = aggregate.in[0];
    ir->nodes[i].out[0] = y;
    ir->nodes[j] = aggregate;
    ir->nodes[j].in[0] = y;
    ir->nodes[j].out[0] = product.out[0];
}

static void swap_to_aggregate_first(gnti_ir *ir, int64_t i, int64_t j)
{
    const gnti_node product = ir->nodes[i], aggregate = ir->nodes[j];
    const gnti_value x = ir->values[product.in[0]];
    const int32_t sum = gnti_ir_value(ir, ir->adjs[aggregate.adj].destination, 0, x.width, x.shared);

    ir->nodes[i] = aggregate;
    ir->nodes[i].in[0] = product.in[0];
    ir->nodes[i].out[0] = sum;
    ir->nodes[j] = product;
    ir->nodes[j].in[0] = sum;
    ir->nodes[j].out[0] = aggregate.out[0];
}

/* Changes one pair; false when there is none left. */
static bool change_one(state *s)
{
    gnti_ir *ir = &s->p->ir;

    for (int64_t j = 0; j < ir->num_nodes; j++) {
        const gnti_node n = ir->nodes[j];
        const int64_t i = n.num_in > 0 ? s->uses[n.in[0]].writer : -1;
        int64_t in, out;

        if (!is_pair(s, i, &n))
            continue;
        if (n.op == GNTI_IR_MATMUL && linear(&ir->nodes[i]) &&
            ir->values[n.in[1]].storage == GNTI_IN_WEIGHTS) {
            in = ir->values[n.in[0]].width;
            out = ir->values[n.out[0]].width;
            if (!product_first(s, ir->nodes[i].in[0], in, out))
                continue;
            swap_to_product_first(ir, i, j);
        } else if (linear(&n) && ir->nodes[i].op == GNTI_IR_MATMUL) {
            in = ir->values[ir->nodes[i].in[0]].width;
            out = ir->values[n.in[0]].width;
            if (product_first(s, ir->nodes[i].in[0], in, out))
                continue;
            swap_to_aggregate_first(ir, i, j);
        } else {
            continue;
        }
        s->p->fired[GNTI_REASSOCIATE]++;
        gnti_pass_note(s->p, GNTI_REASSOCIATE, "layer %d: %s first (widths %lld to %lld)", n.layer,
                       n.op == GNTI_IR_MATMUL ? "product with the weights" : "aggregation", (long long)in,
                       (long long)out);
        return true;
    }
    return false;
}

/* Which values depend on a parameter. */
static gnt_status find_wanted(const gnti_ir *ir, bool **out)
{
    gnt_status st = GNT_OK;
    bool *wanted = NULL;
    int32_t reads[GNTI_NODE_READS];

    GNT_TRY(gnti_calloc_array(&wanted, ir->num_values + 1));
    for (int64_t v = 1; v < ir->num_values; v++)
        wanted[v] = ir->values[v].storage == GNTI_IN_WEIGHTS;
    for (int64_t i = 0; i < ir->num_nodes; i++) {
        bool any = false;

        for (int k = gnti_node_reads(&ir->nodes[i], reads) - 1; k >= 0; k--)
            any = any || wanted[reads[k]];
        for (int32_t k = 0; k < ir->nodes[i].num_out; k++)
            wanted[ir->nodes[i].out[k]] = any;
    }
    *out = wanted;
done:
    return st;
}

gnt_status gnti_plan_reassociate(gnti_program *p)
{
    gnt_status st = GNT_OK;
    state s = { .p = p };
    bool changed = true;

    while (changed) {
        gnti_free(s.uses);
        gnti_free(s.constant);
        gnti_free(s.wanted);
        s.uses = NULL;
        s.constant = s.wanted = NULL;
        GNT_TRY(gnti_ir_uses(&p->ir, &s.uses));
        GNT_TRY(gnti_ir_constant(&p->ir, &s.constant));
        GNT_TRY(find_wanted(&p->ir, &s.wanted));
        changed = change_one(&s);
        GNT_TRY(p->ir.status);
    }
done:
    gnti_free(s.wanted);
    gnti_free(s.constant);
    gnti_free(s.uses);
    return st;
}
