/* SPDX-License-Identifier: Apache-2.0 */
/* The levels of the nested cut: every level splits all pieces, then its parts are repaired and refined for volume, nodes staying
 * inside the piece that was split, so that what a launch would send never gets worse by what comes below it. Tolerance is handed
 * out from the top: little is left unused where cuts are dearest.
 */
#include "partition/cut_pieces.h"

#include "base/clock.h"

#include <math.h>
#include <string.h>

enum { CLIMB_WORK = 4000000, MAX_SWEEPS = 8, UPDATE_SWEEPS = 3 };

/* The children become the pieces; label follows. */
static void descend(gnti_nested *n)
{
    int32_t num = 0;
    gnti_piece *old = n->pieces;

    for (int32_t i = 0; i < n->num_pieces; i++) {
        const bool inside = !gnti_nested_spans(n, &old[i]);

        old[i].first_child = num;
        for (int32_t k = 0; k < old[i].num_parts; k++)
            n->children[num++] =
                (gnti_piece){ .first = gnti_nested_chunk(n, &old[i], k),
                              .end = gnti_nested_chunk(n, &old[i], k + 1),
                              .depth = inside && old[i].num_parts > 1 ? old[i].depth + 1 : 0 };
    }
    for (int32_t i = 0; i < n->num_pieces; i++)
        for (int32_t k = n->start[i]; k < n->start[i + 1]; k++)
            n->label[n->order[k]] = old[i].first_child + (old[i].num_parts > 1 ? n->answer[k] : 0);
    n->pieces = n->children;
    n->children = old;
    n->num_pieces = num;
}

/* Repairs and refines what a level has cut, inside the groups of its parents. */
static gnt_status polish(const gnti_nested *n, const int32_t *group, const double *share, const uint8_t *only)
{
    gnt_status st = GNT_OK;
    gnti_cut_story *story = n->story;
    gnti_halo_table *t = n->table;
    gnti_balance *b = NULL;
    gnti_cut_level *level =
        &story
             ->level[story->num_levels < GNTI_CUT_MAX_LEVELS ? story->num_levels++ : GNTI_CUT_MAX_LEVELS - 1];
    const bool last = n->num_pieces == n->t->num_chunks;
    const double tolerance[GNTI_CUT_MAX_WEIGHTS] = { gnti_nested_tolerance(n, n->level, last, 0),
                                                     gnti_nested_tolerance(n, n->level, last, 1) };

    const double begin = gnti_clock_seconds();

    gnti_halo_table_load(t, n->num_pieces, n->label);
    *level = (gnti_cut_level){ .num_parts = n->num_pieces, .volume_before = t->halo, .cut_before = t->cut };
    GNT_TRY(gnti_balance_make(n->g, n->num_pieces, share, tolerance, &b));
    GNT_TRY(gnti_repair(t, b));
    GNT_TRY(gnti_refine_volume(t, b, group, only, only != NULL ? UPDATE_SWEEPS : MAX_SWEEPS));
    if (only == NULL && (int64_t)n->g->num_nodes * n->g->num_arcs <= CLIMB_WORK)
        GNT_TRY(gnti_refine_climb(t, b, group));
    level->volume_after = t->halo;
    level->cut_after = t->cut;
    story->worst_load = gnti_balance_worst(b, t, &story->over);
    story->polish_seconds += gnti_clock_seconds() - begin;
done:
    gnti_balance_free(&b);
    return st;
}

/* Only the shares' own borders are a launch's; those of the splits on the way to them may be crossed. */
static gnt_status polish_level(gnti_nested *n, int32_t num_parents, const gnti_piece *parents)
{
    gnt_status st = GNT_OK;
    int32_t *group = NULL;
    double *share = NULL;

    GNT_TRY(gnti_alloc_array(&group, n->num_pieces));
    GNT_TRY(gnti_alloc_array(&share, n->num_pieces));
    for (int32_t i = 0; i < num_parents; i++)
        for (int32_t k = 0; k < parents[i].num_parts; k++)
            group[parents[i].first_child + k] = i;
    for (int32_t i = 0; i < n->num_pieces; i++)
        share[i] = gnti_nested_share(n->t, n->pieces[i].first, n->pieces[i].end);
    GNT_TRY(polish(n, n->shares ? NULL : group, share, NULL));
    if (n->shares)
        n->story->launch_volume = n->table->halo;
done:
    gnti_free(group);
    gnti_free(share);
    return st;
}

static gnt_status cut_level(gnti_nested *n)
{
    gnt_status st = GNT_OK;
    const int32_t num_parents = n->num_pieces;
    int32_t num_requests = 0;

    gnti_nested_sort(n);
    n->shares = false;
    for (int32_t i = 0; i < n->num_pieces; i++)
        n->shares = n->shares || gnti_nested_spans(n, &n->pieces[i]);
    for (int32_t i = 0; i < n->num_pieces; i++)
        gnti_nested_plan(n, i, &num_requests);
    if (num_requests > 0)
        GNT_TRY(gnti_nested_by_metis(n, num_requests));
    if (n->story->failure[0] != '\0')
        goto done;
    for (int32_t i = 0; i < n->num_pieces; i++)
        if (n->pieces[i].num_parts > 1 && n->pieces[i].request < 0)
            GNT_TRY(gnti_nested_ourselves(n, i));
    descend(n);
    GNT_TRY(polish_level(n, num_parents, n->children));
    n->level++;
done:
    return st;
}

static gnt_status nested_make(gnti_nested *n, int32_t *label)
{
    gnt_status st = GNT_OK;
    const int64_t nodes = n->g->num_nodes, chunks = n->t->num_chunks;

    n->label = label;
    GNT_TRY(gnti_halo_table_create(n->g, n->t->num_chunks, &n->table));
    GNT_TRY(gnti_calloc_array(&n->pieces, chunks));
    GNT_TRY(gnti_calloc_array(&n->children, chunks));
    GNT_TRY(gnti_alloc_array(&n->order, nodes));
    GNT_TRY(gnti_alloc_array(&n->local, nodes));
    GNT_TRY(gnti_alloc_array(&n->answer, nodes));
    GNT_TRY(gnti_alloc_array(&n->start, chunks + 1));
done:
    return st;
}

static void nested_free(gnti_nested *n)
{
    gnti_halo_table_free(&n->table);
    gnti_free(n->pieces);
    gnti_free(n->children);
    gnti_free(n->order);
    gnti_free(n->local);
    gnti_free(n->answer);
    gnti_free(n->start);
}

static gnt_status cut_variant(const gnti_nested *like, int32_t variant, int32_t *chunk_of,
                              gnti_cut_story *story)
{
    gnt_status st = GNT_OK;
    gnti_nested n = *like;

    n.variant = variant;
    n.story = story;
    GNT_TRY(nested_make(&n, chunk_of));
    memset(chunk_of, 0, (size_t)n.g->num_nodes * sizeof *chunk_of);
    n.pieces[0] = (gnti_piece){ .first = 0, .end = n.t->num_chunks };
    n.num_pieces = 1;
    while (n.num_pieces < n.t->num_chunks && story->failure[0] == '\0')
        GNT_TRY(cut_level(&n));
done:
    nested_free(&n);
    return st;
}

static bool is_better(const gnti_cut_story *a, const gnti_cut_story *b)
{
    if (a->over != b->over)
        return b->over;
    if (a->launch_volume != b->launch_volume)
        return a->launch_volume < b->launch_volume;
    return a->level[a->num_levels - 1].volume_after < b->level[b->num_levels - 1].volume_after;
}

gnt_status gnti_cut_nested(const gnti_cut_graph *g, const gnti_partition_config *config,
                           const gnti_cut_targets *t, int32_t *chunk_of, gnti_cut_story *story)
{
    gnt_status st = GNT_OK;
    const gnti_nested like = { .g = g, .config = config, .t = t, .begin = gnti_clock_seconds() };
    const int32_t num_variants = t->num_shares > 2 && g->num_arcs <= GNTI_NESTED_SMALL_ARCS ? 3 : 1;
    gnti_cut_story other;
    int32_t *vector = NULL;

    GNT_TRY(cut_variant(&like, 0, chunk_of, story));
    if (num_variants > 1)
        GNT_TRY(gnti_alloc_array(&vector, g->num_nodes));
    for (int32_t i = 1; i < num_variants && story->failure[0] == '\0'; i++) {
        other = (gnti_cut_story){ .metis_seconds = story->metis_seconds,
                                  .polish_seconds = story->polish_seconds };
        GNT_TRY(cut_variant(&like, i, vector, &other));
        if (other.failure[0] == '\0' && is_better(&other, story)) {
            memcpy(chunk_of, vector, (size_t)g->num_nodes * sizeof *vector);
            *story = other;
        }
        story->metis_seconds = other.metis_seconds;
        story->polish_seconds = other.polish_seconds;
    }
done:
    gnti_free(vector);
    return st;
}

gnt_status gnti_cut_polish(const gnti_cut_graph *g, const gnti_partition_config *config,
                           const gnti_cut_targets *t, const uint8_t *only, int32_t *chunk_of,
                           gnti_cut_story *story)
{
    gnt_status st = GNT_OK;
    gnti_nested n = { .g = g, .config = config, .t = t, .story = story, .num_pieces = t->num_chunks };

    n.label = chunk_of;
    GNT_TRY(gnti_halo_table_create(g, t->num_chunks, &n.table));
    GNT_TRY(polish(&n, NULL, t->chunk_share, only));
done:
    gnti_halo_table_free(&n.table);
    return st;
}
