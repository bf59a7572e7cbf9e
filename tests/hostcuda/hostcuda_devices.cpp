/* SPDX-License-Identifier: Apache-2.0 */
/* Devices of the stand-in: how many, what they say of themselves, which one a thread uses, and errors' names. */
#include "tests/hostcuda/hostcuda_runtime.h"

#include <cstdio>
#include <cstring>

namespace hostcuda
{

static std::mutex devices_lock;
static device_state *devices[16];
static thread_local int thread_device, thread_first = -1;
static thread_local uint64_t thread_generation;

int num_devices()
{
    return (int)config().devices.size();
}

device_state &device_at(int device)
{
    if (device < 0 || device >= num_devices())
        broken("device %d is asked for, there are %d", device, num_devices());
    std::lock_guard<std::mutex> hold(devices_lock);
    if (devices[device] == nullptr) {
        devices[device] = new device_state;
        devices[device]->index = device;
        devices[device]->total_bytes = config().devices[(size_t)device];
    }
    return *devices[device];
}

static void start_thread()
{
    if (thread_generation != generation()) {
        thread_generation = generation();
        thread_device = 0;
        thread_first = -1;
    }
}

int current_device()
{
    start_thread();
    return thread_device;
}

int first_device()
{
    start_thread();
    return thread_first < 0 ? 0 : thread_first;
}

cudaError_t device_error(int device)
{
    return device < num_devices() ? (cudaError_t)device_at(device).error.load() : cudaSuccess;
}

void reset_devices()
{
    std::lock_guard<std::mutex> hold(devices_lock);
    for (device_state *&d : devices) {
        delete d;
        d = nullptr;
    }
}

} // namespace hostcuda

using namespace hostcuda;

extern "C" {

cudaError_t CUDARTAPI cudaGetDeviceCount(int *count)
{
    *count = num_devices();
    return *count > 0 ? cudaSuccess : answer(cudaErrorNoDevice);
}

cudaError_t CUDARTAPI cudaSetDevice(int device)
{
    start_thread();
    if (device < 0 || device >= num_devices())
        return answer(cudaErrorInvalidDevice);
    thread_device = device;
    if (thread_first < 0)
        thread_first = device;
    return answer(device_error(device));
}

cudaError_t CUDARTAPI cudaGetDevice(int *device)
{
    *device = current_device();
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    if (device < 0 || device >= num_devices())
        return answer(cudaErrorInvalidDevice);
    memset(prop, 0, sizeof *prop);
    snprintf(prop->name, sizeof prop->name, "hostcuda %d", device);
    prop->totalGlobalMem = config().devices[(size_t)device];
    prop->sharedMemPerBlock = prop->sharedMemPerMultiprocessor = 48 << 10;
    prop->regsPerBlock = prop->regsPerMultiprocessor = 65536;
    prop->warpSize = 32;
    prop->maxThreadsPerBlock = 1024;
    prop->maxThreadsPerMultiProcessor = 2048;
    prop->maxThreadsDim[0] = prop->maxThreadsDim[1] = 1024;
    prop->maxThreadsDim[2] = 64;
    prop->maxGridSize[0] = 2147483647;
    prop->maxGridSize[1] = prop->maxGridSize[2] = 65535;
    prop->major = 8;
    prop->multiProcessorCount = 4;
    prop->unifiedAddressing = prop->concurrentKernels = prop->canMapHostMemory = 1;
    prop->asyncEngineCount = 2;
    prop->memoryPoolsSupported = 1;
    prop->streamPrioritiesSupported = 1;
    prop->l2CacheSize = 1 << 20;
    prop->pciDeviceID = config().numbers[(size_t)device];
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device)
{
    static const struct {
        enum cudaDeviceAttr attr;
        int value;
    } known[] = { { cudaDevAttrMultiProcessorCount, 4 },
                  { cudaDevAttrComputeCapabilityMajor, 8 },
                  { cudaDevAttrComputeCapabilityMinor, 0 },
                  { cudaDevAttrWarpSize, 32 },
                  { cudaDevAttrMaxThreadsPerBlock, 1024 },
                  { cudaDevAttrMaxSharedMemoryPerBlock, 48 << 10 },
                  { cudaDevAttrMemoryPoolsSupported, 1 },
                  { cudaDevAttrMaxGridDimX, 2147483647 },
                  { cudaDevAttrMaxGridDimY, 65535 },
                  { cudaDevAttrMaxGridDimZ, 65535 },
                  { cudaDevAttrMaxThreadsPerMultiProcessor, 2048 },
                  { cudaDevAttrUnifiedAddressing, 1 },
                  { cudaDevAttrL2CacheSize, 1 << 20 },
                  { cudaDevAttrConcurrentKernels, 1 },
                  { cudaDevAttrCanMapHostMemory, 1 },
                  { cudaDevAttrStreamPrioritiesSupported, 1 },
                  { cudaDevAttrPageableMemoryAccess, 0 },
                  { cudaDevAttrManagedMemory, 0 },
                  { cudaDevAttrMaxBlockDimX, 1024 } };
    if (device < 0 || device >= num_devices())
        return answer(cudaErrorInvalidDevice);
    for (const auto &k : known)
        if (k.attr == attr) {
            *value = k.value;
            return cudaSuccess;
        }
    broken("cudaDeviceGetAttribute: attribute %d is not one that the stand-in knows", (int)attr);
}

cudaError_t CUDARTAPI cudaMemGetInfo(size_t *free, size_t *total)
{
    const device_state &d = device_at(current_device());
    *total = d.total_bytes;
    *free = d.total_bytes - d.used_bytes;
    return answer(device_error(d.index));
}

cudaError_t CUDARTAPI cudaDeviceGetPCIBusId(char *text, int bytes, int device)
{
    if (device < 0 || device >= num_devices() || bytes < 13)
        return answer(cudaErrorInvalidValue);
    snprintf(text, (size_t)bytes, "0000:%02x:00.0", (unsigned)config().numbers[(size_t)device] & 0xffU);
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    if (device < 0 || device >= num_devices() || peer < 0 || peer >= num_devices())
        return answer(cudaErrorInvalidDevice);
    *can = device != peer;
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaDeviceEnablePeerAccess(int peer, unsigned int flags)
{
    device_state &d = device_at(current_device());
    if (flags != 0 || peer < 0 || peer >= num_devices() || peer == d.index)
        return answer(cudaErrorInvalidValue);
    std::lock_guard<std::recursive_mutex> hold(d.lock);
    if ((d.peers >> peer & 1) != 0)
        return answer(cudaErrorPeerAccessAlreadyEnabled);
    d.peers |= 1U << peer;
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaDeviceDisablePeerAccess(int peer)
{
    device_state &d = device_at(current_device());
    std::lock_guard<std::recursive_mutex> hold(d.lock);
    if (peer < 0 || peer >= num_devices() || (d.peers >> peer & 1) == 0)
        return answer(cudaErrorPeerAccessNotEnabled);
    d.peers &= ~(1U << peer);
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaDriverGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaSetDeviceFlags(unsigned int)
{
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaFuncGetAttributes(struct cudaFuncAttributes *attr, const void *)
{
    memset(attr, 0, sizeof *attr);
    attr->maxThreadsPerBlock = 1024;
    attr->numRegs = 32;
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *, int threads,
                                                                    size_t)
{
    *blocks = threads > 0 ? 2048 / threads : 0;
    return cudaSuccess;
}

} // extern "C"

/* Names as the vendor's, for the errors that the stand-in answers; texts are ours. */
static const struct {
    cudaError_t error;
    const char *name, *text;
} errors[] = {
#define ERROR(code, text)                                                                                    \
    {                                                                                                        \
        code, #code, text                                                                                    \
    }
    ERROR(cudaSuccess, "no error"),
    ERROR(cudaErrorInvalidValue, "invalid argument"),
    ERROR(cudaErrorMemoryAllocation, "out of memory"),
    ERROR(cudaErrorInitializationError, "initialization error"),
    ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    ERROR(cudaErrorNoDevice, "no device is there"),
    ERROR(cudaErrorInsufficientDriver, "driver is too old for the runtime"),
    ERROR(cudaErrorInvalidDevicePointer, "invalid device pointer"),
    ERROR(cudaErrorInvalidMemcpyDirection, "invalid direction of a copy"),
    ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    ERROR(cudaErrorNotReady, "not ready yet"),
    ERROR(cudaErrorNotSupported, "operation not supported"),
    ERROR(cudaErrorNotPermitted, "operation not permitted"),
    ERROR(cudaErrorIllegalAddress, "an illegal address was accessed"),
    ERROR(cudaErrorLaunchFailure, "a launch failed"),
    ERROR(cudaErrorDevicesUnavailable, "the device is busy or gone"),
    ERROR(cudaErrorPeerAccessAlreadyEnabled, "peer access is on already"),
    ERROR(cudaErrorPeerAccessNotEnabled, "peer access is not on"),
    ERROR(cudaErrorHostMemoryAlreadyRegistered, "host memory is registered already"),
    ERROR(cudaErrorHostMemoryNotRegistered, "host memory is not registered"),
    ERROR(cudaErrorStreamCaptureUnsupported, "call not allowed while a stream captures"),
    ERROR(cudaErrorStreamCaptureInvalidated, "the capture is invalid since an earlier error"),
    ERROR(cudaErrorStreamCaptureMerge, "two captures would merge"),
    ERROR(cudaErrorStreamCaptureUnmatched, "no capture of this stream was begun"),
    ERROR(cudaErrorStreamCaptureUnjoined, "a stream of the capture was not joined"),
    ERROR(cudaErrorStreamCaptureIsolation, "a capture depends on work outside of it"),
    ERROR(cudaErrorStreamCaptureImplicit, "the default stream depends on a capture"),
    ERROR(cudaErrorCapturedEvent, "the event was recorded in a capture"),
    ERROR(cudaErrorStreamCaptureWrongThread, "the capture was begun by another thread"),
    ERROR(cudaErrorUnknown, "unknown error"),
#undef ERROR
};

extern "C" const char *CUDARTAPI cudaGetErrorName(cudaError_t error)
{
    for (const auto &e : errors)
        if (e.error == error)
            return e.name;
    return "unrecognized error code";
}

extern "C" const char *CUDARTAPI cudaGetErrorString(cudaError_t error)
{
    for (const auto &e : errors)
        if (e.error == error)
            return e.text;
    return "unrecognized error code";
}
