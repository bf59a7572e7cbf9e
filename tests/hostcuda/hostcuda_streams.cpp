/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's calls for streams and events. */
#include "tests/hostcuda/hostcuda_runtime.h"

#include <unordered_set>

namespace hostcuda
{

static std::mutex events_lock;
static std::unordered_set<CUevent_st *> &all_events =
    *new std::unordered_set<CUevent_st *>; /* never destroyed */

static CUevent_st *event_of(cudaEvent_t event, const char *call)
{
    std::lock_guard<std::mutex> hold(events_lock);
    if (all_events.count(event) == 0)
        broken("%s: %p is not an event", call, (void *)event);
    if (!event->alive)
        broken("%s: the event was destroyed", call);
    return event;
}

/* Threads may share an event: one records it, another one waits. */
static std::shared_ptr<moment> newest_of(CUevent_st *e)
{
    std::lock_guard<std::mutex> hold(events_lock);
    return e->newest;
}

void reset_events()
{
    std::lock_guard<std::mutex> hold(events_lock);
    for (CUevent_st *e : all_events)
        delete e;
    all_events.clear();
}

static bool says_not_ready() /* a query may be asked too early at any time */
{
    return random_below(8) == 0;
}

} // namespace hostcuda

using namespace hostcuda;

extern "C" {

cudaError_t CUDARTAPI cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority)
{
    const cudaError_t lost = device_error(current_device());
    if (lost != cudaSuccess)
        return answer(lost);
    *stream = stream_new(current_device(), (flags & cudaStreamNonBlocking) == 0, priority);
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
    return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t CUDARTAPI cudaStreamCreate(cudaStream_t *stream)
{
    return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}

cudaError_t CUDARTAPI cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
    *priority = stream_of(stream, "cudaStreamGetPriority")->priority;
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaStreamGetDevice(cudaStream_t stream, int *device)
{
    *device = stream_of(stream, "cudaStreamGetDevice")->device;
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaStreamDestroy(cudaStream_t stream)
{
    CUstream_st *s = stream_of(stream, "cudaStreamDestroy");
    if (s->capturing)
        refuse_captured_stream(s);
    s->alive = false; /* its work is still done */
    return answer(device_error(s->device));
}

cudaError_t CUDARTAPI cudaStreamSynchronize(cudaStream_t stream)
{
    CUstream_st *s = stream_of(stream, "cudaStreamSynchronize");
    if (s->capturing)
        return refuse_captured_stream(s);
    const uint64_t goal = s->queued;
    drive(s->device, s, [=] { return stream_reached(s, goal); });
    return answer(device_error(s->device));
}

cudaError_t CUDARTAPI cudaStreamQuery(cudaStream_t stream)
{
    CUstream_st *s = stream_of(stream, "cudaStreamQuery");
    if (s->capturing)
        return refuse_captured_stream(s);
    drive_query(s->device, s);
    const cudaError_t lost = device_error(s->device);
    if (lost != cudaSuccess)
        return answer(lost);
    return stream_done(s) && !says_not_ready() ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t CUDARTAPI cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
    CUstream_st *s = stream_of(stream, "cudaStreamWaitEvent");
    CUevent_st *e = event_of(event, "cudaStreamWaitEvent");
    if (flags != 0)
        broken("cudaStreamWaitEvent: flags %u are not known to the stand-in", flags);
    if (s->capturing || e->captured)
        return capture_wait(s, e);
    const std::shared_ptr<moment> m = newest_of(e);
    if (m && !m->done)
        queue_item(s, { item_kind::wait, {}, m, nullptr });
    return answer(device_error(s->device));
}

cudaError_t CUDARTAPI cudaDeviceSynchronize(void)
{
    const cudaError_t refused = refuse_capturing_thread();
    if (refused != cudaSuccess)
        return refused;
    drive_all(current_device());
    return answer(device_error(current_device()));
}

cudaError_t CUDARTAPI cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    CUevent_st *e = new CUevent_st;
    e->device = current_device();
    e->timed = (flags & cudaEventDisableTiming) == 0;
    std::lock_guard<std::mutex> hold(events_lock);
    all_events.insert(e);
    *event = e;
    return answer(device_error(e->device));
}

cudaError_t CUDARTAPI cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t CUDARTAPI cudaEventDestroy(cudaEvent_t event)
{
    CUevent_st *e = event_of(event, "cudaEventDestroy");
    e->alive = false;
    e->newest.reset();
    e->captured.reset();
    return answer(device_error(e->device));
}

cudaError_t CUDARTAPI cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    CUevent_st *e = event_of(event, "cudaEventRecord");
    CUstream_st *s = stream_of(stream, "cudaEventRecord");
    if (e->device != s->device)
        broken("cudaEventRecord: the event is of device %d, the stream of device %d", e->device, s->device);
    if (s->capturing)
        return capture_record(s, e);
    const cudaError_t lost = device_error(s->device);
    if (lost != cudaSuccess)
        return answer(lost);
    const std::shared_ptr<moment> m = std::make_shared<moment>();
    m->stream = s;
    {
        std::lock_guard<std::mutex> hold(events_lock);
        e->captured.reset();
        e->newest = m;
    }
    queue_item(s, { item_kind::record, {}, m, nullptr });
    return answer(device_error(s->device));
}

cudaError_t CUDARTAPI cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags)
{
    if (flags != cudaEventRecordDefault)
        broken("cudaEventRecordWithFlags: flags %u are not known to the stand-in", flags);
    return cudaEventRecord(event, stream);
}

cudaError_t CUDARTAPI cudaEventQuery(cudaEvent_t event)
{
    CUevent_st *e = event_of(event, "cudaEventQuery");
    if (e->captured)
        return answer(cudaErrorCapturedEvent);
    const std::shared_ptr<moment> m = newest_of(e);
    if (!m)
        return answer(device_error(e->device));
    drive_query(e->device, m->stream);
    const cudaError_t lost = device_error(e->device);
    if (lost != cudaSuccess)
        return answer(lost);
    return m->done && !says_not_ready() ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t CUDARTAPI cudaEventSynchronize(cudaEvent_t event)
{
    CUevent_st *e = event_of(event, "cudaEventSynchronize");
    if (e->captured)
        return answer(cudaErrorCapturedEvent);
    const std::shared_ptr<moment> m = newest_of(e);
    if (m)
        drive(e->device, m->stream, [&] { return m->done || device_error(e->device) != cudaSuccess; });
    return answer(device_error(e->device));
}

cudaError_t CUDARTAPI cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    CUevent_st *a = event_of(start, "cudaEventElapsedTime"), *b = event_of(end, "cudaEventElapsedTime");
    const std::shared_ptr<moment> from = newest_of(a), to = newest_of(b);
    if (!a->timed || !b->timed || !from || !to)
        return answer(cudaErrorInvalidResourceHandle);
    if (!from->done || !to->done)
        return answer(cudaErrorNotReady);
    *ms = (float)((to->seconds - from->seconds) * 1e3);
    return answer(device_error(a->device));
}

} // extern "C"
