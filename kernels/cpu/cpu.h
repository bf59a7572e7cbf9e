/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the CPU backend share: its device, buffer, stream and plan, scratch memory, and its two
 * tables
 * ("cpu", and "ref" with the slow oracle's ops on the same devices).
 *
 * Work is done at once, in the caller's thread and the OpenMP threads it starts (num_threads clause, static
 * schedules). An event is the time at which it was recorded. Scratch belongs to the stream: it grows when an
 * op first needs more and is kept, so that a repeated step allocates nothing.
 */
#ifndef GNTI_KERNELS_CPU_H
#define GNTI_KERNELS_CPU_H

#include "kernels/backend.h"
#include "kernels/quota.h"

#include <stdatomic.h>

extern const gnt_backend gnti_cpu_backend, gnti_ref_backend;

struct gnt_device {
    const gnt_backend *backend;
    int32_t num_threads;
    gnti_isa isa;         /* never AUTO */
    gnti_isa product_isa; /* of dense products: isa, or what was quicker below it (the bits are the same) */
    gnti_determinism determinism;
    size_t memory_limit;
    gnti_quota *quota; /* NULL: none */
    atomic_size_t used_bytes, peak_bytes;
};

struct gnt_buffer {
    gnti_buffer_head head;
    bool wrapped; /* a caller's memory */
};

struct gnt_stream {
    gnti_stream_head head;
    int32_t num_events;
    double *events; /* (num_events) seconds, NaN: not recorded */
    void *scratch;
    size_t scratch_bytes;
    struct cpu_chain_team *team; /* serial streams for chains, made at the first one */
};

struct cpu_spmm_split;
struct gnt_spmm_plan {
    gnti_plan_head head;
    struct cpu_spmm_split *split; /* NULL in the oracle's plans */
};

static inline void *cpu_address(const gnt_buffer *buf, size_t offset)
{
    return (char *)buf->head.host + offset;
}

static inline float *cpu_floats(const gnt_mat_view *v)
{
    return (float *)cpu_address(v->buf, v->offset);
}

/* First element of member m of a view, in elements behind cpu_floats. */
static inline int64_t cpu_member_offset(const gnt_mat_view *v, int64_t m)
{
    return v->members == 1 ? 0
                           : m / v->block_members * v->block_stride + m % v->block_members * v->member_stride;
}

/* At least `bytes` of 64-byte aligned memory, valid until the stream's next op. */
gnt_status cpu_scratch(gnt_stream *s, size_t bytes, void **out);

/* Threads for a region that touches so many values: a region costs some microseconds, so little work stays serial. */
static inline int32_t cpu_team(const gnt_device *dev, double values)
{
    const double useful = 1.0 + values / 8192.0;

    return useful < (double)dev->num_threads ? (int32_t)useful : dev->num_threads;
}

/* body(user, i, thread) for i = 0 .. count - 1, by up to `team` threads in any order; thread < team. Each i should be work
 * worth some microseconds. */
typedef void (*cpu_body)(void *user, int64_t i, int32_t thread);
void cpu_each(int32_t team, int64_t count, void *user, cpu_body body);

/* The levels this machine has; AUTO becomes the best of them, one it lacks is ERR_UNSUPPORTED. */
gnt_status cpu_isa_choose(gnti_isa wanted, gnti_isa *out);
const char *cpu_isa_name(gnti_isa isa);

/* cpu_device.c: shared by both tables. */
gnt_status cpu_list(gnt_device_info *out, int32_t capacity, int32_t *out_count);
gnt_status cpu_open(int32_t index, const gnti_device_config *config, gnt_device **out);
gnt_status ref_open(int32_t index, const gnti_device_config *config, gnt_device **out);
void cpu_close(gnt_device *dev);
size_t cpu_peak_bytes(const gnt_device *dev);
gnt_status cpu_alloc(gnt_device *dev, size_t bytes, gnt_buffer **out);
gnt_status cpu_host_buffer(gnt_device *dev, size_t bytes, void **host, gnt_buffer **out);
void cpu_free(gnt_buffer *buf);
/* GNT_MAP_DROPOUT of stored entries. */
void cpu_map_entries(gnt_stream *s, const gnt_map_args *a);
gnt_status cpu_upload(gnt_stream *s, gnt_buffer *dst, size_t offset, const void *src, size_t bytes);
gnt_status cpu_download(gnt_stream *s, void *dst, const gnt_buffer *src, size_t offset, size_t bytes);
gnt_status cpu_copy(gnt_stream *s, const gnt_copy_args *a);
gnt_status cpu_stream_open(gnt_device *dev, int32_t num_events, gnt_stream **out);
void cpu_stream_close(gnt_stream *s);
gnt_status cpu_stream_wait(gnt_stream *s, double seconds, bool *out_done);
gnt_status cpu_event_record(gnt_stream *s, int32_t event);
gnt_status cpu_event_await(gnt_stream *s, const gnt_stream *of, int32_t event);
gnt_status cpu_event_seconds(gnt_stream *s, int32_t from, int32_t to, double *out);

/* cpu_*.c: the fast ops; the sparse product: cpu_spmm.h. */
gnt_status cpu_gemm(gnt_stream *s, const gnt_gemm_args *a);
void cpu_gemm_single_thread(void);    /* once a process: BLAS runs inside our threads */
gnti_isa cpu_gemm_isa(gnti_isa best); /* measures for some microseconds */
gnt_status cpu_norm(gnt_stream *s, const gnt_norm_args *a);
gnt_status cpu_map(gnt_stream *s, const gnt_map_args *a);
gnt_status cpu_reduce(gnt_stream *s, const gnt_reduce_args *a);
gnt_status cpu_gather_rows(gnt_stream *s, const gnt_rows_args *a);
gnt_status cpu_loss(gnt_stream *s, const gnt_loss_args *a);
gnt_status cpu_optimizer_step(gnt_stream *s, const gnt_optimizer_args *a);

/* cpu_chain.c */
gnt_status cpu_chain(gnt_stream *s, const gnt_chain_args *a);
void cpu_chain_team_free(gnt_stream *s);

/* The slow oracle (ref_*.c). */
gnt_status ref_gemm(gnt_stream *s, const gnt_gemm_args *a);
gnt_status ref_spmm_plan(gnt_stream *s, const gnt_spmm_plan_args *a, gnt_spmm_plan **out);
gnt_status ref_spmm(gnt_stream *s, const gnt_spmm_plan *p, const gnt_spmm_args *a);
void ref_spmm_plan_free(gnt_spmm_plan *p);
gnt_status ref_attend(gnt_stream *s, const gnt_spmm_plan *p, const gnt_attend_args *a);
gnt_status ref_attend_backward(gnt_stream *s, const gnt_spmm_plan *p, const gnt_attend_grad_args *a);
gnt_status ref_norm(gnt_stream *s, const gnt_norm_args *a);
gnt_status ref_map(gnt_stream *s, const gnt_map_args *a);
gnt_status ref_reduce(gnt_stream *s, const gnt_reduce_args *a);
gnt_status ref_gather_rows(gnt_stream *s, const gnt_rows_args *a);
gnt_status ref_loss(gnt_stream *s, const gnt_loss_args *a);
gnt_status ref_optimizer_step(gnt_stream *s, const gnt_optimizer_args *a);

#endif
