/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions of a program over parts: sums by root, exchanges, sums over ranks, and products along arcs that are computed in
 * two goes while halo rows travel.
 */
#include "nn/program_state.h"

#include <string.h>

bool gnti_lower_has_parts(const gnti_lowering *lo)
{
    return lo->p->parts.on;
}

static bool is_spread(const gnti_lowering *lo, int32_t rows_of)
{
    return lo->p->parts.on && gnti_lower_value(lo, rows_of)->space != 0;
}

/* ---- sums by root -------------------------------------------------------------------------------------------------- */

int32_t gnti_lower_num_roots(const gnti_lowering *lo, int32_t rows_of)
{
    return is_spread(lo, rows_of) ? lo->p->parts.num_roots : 1;
}

/* Own chunks [first, end): their rows, as blocks of the default tree. */
static gnti_sum_root rows_of_chunks(const gnti_program_parts *q, int64_t first, int64_t end, int32_t slot)
{
    const int64_t *start = q->part->chunk_start;
    const int64_t rows = start[end] - start[first];

    return (gnti_sum_root){ slot, start[first], rows, { rows, gnti_ceil_div(rows, GNTI_TREE_ROWS), NULL } };
}

gnti_sum_root gnti_lower_root(const gnti_lowering *lo, int32_t rows_of, int32_t root)
{
    const gnti_program_parts *q = &lo->p->parts;
    gnti_sum_root out = { .rows = gnti_lower_rows(lo, rows_of), .tree = gnti_lower_tree(lo, rows_of) };

    if (!is_spread(lo, rows_of) || q->roots == NULL)
        return out;
    out = rows_of_chunks(q, q->root_chunk[root], q->root_chunk[root + 1], root);
    out.tree.num_blocks = q->root_chunk[root + 1] - q->root_chunk[root];
    out.tree.block_start = q->block_start + q->root_chunk[root] + root;
    return out;
}

gnt_mat_view gnti_lower_sum(const gnti_lowering *lo, int32_t value, const gnti_sum_root *root)
{
    const gnti_program_parts *q = &lo->p->parts;
    const gnti_value *v = gnti_lower_value(lo, value);
    gnt_mat_view view = gnti_lower_view(lo, value);

    if (v->storage == GNTI_IN_PARTIAL)
        view.offset += (size_t)(root->slot * q->groups[v->param].count) * sizeof(float);
    return view;
}

/* Sums of the node in slot `to` take those in slot `from`. */
static gnt_status add_slots(gnti_lowering *lo, const gnti_node *n, int32_t to, int32_t from)
{
    gnt_status st = GNT_OK;
    const gnti_sum_root a = { .slot = to }, b = { .slot = from };
    gnti_instr *in = NULL;

    for (int32_t k = 0; k < n->num_out; k++) {
        if (n->out[k] == 0 || gnti_lower_value(lo, n->out[k])->storage != GNTI_IN_PARTIAL)
            continue;
        GNT_TRY(gnti_lower_new(lo, GNTI_INSTR_MAP, n, &in));
        in->a.map = (gnt_map_args){ .kind = GNT_MAP_ADD,
                                    .a = gnti_lower_sum(lo, n->out[k], &a),
                                    .b = gnti_lower_sum(lo, n->out[k], &b),
                                    .y = gnti_lower_sum(lo, n->out[k], &a),
                                    .alpha = 1.0f,
                                    .beta = 1.0f,
                                    .dropout = { .hyper = -1 } };
    }
done:
    return st;
}

static gnt_status zero_slot(gnti_lowering *lo, const gnti_node *n, const gnti_sum_root *root)
{
    gnt_status st = GNT_OK;
    gnti_instr *in = NULL;

    for (int32_t k = 0; k < n->num_out; k++) {
        if (n->out[k] == 0 || gnti_lower_value(lo, n->out[k])->storage != GNTI_IN_PARTIAL)
            continue;
        GNT_TRY(gnti_lower_new(lo, GNTI_INSTR_MAP, n, &in));
        in->a.map = (gnt_map_args){ .kind = GNT_MAP_FILL,
                                    .y = gnti_lower_sum(lo, n->out[k], root),
                                    .dropout = { .hyper = -1 } };
    }
done:
    return st;
}

/* Chunks [first, end) of a root into `slot`; depth right parts wait in extra slots. */
static gnt_status lower_chunks(gnti_lowering *lo, const gnti_node *n, gnti_sum_leaf leaf, int64_t first,
                               int64_t end, int32_t slot, int32_t depth)
{
    gnt_status st = GNT_OK;
    const gnti_program_parts *q = &lo->p->parts;
    const int32_t right = q->num_roots + depth;
    int64_t half = 1;

    if (end - first == 1) {
        const gnti_sum_root chunk = rows_of_chunks(q, first, end, slot);

        return chunk.rows > 0 ? leaf(lo, n, &chunk) : zero_slot(lo, n, &chunk);
    }
    while (2 * half < end - first)
        half *= 2;
    GNT_TRY(lower_chunks(lo, n, leaf, first, first + half, slot, depth));
    GNT_TRY(lower_chunks(lo, n, leaf, first + half, end, right, depth + 1));
    GNT_TRY(add_slots(lo, n, slot, right));
done:
    return st;
}

gnt_status gnti_lower_by_root(gnti_lowering *lo, const gnti_node *n, int32_t rows_of, bool chunks,
                              gnti_sum_leaf leaf)
{
    gnt_status st = GNT_OK;
    const gnti_program_parts *q = &lo->p->parts;
    const int32_t num = gnti_lower_num_roots(lo, rows_of);

    for (int32_t i = 0; i < num; i++) {
        const gnti_sum_root root = gnti_lower_root(lo, rows_of, i);

        if (chunks && is_spread(lo, rows_of) && q->roots != NULL)
            GNT_TRY(lower_chunks(lo, n, leaf, q->root_chunk[i], q->root_chunk[i + 1], i, 0));
        else
            GNT_TRY(leaf(lo, n, &root));
    }
done:
    return st;
}

/* ---- sums over ranks ----------------------------------------------------------------------------------------------- */

static gnt_status lower_tree_sum(gnti_lowering *lo, const gnti_node *n, const gnt_buffer *roots,
                                 gnt_buffer *out, int64_t first, int64_t count, gnt_dtype dtype)
{
    gnt_status st = GNT_OK;
    const size_t item = dtype == GNT_F64 ? sizeof(double) : sizeof(float);
    char *host = gnt_buffer_host(out);
    gnti_instr *in = NULL;

    if (count == 0)
        return GNT_OK;
    GNT_TRY(gnti_lower_new(lo, GNTI_INSTR_SUM_RANKS, n, &in));
    in->alone = true;
    in->a.ranks =
        (gnti_ranks_args){ .lo = lo,
                           .tree = lo->p->parts.tree,
                           .roots = gnt_buffer_host(roots),
                           .out = host != NULL ? host + (size_t)first * item : NULL,
                           .group = gnti_device_sums_by_group(lo->p) ? lo->p->parts.dist.group : NULL,
                           .roots_buffer = roots,
                           .out_buffer = out,
                           .out_offset = (size_t)first * item,
                           .count = count,
                           .dtype = dtype };
done:
    return st;
}

gnt_buffer *gnti_lower_norm_partial(const gnti_lowering *lo)
{
    return lo->p->parts.norm_partial;
}

gnt_buffer *gnti_lower_norm_result(const gnti_lowering *lo)
{
    return lo->p->parts.norm_sums;
}

int64_t gnti_lower_total_rows(const gnti_lowering *lo)
{
    return lo->p->parts.part->num_nodes;
}

gnt_status gnti_lower_norm_sums(gnti_lowering *lo, const gnti_node *n, int64_t count)
{
    const gnti_program_parts *q = &lo->p->parts;

    return lower_tree_sum(lo, n, q->norm_partial, q->norm_sums, 0, count, GNT_F64);
}

gnt_status gnti_lower_sum_ranks(gnti_lowering *lo, const gnti_node *n)
{
    gnt_status st = GNT_OK;
    const gnti_program_parts *q = &lo->p->parts;
    const gnti_sum_group *g = &q->groups[n->group];

    GNT_TRY(lower_tree_sum(lo, n, q->partial, q->result, g->first_result, g->count, GNT_F32));
    if (g->count > 0) {
        lo->list[lo->count - 1]->a.ranks.parts = q->sums + g->first_part;
        lo->list[lo->count - 1]->a.ranks.num_parts = g->num_parts;
    }
    if (g->last) {
        GNT_TRY(
            lower_tree_sum(lo, n, q->stats, q->stats_result, 0, 4 * (int64_t)lo->p->ir.num_members, GNT_F64));
        lo->list[lo->count - 1]->a.ranks.to_device = lo->p->stats;
    }
done:
    return st;
}

/* ---- exchanges ----------------------------------------------------------------------------------------------------- */

gnt_mat_view gnti_lower_gathered(const gnti_lowering *lo, int32_t value)
{
    const gnti_value *v = gnti_lower_value(lo, value);
    gnt_mat_view view = gnti_lower_view(lo, value);

    if (v->halo_space != 0)
        view.rows = lo->p->spaces[v->halo_space].rows;
    return view;
}

/* NULL while the value has no memory: hoisted ones that a program has done with. */
void *gnti_lower_host(const gnt_mat_view *v)
{
    return v->buf != NULL && gnt_buffer_host(v->buf) != NULL ? (char *)gnt_buffer_host(v->buf) + v->offset
                                                             : NULL;
}

static gnti_exchange_args exchange_of(const gnti_lowering *lo, const gnti_node *n, int32_t slot)
{
    const gnt_mat_view v = gnti_lower_view(lo, n->in[0]);
    const gnti_halo_rows rows = { .data = gnti_lower_host(&v),
                                  .num_blocks = gnti_ceil_div(v.members, v.block_members),
                                  .block_stride = v.block_stride,
                                  .row_stride = v.row_stride,
                                  .floats = v.width * v.block_members };
    const int dir = n->transposed ? GNTI_BACKWARD : GNTI_FORWARD;

    return (gnti_exchange_args){ .halo = lo->p->parts.halo[dir][slot],
                                 .slot = slot,
                                 .rows = rows,
                                 .device = lo->p->parts.device_halo[dir][slot],
                                 .view = gnti_lower_gathered(lo, n->in[0]),
                                 .raw = v.dtype != GNT_F32 };
}

static gnt_status add_exchange(gnti_lowering *lo, const gnti_node *n, gnti_instr_kind kind,
                               const gnti_exchange_args *a)
{
    gnt_status st = GNT_OK;
    gnti_instr *in = NULL;

    GNT_TRY(gnti_lower_new(lo, kind, n, &in));
    in->alone = true;
    in->a.exchange = *a;
done:
    return st;
}

gnt_status gnti_lower_exchange(gnti_lowering *lo, const gnti_node *n)
{
    gnt_status st = GNT_OK;
    const bool overlaps = gnti_parts_overlap(lo->p, n);
    gnti_exchange_args a;

    if (lo->p->parts.strategy == GNTI_STRATEGY_BROADCAST)
        return GNT_OK;
    if (!overlaps || lo->num_under_way == GNTI_UNDER_WAY)
        GNT_TRY(gnti_lower_end_exchanges(lo));
    a = exchange_of(lo, n, lo->num_under_way);
    GNT_TRY(add_exchange(lo, n, overlaps ? GNTI_INSTR_EXCHANGE_START : GNTI_INSTR_EXCHANGE, &a));
    if (overlaps)
        lo->under_way[lo->num_under_way++] = lo->list[lo->count - 1];
done:
    return st;
}

gnt_status gnti_lower_end_exchanges(gnti_lowering *lo)
{
    gnt_status st = GNT_OK;

    for (int32_t i = 0; i < lo->num_under_way; i++)
        GNT_TRY(add_exchange(lo, lo->under_way[i]->node, GNTI_INSTR_EXCHANGE_FINISH,
                             &lo->under_way[i]->a.exchange));
    lo->num_under_way = 0;
done:
    return st;
}

/* ---- products ------------------------------------------------------------------------------------------------------ */

gnt_status gnti_lower_again(gnti_lowering *lo, const gnti_instr *in, const gnt_spmm_plan *plan,
                            gnti_instr **out)
{
    gnt_status st = GNT_OK;
    gnti_instr *again = NULL;

    GNT_TRY(gnti_lower_new(lo, in->kind, in->node, &again));
    again->alone = true;
    again->plan = plan;
    again->a = in->a; /* its views stay in the first instruction */
    *out = again;
done:
    return st;
}

/* Interior rows, a look at the exchanges after each piece, the end of the exchanges, boundary rows. */
static gnt_status lower_split(gnti_lowering *lo, gnti_instr *in, const gnti_row_split *s)
{
    gnt_status st = GNT_OK;
    const gnti_instr *start = lo->under_way[0];
    gnti_exchange_args poll = start->a.exchange;
    gnti_instr *again = NULL;

    if (lo->num_under_way > 1)
        poll.behind = &lo->under_way[1]->a.exchange;
    in->alone = in->interior = true;
    in->plan = s->interior[0];
    for (int i = 1; i < GNTI_INTERIOR_PIECES; i++) {
        GNT_TRY(add_exchange(lo, start->node, GNTI_INSTR_EXCHANGE_POLL, &poll));
        GNT_TRY(gnti_lower_again(lo, in, s->interior[i], &again));
        again->interior = true;
    }
    GNT_TRY(gnti_lower_end_exchanges(lo));
    GNT_TRY(gnti_lower_again(lo, in, s->boundary, &again));
    again->alone = false;
    again->boundary = true;
done:
    return st;
}

gnt_status gnti_lower_product(gnti_lowering *lo, const gnti_node *n, gnti_instr *in)
{
    const gnti_program *p = lo->p;
    const int dir = n->transposed ? GNTI_BACKWARD : GNTI_FORWARD;
    const bool masked = in->plan == p->loss_rows.plan && in->plan != NULL;

    if (!p->parts.on)
        return GNT_OK;
    if (p->parts.strategy == GNTI_STRATEGY_BROADCAST)
        return gnti_lower_broadcast(lo, n, in);
    if (lo->num_under_way == 0)
        return GNT_OK;
    return lower_split(
        lo, in,
        masked ? &p->parts.masked_split
               : &p->parts.split[p->parts.part->backward == p->parts.part->forward ? GNTI_FORWARD : dir]);
}

/* ---- running ------------------------------------------------------------------------------------------------------- */

bool gnti_instr_talks(const gnti_instr *in)
{
    return in->kind >= GNTI_INSTR_EXCHANGE;
}

static gnt_status start_exchange(const gnti_exchange_args *a)
{
    return a->device != NULL ? gnti_device_halo_start(a->device, &a->view, a->raw)
                             : gnti_halo_start(a->halo, &a->rows, a->raw);
}

static gnt_status poll_exchange(const gnti_exchange_args *a)
{
    gnt_status st = GNT_OK;
    bool arrived = true;

    for (; a != NULL && arrived; a = a->behind)
        GNT_TRY(a->device != NULL ? gnti_device_halo_poll(a->device, &arrived)
                                  : gnti_halo_poll(a->halo, &arrived));
done:
    return st;
}

static gnt_status finish_exchange(const gnti_exchange_args *a)
{
    return a->device != NULL ? gnti_device_halo_finish(a->device) : gnti_halo_finish(a->halo);
}

gnt_status gnti_parts_run(const gnti_instr *in)
{
    gnt_status st = GNT_OK;

    switch (in->kind) {
    case GNTI_INSTR_EXCHANGE:
        GNT_TRY(start_exchange(&in->a.exchange));
        GNT_TRY(finish_exchange(&in->a.exchange));
        break;
    case GNTI_INSTR_EXCHANGE_START:
        return start_exchange(&in->a.exchange);
    case GNTI_INSTR_EXCHANGE_POLL:
        return poll_exchange(&in->a.exchange);
    case GNTI_INSTR_EXCHANGE_FINISH:
        return finish_exchange(&in->a.exchange);
    case GNTI_INSTR_SUM_RANKS:
        return gnti_device_sum_run(&in->a.ranks);
    default:
        return gnti_broadcast_run(in);
    }
done:
    return st;
}
