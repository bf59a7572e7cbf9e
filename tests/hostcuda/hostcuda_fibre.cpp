/* SPDX-License-Identifier: Apache-2.0 */
/* Fibres: see hostcuda_fibre.h. AddressSanitizer is told of every switch. */
#include "tests/hostcuda/hostcuda_fibre.h"
#include "tests/hostcuda/hostcuda.h"

#include <csignal>
#include <cstdint>
#include <sys/mman.h>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#define WITH_ASAN 1
#else
#define WITH_ASAN 0
#endif

#if defined(__x86_64__) && !defined(HOSTCUDA_UCONTEXT) /* defined by hand, to try the other way */
#define ON_X86_64 1
#else
#define ON_X86_64 0
#include <ucontext.h>
#endif

namespace hostcuda
{

static const size_t STACK_BYTES = WITH_ASAN ? 256 << 10 : 64 << 10, PAGE = 4096;

struct fibre {
    char *stack = nullptr; /* above its guard page */
    void (*main)(void *) = nullptr;
    void *user = nullptr;
    void *fake = nullptr; /* the sanitizer's */
#if ON_X86_64
    void *at = nullptr;
#else
    ucontext_t at;
#endif
};

struct home_stack {
    fibre *inside = nullptr;
    void *fake = nullptr;
    const void *bottom = nullptr;
    size_t bytes = 0;
#if ON_X86_64
    void *at = nullptr;
#else
    ucontext_t at;
#endif
};

/* The pool dies with its thread. The handler of faults has a stack of its own, for a fibre's may be what is used up. */
struct fibre_pool {
    std::vector<fibre *> idle;
    void *signal_stack = nullptr;
    ~fibre_pool()
    {
        if (signal_stack != nullptr) {
            stack_t none = {};
            none.ss_flags = SS_DISABLE;
            sigaltstack(&none, nullptr);
            munmap(signal_stack, STACK_BYTES);
        }
        for (fibre *f : idle) {
            munmap(f->stack - PAGE, STACK_BYTES + PAGE);
            delete f;
        }
    }
};
static thread_local fibre_pool pool;
static thread_local home_stack home;

/* In a fibre, behind a switch. What is left the first time is the thread's own stack. */
static void arrive(void *fake)
{
#if WITH_ASAN
    const void *bottom = nullptr;
    size_t bytes = 0;
    __sanitizer_finish_switch_fiber(fake, &bottom, &bytes);
    if (home.bottom == nullptr) {
        home.bottom = bottom;
        home.bytes = bytes;
    }
#else
    (void)fake;
#endif
}

static void begin_fibre()
{
    fibre *f = home.inside;
    arrive(nullptr);
    for (;;) {
        f->main(f->user);
        fibre_leave();
    }
}

#if ON_X86_64
extern "C" void hostcuda_switch(void **save, void *to);
/* What a call must leave as it was is kept on the stack that is left. */
asm(R"(
    .text
    .type hostcuda_switch, @function
    .hidden hostcuda_switch
    .globl hostcuda_switch
hostcuda_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size hostcuda_switch, .-hostcuda_switch
)");

static void prepare(fibre *f)
{
    void **top = (void **)(f->stack + STACK_BYTES);
    *--top = nullptr; /* so that a trace ends here, and the stack is aligned as after a call */
    *--top = (void *)begin_fibre;
    for (int i = 0; i < 6; i++)
        *--top = nullptr;
    f->at = top;
}

static void switch_to(fibre *f)
{
    hostcuda_switch(&home.at, f->at);
}

static void switch_home(fibre *f)
{
    hostcuda_switch(&f->at, home.at);
}

static void switch_over(fibre *f, fibre *to)
{
    hostcuda_switch(&f->at, to->at);
}
#else
static void prepare(fibre *f)
{
    getcontext(&f->at);
    f->at.uc_stack.ss_sp = f->stack;
    f->at.uc_stack.ss_size = STACK_BYTES;
    f->at.uc_link = nullptr;
    makecontext(&f->at, begin_fibre, 0);
}

static void switch_to(fibre *f)
{
    swapcontext(&home.at, &f->at);
}

static void switch_home(fibre *f)
{
    swapcontext(&f->at, &home.at);
}

static void switch_over(fibre *f, fibre *to)
{
    swapcontext(&f->at, &to->at);
}
#endif

static void *map_stack(size_t bytes)
{
    void *map =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        broken("no memory for a fibre's stack");
    return map;
}

static void make_signal_stack()
{
    stack_t now = {};
    if (pool.signal_stack != nullptr || sigaltstack(nullptr, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0)
        return; /* sanitizers bring one */
    now = {};
    now.ss_sp = pool.signal_stack = map_stack(STACK_BYTES);
    now.ss_size = STACK_BYTES;
    sigaltstack(&now, nullptr);
}

fibre *fibre_take(void (*main)(void *user), void *user)
{
    fibre *f;
    if (!pool.idle.empty()) {
        f = pool.idle.back();
        pool.idle.pop_back();
    } else {
        f = new fibre;
        make_signal_stack();
        void *map = map_stack(STACK_BYTES + PAGE);
        if (mprotect(map, PAGE, PROT_NONE) != 0)
            broken("no memory for a fibre's stack");
        f->stack = (char *)map + PAGE;
        prepare(f);
    }
    f->main = main;
    f->user = user;
    return f;
}

bool fibre_overflows(const void *address)
{
    const fibre *f = home.inside;
    return f != nullptr && (const char *)address >= f->stack - PAGE && (const char *)address < f->stack;
}

void fibre_give(fibre *f)
{
    pool.idle.push_back(f);
}

void fibre_enter(fibre *f)
{
    home.inside = f;
#if WITH_ASAN
    __sanitizer_start_switch_fiber(&home.fake, f->stack, STACK_BYTES);
#endif
    switch_to(f);
#if WITH_ASAN
    __sanitizer_finish_switch_fiber(home.fake, nullptr, nullptr);
#endif
    home.inside = nullptr;
}

void fibre_leave()
{
    fibre *f = home.inside;
#if WITH_ASAN
    __sanitizer_start_switch_fiber(&f->fake, home.bottom, home.bytes);
#endif
    switch_home(f);
    arrive(f->fake);
}

void fibre_pass(fibre *to)
{
    fibre *f = home.inside;
    home.inside = to;
#if WITH_ASAN
    __sanitizer_start_switch_fiber(&f->fake, to->stack, STACK_BYTES);
#endif
    switch_over(f, to);
    arrive(f->fake);
}

} // namespace hostcuda
