/* SPDX-License-Identifier: Apache-2.0 */
/* The method "metis" from end to end: clean the graph, cut it level by level, deal out isolated nodes; and what happens when
 * METIS' program crashes, is killed, takes too long or is not there: the streaming partitioner's answer, refined like any other,
 * with a warning that says why.
 */
#include "partition/cut_nested.h"

#include "base/clock.h"
#include "base/log.h"

#include <math.h>

/* Isolated nodes in id order fill up what the chunks lack, chunk by chunk. */
static gnt_status deal_isolated(const gnti_cut_graph *g, const gnti_cut_targets *t, const int32_t *part,
                                const int32_t *isolated, int32_t num_isolated, int32_t weight,
                                int32_t *chunk_of)
{
    gnt_status st = GNT_OK;
    double *lack = NULL, sum = 0.0, before = 0.0;
    const double total = (double)g->total[0] + (double)weight * num_isolated;
    int32_t next = 0;

    GNT_TRY(gnti_alloc_array(&lack, t->num_chunks));
    for (int32_t c = 0; c < t->num_chunks; c++)
        lack[c] = t->chunk_share[c] * total;
    for (int32_t v = 0; v < g->num_nodes; v++)
        lack[part[v]] -= g->weight[(int64_t)v * g->num_weights];
    for (int32_t c = 0; c < t->num_chunks; c++)
        sum += fmax(0.0, lack[c]);
    for (int32_t c = 0; c < t->num_chunks; c++) {
        before += fmax(0.0, lack[c]);
        while (next < num_isolated && (c == t->num_chunks - 1 || next + 0.5 < before / sum * num_isolated))
            chunk_of[isolated[next++]] = c;
    }
done:
    gnti_free(lack);
    return st;
}

/* LDG in place of METIS; isolated nodes stay where it put them. */
static gnt_status fall_back(const gnti_graph *graph, const gnti_cut_graph *g,
                            const gnti_partition_config *config, const gnti_cut_targets *t, int32_t *part,
                            int32_t *chunk_of, gnti_cut_story *story)
{
    gnt_status st = GNT_OK;
    gnti_partition_config ldg = *config;

    gnti_log(GNT_LOG_WARN, "partition", "METIS' program %s: cutting with ldg instead", story->failure);
    ldg.method = GNTI_PART_LDG;
    GNT_TRY(gnti_cut_stream(graph, &ldg, t, chunk_of));
    GNT_TRY(gnti_tree_renumber(graph, t->num_chunks, t->num_shares, t->share_chunks, chunk_of));
    for (int32_t v = 0; v < g->num_nodes; v++)
        part[v] = chunk_of[g->node[v]];
    GNT_TRY(gnti_cut_polish(g, config, t, NULL, part, story));
    for (int32_t v = 0; v < g->num_nodes; v++)
        chunk_of[g->node[v]] = part[v];
done:
    return st;
}

static gnt_status tell_levels(const gnti_cut_story *story, gnti_json *notes)
{
    gnt_status st = GNT_OK;
    gnti_json *levels = NULL, *one = NULL;

    GNT_TRY(gnti_json_set_array(notes, "levels", &levels));
    for (int32_t i = 0; i < story->num_levels; i++) {
        const gnti_cut_level *l = &story->level[i];

        GNT_TRY(gnti_json_append_object(levels, &one));
        GNT_TRY(gnti_json_set_int(one, "parts", l->num_parts));
        GNT_TRY(gnti_json_set_int(one, "cut_before", l->cut_before));
        GNT_TRY(gnti_json_set_int(one, "cut_after", l->cut_after));
        GNT_TRY(gnti_json_set_int(one, "volume_before", l->volume_before));
        GNT_TRY(gnti_json_set_int(one, "volume_after", l->volume_after));
    }
done:
    return st;
}

static gnt_status tell(const gnti_cut_story *story, const gnti_partition_config *config, double own_seconds,
                       gnti_json *notes)
{
    gnt_status st = GNT_OK;
    const gnti_cut_level *last = &story->level[story->num_levels > 0 ? story->num_levels - 1 : 0];

    if (story->num_metis > 0) {
        GNT_TRY(gnti_json_set_text(notes, "metis_version", story->version));
        GNT_TRY(gnti_json_set_int(notes, "metis_index_bits", story->index_bits));
    }
    GNT_TRY(gnti_json_set_text(notes, "objective", config->metis_volume ? "volume" : "cut"));
    GNT_TRY(gnti_json_set_int(notes, "seed", (int64_t)config->seed));
    GNT_TRY(gnti_json_set_int(notes, "pieces_by_metis", story->num_metis));
    GNT_TRY(gnti_json_set_int(notes, "pieces_by_bisection", story->num_own));
    GNT_TRY(gnti_json_set_int(notes, "cut_before_refinement", last->cut_before));
    GNT_TRY(gnti_json_set_int(notes, "volume_before_refinement", last->volume_before));
    GNT_TRY(gnti_json_set_int(notes, "volume_after_refinement", last->volume_after));
    GNT_TRY(gnti_json_set_number(notes, "largest_work_over_target", story->worst_load));
    GNT_TRY(tell_levels(story, notes));
    GNT_TRY(gnti_json_set_number(notes, "metis_seconds", story->metis_seconds));
    GNT_TRY(gnti_json_set_number(notes, "refine_seconds", story->polish_seconds));
    GNT_TRY(gnti_json_set_number(notes, "prepare_seconds", own_seconds - story->polish_seconds));
    if (story->failure[0] != '\0')
        GNT_TRY(gnti_json_set_text(notes, "fallback", story->failure));
done:
    return st;
}

static void warn(const gnti_cut_graph *g, const gnti_cut_targets *t, const gnti_cut_story *story)
{
    if (g->num_weights == 2 && g->total[1] < t->num_chunks)
        gnti_log(GNT_LOG_WARN, "partition",
                 "%lld training nodes cannot be spread over %d chunks: some will have none",
                 (long long)g->total[1], t->num_chunks);
    if (story->over)
        gnti_log(GNT_LOG_WARN, "partition",
                 "the cut is out of balance: the heaviest of %d chunks has %.2f times its share of the work",
                 t->num_chunks, story->worst_load);
}

gnt_status gnti_cut_metis(const gnti_graph *graph, const gnti_partition_config *config,
                          const gnti_cut_targets *t, int32_t *chunk_of, const char **method, gnti_json *notes)
{
    gnt_status st = GNT_OK;
    const double begin = gnti_clock_seconds();
    gnti_cut_story story = { .index_bits = 0 };
    gnti_cut_graph *g = NULL;
    int32_t *isolated = NULL, *part = NULL, num_isolated = 0, isolated_weight = 1;

    GNT_TRY(
        gnti_cut_graph_clean(graph, config, t->num_chunks, &g, &isolated, &num_isolated, &isolated_weight));
    GNT_TRY(gnti_alloc_array(&part, g->num_nodes));
    GNT_TRY(gnti_cut_nested(g, config, t, part, &story));
    if (story.failure[0] != '\0') {
        GNT_TRY(fall_back(graph, g, config, t, part, chunk_of, &story));
        *method = "ldg";
    } else {
        for (int32_t v = 0; v < g->num_nodes; v++)
            chunk_of[g->node[v]] = part[v];
        GNT_TRY(deal_isolated(g, t, part, isolated, num_isolated, isolated_weight, chunk_of));
        *method = story.num_metis > 0 ? "metis" : "bisect";
    }
    warn(g, t, &story);
    if (notes != NULL)
        GNT_TRY(tell(&story, config, gnti_clock_seconds() - begin - story.metis_seconds, notes));
done:
    gnti_free(isolated);
    gnti_free(part);
    gnti_cut_graph_free(&g);
    return st;
}
