/* SPDX-License-Identifier: Apache-2.0 */
/* Small graphs of known shape: Zachary's karate club, grid, star, path.
 *
 * Karate club: W. W. Zachary, An information flow model for conflict and fission in small groups, Journal of
 * Anthropological Research 33 (1977), 78 ties of 34 members, here from 0. The four groups are the communities that
 * Kipf and Welling (ICLR 2017, appendix A) colour; features are the identity, one column a member.
 */
#include "datasets/generate.h"

#include <string.h>

enum { NUM_MEMBERS = 34, NUM_TIES = 78, NUM_GROUPS = 4 };

static const signed char TIES[NUM_TIES][2] = {
    { 0, 1 },   { 0, 2 },   { 0, 3 },   { 0, 4 },   { 0, 5 },   { 0, 6 },   { 0, 7 },   { 0, 8 },
    { 0, 10 },  { 0, 11 },  { 0, 12 },  { 0, 13 },  { 0, 17 },  { 0, 19 },  { 0, 21 },  { 0, 31 },
    { 1, 2 },   { 1, 3 },   { 1, 7 },   { 1, 13 },  { 1, 17 },  { 1, 19 },  { 1, 21 },  { 1, 30 },
    { 2, 3 },   { 2, 7 },   { 2, 8 },   { 2, 9 },   { 2, 13 },  { 2, 27 },  { 2, 28 },  { 2, 32 },
    { 3, 7 },   { 3, 12 },  { 3, 13 },  { 4, 6 },   { 4, 10 },  { 5, 6 },   { 5, 10 },  { 5, 16 },
    { 6, 16 },  { 8, 30 },  { 8, 32 },  { 8, 33 },  { 9, 33 },  { 13, 33 }, { 14, 32 }, { 14, 33 },
    { 15, 32 }, { 15, 33 }, { 18, 32 }, { 18, 33 }, { 19, 33 }, { 20, 32 }, { 20, 33 }, { 22, 32 },
    { 22, 33 }, { 23, 25 }, { 23, 27 }, { 23, 29 }, { 23, 32 }, { 23, 33 }, { 24, 25 }, { 24, 27 },
    { 24, 31 }, { 25, 31 }, { 26, 29 }, { 26, 33 }, { 27, 33 }, { 28, 31 }, { 28, 33 }, { 29, 32 },
    { 29, 33 }, { 30, 32 }, { 30, 33 }, { 31, 32 }, { 31, 33 }, { 32, 33 },
};

static const signed char GROUPS[NUM_MEMBERS] = { 0, 0, 0, 0, 1, 1, 1, 0, 2, 0, 1, 0, 0, 0, 2, 2, 1,
                                                 0, 2, 0, 2, 0, 2, 3, 3, 3, 2, 3, 3, 2, 2, 3, 2, 2 };

/* One member a group is train, the next one valid, the rest test. */
static gnt_status split_groups(gnt_dataset *d)
{
    gnt_status st = GNT_OK;
    gnti_split s = { .name = NULL };
    int seen[NUM_GROUPS] = { 0 };

    GNT_TRY(gnti_strdup(&s.name, "public"));
    GNT_TRY(gnti_strdup(&s.kind, "per-class"));
    GNT_TRY(gnti_strdup(&s.source, "the first two members of each group by number"));
    for (int part = 0; part < 3; part++)
        GNT_TRY(gnti_alloc_array(&s.nodes[part], NUM_MEMBERS));
    for (int i = 0; i < NUM_MEMBERS; i++) {
        const int count = seen[GROUPS[i]]++, part = count < GNTI_TEST ? count : GNTI_TEST;

        s.nodes[part][s.num_nodes[part]++] = i;
    }
    GNT_TRY(gnti_dataset_take_split(d, &s));
done:
    gnti_split_free(&s);
    return st;
}

gnt_status gnti_generate_karate(gnti_generation *g)
{
    gnt_status st = GNT_OK;
    gnt_dataset *d;

    GNT_TRY(gnti_generation_edges(g, NUM_TIES));
    for (int i = 0; i < NUM_TIES; i++) {
        g->edges.source[i] = TIES[i][0];
        g->edges.target[i] = TIES[i][1];
    }
    GNT_TRY(gnti_generation_build(g, NUM_MEMBERS));
    d = g->data;
    d->x.rows = d->x.width = NUM_MEMBERS;
    GNT_TRY(gnti_graph_alloc(NUM_MEMBERS, NUM_MEMBERS, NUM_MEMBERS, false, &d->x.sparse));
    d->y.kind = GNT_LABELS_CLASS;
    d->y.num_classes = NUM_GROUPS;
    GNT_TRY(gnti_alloc_array(&d->y.class_of, NUM_MEMBERS));
    for (int i = 0; i < NUM_MEMBERS; i++) {
        d->x.sparse->columns[i] = i;
        d->x.sparse->offsets[i + 1] = i + 1;
        d->y.class_of[i] = GROUPS[i];
    }
    GNT_TRY(split_groups(d));
done:
    return st;
}

/* Node r * columns + c is joined to the one on its right and the one below. */
gnt_status gnti_generate_grid(gnti_generation *g)
{
    gnt_status st = GNT_OK;
    const int64_t rows = g->o.rows, columns = g->o.columns;
    int64_t num = 0;

    GNT_CHECK(rows <= INT32_MAX / columns, GNT_ERR_LIMIT, "a grid of %lld x %lld has more than %d nodes",
              (long long)rows, (long long)columns, INT32_MAX);
    GNT_TRY(gnti_generation_edges(g, rows * (columns - 1) + (rows - 1) * columns));
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < columns; c++) {
            const int64_t v = r * columns + c;

            if (c + 1 < columns) {
                g->edges.source[num] = v;
                g->edges.target[num++] = v + 1;
            }
            if (r + 1 < rows) {
                g->edges.source[num] = v;
                g->edges.target[num++] = v + columns;
            }
        }
    }
    GNT_TRY(gnti_generation_build(g, rows * columns));
done:
    return st;
}

static gnt_status make_line(gnti_generation *g, bool star)
{
    gnt_status st = GNT_OK;
    const int64_t n = g->o.nodes;

    GNT_TRY(gnti_generation_edges(g, n - 1));
    for (int64_t i = 1; i < n; i++) {
        g->edges.source[i - 1] = star ? 0 : i - 1;
        g->edges.target[i - 1] = i;
    }
    GNT_TRY(gnti_generation_build(g, n));
done:
    return st;
}

gnt_status gnti_generate_star(gnti_generation *g)
{
    return make_line(g, true);
}

gnt_status gnti_generate_path(gnti_generation *g)
{
    return make_line(g, false);
}
