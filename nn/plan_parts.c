/* SPDX-License-Identifier: Apache-2.0 */
/* Parts: a program of one rank of several. Mandatory where ranks are given; nothing else in a program knows of them.
 *
 * What is read along arcs needs its halo rows: the value gets memory for them behind its own rows, and an EXCHANGE stands
 * before its first such use. Features and views, whose memory is not theirs to widen, are copied first. What comes once (the
 * aggregated features) is exchanged when bound.
 * Sums over rows become sums over own rows (GNTI_IN_PARTIAL), and a SUM_RANKS node adds what has come together until a node
 * reads one of them: for most models all gradients at once, at the end. The number of ranks changes no order of additions at
 * bitwise: roots are subtrees of the tree over chunks, whoever owns them.
 */
#include "nn/program_state.h"

typedef struct state {
    gnti_program *p;
    gnti_ir *ir;
    gnti_program_parts *parts;
    int32_t *copy[2];   /* per value and direction: its copy with halo rows */
    bool *exchanged;    /* per value */
    int64_t capacity;   /* of these arrays */
    int64_t first_open; /* first sum that no SUM_RANKS has taken */
} state;

/* The arrays for values that the pass adds. */
static gnt_status cover_values(state *s)
{
    gnt_status st = GNT_OK;
    int64_t capacity[3] = { s->capacity, s->capacity, s->capacity };
    const int64_t wanted = s->ir->num_values + 2;

    if (wanted <= s->capacity)
        return GNT_OK;
    GNT_TRY(gnti_grow_array(&s->copy[0], &capacity[0], wanted));
    GNT_TRY(gnti_grow_array(&s->copy[1], &capacity[1], wanted));
    GNT_TRY(gnti_grow_array(&s->exchanged, &capacity[2], wanted));
    for (int64_t v = s->capacity; v < capacity[0]; v++) {
        s->copy[0][v] = s->copy[1][v] = 0;
        s->exchanged[v] = false;
    }
    s->capacity = capacity[0];
done:
    return st;
}

/* ---- halo rows ----------------------------------------------------------------------------------------------------- */

static int64_t writer_of(const gnti_ir *ir, int32_t value)
{
    for (int64_t i = 0; i < ir->num_nodes; i++)
        for (int32_t k = 0; k < ir->nodes[i].num_out; k++)
            if (ir->nodes[i].out[k] == value)
                return i;
    return -1;
}

static bool can_widen(const gnti_ir *ir, int32_t value, int32_t halo_space)
{
    const gnti_value *v = &ir->values[value];

    return (v->storage == GNTI_IN_WORKSPACE || v->storage == GNTI_IN_HOISTED ||
            v->storage == GNTI_IN_HOIST_TEMP) &&
           (v->halo_space == 0 || v->halo_space == halo_space);
}

/* A copy of the value with halo rows, made just before node *at, which moves on. */
static int32_t copy_before(state *s, int64_t *at, int32_t value, int dir)
{
    gnti_ir *ir = s->ir;
    const gnti_node reader = ir->nodes[*at];
    const int32_t copy = gnti_ir_like(ir, value, ir->values[value].width);
    gnti_node *n = gnti_ir_insert(ir, (*at)++, GNTI_IR_SCALE_BY, value, 0, copy);

    if (copy == 0)
        return 0;
    n->layer = reader.layer;
    n->backward = reader.backward;
    n->hoisted = reader.hoisted;
    ir->values[copy].halo_space = s->parts->halo_space[dir];
    ir->values[copy].storage = reader.hoisted ? GNTI_IN_HOIST_TEMP : GNTI_IN_WORKSPACE;
    return copy;
}

static void insert_exchange(state *s, int64_t *at, int32_t value, int dir)
{
    gnti_ir *ir = s->ir;
    const gnti_node reader = ir->nodes[*at];
    const int64_t writer = writer_of(ir, value);
    const bool hoisted = writer >= 0 && ir->nodes[writer].hoisted;
    gnti_node *n = gnti_ir_insert(ir, (*at)++, GNTI_IR_EXCHANGE, value, 0, 0);

    n->layer = reader.layer;
    n->backward = reader.backward;
    n->hoisted = hoisted;
    n->transposed = dir == GNTI_BACKWARD;
    s->parts->num_exchanges[hoisted]++;
}

/* Input k of node *at is read along arcs. */
static gnt_status give_halo(state *s, int64_t *at, int32_t k)
{
    gnt_status st = GNT_OK;
    const int dir = s->ir->nodes[*at].transposed ? GNTI_BACKWARD : GNTI_FORWARD;
    const int32_t space = s->parts->halo_space[dir];
    int32_t value = s->ir->nodes[*at].in[k];

    GNT_TRY(cover_values(s));
    if (s->copy[dir][value] != 0) {
        value = s->copy[dir][value];
    } else if (!can_widen(s->ir, value, space)) {
        const int32_t copy = copy_before(s, at, value, dir);

        GNT_TRY(s->ir->status);
        GNT_TRY(cover_values(s));
        s->copy[dir][value] = copy;
        value = copy;
    }
    s->ir->values[value].halo_space = space;
    s->ir->nodes[*at].in[k] = value;
    if (!s->exchanged[value])
        insert_exchange(s, at, value, dir);
    s->exchanged[value] = true;
    GNT_TRY(s->ir->status);
done:
    return st;
}

/* What an output with halo rows may take the memory of gets room for them too. */
static gnt_status widen_taken(state *s)
{
    gnt_status st = GNT_OK;
    gnti_ir *ir = s->ir;
    gnti_uses *uses = NULL;

    GNT_TRY(gnti_ir_uses(ir, &uses));
    for (int64_t i = ir->num_nodes - 1; i >= 0; i--) {
        const gnti_node *n = &ir->nodes[i];
        const bool loss = n->op == GNTI_IR_LOSS;
        const int32_t out = loss ? (n->num_out > 1 ? n->out[1] : 0) : n->num_out > 0 ? n->out[0] : 0;
        const int32_t from = n->added != 0                               ? n->added
                             : n->epilogue.gate != 0                     ? n->epilogue.gate
                             : loss || gnti_op_get_info(n->op)->in_place ? n->in[0]
                                                                         : 0;

        if (out == 0 || from == 0 || ir->values[out].halo_space == 0 || ir->values[from].halo_space != 0 ||
            !gnti_value_is_temporary(&ir->values[from]) || uses[from].last != i ||
            !gnti_ir_same_shape(ir, from, out))
            continue;
        ir->values[from].halo_space = ir->values[out].halo_space;
    }
done:
    gnti_free(uses);
    return st;
}

static gnt_status plan_halo(state *s)
{
    gnt_status st = GNT_OK;
    gnti_ir *ir = s->ir;

    for (int64_t i = 0; i < ir->num_nodes; i++) {
        const uint8_t gathers = gnti_op_get_info(ir->nodes[i].op)->gathers;

        s->parts->has_max = s->parts->has_max || ir->nodes[i].op == GNTI_IR_MAX_GRAD;
        for (int32_t k = 0; k < GNTI_NODE_INPUTS; k++)
            if ((gathers >> k & 1) != 0 && k < ir->nodes[i].num_in && ir->nodes[i].in[k] != 0)
                GNT_TRY(give_halo(s, &i, k));
    }
    GNT_TRY(widen_taken(s));
done:
    return st;
}

/* ---- sums over rows ------------------------------------------------------------------------------------------------ */

/* Output k of node `at` becomes a partial sum. */
static gnt_status add_sum(state *s, int64_t at, int32_t k)
{
    gnt_status st = GNT_OK;
    gnti_ir *ir = s->ir;
    const int32_t value = ir->nodes[at].out[k];
    const int32_t partial = gnti_ir_like(ir, value, value != 0 ? ir->values[value].width : 0);

    GNT_TRY(ir->status);
    ir->values[partial].storage = GNTI_IN_PARTIAL;
    if (ir->values[value].storage == GNTI_IN_WORKSPACE)
        ir->values[value].storage = GNTI_IN_SUMS;
    ir->nodes[at].out[k] = partial;
    GNT_TRY(gnti_grow_array(&s->parts->sums, &s->parts->sums_capacity, s->parts->num_sums + 1));
    s->parts->sums[s->parts->num_sums++] = (gnti_sum_part){ .partial = partial, .value = value };
done:
    return st;
}

/* A SUM_RANKS node at *at, which moves on, for the sums that are open. */
static gnt_status close_group(state *s, int64_t *at, bool last)
{
    gnt_status st = GNT_OK;
    gnti_ir *ir = s->ir;
    gnti_program_parts *parts = s->parts;
    gnti_sum_group g = { s->first_open, parts->num_sums - s->first_open, 0, parts->num_results, last };
    gnti_node *n;

    for (int64_t i = g.first_part; i < parts->num_sums; i++) {
        gnti_sum_part *sum = &parts->sums[i];
        const gnti_value *v = &ir->values[sum->value];

        sum->group = (int32_t)parts->num_groups;
        sum->first = g.count;
        sum->count = v->rows * v->width * (v->shared ? 1 : ir->num_members);
        ir->values[sum->partial].param = sum->group;
        ir->values[sum->partial].offset = g.count;
        if (v->storage == GNTI_IN_SUMS)
            ir->values[sum->value].offset = (int64_t)sizeof(float) * (g.first_result + g.count);
        g.count += sum->count;
    }
    GNT_TRY(gnti_grow_array(&parts->groups, &parts->groups_capacity, parts->num_groups + 1));
    n = gnti_ir_insert(ir, (*at)++, GNTI_IR_SUM_RANKS, 0, 0, 0);
    n->group = (int32_t)parts->num_groups;
    n->backward = ir->training;
    parts->groups[parts->num_groups++] = g;
    parts->widest_group = gnti_max_i64(parts->widest_group, g.count);
    parts->num_results += g.count;
    s->first_open = parts->num_sums;
    GNT_TRY(ir->status);
done:
    return st;
}

static bool reads_open(const state *s, const gnti_node *n)
{
    int32_t reads[GNTI_NODE_READS];

    for (int k = gnti_node_reads(n, reads) - 1; k >= 0; k--)
        for (int64_t i = s->first_open; i < s->parts->num_sums; i++)
            if (gnti_ir_root(s->ir, reads[k]) == s->parts->sums[i].value)
                return true;
    return false;
}

static gnt_status plan_sums(state *s)
{
    gnt_status st = GNT_OK;
    gnti_ir *ir = s->ir;
    bool closed = false;

    for (int64_t i = 0; i < ir->num_nodes; i++) {
        const uint32_t sums = gnti_node_row_sums(ir, &ir->nodes[i]);

        if (ir->nodes[i].op == GNTI_IR_UPDATE)
            closed = true;
        if (ir->nodes[i].op == GNTI_IR_UPDATE || reads_open(s, &ir->nodes[i]))
            GNT_TRY(close_group(s, &i, closed));
        if (ir->nodes[i].op == GNTI_IR_NORM_GRAD || ir->nodes[i].op == GNTI_IR_NORM)
            s->parts->widest_norm = gnti_max_i64(s->parts->widest_norm,
                                                 2 * ir->num_members * ir->values[ir->nodes[i].out[0]].width);
        for (int32_t k = 0; k < ir->nodes[i].num_out; k++)
            if ((sums >> k & 1) != 0)
                GNT_TRY(add_sum(s, i, k));
    }
    if (!closed && ir->loss != 0) {
        int64_t end = ir->num_nodes;

        GNT_TRY(close_group(s, &end, true));
    }
done:
    return st;
}

static gnt_status check_spaces(const gnti_program *p)
{
    gnt_status st = GNT_OK;
    const gnti_ir *ir = &p->ir;

    for (int32_t a = 1; a < ir->num_adjs; a++)
        GNT_CHECK(ir->adjs[a].source == ir->adjs[a].destination, GNT_ERR_UNSUPPORTED,
                  "ranks share whole graphs: adjacency %d leads from row space %d to %d, a block", a,
                  ir->adjs[a].source, ir->adjs[a].destination);
    GNT_CHECK(p->config.dist->wire == GNTI_WIRE_F32 || gnti_context_determinism(p->ctx) != GNTI_DET_BITWISE,
              GNT_ERR_USAGE,
              "wire bf16 rounds what crosses ranks, which deterministic=bitwise rules out: use fp32");
done:
    return st;
}

gnt_status gnti_plan_parts(gnti_program *p)
{
    gnt_status st = GNT_OK;
    state s = { .p = p, .ir = &p->ir, .parts = &p->parts };

    if (p->config.dist == NULL)
        return GNT_OK;
    GNT_TRY(check_spaces(p));
    p->parts.on = true;
    p->parts.dist = *p->config.dist;
    for (int dir = 0; dir < 2; dir++)
        p->parts.halo_space[dir] = gnti_ir_space(&p->ir);
    GNT_TRY(plan_halo(&s));
    GNT_TRY(plan_sums(&s));
done:
    gnti_free(s.copy[0]);
    gnti_free(s.copy[1]);
    gnti_free(s.exchanged);
    return st;
}
