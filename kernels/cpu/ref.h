/* SPDX-License-Identifier: Apache-2.0 */
/* The slow oracle: how its ops reach elements. Every op is plain loops over the view formula, in double.
 *
 * ref_get and ref_set take any row, member and column; an index beyond a size of 1 reads the one there is, so
 * that broadcasting needs no code in the ops. Results are rounded once, when they are stored.
 */
#ifndef GNTI_KERNELS_REF_H
#define GNTI_KERNELS_REF_H

#include "kernels/bf16.h"
#include "kernels/cpu/cpu.h"

static inline size_t ref_index(const gnt_mat_view *v, int64_t r, int64_t m, int64_t c)
{
    const int64_t row = v->rows == 1 ? 0 : r, member = v->members == 1 ? 0 : m,
                  column = v->width == 1 ? 0 : c;

    return (size_t)(member / v->block_members * v->block_stride + row * v->row_stride +
                    member % v->block_members * v->member_stride + column);
}

static inline double ref_get(const gnt_mat_view *v, int64_t r, int64_t m, int64_t c)
{
    const void *base = cpu_address(v->buf, v->offset);
    const size_t i = ref_index(v, r, m, c);

    if (v->dtype == GNT_BF16)
        return (double)gnti_bf16_to_float(((const uint16_t *)base)[i]);
    return (double)((const float *)base)[i];
}

static inline void ref_set(const gnt_mat_view *v, int64_t r, int64_t m, int64_t c, double value)
{
    void *base = cpu_address(v->buf, v->offset);
    const size_t i = ref_index(v, r, m, c);

    if (v->dtype == GNT_BF16)
        ((uint16_t *)base)[i] = gnti_bf16_from_float((float)value);
    else
        ((float *)base)[i] = (float)value;
}

/* The step block of a buffer; hyper h of member m. */
static inline const gnti_step_head *ref_step(const gnt_buffer *step)
{
    return (const gnti_step_head *)step->head.host;
}

static inline double ref_hyper(const gnt_buffer *step, int32_t hyper, int64_t m)
{
    return (double)gnti_step_hyper(ref_step(step), hyper)[m];
}

/* 0 where the element is dropped, else 1 / (1 - p); 1 without dropout. */
double ref_keep_factor(const gnt_dropout *d, const gnt_buffer *step, int64_t r, int64_t m, int64_t c);

/* An activation, and its derivative from its own output. */
double ref_act(gnt_activation act, double alpha, double v);
double ref_act_grad(gnt_activation act, double alpha, double out);

/* product: alpha and row_scale not yet applied; the stored value, with beta * old when beta != 0. */
double ref_epilogue(const gnt_epilogue *e, double product, double alpha, double beta, const gnt_mat_view *y,
                    int64_t r, int64_t m, int64_t c);

#endif
