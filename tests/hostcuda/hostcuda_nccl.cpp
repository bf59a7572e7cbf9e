/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in for NCCL: communicators are made, watched, split and ended. Ranks are threads of one process and meet by the
 * number in their unique id. Calls that do not block answer ncclInProgress a few times, also when the work is done at once.
 */
#include "tests/hostcuda/hostcuda_nccl.h"

#include <chrono>

using hostcuda::broken;
using namespace hostcuda::nccl;

namespace
{

constexpr char ID_MARK[8] = { 'h', 'o', 's', 't', 'n', 'c', 'c', 'l' };
constexpr auto LONGEST_WAIT = std::chrono::seconds(60); // of calls that block

struct mark_and_number {
    char mark[8];
    uint64_t number;
};

hostcuda::live_set<ncclComm> handles;
std::map<const ncclComm *, std::shared_ptr<ncclComm>> comms;
std::map<uint64_t, std::shared_ptr<clique>> meetings; // by number, until all ranks have come
uint64_t last_number;

std::shared_ptr<clique> make_clique(int size)
{
    const std::shared_ptr<clique> c = std::make_shared<clique>();

    c->size = size;
    c->members.resize(static_cast<size_t>(size));
    c->joined.resize(static_cast<size_t>(size));
    c->finalized.resize(static_cast<size_t>(size));
    return c;
}

bool all_of(const std::vector<bool> &flags)
{
    for (const bool flag : flags)
        if (!flag)
            return false;
    return true;
}

// A rank joins; the rule that it breaks, or nothing. The mutex is held.
std::string join(const std::shared_ptr<clique> &c, const std::shared_ptr<ncclComm> &comm, int size)
{
    const size_t rank = static_cast<size_t>(comm->rank);

    if (c->size != size)
        return "one rank says " + std::to_string(c->size) + " ranks, another " + std::to_string(size);
    if (c->joined[rank])
        return "rank " + std::to_string(rank) + " comes twice";
    for (size_t r = 0; r < c->members.size(); r++)
        if (c->members[r] != nullptr && c->members[r]->device == comm->device)
            return "ranks " + std::to_string(r) + " and " + std::to_string(rank) +
                   " of one communicator are both on device " + std::to_string(comm->device);
    comm->ranks = c;
    c->members[rank] = comm;
    c->joined[rank] = true;
    return "";
}

std::shared_ptr<ncclComm> make_comm(int rank, int device, bool blocking, int polls)
{
    const std::shared_ptr<ncclComm> comm = std::make_shared<ncclComm>();

    comm->rank = rank;
    comm->device = device;
    comm->blocking = blocking;
    comm->error = ncclSuccess;
    comm->polls = blocking ? 0 : polls;
    return comm;
}

// Whether the rank's part of a split can be made, and made. The mutex is held.
bool finish_split(ncclComm &comm)
{
    split_round &s = comm.ranks->splits[comm.split_index];
    const size_t me = static_cast<size_t>(comm.rank);
    int rank = 0, size = 0;

    if (!all_of(s.came))
        return false;
    ncclComm_t *out = comm.split_out;
    comm.split_out = nullptr;
    *out = nullptr;
    if (s.color[me] == NCCL_SPLIT_NOCOLOR)
        return true;
    for (size_t r = 0; r < s.color.size(); r++) {
        if (s.color[r] != s.color[me])
            continue;
        size++;
        rank += s.key[r] < s.key[me] || (s.key[r] == s.key[me] && r < me);
    }
    std::shared_ptr<clique> &part = s.parts[s.color[me]];
    if (part == nullptr)
        part = make_clique(size);
    const std::shared_ptr<ncclComm> made = make_comm(rank, comm.device, comm.blocking, 1);
    (void)join(part, made, size);
    comms[made.get()] = made;
    handles.add(made.get());
    *out = made.get();
    return true;
}

// What a communicator is doing; a poll brings it forward. The mutex is held.
ncclResult_t state_of(ncclComm &comm)
{
    if (comm.error != ncclSuccess)
        return comm.error;
    if (!all_of(comm.ranks->joined))
        return ncclInProgress;
    if (comm.split_out != nullptr && !finish_split(comm))
        return ncclInProgress;
    if (comm.finalizing && !all_of(comm.ranks->finalized))
        return ncclInProgress;
    if (comm.polls > 0) {
        comm.polls--;
        return ncclInProgress;
    }
    return ncclSuccess;
}

ncclResult_t wait_or_go(const std::shared_ptr<ncclComm> &comm, const char *call)
{
    std::unique_lock<std::mutex> lock(hostcuda::nccl::mutex);

    changed.notify_all();
    if (!comm->blocking)
        return ncclInProgress;
    if (changed.wait_for(lock, LONGEST_WAIT, [&comm] { return state_of(*comm) != ncclInProgress; }))
        return comm->error;
    lock.unlock();
    broken("%s: rank %d waits for ranks that do not come", call, comm->rank);
}

ncclResult_t init(ncclComm_t *out, int size, ncclUniqueId id, int rank, bool blocking, const char *call)
{
    const std::shared_ptr<ncclComm> comm =
        make_comm(rank, hostcuda::current_device(), blocking, static_cast<int>(hostcuda::random_below(4)));
    mark_and_number m;
    std::string problem;

    std::memcpy(&m, &id, sizeof m);
    if (std::memcmp(m.mark, ID_MARK, sizeof m.mark) != 0)
        broken("%s: the unique id was not made by ncclGetUniqueId", call);
    if (size < 1 || rank < 0 || rank >= size)
        broken("%s: rank %d of %d ranks", call, rank, size);
    {
        const std::lock_guard<std::mutex> guard(hostcuda::nccl::mutex);
        std::shared_ptr<clique> &c = meetings[m.number];
        if (c == nullptr)
            c = make_clique(size);
        problem = join(c, comm, size);
        comms[comm.get()] = comm;
        *out = comm.get();
    }
    if (!problem.empty())
        broken("%s: %s", call, problem.c_str());
    handles.add(comm.get());
    return wait_or_go(comm, call);
}

// Takes a communicator out of everything; the mutex is held.
void forget(ncclComm &comm)
{
    withdraw(comm);
    comm.ranks->members[static_cast<size_t>(comm.rank)].reset();
    comm.ranks->finalized[static_cast<size_t>(comm.rank)] = true;
}

std::string why_not_destroyed(const ncclComm &comm)
{
    if (comm.queued > 0)
        return std::to_string(comm.queued) + " of its operations are queued and not done";
    for (const std::weak_ptr<step> &s : comm.captured)
        if (!s.expired())
            return "a captured graph still holds its operations";
    for (const auto &[pair, sends] : comm.ranks->sends)
        if (pair.second == comm.rank && !sends.empty())
            return "NCCL group mismatch: rank " + std::to_string(pair.first) + " sends and rank " +
                   std::to_string(comm.rank) + " never receives";
    for (const auto &[pair, receives] : comm.ranks->receives)
        if (pair.first == comm.rank && !receives.empty())
            return "NCCL group mismatch: rank " + std::to_string(pair.second) + " receives and rank " +
                   std::to_string(comm.rank) + " never sends";
    return "";
}

} // namespace

namespace hostcuda
{
namespace nccl
{

std::shared_ptr<ncclComm> find(ncclComm_t comm, const char *call)
{
    handles.check(comm, call, "communicator (destroyed or aborted?)");
    const std::lock_guard<std::mutex> guard(mutex);
    return comms.at(comm);
}

std::shared_ptr<ncclComm> find_ready(ncclComm_t comm, const char *call)
{
    const std::shared_ptr<ncclComm> c = find(comm, call);
    bool busy = false, finalizing = false;
    {
        const std::lock_guard<std::mutex> guard(mutex);
        finalizing = c->finalizing;
        busy = c->polls > 0 || c->split_out != nullptr || !all_of(c->ranks->joined);
    }
    if (finalizing)
        broken("%s: the communicator is finalized", call);
    if (busy)
        broken("%s: the call before it is in progress: ask ncclCommGetAsyncError until it is not", call);
    return c;
}

} // namespace nccl
} // namespace hostcuda

// ---- making --------------------------------------------------------------------------------------------------------------

ncclResult_t ncclGetVersion(int *version)
{
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    mark_and_number m;

    std::memcpy(m.mark, ID_MARK, sizeof m.mark);
    {
        const std::lock_guard<std::mutex> guard(hostcuda::nccl::mutex);
        m.number = ++last_number;
    }
    std::memset(id, 0, sizeof *id);
    std::memcpy(id, &m, sizeof m);
    return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t *out, int size, ncclUniqueId id, int rank)
{
    return init(out, size, id, rank, true, "ncclCommInitRank");
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *out, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t *config)
{
    const char *call = "ncclCommInitRankConfig";

    if (config != nullptr && (config->size != sizeof *config || config->magic != 0xcafebeef))
        broken("%s: the configuration was not set by NCCL_CONFIG_INITIALIZER", call);
    return init(out, size, id, rank, config == nullptr || config->blocking != 0, call);
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *out, ncclConfig_t *)
{
    const std::shared_ptr<ncclComm> c = find_ready(comm, "ncclCommSplit");
    {
        const std::lock_guard<std::mutex> guard(hostcuda::nccl::mutex);
        const size_t size = static_cast<size_t>(c->ranks->size), me = static_cast<size_t>(c->rank);
        split_round &s = c->ranks->splits[c->num_splits];
        s.color.resize(size);
        s.key.resize(size);
        s.came.resize(size);
        s.color[me] = color;
        s.key[me] = key;
        s.came[me] = true;
        c->split_out = out;
        c->split_index = c->num_splits++;
    }
    return wait_or_go(c, "ncclCommSplit");
}

// ---- watching ------------------------------------------------------------------------------------------------------------

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
    const std::shared_ptr<ncclComm> c = find(comm, "ncclCommGetAsyncError");
    const std::lock_guard<std::mutex> guard(hostcuda::nccl::mutex);

    *error = state_of(*c);
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result)
{
    static const char *const texts[] = { "no error",
                                         "unhandled cuda error",
                                         "unhandled system error",
                                         "internal error",
                                         "invalid argument",
                                         "invalid usage",
                                         "remote process exited or there was a network error",
                                         "NCCL operation in progress" };

    return result >= 0 && result < ncclNumResults ? texts[result] : "unknown result code";
}

const char *ncclGetLastError(ncclComm_t)
{
    return "";
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int *count)
{
    *count = find(comm, "ncclCommCount")->ranks->size;
    return ncclSuccess;
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device)
{
    *device = find(comm, "ncclCommCuDevice")->device;
    return ncclSuccess;
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank)
{
    *rank = find(comm, "ncclCommUserRank")->rank;
    return ncclSuccess;
}

// ---- ending --------------------------------------------------------------------------------------------------------------

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    const std::shared_ptr<ncclComm> c = find_ready(comm, "ncclCommFinalize");
    {
        const std::lock_guard<std::mutex> guard(hostcuda::nccl::mutex);
        c->finalizing = true;
        c->ranks->finalized[static_cast<size_t>(c->rank)] = true;
    }
    return wait_or_go(c, "ncclCommFinalize");
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    const std::shared_ptr<ncclComm> c = find(comm, "ncclCommDestroy");
    std::string problem;
    {
        const std::lock_guard<std::mutex> guard(hostcuda::nccl::mutex);
        problem = why_not_destroyed(*c);
    }
    if (!problem.empty())
        broken("ncclCommDestroy: %s", problem.c_str());
    handles.remove(comm, "ncclCommDestroy", "communicator");
    const std::lock_guard<std::mutex> guard(hostcuda::nccl::mutex);
    c->aborted = true;
    forget(*c);
    comms.erase(comm);
    changed.notify_all();
    return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    const std::shared_ptr<ncclComm> c = find(comm, "ncclCommAbort");

    handles.remove(comm, "ncclCommAbort", "communicator");
    const std::lock_guard<std::mutex> guard(hostcuda::nccl::mutex);
    c->aborted = true;
    forget(*c);
    comms.erase(comm);
    changed.notify_all();
    return ncclSuccess;
}
