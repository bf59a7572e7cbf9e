/* SPDX-License-Identifier: Apache-2.0 */
/* Broken rules, settings, random numbers and counts of the stand-in.
 *
 * hostcuda_expect runs its body in a process of its own, so that a broken rule, a crash or a sanitizer's report leaves
 * nothing behind; what the body changes is not seen by the caller.
 */
#include "tests/hostcuda/hostcuda_runtime.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace hostcuda
{

counters counts;
static int report_to = -1; /* the pipe of hostcuda_expect, else stderr */

void broken(const char *format, ...)
{
    char text[1024] = "hostcuda: ";
    const size_t head = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + head, sizeof text - head - 1, format, arguments);
    va_end(arguments);
    if (report_to >= 0) {
        if (write(report_to, text + head, strlen(text + head)) < 0)
            _exit(98);
        _exit(99);
    }
    strcat(text, "\n");
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        _exit(98);
    _exit(99);
}

/* ---- settings ---- */
static std::mutex settings_lock;
static settings current_settings;
static std::atomic<uint64_t> settings_generation{ 0 }; /* odd: to be read */
static std::atomic<int64_t> allocations_asked, collectives_asked[64];

static size_t parse_bytes(const char **text)
{
    char *end = nullptr;
    size_t n = strtoull(*text, &end, 10);
    if (end == *text)
        broken("HOSTCUDA_DEVICES='%s' is not a list of sizes such as 64M,16M", *text);
    const char units[] = "KMG";
    const char *unit = *end != '\0' ? strchr(units, *end) : nullptr;
    if (unit != nullptr) {
        n <<= 10 * (unit - units + 1);
        end++;
    }
    *text = *end == ',' ? end + 1 : end;
    return n;
}

static void parse_failure(const char *text, settings *out)
{
    long long a = 0, b = 0;
    if (sscanf(text, "alloc:%lld", &a) == 1)
        out->fail_allocation = a;
    else if (sscanf(text, "lost:%lld:%lld", &a, &b) == 2)
        out->lost_device = (int)a, out->lost_at = b;
    else if (sscanf(text, "nccl:%lld:%lld", &a, &b) == 2)
        out->fail_rank = (int)a, out->fail_collective = b;
    else if (sscanf(text, "init:%lld", &a) == 1)
        out->fail_init = (int)a;
    else if (text[0] != '\0')
        broken("HOSTCUDA_FAIL='%s' is none of alloc:N, lost:DEVICE:N, nccl:RANK:N, init:RANK", text);
}

static void parse_seconds(const char *text, settings *out)
{
    char name[64];
    double seconds = 0;
    int used = 0;
    for (; *text != '\0'; text += used + (text[used] == ',')) {
        used = 0;
        if (sscanf(text, "%63[^=,]=%lf%n", name, &seconds, &used) != 2 || used == 0)
            broken("HOSTCUDA_SECONDS='%s' is not a list such as rows_kernel=1e-5,cusparseSpMM_csr_alg3=2e-5",
                   text);
        out->seconds.emplace_back(name, seconds);
    }
}

double seconds_of(const work &w)
{
    for (const auto &s : config().seconds)
        if (strncmp(w.name, s.first.c_str(), s.first.size()) == 0)
            return s.second;
    return w.seconds;
}

/* As CUDA has it: a list of numbers, of which the first that is not there ends it. */
static void choose_visible(const char *text, settings *out)
{
    const std::vector<size_t> all = out->devices;
    out->devices.clear();
    out->numbers.clear();
    for (char *end = nullptr; *text != '\0'; text = *end == ',' ? end + 1 : end) {
        const long n = strtol(text, &end, 10);
        if (end == text || n < 0 || n >= (long)all.size())
            return;
        out->devices.push_back(all[(size_t)n]);
        out->numbers.push_back((int)n);
    }
}

static settings read_settings()
{
    settings s;
    const char *text = getenv("HOSTCUDA_SEED");
    if (text != nullptr)
        s.seed = strtoull(text, nullptr, 10);
    text = getenv("HOSTCUDA_EAGER");
    s.eager = text != nullptr && strcmp(text, "1") == 0;
    text = getenv("HOSTCUDA_QUIET");
    s.quiet = text != nullptr && strcmp(text, "1") == 0;
    text = getenv("HOSTCUDA_FAIL");
    if (text != nullptr)
        parse_failure(text, &s);
    text = getenv("HOSTCUDA_SECONDS");
    if (text != nullptr)
        parse_seconds(text, &s);
    text = getenv("HOSTCUDA_DEVICES");
    if (text == nullptr)
        text = "256M";
    while (*text != '\0' && s.devices.size() < 16)
        s.devices.push_back(parse_bytes(&text));
    for (size_t i = 0; i < s.devices.size(); i++)
        s.numbers.push_back((int)i);
    text = getenv("CUDA_VISIBLE_DEVICES");
    if (text != nullptr)
        choose_visible(text, &s);
    return s;
}

const settings &config()
{
    if (settings_generation.load() % 2 == 0) {
        std::lock_guard<std::mutex> hold(settings_lock);
        if (settings_generation.load() % 2 == 0) {
            current_settings = read_settings();
            settings_generation++;
        }
    }
    return current_settings;
}

uint64_t generation()
{
    config();
    return settings_generation.load();
}

bool allocation_fails()
{
    return ++allocations_asked == config().fail_allocation;
}

bool collective_fails(int rank)
{
    return rank >= 0 && rank < 64 && ++collectives_asked[rank] == config().fail_collective &&
           rank == config().fail_rank;
}

/* ---- random numbers ---- */
uint64_t mix(uint64_t x) /* splitmix64 (Steele, Lea, Flood 2014) */
{
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

uint64_t random_below(uint64_t n)
{
    static thread_local uint64_t state, of_generation;
    if (of_generation != generation()) {
        of_generation = generation();
        state = mix(config().seed) ^ mix((uint64_t)first_device() + 1);
    }
    state = mix(state);
    return n == 0 ? 0 : (uint64_t)(((unsigned __int128)state * n) >> 64);
}

/* ---- the rest ---- */
static thread_local cudaError_t last_error = cudaSuccess;

cudaError_t answer(cudaError_t e)
{
    if (e != cudaSuccess && e != cudaErrorNotReady)
        last_error = e;
    return e;
}

double seconds_now()
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void count_handle(int change)
{
    if ((counts.handles += change) < 0)
        broken("more library handles and descriptors were destroyed than made");
}

} // namespace hostcuda

using namespace hostcuda;

extern "C" cudaError_t CUDARTAPI cudaPeekAtLastError(void)
{
    const cudaError_t sticky = device_error(current_device());
    return sticky != cudaSuccess ? sticky : last_error;
}

extern "C" cudaError_t CUDARTAPI cudaGetLastError(void)
{
    const cudaError_t e = cudaPeekAtLastError();
    last_error = cudaSuccess;
    return e;
}

extern "C" void hostcuda_get_counts(hostcuda_counts *out)
{
    *out = { counts.launches,   counts.graph_launches, counts.uploads,      counts.upload_bytes,
             counts.downloads,  counts.download_bytes, counts.allocations,  counts.live_allocations,
             counts.live_bytes, counts.peak_bytes,     counts.pinned_bytes, counts.handles };
}

extern "C" void hostcuda_reset(void)
{
    if (counts.handles != 0)
        broken("reset: %lld library handles or descriptors are still alive", (long long)counts.handles);
    reset_graphs();
    reset_streams();
    reset_events();
    reset_memory();
    reset_devices();
    for (std::atomic<int64_t> *c :
         { &counts.launches, &counts.graph_launches, &counts.uploads, &counts.upload_bytes, &counts.downloads,
           &counts.download_bytes, &counts.allocations, &counts.live_allocations, &counts.live_bytes,
           &counts.peak_bytes, &counts.pinned_bytes, &allocations_asked })
        *c = 0;
    for (std::atomic<int64_t> &c : collectives_asked)
        c = 0;
    last_error = cudaSuccess;
    settings_generation += settings_generation % 2;
}

static std::string expect_in_child(pid_t child, int from)
{
    std::string text;
    char piece[512];
    for (ssize_t n; (n = read(from, piece, sizeof piece)) > 0;)
        text.append(piece, (size_t)n);
    int status = 0;
    if (waitpid(child, &status, 0) != child)
        return "the body cannot be waited for";
    if (WIFSIGNALED(status))
        return "the body ended by signal " + std::to_string(WTERMSIG(status));
    if (text.empty() && WEXITSTATUS(status) != 0)
        return "the body ended with status " + std::to_string(WEXITSTATUS(status));
    return text;
}

extern "C" const char *hostcuda_expect(void (*body)(void *user), void *user)
{
    static thread_local std::string text;
    int ends[2];
    fflush(stdout);
    fflush(stderr);
    if (pipe(ends) != 0)
        broken("expect: no pipe");
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        report_to = ends[1];
        body(user);
        fflush(stdout);
        _exit(0);
    }
    close(ends[1]);
    if (child < 0)
        broken("expect: no process");
    text = expect_in_child(child, ends[0]);
    close(ends[0]);
    return text.c_str();
}
