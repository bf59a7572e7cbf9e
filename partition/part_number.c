/* SPDX-License-Identifier: Apache-2.0 */
/* Local numbers of a part: own rows by position, then halo rows by (owner, position).
 *
 * A bitmap over all positions marks the columns that are not own; the bits before each word of it are counted, so the number
 * of a halo row is one population count away. A halo row of chunk c gets base[c] + bits before it: base puts the chunks of a
 * lower rank first, wherever their positions lie.
 */
#include "partition/part_build.h"

#include "base/alloc.h"

#include <string.h>

typedef struct numbering {
    const gnti_part_layout *layout;
    int32_t rank;
    uint64_t *words; /* (num_nodes / 64 + 1) bit p: position p is a halo row */
    int64_t *before; /* bits before each word */
    int64_t *base;   /* (num_chunks) own: local number - position; else: local number - bits before */
} numbering;

static void numbering_clear(numbering *n)
{
    gnti_free(n->words);
    gnti_free(n->before);
    gnti_free(n->base);
}

static int64_t bits_before(const numbering *n, int64_t position)
{
    const uint64_t below = n->words[position >> 6] & ((UINT64_C(1) << (position & 63)) - 1);

    return n->before[position >> 6] + __builtin_popcountll(below);
}

/* Marks what is not own; positions out of range are a mistake of the caller that read them from somewhere. */
static gnt_status mark_halo(numbering *n, const gnti_graph *rows)
{
    gnt_status st = GNT_OK;
    const gnti_part_layout *l = n->layout;
    const int64_t num_words = l->num_nodes / 64 + 1;

    GNT_TRY(gnti_calloc_array(&n->words, num_words));
    GNT_TRY(gnti_alloc_array(&n->before, num_words));
    for (int64_t a = 0; a < rows->num_arcs; a++) {
        const int32_t p = rows->columns[a];

        GNT_CHECK(p >= 0 && p < l->num_nodes, GNT_ERR_ARG, "position %d of a graph of %lld nodes", (int)p,
                  (long long)l->num_nodes);
        n->words[p >> 6] |= UINT64_C(1) << (p & 63);
    }
    for (int32_t c = 0; c < l->num_chunks; c++) {
        if (l->owner[c] != n->rank)
            continue;
        for (int64_t p = l->first[c]; p < l->first[c + 1]; p++)
            n->words[p >> 6] &= ~(UINT64_C(1) << (p & 63));
    }
    n->before[0] = 0;
    for (int64_t w = 1; w < num_words; w++)
        n->before[w] = n->before[w - 1] + __builtin_popcountll(n->words[w - 1]);
done:
    return st;
}

/* base, and the halo rows in the order of their numbers. */
static gnt_status number_halo(numbering *n, int64_t num_own, gnti_halo_rows_of *halo)
{
    gnt_status st = GNT_OK;
    const gnti_part_layout *l = n->layout;
    int64_t own = 0, num = 0;

    GNT_TRY(gnti_alloc_array(&n->base, l->num_chunks));
    GNT_TRY(gnti_alloc_array(&halo->position, bits_before(n, l->num_nodes)));
    GNT_TRY(gnti_alloc_array(&halo->rank_ptr, (int64_t)l->num_ranks + 1));
    for (int32_t q = 0; q < l->num_ranks; q++) {
        halo->rank_ptr[q] = num;
        for (int32_t c = 0; c < l->num_chunks; c++) {
            if (l->owner[c] != q)
                continue;
            if (q == n->rank) {
                n->base[c] = own - l->first[c];
                own += l->first[c + 1] - l->first[c];
                continue;
            }
            n->base[c] = num_own + num - bits_before(n, l->first[c]);
            for (int64_t p = l->first[c]; p < l->first[c + 1]; p++)
                if (n->words[p >> 6] >> (p & 63) & 1)
                    halo->position[num++] = (int32_t)p;
        }
    }
    halo->rank_ptr[l->num_ranks] = halo->num_halo = num;
done:
    return st;
}

static void renumber_columns(const numbering *n, gnti_graph *rows)
{
    const gnti_part_layout *l = n->layout;

    for (int64_t r = 0; r < rows->num_rows; r++) {
        int32_t c = 0;

        for (int64_t a = rows->offsets[r]; a < rows->offsets[r + 1]; a++) {
            const int64_t p = rows->columns[a];

            if (p < l->first[c] || p >= l->first[c + 1]) /* neighbours often share a chunk */
                c = gnti_part_layout_chunk(l, p);
            rows->columns[a] = (int32_t)(n->base[c] + (l->owner[c] == n->rank ? p : bits_before(n, p)));
        }
    }
}

gnt_status gnti_part_renumber(const gnti_part_layout *layout, int32_t rank, gnti_graph *rows,
                              gnti_halo_rows_of *halo)
{
    gnt_status st = GNT_OK;
    numbering n = { .layout = layout, .rank = rank };
    gnti_halo_rows_of made = { 0 };

    GNT_TRY(mark_halo(&n, rows));
    GNT_TRY(number_halo(&n, rows->num_rows, &made));
    renumber_columns(&n, rows);
    rows->num_cols = rows->num_rows + made.num_halo;
    *halo = made;
    memset(&made, 0, sizeof made);
done:
    gnti_halo_rows_of_clear(&made);
    numbering_clear(&n);
    return st;
}

void gnti_halo_rows_of_clear(gnti_halo_rows_of *h)
{
    gnti_free(h->position);
    gnti_free(h->rank_ptr);
    memset(h, 0, sizeof *h);
}
