/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers and what crosses between host and device.
 *
 * Device memory comes zeroed from the device's pool, in the order of one stream; a buffer that is freed goes back when all open
 * streams have done what was queued so far. Ordinary host memory crosses through the stream's pinned staging: an upload has read
 * its source when it returns, a download has written its destination when the stream was waited for.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "kernels/cuda/cuda.h"

#include <stdio.h>
#include <string.h>

static gnt_status out_of_memory(const gnt_device *dev, size_t bytes, size_t used)
{
    size_t free_bytes = 0, total = 0;
    gnt_status st = GNT_OK;

    (void)cudaGetLastError();
    (void)cudaMemGetInfo(&free_bytes, &total);
    GNT_FAIL(GNT_ERR_DEVICE_NOMEM,
             "%zu bytes do not fit on cuda device %d: %zu are in use by this run, %zu of %zu are free", bytes,
             dev->index, used, free_bytes, total);
done:
    return st;
}

/* Once more after what the pool keeps went back to the driver. */
static gnt_status take_device_memory(gnt_device *dev, size_t bytes, size_t used, void **out)
{
    gnt_status st = GNT_OK;
    cudaError_t e = cudaMallocFromPoolAsync(out, bytes, dev->pool, dev->memory_stream);

    if (e == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        GNT_TRY_CUDA(cudaStreamSynchronize(dev->memory_stream));
        GNT_TRY_CUDA(cudaMemPoolTrimTo(dev->pool, 0));
        e = cudaMallocFromPoolAsync(out, bytes, dev->pool, dev->memory_stream);
    }
    if (e == cudaErrorMemoryAllocation)
        GNT_TRY(out_of_memory(dev, bytes, used));
    GNT_TRY_CUDA_FROM(e, "cudaMallocFromPoolAsync");
done:
    return st;
}

size_t cuda_peak_bytes(const gnt_device *dev)
{
    return atomic_load(&dev->peak_bytes);
}

static void note_peak(gnt_device *dev, size_t used)
{
    size_t peak = atomic_load(&dev->peak_bytes);

    while (used > peak && !atomic_compare_exchange_weak(&dev->peak_bytes, &peak, used))
        ;
}

gnt_status cuda_alloc(gnt_device *dev, size_t bytes, gnt_buffer **out)
{
    gnt_status st = GNT_OK;
    gnt_buffer *buf = NULL;
    bool counted = false;
    const size_t before = atomic_fetch_add(&dev->used_bytes, bytes);
    const size_t taken = bytes > 0 ? bytes : 1;

    GNT_CHECK(dev->memory_limit == 0 || (bytes <= dev->memory_limit && before <= dev->memory_limit - bytes),
              GNT_ERR_DEVICE_NOMEM, "%zu bytes do not fit: %zu of the device's limit of %zu bytes are in use",
              bytes, before, dev->memory_limit);
    counted = gnti_quota_take(dev->quota, bytes);
    GNT_CHECK(counted, GNT_ERR_DEVICE_NOMEM,
              "%zu bytes do not fit: %zu of the %zu bytes of a shared device are in use", bytes,
              atomic_load(&dev->quota->used), dev->quota->limit);
    GNT_TRY(cuda_enter(dev));
    GNT_TRY(gnti_calloc_bytes((void **)&buf, sizeof *buf));
    buf->head = (gnti_buffer_head){ .backend = dev->backend, .device = dev, .bytes = bytes };
    GNT_TRY(take_device_memory(dev, taken, before, &buf->device));
    GNT_TRY_CUDA(cudaMemsetAsync(buf->device, 0, taken, dev->memory_stream));
    GNT_TRY_CUDA(cudaStreamSynchronize(dev->memory_stream)); /* any stream may use it now */
    buf->head.address = buf->device;
    note_peak(dev, before + bytes);
    *out = buf;
    buf = NULL; /* handed over */
done:
    if (st != GNT_OK)
        atomic_fetch_sub(&dev->used_bytes, bytes);
    if (st != GNT_OK && counted)
        gnti_quota_give(dev->quota, bytes);
    if (buf != NULL && buf->device != NULL)
        (void)cudaFreeAsync(buf->device, dev->memory_stream);
    gnti_free(buf);
    return st;
}

gnt_status cuda_host_buffer(gnt_device *dev, size_t bytes, void **host, gnt_buffer **out)
{
    gnt_status st = GNT_OK;
    gnt_buffer *buf = NULL;

    GNT_CHECK(*host == NULL, GNT_ERR_UNSUPPORTED, "a cuda device does not read ordinary host memory");
    GNT_TRY(cuda_enter(dev));
    GNT_TRY(gnti_calloc_bytes((void **)&buf, sizeof *buf));
    buf->head = (gnti_buffer_head){ .backend = dev->backend, .device = dev, .bytes = bytes };
    GNT_TRY_CUDA(
        cudaHostAlloc(&buf->head.host, bytes > 0 ? bytes : 1, cudaHostAllocPortable | cudaHostAllocMapped));
    memset(buf->head.host, 0, bytes);
    GNT_TRY_CUDA(cudaHostGetDevicePointer(&buf->device, buf->head.host, 0));
    buf->head.address = buf->device;
    *host = buf->head.host;
    *out = buf;
    buf = NULL; /* handed over */
done:
    if (buf != NULL && buf->head.host != NULL)
        (void)cudaFreeHost(buf->head.host);
    gnti_free(buf);
    return st;
}

/* The pool's stream waits for all that is queued on the device's open streams. */
static void fence_streams(gnt_device *dev)
{
    pthread_mutex_lock(&dev->lock);
    for (gnt_stream *s = dev->streams; s != NULL; s = s->next)
        if (!s->capturing && cudaEventRecord(s->fence, s->stream) == cudaSuccess)
            (void)cudaStreamWaitEvent(dev->memory_stream, s->fence, 0);
    pthread_mutex_unlock(&dev->lock);
}

void cuda_free(gnt_buffer *buf)
{
    gnt_device *dev = (gnt_device *)buf->head.device; /* the device outlives its buffers and is ours */

    (void)cudaSetDevice(dev->index);
    fence_streams(dev);
    if (buf->head.host != NULL) {
        (void)cudaStreamSynchronize(dev->memory_stream);
        (void)cudaFreeHost(buf->head.host);
    } else {
        (void)cudaFreeAsync(buf->device, dev->memory_stream);
        atomic_fetch_sub(&dev->used_bytes, buf->head.bytes);
        gnti_quota_give(dev->quota, buf->head.bytes);
    }
    gnti_free(buf);
}

/* ---- crossing ------------------------------------------------------------------------------------------------------- */

static gnt_status wait_event(cudaEvent_t event)
{
    gnt_status st = GNT_OK;
    const double start = gnti_clock_seconds();
    cudaError_t e;

    while ((e = cudaEventQuery(event)) == cudaErrorNotReady)
        cuda_nap(start);
    GNT_TRY_CUDA_FROM(e, "cudaEventQuery");
done:
    return st;
}

gnt_status cuda_upload(gnt_stream *s, gnt_buffer *dst, size_t offset, const void *src, size_t bytes)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(!s->capturing, GNT_ERR_STATE, "an upload cannot be part of a captured step");
    GNT_TRY(cuda_enter(s->head.device));
    for (size_t at = 0, n; at < bytes; at += n) {
        const int32_t slot = s->next_slot;
        char *room = s->staging + (size_t)slot * CUDA_SLOT_BYTES;

        n = bytes - at < CUDA_SLOT_BYTES ? bytes - at : CUDA_SLOT_BYTES;
        GNT_TRY(wait_event(s->slot_free[slot]));
        memcpy(room, (const char *)src + at, n);
        GNT_TRY_CUDA(
            cudaMemcpyAsync(cuda_address(dst, offset + at), room, n, cudaMemcpyHostToDevice, s->stream));
        GNT_TRY_CUDA(cudaEventRecord(s->slot_free[slot], s->stream));
        s->next_slot = (slot + 1) % CUDA_UPLOAD_SLOTS;
    }
done:
    return st;
}

void cuda_finish_downloads(gnt_stream *s)
{
    for (int32_t i = 0; i < s->num_pending; i++)
        memcpy(s->pending[i].dst, s->pending[i].src, s->pending[i].bytes);
    s->num_pending = 0;
    s->downloads_used = 0;
}

static gnt_status wait_all(gnt_stream *s)
{
    gnt_status st = GNT_OK;
    bool is_done = false;

    while (!is_done)
        GNT_TRY(cuda_stream_wait(s, 1.0, &is_done));
done:
    return st;
}

gnt_status cuda_download(gnt_stream *s, void *dst, const gnt_buffer *src, size_t offset, size_t bytes)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(!s->capturing, GNT_ERR_STATE, "a download cannot be part of a captured step");
    GNT_TRY(cuda_enter(s->head.device));
    for (size_t at = 0, n; at < bytes; at += n) {
        char *room;

        n = bytes - at < CUDA_DOWNLOAD_BYTES ? bytes - at : CUDA_DOWNLOAD_BYTES;
        if (s->num_pending == CUDA_MAX_PENDING || s->downloads_used + n > CUDA_DOWNLOAD_BYTES)
            GNT_TRY(wait_all(s));
        room = s->staging + (size_t)CUDA_UPLOAD_SLOTS * CUDA_SLOT_BYTES + s->downloads_used;
        GNT_TRY_CUDA(
            cudaMemcpyAsync(room, cuda_address(src, offset + at), n, cudaMemcpyDeviceToHost, s->stream));
        s->pending[s->num_pending++] = (cuda_pending){ .dst = (char *)dst + at, .src = room, .bytes = n };
        s->downloads_used += gnti_round_up(n, 64);
    }
done:
    return st;
}

gnt_status cuda_copy(gnt_stream *s, const gnt_copy_args *a)
{
    gnt_status st = GNT_OK;
    const gnt_device *to = a->dst->head.device, *from = a->src->head.device;
    void *dst = cuda_address(a->dst, a->dst_offset);
    const void *src = cuda_address(a->src, a->src_offset);

    GNT_TRY(cuda_enter(s->head.device));
    if (a->bytes == 0)
        return GNT_OK;
    if (to != from && a->dst->head.host == NULL && a->src->head.host == NULL)
        GNT_TRY_CUDA(cudaMemcpyPeerAsync(dst, to->index, src, from->index, a->bytes, s->stream));
    else
        GNT_TRY_CUDA(cudaMemcpyAsync(dst, src, a->bytes, cudaMemcpyDefault, s->stream));
done:
    return st;
}
