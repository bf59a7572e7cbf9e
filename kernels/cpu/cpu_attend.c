/* SPDX-License-Identifier: Apache-2.0 */
/* Attention along arcs: from views to jobs and pieces, threads over chunks of rows, long rows in pieces of 4096 entries.
 *
 * No array has the size of the arcs: forward keeps max and sum of each row's softmax, the gradient computes a_ij again. By
 * rows, ds_dst_i = sum_j de_ij needs the rows h_j of half the arcs at most: since sum_j a_ij (keep da_ij - r_i) = 0, the arcs
 * with e <= 0 add up to minus those with e > 0, and
 *   ds_dst_i = (1 - slope) sum over e > 0 = -(1 - slope) sum over e <= 0 of a_ij (keep da_ij - r_i),
 * whichever arcs are fewer (exactly 0 when all lie on one side); a row without a gradient reads none.
 * Pieces of a long row have their own max; they are added in order, in double, scaled to the largest.
 */
#include "kernels/cpu/cpu_attend.h"

#include "base/size.h"
#include "kernels/cpu/cpu_epilogue.h"
#include "kernels/cpu/cpu_math.h"
#include "kernels/cpu/cpu_spmm.h"

#include <string.h>

typedef enum pass { FORWARD, BY_ROWS, BY_COLUMNS } pass;
enum { ROW_HEADS = 5 }; /* rows of (heads) that a thread keeps beside acc */

typedef struct work {
    pass pass;
    const gnt_spmm_plan *plan;
    const gnt_attend_args *forward;
    const gnt_attend_grad_args *grad;
    const cpu_attend_kernels *kernels;
    const cpu_kernels *pointwise;
    cpu_attend_job job; /* of member 0 */
    int64_t members, width, heads;
    float *threads; /* (team, thread_floats) */
    int64_t thread_floats;
    float *partial; /* (members, pieces, 2 heads + width) max, sum, acc of pieces of shared rows */
    float *sides;   /* (members, shared rows, heads) by rows */
} work;

static const cpu_attend_kernels *kernels_of(gnti_isa isa, int64_t width)
{
#if defined(__x86_64__)
    if (isa == GNTI_ISA_AVX512 && width % 16 > 0 && width % 16 <= 8) /* vectors of 16 would be half empty */
        isa = GNTI_ISA_AVX2;
    if (isa == GNTI_ISA_AVX512)
        return &cpu_attend_kernels_avx512;
    if (isa == GNTI_ISA_AVX2)
        return &cpu_attend_kernels_avx2;
#endif
    (void)isa;
    (void)width;
    return &cpu_attend_kernels_portable;
}

/* Floats of an array in the scratch, whole cache lines. */
static int64_t padded(int64_t floats)
{
    return (floats + 15) / 16 * 16;
}

static const float *row_of(const gnt_mat_view *v, int64_t r, int64_t m)
{
    return cpu_floats(v) + cpu_member_offset(v, m) + r * v->row_stride;
}

static float *row_to(const gnt_mat_view *v, int64_t r, int64_t m)
{
    return cpu_floats(v) + cpu_member_offset(v, m) + r * v->row_stride;
}

static cpu_draw draw_of(const gnt_arc_dropout *d, int64_t m)
{
    const gnt_dropout plain = { .hyper = d->hyper, .ordinal = d->ordinal };

    return cpu_draw_make(&plain, d->step, m);
}

/* The job of member m. */
static cpu_attend_job job_of(const work *w, int64_t m)
{
    cpu_attend_job j = w->job;
    const gnt_mat_view *x, *score;

    if (w->pass == FORWARD) {
        x = &w->forward->h;
        score = &w->forward->s_src;
        j.draw = draw_of(&w->forward->dropout, m);
    } else {
        x = w->pass == BY_ROWS ? &w->grad->h : &w->grad->grad;
        score = w->pass == BY_ROWS ? &w->grad->s_src : &w->grad->stat;
        j.draw = draw_of(&w->grad->dropout, m);
    }
    j.x = row_of(x, 0, m);
    j.x_stride = x->row_stride;
    j.score = row_of(score, 0, m);
    j.score_stride = score->row_stride;
    return j;
}

/* The operands of row r; results go to `at`: max, sum, inverse, r, side, then acc. */
static cpu_attend_piece piece_of(const work *w, int64_t r, int64_t m, float *at)
{
    const gnt_spmm_plan_args *g = &w->plan->head.args;
    cpu_attend_piece p = { .row = r,
                           .begin = g->offsets[r],
                           .end = g->offsets[r + 1],
                           .own = r < g->num_cols,
                           .max = at,
                           .sum = at + w->heads,
                           .inverse = at + 2 * w->heads,
                           .r = at + 3 * w->heads,
                           .side = at + 4 * w->heads,
                           .acc = at + ROW_HEADS * w->heads };

    if (w->pass == FORWARD) {
        p.score = row_of(&w->forward->s_dst, r, m);
    } else if (w->pass == BY_ROWS) {
        p.score = row_of(&w->grad->s_dst, r, m);
        p.top = row_of(&w->grad->soft, r, m);
        p.value = row_of(&w->grad->grad, r, m);
    } else {
        p.score = row_of(&w->grad->s_src, r, m);
        p.value = row_of(&w->grad->h, r, m);
    }
    return p;
}

/* ---- a finished row ------------------------------------------------------------------------------------------------ */

static void store_forward(const work *w, const cpu_attend_piece *p, int64_t m, float *inverse)
{
    const gnt_attend_args *a = w->forward;
    const float scale = a->epilogue.row_scale != NULL ? *row_of(a->epilogue.row_scale, p->row, 0) : 1.0f;
    const float factor = a->alpha * scale;
    float *out = row_to(&a->out, p->row, m);
    const bool plain = a->beta == 0.0f && cpu_epilogue_is_plain(&a->epilogue);
    float *value = plain ? out : p->acc;

    for (int64_t h = 0; h < w->heads; h++)
        inverse[h] = 1.0f / p->sum[h];
    w->kernels->scale(p->acc, inverse, (int32_t)w->heads, w->job.width, value);
    if (factor != 1.0f)
        w->pointwise->scale_to(value, value, factor, w->width);
    if (!plain) {
        const cpu_output_block block = { .member = m,
                                         .first_row = p->row,
                                         .num_rows = 1,
                                         .width = w->width,
                                         .value = value,
                                         .dst = out,
                                         .value_stride = w->width,
                                         .dst_stride = a->out.row_stride,
                                         .beta = a->beta };

        cpu_epilogue_apply(w->pointwise, &a->epilogue, &block);
    }
    if (a->soft.buf != NULL) {
        float *soft = row_to(&a->soft, p->row, m);

        memcpy(soft, p->max, (size_t)w->heads * sizeof *soft);
        memcpy(soft + w->heads, p->sum, (size_t)w->heads * sizeof *soft);
    }
}

static void store_by_row(const work *w, const cpu_attend_piece *p, int64_t m)
{
    float *ds = row_to(&w->grad->ds_dst, p->row, m);

    for (int64_t h = 0; h < w->heads; h++)
        ds[h] = p->side[h] * (1.0f - w->job.slope) * p->sum[h];
}

static void store_by_column(const work *w, const cpu_attend_piece *p, int64_t m)
{
    memcpy(row_to(&w->grad->ds_src, p->row, m), p->sum, (size_t)w->heads * sizeof(float));
    memcpy(row_to(&w->grad->dh, p->row, m), p->acc, (size_t)w->width * sizeof(float));
}

static void store_row(const work *w, const cpu_attend_piece *p, int64_t m, float *thread)
{
    if (w->pass == FORWARD)
        store_forward(w, p, m, thread + 2 * w->heads);
    else if (w->pass == BY_ROWS)
        store_by_row(w, p, m);
    else
        store_by_column(w, p, m);
}

/* ---- by rows: what the pieces of a row need ------------------------------------------------------------------------ */

/* r, 1 / sum and stat; false when the row has no gradient. */
static bool begin_by_row(const work *w, cpu_attend_piece *p, int64_t m, float *thread)
{
    const int64_t heads = w->heads;
    const float *soft = p->top, *value = p->value;
    float *stat = row_to(&w->grad->stat, p->row, m), *inverse = thread + 2 * heads, *r = thread + 3 * heads;
    bool any = false;

    for (int64_t h = 0; h < heads; h++)
        inverse[h] = 1.0f / soft[heads + h];
    w->kernels->dots(value, row_of(&w->grad->out, p->row, m), (int32_t)heads, w->job.width, r);
    memcpy(stat, p->score, (size_t)heads * sizeof *stat);
    memcpy(stat + heads, soft, (size_t)heads * sizeof *stat);
    memcpy(stat + 2 * heads, inverse, (size_t)heads * sizeof *stat);
    memcpy(stat + 3 * heads, r, (size_t)heads * sizeof *stat);
    for (int64_t c = 0; c < w->width && !any; c++)
        any = value[c] != 0.0f;
    return any;
}

/* The side with fewer arcs, per head. */
static void choose_sides(const work *w, const cpu_attend_job *j, const cpu_attend_piece *p, float *side)
{
    int64_t positive[CPU_ATTEND_HEADS];

    w->kernels->count(j, p, positive);
    for (int64_t h = 0; h < w->heads; h++)
        side[h] = 2 * positive[h] <= p->end - p->begin + p->own ? 1.0f : -1.0f;
}

/* ---- rows and pieces ----------------------------------------------------------------------------------------------- */

static void run_piece(const work *w, const cpu_attend_job *j, const cpu_attend_piece *p)
{
    if (w->pass == FORWARD)
        w->kernels->forward(j, p);
    else if (w->pass == BY_ROWS)
        w->kernels->by_row(j, p);
    else
        w->kernels->by_column(j, p);
}

/* Sums of pieces in order; those of forward are scaled to the largest max. */
typedef struct row_sum {
    double *sum, *acc;
    float *max;
} row_sum;

static void add_piece(const work *w, const cpu_attend_piece *p, const row_sum *s)
{
    for (int64_t h = 0; h < w->heads; h++) {
        double scale = 1.0;

        if (w->pass == FORWARD) {
            if (p->max[h] > s->max[h]) { /* what is there so far becomes smaller */
                const double less = (double)cpu_exp(s->max[h] - p->max[h]);

                s->sum[h] *= less;
                for (int64_t k = 0; k < w->job.width; k++)
                    s->acc[h * w->job.width + k] *= less;
                s->max[h] = p->max[h];
            } else {
                scale = (double)cpu_exp(p->max[h] - s->max[h]);
            }
        }
        s->sum[h] += scale * (double)p->sum[h];
        for (int64_t k = 0; k < w->job.width && w->pass != BY_ROWS; k++)
            s->acc[h * w->job.width + k] += scale * (double)p->acc[h * w->job.width + k];
    }
}

static row_sum begin_sum(const work *w, float *thread)
{
    row_sum s = { .max = thread + ROW_HEADS * w->heads + w->width };

    s.sum = (double *)(void *)(thread + padded((ROW_HEADS + 1) * w->heads + w->width));
    s.acc = s.sum + w->heads;
    for (int64_t h = 0; h < w->heads; h++) {
        s.sum[h] = 0.0;
        s.max[h] = -__builtin_inff();
    }
    memset(s.acc, 0, (size_t)w->width * sizeof *s.acc);
    return s;
}

static void end_sum(const work *w, const row_sum *s, cpu_attend_piece *p)
{
    for (int64_t h = 0; h < w->heads; h++) {
        p->sum[h] = (float)s->sum[h];
        if (w->pass == FORWARD)
            p->max[h] = s->max[h];
    }
    for (int64_t c = 0; c < w->width; c++)
        p->acc[c] = (float)s->acc[c];
}

/* One row by one thread. */
static void run_row(const work *w, const cpu_attend_job *j, int64_t r, int64_t m, float *thread)
{
    cpu_attend_piece p = piece_of(w, r, m, thread);
    const int64_t begin = p.begin, end = p.end;

    if (w->pass == BY_ROWS) {
        float *side = thread + 4 * w->heads;

        if (!begin_by_row(w, &p, m, thread)) {
            memset(row_to(&w->grad->ds_dst, r, m), 0, (size_t)w->heads * sizeof(float));
            return;
        }
        choose_sides(w, j, &p, side);
    }
    if (end - begin <= GNTI_ROW_ENTRIES) {
        run_piece(w, j, &p);
    } else {
        const row_sum sum = begin_sum(w, thread);

        for (int64_t e = begin; e < end; e += GNTI_ROW_ENTRIES) {
            p.begin = e;
            p.end = gnti_min_i64(end, e + GNTI_ROW_ENTRIES);
            run_piece(w, j, &p);
            p.own = false;
            add_piece(w, &p, &sum);
        }
        end_sum(w, &sum, &p);
    }
    store_row(w, &p, m, thread);
}

static int64_t partial_floats(const work *w)
{
    return 2 * w->heads + w->width;
}

/* Piece i of the shared rows into its place. */
static void run_shared_piece(const work *w, const cpu_attend_job *j, int64_t i, int64_t m, float *thread)
{
    const cpu_spmm_split *split = w->plan->split;
    const cpu_spmm_piece *at = &split->piece[i];
    float *to = w->partial + (m * split->num_pieces + i) * partial_floats(w);
    cpu_attend_piece p = piece_of(w, at->row, m, thread);
    int64_t k = 0;

    if (w->pass == BY_ROWS) {
        while (split->split_first[k + 1] <= i)
            k++;
        p.side = w->sides + (m * split->num_split + k) * w->heads;
        if (at->begin == p.begin)
            begin_by_row(w, &p, m, thread);
        else { /* stat is being written by the first piece's thread */
            w->kernels->dots(p.value, row_of(&w->grad->out, at->row, m), (int32_t)w->heads, w->job.width,
                             thread + 3 * w->heads);
            for (int64_t h = 0; h < w->heads; h++)
                thread[2 * w->heads + h] = 1.0f / p.top[w->heads + h];
        }
    }
    p.own = p.own && at->begin == p.begin;
    p.begin = at->begin;
    p.end = at->end;
    p.max = to;
    p.sum = to + w->heads;
    p.acc = to + 2 * w->heads;
    run_piece(w, j, &p);
}

/* Item i of a member: pieces of shared rows first, then chunks of rows. */
static void run_item(void *user, int64_t i, int32_t thread)
{
    const work *w = user;
    const cpu_spmm_split *split = w->plan->split;
    const gnt_spmm_plan_args *g = &w->plan->head.args;
    const int64_t items = split->num_pieces + split->num_chunks, m = i / items;
    int64_t item = i % items;
    float *mine = w->threads + thread * w->thread_floats;
    const cpu_attend_job j = job_of(w, m);

    if (item < split->num_pieces) {
        run_shared_piece(w, &j, item, m, mine);
        return;
    }
    item -= split->num_pieces;
    for (int64_t place = split->chunk[item]; place < split->chunk[item + 1]; place++) {
        const int64_t r = g->rows != NULL ? g->rows[place] : place;

        if (split->num_split == 0 || g->offsets[r + 1] - g->offsets[r] <= split->split_entries)
            run_row(w, &j, r, m, mine);
    }
}

static void find_sides(void *user, int64_t i, int32_t thread)
{
    const work *w = user;
    const cpu_spmm_split *split = w->plan->split;
    const int64_t m = i / split->num_split, k = i % split->num_split;
    const cpu_attend_job j = job_of(w, m);
    const cpu_attend_piece p =
        piece_of(w, split->piece[split->split_first[k]].row, m, w->threads + thread * w->thread_floats);

    choose_sides(w, &j, &p, w->sides + i * w->heads);
}

static void add_shared_row(void *user, int64_t i, int32_t thread)
{
    const work *w = user;
    const cpu_spmm_split *split = w->plan->split;
    const int64_t m = i / split->num_split, k = i % split->num_split;
    float *mine = w->threads + thread * w->thread_floats;
    cpu_attend_piece whole = piece_of(w, split->piece[split->split_first[k]].row, m, mine);
    const row_sum sum = begin_sum(w, mine);

    for (int64_t q = split->split_first[k]; q < split->split_first[k + 1]; q++) {
        float *from = w->partial + (m * split->num_pieces + q) * partial_floats(w);
        const cpu_attend_piece p = { .max = from, .sum = from + w->heads, .acc = from + 2 * w->heads };

        add_piece(w, &p, &sum);
    }
    end_sum(w, &sum, &whole);
    if (w->pass == BY_ROWS)
        whole.side = w->sides + i * w->heads;
    store_row(w, &whole, m, mine);
}

/* ---- one pass ------------------------------------------------------------------------------------------------------ */

static int32_t list_vectors(const work *w, cpu_attend_vector *list)
{
    const int64_t floats = w->kernels->vector_floats;
    int32_t n = 0;

    for (int64_t h = 0; h < w->heads; h++)
        for (int64_t k = 0; k < w->job.width; k += floats)
            list[n++] = (cpu_attend_vector){ (int32_t)(h * w->job.width + k), (int32_t)h,
                                             (int32_t)gnti_min_i64(floats, w->job.width - k) };
    return n;
}

static gnt_status run_pass(gnt_stream *s, work *w)
{
    gnt_status st = GNT_OK;
    const gnt_device *dev = s->head.device;
    const cpu_spmm_split *split = w->plan->split;
    const gnt_spmm_plan_args *g = &w->plan->head.args;
    const double values =
        (double)(g->num_arcs + g->num_rows) * (double)(w->members * (w->width + 8 * w->heads));
    const int32_t team = cpu_team(dev, values);
    const int64_t per_head = gnti_ceil_div(w->job.width, (int64_t)4); /* at 4 floats a vector */
    int64_t list, partial, sides;
    void *scratch = NULL;

    /* a thread: ROW_HEADS rows of heads, acc, max of a long row, then its double sums */
    w->thread_floats = padded((ROW_HEADS + 1) * w->heads + w->width) + padded(2 * (w->heads + w->width));
    list = padded(3 * w->heads * per_head);
    partial = padded(w->members * split->num_pieces * partial_floats(w));
    sides = padded(w->members * split->num_split * w->heads);
    GNT_TRY(
        cpu_scratch(s, (size_t)(list + partial + sides + team * w->thread_floats) * sizeof(float), &scratch));
    w->kernels = kernels_of(dev->isa, w->job.width);
    w->pointwise = cpu_kernels_of(dev->isa);
    w->job.columns = g->columns;
    w->job.num_arcs = g->num_arcs;
    w->job.num_vectors = list_vectors(w, scratch);
    w->job.vectors = scratch;
    w->job.whole = w->job.width % w->kernels->vector_floats == 0;
    w->job.heads = (int32_t)w->heads;
    w->job.by_columns = w->pass == BY_COLUMNS;
    w->partial = (float *)scratch + list;
    w->sides = w->partial + partial;
    w->threads = w->sides + sides;
    if (w->pass == BY_ROWS)
        cpu_each(team, w->members * split->num_split, w, find_sides);
    cpu_each(team, w->members * (split->num_pieces + split->num_chunks), w, run_item);
    cpu_each(team, w->members * split->num_split, w, add_shared_row);
done:
    return st;
}

static const int64_t *ids_of(const gnt_buffer *ids)
{
    return ids != NULL ? ids->head.host : NULL;
}

gnt_status cpu_attend(gnt_stream *s, const gnt_spmm_plan *p, const gnt_attend_args *a)
{
    work w = { .pass = FORWARD,
               .plan = p,
               .forward = a,
               .members = a->out.members,
               .width = a->out.width,
               .heads = a->heads };

    w.job = (cpu_attend_job){ .width = w.width / w.heads,
                              .slope = a->slope,
                              .src_ids = ids_of(a->dropout.src_ids),
                              .dst_ids = ids_of(a->dropout.dst_ids) };
    return run_pass(s, &w);
}

gnt_status cpu_attend_backward(gnt_stream *s, const gnt_spmm_plan *p, const gnt_attend_grad_args *a)
{
    work w = { .pass = a->transposed ? BY_COLUMNS : BY_ROWS,
               .plan = p,
               .grad = a,
               .members = a->transposed ? a->dh.members : a->stat.members,
               .width = a->h.width,
               .heads = a->heads };

    w.job = (cpu_attend_job){ .width = w.width / w.heads,
                              .slope = a->slope,
                              .src_ids = ids_of(a->dropout.src_ids),
                              .dst_ids = ids_of(a->dropout.dst_ids) };
    return run_pass(s, &w);
}
