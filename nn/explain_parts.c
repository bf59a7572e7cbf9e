/* SPDX-License-Identifier: Apache-2.0 */
/* What a program over parts sends, from its instructions: rows of each exchange, sums, how they travel; as numbers and as the
 * lines that explain adds.
 */
#include "nn/program_state.h"

static void add_exchange(const gnti_program *p, const gnti_instr *in, gnti_dist_counters *out)
{
    const gnti_program_parts *q = &p->parts;
    const gnti_halo_plan *plan = in->node->transposed ? q->part->backward : q->part->forward;
    const gnti_exchange_args *a = &in->a.exchange;
    const int64_t item = q->dist.wire == GNTI_WIRE_BF16 && !a->raw ? 2 : 4;
    const int64_t row = a->rows.num_blocks * a->rows.floats * item;

    out->step_exchanges++;
    out->overlapped += in->kind == GNTI_INSTR_EXCHANGE_START;
    out->step_bytes_sent += plan->send_ptr[plan->num_peers] * row;
    out->step_bytes_received += plan->num_halo * row;
}

static void add_broadcast(const gnti_program *p, const gnti_instr *in, gnti_dist_counters *out)
{
    const gnti_broadcast_args *a = &in->a.broadcast;
    const int64_t bytes = a->num_blocks * (int64_t)a->block_bytes;

    out->step_exchanges += a->root == 0;
    if (a->root == p->parts.part->rank)
        out->step_bytes_sent += bytes * (p->parts.num_tiles - 1);
    else
        out->step_bytes_received += bytes;
}

static void add_counted(const gnti_halo *halo, gnti_halo_counters *out)
{
    gnti_halo_counters c;

    gnti_halo_get_counters(halo, &c);
    out->exchanges += c.exchanges;
    out->rows_sent += c.rows_sent;
    out->bytes_sent += c.bytes_sent;
    out->bytes_received += c.bytes_received;
    out->exposed_seconds += c.exposed_seconds;
    out->transfer_seconds += c.transfer_seconds;
}

void gnti_program_get_dist(const gnti_program *p, gnti_dist_counters *out)
{
    const gnti_program_parts *q = &p->parts;

    *out = (gnti_dist_counters){ .step_exchanges = q->num_exchanges[0],
                                 .bind_exchanges = q->num_exchanges[1],
                                 .step_sums = q->num_groups,
                                 .strategy = q->strategy };
    if (!q->on || q->part == NULL)
        return;
    out->step_exchanges = out->step_sums = 0;
    for (int64_t i = p->num_hoist_instrs; i < p->lowering.count; i++) {
        const gnti_instr *in = p->lowering.list[i];

        if (in->kind == GNTI_INSTR_EXCHANGE || in->kind == GNTI_INSTR_EXCHANGE_START)
            add_exchange(p, in, out);
        else if (in->kind == GNTI_INSTR_BROADCAST_START)
            add_broadcast(p, in, out);
        out->step_sums += in->kind == GNTI_INSTR_SUM_RANKS;
    }
    for (int i = 0; i < 2 * GNTI_UNDER_WAY; i++) {
        const gnti_halo *halo = q->halo[i % 2][i / 2];

        if (halo != NULL && (i % 2 == 0 || halo != q->halo[0][i / 2]))
            add_counted(halo, &out->counted);
    }
}

void gnti_explain_parts_text(const gnti_program *p, gnti_text *t)
{
    gnti_dist_counters c;

    if (!p->parts.on)
        return;
    gnti_program_get_dist(p, &c);
    gnti_text_printf(t, "rank %d of %d: %lld exchanges a step, %lld when bound, %lld sums over ranks\n",
                     p->parts.dist.comm->rank, p->parts.dist.comm->size, (long long)c.step_exchanges,
                     (long long)c.bind_exchanges, (long long)c.step_sums);
    if (p->parts.part == NULL)
        return;
    gnti_text_printf(t, "own rows %lld, halo rows %lld forward, %lld backward\n",
                     (long long)p->parts.part->num_own, (long long)p->parts.part->forward->num_halo,
                     (long long)p->parts.part->backward->num_halo);
    gnti_text_printf(
        t, "on the wire: %lld bytes sent and %lld received a step; %lld exchanges under interior rows\n",
        (long long)c.step_bytes_sent, (long long)c.step_bytes_received, (long long)c.overlapped);
    gnti_text_printf(t, "strategy: %s\n", p->parts.note.data != NULL ? p->parts.note.data : "");
}

gnt_status gnti_explain_parts_json(const gnti_program *p, gnti_json *root)
{
    gnt_status st = GNT_OK;
    gnti_json *item = NULL;
    gnti_dist_counters c;

    if (!p->parts.on)
        return GNT_OK;
    gnti_program_get_dist(p, &c);
    GNT_TRY(gnti_json_set_object(root, "parts", &item));
    GNT_TRY(gnti_json_set_int(item, "rank", p->parts.dist.comm->rank));
    GNT_TRY(gnti_json_set_int(item, "ranks", p->parts.dist.comm->size));
    GNT_TRY(gnti_json_set_int(item, "step_exchanges", c.step_exchanges));
    GNT_TRY(gnti_json_set_int(item, "bind_exchanges", c.bind_exchanges));
    GNT_TRY(gnti_json_set_int(item, "step_sums", c.step_sums));
    GNT_TRY(gnti_json_set_int(item, "overlapped", c.overlapped));
    GNT_TRY(gnti_json_set_int(item, "step_bytes_sent", c.step_bytes_sent));
    GNT_TRY(gnti_json_set_int(item, "step_bytes_received", c.step_bytes_received));
    GNT_TRY(
        gnti_json_set_text(item, "strategy", c.strategy == GNTI_STRATEGY_BROADCAST ? "broadcast" : "halo"));
    GNT_TRY(gnti_json_set_text(item, "note", p->parts.note.data != NULL ? p->parts.note.data : ""));
done:
    return st;
}
