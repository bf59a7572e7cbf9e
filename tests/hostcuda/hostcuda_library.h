/* SPDX-License-Identifier: Apache-2.0 */
/* What the stand-ins of cuSPARSE, cuBLASLt and NCCL share: which handles are alive, ranges of device memory that a call reads or
 * writes, and 32-bit and 16-bit floats.
 *
 * A call names every range it touches. They are looked at twice: when the call is made, and when its work is done, for memory may
 * have been freed in between.
 */
#ifndef GNT_HOSTCUDA_LIBRARY_H
#define GNT_HOSTCUDA_LIBRARY_H

#include "tests/hostcuda/hostcuda.h"

#include <library_types.h>

#include <cstring>
#include <mutex>
#include <set>
#include <vector>

namespace hostcuda
{

/* Addresses of what a library has created and not yet destroyed. */
template <class T> class live_set
{
  public:
    void add(const T *object)
    {
        const std::lock_guard<std::mutex> guard(mutex_);
        objects_.insert(object);
        count_handle(1);
    }
    void remove(const T *object, const char *call, const char *kind)
    {
        check(object, call, kind);
        const std::lock_guard<std::mutex> guard(mutex_);
        objects_.erase(object);
        count_handle(-1);
    }
    void check(const T *object, const char *call, const char *kind)
    {
        bool found = false;
        {
            const std::lock_guard<std::mutex> guard(mutex_);
            found = objects_.count(object) != 0;
        }
        if (!found)
            broken("%s: the %s %p is not alive", call, kind, static_cast<const void *>(object));
    }

  private:
    std::mutex mutex_;
    std::set<const T *> objects_;
};

struct range {
    const char *argument;
    const void *data;
    size_t bytes;
    bool written;
};

/* The stream belongs to the device, and it is the thread's current one. */
void check_stream(int device, cudaStream_t stream, const char *call);
void check_alignment(const void *data, size_t alignment, const char *call, const char *argument);
/* Each range lies in one live allocation, and what is written overlaps nothing else, unless it is the very same range. */
void check_ranges(int device, const std::vector<range> &ranges, const char *call);
/* Whether matrices of a batch share elements; they may lie one behind the other, or side by side in longer lines. */
bool batch_overlaps(int64_t batch, int64_t stride, int64_t lines, int64_t length, int64_t ld);
/* Bytes that no program may rely on: NaN as floats. */
void scribble(void *data, size_t bytes);

/* Bytes of a type that the stand-ins compute with, 0 for others. */
size_t float_bytes(cudaDataType_t type);
float load_float(const void *data, cudaDataType_t type, int64_t index);
void store_float(void *data, cudaDataType_t type, int64_t index, float value);

} // namespace hostcuda
#endif
