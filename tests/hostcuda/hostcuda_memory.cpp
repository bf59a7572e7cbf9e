/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of devices, and pinned host memory: one range of addresses each, closed (PROT_NONE) wherever nothing may be touched.
 *
 *   | guard page | front pad | data ... | tail pad < 256 | guard page | ...       data starts at a multiple of 256
 *
 * An allocation is opened when queued work of this library first touches it (the fault handler knows the work), and closed
 * when the thread goes back to the host's code: so a host access is a fault that names address, device and allocation.
 * Data ends at the end of a page as far as its alignment lets it; what lies between is a pad of known bytes, checked after
 * each kernel. Addresses are not used again until a range is used up, so memory in use after it was freed is a fault as well.
 */
#include "tests/hostcuda/hostcuda_arena.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define POISON(p, n)   ASAN_POISON_MEMORY_REGION(p, n)
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define POISON(p, n)   ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

namespace hostcuda
{

static const size_t PAGE = 4096, LARGE = 2 << 20, ALIGN = 256, MIN_RESERVED = (size_t)8 << 30;
static const unsigned char PAD = 0xc5, FRESH = 0xff; /* fresh floats are NaN, fresh integers -1 */

std::mutex memory_lock;
static arena arenas[MAX_ARENAS]; /* the last one: pinned memory */
static int64_t num_allocations;
thread_local place here;
static thread_local uint32_t opened; /* arenas that the thread opened memory of */

arena &arena_of(int device)
{
    return arenas[device < 0 ? MAX_ARENAS - 1 : device];
}

arena *arena_at(const void *address)
{
    for (arena &a : arenas)
        if (a.start != nullptr && (const char *)address >= a.start &&
            (const char *)address < a.start + a.reserved)
            return &a;
    return nullptr;
}

/* The allocation whose data starts last at or before the address; its neighbours are the guards. */
allocation *nearest(arena *a, const void *address)
{
    auto after = a->all.upper_bound((char *)address);
    if (after != a->all.begin()) {
        auto before = std::prev(after);
        const allocation &b = before->second;
        if ((const char *)address < b.map + b.map_bytes || after == a->all.end() ||
            (const char *)address < after->second.map - PAGE)
            return &before->second;
    }
    return after == a->all.end() ? nullptr : &after->second;
}

static void reserve(arena *a, int device)
{
    a->device = device;
    a->reserved = std::max(MIN_RESERVED, device < 0 ? MIN_RESERVED : 8 * device_at(device).total_bytes);
    void *start = mmap(nullptr, a->reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED)
        broken("no address space for %zu bytes", a->reserved);
    a->next = a->top = a->start = (char *)start;
}

/* A hole of so many bytes behind the newest allocation, or from the start again: freed records there are forgotten. */
static char *find_hole(arena *a, size_t bytes)
{
    for (int round = 0; round < 2; round++) {
        char *at = a->next;
        auto it = a->all.upper_bound(at);
        if (it != a->all.begin())
            --it;
        while (it != a->all.end() && it->second.map < at + bytes) {
            const allocation &b = it->second;
            if (b.map + b.map_bytes + PAGE <= at) {
                ++it;
            } else if (b.state == memory_state::freed && b.map + b.map_bytes > at) {
                it = a->all.erase(it);
            } else {
                at = b.map + b.map_bytes;
                ++it;
            }
        }
        if (at + bytes <= a->start + a->reserved)
            return at;
        a->next = a->start;
    }
    return nullptr;
}

static void fill_fresh(const allocation &b)
{
    memset(b.map, PAD, (size_t)(b.data - b.map));
    memset(b.data, FRESH, b.bytes);
    char *tail = b.data + b.bytes;
    memset(tail, PAD, (size_t)(b.map + b.map_bytes - tail));
    POISON(b.map, (size_t)(b.data - b.map));
    POISON(tail, (size_t)(b.map + b.map_bytes - tail));
}

static void count_new(int device, size_t bytes)
{
    if (device < 0) {
        counts.pinned_bytes += (int64_t)bytes;
        return;
    }
    counts.allocations++;
    counts.live_allocations++;
    const int64_t live = counts.live_bytes += (int64_t)bytes;
    int64_t peak = counts.peak_bytes;
    while (peak < live && !counts.peak_bytes.compare_exchange_weak(peak, live)) {
    }
}

static bool take_room(int device, size_t bytes)
{
    if (device < 0)
        return true;
    device_state &d = device_at(device);
    size_t used = d.used_bytes;
    do {
        if (bytes > d.total_bytes - used)
            return false;
    } while (!d.used_bytes.compare_exchange_weak(used, used + bytes));
    return true;
}

void *memory_new(int device, size_t bytes, const char *call, bool pooled)
{
    catch_faults();
    if (bytes > (size_t)1 << 46 || !take_room(device, (bytes + 511) / 512 * 512))
        return nullptr;
    const size_t rounded = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    const size_t map_bytes = (rounded + ALIGN + PAGE - 1) / PAGE * PAGE; /* at least ALIGN of front pad */
    std::lock_guard<std::mutex> hold(memory_lock);
    arena &a = arena_of(device);
    if (a.start == nullptr)
        reserve(&a, device);
    const size_t align =
        map_bytes >= LARGE ? LARGE : PAGE; /* large pages are opened and closed in less time */
    char *hole = find_hole(&a, map_bytes + PAGE + align);
    if (hole == nullptr)
        broken("%s: no addresses left for %zu bytes on device %d", call, bytes, device);
    allocation b = {};
    b.map = (char *)(((uintptr_t)hole + PAGE + align - 1) / align * align);
    b.map_bytes = map_bytes;
    b.data = b.map + map_bytes - rounded;
    b.bytes = bytes;
    b.number = ++num_allocations;
    b.device = device;
    b.state = memory_state::live;
    b.pooled = pooled;
    b.call = call;
    a.next = b.map + map_bytes;
    a.top = std::max(a.top, a.next);
    if (mprotect(b.map, map_bytes, PROT_READ | PROT_WRITE) != 0)
        broken("%s: no host memory for %zu bytes", call, bytes);
    if (align == LARGE)
        madvise(b.map, map_bytes, MADV_HUGEPAGE);
    UNPOISON(b.map, map_bytes);
    fill_fresh(b);
    if (device >= 0)
        mprotect(b.map, map_bytes, PROT_NONE);
    b.open = device < 0;
    a.all[b.data] = b;
    count_new(device, bytes);
    return b.data;
}

static const char *owner(int device)
{
    static thread_local char text[32];
    if (device < 0)
        return "pinned host memory";
    snprintf(text, sizeof text, "device %d", device);
    return text;
}

/* ---- guard zones ---- */
static void check_pad(const allocation &b, const char *from, size_t bytes, const char *name)
{
    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char)from[i] != PAD)
            broken("'%s' wrote to byte %lld of allocation %lld, which has %zu bytes (%s, %s)", name,
                   (long long)(from + i - b.data), (long long)b.number, b.bytes, b.call, owner(b.device));
}

__attribute__((no_sanitize("address"))) static void check_allocation(const allocation &b, size_t front,
                                                                     const char *name)
{
    UNPOISON(b.map, b.map_bytes);
    const size_t pad = std::min(front, (size_t)(b.data - b.map));
    const char *tail = b.data + b.bytes;
    check_pad(b, b.data - pad, pad, name);
    check_pad(b, tail, (size_t)(b.map + b.map_bytes - tail), name);
    POISON(b.map, (size_t)(b.data - b.map));
    POISON(tail, (size_t)(b.map + b.map_bytes - tail));
}

void memory_check_guards(int device, const char *name)
{
    std::lock_guard<std::mutex> hold(memory_lock);
    arena &a = arena_of(device);
    for (char *data : a.open) {
        const auto it = a.all.find(data);
        if (it != a.all.end() && it->second.open)
            check_allocation(it->second, ALIGN, name);
    }
}

/* ---- open and closed ---- */
void memory_open(arena *a, allocation *b)
{
    mprotect(b->map, b->map_bytes, PROT_READ | PROT_WRITE);
    if (!b->open)
        a->open.push_back(b->data);
    b->open = true;
    opened |= 1U << (a - arenas);
}

void memory_close()
{
    if (opened == 0)
        return;
    std::lock_guard<std::mutex> hold(memory_lock);
    for (arena &a : arenas) {
        if ((opened >> (&a - arenas) & 1) == 0)
            continue;
        for (char *data : a.open) {
            const auto it = a.all.find(data);
            if (it == a.all.end() || !it->second.open)
                continue;
            mprotect(it->second.map, it->second.map_bytes, PROT_NONE);
            it->second.open = false;
        }
        a.open.clear();
    }
    opened = 0;
}

/* ---- the end of an allocation ---- */
static void give_back(const allocation &b)
{
    if (b.device < 0) {
        counts.pinned_bytes -= (int64_t)b.bytes;
        return;
    }
    counts.live_allocations--;
    counts.live_bytes -= (int64_t)b.bytes;
    device_at(b.device).used_bytes -= (b.bytes + 511) / 512 * 512;
}

void memory_free(const void *data, const char *call)
{
    std::lock_guard<std::mutex> hold(memory_lock);
    arena *a = arena_at(data);
    const auto it = a == nullptr ? arenas[0].all.end() : a->all.find((char *)data);
    if (a == nullptr || it == a->all.end() || it->second.state == memory_state::freed)
        broken("%s: %p is not the start of a live allocation", call, data);
    allocation &b = it->second;
    if (!b.open && mprotect(b.map, b.map_bytes, PROT_READ) != 0)
        broken("%s: memory cannot be looked at", call);
    check_allocation(b, b.map_bytes, call);
    mprotect(b.map, b.map_bytes, PROT_NONE);
    madvise(b.map, b.map_bytes, MADV_DONTNEED);
    POISON(b.map, b.map_bytes);
    b.open = false;
    b.state = memory_state::freed;
    give_back(b);
}

allocation memory_find_start(int device, const void *data, const char *call)
{
    std::lock_guard<std::mutex> hold(memory_lock);
    arena *a = arena_at(data);
    const auto it = a == nullptr ? arenas[0].all.end() : a->all.find((char *)data);
    if (a == nullptr || it == a->all.end())
        broken("%s: %p is not the start of an allocation", call, data);
    const allocation b = it->second;
    if (b.state == memory_state::freed || b.state == memory_state::leaving)
        broken("%s: allocation %lld (%zu bytes, %s) was freed already", call, (long long)b.number, b.bytes,
               owner(b.device));
    if (a->device != device && (device < 0 || a->device < 0))
        broken("%s: allocation %lld is memory of %s", call, (long long)b.number, owner(b.device));
    return b;
}

bool memory_find(const void *data, allocation *out)
{
    std::lock_guard<std::mutex> hold(memory_lock);
    arena *a = arena_at(data);
    const allocation *b = a == nullptr ? nullptr : nearest(a, data);
    if (b == nullptr || b->state == memory_state::freed || (const char *)data < b->data ||
        (const char *)data > b->data + b->bytes)
        return false;
    *out = *b;
    return true;
}

void memory_set_state(const void *data, memory_state state)
{
    std::lock_guard<std::mutex> hold(memory_lock);
    arena *a = arena_at(data);
    const auto it = a->all.find((char *)data);
    if (it != a->all.end() && it->second.state != memory_state::freed)
        it->second.state = state;
}

void reset_memory()
{
    std::lock_guard<std::mutex> hold(memory_lock);
    for (arena &a : arenas) {
        if (a.start != nullptr) {
            UNPOISON(a.start, (size_t)(a.top - a.start));
            munmap(a.start, a.reserved);
        }
        a = arena();
    }
    opened = 0;
    num_allocations = 0;
    forget_registered();
}

} // namespace hostcuda
