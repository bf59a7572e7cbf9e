/* SPDX-License-Identifier: Apache-2.0 */
/* What of the data a member learns from: loss weights of folds and bags, datasets without some columns or edges.
 *
 * All is a function of seeds and of ids: a node's id is its row in the dataset that was imported (datasets/origin.c), so another order of
 * storage changes nothing. Random words are Philox of a seed at (a, b, high bits, use).
 *   folds     training nodes in the order of (class, random word, id), dealt out one by one: folds differ in size by 1 at most,
 *             and in nodes of a class by 1 at most
 *   bagging   round(share * n) draws with replacement from the n training nodes by ascending id; a node counts as often as it was drawn
 *   edges     an undirected edge is dropped or kept in both directions at once, by its smaller and larger id
 */
#include "ensemble/spec.h"

#include "base/alloc.h"
#include "base/philox.h"

#include <math.h>
#include <stdlib.h>

enum { USE_FOLD = 0x464f4c44, USE_BAG = 0x42414753, USE_COLUMN = 0x434f4c53, USE_EDGE = 0x45444745 };

static void draw(uint64_t seed, uint32_t use, int64_t a, int64_t b, uint32_t out[4])
{
    const uint32_t counter[4] = { (uint32_t)a, (uint32_t)b,
                                  (uint32_t)((uint64_t)a >> 32 << 16 ^ (uint64_t)b >> 32), use };

    gnti_philox(counter, gnti_seed_key(seed), out);
}

static bool is_dropped(uint64_t seed, uint32_t use, int64_t a, int64_t b, double share)
{
    uint32_t w[4];

    draw(seed, use, a, b, w);
    return (double)w[0] < share * 4294967296.0;
}

/* ---- loss weights -------------------------------------------------------------------------------------------------- */

typedef struct ranked {
    int64_t node, id;
    int32_t class;
    uint32_t word;
} ranked;

static int by_class(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (x->class != y->class)
        return x->class < y->class ? -1 : 1;
    if (x->word != y->word)
        return x->word < y->word ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static int by_id(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

/* The training nodes with ids and classes; words of the folds' seed. */
static gnt_status list_nodes(const gnti_spec_member *m, const gnt_dataset *data, const gnti_split *split,
                             ranked **out)
{
    gnt_status st = GNT_OK;
    const int64_t *origin = NULL;
    ranked *list = NULL;

    GNT_TRY(gnti_dataset_get_origin(data, &origin));
    GNT_TRY(gnti_alloc_array(&list, split->num_nodes[GNTI_TRAIN]));
    for (int64_t i = 0; i < split->num_nodes[GNTI_TRAIN]; i++) {
        const int64_t node = split->nodes[GNTI_TRAIN][i];
        uint32_t w[4];

        list[i] = (ranked){ .node = node, .id = origin == NULL ? node : origin[node] };
        list[i].class = data->y.class_of == NULL ? 0 : data->y.class_of[node];
        draw(m->fold_seed, USE_FOLD, list[i].id, 0, w);
        list[i].word = w[0];
    }
    *out = list;
done:
    return st;
}

static void set_fold(const gnti_spec_member *m, const ranked *list, int64_t num, float *weight)
{
    for (int64_t i = 0; i < num; i++)
        if (i % m->num_folds == m->fold)
            weight[list[i].node] = 0.0f;
}

static void set_bag(const gnti_spec_member *m, const ranked *list, int64_t num, float *weight)
{
    const int64_t draws = llround(m->bagging * (double)num);

    for (int64_t i = 0; i < num; i++)
        weight[list[i].node] = 0.0f;
    for (int64_t j = 0; j < draws; j++) {
        uint32_t w[4];

        draw(m->seed, USE_BAG, j, 0, w);
        weight[list[gnti_below(w[0], (uint32_t)num)].node] += 1.0f;
    }
}

gnt_status gnti_spec_member_weights(const gnti_spec_member *member, const gnt_dataset *data, float **out)
{
    gnt_status st = GNT_OK;
    const gnti_split *split = NULL;
    ranked *list = NULL;
    float *weight = NULL;
    int64_t num;

    *out = NULL;
    if (member->num_folds == 0 && !(member->bagging > 0.0))
        return GNT_OK;
    GNT_TRY(gnti_dataset_find_split(data, member->train.split, &split));
    num = split->num_nodes[GNTI_TRAIN];
    GNT_CHECK(num <= UINT32_MAX, GNT_ERR_LIMIT, "%lld training nodes, folds and bags have up to %u",
              (long long)num, UINT32_MAX);
    GNT_TRY(list_nodes(member, data, split, &list));
    GNT_TRY(gnti_alloc_array(&weight, data->num_nodes));
    for (int64_t i = 0; i < data->num_nodes; i++)
        weight[i] = 1.0f;
    qsort(list, (size_t)num, sizeof *list, member->num_folds > 0 ? by_class : by_id);
    if (member->num_folds > 0)
        set_fold(member, list, num, weight);
    else
        set_bag(member, list, num, weight);
    *out = weight;
    weight = NULL;
done:
    gnti_free(list);
    gnti_free(weight);
    return st;
}

/* ---- what it does not see ------------------------------------------------------------------------------------------ */

static gnt_status choose_arcs(const gnti_member_view *view, const gnt_dataset *data, uint8_t **out)
{
    gnt_status st = GNT_OK;
    const gnti_graph *g = data->graph;
    const int64_t *origin = NULL;
    uint8_t *keep = NULL;

    GNT_TRY(gnti_dataset_get_origin(data, &origin));
    GNT_TRY(gnti_alloc_array(&keep, g->num_arcs));
    for (int64_t v = 0; v < g->num_rows; v++)
        for (int64_t e = g->offsets[v]; e < g->offsets[v + 1]; e++) {
            const int64_t from = origin == NULL ? v : origin[v];
            const int64_t to = origin == NULL ? g->columns[e] : origin[g->columns[e]];
            const bool swap = !data->directed && to < from;

            keep[e] = !is_dropped(view->seed, USE_EDGE, swap ? to : from, swap ? from : to, view->drop_edges);
        }
    *out = keep;
done:
    return st;
}

static gnt_status choose_columns(const gnti_member_view *view, int64_t width, uint8_t **out)
{
    gnt_status st = GNT_OK;
    uint8_t *keep = NULL;

    GNT_TRY(gnti_alloc_array(&keep, width));
    for (int64_t c = 0; c < width; c++)
        keep[c] = !is_dropped(view->seed, USE_COLUMN, c, 0, view->drop_features);
    *out = keep;
done:
    return st;
}

gnt_status gnti_spec_member_dataset(const gnti_spec_member *member, const gnt_dataset *data,
                                    gnt_dataset **out)
{
    gnt_status st = GNT_OK;
    const gnti_member_view *view = &member->view;
    uint8_t *arcs = NULL, *columns = NULL;

    *out = NULL;
    if (!(view->drop_features > 0.0) && !(view->drop_edges > 0.0))
        return GNT_OK;
    if (view->drop_edges > 0.0)
        GNT_TRY(choose_arcs(view, data, &arcs));
    if (view->drop_features > 0.0)
        GNT_TRY(choose_columns(view, data->x.width, &columns));
    GNT_TRY(gnti_dataset_thin(data, arcs, columns, out));
done:
    gnti_free(arcs);
    gnti_free(columns);
    return st;
}
