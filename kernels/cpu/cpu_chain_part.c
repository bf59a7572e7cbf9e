/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting the views of a chain's ops into blocks of rows and slices of members. */
#include "kernels/cpu/cpu_chain_part.h"

#include "base/size.h"
#include "kernels/step.h"

#include <string.h>

static size_t item_bytes(const gnt_mat_view *v)
{
    return v->dtype == GNT_BF16 ? 2 : 4;
}

static bool is_shared(const gnt_mat_view *v)
{
    return v->members == 1 || (v->member_stride == 0 && v->block_stride == 0);
}

gnt_mat_view cpu_part_members(gnt_mat_view v, const cpu_part *p)
{
    if (v.buf == NULL || p->members == 0 || v.members == 1)
        return v;
    if (!is_shared(&v))
        v.offset += (size_t)cpu_member_offset(&v, p->first_member) * item_bytes(&v);
    v.members = p->members;
    v.block_members = gnti_min_i64(v.block_members, p->members);
    return v;
}

gnt_mat_view cpu_part_rows(gnt_mat_view v, const cpu_part *p)
{
    if (v.buf == NULL)
        return v;
    v = cpu_part_members(v, p);
    v.offset += (size_t)(p->first_row * v.row_stride) * item_bytes(&v);
    v.rows = p->rows;
    return v;
}

gnt_epilogue cpu_part_epilogue(const gnt_epilogue *e, const cpu_part *p, gnt_mat_view slots[3])
{
    gnt_epilogue out = *e;

    if (e->row_scale != NULL) {
        slots[0] = cpu_part_rows(*e->row_scale, p);
        out.row_scale = &slots[0];
    }
    if (e->gate != NULL) {
        slots[1] = cpu_part_rows(*e->gate, p);
        out.gate = &slots[1];
    }
    if (e->bias != NULL) {
        slots[2] = cpu_part_members(*e->bias, p);
        out.bias = &slots[2];
    }
    out.dropout.first_row += p->first_row;
    out.gate_dropout.first_row += p->first_row;
    if (p->step != NULL)
        out.step = p->step;
    return out;
}

gnt_mat_view cpu_part_sum(const gnt_mat_view *y, const cpu_part *p, float *sum, gnt_buffer *buf)
{
    const int64_t members = p->members > 0 ? p->members : y->members;

    buf->head.host = sum + p->first_member * y->rows * y->width;
    return (gnt_mat_view){ .buf = buf,
                           .rows = y->rows,
                           .members = members,
                           .block_members = 1,
                           .width = y->width,
                           .row_stride = y->width,
                           .member_stride = y->members > 1 ? y->width : 0,
                           .block_stride = y->members > 1 ? y->rows * y->width : 0 };
}

/* ---- slices -------------------------------------------------------------------------------------------------------- */

/* The views and the step of an op, NULL where it has fewer. */
enum { MOST_VIEWS = 7 };
static const gnt_buffer *views_of(const gnt_chain_op *op, const gnt_mat_view *out[MOST_VIEWS])
{
    const gnt_epilogue *e = NULL;
    const gnt_buffer *step = NULL;

    memset(out, 0, MOST_VIEWS * sizeof *out);
    if (op->kind == GNTI_OP_GEMM) {
        out[0] = &op->a.gemm->a, out[1] = &op->a.gemm->b, out[2] = &op->a.gemm->c;
        e = &op->a.gemm->epilogue;
    } else if (op->kind == GNTI_OP_SPMM) {
        out[0] = &op->a.spmm->x, out[1] = &op->a.spmm->y, out[2] = op->a.spmm->arc_weight;
        e = &op->a.spmm->epilogue;
    } else if (op->kind == GNTI_OP_MAP) {
        out[0] = &op->a.map->a, out[1] = &op->a.map->b, out[2] = &op->a.map->y;
        step = op->a.map->step;
    } else {
        out[0] = &op->a.reduce->a, out[1] = &op->a.reduce->b, out[2] = &op->a.reduce->y;
    }
    if (e != NULL) {
        out[3] = e->row_scale, out[4] = e->gate, out[5] = e->bias;
        step = e->step;
    }
    return step;
}

cpu_slices cpu_slices_of(const gnt_chain_args *a)
{
    const gnt_mat_view *views[MOST_VIEWS];
    cpu_slices s = { .count = 1, .members = 1, .all = 1 };
    bool even = true;

    for (int pass = 0; pass < 2; pass++) /* the largest g first, then whether the others divide it */
        for (int32_t i = 0; i < a->num_ops; i++) {
            const gnt_buffer *step = views_of(&a->ops[i], views);

            even = even && (step == NULL || s.step == NULL || step == s.step);
            s.step = step != NULL ? step : s.step;
            for (int k = 0; k < MOST_VIEWS; k++) {
                const gnt_mat_view *v = views[k];

                if (v == NULL || v->buf == NULL || v->members == 1)
                    continue;
                s.all = v->members;
                if (!is_shared(v) && pass == 0)
                    s.members = gnti_max_i64(s.members, v->block_members);
                else if (!is_shared(v))
                    even = even && s.members % v->block_members == 0;
            }
        }
    if (!even)
        s.members = s.all;
    s.count = gnti_ceil_div(s.all, s.members);
    return s;
}

static size_t step_room(const cpu_slices *s)
{
    const gnti_step_head *head = s->step->head.host;

    return gnti_round_up(gnti_step_bytes(head->num_hypers, s->members), 64);
}

size_t cpu_slices_bytes(const cpu_slices *s)
{
    return s->count == 1 || s->step == NULL
               ? 0
               : (size_t)s->count * (step_room(s) + gnti_round_up(sizeof(gnt_buffer), 64));
}

void cpu_slices_cut(const cpu_slices *s, void *room, cpu_part *part)
{
    unsigned char *at = room;

    for (int64_t i = 0; i < s->count && s->count > 1; i++) {
        gnt_buffer *buf = (gnt_buffer *)(void *)at;

        part[i].first_member = i * s->members;
        part[i].members = gnti_min_i64(s->members, s->all - part[i].first_member);
        if (s->step == NULL)
            continue;
        at += gnti_round_up(sizeof(gnt_buffer), 64);
        *buf = (gnt_buffer){ .head = { .host = at } };
        gnti_step_cut(s->step->head.host, part[i].first_member, part[i].members,
                      (gnti_step_head *)(void *)at);
        at += step_room(s);
        part[i].step = buf;
    }
}
