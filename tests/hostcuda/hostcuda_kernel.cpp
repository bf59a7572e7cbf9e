/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: blocks one after another in a random order, the threads of a block as fibres in a random order.
 *
 * One fibre runs threads one after another as plain calls for as long as they return; a thread that meets a barrier or a
 * warp operation parks its fibre, and another one goes on, with a thread that may or with those that have not started. So
 * kernels without barriers cost a call a thread, others a switch a park.
 *   thread number of the i-th start: (i * stride + first) mod n, stride coprime to n; blocks the same way.
 */
#include "tests/hostcuda/hostcuda_block.h"

#include <cstdio>
#include <cstring>
#include <numeric>
#include <set>
#include <string>

__thread uint3 threadIdx, blockIdx, blockDim, gridDim;

namespace hostcuda
{

static thread_local block_run *running;

block_run *running_block()
{
    return running;
}

/* ---- orders ---- */
static walk draw_walk(uint64_t count)
{
    walk w;
    w.count = count;
    w.first = random_below(count);
    do
        w.stride = 1 + random_below(count);
    while (std::gcd(w.stride, count) != 1);
    return w;
}

/* ---- the threads of a block ---- */
static void make_slots(block_run &b, const uint3 &size)
{
    b.size = (int)(size.x * size.y * size.z);
    b.slots.resize((size_t)b.size);
    for (unsigned t = 0; t < (unsigned)b.size; t++)
        b.slots[t].position = { t % size.x, t / size.x % size.y, t / (size.x * size.y) };
}

/* Starts threads until all are started; one that parks leaves the rest to another fibre. */
static void start_threads(void *user)
{
    block_run &b = *(block_run *)user;
    while (b.started < b.size) {
        const int thread = (int)b.order.at((uint64_t)b.started++);
        b.now = thread;
        b.slots[(size_t)thread].state = slot_state::running;
        threadIdx = b.slots[(size_t)thread].position;
        (*b.call)();
        b.slots[(size_t)thread].state = slot_state::returned;
        b.warps[thread / 32].gone |= 1U << thread % 32;
        b.returned++;
        if (b.returned < b.size && b.parked > 0)
            thread_returned(b, thread);
    }
}

/* A parked thread that may go on, or one for threads that have not started; NULL: neither is there. */
static fibre *choose_fibre(block_run &b)
{
    if (!b.ready.empty() && (b.started == b.size || random_below(4) == 0)) {
        const size_t k = (size_t)random_below(b.ready.size());
        const int thread = b.ready[k];
        b.ready[k] = b.ready.back();
        b.ready.pop_back();
        return b.slots[(size_t)thread].at;
    }
    return b.started < b.size ? fibre_take(start_threads, &b) : nullptr;
}

static void leave(block_run &b, slot_state state)
{
    const int thread = b.now;
    thread_slot &slot = b.slots[(size_t)thread];
    fibre *const me = b.fibre_now;
    slot.at = me;
    slot.state = state;
    fibre *const next = choose_fibre(b);
    if (next == nullptr)
        explain_stuck(b);
    b.fibre_now = next;
    if (next != me)
        fibre_pass(next);
    slot.state = slot_state::running;
    b.now = thread;
    threadIdx = slot.position;
}

void park(block_run &b, slot_state state)
{
    b.parked++;
    leave(b, state);
}

void step_aside(block_run &b)
{
    b.ready.push_back(b.now);
    leave(b, slot_state::ready);
}

void release(block_run &b, int thread)
{
    b.slots[(size_t)thread].state = slot_state::ready;
    b.ready.push_back(thread);
    b.parked--;
}

/* A fibre comes back here when its last thread has returned. */
static void run_block(block_run &b)
{
    while (b.returned < b.size) {
        b.fibre_now = choose_fibre(b);
        if (b.fibre_now == nullptr)
            explain_stuck(b);
        fibre_enter(b.fibre_now);
        fibre_give(b.fibre_now);
    }
}

/* ---- launches ---- */
struct kernel_launch {
    std::string name;
    const void *kernel;
    uint3 grid, block;
    std::function<void()> thread;
};

static result run_grid(const kernel_launch &k)
{
    const uint3 outside[] = { threadIdx, blockIdx, blockDim, gridDim };
    block_run *const outer = running;
    const uint64_t blocks = (uint64_t)k.grid.x * k.grid.y * k.grid.z;
    block_run b;
    b.name = k.name.c_str();
    b.call = &k.thread;
    make_slots(b, k.block);
    const walk block_order = draw_walk(blocks);
    const walk thread_order = draw_walk((uint64_t)b.size);
    b.order = thread_order;
    running = &b;
    here.in_kernel = here.strict = true;
    gridDim = k.grid;
    blockDim = k.block;
    for (uint64_t i = 0; i < blocks; i++) {
        const uint64_t number = block_order.at(i);
        blockIdx.x = (unsigned)(number % k.grid.x);
        blockIdx.y = (unsigned)(number / k.grid.x % k.grid.y);
        blockIdx.z = (unsigned)(number / k.grid.x / k.grid.y);
        b.order.first = (thread_order.first + number * 7) % (uint64_t)b.size;
        fill_shared(k.kernel);
        start_block(b);
        run_block(b);
    }
    here.in_kernel = here.strict = false;
    threadIdx = outside[0], blockIdx = outside[1], blockDim = outside[2], gridDim = outside[3];
    running = outer;
    return result::done;
}

/* The second argument of cudaLaunchKernelEx as it stands in the source. */
static std::string kernel_name(const char *text)
{
    int depth = 0, argument = 0;
    std::string name;
    for (const char *c = text; *c != '\0' && argument < 2; c++) {
        depth += (*c == '(' || *c == '<') - (*c == ')' || *c == '>');
        if (*c == ',' && depth == 0)
            argument++;
        else if (argument == 1 && *c != ' ')
            name += *c;
    }
    return name;
}

static const char *keep_name(const std::string &name)
{
    static std::mutex lock;
    static std::set<std::string> names;
    std::lock_guard<std::mutex> hold(lock);
    return names.insert(name).first->c_str();
}

static bool sizes_fit(const dim3 &g, const dim3 &b)
{
    return g.x >= 1 && g.x <= 2147483647U && g.y >= 1 && g.y <= 65535 && g.z >= 1 && g.z <= 65535 &&
           b.x >= 1 && b.y >= 1 && b.z >= 1 && b.z <= 64 && b.x <= 1024 && b.y <= 1024 &&
           (uint64_t)b.x * b.y * b.z <= 1024;
}

cudaError_t launch(const cudaLaunchConfig_t *config, const char *text, const void *kernel,
                   std::function<void()> thread)
{
    const std::string name = kernel_name(text);
    const CUstream_st *s = stream_of(config->stream, name.c_str());
    if (config->dynamicSmemBytes != 0 || config->numAttrs != 0)
        broken("kernel '%s': dynamic shared memory and launch attributes are not known to the stand-in",
               name.c_str());
    if (s->device != current_device())
        broken("kernel '%s' is launched on a stream of device %d, the thread's device is %d", name.c_str(),
               s->device, current_device());
    if (!sizes_fit(config->gridDim, config->blockDim))
        return answer(cudaErrorInvalidConfiguration);
    kernel_launch k;
    k.name = name;
    k.kernel = kernel;
    k.grid = { config->gridDim.x, config->gridDim.y, config->gridDim.z };
    k.block = { config->blockDim.x, config->blockDim.y, config->blockDim.z };
    k.thread = std::move(thread);
    const double threads = (double)config->gridDim.x * config->gridDim.y * config->gridDim.z *
                           ((double)config->blockDim.x * config->blockDim.y * config->blockDim.z);
    return enqueue(config->stream,
                   { keep_name(name), [k] { return run_grid(k); }, true, 2e-6 + 1e-10 * threads });
}

} // namespace hostcuda
