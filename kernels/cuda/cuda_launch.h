/* SPDX-License-Identifier: Apache-2.0 */
/* What the C files and the kernels of this folder share: argument structs of plain device addresses and integers, and the
 * launchers' prototypes. Read by the C compiler and by nvcc (or a C++ compiler, tests/hostcuda).
 *
 * A launcher queues one kernel on the stream and answers the launch's error; no rows are cudaSuccess. What a struct holds must
 * stay the same from step to step: a captured step is launched again with the arguments of its capture, and all that changes
 * is read from the step block (kernels/step.h).
 */
#ifndef GNTI_KERNELS_CUDA_LAUNCH_H
#define GNTI_KERNELS_CUDA_LAUNCH_H

#include "kernels/args.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* gnt_mat_view with the device address of its first element; data NULL: absent. (r, m, c) is at
 *   m / block_members * block_stride + r * row_stride + m % block_members * member_stride + c   elements behind data. */
typedef struct cuda_view {
    void *data;
    int64_t rows, members, block_members, width, row_stride, member_stride, block_stride;
    gnt_dtype dtype; /* F32 or BF16 */
} cuda_view;

/* gnt_dropout: hyper < 0: none. */
typedef struct cuda_dropout {
    int32_t hyper;
    uint32_t ordinal;
    const int64_t *row_ids; /* NULL: numbers of rows */
    int64_t first_row;
} cuda_dropout;

/* gnt_epilogue, its fields in the order of its formula. */
typedef struct cuda_epilogue {
    cuda_view row_scale, bias, gate;
    gnt_activation act, gate_act;
    float act_alpha, gate_alpha;
    cuda_dropout dropout, gate_dropout;
    const void *step; /* step block; NULL: no dropout */
} cuda_epilogue;

/* A kernel that meets a value it must refuse (a label, an index) writes here, the first one wins; stream_wait reads it. */
typedef enum cuda_fault_kind { CUDA_FAULT_NONE, CUDA_FAULT_LABEL, CUDA_FAULT_INDEX } cuda_fault_kind;
typedef struct cuda_fault {
    int32_t kind, reserved;
    int64_t row, value, limit;
} cuda_fault;

#ifdef __cplusplus
}
#endif
#endif
