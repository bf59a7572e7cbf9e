/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in for NCCL: values of collectives. Sums go around a ring that starts at another rank for each stretch of elements,
 * so they round differently than sums in rank order, the same way each time.
 */
#include "tests/hostcuda/hostcuda_nccl.h"

namespace hostcuda
{
namespace nccl
{

size_t type_bytes(ncclDataType_t type)
{
    switch (type) {
    case ncclUint8:
    case ncclInt8:
        return 1;
    case ncclInt32:
    case ncclFloat32:
        return 4;
    case ncclInt64:
    case ncclFloat64:
        return 8;
    default:
        return 0;
    }
}

size_t bytes_of(const operation &op)
{
    return op.count * type_bytes(op.type);
}

namespace
{

template <class T> T reduce_two(T a, T b, ncclRedOp_t op)
{
    if (op == ncclMin)
        return b < a ? b : a;
    if (op == ncclMax)
        return a < b ? b : a;
    return static_cast<T>(a + b);
}

template <class T> void reduce_all(const collective &c, const operation &op, void *out)
{
    const size_t ranks = c.halves.size();

    for (size_t i = 0; i < op.count; i++) {
        const size_t first = (i * ranks) / op.count;
        T value = reinterpret_cast<const T *>(c.halves[first]->content.data())[i];
        for (size_t r = 1; r < ranks; r++)
            value = reduce_two(value,
                               reinterpret_cast<const T *>(c.halves[(first + r) % ranks]->content.data())[i],
                               op.reduction);
        static_cast<T *>(out)[i] = value;
    }
}

} // namespace

void finish_collective(const collective &c, const operation &op)
{
    if (op.what == kind::broadcast) {
        if (op.count > 0)
            std::memcpy(op.receive, c.halves[static_cast<size_t>(op.peer)]->content.data(), bytes_of(op));
        return;
    }
    switch (op.type) {
    case ncclFloat32:
        return reduce_all<float>(c, op, op.receive);
    case ncclFloat64:
        return reduce_all<double>(c, op, op.receive);
    case ncclInt32:
        return reduce_all<int32_t>(c, op, op.receive);
    case ncclInt64:
        return reduce_all<int64_t>(c, op, op.receive);
    default:
        return reduce_all<uint8_t>(c, op, op.receive);
    }
}

} // namespace nccl
} // namespace hostcuda
