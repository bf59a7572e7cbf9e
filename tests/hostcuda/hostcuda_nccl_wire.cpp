/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in for NCCL between processes of one machine. The process that makes a unique id listens at an abstract Unix address
 * with the id's number, of which nothing is left when it ends; the others connect to it. It passes each event on to all but the
 * sender, so everybody hears of everything in its order.
 *
 * A thread a process takes what comes and sends what did not go at once. A connection that ends tells of a process that is gone:
 * its ranks are lost to the others, unless they have left before.
 */
#include "tests/hostcuda/hostcuda_nccl.h"

#include <cerrno>
#include <chrono>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

namespace hostcuda
{
namespace nccl
{

// The way to one process, from the one that listens, or back.
struct connection {
    std::string incoming, outgoing;
    std::set<std::pair<std::string, int>>
        ranks; // behind it, as far as this process passes them on: clique, rank
};

struct wire {
    uint64_t number;
    bool listens;                          // others come to this process
    int listener;                          // -1: all have come
    std::map<int, connection> connections; // by descriptor
    std::map<std::string, std::shared_ptr<clique>> cliques;
    std::vector<std::string> joins; // of the ranks that came, for those who come later
};

namespace
{

constexpr auto FLUSH_SECONDS = std::chrono::seconds(5);

// Never destroyed: the thread outlives main.
std::map<uint64_t, std::shared_ptr<wire>> &wires = *new std::map<uint64_t, std::shared_ptr<wire>>;
std::map<int, std::shared_ptr<wire>> &by_descriptor = *new std::map<int, std::shared_ptr<wire>>;
int poller = -1;
pid_t poller_of; // a process that was forked needs its own

sockaddr_un address_of(uint64_t number, socklen_t *length)
{
    sockaddr_un a = {};
    const std::string name = "hostcuda-nccl-" + std::to_string(number);

    a.sun_family = AF_UNIX;
    std::memcpy(a.sun_path + 1, name.data(), name.size()); // a leading zero: no file
    *length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    return a;
}

// ---- sending -------------------------------------------------------------------------------------------------------------

void watch(int descriptor, int how, bool also_writable)
{
    epoll_event e = {};

    e.events = EPOLLIN | (also_writable ? static_cast<uint32_t>(EPOLLOUT) : 0u);
    e.data.fd = descriptor;
    if (epoll_ctl(poller, how, descriptor, &e) != 0)
        broken("NCCL between processes: descriptor %d cannot be watched", descriptor);
}

void send_some(int descriptor, connection &c)
{
    size_t sent = 0;

    while (sent < c.outgoing.size()) {
        const ssize_t n = ::send(descriptor, c.outgoing.data() + sent, c.outgoing.size() - sent,
                                 MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN) // the reader finds the end
            sent = c.outgoing.size();
        if (n < 0)
            break;
        sent += static_cast<size_t>(n);
    }
    c.outgoing.erase(0, sent);
}

void send_bytes(int descriptor, connection &c, const std::string &bytes)
{
    const bool idle = c.outgoing.empty();
    const size_t length = bytes.size();

    c.outgoing.append(reinterpret_cast<const char *>(&length), sizeof length);
    c.outgoing += bytes;
    if (!idle)
        return;
    send_some(descriptor, c);
    if (!c.outgoing.empty())
        watch(descriptor, EPOLL_CTL_MOD, true);
}

void pass_on(wire &w, const std::string &bytes, int but)
{
    for (auto &[descriptor, c] : w.connections)
        if (descriptor != but)
            send_bytes(descriptor, c, bytes);
}

// ---- what comes ----------------------------------------------------------------------------------------------------------

void add_connection(const std::shared_ptr<wire> &w, int descriptor)
{
    w->connections[descriptor];
    by_descriptor[descriptor] = w;
    watch(descriptor, EPOLL_CTL_ADD, false);
}

bool has_ranks_here(const wire &w)
{
    for (const auto &[name, c] : w.cliques)
        for (const std::shared_ptr<ncclComm> &comm : c->members)
            if (comm != nullptr && !comm->shadow)
                return true;
    return false;
}

void close_descriptor(int descriptor)
{
    by_descriptor.erase(descriptor);
    close(descriptor); // epoll forgets it
}

void stop_listening(wire &w)
{
    if (w.listener >= 0)
        close_descriptor(w.listener);
    w.listener = -1;
}

// Once all have come, nobody else may.
void stop_when_complete(wire &w)
{
    const auto whole = w.cliques.find("");

    if (whole != w.cliques.end() && all_of(whole->second->joined))
        stop_listening(w);
}

// A process is gone: its ranks are lost.
std::string end_connection(const std::shared_ptr<wire> &w, int descriptor)
{
    std::set<std::pair<std::string, int>> lost = w->connections[descriptor].ranks;
    std::string problem;

    if (!w->listens) // whom the others were reached through
        for (const auto &[name, c] : w->cliques)
            for (const std::shared_ptr<ncclComm> &comm : c->members)
                if (comm != nullptr && comm->shadow)
                    lost.insert({ name, comm->rank });
    w->connections.erase(descriptor);
    close_descriptor(descriptor);
    for (const auto &[name, rank] : lost) {
        const event e = { event_kind::lost, name, rank, 0, 0, 0, {} };
        problem = apply(w, e);
        pass_on(*w, to_bytes(e), -1);
    }
    wire_release(w);
    return problem;
}

std::string take_event(const std::shared_ptr<wire> &w, int descriptor, const std::string &bytes)
{
    const event e = from_bytes(bytes);
    std::set<std::pair<std::string, int>> &ranks = w->connections[descriptor].ranks;

    if (w->listens && e.what == event_kind::join)
        ranks.insert({ e.name, e.rank });
    if (w->listens && e.what == event_kind::gone)
        ranks.erase({ e.name, e.rank });
    if (e.what == event_kind::join && e.name.empty())
        w->joins.push_back(bytes);
    pass_on(*w, bytes, descriptor); // those who do not listen have nobody else
    const std::string problem = apply(w, e);
    stop_when_complete(*w);
    return problem;
}

std::string take_events(const std::shared_ptr<wire> &w, int descriptor)
{
    std::string &in = w->connections[descriptor].incoming, problem;
    size_t at = 0, length = 0;

    while (problem.empty() && in.size() - at >= sizeof length) {
        std::memcpy(&length, in.data() + at, sizeof length);
        if (in.size() - at - sizeof length < length)
            break;
        problem = take_event(w, descriptor, in.substr(at + sizeof length, length));
        at += sizeof length + length;
    }
    in.erase(0, at);
    return problem;
}

std::string read_some(const std::shared_ptr<wire> &w, int descriptor)
{
    char piece[1 << 16];
    ssize_t n = 0;

    while ((n = recv(descriptor, piece, sizeof piece, MSG_DONTWAIT)) > 0)
        w->connections[descriptor].incoming.append(piece, static_cast<size_t>(n));
    const bool over = n == 0 || (errno != EAGAIN && errno != EINTR);
    const std::string problem = take_events(w, descriptor);
    return problem.empty() && over ? end_connection(w, descriptor) : problem;
}

void accept_one(const std::shared_ptr<wire> &w)
{
    const int descriptor = accept4(w->listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (descriptor < 0)
        return;
    add_connection(w, descriptor);
    for (const std::string &join : w->joins)
        send_bytes(descriptor, w->connections[descriptor], join);
}

// The rule that was found broken, or nothing.
std::string serve(const epoll_event &e)
{
    const std::lock_guard<std::mutex> guard(nccl::mutex);
    const auto found = by_descriptor.find(e.data.fd);
    std::string problem;

    if (found == by_descriptor.end())
        return "";
    const std::shared_ptr<wire> w = found->second;
    if (e.data.fd == w->listener) {
        accept_one(w);
        return "";
    }
    if ((e.events & EPOLLOUT) != 0) {
        connection &c = w->connections[e.data.fd];
        send_some(e.data.fd, c);
        watch(e.data.fd, EPOLL_CTL_MOD, !c.outgoing.empty());
    }
    if ((e.events & ~static_cast<uint32_t>(EPOLLOUT)) != 0)
        problem = read_some(w, e.data.fd);
    changed.notify_all();
    return problem;
}

void serve_always(int of)
{
    for (;;) {
        epoll_event e = {};

        if (epoll_wait(of, &e, 1, -1) <= 0)
            continue;
        const std::string problem = serve(e);
        if (!problem.empty())
            broken("%s", problem.c_str());
    }
}

void start_thread(void)
{
    if (poller >= 0 && poller_of == getpid())
        return;
    wires.clear(); // another process' own
    by_descriptor.clear();
    poller_of = getpid();
    poller = epoll_create1(EPOLL_CLOEXEC);
    if (poller < 0)
        broken("NCCL between processes: nothing to wait with");
    std::thread(serve_always, poller).detach();
}

std::shared_ptr<wire> add_wire(uint64_t number)
{
    const std::shared_ptr<wire> w = std::make_shared<wire>();

    w->number = number;
    w->listener = -1;
    wires[number] = w;
    return w;
}

} // namespace

// ---- making and ending -----------------------------------------------------------------------------------------------------

uint64_t wire_number(void)
{
    uint64_t number = 0;
    socklen_t length = 0;
    const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    start_thread();
    if (getrandom(&number, sizeof number, 0) != sizeof number)
        broken("NCCL between processes: no random number");
    const sockaddr_un a = address_of(number, &length);
    if (descriptor < 0 || bind(descriptor, reinterpret_cast<const sockaddr *>(&a), length) != 0 ||
        listen(descriptor, 64) != 0)
        broken("NCCL between processes: cannot listen: %s", strerror(errno));
    const std::shared_ptr<wire> w = add_wire(number);
    w->listens = true;
    w->listener = descriptor;
    by_descriptor[descriptor] = w;
    watch(descriptor, EPOLL_CTL_ADD, false);
    return number;
}

std::shared_ptr<wire> wire_find(uint64_t number)
{
    socklen_t length = 0;

    start_thread();
    const auto found = wires.find(number);
    if (found != wires.end())
        return found->second;
    const sockaddr_un a = address_of(number, &length);
    const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0)
        return nullptr;
    if (connect(descriptor, reinterpret_cast<const sockaddr *>(&a), length) != 0) {
        close(descriptor);
        return nullptr;
    }
    const std::shared_ptr<wire> w = add_wire(number);
    add_connection(w, descriptor);
    return w;
}

std::map<std::string, std::shared_ptr<clique>> &wire_cliques(wire &w)
{
    return w.cliques;
}

void wire_tell(const std::shared_ptr<wire> &w, const event &e)
{
    if (w == nullptr)
        return;
    const bool first = e.what == event_kind::join && e.name.empty();
    if (w->connections.empty() && !(first && w->listens))
        return;
    const std::string bytes = to_bytes(e);
    if (first)
        w->joins.push_back(bytes);
    pass_on(*w, bytes, -1);
    stop_when_complete(*w);
}

static void drop(clique &c)
{
    for (std::shared_ptr<ncclComm> &comm : c.members) // shadows, which hold it
        comm.reset();
}

void wire_release(const std::shared_ptr<wire> &w)
{
    if (w == nullptr)
        return;
    for (auto at = w->cliques.begin(); at != w->cliques.end();) {
        bool alive = false;
        for (const std::shared_ptr<ncclComm> &comm : at->second->members)
            alive = alive || comm != nullptr;
        at = alive || !all_of(at->second->joined) ? std::next(at) : w->cliques.erase(at);
    }
    if (has_ranks_here(*w) || (w->listens && !w->connections.empty()))
        return;
    stop_listening(*w);
    while (!w->connections.empty()) {
        const int descriptor = w->connections.begin()->first;
        w->connections.erase(descriptor);
        close_descriptor(descriptor);
    }
    for (const auto &[name, c] : w->cliques)
        drop(*c);
    w->cliques.clear(); // they hold the wire
    wires.erase(w->number);
}

void wire_flush(std::unique_lock<std::mutex> &lock)
{
    changed.wait_for(lock, FLUSH_SECONDS, [] {
        for (const auto &[number, w] : wires)
            for (const auto &[descriptor, c] : w->connections)
                if (!c.outgoing.empty())
                    return false;
        return true;
    });
}

} // namespace nccl
} // namespace hostcuda
