/* SPDX-License-Identifier: Apache-2.0 */
/* Chains: each thread takes groups of row blocks and carries every op of the chain through a block (1024 rows, a leaf of
 * the tree of sums) before it goes to the next, so that intermediate rows are read from its cache; a block slice by slice of
 * members (cpu_chain_part.h).
 *
 * The ops are the ordinary ones, called on views of the block's rows and on a serial stream of the thread's own. A sum over
 * rows writes the block's part into a stack of partial sums; after block i of a group as many are merged as i + 1 has
 * trailing zero bits, which is the fixed tree. The groups' roots are added by the same rule, so neither the number of
 * threads nor the grouping changes a bit. Of a chain in several goes a block does its row ops in the go that has the last of
 * its rows, and all sums belong to the late one.
 */
#include "base/alloc.h"
#include "kernels/cpu/cpu_chain_part.h"
#include "kernels/cpu/cpu_epilogue.h"
#include "kernels/cpu/cpu_spmm.h"

#include <string.h>

/* With few blocks a thread the ops alone share the work better, and their rows stay in the cache anyway. */
enum { GROUPS_PER_THREAD = 8, MIN_BLOCKS_PER_THREAD = 4, MAX_LEVELS = 48 };

typedef struct cpu_chain_team {
    int32_t num_threads;
    gnt_device serial;   /* the stream's device with one thread */
    gnt_stream *streams; /* (num_threads), zero but for head and scratch */
} cpu_chain_team;

typedef struct chain {
    const gnt_chain_args *args;
    const cpu_kernels *kernels;
    cpu_chain_team *team;
    int32_t row_ops; /* of a chain in several goes, else 0 */
    int64_t num_blocks, group_blocks, num_groups;
    int32_t levels;     /* group_blocks = 2^levels */
    int64_t sum_floats; /* of all sums of the chain, each rounded up to 16 floats */
    float *roots;       /* (num_groups, sum_floats) */
    float *stacks;      /* (threads, levels + 1, sum_floats) */
    cpu_slices slices;
    cpu_part *slice;          /* (slices.count) */
    gnti_error_record failed; /* the newest failure of a thread */
} chain;

void cpu_chain_team_free(gnt_stream *s)
{
    cpu_chain_team *team = s->team;

    if (team == NULL)
        return;
    for (int32_t i = 0; i < team->num_threads; i++)
        gnti_pages_free(team->streams[i].scratch, team->streams[i].scratch_bytes);
    gnti_free(team->streams);
    gnti_free(team);
    s->team = NULL;
}

static gnt_status take_team(gnt_stream *s, cpu_chain_team **out)
{
    gnt_status st = GNT_OK;
    const gnt_device *dev = s->head.device;
    cpu_chain_team *team = NULL;

    if (s->team == NULL) {
        GNT_TRY(gnti_calloc_bytes((void **)&team, sizeof *team));
        team->num_threads = dev->num_threads;
        team->serial = (gnt_device){ .backend = dev->backend,
                                     .num_threads = 1,
                                     .isa = dev->isa,
                                     .product_isa = dev->product_isa,
                                     .determinism = dev->determinism };
        GNT_TRY(gnti_calloc_array(&team->streams, dev->num_threads));
        for (int32_t i = 0; i < dev->num_threads; i++) {
            team->streams[i].head.backend = dev->backend;
            team->streams[i].head.device = &team->serial;
        }
        s->team = team;
        team = NULL; /* handed over */
    }
    *out = s->team;
done:
    gnti_free(team);
    return st;
}

/* ---- one op on one block ------------------------------------------------------------------------------------------- */

static bool is_sum(const gnt_chain_op *op)
{
    return op->kind == GNTI_OP_REDUCE || (op->kind == GNTI_OP_GEMM && op->a.gemm->trans_a);
}

static const gnt_mat_view *sum_of(const gnt_chain_op *op)
{
    return op->kind == GNTI_OP_REDUCE ? &op->a.reduce->y : &op->a.gemm->c;
}

static int64_t floats_of_sum(const gnt_chain_op *op)
{
    const gnt_mat_view *y = sum_of(op);

    return (int64_t)gnti_round_up((size_t)(y->members * y->rows * y->width), 16);
}

static gnt_status gemm_block(gnt_stream *s, const gnt_gemm_args *g, const cpu_part *p, float *sum)
{
    gnt_gemm_args a = *g;
    gnt_mat_view slots[3];
    gnt_buffer buf = { .head = { .host = NULL } };
    const gnt_row_tree tree = { p->rows, 1, NULL };

    a.a = cpu_part_rows(g->a, p);
    if (g->trans_a) {
        a.b = cpu_part_rows(g->b, p);
        a.c = cpu_part_sum(&g->c, p, sum, &buf);
        a.alpha = 1.0f;
        a.beta = 0.0f;
        a.row_tree = &tree;
    } else {
        a.b = cpu_part_members(g->b, p);
        a.c = cpu_part_rows(g->c, p);
        a.epilogue = cpu_part_epilogue(&g->epilogue, p, slots);
    }
    return cpu_gemm(s, &a);
}

static gnt_status map_block(gnt_stream *s, const gnt_map_args *m, const cpu_part *p)
{
    gnt_map_args a = *m;

    a.a = cpu_part_rows(m->a, p);
    a.b = m->b.rows == m->y.rows ? cpu_part_rows(m->b, p) : cpu_part_members(m->b, p);
    a.y = cpu_part_rows(m->y, p);
    a.dropout.first_row += p->first_row;
    a.step = p->step != NULL ? p->step : m->step;
    return cpu_map(s, &a);
}

static gnt_status reduce_block(gnt_stream *s, const gnt_reduce_args *r, const cpu_part *p, float *sum)
{
    gnt_reduce_args a = *r;
    gnt_buffer buf = { .head = { .host = NULL } };
    const gnt_row_tree tree = { p->rows, 1, NULL };

    a.a = cpu_part_rows(r->a, p);
    a.b = cpu_part_rows(r->b, p);
    a.y = cpu_part_sum(&r->y, p, sum, &buf);
    a.row_tree = &tree;
    a.accumulate = false;
    return cpu_reduce(s, &a);
}

/* The product's rows are listed by its plan; its views are cut by members alone. */
static void spmm_block(gnt_stream *s, const gnt_chain_op *op, const cpu_part *p)
{
    gnt_spmm_args a = *op->a.spmm;
    gnt_mat_view slots[3], weight;
    const cpu_part members = {
        .rows = a.y.rows, .first_member = p->first_member, .members = p->members, .step = p->step
    };

    a.x = cpu_part_members(a.x, p);
    a.y = cpu_part_members(a.y, p);
    if (a.arc_weight != NULL) {
        weight = cpu_part_members(*a.arc_weight, p);
        a.arc_weight = &weight;
    }
    a.epilogue = cpu_part_epilogue(&op->a.spmm->epilogue, &members, slots);
    cpu_spmm_range(s->head.device, op->plan, &a, p->first_row, p->first_row + p->rows);
}

static int64_t rows_of_block(const gnt_chain_args *a, int64_t block)
{
    return gnti_min_i64(GNTI_TREE_ROWS, a->num_rows - block * GNTI_TREE_ROWS);
}

/* Whether a block does its row ops in this go: all its rows, or the last of them, are listed. */
static bool has_row_ops(const gnt_chain_args *a, int64_t block)
{
    const int64_t first = block * GNTI_TREE_ROWS, rows = rows_of_block(a, block);
    const int64_t listed =
        cpu_spmm_place(a->ops[0].plan, first + rows) - cpu_spmm_place(a->ops[0].plan, first);

    return a->go == GNT_CHAIN_EARLY ? listed == rows : listed > 0;
}

/* All ops of this go on one block of a slice; the parts of sums go to `sum`. */
static gnt_status run_block(const chain *c, gnt_stream *s, int64_t block, const cpu_part *p, float *sum)
{
    gnt_status st = GNT_OK;
    const bool row_ops = c->row_ops > 1 && has_row_ops(c->args, block);
    const int32_t num_ops = c->args->go == GNT_CHAIN_EARLY ? c->row_ops : c->args->num_ops;

    for (int32_t i = 0; i < num_ops; i++) {
        const gnt_chain_op *op = &c->args->ops[i];

        if (i > 0 && i < c->row_ops && !row_ops)
            continue;
        if (op->kind == GNTI_OP_GEMM)
            GNT_TRY(gemm_block(s, op->a.gemm, p, sum));
        else if (op->kind == GNTI_OP_MAP)
            GNT_TRY(map_block(s, op->a.map, p));
        else if (op->kind == GNTI_OP_REDUCE)
            GNT_TRY(reduce_block(s, op->a.reduce, p, sum));
        else
            spmm_block(s, op, p);
        if (is_sum(op))
            sum += floats_of_sum(op);
    }
done:
    return st;
}

/* ---- groups and sums ----------------------------------------------------------------------------------------------- */

static void add_part(const chain *c, float *to, const float *from, const cpu_part *slice)
{
    for (int32_t i = 0; i < c->args->num_ops; i++) {
        const gnt_chain_op *op = &c->args->ops[i];
        const gnt_mat_view *y;
        int64_t floats, first;

        if (!is_sum(op) || c->sum_floats == 0)
            continue;
        y = sum_of(op);
        floats = y->rows * y->width;
        first = slice->first_member * floats;
        c->kernels->add_to(to + first, from + first,
                           (slice->members > 0 ? slice->members : y->members) * floats);
        to += floats_of_sum(op);
        from += floats_of_sum(op);
    }
}

/* The blocks of a group for one slice: what it adds up stays in the cache too. */
static gnt_status run_group_slice(const chain *c, int64_t group, int32_t thread, const cpu_part *slice)
{
    gnt_status st = GNT_OK;
    const int64_t first = group * c->group_blocks, n = gnti_min_i64(c->group_blocks, c->num_blocks - first);
    float *stack = c->stacks + (int64_t)thread * (c->levels + 1) * c->sum_floats;
    float *entry[MAX_LEVELS + 1];
    int32_t top = 0;
    cpu_part p = *slice;

    entry[0] = c->roots + group * c->sum_floats;
    for (int32_t i = 1; i <= c->levels; i++)
        entry[i] = stack + (i - 1) * c->sum_floats;
    for (int64_t i = 0; i < n; i++) {
        p.first_row = (first + i) * GNTI_TREE_ROWS;
        p.rows = rows_of_block(c->args, first + i);
        GNT_TRY(run_block(c, &c->team->streams[thread], first + i, &p, entry[top++]));
        for (int64_t bits = i + 1; bits % 2 == 0; bits /= 2, top--)
            add_part(c, entry[top - 2], entry[top - 1], slice);
    }
    for (; top > 1; top--)
        add_part(c, entry[top - 2], entry[top - 1], slice);
done:
    return st;
}

static gnt_status run_group(const chain *c, int64_t group, int32_t thread)
{
    gnt_status st = GNT_OK;

    for (int64_t i = 0; i < c->slices.count; i++)
        GNT_TRY(run_group_slice(c, group, thread, &c->slice[i]));
done:
    return st;
}

/* Adds the groups' roots in place; the sums of all rows end in the first. */
static void add_roots(const chain *c)
{
    float *entry[MAX_LEVELS + 1];
    int32_t top = 0;

    for (int64_t i = 0; i < c->num_groups; i++) {
        entry[top++] = c->roots + i * c->sum_floats;
        for (int64_t bits = i + 1; bits % 2 == 0; bits /= 2, top--)
            c->kernels->add_to(entry[top - 2], entry[top - 1], c->sum_floats);
    }
    for (; top > 1; top--)
        c->kernels->add_to(entry[top - 2], entry[top - 1], c->sum_floats);
}

/* y = alpha sum, or y += sum for an accumulating reduction. */
static void store_sum(const gnt_chain_op *op, const float *sum)
{
    const gnt_mat_view *y = sum_of(op);
    const float alpha = op->kind == GNTI_OP_GEMM ? op->a.gemm->alpha : 1.0f;
    const bool accumulate = op->kind == GNTI_OP_REDUCE && op->a.reduce->accumulate;

    for (int64_t m = 0; m < y->members; m++)
        for (int64_t r = 0; r < y->rows; r++) {
            float *to = cpu_floats(y) + cpu_member_offset(y, m) + r * y->row_stride;

            for (int64_t c = 0; c < y->width; c++, sum++)
                to[c] = accumulate ? to[c] + *sum : alpha * *sum;
        }
}

static void store_sums(const chain *c)
{
    const float *sum = c->roots;

    for (int32_t i = 0; i < c->args->num_ops; i++)
        if (is_sum(&c->args->ops[i])) {
            store_sum(&c->args->ops[i], sum);
            sum += floats_of_sum(&c->args->ops[i]);
        }
}

/* Whether blocks can be cut out of every op; else the chain runs op by op. */
static bool is_cuttable(const gnt_chain_args *a)
{
    for (int32_t i = 0; i < a->num_ops; i++) {
        const gnt_chain_op *op = &a->ops[i];

        if (op->kind == GNTI_OP_SPMM &&
            (!cpu_spmm_is_fast(op->a.spmm) ||
             (op->plan->head.args.rows != NULL && (i > 0 || a->go == GNT_CHAIN_WHOLE))))
            return false;
        if (op->kind == GNTI_OP_MAP && op->a.map->arc_rows != NULL)
            return false;
        if (is_sum(op) && sum_of(op)->dtype != GNT_F32)
            return false;
        if (op->kind == GNTI_OP_GEMM && op->a.gemm->trans_a &&
            (op->a.gemm->trans_b || op->a.gemm->beta != 0.0f || op->a.gemm->epilogue.row_scale != NULL ||
             !cpu_epilogue_is_plain(&op->a.gemm->epilogue)))
            return false;
    }
    return true;
}

/* A row op, on runs of blocks that have it in this go. */
static gnt_status run_rows(gnt_stream *s, const gnt_chain_args *a, const gnt_chain_op *op)
{
    gnt_status st = GNT_OK;
    const int64_t num_blocks = gnti_ceil_div(a->num_rows, GNTI_TREE_ROWS);

    for (int64_t b = 0, n; b < num_blocks; b += n + 1) {
        const int64_t first = b * GNTI_TREE_ROWS;
        cpu_part part;

        for (n = 0; b + n < num_blocks && has_row_ops(a, b + n); n++)
            continue;
        part =
            (cpu_part){ .first_row = first, .rows = gnti_min_i64(n * GNTI_TREE_ROWS, a->num_rows - first) };
        if (n == 0)
            continue;
        if (op->kind == GNTI_OP_GEMM)
            GNT_TRY(gemm_block(s, op->a.gemm, &part, NULL));
        else
            GNT_TRY(map_block(s, op->a.map, &part));
    }
done:
    return st;
}

static gnt_status run_whole(gnt_stream *s, const gnt_chain_args *a)
{
    gnt_status st = GNT_OK;
    const int32_t row_ops = a->go == GNT_CHAIN_WHOLE ? 0 : gnti_chain_row_ops(a);
    const int32_t num_ops = a->go == GNT_CHAIN_EARLY ? row_ops : a->num_ops;

    for (int32_t i = 0; i < num_ops; i++) {
        const gnt_chain_op *op = &a->ops[i];

        if (i > 0 && i < row_ops)
            GNT_TRY(run_rows(s, a, op));
        else if (op->kind == GNTI_OP_GEMM)
            GNT_TRY(cpu_gemm(s, op->a.gemm));
        else if (op->kind == GNTI_OP_SPMM)
            GNT_TRY(cpu_spmm(s, op->plan, op->a.spmm));
        else if (op->kind == GNTI_OP_MAP)
            GNT_TRY(cpu_map(s, op->a.map));
        else
            GNT_TRY(cpu_reduce(s, op->a.reduce));
    }
done:
    return st;
}

/* Groups, and scratch of the stream for their roots and the threads' stacks. */
static gnt_status lay_out(gnt_stream *s, chain *c)
{
    gnt_status st = GNT_OK;
    const int32_t threads = s->head.device->num_threads;
    void *scratch = NULL;
    size_t bytes, slice_bytes;

    c->num_blocks = gnti_ceil_div(c->args->num_rows, GNTI_TREE_ROWS);
    c->group_blocks = 1;
    while (gnti_ceil_div(c->num_blocks, c->group_blocks) > (int64_t)GROUPS_PER_THREAD * threads) {
        c->group_blocks *= 2;
        c->levels++;
    }
    c->num_groups = gnti_ceil_div(c->num_blocks, c->group_blocks);
    c->row_ops = c->args->go == GNT_CHAIN_WHOLE ? 0 : gnti_chain_row_ops(c->args);
    for (int32_t i = 0; i < c->args->num_ops && c->args->go != GNT_CHAIN_EARLY; i++)
        c->sum_floats += is_sum(&c->args->ops[i]) ? floats_of_sum(&c->args->ops[i]) : 0;
    GNT_TRY(gnti_mul_size((size_t)c->sum_floats * sizeof(float),
                          (size_t)(c->num_groups + threads * (c->levels + 1)), &bytes));
    c->slices = cpu_slices_of(c->args);
    slice_bytes = gnti_round_up((size_t)c->slices.count * sizeof *c->slice, 64);
    GNT_TRY(cpu_scratch(s, bytes + 64 + slice_bytes + cpu_slices_bytes(&c->slices), &scratch));
    c->slice = scratch;
    memset(c->slice, 0, slice_bytes);
    scratch = (unsigned char *)scratch + slice_bytes;
    cpu_slices_cut(&c->slices, scratch, c->slice);
    c->roots = (float *)(void *)((unsigned char *)scratch + cpu_slices_bytes(&c->slices));
    c->stacks = c->roots + c->num_groups * c->sum_floats;
    GNT_TRY(take_team(s, &c->team));
done:
    return st;
}

/* A thread that came late to a run has less scratch than the others: it gets as much now, so that no later run allocates. */
static gnt_status level_scratch(const cpu_chain_team *team)
{
    gnt_status st = GNT_OK;
    size_t most = 0;
    void *unused;

    for (int32_t i = 0; i < team->num_threads; i++)
        most = team->streams[i].scratch_bytes > most ? team->streams[i].scratch_bytes : most;
    for (int32_t i = 0; i < team->num_threads; i++)
        GNT_TRY(cpu_scratch(&team->streams[i], most, &unused));
done:
    return st;
}

static void group_body(void *user, int64_t group, int32_t thread)
{
    chain *c = user;

    if (run_group(c, group, thread) != GNT_OK) {
#pragma omp critical
        c->failed = *gnti_error_get();
    }
}

/* Products that go through x block by block need all rows at once: they part a chain. */
static bool is_alone(const gnt_chain_op *op)
{
    return op->kind == GNTI_OP_SPMM && cpu_spmm_has_blocks(op->plan, op->a.spmm);
}

static gnt_status run_part(gnt_stream *s, const gnt_chain_args *a)
{
    gnt_status st = GNT_OK;
    const gnt_device *dev = s->head.device;
    chain c = { .args = a, .kernels = cpu_kernels_of(dev->isa) };

    if (a->num_ops == 1 ||
        a->num_rows <= (int64_t)MIN_BLOCKS_PER_THREAD * dev->num_threads * GNTI_TREE_ROWS || !is_cuttable(a))
        return run_whole(s, a);
    GNT_TRY(lay_out(s, &c));
    cpu_each(dev->num_threads, c.num_groups, &c, group_body);
    if (c.failed.code != GNT_OK)
        GNT_TRY(gnti_error_adopt(&c.failed));
    GNT_TRY(level_scratch(s->team));
    if (c.sum_floats > 0) {
        add_roots(&c);
        store_sums(&c);
    }
done:
    return st;
}

gnt_status cpu_chain(gnt_stream *s, const gnt_chain_args *a)
{
    gnt_status st = GNT_OK;

    for (int32_t i = 0, end; i < a->num_ops; i = end) {
        end = i + 1;
        while (end < a->num_ops && !is_alone(&a->ops[i]) && !is_alone(&a->ops[end]))
            end++;
        if (i == 0 || a->go != GNT_CHAIN_EARLY)
            GNT_TRY(run_part(
                s, &(gnt_chain_args){ a->ops + i, end - i, a->num_rows, i == 0 ? a->go : GNT_CHAIN_WHOLE }));
    }
done:
    return st;
}
