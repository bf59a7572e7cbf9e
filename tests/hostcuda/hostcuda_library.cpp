/* SPDX-License-Identifier: Apache-2.0 */
/* Checks and numbers that the stand-ins of the libraries share; see hostcuda_library.h. */
#include "tests/hostcuda/hostcuda_library.h"

namespace hostcuda
{

void check_stream(int device, cudaStream_t stream, const char *call)
{
    const int of = device_of(stream), current = current_device();

    if (of != device)
        broken("%s: wrong stream: it belongs to device %d, the handle to device %d", call, of, device);
    if (current != device)
        broken("%s: device %d is current in this thread, the handle and its stream belong to device %d", call,
               current, device);
}

void check_alignment(const void *data, size_t alignment, const char *call, const char *argument)
{
    if (reinterpret_cast<uintptr_t>(data) % alignment != 0)
        broken("%s: %s %p is not aligned to %zu bytes", call, argument, data, alignment);
}

static bool overlap(const range &a, const range &b)
{
    const uintptr_t from_a = reinterpret_cast<uintptr_t>(a.data),
                    from_b = reinterpret_cast<uintptr_t>(b.data);

    if (a.bytes == 0 || b.bytes == 0 || (from_a == from_b && a.bytes == b.bytes))
        return false;
    return from_a < from_b + b.bytes && from_b < from_a + a.bytes;
}

void check_ranges(int device, const std::vector<range> &ranges, const char *call)
{
    for (const range &r : ranges)
        check_device_range(device, r.data, r.bytes, call, r.argument);
    for (size_t i = 0; i < ranges.size(); i++)
        for (size_t j = i + 1; j < ranges.size(); j++)
            if ((ranges[i].written || ranges[j].written) && overlap(ranges[i], ranges[j]))
                broken("%s: %s (%p, %zu bytes) and %s (%p, %zu bytes) overlap", call, ranges[i].argument,
                       ranges[i].data, ranges[i].bytes, ranges[j].argument, ranges[j].data, ranges[j].bytes);
}

bool batch_overlaps(int64_t batch, int64_t stride, int64_t lines, int64_t length, int64_t ld)
{
    if (batch <= 1 || lines == 0 || length == 0)
        return false;
    return stride < (lines - 1) * ld + length && (stride < length || (batch - 1) * stride + length > ld);
}

void scribble(void *data, size_t bytes)
{
    if (bytes > 0)
        std::memset(data, 0xff, bytes);
}

size_t float_bytes(cudaDataType_t type)
{
    return type == CUDA_R_32F ? 4 : type == CUDA_R_16BF ? 2 : 0;
}

float load_float(const void *data, cudaDataType_t type, int64_t index)
{
    float value = 0.0f;

    if (type == CUDA_R_32F)
        return static_cast<const float *>(data)[index];
    const uint32_t bits = static_cast<uint32_t>(static_cast<const uint16_t *>(data)[index]) << 16;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

// To the nearest, ties to even; NaN stays one.
static uint16_t to_bf16(float value)
{
    uint32_t bits = 0;

    std::memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return static_cast<uint16_t>((bits >> 16) | 0x40u);
    bits += 0x7fffu + ((bits >> 16) & 1u);
    return static_cast<uint16_t>(bits >> 16);
}

void store_float(void *data, cudaDataType_t type, int64_t index, float value)
{
    if (type == CUDA_R_32F)
        static_cast<float *>(data)[index] = value;
    else
        static_cast<uint16_t *>(data)[index] = to_bf16(value);
}

} // namespace hostcuda
