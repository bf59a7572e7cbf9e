/* SPDX-License-Identifier: Apache-2.0 */
/* Products along arcs by broadcast (Balin, Sancak, Catalyurek, MG-GCN, ICPP 2022): for each rank i in turn its rows go to all,
 * into one of two buffers, and every rank adds the arcs that start there. Transfer i + 1 runs under product i.
 *
 *   start 0 | finish 0, start 1, y  = beta y + A_0 B_0 | finish 1, start 2, y += A_1 B_1 | ... | last: epilogue
 * The self term belongs to the product with the own rows, which need no buffer unless members lie in several blocks. The row
 * scale is part of each product, all other parts of the epilogue come with the last.
 */
#include "nn/program_state.h"

#include <string.h>

void gnti_broadcast_free(gnti_program *p)
{
    gnti_program_parts *q = &p->parts;

    for (int dir = 1; dir >= 0; dir--) {
        for (int32_t i = 0; q->tiles[dir] != NULL && q->tiles[dir] != q->tiles[1 - dir] && i < q->num_tiles;
             i++) {
            gnti_tile *t = &q->tiles[dir][i];

            gnti_spmm_plan_free(&t->plan);
            gnti_graph_free(&t->arcs);
            gnti_buffer_free(&t->sym);
            gnti_buffer_free(&t->mean);
        }
        if (q->tiles[dir] != q->tiles[1 - dir])
            gnti_free(q->tiles[dir]);
        q->tiles[dir] = NULL;
        gnti_buffer_free(&q->stage[dir]);
    }
    q->num_tiles = 0;
}

size_t gnti_broadcast_bytes(const gnti_program *p)
{
    size_t bytes = 0;

    for (int i = 0; i < 2; i++)
        if (p->parts.stage[i] != NULL)
            bytes += ((const gnti_buffer_head *)p->parts.stage[i])->bytes;
    return bytes;
}

/* ---- tiles --------------------------------------------------------------------------------------------------------- */

/* For each source row: the rank that owns it and its number there. */
static gnt_status find_owners(gnti_program *p, int dir, int32_t **owner, int32_t **number)
{
    gnt_status st = GNT_OK;
    const gnti_halo_plan *plan = dir == GNTI_FORWARD ? p->parts.part->forward : p->parts.part->backward;
    const int64_t rows = plan->num_own + plan->num_halo;

    GNT_TRY(gnti_alloc_array(owner, rows + 1));
    GNT_TRY(gnti_alloc_array(number, rows + 1));
    for (int64_t r = 0; r < plan->num_own; r++) {
        (*owner)[r] = p->parts.part->rank;
        (*number)[r] = (int32_t)r;
    }
    for (int32_t i = 0; i < plan->num_peers; i++)
        for (int64_t h = plan->recv_ptr[i]; h < plan->recv_ptr[i + 1]; h++)
            (*owner)[plan->num_own + h] = plan->peer[i];
    GNT_TRY(gnti_parts_exchange_floats(p, dir, (float *)(void *)*number));
done:
    return st;
}

static gnt_status make_tile(gnti_program *p, const gnti_graph *g, const int32_t *owner, const int32_t *number,
                            int32_t rank, gnti_tile *t)
{
    gnt_status st = GNT_OK;
    int64_t count = 0;

    for (int64_t e = 0; e < g->num_arcs; e++)
        count += owner[g->columns[e]] == rank;
    GNT_TRY(gnti_graph_alloc(g->num_rows, t->num_rows, count, g->weights != NULL, &t->arcs));
    count = 0;
    for (int64_t r = 0; r < g->num_rows; r++) {
        t->arcs->offsets[r] = count;
        for (int64_t e = g->offsets[r]; e < g->offsets[r + 1]; e++)
            if (owner[g->columns[e]] == rank) {
                t->arcs->columns[count] = number[g->columns[e]];
                if (g->weights != NULL)
                    t->arcs->weights[count] = g->weights[e];
                count++;
            }
    }
    t->arcs->offsets[g->num_rows] = count;
    GNT_TRY(gnti_make_spmm_plan(p, t->arcs, &t->plan));
done:
    return st;
}

/* The scales of another rank's rows, from that rank. */
static gnt_status share_scale(gnti_program *p, const float *own, int32_t rank, int64_t rows, gnt_buffer **out)
{
    gnt_status st = GNT_OK;
    const size_t bytes = (size_t)rows * sizeof(float);

    GNT_TRY(gnti_buffer_alloc(p->dev, bytes > 0 ? bytes : 1, out));
    if (rank == p->parts.part->rank && bytes > 0)
        memcpy(gnt_buffer_host(*out), own, bytes);
    GNT_TRY(gnti_comm_broadcast(p->parts.dist.comm, rank, gnt_buffer_host(*out), bytes));
done:
    return st;
}

static gnt_status make_tiles(gnti_program *p, int dir, const int64_t *rows)
{
    gnt_status st = GNT_OK;
    gnti_program_parts *q = &p->parts;
    const gnti_operator *op = q->part->op;
    const gnti_graph *g = dir == GNTI_FORWARD ? op->forward : op->transposed;
    int32_t *owner = NULL, *number = NULL;

    GNT_TRY(gnti_calloc_array(&q->tiles[dir], q->num_tiles));
    GNT_TRY(find_owners(p, dir, &owner, &number));
    for (int32_t i = 0; i < q->num_tiles; i++) {
        gnti_tile *t = &q->tiles[dir][i];

        t->num_rows = rows[i];
        GNT_TRY(make_tile(p, g, owner, number, i, t));
        GNT_TRY(share_scale(p, op->sym_scale, i, rows[i], &t->sym));
        GNT_TRY(share_scale(p, op->mean_scale, i, rows[i], &t->mean));
    }
done:
    gnti_free(owner);
    gnti_free(number);
    return st;
}

/* Floats of the widest rows that travel, all members. */
static int64_t widest_row(const gnti_program *p)
{
    int64_t widest = 1;

    for (int64_t v = 1; v < p->ir.num_values; v++) {
        const gnti_value *value = &p->ir.values[v];
        const int64_t members = value->shared ? 1 : p->ir.num_members;

        if (value->halo_space != 0)
            widest =
                gnti_max_i64(widest, gnti_ceil_div(members, value->block_members) * gnti_value_stride(value));
    }
    return widest;
}

size_t gnti_broadcast_row_bytes(const gnti_program *p)
{
    return 2 * sizeof(float) * (size_t)widest_row(p);
}

gnt_status gnti_bind_broadcast(gnti_program *p)
{
    gnt_status st = GNT_OK;
    gnti_program_parts *q = &p->parts;
    int64_t *rows = NULL, most = 1;
    size_t bytes;

    if (q->strategy != GNTI_STRATEGY_BROADCAST)
        return GNT_OK;
    q->num_tiles = q->dist.comm->size;
    GNT_TRY(gnti_calloc_array(&rows, q->num_tiles));
    rows[q->part->rank] = q->part->num_own;
    GNT_TRY(gnti_parts_sum(p, rows, q->num_tiles));
    for (int32_t i = 0; i < q->num_tiles; i++)
        most = gnti_max_i64(most, rows[i]);
    GNT_TRY(make_tiles(p, GNTI_FORWARD, rows));
    if (q->part->backward == q->part->forward)
        q->tiles[GNTI_BACKWARD] = q->tiles[GNTI_FORWARD];
    else
        GNT_TRY(make_tiles(p, GNTI_BACKWARD, rows));
    GNT_TRY(gnti_mul_size((size_t)most * sizeof(float), (size_t)widest_row(p), &bytes));
    for (int i = 0; i < 2; i++)
        GNT_TRY(gnti_buffer_alloc(p->dev, bytes, &q->stage[i]));
done:
    gnti_free(rows);
    return st;
}

/* ---- lowering ------------------------------------------------------------------------------------------------------ */

/* The rows of rank i as they arrive: own ones in place unless they lie in several blocks. */
static gnt_mat_view arrived(const gnti_lowering *lo, const gnt_mat_view *own, int32_t i)
{
    const gnti_program_parts *q = &lo->p->parts;
    gnt_mat_view v = *own;

    if (i == q->part->rank)
        return v;
    v.buf = q->stage[i % 2];
    v.offset = 0;
    v.rows = q->tiles[0][i].num_rows;
    v.block_stride = v.members > v.block_members ? v.rows * v.row_stride : v.block_stride;
    return v;
}

static gnt_status add_transfer(gnti_lowering *lo, const gnti_node *n, gnti_instr_kind kind,
                               const gnt_mat_view *own, int32_t i)
{
    gnt_status st = GNT_OK;
    gnti_program_parts *q = &lo->p->parts;
    const bool mine = i == q->part->rank;
    const int64_t blocks = gnti_ceil_div(own->members, own->block_members), rows = q->tiles[0][i].num_rows;
    gnti_instr *in = NULL;

    GNT_TRY(gnti_lower_new(lo, kind, n, &in));
    in->alone = true;
    in->a.broadcast =
        (gnti_broadcast_args){ .comm = q->dist.comm,
                               .under_way = &q->under_way[i % 2],
                               .root = i,
                               .data = gnt_buffer_host(q->stage[i % 2]),
                               .num_blocks = blocks,
                               .block_bytes = (size_t)(rows * own->row_stride) * sizeof(float) };
    if (!mine)
        return GNT_OK;
    in->a.broadcast.own = gnti_lower_host(own);
    in->a.broadcast.own_stride = (size_t)own->block_stride * sizeof(float);
    if (blocks == 1) {
        in->a.broadcast.data = in->a.broadcast.own;
        in->a.broadcast.own = NULL;
    }
done:
    return st;
}

/* One product of the sequence: rank i's rows; `count` have gone before. */
static gnt_status add_product(gnti_lowering *lo, const gnti_node *n, gnti_instr *whole, int32_t i)
{
    gnt_status st = GNT_OK;
    const gnti_program_parts *q = &lo->p->parts;
    const gnti_tile *t = &q->tiles[n->transposed ? GNTI_BACKWARD : GNTI_FORWARD][i];
    const gnt_epilogue full = whole->a.spmm.epilogue;
    gnti_instr *in = NULL;

    GNT_TRY(gnti_lower_again(lo, whole, t->plan, &in));
    in->views[0] = arrived(lo, &whole->a.spmm.x, i);
    in->a.spmm.x = in->views[0];
    if (i != q->part->rank)
        in->a.spmm.self_kind = GNT_SELF_NONE;
    if (whole->a.spmm.src_scale != NULL) {
        in->views[1] = *whole->a.spmm.src_scale;
        in->views[1].buf = n->aggregate == GNT_AGG_SYM ? t->sym : t->mean;
        in->views[1].offset = 0;
        in->views[1].rows = t->num_rows;
        in->a.spmm.src_scale = &in->views[1];
    }
    if (i > 0)
        in->a.spmm.beta = 1.0f;
    if (i < q->num_tiles - 1) {
        in->a.spmm.epilogue = GNT_EPILOGUE_NONE;
        in->a.spmm.epilogue.row_scale = full.row_scale;
    }
done:
    return st;
}

gnt_status gnti_lower_broadcast(gnti_lowering *lo, const gnti_node *n, gnti_instr *in)
{
    gnt_status st = GNT_OK;
    const int32_t ranks = lo->p->parts.num_tiles;
    const gnt_mat_view own = in->a.spmm.x;

    in->alone = true;
    GNT_TRY(add_transfer(lo, n, GNTI_INSTR_BROADCAST_START, &own, 0));
    for (int32_t i = 0; i < ranks; i++) {
        GNT_TRY(add_transfer(lo, n, GNTI_INSTR_BROADCAST_FINISH, &own, i));
        if (i + 1 < ranks)
            GNT_TRY(add_transfer(lo, n, GNTI_INSTR_BROADCAST_START, &own, i + 1));
        GNT_TRY(add_product(lo, n, in, i));
    }
    in->kind = GNTI_INSTR_NOTHING; /* its views serve the products */
done:
    return st;
}

/* ---- running ------------------------------------------------------------------------------------------------------- */

gnt_status gnti_broadcast_run(const gnti_instr *in)
{
    gnt_status st = GNT_OK;
    const gnti_broadcast_args *a = &in->a.broadcast;

    if (in->kind == GNTI_INSTR_BROADCAST_FINISH)
        return gnti_comm_exchange_finish(a->under_way);
    if (in->kind != GNTI_INSTR_BROADCAST_START)
        return GNT_OK;
    for (int64_t b = 0; b < a->num_blocks && a->own != NULL; b++)
        memcpy((char *)a->data + (size_t)b * a->block_bytes, (const char *)a->own + (size_t)b * a->own_stride,
               a->block_bytes);
    GNT_TRY(gnti_comm_broadcast_start(a->comm, a->root, a->data, (size_t)a->num_blocks * a->block_bytes,
                                      a->under_way));
done:
    return st;
}
