/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the stand-in for NCCL share: communicators, whose ranks are threads and processes of one machine, and operations.
 *
 * A group of calls becomes one step per communicator, queued on its stream. When its turn comes, a step posts what it brings
 * (contents are copied, so a rank only ever touches the memory of its own device), and it is asked again until the other ranks
 * have posted the other halves. A communicator does one step at a time. One mutex guards everything; rules that are found broken
 * under it are told when it is open again.
 *
 * Each process has a clique of its own with all ranks, those of other processes as shadows. What a rank does is an event: it is
 * applied here and goes to all processes over the process that made the unique id, in one order (hostcuda_nccl_wire.cpp).
 */
#ifndef GNT_HOSTCUDA_NCCL_H
#define GNT_HOSTCUDA_NCCL_H

#include "tests/hostcuda/hostcuda_library.h"

#include <nccl.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <string>

namespace hostcuda
{
namespace nccl
{

enum class kind { send, receive, all_reduce, broadcast };

struct operation {
    kind what;
    const void *send;
    void *receive;
    size_t count;
    ncclDataType_t type;
    ncclRedOp_t reduction;
    int peer; // or root
};

struct step {
    std::vector<operation> operations;
};

// One half of a message, until the other has come; `content` travels.
struct half {
    operation op;
    std::vector<char> content;
    bool matched;
};

// A collective that has not been left by all ranks.
struct collective {
    std::vector<std::shared_ptr<half>> halves; // (ranks), NULL: has not come
    int taken;
};

struct split_round {
    std::vector<int> color, key;
    std::vector<bool> came;
};

struct wire;
// The ranks of one communicator.
struct clique {
    std::shared_ptr<wire> by; // NULL: nobody else will ever hear of it
    std::string name;         // "" made from the unique id; of a part: ".SPLIT:COLOR" behind the whole's
    int size;
    std::vector<std::shared_ptr<ncclComm>> members; // NULL: has not come, or has gone
    std::vector<bool> joined, finalized;
    std::map<std::pair<int, int>, std::deque<std::shared_ptr<half>>> sends,
        receives; // by (from, to), unmatched
    std::map<uint64_t, collective> rounds;
    std::map<uint64_t, split_round> splits;
};

// What a rank has done, told to the other processes.
enum class event_kind { join, post, failed, split, finalized, gone, lost };
struct event {
    event_kind what;
    std::string name; // of the clique
    int rank;
    int first, second;                         // join: size, device; split: color, key
    uint64_t index;                            // of a split
    std::vector<std::shared_ptr<half>> halves; // post
};

size_t type_bytes(ncclDataType_t type); // 0: not known here
size_t bytes_of(const operation &op);
// Puts a collective's result where the operation wants it.
void finish_collective(const collective &c, const operation &op);
std::string describe(const step &s);
// The ranges of device memory of a step.
std::vector<range> ranges_of(const step &s);

extern std::mutex mutex;
extern std::condition_variable &changed;

// ---- hostcuda_nccl_ranks.cpp; the mutex is held ----
std::shared_ptr<clique> make_clique(const std::shared_ptr<wire> &by, const std::string &name, int size);
std::shared_ptr<ncclComm> make_comm(int rank, int device);
bool all_of(const std::vector<bool> &flags);
// A rank of this process joins and tells the others; the rule that it breaks, or nothing.
std::string join(const std::shared_ptr<clique> &c, const std::shared_ptr<ncclComm> &comm, int size);
// Asks all ranks of a communicator for its parts, from one rank of this process.
void begin_split(ncclComm &comm, int color, int key);
// The rank's part, NULL when it is in none, once all have been asked.
bool find_part(const ncclComm &comm, std::shared_ptr<ncclComm> *out);
void finalize(ncclComm &comm);
void fail(ncclComm &comm);
// Takes a communicator out of everything.
void forget(ncclComm &comm);
// What a rank of another process did; the rule that is broken, or nothing.
std::string apply(const std::shared_ptr<wire> &by, const event &e);

// ---- hostcuda_nccl_wire.cpp; the mutex is held ----
uint64_t wire_number(void); // of a new unique id, whose ranks meet in this process
// The way to the ranks of an id; NULL: nobody listens any more.
std::shared_ptr<wire> wire_find(uint64_t number);
std::map<std::string, std::shared_ptr<clique>> &wire_cliques(wire &w);
void wire_tell(const std::shared_ptr<wire> &w, const event &e);
// A rank of this process has left: what is no longer used is closed.
void wire_release(const std::shared_ptr<wire> &w);
// Until all that was told has left this process, or some seconds.
void wire_flush(std::unique_lock<std::mutex> &lock);

// ---- hostcuda_nccl_event.cpp ----
std::string to_bytes(const event &e);
event from_bytes(const std::string &bytes);

// ---- hostcuda_nccl_step.cpp ----
// A step's halves, of a rank of any process: where they meet others; the rule that is broken, or nothing.
std::string post(ncclComm &comm, const std::shared_ptr<step> &s, std::vector<std::shared_ptr<half>> halves);
// Does what can be done of a step.
result run_step(const std::shared_ptr<ncclComm> &comm, const std::shared_ptr<step> &s);
// The communicator of a handle, checked to be alive and made.
std::shared_ptr<ncclComm> find(ncclComm_t comm, const char *call);
// The same, ready for operations: no call of it is under way.
std::shared_ptr<ncclComm> find_ready(ncclComm_t comm, const char *call);
// A rank goes without its halves being taken; the mutex is held.
void withdraw(ncclComm &comm);

} // namespace nccl
} // namespace hostcuda

struct ncclComm {
    std::shared_ptr<hostcuda::nccl::clique> ranks;
    int rank, device, place; // place: the device's number in the machine
    bool shadow;             // of a rank in another process
    bool blocking, aborted, finalizing;
    int polls; // how often it still answers ncclInProgress
    ncclResult_t error;
    uint64_t num_rounds, num_splits; // collectives begun; splits called
    int queued;                      // steps queued one by one, not done
    std::vector<std::weak_ptr<hostcuda::nccl::step>> captured;
    // the step that has posted its halves
    std::shared_ptr<hostcuda::nccl::step> running;
    std::vector<std::shared_ptr<hostcuda::nccl::half>> halves; // of its operations
    std::vector<uint64_t> rounds; // of those of its operations that are collective
    // a split that waits for others: where the part goes
    ncclComm_t *split_out;
    uint64_t split_index;
};
#endif
