/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in for NCCL: communicators are made, watched, split and ended. Ranks are threads and processes and meet by the
 * number in their unique id. Calls that do not block answer ncclInProgress a few times, also when the work is done at once.
 */
#include "tests/hostcuda/hostcuda_nccl.h"

#include "tests/hostcuda/hostcuda_runtime.h"

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

// Whether the rank's part of a split can be made, and made. The mutex is held.
bool finish_split(ncclComm &comm)
{
    std::shared_ptr<ncclComm> part;

    if (!find_part(comm, &part))
        return false;
    *comm.split_out = part.get();
    comm.split_out = nullptr;
    if (part != nullptr) {
        comms[part.get()] = part;
        handles.add(part.get());
    }
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

// Where ranks of an id meet. The mutex is held.
std::shared_ptr<clique> meeting_of(uint64_t number, int size, ncclComm &comm)
{
    const std::shared_ptr<wire> w = wire_find(number);

    if (w == nullptr) { // nobody of that name
        comm.error = ncclRemoteError;
        return nullptr;
    }
    std::shared_ptr<clique> &c = wire_cliques(*w)[""];
    if (c == nullptr)
        c = make_clique(w, "", size);
    return c;
}

ncclResult_t init(ncclComm_t *out, int size, ncclUniqueId id, int rank, bool blocking, const char *call)
{
    const std::shared_ptr<ncclComm> comm = make_comm(rank, hostcuda::current_device());
    mark_and_number m;
    std::string problem;

    comm->blocking = blocking;
    comm->polls = blocking ? 0 : static_cast<int>(hostcuda::random_below(4));
    std::memcpy(&m, &id, sizeof m);
    if (std::memcmp(m.mark, ID_MARK, sizeof m.mark) != 0)
        broken("%s: the unique id was not made by ncclGetUniqueId", call);
    if (size < 1 || rank < 0 || rank >= size)
        broken("%s: rank %d of %d ranks", call, rank, size);
    {
        const std::lock_guard<std::mutex> guard(hostcuda::nccl::mutex);
        const bool comes = hostcuda::config().fail_init != rank;
        const std::shared_ptr<clique> c = comes ? meeting_of(m.number, size, *comm) : nullptr;
        if (c != nullptr)
            problem = join(c, comm, size);
        else
            comm->ranks = make_clique(nullptr, "", size);
        comms[comm.get()] = comm;
        *out = comm.get();
    }
    if (!problem.empty())
        broken("%s: %s", call, problem.c_str());
    handles.add(comm.get());
    return wait_or_go(comm, call);
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

void leave(const std::shared_ptr<ncclComm> &comm, bool in_peace)
{
    std::unique_lock<std::mutex> lock(hostcuda::nccl::mutex);

    if (in_peace)
        wire_flush(lock);
    comm->aborted = true;
    forget(*comm);
    comms.erase(comm.get());
    changed.notify_all();
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
        m.number = wire_number();
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
        c->split_out = out;
        begin_split(*c, color, key);
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
        finalize(*c);
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
    leave(c, true);
    return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    const std::shared_ptr<ncclComm> c = find(comm, "ncclCommAbort");

    handles.remove(comm, "ncclCommAbort", "communicator");
    leave(c, false);
    return ncclSuccess;
}
