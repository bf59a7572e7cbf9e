/* SPDX-License-Identifier: Apache-2.0 */
/* Streams' queues. Nothing runs by itself: whoever waits runs heads of queues that are ready, in a random legal order.
 *
 * A wait draws a manner, and now and then another one: `lean` runs only what the target needs (its stream, and the streams
 * whose events this one waits for), so that what it should have waited for comes too late; `hasty` runs all others first, so
 * that what should have waited for the target comes too early; `even` takes any ready head. When nothing of the device is ready, other devices' work is helped on. A
 * device's lock is held while a piece of its work runs, so devices run side by side when threads wait side by side.
 */
#include "tests/hostcuda/hostcuda_runtime.h"

#include <algorithm>
#include <cstdio>
#include <time.h>
#include <unordered_set>

namespace hostcuda
{

static const double STALL_SECONDS = 120;

static std::mutex streams_lock;
static std::unordered_set<const void *> &all_streams =
    *new std::unordered_set<const void *>; /* never destroyed */
static std::vector<CUstream_st *> &kept =
    *new std::vector<CUstream_st *>; /* every stream since the last reset */
static std::atomic<uint64_t> progress;
static uint64_t next_stream;

enum class manner { lean, hasty, even };
struct wait_order {
    manner how;
    CUstream_st *target;
};

CUstream_st *stream_of(cudaStream_t stream, const char *call)
{
    if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
        broken("%s: a default stream is used, this library takes streams that were created", call);
    std::lock_guard<std::mutex> hold(streams_lock);
    if (all_streams.count(stream) == 0)
        broken("%s: %p is not a stream", call, (void *)stream);
    if (!stream->alive)
        broken("%s: stream %llu was destroyed", call, (unsigned long long)stream->number);
    return stream;
}

int device_of(cudaStream_t stream)
{
    if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
        return current_device();
    return stream_of(stream, "device_of")->device;
}

CUstream_st *stream_new(int device, bool blocking, int priority)
{
    CUstream_st *s = new CUstream_st;
    s->device = device;
    s->blocking = blocking;
    s->priority = priority;
    device_state &d = device_at(device);
    std::lock_guard<std::recursive_mutex> hold_device(d.lock);
    d.streams.push_back(s);
    std::lock_guard<std::mutex> hold(streams_lock);
    s->number = ++next_stream;
    all_streams.insert(s);
    kept.push_back(s);
    return s;
}

void reset_streams()
{
    std::lock_guard<std::mutex> hold(streams_lock);
    for (CUstream_st *s : kept)
        delete s;
    kept.clear();
    all_streams.clear();
    next_stream = 0;
}

bool stream_reached(CUstream_st *s, uint64_t number)
{
    return s->finished >= number || device_error(s->device) != cudaSuccess;
}

bool stream_done(CUstream_st *s)
{
    return stream_reached(s, s->queued);
}

/* ---- running heads ---- */
static bool head_is_ready(const CUstream_st *s)
{
    return !s->queue.empty() && (s->queue.front().kind != item_kind::wait || s->queue.front().when->done);
}

/* A lost device: its error stays, its work is dropped, and nobody waits for it. */
static void lose(device_state &d, cudaError_t error)
{
    d.error = error;
    for (CUstream_st *s : d.streams) {
        for (item &i : s->queue)
            if (i.kind == item_kind::record)
                i.when->done = true;
        s->finished += s->queue.size();
        s->queue.clear();
    }
    progress++;
}

result run_work(const work &w, int device)
{
    device_state &d = device_at(device);
    const settings &c = config();
    if (c.lost_device == device && d.num_works + 1 >= c.lost_at && c.lost_at > 0)
        return result::lost;
    const place outside = here;
    here = place();
    here.name = w.name;
    here.device = device;
    const result r = w.run();
    memory_check_guards(device, w.name);
    here = outside;
    if (r == result::done)
        d.num_works++;
    return r;
}

/* Runs a ready head; false: it must be asked again. The device's lock is held. */
static bool run_head(device_state &d, CUstream_st *s)
{
    item &head = s->queue.front();
    bool finished = true;
    result r = result::done;
    if (head.kind == item_kind::work)
        r = run_work(head.w, s->device);
    else if (head.kind == item_kind::graph)
        r = graph_step(*head.graph, &finished);
    if (r == result::lost) {
        lose(d, cudaErrorDevicesUnavailable);
        return true;
    }
    if (r == result::again)
        return false;
    progress++;
    if (!finished)
        return true;
    if (head.kind == item_kind::work)
        s->clock += seconds_of(head.w);
    else if (head.kind == item_kind::graph)
        s->clock += graph_seconds(*head.graph);
    else if (head.kind == item_kind::wait)
        s->clock = std::max(s->clock, head.when->seconds);
    if (head.kind == item_kind::record) {
        head.when->seconds = s->clock;
        head.when->done = true;
    }
    s->queue.pop_front();
    s->finished++;
    return true;
}

/* The stream to run when only the target matters: itself, or who records what it waits for. */
static CUstream_st *lean_choice(CUstream_st *target, const std::vector<CUstream_st *> &ready)
{
    CUstream_st *s = target;
    for (int depth = 0; s != nullptr && depth < 32; depth++) {
        if (std::find(ready.begin(), ready.end(), s) != ready.end())
            return s;
        if (s->queue.empty() || s->queue.front().kind != item_kind::wait)
            return nullptr;
        CUstream_st *next = s->queue.front().when->stream;
        if (next == nullptr || next->device != s->device)
            return nullptr;
        s = next;
    }
    return nullptr;
}

static CUstream_st *choose(const std::vector<CUstream_st *> &ready, const wait_order &order)
{
    CUstream_st *needed = order.how == manner::even ? nullptr : lean_choice(order.target, ready);
    if (order.how == manner::lean && needed != nullptr)
        return needed;
    CUstream_st *any = ready[random_below(ready.size())];
    for (int i = 0; i < 8 && any == needed; i++)
        any = ready[random_below(ready.size())];
    return any;
}

/* One piece of work of the device; false: none can go on now. The device's lock is held. */
static bool step(device_state &d, const wait_order &order)
{
    std::vector<CUstream_st *> ready;
    const auto over = [](CUstream_st *s) { return !s->alive && s->queue.empty(); };
    d.streams.erase(std::remove_if(d.streams.begin(), d.streams.end(), over), d.streams.end());
    for (CUstream_st *s : d.streams)
        if (head_is_ready(s))
            ready.push_back(s);
    while (!ready.empty()) {
        CUstream_st *s = choose(ready, order);
        if (run_head(d, s))
            return true;
        ready.erase(std::find(ready.begin(), ready.end(), s));
    }
    return false;
}

static bool step_others(int device, const wait_order &order)
{
    const int n = num_devices();
    const int first = (int)random_below((uint64_t)n);
    for (int i = 0; i < n; i++) {
        device_state &d = device_at((first + i) % n);
        if (d.index == device || !d.lock.try_lock())
            continue;
        const bool moved = step(d, order);
        d.lock.unlock();
        if (moved)
            return true;
    }
    return false;
}

static void describe_stall(int device)
{
    device_state &d = device_at(device);
    std::string text;
    for (CUstream_st *s : d.streams)
        if (!s->queue.empty()) {
            const item &i = s->queue.front();
            text += " stream " + std::to_string(s->number) + " has " + std::to_string(s->queue.size()) +
                    " pieces of work, the first is ";
            text += i.kind == item_kind::wait ? "an event of stream " + std::to_string(i.when->stream->number)
                    : i.kind == item_kind::work ? std::string("'") + i.w.name + "'"
                                                : "a graph";
            text += ";";
        }
    broken("no work could go on for %.0f seconds on device %d:%s", STALL_SECONDS, device, text.c_str());
}

static bool is_working()
{
    return here.name != nullptr;
}

static wait_order draw_order(CUstream_st *target)
{
    const uint64_t r = random_below(8);
    return { r < 4 ? manner::lean : r < 6 ? manner::hasty : manner::even, target };
}

void drive(int device, CUstream_st *target, const std::function<bool()> &done)
{
    if (is_working())
        broken("'%s' waits for a stream from inside queued work", here.name);
    device_state &d = device_at(device);
    wait_order order = draw_order(target);
    uint64_t seen = progress;
    double since = seconds_now();
    while (!done()) {
        if (random_below(8) == 0)
            order = draw_order(target);
        d.lock.lock();
        bool moved = !done() && step(d, order);
        d.lock.unlock();
        if (moved || step_others(device, order))
            continue;
        if (progress != seen) {
            seen = progress;
            since = seconds_now();
        } else if (seconds_now() - since > STALL_SECONDS) {
            describe_stall(device);
        }
        const struct timespec pause = { 0, 20000 };
        nanosleep(&pause, nullptr);
    }
    memory_close();
}

void drive_some(int device)
{
    if (is_working())
        return;
    device_state &d = device_at(device);
    const uint64_t r = random_below(16);
    uint64_t steps = config().eager ? ~0ULL : r < 10 ? 0 : r < 15 ? random_below(4) : 1000;
    const wait_order order = draw_order(nullptr);
    std::lock_guard<std::recursive_mutex> hold(d.lock);
    while (steps-- > 0 && step(d, order)) {
    }
    if (random_below(4) == 0) /* else with the next wait: closing costs time */
        memory_close();
}

void drive_query(int device, CUstream_st *target)
{
    if (is_working())
        broken("'%s' asks for a stream from inside queued work", here.name);
    device_state &d = device_at(device);
    const wait_order order = draw_order(target);
    bool moved = true;
    for (uint64_t steps = 1 + random_below(8); steps > 0 && moved; steps--) {
        d.lock.lock();
        moved = step(d, order);
        d.lock.unlock();
        moved = moved || step_others(device, order);
    }
    memory_close();
}

void drive_all(int device)
{
    device_state &d = device_at(device);
    std::vector<std::pair<CUstream_st *, uint64_t>> goals;
    d.lock.lock();
    for (CUstream_st *s : d.streams)
        goals.push_back({ s, s->queued });
    d.lock.unlock();
    drive(device, nullptr, [&] {
        return std::all_of(goals.begin(), goals.end(),
                           [](const auto &g) { return stream_reached(g.first, g.second); });
    });
}

void queue_item(CUstream_st *s, item i)
{
    device_state &d = device_at(s->device);
    {
        std::lock_guard<std::recursive_mutex> hold(d.lock);
        s->queued++;
        s->queue.push_back(std::move(i));
    }
    drive_some(s->device);
}

cudaError_t enqueue(cudaStream_t stream, work w)
{
    CUstream_st *s = stream_of(stream, w.name);
    const cudaError_t lost = device_error(s->device);
    if (lost != cudaSuccess)
        return answer(lost);
    if (s->capturing)
        return capture_work(s, std::move(w));
    if (w.kernel)
        counts.launches++;
    queue_item(s, { item_kind::work, std::move(w), nullptr, nullptr });
    return answer(device_error(s->device));
}

} // namespace hostcuda
