/* SPDX-License-Identifier: Apache-2.0 */
/* Rows, renumbered, become a part: plans for both directions, row lists, the operator's arrays. */
#include "partition/part_build.h"

#include "base/alloc.h"

#include <string.h>

void gnti_part_rows_clear(gnti_part_rows *rows)
{
    gnti_graph_free(&rows->forward);
    gnti_graph_free(&rows->transposed);
    gnti_free(rows->loop);
    gnti_free(rows->self);
    memset(rows, 0, sizeof *rows);
}

static gnt_status list_chunks(const gnti_part_layout *layout, gnti_part *part)
{
    gnt_status st = GNT_OK;
    int64_t own = 0;
    int32_t n = 0;

    for (int32_t c = 0; c < layout->num_chunks; c++)
        part->num_own_chunks += layout->owner[c] == part->rank;
    GNT_TRY(gnti_alloc_array(&part->own_chunks, part->num_own_chunks));
    GNT_TRY(gnti_alloc_array(&part->chunk_start, (int64_t)part->num_own_chunks + 1));
    for (int32_t c = 0; c < layout->num_chunks; c++) {
        if (layout->owner[c] != part->rank)
            continue;
        part->own_chunks[n] = c;
        part->chunk_start[n++] = own;
        own += layout->first[c + 1] - layout->first[c];
    }
    part->chunk_start[n] = part->num_own = own;
done:
    return st;
}

/* Takes the rows; arrays of scales are made but not filled. */
static gnt_status set_operator(gnti_part_rows *rows, gnti_part *part)
{
    gnt_status st = GNT_OK;
    gnti_operator *op = NULL;

    GNT_TRY(gnti_calloc_array(&part->op, 1));
    op = part->op;
    op->symmetric = rows->transposed == NULL;
    op->owned_forward = rows->forward;
    op->owned_transposed = rows->transposed;
    op->loop = rows->loop;
    op->self = rows->self;
    *rows = (gnti_part_rows){ 0 };
    op->forward = op->owned_forward;
    op->transposed = op->symmetric ? op->forward : op->owned_transposed;
    op->num_dst = op->forward->num_rows;
    op->num_src = op->forward->num_cols;
    op->num_src_t = op->transposed->num_cols;
    GNT_TRY(gnti_alloc_array(&op->sym_scale, op->num_src));
    GNT_TRY(gnti_alloc_array(&op->mean_scale, op->num_dst));
    GNT_TRY(gnti_alloc_array(&op->sym_scale_t, op->num_src_t));
    GNT_TRY(gnti_alloc_array(&op->mean_scale_t, op->num_src_t));
    GNT_TRY(gnti_alloc_array(&part->ids, op->num_src));
    op->src_ids = part->ids;
done:
    return st;
}

/* Columns become local, halos are found; the plans follow from both directions. */
static gnt_status set_plans(const gnti_part_layout *layout, gnti_part_rows *rows, gnti_halo_rows_of *halo,
                            gnti_halo_rows_of *halo_t, gnti_part *part)
{
    gnt_status st = GNT_OK;
    const int32_t num_ranks = layout->num_ranks;

    GNT_TRY(gnti_part_renumber(layout, part->rank, rows->forward, halo));
    if (rows->transposed == NULL) {
        GNT_TRY(gnti_halo_plan_make(num_ranks, rows->forward, halo, rows->forward, halo, &part->forward));
        part->backward = part->forward;
        goto done;
    }
    GNT_TRY(gnti_part_renumber(layout, part->rank, rows->transposed, halo_t));
    GNT_TRY(gnti_halo_plan_make(num_ranks, rows->forward, halo, rows->transposed, halo_t, &part->forward));
    GNT_TRY(gnti_halo_plan_make(num_ranks, rows->transposed, halo_t, rows->forward, halo, &part->backward));
done:
    return st;
}

gnt_status gnti_part_assemble(const gnti_part_layout *layout, int32_t rank, gnti_part_rows *rows,
                              gnti_halo_rows_of *halo, gnti_halo_rows_of *halo_t, gnti_part **out)
{
    gnt_status st = GNT_OK;
    gnti_part *part = NULL;

    GNT_TRY(gnti_calloc_array(&part, 1));
    part->rank = rank;
    part->num_ranks = layout->num_ranks;
    part->num_chunks = layout->num_chunks;
    part->num_nodes = layout->num_nodes;
    GNT_TRY(list_chunks(layout, part));
    GNT_TRY(set_plans(layout, rows, halo, halo_t, part));
    GNT_TRY(set_operator(rows, part));
    *out = part;
    part = NULL;
done:
    gnti_part_rows_clear(rows);
    gnti_part_free(&part);
    return st;
}

void gnti_part_free(gnti_part **part)
{
    gnti_part *p;

    if (part == NULL || *part == NULL)
        return;
    p = *part;
    if (p->backward != p->forward)
        gnti_halo_plan_free(&p->backward);
    gnti_halo_plan_free(&p->forward);
    gnti_operator_free(&p->op);
    gnti_free(p->own_chunks);
    gnti_free(p->chunk_start);
    gnti_free(p->ids);
    gnti_free(p);
    *part = NULL;
}
