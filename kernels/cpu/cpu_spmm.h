/* SPDX-License-Identifier: Apache-2.0 */
/* The fast sparse product: its plan, a job of one column tile, and the row kernels of each vector level.
 *
 * A block of members is one wide row of x and y. A job sums rows of a tile of up to 256 columns:
 *   y_r = factor_r (self_r s_r x_r + sum_e w_e s_j x_j),  j = columns[e], factor_r = alpha row_scale_r
 * entries in order, one float32 accumulator a column; kernels take rows of at most 4096 entries (longer ones
 * are cut by the driver) and use no fused multiply-add, so that every level gives the same bits.
 */
#ifndef GNTI_KERNELS_CPU_SPMM_H
#define GNTI_KERNELS_CPU_SPMM_H

#include "kernels/cpu/cpu_kernels.h"

typedef struct cpu_spmm_job {
    int64_t first; /* row r is offsets[r - first], y + (r - first) * y_stride */
    const int64_t *offsets;
    const int32_t *columns;
    int64_t num_arcs;       /* prefetches stop here */
    const float *weights;   /* (arcs) or NULL */
    const float *src_scale; /* (sources), 1 apart, or NULL */
    const float *x;
    const float *self_x; /* row r's own source is self_x + r * x_stride; NULL: no self term */
    const float *self;   /* (rows) or NULL: 1 */
    int64_t self_rows;   /* rows from here on have no own source (bipartite blocks) */
    const float *row_scale;
    float alpha;
    float *y;
    int64_t x_stride, y_stride, width; /* width: columns of this tile */
} cpu_spmm_job;

typedef void (*cpu_spmm_rows)(const cpu_spmm_job *j, int64_t first_row, int64_t end_row);

/* Entries of up to 4 rows within one block of sources, a slab of x at a time: see cpu_spmm_blocks.c. */
enum { CPU_SPMM_GROUP = 4, CPU_SPMM_SLAB = 32, CPU_SPMM_UNIT = 512 };
typedef struct cpu_spmm_block_job {
    const uint16_t *columns, *row, *entries; /* of the unit's rows in this block */
    int64_t num_rows, floats;                /* floats of a slab's row: 16 or 32 */
    const float *x;                          /* slab of the block's sources */
    float *sum;                              /* (num_rows, floats) so far */
    bool first;                              /* sums start here: with the rows' own x, or 0 without */
    const float *own, *own_factor;           /* slab of the unit's rows; NULL: 1 */
    int64_t own_rows;
    const float *factor; /* last block: what row r's sum is multiplied with; else NULL */
} cpu_spmm_block_job;
typedef void (*cpu_spmm_block)(const cpu_spmm_block_job *j);

/* Largest terms of one row, or its sum of those that were chosen (gradient): columns [0, width) of a tile. */
typedef struct cpu_spmm_max_job {
    int64_t row, begin, end; /* its entries */
    const int32_t *columns;
    int64_t num_arcs; /* prefetches stop here */
    const float *weights, *src_scale;
    const float *x;
    int64_t x_stride, width;
    bool own; /* row `row` of x comes first */
    float own_factor;
    const int32_t *chosen; /* gradient: row i of x counts where row i of these is key */
    int64_t chosen_stride;
    int32_t key;
    float *value;    /* room for whole vectors; MAX without a term: 0 */
    int32_t *winner; /* MAX: columns, or -1 */
} cpu_spmm_max_job;
typedef void (*cpu_spmm_max_row)(const cpu_spmm_max_job *j);

/* Kernels of a level: [scaled][vectors - 1][tail], scaled: with weights or src_scale. */
enum { CPU_SPMM_MAX_VECTORS = 16 };
typedef struct cpu_spmm_kernels {
    int32_t vector_floats, max_vectors;
    cpu_spmm_rows rows[2][CPU_SPMM_MAX_VECTORS][2];
    cpu_spmm_block block;
    cpu_spmm_max_row max, max_grad;
} cpu_spmm_kernels;

extern const cpu_spmm_kernels cpu_spmm_kernels_portable, cpu_spmm_kernels_avx2, cpu_spmm_kernels_avx512;

/* How the rows of a plan are given out: chunks with about equal arcs + rows; rows of many arcs in pieces of
 * 4096. */
typedef struct cpu_spmm_piece {
    int64_t row, begin, end; /* entries */
} cpu_spmm_piece;

enum { CPU_SPMM_NUM_TILES = 4, CPU_SPMM_NUM_WIDTHS = 8, CPU_SPMM_TRIALS = 2 };

/* Which column tile is quickest for a width: each is tried on the first calls, then the best one stays. */
typedef struct cpu_spmm_choice {
    int64_t width;
    int32_t calls;
    double seconds[CPU_SPMM_NUM_TILES]; /* the least so far */
} cpu_spmm_choice;

typedef struct cpu_spmm_split {
    int64_t num_chunks;
    int64_t *chunk; /* (num_chunks + 1) rows, or places in the plan's list of rows */
    int64_t num_long;
    int64_t *long_row;     /* (num_long) ascending: more than 4096 entries */
    int64_t split_entries; /* long rows beyond this many are shared by threads, piece by piece */
    int64_t num_pieces, num_split;
    cpu_spmm_piece *piece; /* (num_pieces) of split rows */
    int64_t *split_first;  /* (num_split + 1) first piece of each split row */
    float *partial;        /* (num_pieces, CPU_SPMM_MAX_TILE) */
    cpu_spmm_choice choice[CPU_SPMM_NUM_WIDTHS];
    struct cpu_spmm_blocks *blocks; /* a second layout of the arcs, or NULL */
} cpu_spmm_split;

enum { CPU_SPMM_MAX_TILE = 256 };

/* A *strip* is what one read of the indices serves: a block of members that lie side by side in x and y, or one member. */
typedef struct cpu_spmm_strip {
    int64_t first_member, num_members, width; /* width of all its members together */
    float *x, *y;
    const float *weights;
} cpu_spmm_strip;

/* A product on its way: what its rows and tiles share. */
typedef struct cpu_spmm_product {
    const gnt_spmm_plan_args *graph;
    const gnt_spmm_args *args;
    cpu_spmm_split *split;
    const cpu_kernels *kernels;
    const cpu_spmm_kernels *rows;
    bool plain;                   /* kernels store results themselves */
    int64_t tile, shared_entries; /* rows of more entries are shared by the threads */
    int32_t num_threads;
} cpu_spmm_product;

/* Epilogue of finished rows [first, first + n) in columns [column, column + width) of the strip. */
void cpu_spmm_finish_rows(const cpu_spmm_product *p, const cpu_spmm_strip *s, int64_t first, int64_t n,
                          int64_t column, int64_t width, const float *value, int64_t value_stride);
/* Rows of more than 4096 entries: one of their pieces, a whole row by one thread, the sum of split row i. */
void cpu_spmm_run_piece(const cpu_spmm_product *p, const cpu_spmm_job *j, const cpu_spmm_piece *piece,
                        float *out);
void cpu_spmm_long_row(const cpu_spmm_product *p, const cpu_spmm_strip *s, const cpu_spmm_job *j,
                       int64_t column, int64_t r);
void cpu_spmm_add_split_row(const cpu_spmm_product *p, const cpu_spmm_strip *s, const cpu_spmm_job *j,
                            int64_t column, int64_t i);

/* cpu_spmm_blocks.c: the layout by blocks of sources, made for lasting plans of dense graphs (*out NULL for others); whether a
 * call can use it; floats of scratch for one of strips so wide; one strip of such a call. */
gnt_status cpu_spmm_blocks_create(const gnt_spmm_plan_args *a, int32_t num_threads,
                                  struct cpu_spmm_blocks **out);
void cpu_spmm_blocks_free(struct cpu_spmm_blocks **blocks);
bool cpu_spmm_has_blocks(const gnt_spmm_plan *p, const gnt_spmm_args *a);
size_t cpu_spmm_blocks_scratch(const cpu_spmm_product *p);
void cpu_spmm_by_blocks(const cpu_spmm_product *p, const cpu_spmm_strip *s, float *scratch);

gnt_status cpu_spmm_plan(gnt_stream *s, const gnt_spmm_plan_args *a, gnt_spmm_plan **out);
gnt_status cpu_spmm(gnt_stream *s, const gnt_spmm_plan *p, const gnt_spmm_args *a);
void cpu_spmm_plan_free(gnt_spmm_plan *p);

/* Whether the row kernels take a call; and rows [first, end) of one that they take, or those of them that the plan lists, by the
 * calling thread alone. */
bool cpu_spmm_is_fast(const gnt_spmm_args *a);
void cpu_spmm_range(const gnt_device *dev, const gnt_spmm_plan *p, const gnt_spmm_args *a, int64_t first,
                    int64_t end);

/* The first place of the plan whose row is not below `row`. */
int64_t cpu_spmm_place(const gnt_spmm_plan *p, int64_t row);

/* Largest terms and their gradient, where their kernels take the call. */
void cpu_spmm_max(gnt_stream *s, const cpu_spmm_kernels *rows, const gnt_spmm_plan *p,
                  const gnt_spmm_args *a);
/* Every case that the row kernels do not take: bfloat16, scales with a stride. */
void cpu_spmm_generic(gnt_stream *s, const gnt_spmm_plan *p, const gnt_spmm_args *a);

/* Row number `place` of the plan: of its range, or in its list. */
static inline int64_t cpu_spmm_row(const gnt_spmm_plan_args *a, int64_t place)
{
    return a->rows != NULL ? a->rows[place] : place;
}

/* The tile to use for a call of this width, and what it took. */
int cpu_spmm_choice_next(cpu_spmm_split *split, int64_t width, int64_t *out_tile);
void cpu_spmm_choice_note(cpu_spmm_split *split, int slot, int64_t tile, double seconds);

#endif
