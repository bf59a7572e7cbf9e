/* SPDX-License-Identifier: Apache-2.0 */
/* How rows travel: halo exchange or broadcast of everybody's rows, and whether interior rows are computed meanwhile. Both
 * follow costs (dist/link_cost.h) once the part is known.
 *
 * The strategy must be the same on every rank, so it follows from the largest halo of all. A broadcast adds up the terms of a
 * row rank by rank, which is another rounding than that of the row at once: at bitwise halo is taken. Overlap moves no bit, so
 * each rank decides alone.
 */
#include "dist/link_cost.h"
#include "kernels/cost.h"
#include "nn/program_state.h"

/* Largest terms and attention need all sources of a row at once. */
static bool only_sums(const gnti_ir *ir)
{
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

    gnti_text_free(&q->note);
    q->strategy = GNTI_STRATEGY_HALO;
    GNT_TRY(gnti_parts_max(p, &halo));
    gnti_text_printf(&q->note, "largest halo %lld of %lld rows", (long long)halo,
                     (long long)q->part->num_nodes);
    if (wanted == GNTI_STRATEGY_HALO ||
        (wanted == GNTI_STRATEGY_AUTO && !gnti_cost_prefers_broadcast(ranks, q->part->num_nodes, halo)))
        gnti_text_append(&q->note, "");
    else if (gnti_context_determinism(p->ctx) == GNTI_DET_BITWISE)
        gnti_text_append(&q->note, ", broadcast would round otherwise than bitwise allows");
    else if (!gnti_device_in_host_memory(p->dev))
        gnti_text_append(&q->note, ", broadcast needs rows in host memory");
    else if (!only_sums(&p->ir))
        gnti_text_append(&q->note, ", broadcast serves sums alone, not largest terms or attention");
    else
        q->strategy = GNTI_STRATEGY_BROADCAST;
    gnti_text_printf(&q->note, ": %s (asked for %s)", strategy_words[q->strategy], strategy_words[wanted]);
    GNT_TRY(q->note.status);
done:
    return st;
}

/* ---- overlap -------------------------------------------------------------------------------------------------------- */

static int64_t arcs_of_rows(const gnti_graph *g, const int32_t *rows, int64_t count)
{
    int64_t arcs = 0;

    for (int64_t i = 0; i < count; i++)
        arcs += g->offsets[rows[i] + 1] - g->offsets[rows[i]];
    return arcs;
}

/* Seconds that the exchange of so wide rows takes, and those of the interior rows meanwhile. */
static void predict(const gnti_program *p, int dir, int64_t floats, double *transfer, double *interior)
{
    const gnti_program_parts *q = &p->parts;
    const gnti_halo_plan *plan = dir == GNTI_FORWARD ? q->part->forward : q->part->backward;
    const gnti_graph *g = dir == GNTI_FORWARD ? q->part->op->forward : q->part->op->transposed;
    const gnti_cost_device dev = gnti_cost_device_default(p->ctx->num_threads);
    const gnti_link link = gnti_cost_link(q->dist.comm);

    *transfer = gnti_cost_halo_seconds(&link, plan->num_peers, plan->num_halo, floats * 4);
    *interior = gnti_cost_spmm(&dev, plan->num_interior, plan->num_own, q->interior_arcs[dir], floats,
                               g->weights != NULL, sizeof(float))
                    .seconds;
}

/* What a chain loses with its product: its rows are written and read once more, from the cache where they fit. */
static double chain_loss(const gnti_program *p, const gnti_node *product, int64_t floats)
{
    const gnti_cost_device dev = gnti_cost_device_default(p->ctx->num_threads);
    const double bytes = (double)p->parts.part->num_own * (double)(floats * 4);

    if (product->chain == 0)
        return 0.0;
    return 2.0 * bytes / (bytes <= dev.cache_bytes ? dev.cache_bytes_rate : dev.memory_bytes);
}

/* Ranks as threads copy rows with the cores that would compute: without a link of its own nothing is hidden. */
static bool pays(const gnti_program *p, int dir, const gnti_node *n)
{
    const gnti_value *v = &p->ir.values[n->in[0]];
    const gnti_cost_device dev = gnti_cost_device_default(p->ctx->num_threads);
    const int64_t floats = v->width * (v->shared ? 1 : p->ir.num_members);
    const double cost = GNTI_INTERIOR_PIECES * dev.call_seconds + chain_loss(p, n + 1, floats);
    double transfer, interior;

    if (!gnti_cost_link_is_apart(p->parts.dist.comm))
        return false;
    predict(p, dir, floats, &transfer, &interior);
    return (transfer < interior ? transfer : interior) > cost;
}

bool gnti_parts_overlap(const gnti_program *p, const gnti_node *n)
{
    const gnti_program_parts *q = &p->parts;

    if (!gnti_pass_is_on(p, GNTI_OVERLAP) || n->hoisted || q->part == NULL ||
        q->strategy == GNTI_STRATEGY_BROADCAST || n + 1 >= p->ir.nodes + p->ir.num_nodes ||
        (n[1].op != GNTI_IR_AGGREGATE && n[1].op != GNTI_IR_MAX_GRAD))
        return false;
    return q->dist.always_overlap || pays(p, n->transposed ? GNTI_BACKWARD : GNTI_FORWARD, n);
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

    for (int dir = 0; dir < 2; dir++)
        q->interior_arcs[dir] = arcs_of_rows(graphs[dir], plans[dir]->interior, plans[dir]->num_interior);
    for (int64_t i = 0; i < p->ir.num_nodes; i++)
        if (p->ir.nodes[i].op == GNTI_IR_EXCHANGE && gnti_parts_overlap(p, &p->ir.nodes[i])) {
            any[!same && p->ir.nodes[i].transposed] = true;
            count++;
        }
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
