/* SPDX-License-Identifier: Apache-2.0 */
/* After small changes of the arcs: the old chunks, refined around the nodes that changed. Ids keep their tree, so that owners of
 * chunks stay owners; a fresh cut would move nearly every node.
 */
#include "partition/cut_nested.h"

#include "base/clock.h"

#include <string.h>

/* Touched nodes and their neighbours, in the numbers of the cut graph. */
static void mark_around(const gnti_cut_graph *g, const uint8_t *touched, uint8_t *around)
{
    memset(around, 0, (size_t)g->num_nodes);
    for (int32_t v = 0; v < g->num_nodes; v++) {
        if (!touched[g->node[v]])
            continue;
        around[v] = 1;
        for (int32_t a = g->offsets[v]; a < g->offsets[v + 1]; a++)
            around[g->columns[a]] = 1;
    }
}

static gnt_status refine_around(const gnti_graph *graph, const gnti_partition_config *config,
                                const gnti_cut_targets *t, const uint8_t *touched, int32_t *chunk_of,
                                gnti_cut_story *story)
{
    gnt_status st = GNT_OK;
    gnti_cut_graph *g = NULL;
    int32_t *isolated = NULL, *part = NULL, num_isolated, weight;
    uint8_t *around = NULL;

    GNT_TRY(gnti_cut_graph_clean(graph, config, t->num_chunks, &g, &isolated, &num_isolated, &weight));
    GNT_TRY(gnti_alloc_array(&part, g->num_nodes));
    GNT_TRY(gnti_alloc_array(&around, g->num_nodes));
    for (int32_t v = 0; v < g->num_nodes; v++)
        part[v] = chunk_of[g->node[v]];
    mark_around(g, touched, around);
    GNT_TRY(gnti_cut_polish(g, config, t, around, part, story));
    for (int32_t v = 0; v < g->num_nodes; v++)
        chunk_of[g->node[v]] = part[v];
done:
    gnti_free(isolated);
    gnti_free(part);
    gnti_free(around);
    gnti_cut_graph_free(&g);
    return st;
}

static gnt_status tell(const gnti_cut_story *story, const gnti_partition *old, double seconds,
                       const gnti_quality *q, gnti_partition *p)
{
    gnt_status st = GNT_OK;
    gnti_json *made = NULL;

    GNT_TRY(gnti_quality_to_json(q, &p->quality));
    GNT_TRY(gnti_json_set_object(p->quality, "made", &made));
    GNT_TRY(gnti_json_set_text(made, "update_of", old->sha256));
    GNT_TRY(gnti_json_set_int(made, "volume_before_refinement", story->level[0].volume_before));
    GNT_TRY(gnti_json_set_int(made, "volume_after_refinement", story->level[0].volume_after));
    GNT_TRY(gnti_json_set_number(made, "largest_work_over_target", story->worst_load));
    GNT_TRY(gnti_json_set_number(made, "seconds", seconds));
done:
    return st;
}

gnt_status gnti_partition_update(const gnti_graph *graph, const gnti_partition *old, const uint8_t *touched,
                                 const gnti_partition_config *config, gnti_partition **out)
{
    gnt_status st = GNT_OK;
    gnti_partition_config same = *config;
    gnti_cut_story story = { .index_bits = 0 };
    gnti_cut_targets *t = NULL;
    gnti_partition *p = NULL;
    gnti_quality *q = NULL;
    int32_t *chunk_of = NULL;
    const double begin = gnti_clock_seconds();

    GNT_CHECK(graph->num_rows == old->num_nodes, GNT_ERR_ARG, "the partition has %lld nodes, the graph %lld",
              (long long)old->num_nodes, (long long)graph->num_rows);
    same.num_chunks = old->num_chunks;
    same.shares = old->shares;
    same.num_shares = old->num_shares;
    GNT_TRY(gnti_cut_targets_make(graph->num_rows, &same, &t));
    GNT_TRY(gnti_alloc_array(&chunk_of, graph->num_rows));
    memcpy(chunk_of, old->chunk_of, (size_t)graph->num_rows * sizeof *chunk_of);
    if (t->num_chunks > 1)
        GNT_TRY(refine_around(graph, &same, t, touched, chunk_of, &story));
    GNT_TRY(gnti_quality_measure(graph, chunk_of, t->num_chunks, config->train, &q));
    GNT_TRY(gnti_partition_finish(graph->num_rows, t, chunk_of, old->method, &p));
    chunk_of = NULL;
    GNT_TRY(tell(&story, old, gnti_clock_seconds() - begin, q, p));
    *out = p;
    p = NULL;
done:
    gnti_free(chunk_of);
    gnti_quality_free(&q);
    gnti_cut_targets_free(&t);
    gnti_partition_free(&p);
    return st;
}
