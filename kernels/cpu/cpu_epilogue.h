/* SPDX-License-Identifier: Apache-2.0 */
/* From argument structs to the kernels' plain ones: dropout draws of a member, epilogues of a block of rows.
 */
#ifndef GNTI_KERNELS_CPU_EPILOGUE_H
#define GNTI_KERNELS_CPU_EPILOGUE_H

#include "kernels/cpu/cpu_kernels.h"

/* The draw of member m; not active when the dropout has no hyper or p is 0. */
cpu_draw cpu_draw_make(const gnt_dropout *d, const gnt_buffer *step, int64_t m);

/* Nothing but alpha and row_scale. */
bool cpu_epilogue_is_plain(const gnt_epilogue *e);

/* A block of an output: rows and columns of member m of y. value already has alpha and row_scale; dst may be
 * value. */
typedef struct cpu_output_block {
    int64_t member, first_row, num_rows, first_column, width;
    const float *value;
    float *dst;
    int64_t value_stride, dst_stride;
    float beta;
} cpu_output_block;
void cpu_epilogue_apply(const cpu_kernels *k, const gnt_epilogue *e, const cpu_output_block *b);

/* Elements of a view as floats, wherever they lie: n of row r, member m, from column c on. */
void cpu_load_floats(const gnt_mat_view *v, int64_t r, int64_t m, int64_t c, int64_t n, float *out);
void cpu_store_floats(const gnt_mat_view *v, int64_t r, int64_t m, int64_t c, int64_t n, const float *values);

#endif
