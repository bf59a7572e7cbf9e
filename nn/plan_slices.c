/* SPDX-License-Identifier: Apache-2.0 */
/* Slices: members are apart in all they compute, so a run of ops may go slice by slice of members, a whole step of the first
 * few before the next few begin. What an op writes for a slice is then still in the cache when the next op reads it, as in a
 * run of these members alone, and what nobody reads outside of the run has memory for one slice, which all slices share.
 *
 * Two parts:
 *   - before memory is laid out, runs of ops get a number. A run ends at what is done for all members at once: results that
 *     members share, exchanges and sums between ranks, the update, and ops of users, whose members need not be apart. No
 *     run begins or ends within a chain, and none is a single chain or op, which goes through its members by itself.
 *   - for the rows at hand, the members of a slice: all where the widest op fits into the cache, else as many as fit, but no
 *     fewer than lie side by side in memory.
 * Lowering then makes a run's instructions once a slice, on the views of its members and with a step block of its own, so that
 * a member draws the same random numbers and no bit changes. A device with memory of its own does all members at once.
 */
#include "nn/program_state.h"

#include <math.h>

/* Reads from memory that a smaller workspace may cost. */
#define SLACK 0.02

enum { CACHE_LINE = 16 }; /* floats */

/* ---- runs ---------------------------------------------------------------------------------------------------------- */

/* What is nothing but a part of another value, and makes no instruction. */
static bool is_view(const gnti_node *n)
{
    return n->op == GNTI_IR_SLICE || n->op == GNTI_IR_SELF;
}

static bool has_shared_output(const gnti_ir *ir, const gnti_node *n)
{
    for (int32_t k = 0; k < n->num_out; k++)
        if (n->out[k] != 0 && ir->values[n->out[k]].shared)
            return true;
    return n->num_out == 0;
}

/* Whether the node does for each member what concerns that member alone, and meets no other rank, whose slices may be others. */
static bool is_apart(const gnti_program *p, const gnti_node *n)
{
    switch (n->op) {
    case GNTI_IR_NONE:
    case GNTI_IR_CUSTOM:
    case GNTI_IR_CUSTOM_GRAD:
    case GNTI_IR_EXCHANGE:
    case GNTI_IR_SUM_RANKS:
    case GNTI_IR_UPDATE:
        return false;
    case GNTI_IR_NORM:
    case GNTI_IR_NORM_GRAD:
        if (p->parts.on && n->norm == GNT_NORM_BATCH)
            return false;
        break;
    default:
        break;
    }
    if (p->parts.on && gnti_op_get_info(n->op)->gathers != 0)
        return false;
    return is_view(n) || !has_shared_output(&p->ir, n);
}

static bool same_chain(const gnti_ir *ir, int64_t a, int64_t b)
{
    return ir->nodes[a].chain != 0 && ir->nodes[a].chain == ir->nodes[b].chain;
}

/* Chains and ops outside of chains, among nodes [first, end). */
static int64_t count_units(const gnti_ir *ir, int64_t first, int64_t end)
{
    int64_t units = 0;

    for (int64_t i = first; i < end; i++)
        if (!ir->nodes[i].hoisted && !is_view(&ir->nodes[i]) && !(i > first && same_chain(ir, i - 1, i)))
            units++;
    return units;
}

/* Whether what it runs on does all members at once: it has memory, and caches, of its own. */
static bool is_on_device(const gnti_program *p)
{
    return p->dev != NULL ? !gnti_device_in_host_memory(p->dev) : gnti_context_expects_own_memory(p->ctx);
}

void gnti_plan_slices(gnti_program *p)
{
    gnti_ir *ir = &p->ir;

    if (p->ir.num_members == 1 || is_on_device(p))
        return;

    for (int64_t i = 0, end; i < ir->num_nodes; i = end) {
        int64_t first = i, last;

        for (end = i; end < ir->num_nodes && (ir->nodes[end].hoisted || is_apart(p, &ir->nodes[end])); end++)
            continue;
        last = end;
        while (first > 0 && first < last && same_chain(ir, first - 1, first))
            first++;
        while (last > first && last < ir->num_nodes && same_chain(ir, last - 1, last))
            last--;
        if (count_units(ir, first, last) > 1) {
            p->slices.num_runs++;
            for (int64_t k = first; k < last; k++)
                ir->nodes[k].run = ir->nodes[k].hoisted ? 0 : p->slices.num_runs;
        }
        end = end > i ? end : i + 1;
    }
}

/* ---- the members of a slice ---------------------------------------------------------------------------------------- */

static bool is_of_members(const gnti_value *v)
{
    return !v->shared && v->space != 0 && v->storage != GNTI_IN_NOTHING;
}

/* Whether slices of so many members can be cut out of every value: whole blocks, or equal parts of a block. */
static bool can_cut(const gnti_program *p, int64_t members)
{
    for (int64_t i = 1; i < p->ir.num_values; i++) {
        const int64_t g = p->ir.values[i].block_members;

        if (is_of_members(&p->ir.values[i]) && members % g != 0 && g % members != 0)
            return false;
    }
    return true;
}

/* The fewest members that a slice may have: whole blocks of all but scores and statistics, narrower than a cache line. */
static int64_t fewest_members(const gnti_program *p)
{
    int64_t most = 1;

    for (int64_t i = 1; i < p->ir.num_values; i++)
        if (is_of_members(&p->ir.values[i]) && p->ir.values[i].width >= CACHE_LINE)
            most = gnti_max_i64(most, p->ir.values[i].block_members);
    return most;
}

/* Bytes of rows of a value that a slice goes over. */
static double slice_bytes(const gnti_program *p, int32_t value, int64_t members)
{
    const gnti_value *v = &p->ir.values[value];
    const double rows = (double)gnti_value_rows_kept(p, v) * (double)gnti_value_stride(v);

    if (v->space == 0)
        return 0.0;
    return sizeof(float) * rows * (v->shared ? 1.0 : (double)gnti_ceil_div(members, v->block_members));
}

/* Bytes that the runs' ops read from memory when so many members go together: of each value what is more than the cache
 * keeps, once a slice. Small slices find more of their own values in the cache, and read more often what members share. */
static double traffic_of(const gnti_program *p, int64_t members, double cache)
{
    int32_t reads[GNTI_NODE_READS];
    double bytes = 0.0;

    for (int64_t i = 0; i < p->ir.num_nodes; i++) {
        if (p->ir.nodes[i].run == 0)
            continue;
        for (int k = gnti_node_reads(&p->ir.nodes[i], reads) - 1; k >= 0; k--) {
            const double own = slice_bytes(p, gnti_ir_root(&p->ir, reads[k]), members);

            bytes += own > cache ? own - cache : 0.0;
        }
    }
    return bytes * (double)gnti_ceil_div(p->ir.num_members, members);
}

/* Bytes that the widest op reads and writes for all members. */
static double widest_node(const gnti_program *p)
{
    double widest = 0.0;

    for (int64_t i = 0; i < p->ir.num_nodes; i++) {
        const gnti_node *n = &p->ir.nodes[i];
        int32_t values[GNTI_NODE_READS + GNTI_NODE_OUTPUTS];
        int count = gnti_node_reads(n, values);
        double bytes = 0.0;

        for (int32_t k = 0; k < n->num_out; k++)
            values[count++] = n->out[k];
        for (int k = 0; k < count && n->run != 0; k++)
            if (values[k] != 0 && is_of_members(&p->ir.values[values[k]]))
                bytes += slice_bytes(p, gnti_ir_root(&p->ir, values[k]), p->ir.num_members);
        widest = bytes > widest ? bytes : widest;
    }
    return widest;
}

/* The members that read least from memory; of those that read nearly as little the fewest, which need the least memory. */
static int64_t best_members(const gnti_program *p, int64_t fewest)
{
    const double cache = gnti_cost_device_default(1).cache_bytes;
    const int64_t all = p->ir.num_members;
    double least = INFINITY;

    if (widest_node(p) <= cache)
        return all;
    for (int64_t n = fewest; n < all + fewest; n += fewest)
        if (n >= all || can_cut(p, n))
            least = fmin(least, traffic_of(p, gnti_min_i64(n, all), cache));
    for (int64_t n = fewest; n < all; n += fewest)
        if (can_cut(p, n) && traffic_of(p, n, cache) <= (1.0 + SLACK) * least)
            return n;
    return all;
}

/* Whether all who write and read the value are nodes of one run. */
static bool stays_in_run(const gnti_program *p, const gnti_uses *uses, int32_t value)
{
    const gnti_ir *ir = &p->ir;
    const int64_t writer = uses[value].writer, last = uses[value].last;

    if (!gnti_value_is_temporary(&ir->values[value]) || ir->values[value].shared || writer < 0 ||
        ir->nodes[writer].run == 0)
        return false;
    return last < 0 || ir->nodes[last].run == ir->nodes[writer].run;
}

static void tell(gnti_program *p)
{
    const double mib = widest_node(p) / 1048576.0;
    int64_t ops = 0, sliced = 0;

    gnti_text_free(&p->notes[GNTI_SLICES]);
    p->fired[GNTI_SLICES] = p->slices.members > 0 ? p->slices.num_runs : 0;
    for (int64_t i = 0; i < p->ir.num_nodes; i++) {
        ops += !p->ir.nodes[i].hoisted;
        sliced += p->ir.nodes[i].run != 0;
    }
    if (is_on_device(p))
        gnti_pass_note(p, GNTI_SLICES, "the device does all members at once");
    else if (p->slices.num_runs == 0)
        gnti_pass_note(p, GNTI_SLICES, "no two ops in a row concern each member alone");
    else if (p->slices.members == 0)
        gnti_pass_note(p, GNTI_SLICES, "all members at once, %.1f MiB in the widest op", mib);
    else
        gnti_pass_note(p, GNTI_SLICES,
                       "%lld of %lld ops, %d of %d members at a time; all would be %.1f MiB in the widest op",
                       (long long)sliced, (long long)ops, p->slices.members, p->ir.num_members, mib);
}

gnt_status gnti_slices_choose(gnti_program *p)
{
    gnt_status st = GNT_OK;
    const int64_t all = p->ir.num_members, fewest = fewest_members(p);
    int64_t members = p->config.slice_members;
    gnti_uses *uses = NULL;

    if (!gnti_pass_is_on(p, GNTI_SLICES) || all == 1)
        return GNT_OK;
    if (members == 0)
        members = best_members(p, fewest);
    members = gnti_max_i64(members / fewest, 1) * fewest;
    while (members < all && !can_cut(p, members))
        members += fewest;
    p->slices.members = members < all && p->slices.num_runs > 0 ? (int32_t)members : 0;
    p->slices.count = p->slices.members > 0 ? (int32_t)gnti_ceil_div(all, members) : 0;
    GNT_TRY(gnti_ir_uses(&p->ir, &uses));
    for (int32_t v = 1; v < p->ir.num_values; v++)
        p->ir.values[v].sliced = p->slices.members > 0 && stays_in_run(p, uses, v);
    tell(p);
    GNT_TRY(p->notes[GNTI_SLICES].status);
done:
    gnti_free(uses);
    return st;
}

void gnti_slices_span(const gnti_program *p, int64_t at, int64_t *first, int64_t *last)
{
    const gnti_node *nodes = p->ir.nodes;

    *first = *last = at;
    if (nodes[at].run == 0 || p->slices.members == 0)
        return;
    for (int64_t i = 0; i < p->ir.num_nodes; i++)
        if (nodes[i].run == nodes[at].run) {
            *first = gnti_min_i64(*first, i);
            *last = gnti_max_i64(*last, i);
        }
}

/* ---- running ------------------------------------------------------------------------------------------------------- */

void gnti_slices_free(gnti_program *p)
{
    for (int32_t i = 0; i < p->slices.num_made; i++)
        gnti_buffer_free(&p->slices.list[i].step);
    gnti_free(p->slices.list);
    p->slices.list = NULL;
    p->slices.num_made = 0;
}

gnt_status gnti_slices_make(gnti_program *p)
{
    gnt_status st = GNT_OK;
    gnti_slices *s = &p->slices;

    if (s->num_made == s->count && (s->count == 0 || s->list[0].members == s->members))
        return GNT_OK;
    gnti_slices_free(p);
    GNT_TRY(gnti_calloc_array(&s->list, s->count + 1));
    for (int32_t i = 0; i < s->count; i++) {
        gnti_slice *slice = &s->list[i];

        *slice = (gnti_slice){ .number = i + 1, .first = i * s->members };
        slice->members = (int32_t)gnti_min_i64(s->members, p->ir.num_members - slice->first);
        GNT_TRY(gnti_buffer_alloc(p->dev, gnti_step_bytes(p->num_hypers, slice->members), &slice->step));
        s->num_made++;
    }
done:
    return st;
}

void gnti_slices_send(gnti_program *p)
{
    for (int32_t i = 0; i < p->slices.num_made; i++) {
        const gnti_slice *slice = &p->slices.list[i];

        gnti_step_cut(p->step_host, slice->first, slice->members, gnt_buffer_host(slice->step));
    }
}

gnt_mat_view gnti_slice_view(const gnti_slice *slice, gnt_mat_view v, bool one_slice)
{
    if (slice == NULL || v.members == 1)
        return v;
    if (!one_slice)
        v.offset += (size_t)(slice->first / v.block_members * v.block_stride +
                             slice->first % v.block_members * v.member_stride) *
                    sizeof(float);
    v.members = slice->members;
    v.block_members = gnti_min_i64(v.block_members, slice->members);
    return v;
}
