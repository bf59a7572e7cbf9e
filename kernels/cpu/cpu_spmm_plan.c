/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of the sparse product: who computes which rows, made once.
 *
 * Chunks of rows have about equal arcs + rows and are handed out one by one (which thread takes which changes
 * no bit). Rows of more than 4096 entries are summed in pieces of 4096; those that would keep one thread busy
 * for long are split: their pieces are work of their own, added in order afterwards (algorithms: ordered
 * second pass, merge path of Merrill and Garland 2016). The quickest column tile is found on the first calls:
 * tile widths differ by up to 3x with the size of x and the cache, and do not change bits.
 */
#include "base/alloc.h"
#include "base/size.h"
#include "kernels/cpu/cpu_spmm.h"

enum { CHUNKS_PER_THREAD = 24, SPLIT_SHARE = 8 };

static const int64_t tiles[CPU_SPMM_NUM_TILES] = { 32, 48, 16, CPU_SPMM_MAX_TILE };

static void split_free(cpu_spmm_split *w)
{
    if (w == NULL)
        return;
    gnti_free(w->chunk);
    gnti_free(w->long_row);
    gnti_free(w->piece);
    gnti_free(w->split_first);
    gnti_free(w->partial);
    cpu_spmm_blocks_free(&w->blocks);
    gnti_free(w);
}

void cpu_spmm_plan_free(gnt_spmm_plan *p)
{
    split_free(p->split);
    gnti_free(p);
}

static int64_t entries(const gnt_spmm_plan_args *a, int64_t r)
{
    return a->offsets[r + 1] - a->offsets[r];
}

/* Places of the plan: rows of its range, or numbers in its list. */
static int64_t first_place(const gnt_spmm_plan_args *a)
{
    return a->rows != NULL ? 0 : a->first_row;
}

static int64_t end_place(const gnt_spmm_plan_args *a)
{
    return a->rows != NULL ? a->num_listed : a->end_row;
}

static int64_t weight_of(const gnt_spmm_plan_args *a)
{
    int64_t weight = a->num_listed;

    if (a->rows == NULL)
        return a->offsets[a->end_row] - a->offsets[a->first_row] + a->end_row - a->first_row;
    for (int64_t i = 0; i < a->num_listed; i++)
        weight += entries(a, a->rows[i]);
    return weight;
}

/* First row at which arcs + rows from the plan's first row reach the target. */
static int64_t row_of_weight(const gnt_spmm_plan_args *a, int64_t target)
{
    const int64_t base = a->offsets[a->first_row] + a->first_row;
    int64_t low = a->first_row, high = a->end_row;

    while (low < high) {
        const int64_t mid = low + (high - low) / 2;

        if (a->offsets[mid] + mid - base < target)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The same cut of a list of rows. */
static void cut_list(const gnt_spmm_plan_args *a, int64_t weight, cpu_spmm_split *w)
{
    int64_t done = 0, chunk = 1;

    for (int64_t i = 0; i < a->num_listed; i++) {
        for (; chunk < w->num_chunks &&
               done >= (int64_t)((double)weight * (double)chunk / (double)w->num_chunks);
             chunk++)
            w->chunk[chunk] = i;
        done += entries(a, a->rows[i]) + 1;
    }
    for (; chunk < w->num_chunks; chunk++)
        w->chunk[chunk] = a->num_listed;
}

static gnt_status cut_chunks(const gnt_spmm_plan_args *a, int32_t num_threads, cpu_spmm_split *w)
{
    gnt_status st = GNT_OK;
    const int64_t rows = end_place(a) - first_place(a), wanted = (int64_t)num_threads * CHUNKS_PER_THREAD;
    const int64_t weight = weight_of(a);

    w->num_chunks = gnti_max_i64(1, gnti_min_i64(wanted, gnti_min_i64(rows, weight / 4096)));
    GNT_TRY(gnti_alloc_array(&w->chunk, w->num_chunks + 1));
    w->chunk[0] = first_place(a);
    for (int64_t i = 1; i < w->num_chunks && a->rows == NULL; i++)
        w->chunk[i] = row_of_weight(a, (int64_t)((double)weight * (double)i / (double)w->num_chunks));
    if (a->rows != NULL)
        cut_list(a, weight, w);
    w->chunk[w->num_chunks] = end_place(a);
    w->split_entries = gnti_max_i64(2 * GNTI_ROW_ENTRIES, weight / ((int64_t)num_threads * SPLIT_SHARE));
done:
    return st;
}

static gnt_status list_long_rows(const gnt_spmm_plan_args *a, cpu_spmm_split *w)
{
    gnt_status st = GNT_OK;
    int64_t capacity = 0;

    for (int64_t i = first_place(a); i < end_place(a); i++) {
        const int64_t r = cpu_spmm_row(a, i);

        if (entries(a, r) <= GNTI_ROW_ENTRIES)
            continue;
        GNT_TRY(gnti_grow_array(&w->long_row, &capacity, w->num_long + 1));
        w->long_row[w->num_long++] = r;
        w->num_split += entries(a, r) > w->split_entries;
        w->num_pieces +=
            entries(a, r) > w->split_entries ? gnti_ceil_div(entries(a, r), GNTI_ROW_ENTRIES) : 0;
    }
    if (w->num_split == 0)
        return GNT_OK;
    GNT_TRY(gnti_alloc_array(&w->piece, w->num_pieces));
    GNT_TRY(gnti_alloc_array(&w->split_first, w->num_split + 1));
    GNT_TRY(gnti_alloc_array(&w->partial, w->num_pieces * CPU_SPMM_MAX_TILE));
    w->num_pieces = w->num_split = 0;
    for (int64_t i = 0; i < w->num_long; i++) {
        const int64_t r = w->long_row[i], end = a->offsets[r + 1];

        if (entries(a, r) <= w->split_entries)
            continue;
        w->split_first[w->num_split++] = w->num_pieces;
        for (int64_t e = a->offsets[r]; e < end; e += GNTI_ROW_ENTRIES)
            w->piece[w->num_pieces++] = (cpu_spmm_piece){ r, e, gnti_min_i64(end, e + GNTI_ROW_ENTRIES) };
    }
    w->split_first[w->num_split] = w->num_pieces;
done:
    return st;
}

gnt_status cpu_spmm_plan(gnt_stream *s, const gnt_spmm_plan_args *a, gnt_spmm_plan **out)
{
    gnt_status st = GNT_OK;
    gnt_spmm_plan *p = NULL;

    GNT_TRY(gnti_calloc_bytes((void **)&p, sizeof *p));
    p->head.backend = s->head.backend;
    p->head.args = *a;
    GNT_TRY(gnti_calloc_bytes((void **)&p->split, sizeof *p->split));
    GNT_TRY(cut_chunks(a, s->head.device->num_threads, p->split));
    GNT_TRY(list_long_rows(a, p->split));
    GNT_TRY(cpu_spmm_blocks_create(a, s->head.device->num_threads, &p->split->blocks));
    *out = p;
    p = NULL; /* handed over */
done:
    if (p != NULL)
        cpu_spmm_plan_free(p);
    return st;
}

static bool tile_is_tried(int64_t width, int i)
{
    return tiles[i] < width || i == CPU_SPMM_NUM_TILES - 1;
}

int cpu_spmm_choice_next(cpu_spmm_split *split, int64_t width, int64_t *out_tile)
{
    cpu_spmm_choice *c = NULL;
    int slot = 0, best = -1;

    for (slot = 0; slot < CPU_SPMM_NUM_WIDTHS; slot++) {
        c = &split->choice[slot];
        if (c->width == width || c->width == 0)
            break;
    }
    if (slot == CPU_SPMM_NUM_WIDTHS) { /* more widths than a model has: an untried, good one */
        *out_tile = tiles[0];
        return -1;
    }
    c->width = width;
    for (int i = 0; i < CPU_SPMM_NUM_TILES; i++) {
        if (!tile_is_tried(width, i))
            continue;
        if (c->calls < CPU_SPMM_TRIALS * CPU_SPMM_NUM_TILES && c->calls % CPU_SPMM_NUM_TILES == i) {
            *out_tile = tiles[i];
            return slot;
        }
        if (c->seconds[i] > 0.0 && (best < 0 || c->seconds[i] < c->seconds[best]))
            best = i;
    }
    *out_tile = best >= 0 ? tiles[best] : tiles[0];
    return slot;
}

void cpu_spmm_choice_note(cpu_spmm_split *split, int slot, int64_t tile, double seconds)
{
    cpu_spmm_choice *c;

    if (slot < 0)
        return;
    c = &split->choice[slot];
    if (c->calls >= CPU_SPMM_TRIALS * CPU_SPMM_NUM_TILES)
        return;
    c->calls++;
    for (int i = 0; i < CPU_SPMM_NUM_TILES; i++)
        if (tiles[i] == tile && (c->seconds[i] == 0.0 || seconds < c->seconds[i]))
            c->seconds[i] = seconds;
}
