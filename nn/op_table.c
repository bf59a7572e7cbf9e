/* SPDX-License-Identifier: Apache-2.0 */
/* The closed list of ops: name, gradient, lowering, and what passes may do with them. */
#include "nn/lower.h"

static const gnti_op_info table[GNTI_IR_COUNT] = {
    [GNTI_IR_NONE] = { .name = "none", .lower = gnti_lower_nothing },
    [GNTI_IR_FILL] = { .name = "fill", .lower = gnti_lower_fill },
    [GNTI_IR_MATMUL] = { .name = "matmul", .gradient = gnti_grad_matmul, .lower = gnti_lower_matmul, .epilogue = true },
    [GNTI_IR_AGGREGATE] = { .name = "aggregate", .gradient = gnti_grad_aggregate, .lower = gnti_lower_aggregate,
                            .epilogue = true },
    [GNTI_IR_MAX_GRAD] = { .name = "max-gradient", .lower = gnti_lower_max_grad },
    [GNTI_IR_ADD] = { .name = "add", .gradient = gnti_grad_add, .lower = gnti_lower_add_mul, .in_place = true },
    [GNTI_IR_MUL] = { .name = "mul", .gradient = gnti_grad_mul, .lower = gnti_lower_add_mul, .in_place = true },
    [GNTI_IR_SCALE_BY] = { .name = "scale", .gradient = gnti_grad_scale_by, .lower = gnti_lower_scale_by,
                           .in_place = true },
    [GNTI_IR_ACT] = { .name = "activation", .gradient = gnti_grad_act, .lower = gnti_lower_act, .in_place = true },
    [GNTI_IR_ACT_GRAD] = { .name = "activation-gradient", .lower = gnti_lower_act_grad, .in_place = true },
    [GNTI_IR_DROPOUT] = { .name = "dropout", .gradient = gnti_grad_dropout, .lower = gnti_lower_dropout_op,
                          .in_place = true, .varies = true },
    [GNTI_IR_SLICE] = { .name = "slice", .gradient = gnti_grad_slice, .lower = gnti_lower_nothing },
    [GNTI_IR_PAD] = { .name = "pad", .lower = gnti_lower_pad },
    [GNTI_IR_CONCAT] = { .name = "concat", .gradient = gnti_grad_concat, .lower = gnti_lower_concat },
    [GNTI_IR_SELF] = { .name = "self", .gradient = gnti_grad_self, .lower = gnti_lower_nothing },
    [GNTI_IR_EXTEND] = { .name = "extend", .lower = gnti_lower_extend },
    [GNTI_IR_REDUCE] = { .name = "reduce", .lower = gnti_lower_reduce },
    [GNTI_IR_NORM] = { .name = "norm", .gradient = gnti_grad_norm, .lower = gnti_lower_norm, .varies = true },
    [GNTI_IR_NORM_GRAD] = { .name = "norm-gradient", .lower = gnti_lower_norm_grad },
    [GNTI_IR_LOSS] = { .name = "loss", .lower = gnti_lower_loss, .varies = true },
    [GNTI_IR_CUSTOM] = { .name = "custom", .gradient = gnti_grad_custom, .lower = gnti_lower_custom, .varies = true },
    [GNTI_IR_CUSTOM_GRAD] = { .name = "custom-gradient", .lower = gnti_lower_custom_grad },
    [GNTI_IR_SPARSE_MATMUL] = { .name = "sparse-matmul", .lower = gnti_lower_sparse_matmul, .epilogue = true },
    [GNTI_IR_SPARSE_DROPOUT] = { .name = "sparse-dropout", .lower = gnti_lower_sparse_dropout, .varies = true },
    [GNTI_IR_UPDATE] = { .name = "update", .lower = gnti_lower_update, .varies = true },
};

const gnti_op_info *gnti_op_get_info(gnti_op op)
{
    return &table[op];
}
