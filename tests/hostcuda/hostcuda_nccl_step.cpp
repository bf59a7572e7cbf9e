/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in for NCCL: what a queued step does. It posts its halves once, looks for the others', and is done when all have
 * come. Receiving memory holds nonsense in between. Sums go around a ring that starts at another rank for each stretch of
 * elements, so they round differently than sums in rank order, the same way each time.
 *
 * Ranks that wait for each other in a circle will never go on: that is a broken rule (another order of calls on one rank, a send
 * without its receive). A rank that waits for one which has not come yet just waits.
 */
#include "tests/hostcuda/hostcuda_nccl.h"

#include <algorithm>
#include <cstdlib>

namespace hostcuda
{
namespace nccl
{

std::mutex mutex;
std::condition_variable changed;

namespace
{

bool is_collective(kind k)
{
    return k == kind::all_reduce || k == kind::broadcast;
}

const char *name_of(kind k)
{
    switch (k) {
    case kind::send:
        return "ncclSend";
    case kind::receive:
        return "ncclRecv";
    case kind::all_reduce:
        return "ncclAllReduce";
    default:
        return "ncclBroadcast";
    }
}

std::string describe(const operation &op)
{
    std::string text = name_of(op.what);

    text += "(" + std::to_string(op.count) + " of type " + std::to_string(op.type);
    if (op.what == kind::all_reduce)
        return text + ", operation " + std::to_string(op.reduction) + ")";
    return text + (is_collective(op.what) ? ", root " : ", peer ") + std::to_string(op.peer) + ")";
}

bool same_collective(const operation &a, const operation &b)
{
    return a.what == b.what && a.count == b.count && a.type == b.type && a.reduction == b.reduction &&
           (a.what != kind::broadcast || a.peer == b.peer);
}

// ---- arithmetic ----------------------------------------------------------------------------------------------------------

template <class T> T reduce_two(T a, T b, ncclRedOp_t op)
{
    if (op == ncclMin)
        return b < a ? b : a;
    if (op == ncclMax)
        return a < b ? b : a;
    return static_cast<T>(a + b);
}

template <class T> void reduce_all(const collective &c, const operation &op, void *out)
{
    const size_t ranks = c.halves.size();

    for (size_t i = 0; i < op.count; i++) {
        const size_t first = (i * ranks) / op.count;
        T value = reinterpret_cast<const T *>(c.halves[first]->content.data())[i];
        for (size_t r = 1; r < ranks; r++)
            value = reduce_two(value,
                               reinterpret_cast<const T *>(c.halves[(first + r) % ranks]->content.data())[i],
                               op.reduction);
        static_cast<T *>(out)[i] = value;
    }
}

void finish_collective(const collective &c, const operation &op)
{
    if (op.what == kind::broadcast) {
        if (op.count > 0)
            std::memcpy(op.receive, c.halves[static_cast<size_t>(op.peer)]->content.data(), bytes_of(op));
        return;
    }
    switch (op.type) {
    case ncclFloat32:
        return reduce_all<float>(c, op, op.receive);
    case ncclFloat64:
        return reduce_all<double>(c, op, op.receive);
    case ncclInt32:
        return reduce_all<int32_t>(c, op, op.receive);
    case ncclInt64:
        return reduce_all<int64_t>(c, op, op.receive);
    default:
        return reduce_all<uint8_t>(c, op, op.receive);
    }
}

// ---- posting and matching ------------------------------------------------------------------------------------------------

std::pair<int, int> pair_of(const ncclComm &comm, const operation &op)
{
    return op.what == kind::send ? std::make_pair(comm.rank, op.peer) : std::make_pair(op.peer, comm.rank);
}

// Copies what goes out, before anything that comes in is spoilt: they may be the same memory.
std::vector<std::shared_ptr<half>> make_halves(const ncclComm &comm, const step &s)
{
    std::vector<std::shared_ptr<half>> halves;

    for (const operation &op : s.operations) {
        std::shared_ptr<half> h = std::make_shared<half>();
        h->op = op;
        h->matched = false;
        if (op.what != kind::receive && op.count > 0 &&
            (op.what != kind::broadcast || op.peer == comm.rank)) {
            const char *from = static_cast<const char *>(op.send);
            h->content.assign(from, from + bytes_of(op));
        }
        halves.push_back(h);
    }
    for (const operation &op : s.operations)
        if (op.receive != nullptr)
            scribble(op.receive, bytes_of(op));
    return halves;
}

std::string post_collective(ncclComm &comm, const std::shared_ptr<half> &h, uint64_t round)
{
    clique &ranks = *comm.ranks;
    collective &c = ranks.rounds[round];

    c.halves.resize(static_cast<size_t>(ranks.size));
    c.halves[static_cast<size_t>(comm.rank)] = h;
    for (size_t r = 0; r < c.halves.size(); r++)
        if (c.halves[r] != nullptr && !same_collective(c.halves[r]->op, h->op))
            return "NCCL group mismatch: collective call " + std::to_string(round) + " is " +
                   describe(h->op) + " on rank " + std::to_string(comm.rank) + " and " +
                   describe(c.halves[r]->op) + " on rank " + std::to_string(r);
    return "";
}

std::string match(clique &ranks, std::pair<int, int> pair)
{
    std::deque<std::shared_ptr<half>> &sends = ranks.sends[pair], &receives = ranks.receives[pair];

    while (!sends.empty() && !receives.empty()) {
        half &from = *sends.front(), &to = *receives.front();
        if (from.op.count != to.op.count || from.op.type != to.op.type)
            return "NCCL group mismatch: rank " + std::to_string(pair.first) + " calls " + describe(from.op) +
                   ", rank " + std::to_string(pair.second) + " calls " + describe(to.op);
        to.content = std::move(from.content);
        from.matched = to.matched = true;
        sends.pop_front();
        receives.pop_front();
    }
    return "";
}

std::string post(ncclComm &comm, const std::shared_ptr<step> &s, std::vector<std::shared_ptr<half>> halves)
{
    clique &ranks = *comm.ranks;
    std::string problem;

    comm.running = s;
    comm.halves = std::move(halves);
    comm.rounds.clear();
    for (const std::shared_ptr<half> &h : comm.halves) {
        if (is_collective(h->op.what)) {
            comm.rounds.push_back(comm.num_rounds);
            problem = post_collective(comm, h, comm.num_rounds++);
        } else {
            const std::pair<int, int> pair = pair_of(comm, h->op);
            (h->op.what == kind::send ? ranks.sends : ranks.receives)[pair].push_back(h);
            problem = match(ranks, pair);
        }
        if (!problem.empty())
            return problem;
    }
    return "";
}

// ---- who waits for whom --------------------------------------------------------------------------------------------------

// The ranks that a running step needs and that have not posted the other half.
std::set<int> waits_for(const ncclComm &comm)
{
    std::set<int> missing;
    size_t round = 0;

    for (const std::shared_ptr<half> &h : comm.halves) {
        if (!is_collective(h->op.what)) {
            if (!h->matched)
                missing.insert(h->op.peer);
            continue;
        }
        const collective &c = comm.ranks->rounds.at(comm.rounds[round++]);
        for (size_t r = 0; r < c.halves.size(); r++)
            if (c.halves[r] == nullptr)
                missing.insert(static_cast<int>(r));
    }
    return missing;
}

// A way over running steps from `at` back to `start`, as ranks.
bool find_circle(const clique &ranks, int start, int at, std::vector<int> &way)
{
    const std::shared_ptr<ncclComm> &comm = ranks.members[static_cast<size_t>(at)];

    if (comm == nullptr || comm->running == nullptr || comm->aborted || comm->error != ncclSuccess)
        return false;
    way.push_back(at);
    for (const int next : waits_for(*comm)) {
        if (next == start)
            return true;
        if (std::find(way.begin(), way.end(), next) == way.end() && find_circle(ranks, start, next, way))
            return true;
    }
    way.pop_back();
    return false;
}

std::string find_deadlock(const ncclComm &comm)
{
    std::vector<int> way;
    std::string text;

    if (getenv("HOSTCUDA_HANG") != nullptr || !find_circle(*comm.ranks, comm.rank, comm.rank, way))
        return "";
    text = "NCCL group mismatch: ranks wait for each other:";
    for (const int rank : way)
        text += " rank " + std::to_string(rank) + " in " +
                nccl::describe(*comm.ranks->members[static_cast<size_t>(rank)]->running) + ";";
    return text;
}

// ---- the end of a step ---------------------------------------------------------------------------------------------------

bool is_complete(const ncclComm &comm)
{
    return waits_for(comm).empty();
}

void finish(ncclComm &comm)
{
    size_t round = 0;

    for (const std::shared_ptr<half> &h : comm.halves) {
        if (h->op.what == kind::receive && h->op.count > 0)
            std::memcpy(h->op.receive, h->content.data(), bytes_of(h->op));
        if (!is_collective(h->op.what))
            continue;
        const uint64_t index = comm.rounds[round++];
        collective &c = comm.ranks->rounds.at(index);
        finish_collective(c, h->op);
        if (++c.taken == comm.ranks->size)
            comm.ranks->rounds.erase(index);
    }
    comm.running.reset();
    comm.halves.clear();
    comm.rounds.clear();
}

enum class turn { ours, others, gone, failed };
turn whose_turn(const ncclComm &comm, const std::shared_ptr<step> &s)
{
    const std::lock_guard<std::mutex> guard(mutex);

    if (comm.aborted)
        return turn::gone;
    if (comm.error != ncclSuccess)
        return turn::failed;
    return comm.running == nullptr || comm.running == s ? turn::ours : turn::others;
}

// Posts the step and finishes it when it can be; answers the rule that was found broken.
std::string advance(ncclComm &comm, const std::shared_ptr<step> &s, std::vector<std::shared_ptr<half>> halves,
                    bool *done)
{
    const std::lock_guard<std::mutex> guard(mutex);

    if (comm.running == nullptr) {
        const std::string problem = post(comm, s, std::move(halves));
        if (!problem.empty())
            return problem;
    }
    *done = is_complete(comm);
    if (!*done)
        return find_deadlock(comm);
    finish(comm);
    return "";
}

} // namespace

size_t type_bytes(ncclDataType_t type)
{
    switch (type) {
    case ncclUint8:
    case ncclInt8:
        return 1;
    case ncclInt32:
    case ncclFloat32:
        return 4;
    case ncclInt64:
    case ncclFloat64:
        return 8;
    default:
        return 0;
    }
}

size_t bytes_of(const operation &op)
{
    return op.count * type_bytes(op.type);
}

std::string describe(const step &s)
{
    std::string text;

    for (size_t i = 0; i < s.operations.size() && i < 4; i++)
        text += (i > 0 ? ", " : "") + describe(s.operations[i]);
    return s.operations.size() > 4 ? text + ", ..." : text;
}

std::vector<range> ranges_of(const step &s)
{
    std::vector<range> ranges;

    for (const operation &op : s.operations) {
        if (op.send != nullptr)
            ranges.push_back({ "sendbuff", op.send, bytes_of(op), false });
        if (op.receive != nullptr)
            ranges.push_back({ "recvbuff", op.receive, bytes_of(op), true });
    }
    return ranges;
}

void withdraw(ncclComm &comm)
{
    for (const std::shared_ptr<half> &h : comm.halves) {
        if (is_collective(h->op.what) || h->matched)
            continue;
        auto &queue =
            (h->op.what == kind::send ? comm.ranks->sends : comm.ranks->receives)[pair_of(comm, h->op)];
        queue.erase(std::remove(queue.begin(), queue.end(), h), queue.end());
    }
    comm.running.reset();
    comm.halves.clear();
    comm.rounds.clear();
}

result run_step(const std::shared_ptr<ncclComm> &comm, const std::shared_ptr<step> &s)
{
    const turn t = whose_turn(*comm, s);
    std::vector<std::shared_ptr<half>> halves;
    bool done = false;

    if (t == turn::gone)
        return result::done;
    if (t != turn::ours)
        return result::again;
    if (comm->running == nullptr) { // only this work sets it now
        if (collective_fails(comm->rank)) {
            const std::lock_guard<std::mutex> guard(mutex);
            comm->error = ncclRemoteError;
            return result::again;
        }
        check_ranges(comm->device, ranges_of(*s), describe(*s).c_str());
        halves = make_halves(*comm, *s);
    }
    const std::string problem = advance(*comm, s, std::move(halves), &done);
    if (!problem.empty())
        broken("%s", problem.c_str());
    return done ? result::done : result::again;
}

} // namespace nccl
} // namespace hostcuda
