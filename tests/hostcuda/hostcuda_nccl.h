/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the stand-in for NCCL share: communicators, whose ranks are threads of one process, and operations.
 *
 * A group of calls becomes one step per communicator, queued on its stream. When its turn comes, a step posts what it brings
 * (contents are copied, so a rank only ever touches the memory of its own device), and it is asked again until the other ranks
 * have posted the other halves. A communicator does one step at a time. One mutex guards everything; rules that are found broken
 * under it are told when it is open again.
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

struct clique;
struct split_round {
    std::vector<int> color, key;
    std::vector<bool> came;
    std::map<int, std::shared_ptr<clique>> parts; // by color
};

// The ranks of one communicator.
struct clique {
    int size;
    std::vector<std::shared_ptr<ncclComm>> members; // NULL: has not come, or has gone
    std::vector<bool> joined, finalized;
    std::map<std::pair<int, int>, std::deque<std::shared_ptr<half>>> sends,
        receives; // by (from, to), unmatched
    std::map<uint64_t, collective> rounds;
    std::map<uint64_t, split_round> splits;
};

size_t type_bytes(ncclDataType_t type); // 0: not known here
size_t bytes_of(const operation &op);
std::string describe(const step &s);
// The ranges of device memory of a step.
std::vector<range> ranges_of(const step &s);

extern std::mutex mutex;
extern std::condition_variable changed;

// Does what can be done of a step; hostcuda_nccl_step.cpp.
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
    int rank, device;
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
