/* SPDX-License-Identifier: Apache-2.0 */
/* Own out-arcs in global order, and what is true of the whole graph.
 *
 * Symmetry is shown by sums: each rank adds h(u, v, w) - h(v, u, w) over its arcs u -> v, mod 2^64, with a mixing function h.
 * A symmetric graph adds up to 0 over all ranks; another one does by an accident of one in 2^64.
 */
#include "dist/load.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

gnt_status gnti_load_sum(gnti_comm *comm, int64_t *values, int64_t num)
{
    const gnti_all_reduce_args args = { .data = values, .count = num, .dtype = GNT_I64, .op = GNTI_COMM_SUM };

    return gnti_comm_all_reduce(comm, &args);
}

/* ---- order ---------------------------------------------------------------------------------------------------------- */

typedef struct entry {
    int32_t column;
    float weight;
} entry;

static int by_column(const void *a, const void *b)
{
    const int32_t x = ((const entry *)a)->column, y = ((const entry *)b)->column;

    return (x > y) - (x < y);
}

static bool is_sorted(const gnti_graph *g, int64_t row)
{
    for (int64_t a = g->offsets[row] + 1; a < g->offsets[row + 1]; a++)
        if (g->columns[a] <= g->columns[a - 1])
            return false;
    return true;
}

static void sort_row(gnti_graph *g, int64_t row, entry *scratch)
{
    const int64_t begin = g->offsets[row], num = g->offsets[row + 1] - begin;

    for (int64_t i = 0; i < num; i++)
        scratch[i] = (entry){ g->columns[begin + i], g->weights != NULL ? g->weights[begin + i] : 1.0f };
    qsort(scratch, (size_t)num, sizeof *scratch, by_column);
    for (int64_t i = 0; i < num; i++) {
        g->columns[begin + i] = scratch[i].column;
        if (g->weights != NULL)
            g->weights[begin + i] = scratch[i].weight;
    }
}

gnt_status gnti_load_sort_rows(gnti_graph *g)
{
    gnt_status st = GNT_OK;
    entry *scratch = NULL;
    int64_t longest = 0;

    for (int64_t r = 0; r < g->num_rows; r++)
        if (!is_sorted(g, r))
            longest = gnti_max_i64(longest, g->offsets[r + 1] - g->offsets[r]);
    GNT_TRY(gnti_alloc_array(&scratch, longest));
    for (int64_t r = 0; longest > 0 && r < g->num_rows; r++)
        if (!is_sorted(g, r))
            sort_row(g, r, scratch);
done:
    gnti_free(scratch);
    return st;
}

gnt_status gnti_load_arcs(gnti_load *l, gnti_graph **out)
{
    gnt_status st = GNT_OK;
    gnti_graph *g = NULL;

    GNT_TRY(gnti_load_csr(l, "/graph/adj", l->head->header->num_arcs, l->head->num_nodes, &g));
    for (int64_t a = 0; l->position != NULL && a < g->num_arcs; a++)
        g->columns[a] = l->position[g->columns[a]];
    GNT_TRY(gnti_load_sort_rows(g));
    for (int64_t r = 0; r < g->num_rows; r++)
        for (int64_t a = g->offsets[r]; a < g->offsets[r + 1]; a++) {
            GNT_CHECK(a == g->offsets[r] || g->columns[a] > g->columns[a - 1], GNT_ERR_FORMAT,
                      "'/graph/adj' of file '%s' has an arc of node %lld twice: let 'gnntrain split' write "
                      "the file once, which adds them up",
                      l->head->path, (long long)l->ids[r]);
            GNT_CHECK(g->weights == NULL || isfinite(g->weights[a]), GNT_ERR_FORMAT,
                      "'/graph/adj' of file '%s': an arc of node %lld has the weight %g, weights must be "
                      "finite",
                      l->head->path, (long long)l->ids[r], (double)g->weights[a]);
        }
    *out = g;
    g = NULL;
done:
    gnti_graph_free(&g);
    return st;
}

/* ---- loops ---------------------------------------------------------------------------------------------------------- */

/* Loops go to loop (num_rows, zeroed), the other arcs close up. position[r]: of own row r. */
static void split_loops(gnti_graph *g, const int32_t *position, float *loop)
{
    int64_t num = 0, begin = 0;

    for (int64_t r = 0; r < g->num_rows; r++) {
        const int64_t end = g->offsets[r + 1];

        for (int64_t a = begin; a < end; a++) {
            const float w = g->weights != NULL ? g->weights[a] : 1.0f;

            if (g->columns[a] == position[r]) {
                loop[r] = w;
                continue;
            }
            g->columns[num] = g->columns[a];
            if (g->weights != NULL)
                g->weights[num] = w;
            num++;
        }
        begin = end;
        g->offsets[r + 1] = num;
    }
    g->num_arcs = num;
}

static gnt_status own_positions(const gnti_part_layout *layout, int32_t rank, int32_t **out)
{
    gnt_status st = GNT_OK;
    int64_t own = 0;

    GNT_TRY(gnti_alloc_array(out, gnti_part_layout_num_own(layout, rank)));
    for (int32_t c = 0; c < layout->num_chunks; c++)
        for (int64_t p = layout->first[c]; p < layout->first[c + 1] && layout->owner[c] == rank; p++)
            (*out)[own++] = (int32_t)p;
done:
    return st;
}

/* ---- symmetry -------------------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t x)
{
    x ^= x >> 31;
    x *= UINT64_C(0x7fb5d329728ea185);
    x ^= x >> 27;
    x *= UINT64_C(0x81dadef4bc2dd44d);
    return x ^ (x >> 33);
}

static uint64_t hash_arc(uint64_t u, uint64_t v, float w)
{
    uint32_t bits;

    memcpy(&bits, &w, sizeof bits);
    return mix(mix(mix(u + 1) + v) + bits);
}

static uint64_t asymmetry(const gnti_graph *g, const int32_t *position)
{
    uint64_t sum = 0;

    for (int64_t r = 0; r < g->num_rows; r++)
        for (int64_t a = g->offsets[r]; a < g->offsets[r + 1]; a++) {
            const float w = g->weights != NULL ? g->weights[a] + 0.0f : 1.0f; /* -0 equals 0 */
            const uint64_t u = (uint64_t)position[r], v = (uint64_t)g->columns[a];

            sum += hash_arc(u, v, w) - hash_arc(v, u, w);
        }
    return sum;
}

/* self: what sym adds for the node itself, where any rank has a loop that does not weigh 1. */
static gnt_status set_self(gnti_part_rows *rows, int64_t num_rows)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_alloc_array(&rows->self, num_rows));
    for (int64_t r = 0; r < num_rows; r++)
        rows->self[r] = rows->loop[r] != 0.0f ? rows->loop[r] : 1.0f;
done:
    return st;
}

enum { ARCS, LOOPS, HEAVY_LOOPS, OTHER_WEIGHTS, LOW, HIGH, NUM_FACTS };

static gnt_status count_facts(const gnti_graph *g, const int32_t *position, const float *loop,
                              int64_t num_loops, gnti_comm *comm, int64_t facts[NUM_FACTS])
{
    const uint64_t sum = asymmetry(g, position);

    memset(facts, 0, NUM_FACTS * sizeof *facts);
    facts[ARCS] = g->num_arcs;
    facts[LOOPS] = num_loops;
    facts[LOW] = (int64_t)(sum & UINT32_MAX);
    facts[HIGH] = (int64_t)(sum >> 32);
    for (int64_t r = 0; r < g->num_rows; r++) {
        facts[HEAVY_LOOPS] += loop[r] != 0.0f && loop[r] != 1.0f;
        facts[OTHER_WEIGHTS] += loop[r] != 0.0f && loop[r] != 1.0f;
    }
    for (int64_t a = 0; g->weights != NULL && a < g->num_arcs; a++)
        facts[OTHER_WEIGHTS] += g->weights[a] != 1.0f;
    return gnti_load_sum(comm, facts, NUM_FACTS);
}

gnt_status gnti_load_settle(const gnti_part_layout *layout, gnti_comm *comm, gnti_graph **out_arcs,
                            gnti_part_rows *rows, int64_t *num_arcs)
{
    gnt_status st = GNT_OK;
    gnti_graph *g = *out_arcs;
    int32_t *position = NULL;
    int64_t facts[NUM_FACTS];
    int64_t num_loops = g->num_arcs; /* found here, or known before (an induced part) */

    *out_arcs = NULL;
    GNT_TRY(own_positions(layout, comm->rank, &position));
    if (rows->loop == NULL)
        GNT_TRY(gnti_calloc_array(&rows->loop, g->num_rows));
    for (int64_t r = 0; r < g->num_rows; r++)
        num_loops += rows->loop[r] != 0.0f;
    split_loops(g, position, rows->loop);
    num_loops -= g->num_arcs;
    GNT_TRY(count_facts(g, position, rows->loop, num_loops, comm, facts));
    *num_arcs = facts[ARCS];
    if (facts[OTHER_WEIGHTS] == 0) {
        gnti_free(g->weights);
        g->weights = NULL;
    }
    if (facts[HEAVY_LOOPS] > 0)
        GNT_TRY(set_self(rows, g->num_rows));
    if (facts[LOOPS] == 0) {
        gnti_free(rows->loop);
        rows->loop = NULL;
    }
    rows->forward = g;
    g = NULL;
    if (((uint64_t)facts[LOW] + ((uint64_t)facts[HIGH] << 32)) != 0) {
        rows->transposed = rows->forward;
        rows->forward = NULL;
        GNT_TRY(gnti_load_reverse(layout, comm, rows->transposed, &rows->forward));
    }
done:
    gnti_free(position);
    gnti_graph_free(&g);
    return st;
}
