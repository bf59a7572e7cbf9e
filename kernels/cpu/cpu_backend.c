/* SPDX-License-Identifier: Apache-2.0 */
/* The two tables of the processor: "cpu", and "ref", the slow oracle on the same devices and buffers. */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/cpu_attend.h"
#include "kernels/cpu/cpu_spmm.h"

#define CPU_COMMON                                                                                           \
    .version = GNT_VERSION, .in_host_memory = true, .list = cpu_list, .close = cpu_close,                    \
    .peak_bytes = cpu_peak_bytes, .alloc = cpu_alloc, .host_buffer = cpu_host_buffer, .free = cpu_free,      \
    .upload = cpu_upload, .download = cpu_download, .copy = cpu_copy, .stream_open = cpu_stream_open,        \
    .stream_close = cpu_stream_close, .stream_wait = cpu_stream_wait, .event_record = cpu_event_record,      \
    .event_await = cpu_event_await, .event_seconds = cpu_event_seconds

const gnt_backend gnti_ref_backend = {
    CPU_COMMON,           .name = "ref",
    .priority = 0,        .open = ref_open,
    .gemm = ref_gemm,     .spmm_plan = ref_spmm_plan,
    .spmm = ref_spmm,     .spmm_plan_free = ref_spmm_plan_free,
    .norm = ref_norm,     .map = ref_map,
    .reduce = ref_reduce, .gather_rows = ref_gather_rows,
    .loss = ref_loss,     .optimizer_step = ref_optimizer_step,
    .attend = ref_attend, .attend_backward = ref_attend_backward,
};

const gnt_backend gnti_cpu_backend = {
    CPU_COMMON,
    .name = "cpu",
    .priority = 1,
    .open = cpu_open,
    .gemm = cpu_gemm,
    .spmm_plan = cpu_spmm_plan,
    .spmm = cpu_spmm,
    .spmm_plan_free = cpu_spmm_plan_free,
    .norm = cpu_norm,
    .map = cpu_map,
    .reduce = cpu_reduce,
    .gather_rows = cpu_gather_rows,
    .loss = cpu_loss,
    .optimizer_step = cpu_optimizer_step,
    .chain = cpu_chain,
    .attend = cpu_attend,
    .attend_backward = cpu_attend_backward,
};
