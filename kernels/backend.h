/* SPDX-License-Identifier: Apache-2.0 */
/* The backend table: devices, memory, streams, events, and a closed list of math ops with argument structs.
 *
 * dispatch.c checks arguments once and times ops, so backends stay small; a backend is a folder, a table and a line in
 * registry.c. Work on a stream is done in order; what is queued may return early, and its errors surface in
 * stream_wait. NULL entries mean absent: dispatch.c composes the op from others or answers ERR_UNSUPPORTED.
 * Every kernel has a slow twin in cpu/ref_*.c. Random numbers: base/philox.h. Order of sums: rows of blocks of 1024
 * by a fixed binary tree, a row's entries in order with one accumulator per 4096 entries (docs/design.md).
 */
#ifndef GNTI_KERNELS_BACKEND_H
#define GNTI_KERNELS_BACKEND_H

#include <gnntrain/op.h>

#include "base/check.h"
#include "kernels/args.h"

typedef enum gnti_isa { GNTI_ISA_AUTO, GNTI_ISA_PORTABLE, GNTI_ISA_AVX2, GNTI_ISA_AVX512 } gnti_isa;
typedef enum gnti_determinism { GNTI_DET_OFF, GNTI_DET_RUN, GNTI_DET_BITWISE } gnti_determinism;

/* The memory of a device that is opened several times, once for each of those that share it: what all of them have out. */
typedef struct gnti_quota gnti_quota;

typedef struct gnti_device_config {
    int32_t num_threads; /* 0: the cores this process may use */
    gnti_isa isa;
    gnti_determinism determinism;
    size_t memory_limit; /* bytes, 0: none; alloc answers ERR_DEVICE_NOMEM beyond it */
    gnti_quota *quota;   /* NULL: this device's bytes alone count; lent as long as the device is open */
} gnti_device_config;

typedef struct gnt_device_info {
    char name[96], kind[16];
    size_t total_bytes, free_bytes;
    int32_t num_threads;
    char isa[16];
} gnt_device_info;

typedef struct gnt_capture gnt_capture;

typedef struct gnt_backend {
    const char *version; /* exactly ours, or base/plugin.c refuses it */
    const char *name;    /* "cpu", "cuda" */
    int32_t priority;    /* the highest usable one is device=auto */
    bool in_host_memory; /* every buffer lies in memory that the host reads and writes too */
    /* devices: list answers 0 devices, not an error, without hardware or driver */
    gnt_status (*list)(gnt_device_info *out, int32_t capacity, int32_t *out_count);
    gnt_status (*open)(int32_t index, const gnti_device_config *config, gnt_device **out);
    void (*close)(gnt_device *dev);
    size_t (*peak_bytes)(const gnt_device *dev); /* the most that alloc has had out; NULL entry: not known */
    gnt_status (*alloc)(gnt_device *dev, size_t bytes, gnt_buffer **out); /* zeroed */
    /* A buffer in host memory that the device reads: *host NULL takes pinned memory and answers its address, else the buffer
     * lies over the caller's memory, which is read only and must live as long. NULL entry: none. */
    gnt_status (*host_buffer)(gnt_device *dev, size_t bytes, void **host, gnt_buffer **out);
    void (*free)(gnt_buffer *buf);
    gnt_status (*upload)(gnt_stream *s, gnt_buffer *dst, size_t offset, const void *src, size_t bytes);
    gnt_status (*download)(gnt_stream *s, void *dst, const gnt_buffer *src, size_t offset, size_t bytes);
    gnt_status (*copy)(gnt_stream *s, const gnt_copy_args *a); /* on the device or to a peer */
    /* order: events are slots that the planner numbers */
    gnt_status (*stream_open)(gnt_device *dev, int32_t num_events, gnt_stream **out);
    void (*stream_close)(gnt_stream *s);
    /* the host waits so long at most, 0 asks only; errors of queued work surface here */
    gnt_status (*stream_wait)(gnt_stream *s, double seconds, bool *out_done);
    gnt_status (*event_record)(gnt_stream *s, int32_t event);
    gnt_status (*event_await)(gnt_stream *s, const gnt_stream *of, int32_t event);
    gnt_status (*event_seconds)(gnt_stream *s, int32_t from, int32_t to, double *out);
    gnt_status (*capture_begin)(gnt_stream *s); /* optional: a whole step becomes one launch */
    gnt_status (*capture_end)(gnt_stream *s, gnt_capture **out); /* out NULL: what was captured is dropped */
    gnt_status (*capture_launch)(gnt_stream *s, const gnt_capture *c);
    void (*capture_free)(gnt_capture *c);
    gnt_status (*gemm)(gnt_stream *s, const gnt_gemm_args *a); /* from here: the whole of the math */
    gnt_status (*spmm_plan)(gnt_stream *s, const gnt_spmm_plan_args *a, gnt_spmm_plan **out);
    gnt_status (*spmm)(gnt_stream *s, const gnt_spmm_plan *p, const gnt_spmm_args *a);
    void (*spmm_plan_free)(gnt_spmm_plan *p);
    gnt_status (*attend)(gnt_stream *s, const gnt_spmm_plan *p, const gnt_attend_args *a);
    gnt_status (*attend_backward)(gnt_stream *s, const gnt_spmm_plan *p, const gnt_attend_grad_args *a);
    gnt_status (*norm)(gnt_stream *s, const gnt_norm_args *a);
    gnt_status (*map)(gnt_stream *s, const gnt_map_args *a);
    gnt_status (*reduce)(gnt_stream *s, const gnt_reduce_args *a);
    gnt_status (*gather_rows)(gnt_stream *s, const gnt_rows_args *a);
    gnt_status (*loss)(gnt_stream *s, const gnt_loss_args *a);
    gnt_status (*optimizer_step)(gnt_stream *s, const gnt_optimizer_args *a);
    gnt_status (*chain)(gnt_stream *s, const gnt_chain_args *a);
} gnt_backend;

/* registry.c: the table by name ("cpu", "ref" the slow oracle, "auto"); ERR_UNSUPPORTED lists what there is. */
gnt_status gnti_backend_find(const char *name, const gnt_backend **out);
const gnt_backend *gnti_backend_at(int32_t index);        /* NULL behind the last one; opens plug-ins */
const gnt_backend *gnti_backend_linked_at(int32_t index); /* those that need no plug-in alone */

/* Which table a device belongs to, and what dispatch.c must know of the others: every backend's struct of that kind
 * starts with this head. */
typedef struct gnti_backend_head {
    const gnt_backend *backend;
} gnti_backend_head;

typedef struct gnti_buffer_head {
    const gnt_backend *backend;
    const gnt_device *device;
    size_t bytes;
    void *host;    /* NULL for device memory */
    void *address; /* that kernels use */
} gnti_buffer_head;

typedef struct gnti_plan_head {
    const gnt_backend *backend;
    gnt_spmm_plan_args args;
    int64_t work_rows, work_arcs,
        work_cols; /* rows that the plan writes, their arcs, what these read; dispatch.c counts */
    int64_t whole_rows,
        touched_rows; /* of a list: rows of blocks that are listed whole, and not only in part */
} gnti_plan_head;

typedef struct gnti_op_counter {
    int64_t calls;
    double seconds, flops, bytes;
} gnti_op_counter;

typedef struct gnti_stream_head {
    const gnt_backend *backend;
    gnt_device *device;
    void *handle; /* the backend's own stream, or NULL */
    gnti_op_counter counters[GNTI_OP_NUM_KINDS];
    /* told of each op that is counted, NULL: nobody */
    void (*observe)(void *observer, gnti_op_kind kind, double flops, double bytes);
    void *observer;
} gnti_stream_head;

const char *gnti_op_kind_name(gnti_op_kind kind);
void gnti_stream_counters(const gnt_stream *s, gnti_op_counter out[GNTI_OP_NUM_KINDS]);
void gnti_stream_counters_reset(gnt_stream *s);

/* dispatch.c: the calls that everybody uses; arguments are checked here, once. They mirror the table. */
gnt_status gnti_gemm(gnt_stream *s, const gnt_gemm_args *a);
gnt_status gnti_spmm_plan_create(gnt_stream *s, const gnt_spmm_plan_args *a, gnt_spmm_plan **out);
void gnti_spmm_plan_free(gnt_spmm_plan **plan);
gnt_status gnti_spmm(gnt_stream *s, const gnt_spmm_plan *p, const gnt_spmm_args *a);
gnt_status gnti_attend(gnt_stream *s, const gnt_spmm_plan *p, const gnt_attend_args *a);
gnt_status gnti_attend_backward(gnt_stream *s, const gnt_spmm_plan *p, const gnt_attend_grad_args *a);
gnt_status gnti_norm(gnt_stream *s, const gnt_norm_args *a);
gnt_status gnti_map(gnt_stream *s, const gnt_map_args *a);
gnt_status gnti_reduce(gnt_stream *s, const gnt_reduce_args *a);
gnt_status gnti_gather_rows(gnt_stream *s, const gnt_rows_args *a);
gnt_status gnti_loss(gnt_stream *s, const gnt_loss_args *a);
gnt_status gnti_optimizer_step(gnt_stream *s, const gnt_optimizer_args *a);
/* One op after another where the backend has no chains. */
gnt_status gnti_chain(gnt_stream *s, const gnt_chain_args *a);
bool gnti_device_has_chains(const gnt_device *dev);
bool gnti_device_in_host_memory(const gnt_device *dev);
/* Product and row ops of a chain in several goes: how many of its first ops. */
int32_t gnti_chain_row_ops(const gnt_chain_args *a);

gnt_status gnti_device_open(const char *backend, int32_t index, const gnti_device_config *config,
                            gnt_device **out);
void gnti_device_close(gnt_device **dev);
size_t gnti_device_peak_bytes(const gnt_device *dev); /* 0: not known */
gnt_status gnti_buffer_alloc(gnt_device *dev, size_t bytes, gnt_buffer **out);
/* A buffer over a caller's memory where the device reads host memory, else ERR_UNSUPPORTED (alloc and upload then). */
gnt_status gnti_buffer_wrap(gnt_device *dev, const void *host, size_t bytes, gnt_buffer **out);
/* A buffer in host memory that host (*host) and device both read and write: small, or for what crosses between them. */
gnt_status gnti_buffer_alloc_host(gnt_device *dev, size_t bytes, void **host, gnt_buffer **out);
void gnti_buffer_free(gnt_buffer **buf);
gnt_status gnti_stream_open(gnt_device *dev, int32_t num_events, gnt_stream **out);
void gnti_stream_close(gnt_stream **s);
gnt_status gnti_stream_finish(gnt_stream *s); /* waits for all queued work */
gnt_status gnti_upload(gnt_stream *s, gnt_buffer *dst, size_t offset, const void *src, size_t bytes);
gnt_status gnti_download(gnt_stream *s, void *dst, const gnt_buffer *src, size_t offset, size_t bytes);
gnt_status gnti_copy(gnt_stream *s, const gnt_copy_args *a);
/* A stream's captures; a device without them answers false. capture_end with out NULL drops what was captured. */
bool gnti_stream_captures(const gnt_stream *s);
gnt_status gnti_capture_begin(gnt_stream *s);
gnt_status gnti_capture_end(gnt_stream *s, gnt_capture **out);
gnt_status gnti_capture_launch(gnt_stream *s, const gnt_capture *c);
void gnti_capture_free(const gnt_stream *s, gnt_capture **c); /* NULL and *c NULL are fine */
gnt_status gnti_event_record(gnt_stream *s, int32_t event);
gnt_status gnti_event_await(gnt_stream *s, const gnt_stream *of, int32_t event); /* of the same device */
gnt_status gnti_event_seconds(gnt_stream *s, int32_t from, int32_t to, double *out);

#endif
