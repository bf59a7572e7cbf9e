/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's copies and fills.
 *
 * What lies in pageable host memory is taken at the call, unless it is captured; pinned memory is read when the work is
 * done, and every download is written then: a buffer that is used again, or read, too early shows.
 */
#include "tests/hostcuda/hostcuda_runtime.h"

#include <cstring>

namespace hostcuda
{

enum class side { host, device };
struct copy_args {
    char *dst;
    const char *src;
    size_t dst_pitch, src_pitch, width, height;
};

static side side_of(const void *data)
{
    int device;
    return memory_is_device(data, &device) ? side::device : side::host;
}

static void check_side(const void *data, size_t bytes, side s, const char *call, const char *argument)
{
    int device = 0;
    if (s == side::host) {
        check_host_range(data, bytes, call, argument);
    } else {
        if (!memory_is_device(data, &device) && bytes > 0)
            broken("%s: %s is %p, which is not device memory", call, argument, data);
        check_device_range(device, data, bytes, call, argument);
    }
}

static size_t span(size_t pitch, size_t width, size_t height)
{
    return width == 0 || height == 0 ? 0 : (height - 1) * pitch + width;
}

static void copy_rows(const copy_args &a, const char *src)
{
    if (a.height == 1 || (a.dst_pitch == a.width && a.src_pitch == a.width)) {
        memmove(a.dst, src, a.width * a.height);
        return;
    }
    for (size_t r = 0; r < a.height; r++)
        memmove(a.dst + r * a.dst_pitch, src + r * a.src_pitch, a.width);
}

static void count_copy(side from, side to, size_t bytes)
{
    if (from == side::host && to == side::device) {
        counts.uploads++;
        counts.upload_bytes += (int64_t)bytes;
    } else if (from == side::device && to == side::host) {
        counts.downloads++;
        counts.download_bytes += (int64_t)bytes;
    }
}

static bool sides(enum cudaMemcpyKind kind, const copy_args &a, side *from, side *to)
{
    *from = kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice ? side::host : side::device;
    *to = kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost ? side::host : side::device;
    if (kind == cudaMemcpyDefault) {
        *from = side_of(a.src);
        *to = side_of(a.dst);
    }
    return (int)kind >= cudaMemcpyHostToHost && (int)kind <= cudaMemcpyDefault;
}

/* The work that copies; kept: what was taken from pageable memory at the call. */
static work copy_work(const copy_args &a, side from, side to, std::shared_ptr<std::vector<char>> kept)
{
    return { "copy",
             [=] {
                 copy_rows(a, kept ? kept->data() : a.src);
                 count_copy(from, to, a.width * a.height);
                 return result::done;
             },
             false };
}

static cudaError_t prepare(const copy_args &a, enum cudaMemcpyKind kind, const char *call, side *from,
                           side *to)
{
    if (!sides(kind, a, from, to))
        return cudaErrorInvalidMemcpyDirection;
    if (a.height > 1 && (a.dst_pitch < a.width || a.src_pitch < a.width))
        broken("%s: rows of %zu bytes, pitches %zu and %zu", call, a.width, a.dst_pitch, a.src_pitch);
    check_side(a.dst, span(a.dst_pitch, a.width, a.height), *to, call, "dst");
    check_side(a.src, span(a.src_pitch, a.width, a.height), *from, call, "src");
    return cudaSuccess;
}

static cudaError_t copy_queued(const copy_args &a, enum cudaMemcpyKind kind, cudaStream_t stream,
                               const char *call)
{
    CUstream_st *s = stream_of(stream, call);
    side from, to;
    const cudaError_t e = prepare(a, kind, call, &from, &to);
    if (e != cudaSuccess)
        return answer(e);
    std::shared_ptr<std::vector<char>> kept;
    const size_t bytes = span(a.src_pitch, a.width, a.height);
    if (bytes == 0)
        return answer(device_error(s->device));
    if (from == side::host && !s->capturing && !memory_is_pinned(a.src, bytes))
        kept = std::make_shared<std::vector<char>>(a.src, a.src + bytes);
    return enqueue(stream, copy_work(a, from, to, kept));
}

/* Behind all work of the device's streams that are not cudaStreamNonBlocking, and before the caller goes on. */
static cudaError_t run_now(const work &w)
{
    const int device = current_device();
    const cudaError_t refused = refuse_capturing_thread();
    if (refused != cudaSuccess)
        return refused;
    device_state &d = device_at(device);
    std::vector<std::pair<CUstream_st *, uint64_t>> goals;
    d.lock.lock();
    for (CUstream_st *s : d.streams)
        if (s->blocking)
            goals.push_back({ s, s->queued });
    d.lock.unlock();
    drive(device, nullptr, [&] {
        for (const auto &g : goals)
            if (!stream_reached(g.first, g.second))
                return false;
        return true;
    });
    if (device_error(device) == cudaSuccess) {
        std::lock_guard<std::recursive_mutex> hold(d.lock);
        if (run_work(w, device) == result::lost)
            d.error = cudaErrorDevicesUnavailable;
        memory_close();
    }
    return answer(device_error(device));
}

static cudaError_t copy_at_once(const copy_args &a, enum cudaMemcpyKind kind, const char *call)
{
    side from, to;
    const cudaError_t e = prepare(a, kind, call, &from, &to);
    if (e != cudaSuccess)
        return answer(e);
    return run_now(copy_work(a, from, to, nullptr));
}

static work fill_work(char *data, size_t pitch, int value, size_t width, size_t height)
{
    return { "fill",
             [=] {
                 for (size_t r = 0; r < height; r++)
                     memset(data + r * pitch, value, width);
                 return result::done;
             },
             false };
}

} // namespace hostcuda

using namespace hostcuda;

extern "C" {

cudaError_t CUDARTAPI cudaMemcpyAsync(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind,
                                      cudaStream_t stream)
{
    return copy_queued({ (char *)dst, (const char *)src, bytes, bytes, bytes, 1 }, kind, stream,
                       "cudaMemcpyAsync");
}

cudaError_t CUDARTAPI cudaMemcpy(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind)
{
    return copy_at_once({ (char *)dst, (const char *)src, bytes, bytes, bytes, 1 }, kind, "cudaMemcpy");
}

cudaError_t CUDARTAPI cudaMemcpy2DAsync(void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
                                        size_t width, size_t height, enum cudaMemcpyKind kind,
                                        cudaStream_t stream)
{
    return copy_queued({ (char *)dst, (const char *)src, dst_pitch, src_pitch, width, height }, kind, stream,
                       "cudaMemcpy2DAsync");
}

cudaError_t CUDARTAPI cudaMemcpy2D(void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
                                   size_t width, size_t height, enum cudaMemcpyKind kind)
{
    return copy_at_once({ (char *)dst, (const char *)src, dst_pitch, src_pitch, width, height }, kind,
                        "cudaMemcpy2D");
}

cudaError_t CUDARTAPI cudaMemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device,
                                          size_t bytes, cudaStream_t stream)
{
    check_device_range(dst_device, dst, bytes, "cudaMemcpyPeerAsync", "dst");
    check_device_range(src_device, src, bytes, "cudaMemcpyPeerAsync", "src");
    return copy_queued({ (char *)dst, (const char *)src, bytes, bytes, bytes, 1 }, cudaMemcpyDeviceToDevice,
                       stream, "cudaMemcpyPeerAsync");
}

cudaError_t CUDARTAPI cudaMemcpyPeer(void *dst, int dst_device, const void *src, int src_device, size_t bytes)
{
    check_device_range(dst_device, dst, bytes, "cudaMemcpyPeer", "dst");
    check_device_range(src_device, src, bytes, "cudaMemcpyPeer", "src");
    return copy_at_once({ (char *)dst, (const char *)src, bytes, bytes, bytes, 1 }, cudaMemcpyDeviceToDevice,
                        "cudaMemcpyPeer");
}

cudaError_t CUDARTAPI cudaMemset2DAsync(void *data, size_t pitch, int value, size_t width, size_t height,
                                        cudaStream_t stream)
{
    CUstream_st *s = stream_of(stream, "cudaMemsetAsync");
    check_device_range(s->device, data, span(pitch, width, height), "cudaMemsetAsync", "devPtr");
    return enqueue(stream, fill_work((char *)data, pitch, value, width, height));
}

cudaError_t CUDARTAPI cudaMemsetAsync(void *data, int value, size_t bytes, cudaStream_t stream)
{
    return cudaMemset2DAsync(data, bytes, value, bytes, 1, stream);
}

cudaError_t CUDARTAPI cudaMemset(void *data, int value, size_t bytes)
{
    check_device_range(current_device(), data, bytes, "cudaMemset", "devPtr");
    return run_now(fill_work((char *)data, bytes, value, bytes, 1));
}

cudaError_t CUDARTAPI cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *user)
{
    return enqueue(stream, { "host function", [=] { return fn(user), result::done; }, false });
}

} // extern "C"
