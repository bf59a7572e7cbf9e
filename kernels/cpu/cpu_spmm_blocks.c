/* SPDX-License-Identifier: Apache-2.0 */
/* The sparse product of dense graphs: arcs in a second layout, by blocks of sources that stay in a core's cache.
 *
 * Work is cut into units of 512 rows. x is taken in slabs of 32 columns, copied so that a slab's rows lie side by side; a
 * unit walks the blocks of 4096 sources in order, its sums so far in a buffer of its own. So a source is read from the second cache, and
 * each row still adds its entries in ascending order: not a bit differs from the row kernels. Within (unit, block) rows are
 * sorted by entries, and columns are 2 bytes, relative to the block, in exactly the order in which the kernel reads them.
 * It pays where a row has entries enough in each block (on a graph of 29,120 nodes with 492 arcs each: 1.4 to 1.7 times).
 *
 * Not here: weights (a scaled source is scaled when its slab is copied) and rows of more than 4096 entries, which the row
 * kernels sum from the slab.
 */
#include "base/alloc.h"
#include "base/size.h"
#include "kernels/cost.h"
#include "kernels/cpu/cpu_spmm.h"

#include <stdlib.h>
#include <string.h>

typedef struct cpu_spmm_blocks {
    int64_t num_rows, num_blocks, unit_rows, num_units;
    uint16_t *columns;       /* (arcs of rows of at most 4096) */
    uint16_t *row, *entries; /* (blocks, rows): place i of a unit has this row of it, with so many entries */
    int64_t *start;          /* (units, blocks) in columns */
} cpu_spmm_blocks;

/* ---- the layout ---------------------------------------------------------------------------------------------------- */

typedef struct maker {
    const gnt_spmm_plan_args *graph;
    cpu_spmm_blocks *b;
    int64_t at[CPU_SPMM_UNIT],
        count[CPU_SPMM_UNIT]; /* of the unit's rows: next entry, entries in the block */
    uint16_t order[CPU_SPMM_UNIT];
    int64_t num_columns;
} maker;

/* Entries of the unit's rows that lie in the block, long rows have none; rows by their number, stable. */
static void sort_rows(maker *m, int64_t first, int64_t n, int64_t end_source)
{
    const gnt_spmm_plan_args *g = m->graph;
    int64_t places[GNTI_ROW_ENTRIES + 2] = { 0 };

    for (int64_t i = 0; i < n; i++) {
        const int64_t end = g->offsets[first + i + 1], whole = end - g->offsets[first + i];
        int64_t e = m->at[i];

        while (whole <= GNTI_ROW_ENTRIES && e < end && g->columns[e] < end_source)
            e++;
        m->count[i] = e - m->at[i];
        places[m->count[i] + 1]++;
    }
    for (int64_t c = 0; c < GNTI_ROW_ENTRIES; c++)
        places[c + 1] += places[c];
    for (int64_t i = 0; i < n; i++)
        m->order[places[m->count[i]]++] = (uint16_t)i;
}

static void put_columns(maker *m, int64_t row, int64_t from, int64_t end, int64_t first_source, int64_t step)
{
    const int32_t *columns = m->graph->columns + m->at[row];
    uint16_t *out = m->b->columns + m->num_columns;

    for (int64_t e = from; e < end; e++, out += step)
        *out = (uint16_t)(columns[e] - first_source);
}

static void put_group(maker *m, const uint16_t *rows, int64_t n, int64_t first_source)
{
    const int64_t shared = m->count[rows[0]];

    for (int64_t q = 0; q < n; q++, m->num_columns++)
        put_columns(m, rows[q], 0, shared, first_source, n);
    m->num_columns += (shared - 1) * n;
    for (int64_t q = 0; q < n; q++) {
        put_columns(m, rows[q], shared, m->count[rows[q]], first_source, 1);
        m->num_columns += m->count[rows[q]] - shared;
    }
}

static void lay_out_unit(maker *m, int64_t unit)
{
    cpu_spmm_blocks *b = m->b;
    const int64_t first = unit * b->unit_rows, n = gnti_min_i64(b->unit_rows, b->num_rows - first);

    for (int64_t i = 0; i < n; i++)
        m->at[i] = m->graph->offsets[first + i];
    for (int64_t k = 0; k < b->num_blocks; k++) {
        const int64_t base = k * GNTI_BLOCK_SOURCES;
        int64_t i = 0;

        sort_rows(m, first, n, base + GNTI_BLOCK_SOURCES);
        b->start[unit * b->num_blocks + k] = m->num_columns;
        for (; i + CPU_SPMM_GROUP <= n; i += CPU_SPMM_GROUP)
            put_group(m, m->order + i, CPU_SPMM_GROUP, base);
        for (; i < n; i++)
            put_group(m, m->order + i, 1, base);
        for (i = 0; i < n; i++) {
            b->row[k * b->num_rows + first + i] = m->order[i];
            b->entries[k * b->num_rows + first + i] = (uint16_t)m->count[m->order[i]];
            m->at[i] += m->count[i];
        }
    }
}

/* Blocks are walked in the order of rows' entries only if these ascend (a part's rows follow the global order instead). */
static bool rows_ascend(const gnt_spmm_plan_args *a)
{
    for (int64_t r = 0; r < a->num_rows; r++)
        for (int64_t e = a->offsets[r] + 1; e < a->offsets[r + 1]; e++)
            if (a->columns[e] < a->columns[e - 1])
                return false;
    return true;
}

void cpu_spmm_blocks_free(cpu_spmm_blocks **blocks)
{
    cpu_spmm_blocks *b = *blocks;

    if (b == NULL)
        return;
    gnti_free(b->columns);
    gnti_free(b->row);
    gnti_free(b->entries);
    gnti_free(b->start);
    gnti_free(b);
    *blocks = NULL;
}

gnt_status cpu_spmm_blocks_create(const gnt_spmm_plan_args *a, int32_t num_threads, cpu_spmm_blocks **out)
{
    gnt_status st = GNT_OK;
    const int64_t fair = a->num_rows / (8 * (int64_t)num_threads) / CPU_SPMM_GROUP * CPU_SPMM_GROUP;
    cpu_spmm_blocks *b = NULL;
    maker *m = NULL;

    *out = NULL;
    if (!a->lasting || a->weights != NULL || a->rows != NULL || a->first_row != 0 ||
        a->end_row != a->num_rows || gnti_cost_blocks_bytes(a->num_rows, a->num_cols, a->num_arcs) == 0 ||
        !rows_ascend(a))
        return GNT_OK;
    GNT_TRY(gnti_calloc_array(&m, 1));
    GNT_TRY(gnti_calloc_array(&b, 1));
    b->num_rows = a->num_rows;
    b->num_blocks = gnti_ceil_div(a->num_cols, GNTI_BLOCK_SOURCES);
    b->unit_rows = gnti_min_i64(CPU_SPMM_UNIT, gnti_max_i64(16 * CPU_SPMM_GROUP, fair));
    b->num_units = gnti_ceil_div(a->num_rows, b->unit_rows);
    GNT_TRY(gnti_alloc_array(&b->columns, a->num_arcs));
    GNT_TRY(gnti_alloc_array(&b->row, b->num_blocks * a->num_rows));
    GNT_TRY(gnti_alloc_array(&b->entries, b->num_blocks * a->num_rows));
    GNT_TRY(gnti_alloc_array(&b->start, b->num_blocks * b->num_units));
    m->graph = a;
    m->b = b;
    for (int64_t unit = 0; unit < b->num_units; unit++)
        lay_out_unit(m, unit);
    *out = b;
    b = NULL; /* handed over */
done:
    cpu_spmm_blocks_free(&b);
    gnti_free(m);
    return st;
}

/* ---- the product --------------------------------------------------------------------------------------------------- */

bool cpu_spmm_has_blocks(const gnt_spmm_plan *p, const gnt_spmm_args *a)
{
    return p->split->blocks != NULL && a->arc_weight == NULL && cpu_spmm_is_fast(a) &&
           (a->self_kind != GNT_SELF_VECTOR || a->src_scale == NULL);
}

static int64_t slab_floats(const cpu_spmm_product *p)
{
    return p->graph->num_cols * CPU_SPMM_SLAB;
}

size_t cpu_spmm_blocks_scratch(const cpu_spmm_product *p)
{
    const int64_t sums = (int64_t)p->num_threads * CPU_SPMM_UNIT * CPU_SPMM_SLAB;

    return (size_t)(slab_floats(p) + sums) * sizeof(float);
}

typedef struct slab_work {
    const cpu_spmm_product *product;
    const cpu_spmm_strip *strip;
    const cpu_spmm_blocks *blocks;
    cpu_spmm_job job;       /* the rows of the slab, for the row kernels */
    const float *src_scale; /* or NULL */
    const float *x;         /* columns of the slab in the strip */
    int64_t x_stride, column, floats;
    float *slab, *sums;
} slab_work;

enum { COPY_ROWS = 256 };

static void copy_rows(void *user, int64_t i, int32_t thread)
{
    const slab_work *w = user;
    const int64_t end = gnti_min_i64(w->product->graph->num_cols, (i + 1) * COPY_ROWS);
    const int64_t width = w->job.width;

    (void)thread;
    for (int64_t r = i * COPY_ROWS; r < end; r++) {
        const float *from = w->x + r * w->x_stride;
        float *to = w->slab + r * w->floats;

        if (w->src_scale != NULL)
            w->product->kernels->scale_to(to, from, w->src_scale[r], width);
        else
            memcpy(to, from, (size_t)width * sizeof *to);
        for (int64_t c = width; c < w->floats; c++)
            to[c] = 0.0f;
    }
}

/* Finished sums of a unit go to y; its long rows are summed here. */
static void finish_unit(const slab_work *w, int64_t first, int64_t end, const float *sums)
{
    const cpu_spmm_product *p = w->product;
    const cpu_spmm_split *split = p->split;
    int64_t r = first, k = 0;

    while (k < split->num_long && split->long_row[k] < first)
        k++;
    for (; r < end; r++, k++) {
        const int64_t next = k < split->num_long ? gnti_min_i64(split->long_row[k], end) : end;

        if (next > r)
            cpu_spmm_finish_rows(p, w->strip, r, next - r, w->column, w->job.width,
                                 sums + (r - first) * w->floats, w->floats);
        r = next;
        if (r < end && p->graph->offsets[r + 1] - p->graph->offsets[r] <= p->shared_entries)
            cpu_spmm_long_row(p, w->strip, &w->job, w->column, r);
    }
}

static void run_unit(const slab_work *w, int64_t unit, float *sums)
{
    const cpu_spmm_blocks *b = w->blocks;
    const int64_t first = unit * b->unit_rows, n = gnti_min_i64(b->unit_rows, b->num_rows - first);
    const cpu_spmm_job *j = &w->job;
    float factor[CPU_SPMM_UNIT];

    for (int64_t i = 0; i < n; i++)
        factor[i] = j->row_scale != NULL ? j->alpha * j->row_scale[first + i] : j->alpha;
    for (int64_t k = 0; k < b->num_blocks; k++) {
        const cpu_spmm_block_job job = { .columns = b->columns + b->start[unit * b->num_blocks + k],
                                         .row = b->row + k * b->num_rows + first,
                                         .entries = b->entries + k * b->num_rows + first,
                                         .num_rows = n,
                                         .floats = w->floats,
                                         .x = w->slab + k * GNTI_BLOCK_SOURCES * w->floats,
                                         .sum = sums,
                                         .first = k == 0,
                                         .own = j->self_x != NULL ? j->self_x + first * w->floats : NULL,
                                         .own_factor = j->self != NULL ? j->self + first : NULL,
                                         .own_rows = j->self_rows - first,
                                         .factor = k == b->num_blocks - 1 ? factor : NULL };

        w->product->rows->block(&job);
    }
    finish_unit(w, first, first + n, sums);
}

static void run_item(void *user, int64_t i, int32_t thread)
{
    const slab_work *w = user;
    const cpu_spmm_split *split = w->product->split;

    if (i < split->num_pieces)
        cpu_spmm_run_piece(w->product, &w->job, &split->piece[i], split->partial + i * CPU_SPMM_MAX_TILE);
    else
        run_unit(w, i - split->num_pieces, w->sums + (int64_t)thread * CPU_SPMM_UNIT * CPU_SPMM_SLAB);
}

static void run_slab(slab_work *w, int64_t column)
{
    const cpu_spmm_product *p = w->product;
    const gnt_spmm_args *a = p->args;
    const cpu_spmm_split *split = p->split;
    const int64_t width = gnti_min_i64(CPU_SPMM_SLAB, w->strip->width - column);

    w->column = column;
    w->floats = width > CPU_SPMM_SLAB / 2 ? CPU_SPMM_SLAB : CPU_SPMM_SLAB / 2;
    w->x = w->strip->x + column;
    w->job =
        (cpu_spmm_job){ .offsets = p->graph->offsets,
                        .columns = p->graph->columns,
                        .num_arcs = p->graph->num_arcs,
                        .x = w->slab,
                        .self_x = a->self_kind != GNT_SELF_NONE ? w->slab : NULL,
                        .self = a->self_kind == GNT_SELF_VECTOR ? cpu_floats(a->self) : NULL,
                        .self_rows = a->x.rows,
                        .row_scale = a->epilogue.row_scale != NULL ? cpu_floats(a->epilogue.row_scale) : NULL,
                        .alpha = a->alpha,
                        .x_stride = w->floats,
                        .width = width };
    cpu_each(p->num_threads, gnti_ceil_div(p->graph->num_cols, COPY_ROWS), w, copy_rows);
    cpu_each(p->num_threads, split->num_pieces + w->blocks->num_units, w, run_item);
    for (int64_t i = 0; i < split->num_split; i++)
        cpu_spmm_add_split_row(p, w->strip, &w->job, column, i);
}

void cpu_spmm_by_blocks(const cpu_spmm_product *p, const cpu_spmm_strip *s, float *scratch)
{
    const gnt_spmm_args *a = p->args;
    slab_work w = { .product = p,
                    .strip = s,
                    .blocks = p->split->blocks,
                    .src_scale = a->src_scale != NULL ? cpu_floats(a->src_scale) : NULL,
                    .x_stride = a->x.row_stride,
                    .slab = scratch,
                    .sums = scratch + slab_floats(p) };

    for (int64_t c = 0; c < s->width; c += CPU_SPMM_SLAB)
        run_slab(&w, c);
}
