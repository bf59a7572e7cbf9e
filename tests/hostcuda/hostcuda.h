/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in for the CUDA runtime, cuSPARSE, cuBLASLt and NCCL on the CPU: what its own files share, and what tests set.
 *
 * The real headers declare the functions, so signatures are checked; this library defines them. Devices have memory of their
 * own (an arena a device, closed to the host outside of queued work). Work is queued on streams and done late, in a random order
 * that the rules of streams and events allow, by whoever waits; a seed repeats it. Every pointer, size, leading dimension,
 * descriptor, stream and group is checked when a call is made, and the memory again when the work is done. A broken rule ends
 * the process with one line "hostcuda: ..." on stderr (code 99), unless a test catches it (hostcuda_expect).
 *
 * Settings, read once from the environment (tests set them before the first call, or call hostcuda_reset):
 *   HOSTCUDA_SEED=N         order of streams, blocks, threads (default 1)
 *   HOSTCUDA_DEVICES=64M,16M  one device each, with so much memory (default 256M)
 *   CUDA_VISIBLE_DEVICES=1,0  which of them the process sees, as numbers
 *   HOSTCUDA_FAIL=alloc:N | lost:DEVICE:N | nccl:RANK:N | init:RANK   the N-th allocation fails; the device is lost at the N-th
 *                           piece of work; a collective of the rank reports an error at its N-th call; the rank's communicator is
 *                           never made.
 *                           A lost device answers cudaErrorDevicesUnavailable from then on
 *   HOSTCUDA_HANG=1         ranks of NCCL that wait for each other in a circle hang, as they would, instead of breaking a rule
 *   HOSTCUDA_QUIET=1        communicators do not learn that a process of theirs is gone (as over links between devices)
 *   HOSTCUDA_EAGER=1        do work at once (to tell a wrong kernel from a missing wait)
 *   HOSTCUDA_SECONDS=NAME=SECONDS,...  what work of that name takes, by the clock of events; NAME may be the beginning of one
 *
 * Times between events are those of a virtual clock, one a stream, which no load of the machine and no seed changes: a kernel takes
 * 2 us and 0.1 ns a thread, a product of cuSPARSE 2 us and 0.1 ns a term (entries x columns), all else 1 us; a stream that waits
 * for an event goes on at its time; a graph takes the sum of its nodes. They mean nothing but an order.
 */
#ifndef GNT_HOSTCUDA_H
#define GNT_HOSTCUDA_H

#include <cuda_runtime_api.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- for tests ---- */
/* Forgets devices, memory, streams and counts; settings are read again. */
void hostcuda_reset(void);

typedef struct hostcuda_counts {
    int64_t launches;       /* kernels and library products queued one by one */
    int64_t graph_launches; /* captured graphs launched */
    int64_t uploads, upload_bytes, downloads, download_bytes; /* host <-> device */
    int64_t allocations, live_allocations, live_bytes, peak_bytes, pinned_bytes;
    int64_t handles; /* library handles and descriptors alive */
} hostcuda_counts;
void hostcuda_get_counts(hostcuda_counts *out);

/* Runs body(user) in a process of its own (what it changes is not seen here, no other thread may be inside this library);
 * answers the text of the rule that it broke, how it ended otherwise, or "". Valid until the thread's next call. */
const char *hostcuda_expect(void (*body)(void *user), void *user);

#ifdef __cplusplus
}

/* ---- for the stand-in's own files (C++) ---- */
#include <functional>

namespace hostcuda
{

/* A rule is broken: one line, then the end of the process or of hostcuda_expect's body. */
[[noreturn]] void broken(const char *format, ...) __attribute__((format(printf, 1, 2)));

enum class result {
    done,
    again, /* it waits for work of other ranks: asked again later */
    lost   /* the device is lost: the stream's error from now on */
};

/* A piece of work: `run` is called when all before it on the stream is done, perhaps in another thread, once for each launch when
 * it was captured: it must own what it needs by value. Device memory is open while it runs. */
struct work {
    const char *name;
    std::function<result()> run;
    bool kernel;           /* counts as a launch */
    double seconds = 1e-6; /* that it takes by the model of events' times, unless HOSTCUDA_SECONDS names it */
};
/* Queues it, or adds it to the graph that the stream captures. */
cudaError_t enqueue(cudaStream_t stream, work w);

/* The calling thread's device. */
int current_device();
/* Device of a stream (of the calling thread's current device for the default stream), checked to be alive. */
int device_of(cudaStream_t stream);

/* The range lies in one live allocation of the device; else broken() with call, argument and both sides. bytes 0 is fine. */
void check_device_range(int device, const void *data, size_t bytes, const char *call, const char *argument);
/* The address is ordinary or pinned host memory, not a device's. */
void check_host_range(const void *data, size_t bytes, const char *call, const char *argument);

/* The next number of the calling thread's order of things, below n; the seed and the thread's first device decide. */
uint64_t random_below(uint64_t n);

/* A handle or descriptor of a library is made (+1) or destroyed (-1): counted, and checked at hostcuda_reset. */
void count_handle(int change);

/* HOSTCUDA_FAIL=nccl:RANK:N; true at the call that must fail. */
bool collective_fails(int rank);

} // namespace hostcuda
#endif
#endif
