/* SPDX-License-Identifier: Apache-2.0 */
/* The part of settled rows: degrees of own rows are counted here, those of halo rows come from their owners, with the ids. A row
 * of the exchange is { id, sym_scale, mean_scale }, 16 bytes that are never rounded.
 *
 * An induced part needs no file: own rows say which of them stay and at which position, halo rows are told.
 */
#include "dist/load.h"

#include "base/alloc.h"

#include <string.h>

typedef struct node_facts {
    int64_t id;
    float sym, mean;
} node_facts;

/* rows (num_own + num_halo) of `floats` words each: halo rows are fetched. */
static gnt_status fetch(gnti_comm *comm, const gnti_halo_plan *plan, void *rows, int64_t floats)
{
    gnt_status st = GNT_OK;
    gnti_halo *h = NULL;
    const gnti_halo_rows all = {
        .data = rows, .num_blocks = 1, .block_stride = 0, .row_stride = floats, .floats = floats
    };

    GNT_TRY(gnti_halo_create(comm, plan, GNTI_WIRE_F32, floats, &h));
    GNT_TRY(gnti_halo_start(h, &all, true));
    GNT_TRY(gnti_halo_finish(h));
done:
    gnti_halo_free(&h);
    return st;
}

static gnt_status fetch_facts(gnti_comm *comm, const gnti_halo_plan *plan, const gnti_part *part,
                              node_facts **out)
{
    gnt_status st = GNT_OK;
    node_facts *facts = NULL;

    GNT_TRY(gnti_calloc_array(&facts, plan->num_own + plan->num_halo));
    for (int64_t i = 0; i < plan->num_own; i++)
        facts[i] = (node_facts){ part->ids[i], part->op->sym_scale[i], part->op->mean_scale[i] };
    GNT_TRY(fetch(comm, plan, facts, (int64_t)(sizeof *facts / sizeof(float))));
    *out = facts;
    facts = NULL;
done:
    gnti_free(facts);
    return st;
}

static gnt_status set_facts(gnti_comm *comm, gnti_part *part)
{
    gnt_status st = GNT_OK;
    gnti_operator *op = part->op;
    node_facts *ahead = NULL, *back = NULL;

    GNT_TRY(gnti_operator_fill_scales(op));
    GNT_TRY(fetch_facts(comm, part->forward, part, &ahead));
    if (part->backward != part->forward)
        GNT_TRY(fetch_facts(comm, part->backward, part, &back));
    for (int64_t i = part->num_own; i < op->num_src; i++) {
        part->ids[i] = ahead[i].id;
        op->sym_scale[i] = ahead[i].sym;
    }
    for (int64_t i = 0; i < op->num_src_t; i++) {
        op->sym_scale_t[i] = (back != NULL ? back : ahead)[i].sym;
        op->mean_scale_t[i] = (back != NULL ? back : ahead)[i].mean;
    }
done:
    gnti_free(ahead);
    gnti_free(back);
    return st;
}

gnt_status gnti_load_finish(const gnti_part_layout *layout, gnti_comm *comm, gnti_part_rows *rows,
                            const int64_t *ids, int64_t num_arcs, gnti_part **out)
{
    gnt_status st = GNT_OK;
    gnti_halo_rows_of halo = { 0 }, halo_t = { 0 };
    gnti_part *part = NULL;

    GNT_TRY(gnti_part_assemble(layout, comm->rank, rows, &halo, &halo_t, &part));
    part->num_arcs = num_arcs;
    if (part->num_own > 0)
        memcpy(part->ids, ids, (size_t)part->num_own * sizeof *ids);
    GNT_TRY(set_facts(comm, part));
    *out = part;
    part = NULL;
done:
    gnti_part_free(&part);
    gnti_halo_rows_of_clear(&halo);
    gnti_halo_rows_of_clear(&halo_t);
    return st;
}

/* ---- induced parts ------------------------------------------------------------------------------------------------------ */

/* Chunks of the induced graph: what is kept of each, summed over ranks. */
static gnt_status induced_layout(const gnti_part *part, gnti_comm *comm, const uint8_t *keep,
                                 gnti_part_layout **out)
{
    gnt_status st = GNT_OK;
    int64_t *facts = NULL; /* (2, K) nodes kept, owner + 1 */
    int32_t *owner = NULL;

    GNT_TRY(gnti_calloc_array(&facts, 2 * (int64_t)part->num_chunks));
    GNT_TRY(gnti_alloc_array(&owner, part->num_chunks));
    for (int32_t c = 0; c < part->num_own_chunks; c++) {
        facts[part->num_chunks + part->own_chunks[c]] = part->rank + 1;
        for (int64_t i = part->chunk_start[c]; i < part->chunk_start[c + 1]; i++)
            facts[part->own_chunks[c]] += keep[i] != 0;
    }
    GNT_TRY(gnti_load_sum(comm, facts, 2 * (int64_t)part->num_chunks));
    for (int32_t c = 0; c < part->num_chunks; c++)
        owner[c] = (int32_t)(facts[part->num_chunks + c] - 1);
    GNT_TRY(gnti_part_layout_create(facts, owner, part->num_chunks, part->num_ranks, out));
done:
    gnti_free(facts);
    gnti_free(owner);
    return st;
}

/* (columns of the direction) position in the induced graph, -1: not kept. */
static gnt_status induced_positions(const gnti_part *part, gnti_comm *comm, const gnti_halo_plan *plan,
                                    const gnti_part_layout *layout, const uint8_t *keep, int32_t **out)
{
    gnt_status st = GNT_OK;
    int32_t *position = NULL;

    GNT_TRY(gnti_alloc_array(&position, plan->num_own + plan->num_halo));
    for (int32_t c = 0; c < part->num_own_chunks; c++) {
        int64_t next = layout->first[part->own_chunks[c]];

        for (int64_t i = part->chunk_start[c]; i < part->chunk_start[c + 1]; i++)
            position[i] = keep[i] != 0 ? (int32_t)next++ : -1;
    }
    GNT_TRY(fetch(comm, plan, position, 1));
    *out = position;
    position = NULL;
done:
    gnti_free(position);
    return st;
}

/* Kept own rows of the out-arcs (the transpose's rows), columns positions; their order stays. */
static gnt_status keep_rows(const gnti_graph *g, const int32_t *position, int64_t num_nodes, gnti_graph **out)
{
    gnt_status st = GNT_OK;
    gnti_graph *kept = NULL;
    int64_t rows = 0, num = 0;

    for (int64_t r = 0; r < g->num_rows; r++) {
        rows += position[r] >= 0;
        for (int64_t a = g->offsets[r]; position[r] >= 0 && a < g->offsets[r + 1]; a++)
            num += position[g->columns[a]] >= 0;
    }
    GNT_TRY(gnti_graph_alloc(rows, num_nodes, num, g->weights != NULL, &kept));
    rows = num = 0;
    for (int64_t r = 0; r < g->num_rows; r++) {
        if (position[r] < 0)
            continue;
        for (int64_t a = g->offsets[r]; a < g->offsets[r + 1]; a++) {
            if (position[g->columns[a]] < 0)
                continue;
            kept->columns[num] = position[g->columns[a]];
            if (kept->weights != NULL)
                kept->weights[num] = g->weights[a];
            num++;
        }
        kept->offsets[++rows] = num;
    }
    *out = kept;
done:
    return st;
}

/* Loops and ids of the kept own rows. */
static gnt_status keep_values(const gnti_part *part, const uint8_t *keep, int64_t num, float **loop,
                              int64_t **ids)
{
    gnt_status st = GNT_OK;
    int64_t k = 0;

    GNT_TRY(gnti_alloc_array(ids, num));
    GNT_TRY(gnti_calloc_array(loop, num));
    for (int64_t i = 0; i < part->num_own; i++) {
        if (keep[i] == 0)
            continue;
        (*loop)[k] = part->op->loop != NULL ? part->op->loop[i] : 0.0f;
        (*ids)[k++] = part->ids[i];
    }
done:
    return st;
}

gnt_status gnti_load_induce(const gnti_part *part, gnti_comm *comm, const uint8_t *keep, gnti_part **out)
{
    gnt_status st = GNT_OK;
    gnti_part_layout *layout = NULL;
    gnti_graph *out_arcs = NULL;
    gnti_part_rows rows = { 0 };
    int32_t *position = NULL;
    int64_t *ids = NULL, num_arcs = 0;

    GNT_TRY(induced_layout(part, comm, keep, &layout));
    GNT_TRY(induced_positions(part, comm, part->backward, layout, keep, &position));
    GNT_TRY(keep_rows(part->op->transposed, position, layout->num_nodes, &out_arcs));
    GNT_TRY(keep_values(part, keep, out_arcs->num_rows, &rows.loop, &ids));
    GNT_TRY(gnti_load_settle(layout, comm, &out_arcs, &rows, &num_arcs));
    GNT_TRY(gnti_load_finish(layout, comm, &rows, ids, num_arcs, out));
done:
    gnti_part_rows_clear(&rows);
    gnti_graph_free(&out_arcs);
    gnti_part_layout_free(&layout);
    gnti_free(position);
    gnti_free(ids);
    return st;
}
