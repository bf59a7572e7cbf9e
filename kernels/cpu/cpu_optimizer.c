/* SPDX-License-Identifier: Apache-2.0 */
/* Optimisers over the packed arena of all parameters of all members (formulas: ref_optimizer.c).
 *
 * Work is cut into pieces of 8192 values of one member of one segment. First the pieces' sums of squares, which also
 * find what is not finite; they are added in order, in double, so that clipping does not depend on the threads. Then the
 * update, with one set of constants a piece.
 */
#include "base/size.h"
#include "kernels/cpu/cpu_kernels.h"

#include <math.h>

enum { PIECE = 8192 };

typedef struct member_state {
    double norm_squares;
    float clip;
    bool skip;
} member_state;

static int64_t pieces_of(const gnt_param_segment *g)
{
    return gnti_ceil_div(g->count, PIECE);
}

static float *at(gnt_buffer *buf, const gnt_param_segment *g, int64_t m)
{
    return (float *)buf->head.host + g->offset + m * g->count;
}

/* Piece k of member m: its segment, first value and count. */
typedef struct piece {
    const gnt_param_segment *segment;
    int32_t index;
    int64_t first, count;
} piece;

static piece piece_at(const gnt_optimizer_args *a, int64_t k)
{
    int32_t i = 0;

    while (k >= pieces_of(&a->segments[i]))
        k -= pieces_of(&a->segments[i++]);
    return (piece){ &a->segments[i], i, k * PIECE, gnti_min_i64(PIECE, a->segments[i].count - k * PIECE) };
}

/* Sum of squares in the pieces' order, first segment that is not finite, clip factor. */
static member_state judge(const gnt_optimizer_args *a, int64_t m, const double *squares, int64_t num_pieces,
                          int32_t *bad)
{
    const gnti_step_head *step = a->step->head.host;
    const double limit = a->clip_hyper >= 0 ? (double)gnti_step_hyper(step, a->clip_hyper)[m] : 0.0;
    member_state s = { .clip = 1.0f, .skip = !gnti_step_live(step)[m] };
    double norm;

    *bad = 0;
    for (int64_t k = 0; k < num_pieces && !s.skip; k++) {
        s.norm_squares += squares[k];
        if (!isfinite(squares[k]) && *bad == 0)
            *bad = piece_at(a, k).index + 1;
    }
    s.skip = s.skip || *bad != 0;
    norm = sqrt(s.norm_squares);
    if (!s.skip && limit > 0.0 && norm > limit)
        s.clip = (float)fmin(1.0, limit / (norm + 1e-6));
    return s;
}

static void update(const gnt_optimizer_args *a, const cpu_kernels *k, int64_t m, float clip, const piece *p)
{
    const gnti_step_head *step = a->step->head.host;
    const float lr = gnti_step_hyper(step, a->lr_hyper)[m];
    const float decay =
        p->segment->decay_hyper >= 0 ? gnti_step_hyper(step, p->segment->decay_hyper)[m] : 0.0f;
    cpu_adam c = { .decay = decay,
                   .shrink = 1.0f,
                   .clip = clip,
                   .momentum = (float)a->beta1,
                   .rest1 = (float)(1.0 - a->beta1),
                   .rest2 = (float)(1.0 - a->beta2),
                   .rate = lr,
                   .eps = (float)a->eps };
    float *w = at(a->weights, p->segment, m) + p->first;
    const float *g = at(a->grads, p->segment, m) + p->first;

    if (a->kind == GNT_OPTIMIZER_SGD) {
        k->sgd(&c, a->nesterov, w, g, a->beta1 != 0.0 ? at(a->moment1, p->segment, m) + p->first : NULL,
               p->count);
        return;
    }
    c.rate = (float)((double)lr / (double)gnti_step_hyper(step, a->corr1_hyper)[m]);
    c.root_scale = (float)(1.0 / sqrt((double)gnti_step_hyper(step, a->corr2_hyper)[m]));
    if (a->kind == GNT_OPTIMIZER_ADAMW) {
        c.shrink = (float)(1.0 - (double)lr * (double)decay);
        c.decay = 0.0f;
    }
    k->adam(&c, w, g, at(a->moment1, p->segment, m) + p->first, at(a->moment2, p->segment, m) + p->first,
            p->count);
}

typedef struct step_work {
    const gnt_optimizer_args *args;
    const cpu_kernels *kernels;
    member_state *state;
    double *squares;
    int64_t num_pieces;
} step_work;

static void square_piece(void *user, int64_t i, int32_t thread)
{
    const step_work *w = user;
    const piece p = piece_at(w->args, i % w->num_pieces);

    (void)thread;
    w->squares[i] = w->kernels->squares(at(w->args->grads, p.segment, i / w->num_pieces) + p.first, p.count);
}

static void update_piece(void *user, int64_t i, int32_t thread)
{
    const step_work *w = user;
    const piece p = piece_at(w->args, i % w->num_pieces);
    const int64_t m = i / w->num_pieces;

    (void)thread;
    if (!w->state[m].skip)
        update(w->args, w->kernels, m, w->state[m].clip, &p);
}

gnt_status cpu_optimizer_step(gnt_stream *s, const gnt_optimizer_args *a)
{
    gnt_status st = GNT_OK;
    const gnt_device *dev = s->head.device;
    step_work w = { .args = a, .kernels = cpu_kernels_of(dev->isa) };
    int32_t *bad = a->bad->head.host;
    void *scratch = NULL;
    int64_t total;
    int32_t team;

    for (int32_t i = 0; i < a->num_segments; i++)
        w.num_pieces += pieces_of(&a->segments[i]);
    total = w.num_pieces * a->num_members;
    team = cpu_team(dev, (double)total * PIECE / 4.0);
    GNT_TRY(cpu_scratch(s, (size_t)total * sizeof *w.squares + (size_t)a->num_members * sizeof *w.state,
                        &scratch));
    w.squares = scratch;
    w.state = (member_state *)(w.squares + total);
    cpu_each(team, total, &w, square_piece);
    for (int32_t m = 0; m < a->num_members; m++)
        w.state[m] = judge(a, m, w.squares + m * w.num_pieces, w.num_pieces, &bad[m]);
    cpu_each(team, total, &w, update_piece);
done:
    return st;
}
