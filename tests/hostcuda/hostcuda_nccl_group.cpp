/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in for NCCL: operations and groups of them. A call outside of a group is a group of its own. At the end of a group
 * each communicator gets one step on its stream; what the calls name is checked there, again when the step is done.
 */
#include "tests/hostcuda/hostcuda_nccl.h"

#include <algorithm>

using hostcuda::broken;
using namespace hostcuda::nccl;

namespace
{

struct group_call {
    std::shared_ptr<ncclComm> comm;
    cudaStream_t stream;
    operation op;
};

thread_local int depth;
thread_local std::vector<group_call> calls;

bool is_message(const operation &op)
{
    return op.what == kind::send || op.what == kind::receive;
}

void check_operation(const group_call &c, const char *call)
{
    const operation &op = c.op;
    const bool reduces = op.what == kind::all_reduce;

    if (type_bytes(op.type) == 0)
        broken("%s: type %d is not known here", call, (int)op.type);
    if (op.count == 0)
        broken("%s: nothing to do for a count of 0, leave the call out", call);
    if (op.count > SIZE_MAX / 16)
        broken("%s: a count of %zu", call, op.count);
    if (reduces && op.reduction != ncclSum && op.reduction != ncclMin && op.reduction != ncclMax)
        broken("%s: operation %d is not known here", call, (int)op.reduction);
    if (!reduces && (op.peer < 0 || op.peer >= c.comm->ranks->size))
        broken("%s: rank %d of %d ranks", call, op.peer, c.comm->ranks->size);
    for (const void *data : { op.send, static_cast<const void *>(op.receive) })
        if (data != nullptr)
            hostcuda::check_alignment(data, type_bytes(op.type), call, "buffer");
    if (hostcuda::device_of(c.stream) != c.comm->device)
        broken("%s: wrong stream: it belongs to device %d, the communicator to device %d", call,
               hostcuda::device_of(c.stream), c.comm->device);
}

// Messages of a step share no memory: a collective may work in place, a message cannot.
void check_messages(const step &s)
{
    for (const operation &a : s.operations)
        for (const operation &b : s.operations)
            if (&a != &b && is_message(a) && is_message(b) && a.receive != nullptr &&
                (a.receive == b.receive || a.receive == b.send))
                broken("%s: it lands where another message of the group lies", describe({ { a } }).c_str());
}

ncclResult_t queue_step(const std::shared_ptr<ncclComm> &comm, cudaStream_t stream,
                        const std::shared_ptr<step> &s)
{
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;

    check_messages(*s);
    hostcuda::check_ranges(comm->device, ranges_of(*s), describe(*s).c_str());
    if (cudaStreamIsCapturing(stream, &capture) != cudaSuccess)
        return ncclUnhandledCudaError;
    const bool captured = capture == cudaStreamCaptureStatusActive;
    const uint64_t polls = comm->blocking ? 0 : hostcuda::random_below(3);
    {
        const std::lock_guard<std::mutex> guard(hostcuda::nccl::mutex);
        comm->polls = static_cast<int>(polls);
        comm->captured.erase(std::remove_if(comm->captured.begin(), comm->captured.end(),
                                            [](const auto &w) { return w.expired(); }),
                             comm->captured.end());
        if (captured)
            comm->captured.push_back(s);
        else
            comm->queued++;
    }
    const cudaError_t e = hostcuda::enqueue(stream, { "nccl",
                                                      [comm, s, captured] {
                                                          const hostcuda::result r = run_step(comm, s);
                                                          const std::lock_guard<std::mutex> guard(mutex);
                                                          if (r == hostcuda::result::done && !captured)
                                                              comm->queued--;
                                                          return r;
                                                      },
                                                      true });
    if (e != cudaSuccess)
        return ncclUnhandledCudaError;
    return polls > 0 ? ncclInProgress : ncclSuccess;
}

// The calls of a group, a step for each communicator, in the order of their first calls.
ncclResult_t end_group(void)
{
    std::vector<group_call> mine;
    ncclResult_t answer = ncclSuccess;

    mine.swap(calls);
    while (!mine.empty()) {
        const group_call first = mine.front();
        const std::shared_ptr<step> s = std::make_shared<step>();
        std::vector<group_call> rest;
        for (const group_call &c : mine) {
            if (c.comm != first.comm) {
                rest.push_back(c);
                continue;
            }
            if (c.stream != first.stream)
                broken("ncclGroupEnd: wrong stream: the group uses two streams of one communicator");
            s->operations.push_back(c.op);
        }
        const ncclResult_t r = queue_step(first.comm, first.stream, s);
        if (r != ncclSuccess && answer != ncclUnhandledCudaError)
            answer = r;
        mine.swap(rest);
    }
    return answer;
}

ncclResult_t add(ncclComm_t comm, cudaStream_t stream, const operation &op, const char *call)
{
    const group_call c = { find_ready(comm, call), stream, op };

    if ((op.what != kind::receive && op.send == nullptr &&
         (op.what != kind::broadcast || op.peer == c.comm->rank)) ||
        (op.what != kind::send && op.receive == nullptr))
        broken("%s: the buffer is NULL", call);
    check_operation(c, call);
    calls.push_back(c);
    return depth > 0 ? ncclSuccess : end_group();
}

} // namespace

ncclResult_t ncclGroupStart()
{
    depth++;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd()
{
    if (depth == 0)
        broken("ncclGroupEnd: no group was started");
    return --depth > 0 ? ncclSuccess : end_group();
}

ncclResult_t ncclSend(const void *data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    return add(comm, stream, { kind::send, data, nullptr, count, type, ncclSum, peer }, "ncclSend");
}

ncclResult_t ncclRecv(void *data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    return add(comm, stream, { kind::receive, nullptr, data, count, type, ncclSum, peer }, "ncclRecv");
}

ncclResult_t ncclAllReduce(const void *send, void *receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream)
{
    return add(comm, stream, { kind::all_reduce, send, receive, count, type, op, 0 }, "ncclAllReduce");
}

ncclResult_t ncclBroadcast(const void *send, void *receive, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream)
{
    const std::shared_ptr<ncclComm> c = find_ready(comm, "ncclBroadcast");

    return add(comm, stream,
               { kind::broadcast, c->rank == root ? send : nullptr, receive, count, type, ncclSum, root },
               "ncclBroadcast");
}
