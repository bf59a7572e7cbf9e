/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in for NCCL: who belongs to a communicator. Ranks of this process join, split and leave by calls, those of other
 * processes by events, as shadows without a device or a handle. */
#include "tests/hostcuda/hostcuda_nccl.h"

#include "tests/hostcuda/hostcuda_runtime.h"

namespace hostcuda
{
namespace nccl
{

std::shared_ptr<clique> make_clique(const std::shared_ptr<wire> &by, const std::string &name, int size)
{
    const std::shared_ptr<clique> c = std::make_shared<clique>();

    c->by = by;
    c->name = name;
    c->size = size;
    c->members.resize(static_cast<size_t>(size));
    c->joined.resize(static_cast<size_t>(size));
    c->finalized.resize(static_cast<size_t>(size));
    return c;
}

std::shared_ptr<ncclComm> make_comm(int rank, int device)
{
    const std::shared_ptr<ncclComm> comm = std::make_shared<ncclComm>();

    comm->rank = rank;
    comm->device = device;
    comm->place = device < num_devices() ? config().numbers[static_cast<size_t>(device)] : device;
    comm->error = ncclSuccess;
    return comm;
}

bool all_of(const std::vector<bool> &flags)
{
    for (const bool flag : flags)
        if (!flag)
            return false;
    return true;
}

static std::string place(const std::shared_ptr<clique> &c, const std::shared_ptr<ncclComm> &comm, int size)
{
    const size_t rank = static_cast<size_t>(comm->rank);

    if (c->size != size)
        return "one rank says " + std::to_string(c->size) + " ranks, another " + std::to_string(size);
    if (c->joined[rank])
        return "rank " + std::to_string(rank) + " comes twice";
    for (size_t r = 0; r < c->members.size(); r++)
        if (c->members[r] != nullptr && c->members[r]->place == comm->place)
            return "ranks " + std::to_string(r) + " and " + std::to_string(rank) +
                   " of one communicator are both on device " + std::to_string(comm->place);
    comm->ranks = c;
    c->members[rank] = comm;
    c->joined[rank] = true;
    return "";
}

std::string join(const std::shared_ptr<clique> &c, const std::shared_ptr<ncclComm> &comm, int size)
{
    const std::string problem = place(c, comm, size);

    if (problem.empty())
        wire_tell(c->by, { event_kind::join, c->name, comm->rank, size, comm->place, 0, {} });
    return problem;
}

// ---- parts ---------------------------------------------------------------------------------------------------------------

static void note_split(clique &c, uint64_t index, int rank, int color, int key)
{
    split_round &s = c.splits[index];
    const size_t size = static_cast<size_t>(c.size), at = static_cast<size_t>(rank);

    s.color.resize(size);
    s.key.resize(size);
    s.came.resize(size);
    s.color[at] = color;
    s.key[at] = key;
    s.came[at] = true;
}

void begin_split(ncclComm &comm, int color, int key)
{
    note_split(*comm.ranks, comm.num_splits, comm.rank, color, key);
    wire_tell(comm.ranks->by,
              { event_kind::split, comm.ranks->name, comm.rank, color, key, comm.num_splits, {} });
    comm.split_index = comm.num_splits++;
}

static std::shared_ptr<clique> &clique_named(const std::shared_ptr<wire> &by, const std::string &name,
                                             int size)
{
    std::shared_ptr<clique> &c = wire_cliques(*by)[name];

    if (c == nullptr)
        c = make_clique(by, name, size);
    return c;
}

bool find_part(const ncclComm &comm, std::shared_ptr<ncclComm> *out)
{
    const split_round &s = comm.ranks->splits[comm.split_index];
    const size_t me = static_cast<size_t>(comm.rank);
    int rank = 0, size = 0;

    if (!all_of(s.came))
        return false;
    out->reset();
    if (s.color[me] == NCCL_SPLIT_NOCOLOR)
        return true;
    for (size_t r = 0; r < s.color.size(); r++) {
        if (s.color[r] != s.color[me])
            continue;
        size++;
        rank += s.key[r] < s.key[me] || (s.key[r] == s.key[me] && r < me);
    }
    *out = make_comm(rank, comm.device);
    (*out)->blocking = comm.blocking;
    (*out)->polls = comm.blocking ? 0 : 1;
    const std::string name =
        comm.ranks->name + "." + std::to_string(comm.split_index) + ":" + std::to_string(s.color[me]);
    (void)join(clique_named(comm.ranks->by, name, size), *out, size);
    return true;
}

// ---- the end -------------------------------------------------------------------------------------------------------------

void finalize(ncclComm &comm)
{
    comm.finalizing = true;
    comm.ranks->finalized[static_cast<size_t>(comm.rank)] = true;
    wire_tell(comm.ranks->by, { event_kind::finalized, comm.ranks->name, comm.rank, 0, 0, 0, {} });
}

void fail(ncclComm &comm)
{
    comm.error = ncclRemoteError;
    wire_tell(comm.ranks->by, { event_kind::failed, comm.ranks->name, comm.rank, 0, 0, 0, {} });
}

static void take_out(ncclComm &comm)
{
    withdraw(comm);
    comm.ranks->members[static_cast<size_t>(comm.rank)].reset();
    comm.ranks->finalized[static_cast<size_t>(comm.rank)] = true;
}

void forget(ncclComm &comm)
{
    take_out(comm);
    wire_tell(comm.ranks->by, { event_kind::gone, comm.ranks->name, comm.rank, 0, 0, 0, {} });
    wire_release(comm.ranks->by);
}

// The process of a rank is gone. Ranks that still need it learn of it, unless the devices' links are such that nobody would.
static void lose(clique &c, ncclComm &comm)
{
    const bool left = c.finalized[static_cast<size_t>(comm.rank)];

    withdraw(comm);
    c.members[static_cast<size_t>(comm.rank)].reset();
    for (const std::shared_ptr<ncclComm> &other : c.members)
        if (!left && !config().quiet && other != nullptr && !other->shadow && other->error == ncclSuccess)
            other->error = ncclRemoteError;
}

// ---- events of other processes -------------------------------------------------------------------------------------------

static std::string apply_to(clique &c, const std::shared_ptr<ncclComm> &comm, const event &e)
{
    switch (e.what) {
    case event_kind::post: {
        const std::shared_ptr<step> s = std::make_shared<step>();
        for (const std::shared_ptr<half> &h : e.halves)
            s->operations.push_back(h->op);
        return post(*comm, s, e.halves);
    }
    case event_kind::failed:
        comm->error = ncclRemoteError;
        return "";
    case event_kind::split:
        note_split(c, e.index, e.rank, e.first, e.second);
        return "";
    case event_kind::finalized:
        c.finalized[static_cast<size_t>(e.rank)] = true;
        return "";
    case event_kind::gone:
        comm->aborted = true;
        take_out(*comm);
        return "";
    default:
        lose(c, *comm);
        return "";
    }
}

std::string apply(const std::shared_ptr<wire> &by, const event &e)
{
    if (e.what == event_kind::join) {
        const std::shared_ptr<ncclComm> comm = make_comm(e.rank, e.second);
        comm->shadow = true;
        comm->place = e.second;
        return place(clique_named(by, e.name, e.first), comm, e.first);
    }
    const auto found = wire_cliques(*by).find(e.name);
    if (found == wire_cliques(*by).end()) // all ranks of this process have left it
        return "";
    const std::shared_ptr<clique> c = found->second;
    const std::shared_ptr<ncclComm> comm = c->members[static_cast<size_t>(e.rank)];
    return comm == nullptr ? "" : apply_to(*c, comm, e);
}

} // namespace nccl
} // namespace hostcuda
