/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers of blocks, and operations of warps: who must come, what each gets, and what breaks the rules.
 *
 * A barrier needs every thread of the block at one line; a warp operation every lane of its mask that has not returned, with
 * one mask, operation and line. What a shuffle reads from a lane that is not there is all ones: NaN, or -1.
 */
#include "tests/hostcuda/hostcuda_block.h"

#include <cstdio>

namespace hostcuda
{

static std::string name_thread(const block_run &b, int thread)
{
    const unsigned t = (unsigned)thread;
    char text[512];
    snprintf(text, sizeof text, "kernel '%s', block (%u,%u,%u), thread (%u,%u,%u)", b.name, blockIdx.x,
             blockIdx.y, blockIdx.z, t % blockDim.x, t / blockDim.x % blockDim.y,
             t / (blockDim.x * blockDim.y));
    return text;
}

static const char *name_op(const thread_slot &s)
{
    static const char *const names[] = { "__syncwarp",       "__shfl_sync",     "__shfl_up_sync",
                                         "__shfl_down_sync", "__shfl_xor_sync", "a vote" };
    return s.state == slot_state::in_barrier ? "__syncthreads" : names[(int)s.op];
}

void start_block(block_run &b)
{
    b.started = b.returned = b.parked = b.in_barrier = b.barrier_votes = 0;
    for (thread_slot &s : b.slots)
        s.state = slot_state::fresh;
    for (warp_state &w : b.warps)
        w = warp_state();
}

/* ---- the whole block ---- */
int block_barrier(int value, int line)
{
    block_run *b = running_block();
    if (b == nullptr)
        broken("__syncthreads outside of a kernel");
    const int me = b->now;
    thread_slot &s = b->slots[(size_t)me];
    s.line = line;
    b->barrier_votes += value;
    if (++b->in_barrier < b->size) {
        if (b->returned > 0)
            broken("%s: __syncthreads at line %d, but %d threads of the block have returned",
                   name_thread(*b, me).c_str(), line, b->returned);
        park(*b, slot_state::in_barrier);
        return s.votes;
    }
    const int votes = b->barrier_votes;
    for (int t = 0; t < b->size; t++) {
        thread_slot &o = b->slots[(size_t)t];
        if (o.line != line)
            broken("%s: __syncthreads at line %d, thread %d of the block is at the one at line %d",
                   name_thread(*b, me).c_str(), line, t, o.line);
        o.votes = votes;
        if (t != me)
            release(*b, t);
    }
    b->in_barrier = b->barrier_votes = 0;
    if (random_below(2) == 0 && b->size > 1) /* not always first behind it */
        step_aside(*b);
    return votes;
}

/* ---- warps ---- */
static int lanes_of(const block_run &b, int warp)
{
    return b.size - 32 * warp < 32 ? b.size - 32 * warp : 32;
}

static unsigned all_lanes(int lanes)
{
    return lanes == 32 ? ~0U : (1U << lanes) - 1;
}

/* The lane that a shuffle of `me` reads; itself where the source lies outside of its section. */
static int source_lane(const thread_slot &s, int me)
{
    const int section = me & ~(s.width - 1);
    const int rank = me - section;
    switch (s.op) {
    case warp_op::shfl:
        return section + (s.other & (s.width - 1));
    case warp_op::up:
        return rank < s.other ? me : me - s.other;
    case warp_op::down:
        return rank + s.other >= s.width ? me : me + s.other;
    default:
        return (me ^ s.other) >= section + s.width ? me : me ^ s.other;
    }
}

static uint64_t answer_of(const thread_slot *warp, int lanes, int me)
{
    const thread_slot &s = warp[me];
    if (s.op == warp_op::sync)
        return 0;
    const auto there = [&](int l) {
        return l < lanes && (s.mask >> l & 1) != 0 && warp[l].state == slot_state::in_warp;
    };
    if (s.op == warp_op::ballot) {
        uint64_t votes = 0;
        for (int l = 0; l < lanes; l++)
            if (there(l) && warp[l].value != 0)
                votes |= 1ULL << l;
        return votes;
    }
    const int from = source_lane(s, me);
    return there(from) ? warp[from].value : ~0ULL;
}

static bool same_meeting(const thread_slot &a, const thread_slot &b)
{
    return a.op == b.op && a.mask == b.mask && a.line == b.line && a.width == b.width;
}

/* Whether all lanes of the mask are there; one that waits elsewhere breaks the rules. */
static bool all_there(const block_run &b, int base, int lanes, int me)
{
    const thread_slot &s = b.slots[(size_t)(base + me)];
    const warp_state &w = b.warps[base / 32];
    for (int l = 0; l < lanes && !w.alike; l++) {
        const thread_slot &o = b.slots[(size_t)(base + l)];
        if (((s.mask & w.waiting) >> l & 1) != 0 && !same_meeting(s, o))
            broken("%s: %s at line %d with mask %08x, lane %d is at %s at line %d with mask %08x",
                   name_thread(b, base + me).c_str(), name_op(s), s.line, s.mask, l, name_op(o), o.line,
                   o.mask);
    }
    return (s.mask & all_lanes(lanes) & ~(w.waiting | w.gone)) == 0;
}

/* All have come: answers for all, and all but the one that runs may go on. */
static void finish_meeting(block_run &b, int base, int lanes, int me, int running)
{
    thread_slot *warp = &b.slots[(size_t)base];
    const unsigned mask = warp[me].mask;
    for (int l = 0; l < lanes; l++)
        if ((mask >> l & 1) != 0 && warp[l].state == slot_state::in_warp)
            warp[l].answer = answer_of(warp, lanes, l);
    for (int l = 0; l < lanes; l++)
        if ((mask >> l & 1) != 0 && warp[l].state == slot_state::in_warp && base + l != running)
            release(b, base + l);
    b.warps[base / 32].waiting &= ~mask;
}

uint64_t warp_meet(warp_op op, unsigned mask, uint64_t value, int other, int width, int line)
{
    block_run *b = running_block();
    if (b == nullptr)
        broken("a warp operation outside of a kernel");
    const int thread = b->now, base = thread / 32 * 32, me = thread - base, lanes = lanes_of(*b, thread / 32);
    thread_slot &s = b->slots[(size_t)thread];
    s.op = op;
    s.mask = mask;
    s.value = value;
    s.other = other;
    s.width = width;
    s.line = line;
    if ((mask >> me & 1) == 0)
        broken("%s: %s at line %d with mask %08x, which has not its own lane %d",
               name_thread(*b, thread).c_str(), name_op(s), line, mask, me);
    if (width < 1 || width > 32 || (width & (width - 1)) != 0)
        broken("%s: %s at line %d with width %d", name_thread(*b, thread).c_str(), name_op(s), line, width);
    s.state = slot_state::in_warp;
    warp_state &w = b->warps[base / 32];
    w.alike =
        w.waiting == 0 || (w.alike && same_meeting(s, b->slots[(size_t)(base + __builtin_ctz(w.waiting))]));
    w.waiting |= 1U << me;
    if (!all_there(*b, base, lanes, me)) {
        park(*b, slot_state::in_warp);
        return s.answer;
    }
    finish_meeting(*b, base, lanes, me, thread);
    s.state = slot_state::running;
    return s.answer;
}

unsigned active_mask()
{
    const block_run *b = running_block();
    if (b == nullptr)
        broken("__activemask outside of a kernel");
    const int warp = b->now / 32, lanes = lanes_of(*b, warp);
    return all_lanes(lanes) & ~b->warps[warp].gone;
}

void trap()
{
    broken("%s: __trap", running_block() != nullptr
                             ? name_thread(*running_block(), running_block()->now).c_str()
                             : "the host");
}

/* ---- threads that are gone, or never come ---- */
void thread_returned(block_run &b, int thread)
{
    const int base = thread / 32 * 32, lanes = lanes_of(b, thread / 32);
    for (int l = 0; l < lanes && b.warps[base / 32].waiting != 0; l++)
        if (b.slots[(size_t)(base + l)].state == slot_state::in_warp && all_there(b, base, lanes, l)) {
            finish_meeting(b, base, lanes, l, -1);
            return;
        }
    if (b.in_barrier > 0)
        explain_stuck(b);
}

void explain_stuck(block_run &b)
{
    int waits = -1, gone = -1, elsewhere = -1;
    for (int t = 0; t < b.size; t++) {
        const slot_state s = b.slots[(size_t)t].state;
        if (s == slot_state::returned)
            gone = t;
        else if (s != slot_state::in_barrier && s != slot_state::in_warp)
            continue;
        else if (waits < 0)
            waits = t;
        else if (s != b.slots[(size_t)waits].state)
            elsewhere = t;
    }
    if (waits < 0)
        broken("kernel '%s': no thread can go on", b.name);
    const thread_slot &w = b.slots[(size_t)waits];
    const std::string who = name_thread(b, waits);
    if (gone >= 0 && (w.state == slot_state::in_barrier || elsewhere < 0))
        broken("%s: waits at %s at line %d, but thread %d of the block has returned", who.c_str(), name_op(w),
               w.line, gone);
    if (elsewhere < 0)
        broken("%s: waits at %s at line %d for lanes that do not come", who.c_str(), name_op(w), w.line);
    const thread_slot &e = b.slots[(size_t)elsewhere];
    broken("%s: waits at %s at line %d, thread %d of the block at %s at line %d", who.c_str(), name_op(w),
           w.line, elsewhere, name_op(e), e.line);
}

} // namespace hostcuda
