/* SPDX-License-Identifier: Apache-2.0 */
/* Epilogues by blocks: at most CPU_TILE columns at a time; a gate in bfloat16 is widened row by row. */
#include "kernels/cpu/cpu_epilogue.h"

#include "base/size.h"
#include "kernels/bf16.h"

#include <string.h>

const cpu_kernels *cpu_kernels_of(gnti_isa isa)
{
#if defined(__x86_64__)
    if (isa == GNTI_ISA_AVX512)
        return &cpu_kernels_avx512;
    if (isa == GNTI_ISA_AVX2)
        return &cpu_kernels_avx2;
#endif
    (void)isa;
    return &cpu_kernels_portable;
}

const cpu_products *cpu_products_of(gnti_isa isa)
{
#if defined(__x86_64__)
    if (isa == GNTI_ISA_AVX512)
        return &cpu_products_avx512;
    if (isa == GNTI_ISA_AVX2)
        return &cpu_products_avx2;
#endif
    (void)isa;
    return &cpu_products_portable;
}

void cpu_load_floats(const gnt_mat_view *v, int64_t r, int64_t m, int64_t c, int64_t n, float *out)
{
    const void *base = cpu_address(v->buf, v->offset);
    const int64_t at = cpu_member_offset(v, m) + r * v->row_stride + c;

    if (v->dtype != GNT_BF16) {
        memcpy(out, (const float *)base + at, (size_t)n * sizeof *out);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        out[i] = gnti_bf16_to_float(((const uint16_t *)base)[at + i]);
}

void cpu_store_floats(const gnt_mat_view *v, int64_t r, int64_t m, int64_t c, int64_t n, const float *values)
{
    void *base = cpu_address(v->buf, v->offset);
    const int64_t at = cpu_member_offset(v, m) + r * v->row_stride + c;

    if (v->dtype != GNT_BF16) {
        memcpy((float *)base + at, values, (size_t)n * sizeof *values);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        ((uint16_t *)base)[at + i] = gnti_bf16_from_float(values[i]);
}

cpu_draw cpu_draw_make(const gnt_dropout *d, const gnt_buffer *step, int64_t m)
{
    cpu_draw draw = { .active = false };
    const gnti_step_head *head;
    uint64_t threshold;
    float p;

    if (d->hyper < 0)
        return draw;
    head = step->head.host;
    p = gnti_step_hyper(head, d->hyper)[m];
    threshold = gnti_drop_threshold(p);
    draw.active = threshold > 0;
    draw.drop_all = threshold > UINT32_MAX;
    draw.threshold = (uint32_t)threshold;
    draw.ordinal = d->ordinal;
    draw.step = (uint32_t)head->step;
    draw.scale = 1.0f / (1.0f - p);
    draw.key = gnti_step_keys(head)[m];
    draw.row_ids = d->row_ids != NULL ? (const int64_t *)d->row_ids->head.host + d->first_row : NULL;
    draw.first_id = d->first_row;
    return draw;
}

bool cpu_epilogue_is_plain(const gnt_epilogue *e)
{
    return e->bias == NULL && e->act == GNT_ACT_NONE && e->dropout.hyper < 0 && e->gate == NULL;
}

static void apply_tile(const cpu_kernels *k, const gnt_epilogue *e, cpu_epilogue_block *block, int64_t member)
{
    const int64_t rows = block->num_rows, first = block->first_row;
    float gate[CPU_TILE];

    if (e->gate == NULL || e->gate->dtype != GNT_BF16) {
        if (e->gate != NULL) {
            block->gate = cpu_floats(e->gate) + cpu_member_offset(e->gate, member) +
                          first * e->gate->row_stride + block->first_column;
            block->gate_stride = e->gate->row_stride;
        }
        k->epilogue(block);
        return;
    }
    block->gate = gate;
    block->num_rows = 1;
    for (int64_t i = 0; i < rows; i++) {
        cpu_load_floats(e->gate, first + i, member, block->first_column, block->width, gate);
        block->first_row = first + i;
        k->epilogue(block);
        block->dst += block->dst_stride;
        block->value += block->value_stride;
    }
}

void cpu_epilogue_apply(const cpu_kernels *k, const gnt_epilogue *e, const cpu_output_block *b)
{
    const cpu_draw draw = cpu_draw_make(&e->dropout, e->step, b->member);
    const cpu_draw gate_draw =
        e->gate != NULL ? cpu_draw_make(&e->gate_dropout, e->step, b->member) : (cpu_draw){ 0 };
    const float *bias = e->bias != NULL ? cpu_floats(e->bias) + cpu_member_offset(e->bias, b->member) : NULL;

    for (int64_t c = 0; c < b->width; c += CPU_TILE) {
        cpu_epilogue_block block = { .dst = b->dst + c,
                                     .value = b->value + c,
                                     .dst_stride = b->dst_stride,
                                     .value_stride = b->value_stride,
                                     .first_row = b->first_row,
                                     .num_rows = b->num_rows,
                                     .first_column = b->first_column + c,
                                     .width = gnti_min_i64(CPU_TILE, b->width - c),
                                     .beta = b->beta,
                                     .bias = bias != NULL ? bias + b->first_column + c : NULL,
                                     .act = e->act,
                                     .act_alpha = e->act_alpha,
                                     .dropout = draw,
                                     .gate_act = e->gate_act,
                                     .gate_alpha = e->gate_alpha,
                                     .gate_dropout = gate_draw };

        apply_tile(k, e, &block, b->member);
    }
}
