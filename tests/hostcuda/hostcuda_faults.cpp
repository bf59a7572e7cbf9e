/* SPDX-License-Identifier: Apache-2.0 */
/* Accesses to device memory: those of queued work open it, all others are broken rules; and the checks of ranges by calls. */
#include "tests/hostcuda/hostcuda_arena.h"
#include "tests/hostcuda/hostcuda_device.h"
#include "tests/hostcuda/hostcuda_fibre.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace hostcuda
{

std::string describe_here()
{
    char text[256];
    if (here.name == nullptr)
        return "the host";
    if (!here.in_kernel)
        snprintf(text, sizeof text, "'%s'", here.name);
    else
        snprintf(text, sizeof text, "kernel '%s', block (%u,%u,%u), thread (%u,%u,%u),", here.name,
                 blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z);
    return text;
}

static std::string describe(const allocation &b, const void *address)
{
    char text[256], device[32];
    const long long offset = (long long)((const char *)address - b.data);
    snprintf(device, sizeof device, b.device < 0 ? "pinned host memory" : "device %d", b.device);
    if (offset < 0)
        snprintf(text, sizeof text, "%lld bytes in front of", -offset);
    else if (offset >= (long long)b.bytes)
        snprintf(text, sizeof text, "%lld bytes behind the end of", offset - (long long)b.bytes);
    else
        snprintf(text, sizeof text, "byte %lld of", offset);
    std::string all = text;
    snprintf(text, sizeof text, " allocation %lld (%zu bytes, %s, %s)%s", (long long)b.number, b.bytes,
             b.call, device,
             b.state == memory_state::freed     ? ", which was freed"
             : b.state == memory_state::leaving ? ", which is being freed"
             : b.state == memory_state::coming  ? ", which the stream has not come to yet"
                                                : "");
    return all + text;
}

static struct sigaction before[2];

static void pass_on(int signal, siginfo_t *info, void *context)
{
    const struct sigaction &old = before[signal == SIGBUS];
    if ((old.sa_flags & SA_SIGINFO) != 0 && old.sa_sigaction != nullptr)
        old.sa_sigaction(signal, info, context);
    else
        ::signal(signal, SIG_DFL); /* faults again on return */
}

/* Opens what queued work may touch. Else the rule that is broken. */
static void fault(int signal, siginfo_t *info, void *context)
{
    const int saved = errno;
    if (fibre_overflows(info->si_addr))
        broken(
            "%s needs more stack than a thread of the stand-in has: large arrays belong into shared memory",
            describe_here().c_str());
    std::unique_lock<std::mutex> hold(memory_lock);
    arena *a = arena_at(info->si_addr);
    if (a == nullptr) {
        hold.unlock();
        pass_on(signal, info, context);
        return;
    }
    allocation *b = nearest(a, info->si_addr);
    const char *at = (const char *)info->si_addr;
    const bool peer = here.strict && a->device >= 0 && a->device != here.device &&
                      (device_at(here.device).peers >> a->device & 1) == 0;
    if (here.name != nullptr && b != nullptr && !peer && at >= b->map && at < b->map + b->map_bytes &&
        (b->state == memory_state::live || b->state == memory_state::leaving)) {
        memory_open(a, b);
        errno = saved;
        return;
    }
    const std::string who = describe_here();
    if (b == nullptr)
        broken("%s touches %p, which no allocation is near", who.c_str(), info->si_addr);
    broken("%s touches %p: %s%s", who.c_str(), info->si_addr, describe(*b, info->si_addr).c_str(),
           peer                   ? ", of another device, without peer access"
           : here.name == nullptr ? ": device memory is not the host's"
                                  : "");
}

#if defined(__SANITIZE_ADDRESS__)
/* The sanitizer saw it first, and has said where in the source: our line says whose memory it is. */
static void name_report(const char *)
{
    void *at = __asan_get_report_address();
    std::unique_lock<std::mutex> hold(memory_lock, std::try_to_lock);
    arena *a = hold.owns_lock() ? arena_at(at) : nullptr;
    const allocation *b = a == nullptr ? nullptr : nearest(a, at);
    if (b != nullptr)
        broken("%s touches %p: %s", describe_here().c_str(), at, describe(*b, at).c_str());
}
#endif

void catch_faults()
{
#if defined(__SANITIZE_ADDRESS__)
    __asan_set_error_report_callback(name_report);
#endif
    static std::mutex one_at_a_time;
    std::lock_guard<std::mutex> hold(one_at_a_time);
    struct sigaction action;
    if (sigaction(SIGSEGV, nullptr, &action) == 0 && (action.sa_flags & SA_SIGINFO) != 0 &&
        action.sa_sigaction == fault)
        return;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    sigaction(SIGSEGV, &action, &before[0]);
    sigaction(SIGBUS, &action, &before[1]);
}

void check_device_range(int device, const void *data, size_t bytes, const char *call, const char *argument)
{
    if (bytes == 0)
        return;
    std::lock_guard<std::mutex> hold(memory_lock);
    arena *a = arena_at(data);
    const allocation *b = a == nullptr ? nullptr : nearest(a, data);
    if (b == nullptr)
        broken("%s: %s is %p, which is not memory of device %d", call, argument, data, device);
    const std::string where = describe(*b, data);
    if (a->device >= 0 && a->device != device)
        broken("%s: %s is %s, the call is for device %d", call, argument, where.c_str(), device);
    const bool working =
        here.name != nullptr; /* then states are those of the moment, else those of all that was queued */
    if (b->state == memory_state::freed ||
        b->state == (working ? memory_state::coming : memory_state::leaving))
        broken("%s: %s is %s", call, argument, where.c_str());
    if ((const char *)data < b->data || (const char *)data > b->data + b->bytes ||
        bytes > (size_t)(b->data + b->bytes - (const char *)data))
        broken("%s: %s is %zu bytes from %s", call, argument, bytes, where.c_str());
}

void check_host_range(const void *data, size_t bytes, const char *call, const char *argument)
{
    if (bytes == 0)
        return;
    if (data == nullptr)
        broken("%s: %s is NULL for %zu bytes", call, argument, bytes);
    std::lock_guard<std::mutex> hold(memory_lock);
    arena *a = arena_at(data);
    if (a == nullptr)
        return;
    const allocation *b = nearest(a, data);
    if (b == nullptr)
        broken("%s: %s is %p, which no allocation is near", call, argument, data);
    const std::string where = describe(*b, data);
    if (a->device >= 0)
        broken("%s: %s is %s, where host memory is needed", call, argument, where.c_str());
    if (b->state == memory_state::freed || (const char *)data < b->data ||
        bytes > (size_t)(b->data + b->bytes - (const char *)data))
        broken("%s: %s is %zu bytes from %s", call, argument, bytes, where.c_str());
}

/* ---- host memory that a caller registered ---- */
static std::map<const char *, size_t> registered;

void forget_registered()
{
    registered.clear();
}

void memory_register(void *data, size_t bytes)
{
    std::lock_guard<std::mutex> hold(memory_lock);
    registered[(const char *)data] = bytes;
}

bool memory_unregister(void *data)
{
    std::lock_guard<std::mutex> hold(memory_lock);
    return registered.erase((const char *)data) != 0;
}

bool memory_is_device(const void *data, int *out_device)
{
    std::lock_guard<std::mutex> hold(memory_lock);
    const arena *a = arena_at(data);
    if (a == nullptr || a->device < 0)
        return false;
    *out_device = a->device;
    return true;
}

bool memory_is_pinned(const void *data, size_t bytes)
{
    std::lock_guard<std::mutex> hold(memory_lock);
    const arena *a = arena_at(data);
    if (a != nullptr)
        return a->device < 0;
    auto after = registered.upper_bound((const char *)data);
    if (after == registered.begin())
        return false;
    const auto r = std::prev(after);
    return (const char *)data + bytes <= r->first + r->second;
}

} // namespace hostcuda
