/* SPDX-License-Identifier: Apache-2.0 */
/* What the C files of the CUDA backend share: device, buffer, stream, plan, and the step from views to device addresses.
 *
 * Everything is queued on the stream it is given and returns early; errors of queued work surface in stream_wait. Memory comes
 * from the device's stream-ordered pool, scratch and library workspaces belong to the stream and are kept, so that a repeated
 * step allocates nothing and can be captured. No library handle is made before a device was found (a handle without a driver
 * prints or crashes).
 */
#ifndef GNTI_KERNELS_CUDA_H
#define GNTI_KERNELS_CUDA_H

#include "kernels/backend.h"
#include "kernels/choices.h"
#include "kernels/cuda/cuda_launch.h"
#include "kernels/quota.h"

#include <cublasLt.h>
#include <cusparse.h>

#include <pthread.h>
#include <stdatomic.h>

extern const gnt_backend gnti_cuda_backend;

struct gnt_device {
    const gnt_backend *backend;
    int32_t index; /* of the runtime */
    gnti_determinism determinism;
    size_t memory_limit;                  /* 0: the device's own */
    gnti_quota *quota;                    /* NULL: none */
    atomic_size_t used_bytes, peak_bytes; /* of buffers; pinned host memory is not counted */
    cudaMemPool_t pool;
    cudaStream_t memory_stream; /* orders the pool's allocations */
    int32_t num_multiprocessors;
    char name[96];
    int64_t
        most_narrow_arcs; /* graphs of more have offsets of 64 bits, and go to cuSPARSE in blocks of rows of so many arcs:
                                 2^31 - 1, less in tests */
    pthread_mutex_t lock;
    struct gnt_stream *streams; /* open ones; this and the next under the lock */
    struct cuda_graph *graphs;  /* of living plans */
};

struct gnt_buffer {
    gnti_buffer_head head; /* host: pinned memory, else NULL */
    void *device;          /* address that kernels use */
};

/* A block of device memory that only grows. What it was before may be read by captured steps, so it stays until the stream
 * is closed. */
enum { CUDA_MAX_OUTGROWN = 64 };
typedef struct cuda_growing {
    gnt_buffer *buf; /* NULL: none yet */
    gnt_buffer *outgrown[CUDA_MAX_OUTGROWN];
    int32_t num_outgrown;
} cuda_growing;

/* Pinned memory of a stream: slots for uploads in turn, then room for downloads. */
enum { CUDA_UPLOAD_SLOTS = 16, CUDA_SLOT_BYTES = 128 << 10, CUDA_DOWNLOAD_BYTES = 1 << 20 };

/* A download whose bytes lie in pinned memory until the stream is waited for. */
enum { CUDA_MAX_PENDING = 16 };
typedef struct cuda_pending {
    void *dst;
    const void *src;
    size_t bytes;
} cuda_pending;

struct cuda_product_cache; /* descriptors of dense products; cuda_gemm.c */
struct gnt_stream {
    gnti_stream_head head;
    struct gnt_stream *next; /* of the device's list */
    cudaStream_t stream;
    int32_t num_events;
    cudaEvent_t *events;             /* (num_events) */
    bool *recorded;                  /* (num_events) */
    cudaEvent_t fence;               /* what frees of memory wait for */
    cublasLtHandle_t blas;           /* NULL until a product needs it: cuda_blas() */
    cusparseHandle_t sparse;         /* the same: cuda_sparse_handle() */
    cuda_growing scratch, workspace; /* of our kernels; of the libraries */
    cuda_fault *fault;               /* device memory, one */
    gnt_buffer *fault_memory;
    char *staging;
    cudaEvent_t slot_free[CUDA_UPLOAD_SLOTS];
    int32_t next_slot;
    size_t downloads_used;
    cuda_pending pending[CUDA_MAX_PENDING];
    int32_t num_pending;
    bool capturing;
    bool may_fault;      /* work was queued that can meet a value it must refuse */
    const char *last_op; /* queued */
    struct cuda_product_cache *products;
};

/* Siblings of GNT_TRY: a failed call becomes ERR_DEVICE_NOMEM, ERR_DEVICE_LOST or ERR_INTERNAL with the call's own text;
 * cuda_error_of (cuda_status.c) decides. */
#define GNT_TRY_CUDA(call) GNT_TRY_CUDA_FROM(call, #call)
/* For a result that is at hand: `name` is the call that gave it. */
#define GNT_TRY_CUDA_FROM(result, name)                                                                      \
    do {                                                                                                     \
        const cudaError_t cuda_result_ = (result);                                                           \
        if (cuda_result_ != cudaSuccess) {                                                                   \
            st = cuda_error_of(cuda_result_, name, __FILE__, __LINE__, __func__);                            \
            goto done;                                                                                       \
        }                                                                                                    \
    } while (0)
#define GNT_TRY_CUSPARSE(call)                                                                               \
    do {                                                                                                     \
        const cusparseStatus_t cusparse_result_ = (call);                                                    \
        if (cusparse_result_ != CUSPARSE_STATUS_SUCCESS) {                                                   \
            st = cuda_sparse_error_of(cusparse_result_, #call, __FILE__, __LINE__, __func__);                \
            goto done;                                                                                       \
        }                                                                                                    \
    } while (0)
#define GNT_TRY_CUBLAS(call)                                                                                 \
    do {                                                                                                     \
        const cublasStatus_t cublas_result_ = (call);                                                        \
        if (cublas_result_ != CUBLAS_STATUS_SUCCESS) {                                                       \
            st = cuda_blas_error_of(cublas_result_, #call, __FILE__, __LINE__, __func__);                    \
            goto done;                                                                                       \
        }                                                                                                    \
    } while (0)
/* The device that the calling thread works with, and the op that it queues: for the text of a lost device. */
void cuda_note_device(int32_t index);
void cuda_note_op(const char *op); /* a constant */
gnt_status cuda_error_of(cudaError_t e, const char *call, const char *file, int line, const char *function);
gnt_status cuda_sparse_error_of(cusparseStatus_t e, const char *call, const char *file, int line,
                                const char *function);
gnt_status cuda_blas_error_of(cublasStatus_t e, const char *call, const char *file, int line,
                              const char *function);

/* cuda_views.c */
void *cuda_address(const gnt_buffer *buf, size_t offset); /* NULL for no buffer */
cuda_view cuda_view_of(const gnt_mat_view *v);            /* data NULL for NULL or a view without a buffer */
cuda_dropout cuda_dropout_of(const gnt_dropout *d);
cuda_epilogue cuda_epilogue_of(const gnt_epilogue *e);

/* Device memory until the stream's next op; grows when an op first needs more (not while capturing: ERR_STATE then). */
gnt_status cuda_scratch(gnt_stream *s, size_t bytes, void **out);
gnt_status cuda_workspace(gnt_stream *s, size_t bytes, void **out); /* the same for a library's call */
/* Makes the device current in this thread. cuda_table.c does so before every op; what is called otherwise does it itself. */
gnt_status cuda_enter(const gnt_device *dev);
/* One step of a host's wait that began at `start`: spins for 20 microseconds, then sleeps. */
void cuda_nap(double start);
/* The stream's handles, made at first use (not while capturing). */
gnt_status cuda_blas(gnt_stream *s, cublasLtHandle_t *out);
gnt_status cuda_sparse_handle(gnt_stream *s, cusparseHandle_t *out);

/* cuda_device.c */
gnt_status cuda_list(gnt_device_info *out, int32_t capacity, int32_t *out_count);
gnt_status cuda_open(int32_t index, const gnti_device_config *config, gnt_device **out);
void cuda_close(gnt_device *dev);
/* cuda_memory.c */
size_t cuda_peak_bytes(const gnt_device *dev);
gnt_status cuda_alloc(gnt_device *dev, size_t bytes, gnt_buffer **out);
gnt_status cuda_host_buffer(gnt_device *dev, size_t bytes, void **host, gnt_buffer **out);
void cuda_free(gnt_buffer *buf);
gnt_status cuda_upload(gnt_stream *s, gnt_buffer *dst, size_t offset, const void *src, size_t bytes);
gnt_status cuda_download(gnt_stream *s, void *dst, const gnt_buffer *src, size_t offset, size_t bytes);
gnt_status cuda_copy(gnt_stream *s, const gnt_copy_args *a);
void cuda_finish_downloads(gnt_stream *s); /* of a stream that has nothing to do */
/* cuda_stream.c, cuda_capture.c */
gnt_status cuda_stream_open(gnt_device *dev, int32_t num_events, gnt_stream **out);
void cuda_stream_close(gnt_stream *s);
gnt_status cuda_stream_wait(gnt_stream *s, double seconds, bool *out_done);
gnt_status cuda_event_record(gnt_stream *s, int32_t event);
gnt_status cuda_event_await(gnt_stream *s, const gnt_stream *of, int32_t event);
gnt_status cuda_event_seconds(gnt_stream *s, int32_t from, int32_t to, double *out);
gnt_status cuda_capture_begin(gnt_stream *s);
gnt_status cuda_capture_end(gnt_stream *s, gnt_capture **out);
gnt_status cuda_capture_launch(gnt_stream *s, const gnt_capture *c);
void cuda_capture_free(gnt_capture *c);
/* math, a file each */
void cuda_products_free(struct cuda_product_cache *products); /* NULL is fine */
gnt_status cuda_gemm(gnt_stream *s, const gnt_gemm_args *a);
gnt_status cuda_spmm_plan(gnt_stream *s, const gnt_spmm_plan_args *a, gnt_spmm_plan **out);
gnt_status cuda_spmm(gnt_stream *s, const gnt_spmm_plan *p, const gnt_spmm_args *a);
void cuda_spmm_plan_free(gnt_spmm_plan *p);
gnt_status cuda_attend(gnt_stream *s, const gnt_spmm_plan *p, const gnt_attend_args *a);
gnt_status cuda_attend_backward(gnt_stream *s, const gnt_spmm_plan *p, const gnt_attend_grad_args *a);
gnt_status cuda_norm(gnt_stream *s, const gnt_norm_args *a);
gnt_status cuda_map(gnt_stream *s, const gnt_map_args *a);
gnt_status cuda_reduce(gnt_stream *s, const gnt_reduce_args *a);
gnt_status cuda_gather_rows(gnt_stream *s, const gnt_rows_args *a);
gnt_status cuda_loss(gnt_stream *s, const gnt_loss_args *a);
gnt_status cuda_optimizer_step(gnt_stream *s, const gnt_optimizer_args *a);

/* cuda_csr.c: the arrays of a graph on the device, shared by all plans over the same host arrays. */
struct cuda_graph;
struct cuda_sparse;    /* descriptors and buffers of the library's product; cuda_sparse.c */
struct cuda_decisions; /* cuda_choose.c */
struct gnt_spmm_plan {
    gnti_plan_head head;
    cuda_csr csr;
    struct cuda_graph *graph; /* holds offsets, columns, weights of csr */
    gnt_buffer *lists;        /* holds the rest of csr */
    struct cuda_sparse *sparse;
    struct cuda_decisions *decisions; /* these two change behind a plan that is const */
};
/* Fills csr, graph and lists of a zeroed plan; waits for the copies. */
gnt_status cuda_csr_create(gnt_stream *s, const gnt_spmm_plan_args *a, gnt_spmm_plan *p);
void cuda_csr_free(gnt_spmm_plan *p);

/* cuda_row_blocks.c: blocks of rows whose arcs a 32-bit offset counts, with offsets of their own from their first arc on. */
typedef struct cuda_row_block {
    int64_t first_row, num_rows, first_arc, num_arcs;
    const int32_t *offsets; /* (num_rows + 1), device */
} cuda_row_block;
typedef struct cuda_row_blocks {
    cuda_row_block *list;
    int64_t count, capacity; /* count 0: a row alone has more arcs, or the graph none */
    gnt_buffer *offsets;     /* NULL: those of the graph serve */
} cuda_row_blocks;
/* Of a plan that has its csr; waits for the copies of a graph with 64-bit offsets. */
gnt_status cuda_row_blocks_create(gnt_stream *s, const gnt_spmm_plan *p, cuda_row_blocks *out);
void cuda_row_blocks_free(cuda_row_blocks *b);

/* The ways to a product: our kernels, or an algorithm of cuSPARSE. */
typedef enum cuda_way { CUDA_WAY_OWN, CUDA_WAY_ALG1, CUDA_WAY_ALG2, CUDA_WAY_ALG3, CUDA_NUM_WAYS } cuda_way;

/* cuda_sparse.c: why the library does not do this product, NULL: it does; and the product without its epilogue. */
const char *cuda_sparse_refuses(const gnt_spmm_plan *p, const gnt_spmm_args *a);
bool cuda_sparse_in_blocks(const gnt_spmm_plan *p);  /* of more rows than one call counts arcs for */
int64_t cuda_sparse_columns(const gnt_spmm_args *a); /* of one call: a block of members */
gnt_status cuda_sparse_run(gnt_stream *s, const gnt_spmm_plan *p, const gnt_spmm_args *a, cuda_way way);
void cuda_sparse_drop(const gnt_spmm_plan *p, cuda_way way); /* frees what this way has made so far */
gnt_status cuda_sparse_create(gnt_stream *s, gnt_spmm_plan *p);
void cuda_sparse_free(struct cuda_sparse *sparse); /* NULL is fine */

/* cuda_choose.c: which way serves, decided at the first product of a plan at a width. */
gnt_status cuda_decisions_create(struct cuda_decisions **out);
gnt_status cuda_choose_way(gnt_stream *s, const gnt_spmm_plan *p, const gnt_spmm_args *a, cuda_way *out);
void cuda_decisions_free(struct cuda_decisions *d); /* NULL is fine */
/* cuda_spmm.c: the product by this way. */
gnt_status cuda_spmm_by(gnt_stream *s, const gnt_spmm_plan *p, const gnt_spmm_args *a, cuda_way way);

/* cuda_gemm.c: what both products ask of an epilogue. */
bool cuda_epilogue_is_none(const gnt_epilogue *e);
/* Whether a library's product cannot go where y lies: y is read by the epilogue, or has another type. */
bool cuda_needs_own_product(const gnt_mat_view *y, const gnt_epilogue *e, float beta);

#endif
