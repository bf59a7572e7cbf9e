/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of device memory share: a range of addresses a device, its allocations, and the fault handler's way in. */
#ifndef GNT_HOSTCUDA_ARENA_H
#define GNT_HOSTCUDA_ARENA_H

#include "tests/hostcuda/hostcuda_runtime.h"

#include <map>

namespace hostcuda
{

enum { MAX_ARENAS = 17 }; /* 16 devices and pinned memory */

struct arena {
    char *start = nullptr, *next = nullptr, *top = nullptr; /* top: the end of what was ever used */
    size_t reserved = 0;
    int device = -1;
    std::map<char *, allocation> all; /* by the start of data; freed ones stay, to be named */
    std::vector<char *> open;         /* starts of what may be open to the host now */
};

/* All of these under memory_lock, which is never held while device memory is touched that may be closed. */
extern std::mutex memory_lock;
arena &arena_of(int device);
arena *arena_at(const void *address);
allocation *nearest(arena *a, const void *address);
void memory_open(arena *a, allocation *b);
void forget_registered();

void catch_faults(); /* hostcuda_faults.cpp: unless the handler is there; test frameworks set their own before each test */

} // namespace hostcuda
#endif
