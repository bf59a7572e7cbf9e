/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that run a block of threads share: its threads, who is parked where, and who may go on. */
#ifndef GNT_HOSTCUDA_BLOCK_H
#define GNT_HOSTCUDA_BLOCK_H

#include "tests/hostcuda/hostcuda_device.h"
#include "tests/hostcuda/hostcuda_fibre.h"
#include "tests/hostcuda/hostcuda_runtime.h"

namespace hostcuda
{

enum class slot_state : uint8_t { fresh, running, in_barrier, in_warp, ready, returned };

struct thread_slot {
    slot_state state = slot_state::fresh;
    warp_op op = warp_op::sync;
    unsigned mask = 0;
    int line = 0, other = 0, width = 32, votes = 0;
    uint64_t value = 0, answer = 0;
    fibre *at = nullptr;
    uint3 position = {}; /* threadIdx */
};

struct warp_state {
    unsigned waiting = 0, gone = 0; /* a bit a lane: in a warp operation, returned */
    bool alike = true;              /* all that wait are at one line with one mask */
};

/* Every number below count once, in an order that first and stride (coprime to count) decide. */
struct walk {
    uint64_t first = 0, stride = 1, count = 1;
    uint64_t at(uint64_t i) const
    {
        return (uint64_t)(((unsigned __int128)i * stride + first) % count);
    }
};

struct block_run {
    const char *name = nullptr;
    const std::function<void()> *call = nullptr;
    walk order; /* of starts */
    int size = 0, started = 0, returned = 0, parked = 0;
    int now = 0; /* the thread that runs */
    fibre *fibre_now = nullptr;
    int in_barrier = 0, barrier_votes = 0;
    warp_state warps[32];
    std::vector<int> ready; /* parked threads that may go on */
    std::vector<thread_slot> slots;
};

block_run *running_block();
void park(block_run &b, slot_state state); /* the running thread, until it is released and chosen */
void step_aside(block_run &b);             /* the same, but it may go on at once */
void release(block_run &b, int thread);

/* hostcuda_barrier.cpp */
void start_block(block_run &b);
void thread_returned(block_run &b, int thread); /* others may wait for it */
[[noreturn]] void explain_stuck(block_run &b);

/* hostcuda_shared.cpp: rubbish into the kernel's __shared__ variables of the calling thread */
void fill_shared(const void *kernel);

} // namespace hostcuda
#endif
