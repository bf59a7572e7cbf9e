/* SPDX-License-Identifier: Apache-2.0 */
/* LDG (Stanton, Kliot, KDD 2012) and Fennel (Tsourakakis et al., WSDM 2014); formulas in the header.
 *
 * A row costs its arcs and, through a tournament tree over the parts' relative sizes, log k: only parts that hold a neighbour
 * and the emptiest one can win. For LDG a part without a neighbour scores 0, so the emptiest is the best of them; for Fennel
 * it has the smallest penalty.
 */
#include "partition/stream_cut.h"

#include <math.h>

enum { MAX_PASSES = 5 };

static const double MIN_GAIN = 0.01, FENNEL_GAMMA = 1.5, ROW_SLACK = 1.5;

typedef struct part {
    double work, rows; /* held */
    double fair_work, fair_rows;
    double fill; /* 1: its share */
    double bias; /* LDG: 1 - fill / tolerance; Fennel: the penalty */
} part;

struct gnti_stream_cut {
    int64_t num_nodes;
    int32_t num_chunks, num_leaves; /* leaves: a power of two */
    double arc_work, row_work, tolerance, alpha;
    bool fennel;
    part *parts;
    int32_t
        *emptiest; /* (2 num_leaves) tournament: node 1 is the winner, leaf c is num_leaves + c; -1: nobody */
    int32_t *chunk_of; /* lent */
    int32_t *count, *touched;
    int32_t num_passes;
    int64_t halo, halo_before; /* of this pass and of the last one */
};

gnt_status gnti_stream_cut_create(int64_t num_nodes, int64_t num_arcs, const gnti_partition_config *config,
                                  const gnti_cut_targets *t, int32_t *chunk_of, gnti_stream_cut **out)
{
    gnt_status st = GNT_OK;
    gnti_stream_cut *s = NULL;
    const double n = (double)gnti_max_i64(num_nodes, 1), k = t->num_chunks;

    GNT_TRY(gnti_calloc_array(&s, 1));
    s->num_nodes = num_nodes;
    s->num_chunks = t->num_chunks;
    s->fennel = config->method == GNTI_PART_FENNEL;
    s->arc_work = config->arc_work > 0.0 || config->row_work > 0.0 ? config->arc_work : 1.0;
    s->row_work = config->arc_work > 0.0 || config->row_work > 0.0 ? config->row_work : 1.0;
    s->tolerance = config->tolerance > 1.0 ? config->tolerance : 1.05;
    s->alpha = sqrt(k) * 0.5 * (double)num_arcs / pow(n, FENNEL_GAMMA);
    for (s->num_leaves = 1; s->num_leaves < s->num_chunks;)
        s->num_leaves *= 2;
    GNT_TRY(gnti_calloc_array(&s->parts, s->num_chunks));
    GNT_TRY(gnti_alloc_array(&s->emptiest, 2 * (int64_t)s->num_leaves));
    GNT_TRY(gnti_calloc_array(&s->count, s->num_chunks));
    GNT_TRY(gnti_alloc_array(&s->touched, s->num_chunks));
    for (int32_t c = 0; c < s->num_chunks; c++) {
        s->parts[c].fair_work =
            fmax(t->chunk_share[c] * (s->arc_work * (double)num_arcs + s->row_work * n), 1e-300);
        s->parts[c].fair_rows = t->chunk_share[c] * n;
    }
    for (int64_t v = 0; v < num_nodes; v++)
        chunk_of[v] = -1;
    s->chunk_of = chunk_of;
    *out = s;
    s = NULL;
done:
    gnti_stream_cut_free(&s);
    return st;
}

void gnti_stream_cut_free(gnti_stream_cut **cut)
{
    gnti_stream_cut *s = cut != NULL ? *cut : NULL;

    if (s == NULL)
        return;
    gnti_free(s->parts);
    gnti_free(s->emptiest);
    gnti_free(s->count);
    gnti_free(s->touched);
    gnti_free(s);
    *cut = NULL;
}

/* --- sizes --- */

/* The one of two parts that has less of its share; the lower index of equals. -1 loses. */
static int32_t emptier(const gnti_stream_cut *s, int32_t a, int32_t b)
{
    if (a < 0 || b < 0)
        return a < 0 ? b : a;
    if (s->parts[a].fill != s->parts[b].fill)
        return s->parts[a].fill < s->parts[b].fill ? a : b;
    return a < b ? a : b;
}

static void set_bias(const gnti_stream_cut *s, part *p)
{
    p->fill = fmax(p->work / p->fair_work, p->rows / (ROW_SLACK * p->fair_rows));
    if (s->fennel)
        p->bias = s->alpha * FENNEL_GAMMA * sqrt((double)s->num_nodes / s->num_chunks * p->fill);
    else
        p->bias = 1.0 - p->fill / s->tolerance;
}

/* Whether a node of that work fits. */
static bool is_open(const gnti_stream_cut *s, const part *p, double work)
{
    return p->work + work <= s->tolerance * p->fair_work &&
           p->rows + 1.0 <= fmax(ROW_SLACK * s->tolerance * p->fair_rows, 1.0);
}

static void grow(gnti_stream_cut *s, int32_t c, double work)
{
    s->parts[c].work += work;
    s->parts[c].rows += 1.0;
    set_bias(s, &s->parts[c]);
    for (int32_t i = (s->num_leaves + c) / 2; i >= 1; i /= 2)
        s->emptiest[i] = emptier(s, s->emptiest[2 * i], s->emptiest[2 * i + 1]);
}

void gnti_stream_cut_begin_pass(gnti_stream_cut *s)
{
    for (int32_t c = 0; c < s->num_leaves; c++) {
        s->emptiest[s->num_leaves + c] = c < s->num_chunks ? c : -1;
        if (c < s->num_chunks) {
            s->parts[c].work = s->parts[c].rows = 0.0;
            set_bias(s, &s->parts[c]);
        }
    }
    for (int32_t i = s->num_leaves - 1; i >= 1; i--)
        s->emptiest[i] = emptier(s, s->emptiest[2 * i], s->emptiest[2 * i + 1]);
    s->num_passes++;
    s->halo_before = s->halo;
    s->halo = 0;
}

/* --- rows --- */

/* Neighbours of a row by part; answers how many parts there are. Loops count nothing. */
static int32_t count_parts(gnti_stream_cut *s, int64_t row, const int32_t *columns, int64_t num)
{
    int32_t num_touched = 0;

    for (int64_t a = 0; a < num; a++) {
        const int32_t c = s->chunk_of[columns[a]];

        if (c < 0 || columns[a] == row)
            continue;
        if (s->count[c]++ == 0)
            s->touched[num_touched++] = c;
    }
    return num_touched;
}

static double score(const gnti_stream_cut *s, int32_t c)
{
    return s->fennel ? s->count[c] - s->parts[c].bias : s->count[c] * s->parts[c].bias;
}

static int32_t best_part(const gnti_stream_cut *s, int32_t num_touched, double work)
{
    int32_t best = s->emptiest[1];
    double most = score(s, best);

    for (int32_t i = 0; i < num_touched; i++) {
        const int32_t c = s->touched[i];
        const double now = score(s, c);

        if (now < most || !is_open(s, &s->parts[c], work))
            continue;
        if (now > most || emptier(s, c, best) == c) {
            most = now;
            best = c;
        }
    }
    return best;
}

void gnti_stream_cut_add_rows(gnti_stream_cut *s, int64_t first_row, int64_t num_rows, const int64_t *offsets,
                              const int32_t *columns)
{
    for (int64_t r = 0; r < num_rows; r++) {
        const int64_t row = first_row + r, num = offsets[r + 1] - offsets[r];
        const double work = s->arc_work * (double)num + s->row_work;
        const int32_t num_touched = count_parts(s, row, columns + offsets[r], num);
        const int32_t best = best_part(s, num_touched, work);

        s->halo += num_touched - (s->count[best] > 0);
        for (int32_t i = 0; i < num_touched; i++)
            s->count[s->touched[i]] = 0;
        s->chunk_of[row] = best;
        grow(s, best, work);
    }
}

bool gnti_stream_cut_wants_more(const gnti_stream_cut *s)
{
    if (s->num_passes >= MAX_PASSES || s->num_chunks == 1)
        return false;
    /* the first pass has not seen all neighbours: its halo says nothing */
    return s->num_passes <= 2 || (double)s->halo < (1.0 - MIN_GAIN) * (double)s->halo_before;
}

int32_t gnti_stream_cut_num_passes(const gnti_stream_cut *s)
{
    return s->num_passes;
}

/* --- empty chunks --- */

gnt_status gnti_fill_empty_chunks(int64_t num_nodes, const gnti_cut_targets *t, int32_t *chunk_of)
{
    gnt_status st = GNT_OK;
    int64_t *held = NULL;
    int32_t empty = 0;

    GNT_TRY(gnti_calloc_array(&held, t->num_chunks));
    for (int64_t v = 0; v < num_nodes; v++)
        held[chunk_of[v]]++;
    /* first from chunks that hold their share, then from any that keeps a node */
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t v = num_nodes - 1; v >= 0; v--) {
            const int32_t c = chunk_of[v];
            const double fair = t->chunk_share[c] * (double)num_nodes;

            while (empty < t->num_chunks && held[empty] > 0)
                empty++;
            if (empty == t->num_chunks)
                break;
            if (held[c] < 2 || (pass == 0 && (double)held[c] < fair))
                continue;
            held[c]--;
            held[empty]++;
            chunk_of[v] = empty;
        }
    }
done:
    gnti_free(held);
    return st;
}
