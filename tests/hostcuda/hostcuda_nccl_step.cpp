/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in for NCCL: what a queued step does. It posts its halves once, looks for the others', and is done when all have
 * come. Receiving memory holds nonsense in between.
 *
 * Ranks that wait for each other in a circle will never go on: that is a broken rule (another order of calls on one rank, a send
 * without its receive). A rank that waits for one which has not come yet just waits. News of other processes may be late, but a
 * circle through a rank of this one is never news that is too old: each rank of it can only have gone on after the next one.
 */
#include "tests/hostcuda/hostcuda_nccl.h"

#include <algorithm>
#include <cstdlib>

namespace hostcuda
{
namespace nccl
{

std::mutex mutex;
std::condition_variable &changed =
    *new std::condition_variable; // never destroyed: another thread tells of processes

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

void forget_step(ncclComm &comm)
{
    comm.running.reset();
    comm.halves.clear();
    comm.rounds.clear();
}

void leave_rounds(ncclComm &comm)
{
    for (const uint64_t index : comm.rounds)
        if (++comm.ranks->rounds.at(index).taken == comm.ranks->size)
            comm.ranks->rounds.erase(index);
    forget_step(comm);
}

void finish(ncclComm &comm)
{
    size_t round = 0;

    for (const std::shared_ptr<half> &h : comm.halves) {
        if (h->op.what == kind::receive && h->op.count > 0)
            std::memcpy(h->op.receive, h->content.data(), bytes_of(h->op));
        if (is_collective(h->op.what))
            finish_collective(comm.ranks->rounds.at(comm.rounds[round++]), h->op);
    }
    leave_rounds(comm);
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
        wire_tell(comm.ranks->by, { event_kind::post, comm.ranks->name, comm.rank, 0, 0, 0, halves });
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

std::string post(ncclComm &comm, const std::shared_ptr<step> &s, std::vector<std::shared_ptr<half>> halves)
{
    clique &ranks = *comm.ranks;
    std::string problem;

    if (comm.running != nullptr) { // a shadow's step is over, for its rank has gone on
        if (!is_complete(comm))
            return "rank " + std::to_string(comm.rank) + " has gone on from " + describe(*comm.running) +
                   ", which is not over here";
        leave_rounds(comm);
    }
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

void withdraw(ncclComm &comm)
{
    for (const std::shared_ptr<half> &h : comm.halves) {
        if (is_collective(h->op.what) || h->matched)
            continue;
        auto &queue =
            (h->op.what == kind::send ? comm.ranks->sends : comm.ranks->receives)[pair_of(comm, h->op)];
        queue.erase(std::remove(queue.begin(), queue.end(), h), queue.end());
    }
    forget_step(comm);
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
            fail(*comm);
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
