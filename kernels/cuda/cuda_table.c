/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the CUDA backend. Ops go through one step here that all need: the device becomes current, and the stream
 * remembers the op, for the text of an error that shows later.
 */
#include "kernels/cuda/cuda.h"

static gnt_status enter_op(gnt_stream *s, const char *op)
{
    const gnt_status st = cuda_enter(s->head.device);

    s->last_op = op;
    cuda_note_op(op);
    return st;
}

static gnt_status table_gemm(gnt_stream *s, const gnt_gemm_args *a)
{
    const gnt_status st = enter_op(s, "gemm");

    return st == GNT_OK ? cuda_gemm(s, a) : st;
}

static gnt_status table_norm(gnt_stream *s, const gnt_norm_args *a)
{
    const gnt_status st = enter_op(s, "norm");

    return st == GNT_OK ? cuda_norm(s, a) : st;
}

static gnt_status table_map(gnt_stream *s, const gnt_map_args *a)
{
    const gnt_status st = enter_op(s, "map");

    return st == GNT_OK ? cuda_map(s, a) : st;
}

static gnt_status table_reduce(gnt_stream *s, const gnt_reduce_args *a)
{
    const gnt_status st = enter_op(s, "reduce");

    return st == GNT_OK ? cuda_reduce(s, a) : st;
}

static gnt_status table_gather_rows(gnt_stream *s, const gnt_rows_args *a)
{
    const gnt_status st = enter_op(s, "gather rows");

    s->may_fault = true; /* a label or an index may be out of range */
    return st == GNT_OK ? cuda_gather_rows(s, a) : st;
}

static gnt_status table_loss(gnt_stream *s, const gnt_loss_args *a)
{
    const gnt_status st = enter_op(s, "loss");

    s->may_fault = true; /* a label or an index may be out of range */
    return st == GNT_OK ? cuda_loss(s, a) : st;
}

static gnt_status table_optimizer_step(gnt_stream *s, const gnt_optimizer_args *a)
{
    const gnt_status st = enter_op(s, "optimizer step");

    return st == GNT_OK ? cuda_optimizer_step(s, a) : st;
}

static gnt_status table_spmm(gnt_stream *s, const gnt_spmm_plan *p, const gnt_spmm_args *a)
{
    const gnt_status st = enter_op(s, "spmm");

    return st == GNT_OK ? cuda_spmm(s, p, a) : st;
}

static gnt_status table_attend(gnt_stream *s, const gnt_spmm_plan *p, const gnt_attend_args *a)
{
    const gnt_status st = enter_op(s, "attend");

    return st == GNT_OK ? cuda_attend(s, p, a) : st;
}

static gnt_status table_attend_backward(gnt_stream *s, const gnt_spmm_plan *p, const gnt_attend_grad_args *a)
{
    const gnt_status st = enter_op(s, "attend backward");

    return st == GNT_OK ? cuda_attend_backward(s, p, a) : st;
}

static gnt_status table_spmm_plan(gnt_stream *s, const gnt_spmm_plan_args *a, gnt_spmm_plan **out)
{
    const gnt_status st = enter_op(s, "spmm plan");

    return st == GNT_OK ? cuda_spmm_plan(s, a, out) : st;
}

const gnt_backend gnti_cuda_backend = {
    .version = GNT_VERSION,
    .name = "cuda",
    .priority = 2,
    .list = cuda_list,
    .open = cuda_open,
    .close = cuda_close,
    .peak_bytes = cuda_peak_bytes,
    .alloc = cuda_alloc,
    .host_buffer = cuda_host_buffer,
    .free = cuda_free,
    .upload = cuda_upload,
    .download = cuda_download,
    .copy = cuda_copy,
    .stream_open = cuda_stream_open,
    .stream_close = cuda_stream_close,
    .stream_wait = cuda_stream_wait,
    .event_record = cuda_event_record,
    .event_await = cuda_event_await,
    .event_seconds = cuda_event_seconds,
    .capture_begin = cuda_capture_begin,
    .capture_end = cuda_capture_end,
    .capture_launch = cuda_capture_launch,
    .capture_free = cuda_capture_free,
    .gemm = table_gemm,
    .spmm_plan = table_spmm_plan,
    .spmm = table_spmm,
    .spmm_plan_free = cuda_spmm_plan_free,
    .attend = table_attend,
    .attend_backward = table_attend_backward,
    .norm = table_norm,
    .map = table_map,
    .reduce = table_reduce,
    .gather_rows = table_gather_rows,
    .loss = table_loss,
    .optimizer_step = table_optimizer_step,
};
