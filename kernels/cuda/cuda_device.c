/* SPDX-License-Identifier: Apache-2.0 */
/* Devices: how many there are, what they are called, opening one with a memory pool of its own.
 *
 * A machine without a driver or a device has none, which is no error: the runtime answers "driver too old", "no device" or
 * "not initialised" there. Devices are numbered as the runtime does; the plug-in asks it for the order on the bus, which is
 * that of nvidia-smi (cuda_plugin.c). The pool keeps what was freed, so that a plan that is made again does not ask the driver.
 */
#include "base/alloc.h"
#include "kernels/cuda/cuda.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static gnt_status count_devices(int32_t *out)
{
    gnt_status st = GNT_OK;
    int count = 0;
    const cudaError_t e = cudaGetDeviceCount(&count);

    *out = 0;
    if (e == cudaErrorInsufficientDriver || e == cudaErrorNoDevice || e == cudaErrorInitializationError) {
        (void)cudaGetLastError();
        return GNT_OK;
    }
    GNT_TRY_CUDA_FROM(e, "cudaGetDeviceCount");
    *out = count;
done:
    return st;
}

static gnt_status describe(int32_t index, gnt_device_info *out)
{
    gnt_status st = GNT_OK;
    struct cudaDeviceProp prop;

    memset(out, 0, sizeof *out);
    GNT_TRY_CUDA(cudaGetDeviceProperties(&prop, index));
    snprintf(out->name, sizeof out->name, "%.*s", (int)sizeof out->name - 1, prop.name);
    snprintf(out->kind, sizeof out->kind, "gpu");
    snprintf(out->isa, sizeof out->isa, "sm_%d%d", prop.major, prop.minor);
    out->num_threads = prop.multiProcessorCount;
    out->total_bytes = prop.totalGlobalMem;
    GNT_TRY_CUDA(cudaSetDevice(index));
    GNT_TRY_CUDA(cudaMemGetInfo(&out->free_bytes, &out->total_bytes));
done:
    return st;
}

gnt_status cuda_list(gnt_device_info *out, int32_t capacity, int32_t *out_count)
{
    gnt_status st = GNT_OK;
    int32_t count = 0;

    GNT_TRY(count_devices(&count));
    for (int32_t i = 0; i < count && i < capacity; i++)
        GNT_TRY(describe(i, &out[i]));
    *out_count = count;
done:
    return st;
}

gnt_status cuda_enter(const gnt_device *dev)
{
    gnt_status st = GNT_OK;

    cuda_note_device(dev->index);
    GNT_TRY_CUDA(cudaSetDevice(dev->index));
done:
    return st;
}

static gnt_status make_pool(gnt_device *dev)
{
    gnt_status st = GNT_OK;
    struct cudaMemPoolProps props;
    uint64_t keep = UINT64_MAX;
    int has_pools = 0;

    GNT_TRY_CUDA(cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported, dev->index));
    GNT_CHECK(has_pools != 0, GNT_ERR_UNSUPPORTED, "device %d has no stream-ordered memory pools",
              dev->index);
    memset(&props, 0, sizeof props);
    props.allocType = cudaMemAllocationTypePinned;
    props.handleTypes = cudaMemHandleTypeNone;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = dev->index;
    GNT_TRY_CUDA(cudaMemPoolCreate(&dev->pool, &props));
    GNT_TRY_CUDA(cudaMemPoolSetAttribute(dev->pool, cudaMemPoolAttrReleaseThreshold, &keep));
done:
    return st;
}

gnt_status cuda_open(int32_t index, const gnti_device_config *config, gnt_device **out)
{
    gnt_status st = GNT_OK;
    gnt_device *dev = NULL;
    struct cudaDeviceProp prop;
    int32_t count = 0;

    GNT_TRY(count_devices(&count));
    GNT_CHECK(index >= 0 && index < count, GNT_ERR_ARG, "cuda device %d does not exist: there %s %d", index,
              count == 1 ? "is" : "are", count);
    GNT_TRY(gnti_calloc_bytes((void **)&dev, sizeof *dev));
    dev->backend = &gnti_cuda_backend;
    dev->index = index;
    dev->determinism = config != NULL ? config->determinism : GNTI_DET_RUN;
    dev->memory_limit = config != NULL ? config->memory_limit : 0;
    dev->quota = config != NULL ? config->quota : NULL;
    atomic_init(&dev->used_bytes, 0);
    atomic_init(&dev->peak_bytes, 0);
    pthread_mutex_init(&dev->lock, NULL);
    dev->most_narrow_arcs = INT32_MAX;
    GNT_TRY(cuda_enter(dev));
    GNT_TRY_CUDA(cudaDeviceGetAttribute(&dev->num_multiprocessors, cudaDevAttrMultiProcessorCount, index));
    GNT_TRY_CUDA(cudaGetDeviceProperties(&prop, index));
    snprintf(dev->name, sizeof dev->name, "%.*s", (int)sizeof dev->name - 1, prop.name);
    GNT_TRY(make_pool(dev));
    GNT_TRY_CUDA(cudaStreamCreateWithFlags(&dev->memory_stream, cudaStreamNonBlocking));
    *out = dev;
    dev = NULL; /* handed over */
done:
    cuda_close(dev);
    return st;
}

void cuda_close(gnt_device *dev)
{
    if (dev == NULL)
        return;
    (void)cudaSetDevice(
        dev->index); /* a broken device cannot be told from here: what goes wrong is dropped */
    if (dev->memory_stream != NULL) {
        (void)cudaStreamSynchronize(dev->memory_stream);
        (void)cudaStreamDestroy(dev->memory_stream);
    }
    if (dev->pool != NULL)
        (void)cudaMemPoolDestroy(dev->pool);
    pthread_mutex_destroy(&dev->lock);
    gnti_free(dev);
}
