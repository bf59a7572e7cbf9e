/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the runtime's stand-in share: settings, the memory of devices, streams with their queues, graphs.
 *
 * Locks, from the outermost: one a device (its queues; held while a piece of its work runs), then the leaves: one for all
 * tables of memory, one for the set of living streams and events. A leaf is never held while device memory is touched.
 */
#ifndef GNT_HOSTCUDA_RUNTIME_H
#define GNT_HOSTCUDA_RUNTIME_H

#include "tests/hostcuda/hostcuda.h"

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace hostcuda
{

/* ---- hostcuda_rules.cpp ---- */
struct settings {
    uint64_t seed = 1;
    std::vector<size_t> devices;
    std::vector<int> numbers; /* of the machine's devices; those that the process sees */
    bool eager = false;
    int64_t fail_allocation = 0; /* 0: none */
    int lost_device = -1;
    int64_t lost_at = 0;
    int fail_rank = -1;
    int64_t fail_collective = 0;
    int fail_init = -1;
    bool quiet = false;
    std::vector<std::pair<std::string, double>> seconds; /* name, or its beginning */
};
const settings &config(); /* read at the first call, and after each reset */
bool allocation_fails();  /* counts one; true for the one that must fail */
/* Numbers that the whole process shares, and that hostcuda_reset sets to 0. */
struct counters {
    std::atomic<int64_t> launches, graph_launches, uploads, upload_bytes, downloads, download_bytes,
        allocations, live_allocations, live_bytes, peak_bytes, pinned_bytes, handles;
};
extern counters counts;
uint64_t generation();             /* changes with each reset */
cudaError_t answer(cudaError_t e); /* the thread's last error, unless e is success; answers e */
double seconds_now();
double seconds_of(const work &w); /* by the model, or as the settings say */
uint64_t mix(uint64_t x);         /* a number that looks random, of x alone */

/* ---- hostcuda_devices.cpp ---- */
struct device_state {
    std::recursive_mutex lock;
    int index = 0;
    size_t total_bytes = 0;
    std::atomic<size_t> used_bytes{ 0 };
    std::vector<CUstream_st *> streams; /* alive, or with work left */
    std::atomic<int> error{ 0 };        /* a lost device's, from then on */
    int64_t num_works = 0;
    uint32_t peers = 0; /* devices whose memory its kernels may touch */
    uint64_t release_threshold = 0;
};
device_state &device_at(int device);
int num_devices();
int first_device(); /* of the calling thread; 0 before it set one */
cudaError_t device_error(int device);
void reset_devices();

/* ---- hostcuda_memory.cpp ---- */
enum class memory_state { coming, live, leaving, freed };
struct allocation {
    char *data, *map;
    size_t bytes, map_bytes;
    int64_t number;
    int device; /* -1: pinned host memory */
    memory_state state;
    bool open, pooled;
    const char *call; /* that made it */
};
void *memory_new(int device, size_t bytes, const char *call, bool pooled); /* NULL: no room */
/* Of the allocation that starts at data; broken() when none does. */
allocation memory_find_start(int device, const void *data, const char *call);
bool memory_find(const void *data, allocation *out); /* any live allocation around the address */
void memory_set_state(const void *data, memory_state state);
void memory_free(const void *data, const char *call);
void memory_close(); /* at the end of a batch: what the thread's work opened is closed to the host */
/* Guard zones of the device's open allocations; broken() names the work that just ran. */
void memory_check_guards(int device, const char *name);
bool memory_is_device(const void *data, int *out_device);
bool memory_is_pinned(const void *data, size_t bytes);
void memory_register(void *data, size_t bytes);
bool memory_unregister(void *data);
void reset_memory();

/* What the calling thread works on; NULL name: nothing, so that device memory is closed to it. */
struct place {
    const char *name = nullptr;
    int device = -1;
    bool strict = false; /* a kernel: memory of other devices only with peer access */
    bool in_kernel = false;
};
extern thread_local place here;
std::string describe_here(); /* "kernel 'x', block (0,0,0), thread (3,0,0)" */

/* ---- hostcuda_queue.cpp ---- */
/* One record of an event: done when the stream came there. */
struct moment {
    std::atomic<bool> done{ false };
    double seconds = 0; /* of the stream's clock */
    CUstream_st *stream = nullptr;
};
struct graph_node {
    work w;
    std::vector<int> after, before; /* nodes */
    int device;
};
struct graph_nodes {
    int device = 0;
    std::vector<graph_node> nodes;
};
struct graph_run; /* one launch of a graph: which nodes are left */
enum class item_kind { work, record, wait, graph };
struct item {
    item_kind kind;
    work w;
    std::shared_ptr<moment> when;
    std::shared_ptr<graph_run> graph;
};
struct capture; /* hostcuda_graph.cpp */

void queue_item(CUstream_st *s, item i);
/* Runs random ready work until the condition holds. */
void drive(int device, CUstream_st *target, const std::function<bool()> &done);
void drive_some(int device);                       /* a little, or nothing */
void drive_query(int device, CUstream_st *target); /* a little, towards the target */
CUstream_st *stream_new(int device, bool blocking, int priority);
result run_work(const work &w, int device);
void drive_all(int device);                                    /* all work of the device */
CUstream_st *stream_of(cudaStream_t stream, const char *call); /* alive, else broken() */
bool stream_done(CUstream_st *s);
bool stream_reached(CUstream_st *s, uint64_t number);
void reset_streams();
void reset_events(); /* hostcuda_streams.cpp */

/* ---- hostcuda_graph.cpp ---- */
cudaError_t capture_work(CUstream_st *s, work w);
cudaError_t capture_record(CUstream_st *s, CUevent_st *e);
cudaError_t capture_wait(CUstream_st *s, CUevent_st *e);
/* A call that may not be made while the stream, or the calling thread, captures: the capture is invalid then. */
cudaError_t refuse_captured_stream(CUstream_st *s);
cudaError_t refuse_capturing_thread();
/* A ready node was run (done, lost), or none could (again). */
result graph_step(graph_run &run, bool *out_finished);
double graph_seconds(const graph_run &run);
void reset_graphs();

} // namespace hostcuda

struct CUstream_st {
    int device = 0;
    bool alive = true, blocking = true;
    int priority = 0;
    uint64_t number = 0;
    std::deque<hostcuda::item> queue;
    std::atomic<uint64_t> queued{ 0 }, finished{ 0 };
    double clock = 0; /* what its work so far took, by the model; under the device's lock */
    std::shared_ptr<hostcuda::capture> capturing;
    std::vector<int> tail; /* the nodes after which the next captured one comes */
};

struct CUevent_st {
    int device = 0;
    bool alive = true, timed = true;
    std::shared_ptr<hostcuda::moment> newest; /* NULL: never recorded */
    std::shared_ptr<hostcuda::capture> captured;
    std::vector<int> tail;
};

#endif
