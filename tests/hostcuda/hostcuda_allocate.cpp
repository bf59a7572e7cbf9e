/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's calls that make and free memory: of the device, in stream order from pools, pinned.
 *
 * Memory of cudaMallocAsync may be touched from where its stream came to the allocation to where it came to the free.
 */
#include "tests/hostcuda/hostcuda_runtime.h"

#include <cstring>

struct CUmemPoolHandle_st {
    int device;
    bool made, alive;
    uint64_t release_threshold;
};

namespace hostcuda
{

static CUmemPoolHandle_st default_pools[16];

static CUmemPoolHandle_st *default_pool(int device)
{
    default_pools[device].device = device;
    default_pools[device].alive = true;
    return &default_pools[device];
}

static cudaError_t may_allocate()
{
    const cudaError_t refused = refuse_capturing_thread();
    return refused != cudaSuccess ? refused : device_error(current_device());
}

static cudaError_t new_block(void **out, int device, size_t bytes, const char *call, bool pooled)
{
    *out = nullptr;
    if (bytes == 0)
        return cudaSuccess;
    if (allocation_fails())
        return answer(cudaErrorMemoryAllocation);
    void *data = memory_new(device, bytes, call, pooled);
    if (data == nullptr && device >= 0) { /* frees that are queued make room */
        drive_all(device);
        data = memory_new(device, bytes, call, pooled);
    }
    if (data == nullptr)
        return answer(cudaErrorMemoryAllocation);
    *out = data;
    return cudaSuccess;
}

static cudaError_t allocate_queued(void **out, size_t bytes, int device, cudaStream_t stream,
                                   const char *call)
{
    CUstream_st *s = stream_of(stream, call);
    if (s->capturing)
        broken("%s: nodes that allocate are not known to the stand-in", call);
    if (s->device != device)
        broken("%s: the stream is of device %d, the pool of device %d", call, s->device, device);
    const cudaError_t lost = device_error(s->device);
    if (lost != cudaSuccess)
        return answer(lost);
    const cudaError_t made = new_block(out, s->device, bytes, call, true);
    if (made != cudaSuccess || *out == nullptr)
        return made;
    void *data = *out;
    memory_set_state(data, memory_state::coming);
    return enqueue(
        stream, { call, [data] { return memory_set_state(data, memory_state::live), result::done; }, false });
}

} // namespace hostcuda

using namespace hostcuda;

extern "C" {

cudaError_t CUDARTAPI cudaMalloc(void **out, size_t bytes)
{
    const cudaError_t refused = may_allocate();
    if (refused != cudaSuccess)
        return answer(refused);
    return new_block(out, current_device(), bytes, "cudaMalloc", false);
}

cudaError_t CUDARTAPI cudaFree(void *data)
{
    if (data == nullptr)
        return cudaSuccess;
    const cudaError_t refused = refuse_capturing_thread();
    if (refused != cudaSuccess)
        return refused;
    const allocation b = memory_find_start(0, data, "cudaFree");
    if (!b.pooled) /* as the real one, it waits for the device; for memory of a pool the caller has to */
        drive_all(b.device);
    memory_free(data, "cudaFree");
    return answer(device_error(b.device));
}

cudaError_t CUDARTAPI cudaMallocAsync(void **out, size_t bytes, cudaStream_t stream)
{
    return allocate_queued(out, bytes, device_of(stream), stream, "cudaMallocAsync");
}

cudaError_t CUDARTAPI cudaMallocFromPoolAsync(void **out, size_t bytes, cudaMemPool_t pool,
                                              cudaStream_t stream)
{
    if (pool == nullptr || !pool->alive)
        broken("cudaMallocFromPoolAsync: the pool is not alive");
    return allocate_queued(out, bytes, pool->device, stream, "cudaMallocFromPoolAsync");
}

cudaError_t CUDARTAPI cudaFreeAsync(void *data, cudaStream_t stream)
{
    CUstream_st *s = stream_of(stream, "cudaFreeAsync");
    if (data == nullptr)
        return cudaSuccess;
    if (s->capturing)
        broken("cudaFreeAsync: nodes that free are not known to the stand-in");
    const allocation b = memory_find_start(0, data, "cudaFreeAsync");
    if (b.device != s->device)
        broken("cudaFreeAsync: allocation %lld is of device %d, the stream of device %d", (long long)b.number,
               b.device, s->device);
    if (device_error(s->device) != cudaSuccess) {
        memory_free(data, "cudaFreeAsync");
        return answer(device_error(s->device));
    }
    memory_set_state(data, memory_state::leaving);
    return enqueue(stream, { "cudaFreeAsync",
                             [data] { return memory_free(data, "cudaFreeAsync"), result::done; }, false });
}

cudaError_t CUDARTAPI cudaHostAlloc(void **out, size_t bytes, unsigned int flags)
{
    if ((flags & ~(cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined)) != 0)
        return answer(cudaErrorInvalidValue);
    const cudaError_t refused = may_allocate();
    if (refused != cudaSuccess)
        return answer(refused);
    return new_block(out, -1, bytes, "cudaHostAlloc", false);
}

cudaError_t CUDARTAPI cudaMallocHost(void **out, size_t bytes)
{
    return cudaHostAlloc(out, bytes, 0);
}

cudaError_t CUDARTAPI cudaFreeHost(void *data)
{
    if (data == nullptr)
        return cudaSuccess;
    const cudaError_t refused = refuse_capturing_thread();
    if (refused != cudaSuccess)
        return refused;
    memory_find_start(-1, data, "cudaFreeHost");
    memory_free(data, "cudaFreeHost");
    return answer(device_error(current_device()));
}

cudaError_t CUDARTAPI cudaHostRegister(void *data, size_t bytes, unsigned int)
{
    const cudaError_t refused = may_allocate();
    if (refused != cudaSuccess)
        return answer(refused);
    check_host_range(data, bytes, "cudaHostRegister", "ptr");
    if (memory_is_pinned(data, bytes))
        return answer(cudaErrorHostMemoryAlreadyRegistered);
    memory_register(data, bytes);
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaHostUnregister(void *data)
{
    return memory_unregister(data) ? cudaSuccess : answer(cudaErrorHostMemoryNotRegistered);
}

cudaError_t CUDARTAPI cudaHostGetDevicePointer(void **out, void *data, unsigned int flags)
{
    if (flags != 0 || !memory_is_pinned(data, 1))
        return answer(cudaErrorInvalidValue);
    *out = data;
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaPointerGetAttributes(struct cudaPointerAttributes *out, const void *data)
{
    memset(out, 0, sizeof *out);
    int device = -2;
    out->type = memory_is_device(data, &device) ? cudaMemoryTypeDevice
                : memory_is_pinned(data, 1)     ? cudaMemoryTypeHost
                                                : cudaMemoryTypeUnregistered;
    out->device = device;
    out->devicePointer = out->type == cudaMemoryTypeUnregistered ? nullptr : (void *)data;
    out->hostPointer = out->type == cudaMemoryTypeDevice ? nullptr : (void *)data;
    return cudaSuccess;
}

/* ---- pools ---- */
cudaError_t CUDARTAPI cudaDeviceGetDefaultMemPool(cudaMemPool_t *out, int device)
{
    if (device < 0 || device >= num_devices())
        return answer(cudaErrorInvalidDevice);
    *out = default_pool(device);
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaDeviceGetMemPool(cudaMemPool_t *out, int device)
{
    return cudaDeviceGetDefaultMemPool(out, device);
}

cudaError_t CUDARTAPI cudaMemPoolCreate(cudaMemPool_t *out, const struct cudaMemPoolProps *props)
{
    if (props->allocType != cudaMemAllocationTypePinned ||
        props->location.type != cudaMemLocationTypeDevice || props->location.id < 0 ||
        props->location.id >= num_devices())
        return answer(cudaErrorInvalidValue);
    *out = new CUmemPoolHandle_st{ props->location.id, true, true, 0 };
    return answer(device_error(props->location.id));
}

cudaError_t CUDARTAPI cudaMemPoolDestroy(cudaMemPool_t pool)
{
    if (pool == nullptr || !pool->made || !pool->alive)
        broken("cudaMemPoolDestroy: not a pool that was created");
    delete pool;
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attr, void *value)
{
    if (attr == cudaMemPoolAttrReleaseThreshold)
        pool->release_threshold = *(const uint64_t *)value;
    else if (attr != cudaMemPoolReuseFollowEventDependencies && attr != cudaMemPoolReuseAllowOpportunistic &&
             attr != cudaMemPoolReuseAllowInternalDependencies)
        return answer(cudaErrorInvalidValue);
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attr, void *value)
{
    const uint64_t used = device_at(pool->device).used_bytes;
    if (attr == cudaMemPoolAttrReleaseThreshold)
        *(uint64_t *)value = pool->release_threshold;
    else if (attr == cudaMemPoolAttrUsedMemCurrent || attr == cudaMemPoolAttrReservedMemCurrent)
        *(uint64_t *)value = used;
    else
        return answer(cudaErrorInvalidValue);
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaMemPoolTrimTo(cudaMemPool_t, size_t)
{
    return cudaSuccess;
}

} // extern "C"
