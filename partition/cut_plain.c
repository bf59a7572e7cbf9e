/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts that look at no arc: ranges of node ids, and ids in random order. Both give chunk c the places
 * [border_c, border_c+1) of an order, border_c = the sum of the shares before c times N, rounded, and at least one place each.
 */
#include "partition/partition_internal.h"

#include "base/philox.h"

#include <math.h>
#include <stdlib.h>

static bool is_even(const gnti_cut_targets *t)
{
    return t->num_shares <= 1;
}

/* First place of chunk c, when the shares before it sum to `before`. */
static int64_t border_of(int64_t num_nodes, const gnti_cut_targets *t, int32_t c, double before)
{
    /* chunk(v) = v K div N: the first v with v K >= c N */
    if (is_even(t))
        return gnti_ceil_div(c * num_nodes, t->num_chunks);
    return (int64_t)floor(before * (double)num_nodes + 0.5);
}

/* The borders (K + 1) of all chunks, each with a place at least (K <= N). */
static gnt_status make_borders(int64_t num_nodes, const gnti_cut_targets *t, int64_t **out)
{
    gnt_status st = GNT_OK;
    int64_t *border = NULL;
    double before = 0.0;

    GNT_TRY(gnti_alloc_array(&border, (int64_t)t->num_chunks + 1));
    border[0] = 0;
    for (int32_t c = 1; c < t->num_chunks; c++) {
        before += t->chunk_share[c - 1];
        border[c] = gnti_max_i64(border_of(num_nodes, t, c, before), border[c - 1] + 1);
        border[c] = gnti_min_i64(border[c], num_nodes - (t->num_chunks - c));
    }
    border[t->num_chunks] = num_nodes;
    *out = border;
done:
    return st;
}

gnt_status gnti_cut_range(int64_t num_nodes, const gnti_cut_targets *t, int32_t *chunk_of)
{
    gnt_status st = GNT_OK;
    int64_t *border = NULL;

    GNT_TRY(make_borders(num_nodes, t, &border));
    for (int32_t c = 0; c < t->num_chunks; c++)
        for (int64_t v = border[c]; v < border[c + 1]; v++)
            chunk_of[v] = c;
done:
    gnti_free(border);
    return st;
}

typedef struct drawn {
    uint64_t draw;
    int64_t node;
} drawn;

static int compare_draws(const void *a, const void *b)
{
    const drawn *x = a, *y = b;

    if (x->draw != y->draw)
        return x->draw < y->draw ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

gnt_status gnti_cut_random(int64_t num_nodes, const gnti_cut_targets *t, uint64_t seed, int32_t *chunk_of)
{
    gnt_status st = GNT_OK;
    int64_t *border = NULL;
    drawn *order = NULL;

    GNT_TRY(make_borders(num_nodes, t, &border));
    GNT_TRY(gnti_alloc_array(&order, num_nodes));
    for (int64_t v = 0; v < num_nodes; v++) {
        uint32_t w[4];

        gnti_draw_quad(gnti_seed_key(seed), GNTI_DRAW_PERMUTE, 0, 0, v, 0, w);
        order[v] = (drawn){ (uint64_t)w[0] << 32 | w[1], v };
    }
    qsort(order, (size_t)num_nodes, sizeof *order, compare_draws);
    for (int32_t c = 0; c < t->num_chunks; c++)
        for (int64_t i = border[c]; i < border[c + 1]; i++)
            chunk_of[order[i].node] = c;
done:
    gnti_free(order);
    gnti_free(border);
    return st;
}
