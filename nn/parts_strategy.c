/* SPDX-License-Identifier: Apache-2.0 */
/* How rows travel: halo exchange or broadcast of everybody's rows, and whether interior rows are computed meanwhile. Both
 * follow costs (dist/link_cost.h) once the part is known.
 *
 * The strategy must be the same on every rank, so it follows from the largest halo of all. A broadcast adds up the terms of a
 * row rank by rank, which is another rounding than that of the row at once: at bitwise halo is taken. Overlap moves no bit; the
 * ranks decide together all the same, by the rank that would gain most and the one that would pay most, for a step takes as
 * long as its slowest rank.
 */
#include "dist/link_cost.h"
#include "kernels/cost.h"
#include "nn/program_state.h"

/* Largest terms and attention need all sources of a row at once. */
bool gnti_program_only_sums(const gnti_program *p)
{
    const gnti_ir *ir = &p->ir;

    for (int64_t i = 0; i < ir->num_nodes; i++)
        if (gnti_op_get_info(ir->nodes[i].op)->gathers != 0 &&
            (ir->nodes[i].op != GNTI_IR_AGGREGATE || ir->nodes[i].aggregate == GNT_AGG_MAX))
            return false;
    return true;
}

static const char *const strategy_words[] = { "auto", "halo", "broadcast" };

gnt_status gnti_choose_strategy(gnti_program *p)
{
    gnt_status st = GNT_OK;
    gnti_program_parts *q = &p->parts;
    const gnti_strategy wanted = q->dist.strategy;
    const int32_t ranks = q->dist.comm->size;
    int64_t halo = gnti_max_i64(q->part->forward->num_halo, q->part->backward->num_halo);
    int64_t apart = !gnti_device_in_host_memory(p->dev);

    gnti_text_free(&q->note);
    q->strategy = GNTI_STRATEGY_HALO;
    GNT_TRY(gnti_parts_max(p, &halo));
    GNT_TRY(gnti_parts_max(p, &apart));
    gnti_text_printf(&q->note, "largest halo %lld of %lld rows", (long long)halo,
                     (long long)q->part->num_nodes);
    if (wanted == GNTI_STRATEGY_HALO ||
        (wanted == GNTI_STRATEGY_AUTO && !gnti_cost_prefers_broadcast(ranks, q->part->num_nodes, halo)))
        gnti_text_append(&q->note, "");
    else if (gnti_context_determinism(p->ctx) == GNTI_DET_BITWISE)
        gnti_text_append(&q->note, ", broadcast would round otherwise than bitwise allows");
    else if (apart != 0)
        gnti_text_append(&q->note, ", broadcast needs the rows of all ranks in host memory");
    else if (!gnti_program_only_sums(p))
        gnti_text_append(&q->note, ", broadcast serves sums alone, not largest terms or attention");
    else
        q->strategy = GNTI_STRATEGY_BROADCAST;
    gnti_text_printf(&q->note, ": %s (asked for %s)", strategy_words[q->strategy], strategy_words[wanted]);
    GNT_TRY(q->note.status);
done:
    return st;
}

/* ---- overlap -------------------------------------------------------------------------------------------------------- */

bool gnti_is_product(const gnti_node *n)
{
    return n->op == GNTI_IR_AGGREGATE || n->op == GNTI_IR_MAX_GRAD || n->op == GNTI_IR_ATTEND ||
           n->op == GNTI_IR_ATTEND_COLUMNS;
}

int32_t gnti_exchanges_before(const gnti_ir *ir, int64_t i)
{
    int32_t count = 0;

    while (--i >= 0 && ir->nodes[i].op == GNTI_IR_EXCHANGE)
        count += !ir->nodes[i].hoisted;
    return count;
}

static int64_t arcs_of_rows(const gnti_graph *g, const int32_t *rows, int64_t count)
{
    int64_t arcs = 0;

    for (int64_t i = 0; i < count; i++)
        arcs += g->offsets[rows[i] + 1] - g->offsets[rows[i]];
    return arcs;
}

static int64_t floats_of(const gnti_program *p, int32_t value)
{
    const gnti_value *v = &p->ir.values[value];

    return v->width * (v->shared ? 1 : p->ir.num_members);
}

/* Seconds that the exchanges before product i take. */
static double transfer_seconds(const gnti_program *p, int64_t i)
{
    const gnti_program_parts *q = &p->parts;
    const gnti_link link = gnti_cost_link(q->dist.comm);
    double seconds = 0.0;

    while (--i >= 0 && p->ir.nodes[i].op == GNTI_IR_EXCHANGE) {
        const gnti_node *n = &p->ir.nodes[i];
        const gnti_halo_plan *plan = n->transposed ? q->part->backward : q->part->forward;

        if (!n->hoisted)
            seconds += gnti_cost_halo_seconds(&link, plan->num_peers, plan->num_halo,
                                              floats_of(p, n->in[0]) * (int64_t)sizeof(float));
    }
    return seconds;
}

/* Seconds of the product's interior rows. */
static double interior_seconds(const gnti_program *p, const gnti_node *n, const gnti_cost_device *dev)
{
    const gnti_part *part = p->parts.part;
    const gnti_halo_plan *plan = n->transposed ? part->backward : part->forward;
    const gnti_graph *g = n->transposed ? part->op->transposed : part->op->forward;
    const int64_t arcs = arcs_of_rows(g, plan->interior, plan->num_interior);
    const int64_t floats = floats_of(p, n->in[0]);

    if (n->op == GNTI_IR_ATTEND || n->op == GNTI_IR_ATTEND_COLUMNS) {
        const int64_t scores = floats_of(p, n->in[1]); /* 4 a head backward */
        const bool backward = n->op == GNTI_IR_ATTEND_COLUMNS;

        return gnti_cost_attend(dev, plan->num_interior, plan->num_own, arcs, floats,
                                backward ? scores / 4 : scores, backward)
            .seconds;
    }
    return gnti_cost_spmm(dev, plan->num_interior, plan->num_own, arcs, floats, g->weights != NULL,
                          sizeof(float))
        .seconds;
}

/* Interior rows that share a block with boundary rows: a chain does not take them along. */
static int64_t loose_rows(const gnti_halo_plan *plan)
{
    int64_t loose = 0;

    for (int64_t i = 0, n; i < plan->num_interior; i += n) {
        const int64_t first = plan->interior[i] / GNTI_TREE_ROWS * GNTI_TREE_ROWS;
        const int64_t rows = gnti_min_i64(GNTI_TREE_ROWS, plan->num_own - first);

        for (n = 1; i + n < plan->num_interior && plan->interior[i + n] < first + rows; n++)
            continue;
        loose += n < rows ? n : 0;
    }
    return loose;
}

/* What a chain loses: interior rows that it does not take along are written and read once more, from the cache where they
 * fit. Ahead of a sum over rows it takes none. */
static double chain_loss(const gnti_program *p, int64_t i, const gnti_cost_device *dev)
{
    const gnti_node *n = &p->ir.nodes[i];
    const gnti_halo_plan *plan = n->transposed ? p->parts.part->backward : p->parts.part->forward;
    const bool before_sum = n->chain != 0 && i + 1 < p->ir.num_nodes && n[1].chain == n->chain &&
                            gnti_node_row_sums(&p->ir, &n[1]) != 0;
    const int64_t rows = before_sum ? plan->num_interior : loose_rows(plan);
    const double bytes = (double)rows * (double)floats_of(p, n->out[0]) * sizeof(float);

    if (n->chain == 0)
        return 0.0;
    return 2.0 * bytes / (bytes <= dev->cache_bytes ? dev->cache_bytes_rate : dev->memory_bytes);
}

/* Seconds hidden under the interior rows of product i, and what it costs to compute them apart. Ranks as threads copy rows with
 * the cores that would compute: without a link of its own, or devices that compute beside the host, nothing is hidden. A
 * virtual clock knows neither caches nor calls. */
static void weigh(const gnti_program *p, int64_t i, double *gain, double *cost)
{
    const gnti_comm *comm = p->parts.dist.comm;
    const gnti_cost_device dev = gnti_cost_device_default(p->ctx->num_threads);

    *gain = *cost = 0.0;
    if (gnti_cost_link_is_apart(comm) || !gnti_device_in_host_memory(p->dev)) {
        const double transfer = transfer_seconds(p, i), interior = interior_seconds(p, &p->ir.nodes[i], &dev);

        *gain = transfer < interior ? transfer : interior;
    }
    if (comm->virtual_seconds == NULL)
        *cost = GNTI_INTERIOR_PIECES * dev.call_seconds + chain_loss(p, i, &dev);
}

/* Marks the exchanges before products that they go under; answers how many. */
static gnt_status choose_overlap(gnti_program *p, int64_t *out_count)
{
    gnt_status st = GNT_OK;
    gnti_program_parts *q = &p->parts;
    double *weighed = NULL; /* gain and cost of each node */

    GNT_TRY(gnti_calloc_array(&q->overlaps, p->ir.num_nodes + 1));
    GNT_TRY(gnti_calloc_array(&weighed, 2 * p->ir.num_nodes + 1));
    for (int64_t i = 0; i < p->ir.num_nodes; i++)
        if (gnti_is_product(&p->ir.nodes[i]) && !p->ir.nodes[i].hoisted &&
            gnti_exchanges_before(&p->ir, i) > 0)
            weigh(p, i, &weighed[2 * i], &weighed[2 * i + 1]);
    GNT_TRY(gnti_comm_all_reduce(q->dist.comm, &(gnti_all_reduce_args){ .data = weighed,
                                                                        .count = 2 * p->ir.num_nodes,
                                                                        .dtype = GNT_F64,
                                                                        .op = GNTI_COMM_MAX }));
    for (int64_t i = 0; i < p->ir.num_nodes; i++) {
        const bool wanted = weighed[2 * i] > weighed[2 * i + 1] || q->dist.always_overlap;

        if (!gnti_is_product(&p->ir.nodes[i]) || p->ir.nodes[i].hoisted || !wanted)
            continue;
        for (int64_t k = i - 1; k >= 0 && p->ir.nodes[k].op == GNTI_IR_EXCHANGE; k--) {
            q->overlaps[k] = !p->ir.nodes[k].hoisted;
            *out_count += q->overlaps[k];
        }
    }
done:
    gnti_free(weighed);
    return st;
}

bool gnti_parts_overlap(const gnti_program *p, const gnti_node *n)
{
    return p->parts.overlaps != NULL && p->parts.overlaps[n - p->ir.nodes];
}

gnt_status gnti_bind_overlap(gnti_program *p)
{
    gnt_status st = GNT_OK;
    gnti_program_parts *q = &p->parts;
    const gnti_halo_plan *plans[2] = { q->part->forward, q->part->backward };
    const gnti_graph *graphs[2] = { q->part->op->forward, q->part->op->transposed };
    bool any[2] = { false, false };
    const bool same = plans[0] == plans[1];
    int64_t count = 0;

    if (gnti_pass_is_on(p, GNTI_OVERLAP) && q->strategy != GNTI_STRATEGY_BROADCAST)
        GNT_TRY(choose_overlap(p, &count));
    for (int64_t i = 0; i < p->ir.num_nodes && count > 0; i++)
        any[!same && p->ir.nodes[i].transposed] |= q->overlaps[i];
    for (int dir = 0; dir < 2; dir++)
        if (any[dir])
            GNT_TRY(gnti_make_split(p, graphs[dir], plans[dir], &q->split[dir]));
    p->fired[GNTI_OVERLAP] = count;
    gnti_text_free(&p->notes[GNTI_OVERLAP]);
    gnti_pass_note(p, GNTI_OVERLAP, "%lld of %lld exchanges under interior rows (%lld of %lld rows)",
                   (long long)count, (long long)(q->num_exchanges[0]), (long long)plans[0]->num_interior,
                   (long long)q->part->num_own);
    GNT_TRY(p->notes[GNTI_OVERLAP].status);
done:
    return st;
}

gnt_status gnti_bind_masked_overlap(gnti_program *p, const gnti_graph *arcs)
{
    const gnti_program_parts *q = &p->parts;
    const int dir = q->part->backward == q->part->forward ? GNTI_FORWARD : GNTI_BACKWARD;

    if (q->split[dir].boundary == NULL)
        return GNT_OK;
    return gnti_make_split(p, arcs, q->part->backward, &p->parts.masked_split);
}
