/* SPDX-License-Identifier: Apache-2.0 */
/* Streams and events: queueing, waiting under a time limit, memory that a stream keeps.
 *
 * A wait asks the stream again and again and never blocks in the runtime, so that it ends at its time limit. When the work is
 * done, downloads are handed over and the fault record is read: kernels that met a label or an index out of range wrote there.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "kernels/cuda/cuda.h"

#include <time.h>

enum { SPIN_MICROSECONDS = 20, SLEEP_NANOSECONDS = 50000 };

void cuda_nap(double start)
{
    const struct timespec pause = { .tv_nsec = SLEEP_NANOSECONDS };

    if (gnti_clock_seconds() - start > SPIN_MICROSECONDS * 1e-6)
        nanosleep(&pause, NULL);
}

static void link_stream(gnt_stream *s)
{
    gnt_device *dev = s->head.device;

    pthread_mutex_lock(&dev->lock);
    s->next = dev->streams;
    dev->streams = s;
    pthread_mutex_unlock(&dev->lock);
}

static void unlink_stream(gnt_stream *s)
{
    gnt_device *dev = s->head.device;
    gnt_stream **at;

    pthread_mutex_lock(&dev->lock);
    for (at = &dev->streams; *at != NULL && *at != s; at = &(*at)->next)
        ;
    if (*at == s)
        *at = s->next;
    pthread_mutex_unlock(&dev->lock);
}

static gnt_status make_events(gnt_stream *s, int32_t num_events)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_calloc_array(&s->events, num_events));
    GNT_TRY(gnti_calloc_array(&s->recorded, num_events));
    s->num_events = num_events;
    for (int32_t i = 0; i < num_events; i++)
        GNT_TRY_CUDA(cudaEventCreate(&s->events[i]));
    for (int i = 0; i < CUDA_UPLOAD_SLOTS; i++)
        GNT_TRY_CUDA(cudaEventCreateWithFlags(&s->slot_free[i], cudaEventDisableTiming));
    GNT_TRY_CUDA(cudaEventCreateWithFlags(&s->fence, cudaEventDisableTiming));
done:
    return st;
}

gnt_status cuda_stream_open(gnt_device *dev, int32_t num_events, gnt_stream **out)
{
    gnt_status st = GNT_OK;
    gnt_stream *s = NULL;

    GNT_TRY(cuda_enter(dev));
    GNT_TRY(gnti_calloc_bytes((void **)&s, sizeof *s));
    s->head.backend = dev->backend;
    s->head.device = dev;
    s->last_op = "none";
    GNT_TRY_CUDA(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
    s->head.handle = s->stream;
    GNT_TRY(make_events(s, num_events));
    GNT_TRY_CUDA(cudaHostAlloc((void **)&s->staging,
                               (size_t)CUDA_UPLOAD_SLOTS * CUDA_SLOT_BYTES + CUDA_DOWNLOAD_BYTES,
                               cudaHostAllocPortable));
    GNT_TRY(cuda_alloc(dev, sizeof *s->fault, &s->fault_memory));
    s->fault = s->fault_memory->device;
    link_stream(s);
    *out = s;
    s = NULL; /* handed over */
done:
    if (s != NULL)
        cuda_stream_close(s);
    return st;
}

static void free_growing(cuda_growing *g)
{
    for (int32_t i = 0; i < g->num_outgrown; i++)
        cuda_free(g->outgrown[i]);
    if (g->buf != NULL)
        cuda_free(g->buf);
}

static void destroy_events(gnt_stream *s)
{
    for (int32_t i = 0; i < s->num_events; i++)
        if (s->events[i] != NULL)
            (void)cudaEventDestroy(s->events[i]);
    for (int i = 0; i < CUDA_UPLOAD_SLOTS; i++)
        if (s->slot_free[i] != NULL)
            (void)cudaEventDestroy(s->slot_free[i]);
    if (s->fence != NULL)
        (void)cudaEventDestroy(s->fence);
}

void cuda_stream_close(gnt_stream *s)
{
    (void)cudaSetDevice(s->head.device->index);
    if (s->stream != NULL)
        (void)cudaStreamSynchronize(s->stream);
    unlink_stream(s);
    cuda_products_free(s->products);
    if (s->blas != NULL)
        (void)cublasLtDestroy(s->blas);
    if (s->sparse != NULL)
        (void)cusparseDestroy(s->sparse);
    free_growing(&s->scratch);
    free_growing(&s->workspace);
    if (s->fault_memory != NULL)
        cuda_free(s->fault_memory);
    if (s->staging != NULL)
        (void)cudaFreeHost(s->staging);
    destroy_events(s);
    if (s->stream != NULL)
        (void)cudaStreamDestroy(s->stream);
    gnti_free(s->events);
    gnti_free(s->recorded);
    gnti_free(s);
}

/* ---- waiting -------------------------------------------------------------------------------------------------------- */

static gnt_status tell_fault(const cuda_fault *f)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(f->kind != CUDA_FAULT_LABEL, GNT_ERR_ARG,
              "loss: row %lld has the label %lld, classes go from 0 to %lld", (long long)f->row,
              (long long)f->value, (long long)f->limit - 1);
    GNT_CHECK(f->kind != CUDA_FAULT_INDEX, GNT_ERR_ARG, "gather: row %lld wants row %lld of %lld",
              (long long)f->row, (long long)f->value, (long long)f->limit);
done:
    return st;
}

/* The stream has nothing to do, so these copies end at once. */
static gnt_status read_fault(gnt_stream *s)
{
    gnt_status st = GNT_OK;
    cuda_fault *fault = (cuda_fault *)(void *)s->staging; /* uploads are done */

    if (!s->may_fault)
        return GNT_OK;
    s->may_fault = false;
    GNT_TRY_CUDA(cudaMemcpyAsync(fault, s->fault, sizeof *fault, cudaMemcpyDeviceToHost, s->stream));
    GNT_TRY_CUDA(cudaStreamSynchronize(s->stream));
    if (fault->kind == CUDA_FAULT_NONE)
        return GNT_OK;
    GNT_TRY_CUDA(cudaMemsetAsync(s->fault, 0, sizeof *fault, s->stream));
    GNT_TRY(tell_fault(fault));
done:
    return st;
}

gnt_status cuda_stream_wait(gnt_stream *s, double seconds, bool *out_done)
{
    gnt_status st = GNT_OK;
    const double start = gnti_clock_seconds();
    cudaError_t e;

    GNT_CHECK(!s->capturing, GNT_ERR_STATE, "a stream that captures cannot be waited for");
    GNT_TRY(cuda_enter(s->head.device));
    while ((e = cudaStreamQuery(s->stream)) == cudaErrorNotReady) {
        if (gnti_clock_seconds() - start >= seconds) {
            *out_done = false;
            return GNT_OK;
        }
        cuda_nap(start);
    }
    if (e != cudaSuccess) {
        cuda_note_op(s->last_op);
        st = cuda_error_of(e, "the stream", __FILE__, __LINE__, __func__);
        if (st == GNT_ERR_DEVICE_LOST)
            goto done;
        GNT_FAIL(GNT_ERR_DEVICE_LOST, /* whatever it is, nothing that is queued there can be trusted */
                 "cuda device %d stopped working: %s (code %d); the last op queued was %s",
                 s->head.device->index, cudaGetErrorString(e), (int)e, s->last_op);
    }
    cuda_finish_downloads(s);
    GNT_TRY(read_fault(s));
    *out_done = true;
done:
    return st;
}

/* ---- events --------------------------------------------------------------------------------------------------------- */

gnt_status cuda_event_record(gnt_stream *s, int32_t event)
{
    gnt_status st = GNT_OK;

    GNT_TRY(cuda_enter(s->head.device));
    GNT_TRY_CUDA(cudaEventRecord(s->events[event], s->stream));
    s->recorded[event] = true;
done:
    return st;
}

gnt_status cuda_event_await(gnt_stream *s, const gnt_stream *of, int32_t event)
{
    gnt_status st = GNT_OK;

    GNT_TRY(cuda_enter(s->head.device));
    GNT_CHECK(of->recorded[event], GNT_ERR_STATE, "event %d was not recorded", event);
    GNT_TRY_CUDA(cudaStreamWaitEvent(s->stream, of->events[event], 0));
done:
    return st;
}

gnt_status cuda_event_seconds(gnt_stream *s, int32_t from, int32_t to, double *out)
{
    gnt_status st = GNT_OK;
    const double start = gnti_clock_seconds();
    float milliseconds = 0.0f;
    cudaError_t e;

    GNT_CHECK(s->recorded[from] && s->recorded[to], GNT_ERR_STATE, "event %d or %d was not recorded", from,
              to);
    GNT_TRY(cuda_enter(s->head.device));
    while ((e = cudaEventQuery(s->events[to])) == cudaErrorNotReady)
        cuda_nap(start);
    GNT_TRY_CUDA_FROM(e, "cudaEventQuery");
    GNT_TRY_CUDA(cudaEventElapsedTime(&milliseconds, s->events[from], s->events[to]));
    *out = (double)milliseconds * 1e-3;
done:
    return st;
}

/* ---- what a stream keeps ---------------------------------------------------------------------------------------------- */

static gnt_status grow(gnt_stream *s, cuda_growing *g, size_t bytes, void **out)
{
    gnt_status st = GNT_OK;
    const size_t have = g->buf != NULL ? g->buf->head.bytes : 0;
    gnt_buffer *fresh = NULL;

    if (bytes > have) {
        GNT_CHECK(!s->capturing, GNT_ERR_STATE,
                  "%zu bytes of scratch memory are needed while a step is captured", bytes);
        GNT_CHECK(g->num_outgrown < CUDA_MAX_OUTGROWN, GNT_ERR_LIMIT, "scratch memory has grown %d times",
                  g->num_outgrown);
        GNT_TRY(cuda_alloc(s->head.device, bytes > 2 * have ? bytes : 2 * have, &fresh));
        if (g->buf != NULL)
            g->outgrown[g->num_outgrown++] = g->buf;
        g->buf = fresh;
    }
    *out = g->buf != NULL ? g->buf->device : NULL;
done:
    return st;
}

gnt_status cuda_scratch(gnt_stream *s, size_t bytes, void **out)
{
    return grow(s, &s->scratch, bytes, out);
}

gnt_status cuda_workspace(gnt_stream *s, size_t bytes, void **out)
{
    return grow(s, &s->workspace, bytes, out);
}

gnt_status cuda_blas(gnt_stream *s, cublasLtHandle_t *out)
{
    gnt_status st = GNT_OK;

    if (s->blas == NULL)
        GNT_TRY_CUBLAS(cublasLtCreate(&s->blas));
    *out = s->blas;
done:
    return st;
}

gnt_status cuda_sparse_handle(gnt_stream *s, cusparseHandle_t *out)
{
    gnt_status st = GNT_OK;

    if (s->sparse == NULL) {
        GNT_TRY_CUSPARSE(cusparseCreate(&s->sparse));
        GNT_TRY_CUSPARSE(cusparseSetStream(s->sparse, s->stream));
    }
    *out = s->sparse;
done:
    return st;
}
