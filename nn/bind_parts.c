/* SPDX-License-Identifier: Apache-2.0 */
/* Binding a rank's part: rows of spaces, halo exchanges, the roots that it sums and the buffers of sums. Every rank binds at
 * the same time, for the ranks tell each other what they own.
 */
#include "nn/program_state.h"

#include <string.h>

static gnt_status check_part(const gnti_program *p, const gnti_part *part, const gnti_operator *const *adj)
{
    gnt_status st = GNT_OK;
    const gnti_comm *comm = p->parts.dist.comm;

    GNT_CHECK(part != NULL, GNT_ERR_ARG, "the program is one of %d ranks: binding lacks its part",
              comm->size);
    GNT_CHECK(part->num_ranks == comm->size && part->rank == comm->rank, GNT_ERR_ARG,
              "the part is that of rank %d of %d, the communicator that of rank %d of %d", part->rank,
              part->num_ranks, comm->rank, comm->size);
    for (int32_t i = 1; i < p->ir.num_adjs; i++)
        GNT_CHECK(adj[i - 1] == part->op, GNT_ERR_ARG, "operator %d of %lld is not the one of the part", i,
                  (long long)p->ir.num_adjs - 1);
    for (int64_t r = 0; p->parts.has_max && r < part->op->num_src; r++)
        GNT_CHECK(part->ids[r] <= INT32_MAX, GNT_ERR_LIMIT,
                  "largest neighbours are named by ids of 32 bits: row %lld has the id %lld", (long long)r,
                  (long long)part->ids[r]);
done:
    return st;
}

/* Rows that a program may bind without laying out memory again. A rank without rows keeps room for one, so that it shares
 * and hoists what the others do. */
static void set_rows(gnti_program *p, const gnti_part *part)
{
    const int64_t halo[2] = { part->forward->num_halo, part->backward->num_halo };

    for (int32_t s = 1; s <= p->ir.num_spaces; s++) {
        if (s == p->ir.entry_space)
            continue;
        p->spaces[s].rows = part->num_own;
        for (int dir = 0; dir < 2; dir++)
            if (s == p->parts.halo_space[dir] && p->parts.strategy == GNTI_STRATEGY_HALO)
                p->spaces[s].rows += halo[dir];
        p->spaces[s].capacity = gnti_max_i64(p->spaces[s].capacity, 1);
    }
}

static int64_t widest_exchange(const gnti_program *p)
{
    int64_t widest = 1;

    for (int64_t v = 1; v < p->ir.num_values; v++) {
        const gnti_value *value = &p->ir.values[v];
        const int64_t members = value->shared ? 1 : p->ir.num_members;

        if (value->halo_space != 0)
            widest = gnti_max_i64(widest, gnti_ceil_div(members, value->block_members) *
                                              value->block_members * value->width);
    }
    return widest;
}

/* ---- roots --------------------------------------------------------------------------------------------------------- */

static int32_t levels_of(int64_t chunks)
{
    int32_t levels = 0;

    while (((int64_t)1 << levels) < chunks)
        levels++;
    return levels;
}

/* First chunks and rows of the roots; the deepest addition of chunks. */
static gnt_status place_roots(gnti_program_parts *q)
{
    gnt_status st = GNT_OK;
    const gnti_part *part = q->part;

    q->num_roots = q->roots->num_roots;
    q->num_extra = 0;
    GNT_TRY(gnti_alloc_array(&q->root_chunk, q->num_roots + 1));
    GNT_TRY(gnti_alloc_array(&q->block_start, part->num_own_chunks + q->num_roots + 1));
    q->root_chunk[0] = 0;
    for (int32_t i = 0; i < q->num_roots; i++) {
        const int64_t n = q->roots->end[i] - q->roots->first[i], first = q->root_chunk[i];

        GNT_CHECK(first + n <= part->num_own_chunks && part->own_chunks[first] == q->roots->first[i] &&
                      part->own_chunks[first + n - 1] == q->roots->end[i] - 1,
                  GNT_ERR_INTERNAL, "root %d covers chunks %d to %d, which the part does not own", i,
                  q->roots->first[i], q->roots->end[i]);
        q->root_chunk[i + 1] = first + n;
        for (int64_t c = 0; c <= n; c++)
            q->block_start[first + i + c] = part->chunk_start[first + c] - part->chunk_start[first];
        q->num_extra = levels_of(n) > q->num_extra ? levels_of(n) : q->num_extra;
    }
done:
    return st;
}

/* In memory that device and host share, so that devices write sums there and ranks add them up; a group has no need of it. */
static gnt_status sum_buffer(gnti_program *p, int64_t rows, int64_t count, size_t item, gnt_buffer **out)
{
    gnt_status st = GNT_OK;
    void *host;
    size_t bytes;

    GNT_TRY(gnti_mul_size((size_t)gnti_max_i64(rows, 1) * item, (size_t)gnti_max_i64(count, 1), &bytes));
    if (gnti_device_sums_by_group(p))
        GNT_TRY(gnti_buffer_alloc(p->dev, bytes, out));
    else
        GNT_TRY(gnti_buffer_alloc_host(p->dev, bytes, &host, out));
done:
    return st;
}

static gnt_status make_sums(gnti_program *p)
{
    gnt_status st = GNT_OK;
    gnti_program_parts *q = &p->parts;
    const bool bitwise = gnti_context_determinism(p->ctx) == GNTI_DET_BITWISE;
    const int64_t members = p->ir.num_members;

    q->num_roots = 1;
    q->num_extra = 0;
    if (bitwise) {
        GNT_TRY(gnti_tree_roots_make(q->part->num_chunks, q->part->own_chunks, q->part->num_own_chunks,
                                     &q->roots));
        GNT_TRY(place_roots(q));
    }
    GNT_TRY(gnti_tree_sum_create(q->dist.comm, q->roots, !bitwise, &q->tree));
    GNT_TRY(sum_buffer(p, q->num_roots + q->num_extra, q->widest_group, sizeof(float), &q->partial));
    GNT_TRY(sum_buffer(p, 1, q->num_results, sizeof(float), &q->result));
    GNT_TRY(sum_buffer(p, q->num_roots, 4 * members, sizeof(double), &q->stats));
    GNT_TRY(sum_buffer(p, 1, 4 * members, sizeof(double), &q->stats_result));
    GNT_TRY(sum_buffer(p, q->num_roots, q->widest_norm, sizeof(double), &q->norm_partial));
    GNT_TRY(sum_buffer(p, 1, q->widest_norm, sizeof(double), &q->norm_sums));
done:
    return st;
}

/* ---- bind ---------------------------------------------------------------------------------------------------------- */

static void free_halos(gnti_program_parts *q)
{
    for (int i = 0; i < GNTI_UNDER_WAY; i++) {
        if (q->halo[GNTI_BACKWARD][i] != q->halo[GNTI_FORWARD][i])
            gnti_halo_free(&q->halo[GNTI_BACKWARD][i]);
        q->halo[GNTI_BACKWARD][i] = NULL;
        gnti_halo_free(&q->halo[GNTI_FORWARD][i]);
    }
}

/* As many as are under way at a time: where a product reads two values along its arcs, both. */
static gnt_status make_halos(gnti_program *p)
{
    gnt_status st = GNT_OK;
    gnti_program_parts *q = &p->parts;
    const gnti_part *part = q->part;
    const int64_t widest = q->strategy == GNTI_STRATEGY_BROADCAST ? 1 : widest_exchange(p);
    int32_t most = 1;

    for (int64_t i = 0; i < p->ir.num_nodes && gnti_pass_is_on(p, GNTI_OVERLAP); i++)
        if (gnti_is_product(&p->ir.nodes[i]) && gnti_exchanges_before(&p->ir, i) > 1)
            most = GNTI_UNDER_WAY;
    for (int32_t i = 0; i < most; i++) {
        GNT_TRY(
            gnti_halo_create(q->dist.comm, part->forward, q->dist.wire, widest, &q->halo[GNTI_FORWARD][i]));
        if (part->backward == part->forward)
            q->halo[GNTI_BACKWARD][i] = q->halo[GNTI_FORWARD][i];
        else
            GNT_TRY(gnti_halo_create(q->dist.comm, part->backward, q->dist.wire, widest,
                                     &q->halo[GNTI_BACKWARD][i]));
        GNT_TRY(gnti_bind_device_halo(p, widest, i));
    }
done:
    return st;
}

gnt_status gnti_bind_part(gnti_program *p, const gnti_part *part, const gnti_operator *const *adj)
{
    gnt_status st = GNT_OK;
    gnti_program_parts *q = &p->parts;

    gnti_parts_unbind(p);
    GNT_TRY(check_part(p, part, adj));
    q->part = part;
    GNT_TRY(gnti_choose_strategy(p));
    set_rows(p, part);
    GNT_TRY(make_halos(p));
    GNT_TRY(make_sums(p));
done:
    return st;
}

/* Arcs are drawn by the ids of their ends: those of the rows that a transpose of its own gathers come from their owners,
 * half an id at a time. */
static gnt_status exchange_ids(gnti_program *p)
{
    gnt_status st = GNT_OK;
    gnti_program_parts *q = &p->parts;
    const gnti_halo_plan *plan = q->part->backward;
    const int64_t rows = plan->num_own + plan->num_halo;
    uint32_t *half = NULL;

    GNT_TRY(gnti_alloc_array(&half, rows + 1));
    GNT_TRY(gnti_calloc_array(&q->arc_ids, rows + 1));
    for (int shift = 0; shift < 64; shift += 32) {
        for (int64_t r = 0; r < plan->num_own; r++)
            half[r] = (uint32_t)((uint64_t)q->part->ids[r] >> shift);
        GNT_TRY(gnti_parts_exchange_floats(p, GNTI_BACKWARD, (float *)(void *)half));
        for (int64_t r = 0; r < rows; r++)
            q->arc_ids[r] |= (int64_t)((uint64_t)half[r] << shift);
    }
done:
    gnti_free(half);
    return st;
}

static gnt_status bind_arc_ids(gnti_program *p)
{
    gnt_status st = GNT_OK;
    gnti_program_parts *q = &p->parts;
    const int64_t rows = q->part->backward->num_own + q->part->backward->num_halo;
    bool drawn = false;

    for (int64_t i = 0; i < p->ir.num_nodes; i++)
        drawn = drawn || (p->ir.nodes[i].op == GNTI_IR_ATTEND_COLUMNS && p->ir.nodes[i].hyper != 0);
    if (!drawn || q->part->backward == q->part->forward)
        return GNT_OK;
    GNT_TRY(exchange_ids(p));
    for (int32_t a = 1; a < p->ir.num_adjs; a++) {
        gnti_bound_operator *b = &p->operators[a];

        if (b->same_as != 0)
            b->ids_transposed = p->operators[b->same_as].ids_transposed;
        else
            GNT_TRY(gnti_device_array(p, q->arc_ids, (size_t)rows * sizeof *q->arc_ids, &b->ids_transposed));
    }
done:
    return st;
}

gnt_status gnti_bind_travel(gnti_program *p)
{
    gnt_status st = GNT_OK;

    GNT_TRY(bind_arc_ids(p));
    GNT_TRY(gnti_bind_broadcast(p));
    GNT_TRY(gnti_bind_overlap(p));
done:
    return st;
}

static void free_split(gnti_row_split *s)
{
    for (int i = 0; i < GNTI_INTERIOR_PIECES; i++)
        gnti_spmm_plan_free(&s->interior[i]);
    gnti_spmm_plan_free(&s->boundary);
}

void gnti_parts_unbind(gnti_program *p)
{
    gnti_program_parts *q = &p->parts;

    gnti_device_halo_unbind(p);
    free_halos(q);
    gnti_tree_sum_free(&q->tree);
    gnti_tree_roots_free(&q->roots);
    gnti_free(q->root_chunk);
    gnti_free(q->block_start);
    q->root_chunk = q->block_start = NULL;
    gnti_buffer_free(&q->partial);
    gnti_buffer_free(&q->result);
    gnti_buffer_free(&q->stats);
    gnti_buffer_free(&q->stats_result);
    gnti_buffer_free(&q->norm_partial);
    gnti_buffer_free(&q->norm_sums);
    gnti_broadcast_free(p);
    free_split(&q->split[GNTI_FORWARD]);
    free_split(&q->split[GNTI_BACKWARD]);
    free_split(&q->masked_split);
    gnti_free(q->overlaps);
    q->overlaps = NULL;
    gnti_free(q->arc_ids);
    q->arc_ids = NULL;
    q->part = NULL;
}

void gnti_parts_free(gnti_program *p)
{
    gnti_parts_unbind(p);
    gnti_text_free(&p->parts.note);
    gnti_free(p->parts.sums);
    gnti_free(p->parts.groups);
}

/* ---- what binding tells the other ranks ----------------------------------------------------------------------------- */

gnt_status gnti_parts_exchange_floats(gnti_program *p, int direction, float *values)
{
    gnt_status st = GNT_OK;
    gnti_halo *halo = p->parts.halo[direction][0];
    const gnti_halo_rows rows = { .data = values, .num_blocks = 1, .row_stride = 1, .floats = 1 };

    GNT_TRY(gnti_halo_start(halo, &rows, true));
    GNT_TRY(gnti_halo_finish(halo));
done:
    return st;
}

gnt_status gnti_parts_max(gnti_program *p, int64_t *value)
{
    return gnti_comm_all_reduce(
        p->parts.dist.comm,
        &(gnti_all_reduce_args){ .data = value, .count = 1, .dtype = GNT_I64, .op = GNTI_COMM_MAX });
}

gnt_status gnti_parts_sum(gnti_program *p, int64_t *values, int64_t count)
{
    return gnti_comm_all_reduce(
        p->parts.dist.comm,
        &(gnti_all_reduce_args){ .data = values, .count = count, .dtype = GNT_I64, .op = GNTI_COMM_SUM });
}

/* ---- overlap -------------------------------------------------------------------------------------------------------- */

static gnt_status list_plan(gnti_program *p, const gnti_graph *g, const int32_t *rows, int64_t count,
                            gnt_spmm_plan **out)
{
    static const int32_t none = 0;

    return gnti_spmm_plan_create(p->stream,
                                 &(gnt_spmm_plan_args){ .num_rows = g->num_rows,
                                                        .num_cols = g->num_cols,
                                                        .num_arcs = g->num_arcs,
                                                        .offsets = g->offsets,
                                                        .columns = g->columns,
                                                        .weights = g->weights,
                                                        .end_row = g->num_rows,
                                                        .rows = count > 0 ? rows : &none,
                                                        .num_listed = count,
                                                        .max_width = 64,
                                                        .choices = p->config.measured },
                                 out);
}

/* Where piece i of the interior rows begins: pieces share no block of rows, so that a chain can take whole blocks along. */
static int64_t piece_start(const gnti_halo_plan *plan, int64_t i)
{
    int64_t at = plan->num_interior * i / GNTI_INTERIOR_PIECES;

    while (at > 0 && at < plan->num_interior &&
           plan->interior[at] / GNTI_TREE_ROWS == plan->interior[at - 1] / GNTI_TREE_ROWS)
        at++;
    return at;
}

gnt_status gnti_make_split(gnti_program *p, const gnti_graph *g, const gnti_halo_plan *plan,
                           gnti_row_split *out)
{
    gnt_status st = GNT_OK;

    free_split(out);
    for (int64_t i = 0; i < GNTI_INTERIOR_PIECES; i++) {
        const int64_t first = piece_start(plan, i), end = piece_start(plan, i + 1);

        GNT_TRY(list_plan(p, g, plan->interior + first, end - first, &out->interior[i]));
    }
    GNT_TRY(list_plan(p, g, plan->boundary, plan->num_boundary, &out->boundary));
done:
    return st;
}
