/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a graph in memory: the operator of the whole graph in global order is cut into the rows of each rank.
 *
 * The whole operator is the induced one of all nodes (or of the chosen ones) in the order of their positions, so loops,
 * symmetry, degrees and scales are found by the code of one device, and the entries of a row are in global order already.
 */
#include "partition/part.h"

#include "base/alloc.h"
#include "partition/part_build.h"

#include <string.h>

typedef struct whole_graph {
    gnti_part_layout *layout;
    int64_t *node_at;      /* (num_nodes) row of the graph at each position */
    const int64_t *origin; /* (N) or NULL */
    gnti_operator *op;
} whole_graph;

static void whole_clear(whole_graph *w)
{
    gnti_part_layout_free(&w->layout);
    gnti_free(w->node_at);
    gnti_operator_free(&w->op);
}

static gnt_status whole_make(const gnti_part_source *s, whole_graph *w)
{
    gnt_status st = GNT_OK;
    const gnti_part_nodes nodes = {
        .partition = s->partition, .nodes = s->nodes, .origin = s->origin, .num_nodes = s->num_nodes
    };

    GNT_CHECK(s->graph->num_rows == s->partition->num_nodes, GNT_ERR_ARG,
              "the partition is of %lld nodes, the graph has %lld", (long long)s->partition->num_nodes,
              (long long)s->graph->num_rows);
    w->origin = s->origin;
    GNT_TRY(gnti_part_layout_of_nodes(&nodes, s->owner, s->num_ranks, &w->layout, &w->node_at));
    GNT_TRY(gnti_operator_induced(s->graph, w->node_at, w->layout->num_nodes, &w->op));
done:
    return st;
}

/* Arcs in the rows of a rank's chunks. */
static int64_t count_own_arcs(const gnti_part_layout *l, int32_t rank, const gnti_graph *g)
{
    int64_t num = 0;

    for (int32_t c = 0; c < l->num_chunks; c++)
        if (l->owner[c] == rank)
            num += g->offsets[l->first[c + 1]] - g->offsets[l->first[c]];
    return num;
}

/* The rank's rows of g, columns as they are. */
static gnt_status own_rows(const gnti_part_layout *l, int32_t rank, const gnti_graph *g, gnti_graph **out)
{
    gnt_status st = GNT_OK;
    gnti_graph *own = NULL;
    int64_t row = 0, num = 0;

    GNT_TRY(gnti_graph_alloc(gnti_part_layout_num_own(l, rank), g->num_cols, count_own_arcs(l, rank, g),
                             g->weights != NULL, &own));
    for (int32_t c = 0; c < l->num_chunks; c++) {
        const int64_t begin = g->offsets[l->first[c]], count = g->offsets[l->first[c + 1]] - begin;

        if (l->owner[c] != rank)
            continue;
        for (int64_t p = l->first[c]; p < l->first[c + 1]; p++)
            own->offsets[++row] = num + g->offsets[p + 1] - begin;
        if (count > 0)
            memcpy(own->columns + num, g->columns + begin, (size_t)count * sizeof *own->columns);
        if (count > 0 && own->weights != NULL)
            memcpy(own->weights + num, g->weights + begin, (size_t)count * sizeof *own->weights);
        num += count;
    }
    *out = own;
done:
    return st;
}

/* Values of a rank's own rows; NULL when there are none of any rank. */
static gnt_status own_values(const gnti_part_layout *l, int32_t rank, const float *values, float **out)
{
    gnt_status st = GNT_OK;
    float *own = NULL;
    int64_t row = 0;

    if (values == NULL)
        return GNT_OK;
    GNT_TRY(gnti_alloc_array(&own, gnti_part_layout_num_own(l, rank)));
    for (int32_t c = 0; c < l->num_chunks; c++)
        for (int64_t p = l->first[c]; p < l->first[c + 1] && l->owner[c] == rank; p++)
            own[row++] = values[p];
    *out = own;
done:
    return st;
}

static int64_t id_at(const whole_graph *w, int64_t position)
{
    return w->origin != NULL ? w->origin[w->node_at[position]] : w->node_at[position];
}

/* Ids and scales of own and halo rows, from the whole graph's. */
static void fill_scales(const whole_graph *w, const gnti_halo_rows_of *halo, const gnti_halo_rows_of *halo_t,
                        gnti_part *part)
{
    gnti_operator *op = part->op;
    const float *sym = w->op->sym_scale, *mean = w->op->mean_scale;

    for (int32_t i = 0; i < part->num_own_chunks; i++) {
        const int64_t first = w->layout->first[part->own_chunks[i]];

        for (int64_t r = part->chunk_start[i]; r < part->chunk_start[i + 1]; r++) {
            const int64_t p = first + r - part->chunk_start[i];

            part->ids[r] = id_at(w, p);
            op->sym_scale[r] = op->sym_scale_t[r] = sym[p];
            op->mean_scale[r] = op->mean_scale_t[r] = mean[p];
        }
    }
    for (int64_t h = 0; h < halo->num_halo; h++) {
        part->ids[part->num_own + h] = id_at(w, halo->position[h]);
        op->sym_scale[part->num_own + h] = sym[halo->position[h]];
    }
    for (int64_t h = 0; h < halo_t->num_halo; h++) {
        op->sym_scale_t[part->num_own + h] = sym[halo_t->position[h]];
        op->mean_scale_t[part->num_own + h] = mean[halo_t->position[h]];
    }
}

static gnt_status cut_part(const whole_graph *w, int32_t rank, gnti_part **out)
{
    gnt_status st = GNT_OK;
    const gnti_operator *op = w->op;
    gnti_part_rows rows = { 0 };
    gnti_halo_rows_of halo = { 0 }, halo_t = { 0 };
    gnti_part *part = NULL;

    GNT_TRY(own_rows(w->layout, rank, op->forward, &rows.forward));
    if (!op->symmetric)
        GNT_TRY(own_rows(w->layout, rank, op->transposed, &rows.transposed));
    GNT_TRY(own_values(w->layout, rank, op->loop, &rows.loop));
    GNT_TRY(own_values(w->layout, rank, op->self, &rows.self));
    GNT_TRY(gnti_part_assemble(w->layout, rank, &rows, &halo, &halo_t, &part));
    part->num_arcs = op->forward->num_arcs;
    fill_scales(w, &halo, op->symmetric ? &halo : &halo_t, part);
    *out = part;
done:
    gnti_part_rows_clear(&rows);
    gnti_halo_rows_of_clear(&halo);
    gnti_halo_rows_of_clear(&halo_t);
    return st;
}

gnt_status gnti_parts_make(const gnti_part_source *source, gnti_part **parts)
{
    gnt_status st = GNT_OK;
    whole_graph w = { 0 };
    gnti_part **made = NULL;
    const int32_t num_ranks = source->num_ranks;

    GNT_CHECK(num_ranks >= 1, GNT_ERR_ARG, "parts for %d ranks", (int)num_ranks);
    GNT_TRY(gnti_calloc_array(&made, num_ranks));
    GNT_TRY(whole_make(source, &w));
    for (int32_t r = 0; r < num_ranks; r++)
        GNT_TRY(cut_part(&w, r, &made[r]));
    for (int32_t r = 0; r < num_ranks; r++) {
        parts[r] = made[r];
        made[r] = NULL;
    }
done:
    for (int32_t r = 0; made != NULL && r < num_ranks; r++)
        gnti_part_free(&made[r]);
    gnti_free(made);
    whole_clear(&w);
    return st;
}

gnt_status gnti_part_make(const gnti_part_source *source, int32_t rank, gnti_part **out)
{
    gnt_status st = GNT_OK;
    whole_graph w = { 0 };

    GNT_CHECK(rank >= 0 && rank < source->num_ranks, GNT_ERR_ARG, "the part of rank %d of %d ranks",
              (int)rank, (int)source->num_ranks);
    GNT_TRY(whole_make(source, &w));
    GNT_TRY(cut_part(&w, rank, out));
done:
    whole_clear(&w);
    return st;
}
