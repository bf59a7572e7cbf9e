/* SPDX-License-Identifier: Apache-2.0 */
/* Attention through the table: checks and counters (formulas and shapes: args.h). Everything is float32; inputs that are
 * shared by the members broadcast, what is written has all members.
 */
#include "base/clock.h"
#include "kernels/backend.h"
#include "kernels/cost.h"
#include "kernels/dispatch_count.h"
#include "kernels/dispatch_check.h"
#include "kernels/view.h"

enum { MAX_HEADS = 64 }; /* the draws of arcs have room for so many */

static const gnti_plan_head *head_of(const gnt_spmm_plan *p)
{
    return (const gnti_plan_head *)(const void *)p;
}

/* What both ops have in common. */
static gnt_status check_common(const gnt_stream *s, const gnti_plan_head *p, int32_t heads, float slope,
                               int64_t width)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(p->backend == ((const gnti_stream_head *)s)->backend, GNT_ERR_ARG,
              "attend: the plan is one of %s", p->backend->name);
    GNT_CHECK(heads >= 1 && heads <= MAX_HEADS, GNT_ERR_ARG, "attend: %d heads, there may be 1 to %d", heads,
              (int)MAX_HEADS);
    GNT_CHECK(width >= heads && width % heads == 0, GNT_ERR_ARG,
              "attend: h is %lld wide, not a multiple of %d heads", (long long)width, heads);
    GNT_CHECK(slope >= 0.0f && slope <= 1.0f, GNT_ERR_ARG, "attend: the slope %g is outside of 0 to 1",
              (double)slope);
done:
    return st;
}

static gnt_status check_arc_dropout(const gnt_stream *s, const gnt_arc_dropout *d, int64_t num_src,
                                    int64_t num_dst, int64_t members)
{
    gnt_status st = GNT_OK;

    if (d->hyper < 0)
        return GNT_OK;
    GNT_TRY(gnti_check_hyper(s, "attend", d->step, d->hyper, members));
    GNT_CHECK(d->ordinal < 4096, GNT_ERR_ARG, "attend: random op %u, the limit is 4095", d->ordinal);
    if (d->src_ids != NULL)
        GNT_TRY(gnti_buffer_check(s, "attend", "src_ids", d->src_ids, (size_t)num_src * sizeof(int64_t)));
    if (d->dst_ids != NULL)
        GNT_TRY(gnti_buffer_check(s, "attend", "dst_ids", d->dst_ids, (size_t)num_dst * sizeof(int64_t)));
done:
    return st;
}

/* One operand: its shape, float32; an input may be shared by the members. */
static gnt_status fits(const gnt_stream *s, const char *name, const gnt_mat_view *v, gnti_view_shape want,
                       bool input)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_view_fits(s, "attend", name, v, want, input ? GNTI_VIEW_ONE_MEMBER : GNTI_VIEW_EXACT));
    GNT_TRY(gnti_check_dtype("attend", name, v, GNT_F32));
done:
    return st;
}

#define SHAPE(r, m, w) ((gnti_view_shape){ (r), (m), (w) })

static gnt_status check_attend(const gnt_stream *s, const gnti_plan_head *p, const gnt_attend_args *a)
{
    gnt_status st = GNT_OK;
    const int64_t rows = p->args.num_rows, cols = p->args.num_cols, members = a->out.members;

    GNT_TRY(check_common(s, p, a->heads, a->slope, a->h.width));
    GNT_CHECK(rows <= cols, GNT_ERR_ARG,
              "attend: the plan has %lld rows and %lld columns, but rows are the first columns",
              (long long)rows, (long long)cols);
    GNT_TRY(fits(s, "out", &a->out, SHAPE(rows, members, a->h.width), false));
    GNT_TRY(fits(s, "h", &a->h, SHAPE(cols, members, a->h.width), true));
    GNT_TRY(fits(s, "s_src", &a->s_src, SHAPE(cols, members, a->heads), true));
    GNT_TRY(fits(s, "s_dst", &a->s_dst, SHAPE(rows, members, a->heads), true));
    if (a->soft.buf != NULL)
        GNT_TRY(fits(s, "soft", &a->soft, SHAPE(rows, members, 2 * a->heads), false));
    GNT_TRY(gnti_check_epilogue(s, "attend", &a->epilogue, &a->out));
    GNT_TRY(check_arc_dropout(s, &a->dropout, cols, rows, members));
done:
    return st;
}

static gnt_status check_by_rows(const gnt_stream *s, const gnti_plan_head *p, const gnt_attend_grad_args *a)
{
    gnt_status st = GNT_OK;
    const int64_t rows = p->args.num_rows, cols = p->args.num_cols, members = a->stat.members;
    const int64_t heads = a->heads;

    GNT_CHECK(rows <= cols, GNT_ERR_ARG,
              "attend: the plan has %lld rows and %lld columns, but rows are the first columns",
              (long long)rows, (long long)cols);
    GNT_TRY(fits(s, "stat", &a->stat, SHAPE(rows, members, 4 * heads), false));
    GNT_TRY(fits(s, "ds_dst", &a->ds_dst, SHAPE(rows, members, heads), false));
    GNT_TRY(fits(s, "h", &a->h, SHAPE(cols, members, a->h.width), true));
    GNT_TRY(fits(s, "s_src", &a->s_src, SHAPE(cols, members, heads), true));
    GNT_TRY(fits(s, "s_dst", &a->s_dst, SHAPE(rows, members, heads), true));
    GNT_TRY(fits(s, "soft", &a->soft, SHAPE(rows, members, 2 * heads), true));
    GNT_TRY(fits(s, "out", &a->out, SHAPE(rows, members, a->h.width), true));
    GNT_TRY(fits(s, "grad", &a->grad, SHAPE(rows, members, a->h.width), true));
    GNT_TRY(check_arc_dropout(s, &a->dropout, cols, rows, members));
done:
    return st;
}

static gnt_status check_by_columns(const gnt_stream *s, const gnti_plan_head *p,
                                   const gnt_attend_grad_args *a)
{
    gnt_status st = GNT_OK;
    const int64_t rows = p->args.num_rows, cols = p->args.num_cols, members = a->dh.members;
    const int64_t heads = a->heads;

    GNT_TRY(fits(s, "dh", &a->dh, SHAPE(rows, members, a->h.width), false));
    GNT_TRY(fits(s, "ds_src", &a->ds_src, SHAPE(rows, members, heads), false));
    GNT_TRY(fits(s, "h", &a->h, SHAPE(rows, members, a->h.width), true));
    GNT_TRY(fits(s, "s_src", &a->s_src, SHAPE(rows, members, heads), true));
    GNT_TRY(fits(s, "grad", &a->grad, SHAPE(cols, members, a->h.width), true));
    GNT_TRY(fits(s, "stat", &a->stat, SHAPE(cols, members, 4 * heads), true));
    GNT_TRY(check_arc_dropout(s, &a->dropout, rows, cols, members));
done:
    return st;
}

static void count(gnt_stream *s, const gnti_plan_head *p, int64_t width, int64_t heads, bool backward,
                  double start)
{
    const gnti_cost_device dev = gnti_cost_device_default(1);
    const gnti_cost cost =
        gnti_cost_attend(&dev, p->work_rows, p->work_cols, p->work_arcs, width, heads, backward);

    gnti_count(s, GNTI_OP_ATTEND, gnti_clock_seconds() - start, cost.flops, cost.bytes);
}

gnt_status gnti_attend(gnt_stream *s, const gnt_spmm_plan *plan, const gnt_attend_args *a)
{
    gnt_status st = GNT_OK;
    const double start = gnti_clock_seconds();
    const gnti_plan_head *p = head_of(plan);
    const gnt_backend *backend = ((const gnti_stream_head *)s)->backend;

    GNT_CHECK(backend->attend != NULL, GNT_ERR_UNSUPPORTED, "attend is not supported by the %s backend",
              backend->name);
    GNT_TRY(check_attend(s, p, a));
    if (p->work_rows == 0)
        return GNT_OK;
    GNT_TRY(backend->attend(s, plan, a));
    count(s, p, a->out.members * a->out.width, a->out.members * a->heads, false, start);
done:
    return st;
}

gnt_status gnti_attend_backward(gnt_stream *s, const gnt_spmm_plan *plan, const gnt_attend_grad_args *a)
{
    gnt_status st = GNT_OK;
    const double start = gnti_clock_seconds();
    const gnti_plan_head *p = head_of(plan);
    const gnt_backend *backend = ((const gnti_stream_head *)s)->backend;
    const int64_t members = a->transposed ? a->dh.members : a->stat.members;

    GNT_CHECK(backend->attend_backward != NULL, GNT_ERR_UNSUPPORTED,
              "attend backward is not supported by the %s backend", backend->name);
    GNT_TRY(check_common(s, p, a->heads, a->slope, a->h.width));
    GNT_TRY(a->transposed ? check_by_columns(s, p, a) : check_by_rows(s, p, a));
    if (p->work_rows == 0)
        return GNT_OK;
    GNT_TRY(backend->attend_backward(s, plan, a));
    count(s, p, members * a->h.width, members * a->heads, true, start);
done:
    return st;
}
