/* SPDX-License-Identifier: Apache-2.0 */
/* Capture of streams into graphs, and their launch: the nodes of a launched graph run in a random order that their
 * dependencies allow, between the work of other streams. Two launches of one graph never overlap.
 */
#include "tests/hostcuda/hostcuda_runtime.h"

#include <algorithm>
#include <unordered_set>

namespace hostcuda
{

struct capture {
    std::shared_ptr<graph_nodes> graph = std::make_shared<graph_nodes>();
    CUstream_st *origin = nullptr;
    std::vector<CUstream_st *> streams; /* that joined */
    cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
    uint64_t id = 0;
    bool valid = true;
};

struct graph_run {
    std::shared_ptr<graph_nodes> graph;
    std::shared_ptr<std::atomic<bool>> busy; /* of the executable graph */
    std::vector<int> missing;                /* a node: how many of its dependencies are left */
    std::vector<int> ready;
    size_t left = 0;
    bool started = false;
};

double graph_seconds(const graph_run &run)
{
    double sum = 0;
    for (const graph_node &n : run.graph->nodes)
        sum += seconds_of(n.w);
    return sum;
}

/* Captures that the thread began, whose mode forbids it unsafe calls. */
static thread_local std::vector<std::weak_ptr<capture>> begun;
static std::atomic<uint64_t> next_capture{ 0 };

static cudaError_t invalidate(capture &c, cudaError_t e)
{
    c.valid = false;
    return answer(e);
}

cudaError_t refuse_captured_stream(CUstream_st *s)
{
    return invalidate(*s->capturing, cudaErrorStreamCaptureUnsupported);
}

cudaError_t refuse_capturing_thread()
{
    for (const std::weak_ptr<capture> &w : begun) {
        const std::shared_ptr<capture> c = w.lock();
        if (c && c->origin != nullptr && c->mode != cudaStreamCaptureModeRelaxed)
            return invalidate(*c, cudaErrorStreamCaptureUnsupported);
    }
    return cudaSuccess;
}

static void join_capture(CUstream_st *s, const std::shared_ptr<capture> &c)
{
    s->capturing = c;
    c->streams.push_back(s);
}

cudaError_t capture_work(CUstream_st *s, work w)
{
    capture &c = *s->capturing;
    if (!c.valid)
        return answer(cudaErrorStreamCaptureInvalidated);
    const int node = (int)c.graph->nodes.size();
    for (int after : s->tail)
        c.graph->nodes[(size_t)after].before.push_back(node);
    c.graph->nodes.push_back({ std::move(w), s->tail, {}, s->device });
    s->tail.assign(1, node);
    return cudaSuccess;
}

cudaError_t capture_record(CUstream_st *s, CUevent_st *e)
{
    if (!s->capturing->valid)
        return answer(cudaErrorStreamCaptureInvalidated);
    e->captured = s->capturing;
    e->tail = s->tail;
    return cudaSuccess;
}

cudaError_t capture_wait(CUstream_st *s, CUevent_st *e)
{
    const std::shared_ptr<capture> c = s->capturing ? s->capturing : e->captured;
    if (!c->valid)
        return answer(cudaErrorStreamCaptureInvalidated);
    if (!e->captured) {
        if (!e->newest)
            return cudaSuccess;
        return invalidate(*c, cudaErrorStreamCaptureIsolation);
    }
    if (e->captured->origin == nullptr) /* of a capture that has ended */
        return invalidate(*c, s->capturing ? cudaErrorStreamCaptureIsolation : cudaErrorCapturedEvent);
    if (s->capturing && s->capturing != e->captured) {
        s->capturing->valid = false;
        return invalidate(*e->captured, cudaErrorStreamCaptureMerge);
    }
    if (!s->capturing)
        join_capture(s, c);
    for (int node : e->tail)
        if (std::find(s->tail.begin(), s->tail.end(), node) == s->tail.end())
            s->tail.push_back(node);
    return cudaSuccess;
}

/* Every node of another stream comes before the end of the origin's. */
static bool all_joined(const capture &c)
{
    std::vector<bool> before(c.graph->nodes.size(), false);
    for (int node : c.origin->tail)
        before[(size_t)node] = true;
    for (size_t i = c.graph->nodes.size(); i-- > 0;)
        if (before[i])
            for (int node : c.graph->nodes[i].after)
                before[(size_t)node] = true;
    return std::all_of(before.begin(), before.end(), [](bool b) { return b; });
}

static void leave_capture(capture &c)
{
    for (CUstream_st *s : c.streams) {
        s->capturing.reset();
        s->tail.clear();
    }
    c.streams.clear();
    c.origin = nullptr;
}

/* ---- launches ---- */
static void start_run(graph_run &run)
{
    const std::vector<graph_node> &nodes = run.graph->nodes;
    run.missing.resize(nodes.size());
    run.left = nodes.size();
    for (size_t i = 0; i < nodes.size(); i++) {
        run.missing[i] = (int)nodes[i].after.size();
        if (run.missing[i] == 0)
            run.ready.push_back((int)i);
    }
    run.started = true;
}

static void finish_node(graph_run &run, int node)
{
    run.left--;
    for (int next : run.graph->nodes[(size_t)node].before)
        if (--run.missing[(size_t)next] == 0)
            run.ready.push_back(next);
}

result graph_step(graph_run &run, bool *out_finished)
{
    *out_finished = false;
    if (!run.started) {
        bool idle = false;
        if (!run.busy->compare_exchange_strong(idle, true))
            return result::again;
        start_run(run);
    }
    std::vector<int> candidates = run.ready;
    while (!candidates.empty()) {
        const size_t k = random_below(candidates.size());
        const int node = candidates[k];
        const result r = run_work(run.graph->nodes[(size_t)node].w, run.graph->nodes[(size_t)node].device);
        if (r == result::again) {
            candidates.erase(candidates.begin() + (long)k);
            continue;
        }
        if (r == result::lost) {
            *run.busy = false;
            return r;
        }
        run.ready.erase(std::find(run.ready.begin(), run.ready.end(), node));
        finish_node(run, node);
        break;
    }
    *out_finished = run.left == 0;
    if (*out_finished)
        *run.busy = false;
    return candidates.empty() && run.left > 0 ? result::again : result::done;
}

} // namespace hostcuda

struct CUgraph_st {
    std::shared_ptr<hostcuda::graph_nodes> nodes;
};
struct CUgraphExec_st {
    std::shared_ptr<hostcuda::graph_nodes> nodes;
    std::shared_ptr<std::atomic<bool>> busy = std::make_shared<std::atomic<bool>>(false);
};

namespace hostcuda
{

static std::mutex graphs_lock;
static std::unordered_set<CUgraph_st *> &all_graphs =
    *new std::unordered_set<CUgraph_st *>; /* never destroyed */
static std::unordered_set<CUgraphExec_st *> &all_execs = *new std::unordered_set<CUgraphExec_st *>;

template <typename T> static T *check_graph(std::unordered_set<T *> &all, T *graph, const char *call)
{
    std::lock_guard<std::mutex> hold(graphs_lock);
    if (all.count(graph) == 0)
        broken("%s: %p is not a graph, or was destroyed", call, (void *)graph);
    return graph;
}

void reset_graphs()
{
    std::lock_guard<std::mutex> hold(graphs_lock);
    for (CUgraph_st *g : all_graphs)
        delete g;
    for (CUgraphExec_st *g : all_execs)
        delete g;
    all_graphs.clear();
    all_execs.clear();
    begun.clear();
}

} // namespace hostcuda

using namespace hostcuda;

extern "C" {

cudaError_t CUDARTAPI cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    CUstream_st *s = stream_of(stream, "cudaStreamBeginCapture");
    if (s->capturing)
        return answer(cudaErrorIllegalState);
    const cudaError_t lost = device_error(s->device);
    if (lost != cudaSuccess)
        return answer(lost);
    const std::shared_ptr<capture> c = std::make_shared<capture>();
    c->origin = s;
    c->mode = mode;
    c->id = ++next_capture;
    c->graph->device = s->device;
    join_capture(s, c);
    begun.push_back(c);
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    CUstream_st *s = stream_of(stream, "cudaStreamEndCapture");
    const std::shared_ptr<capture> c = s->capturing;
    *graph = nullptr;
    if (!c || c->origin != s)
        return answer(cudaErrorStreamCaptureUnmatched);
    const bool mine = std::any_of(begun.begin(), begun.end(), [&](const auto &w) { return w.lock() == c; });
    if (!mine && c->mode != cudaStreamCaptureModeRelaxed)
        return invalidate(*c, cudaErrorStreamCaptureWrongThread);
    const bool joined = all_joined(*c);
    leave_capture(*c);
    std::shared_ptr<graph_nodes> nodes = std::move(c->graph); /* events may hold the capture, not its work */
    begun.erase(std::remove_if(begun.begin(), begun.end(),
                               [&](const auto &w) { return w.expired() || w.lock() == c; }),
                begun.end());
    if (!c->valid)
        return answer(cudaErrorStreamCaptureInvalidated);
    if (!joined)
        return answer(cudaErrorStreamCaptureUnjoined);
    std::lock_guard<std::mutex> hold(graphs_lock);
    *graph = new CUgraph_st{ std::move(nodes) };
    all_graphs.insert(*graph);
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    const CUstream_st *s = stream_of(stream, "cudaStreamIsCapturing");
    *status = !s->capturing          ? cudaStreamCaptureStatusNone
              : !s->capturing->valid ? cudaStreamCaptureStatusInvalidated
                                     : cudaStreamCaptureStatusActive;
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                               unsigned long long *id, cudaGraph_t *graph,
                                               const cudaGraphNode_t **dependencies,
                                               const cudaGraphEdgeData **edges, size_t *num_dependencies)
{
    if (graph != nullptr || dependencies != nullptr || edges != nullptr || num_dependencies != nullptr)
        broken("cudaStreamGetCaptureInfo: the stand-in answers status and id only");
    const CUstream_st *s = stream_of(stream, "cudaStreamGetCaptureInfo");
    if (id != nullptr && s->capturing)
        *id = s->capturing->id;
    return cudaStreamIsCapturing(stream, status);
}

cudaError_t CUDARTAPI cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph,
                                                    unsigned long long flags)
{
    CUgraph_st *g = check_graph(all_graphs, graph, "cudaGraphInstantiate");
    if (flags != 0)
        broken("cudaGraphInstantiate: flags %llu are not known to the stand-in", flags);
    CUgraphExec_st *e = new CUgraphExec_st;
    e->nodes = g->nodes;
    std::lock_guard<std::mutex> hold(graphs_lock);
    all_execs.insert(e);
    *exec = e;
    return answer(device_error(g->nodes->device));
}

cudaError_t CUDARTAPI cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    return cudaGraphInstantiateWithFlags(exec, graph, flags);
}

cudaError_t CUDARTAPI cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream)
{
    check_graph(all_execs, exec, "cudaGraphUpload");
    stream_of(stream, "cudaGraphUpload");
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    CUgraphExec_st *e = check_graph(all_execs, exec, "cudaGraphLaunch");
    CUstream_st *s = stream_of(stream, "cudaGraphLaunch");
    if (s->capturing)
        broken("cudaGraphLaunch: graphs inside graphs are not known to the stand-in");
    if (s->device != e->nodes->device)
        broken("cudaGraphLaunch: the graph is of device %d, the stream of device %d", e->nodes->device,
               s->device);
    const cudaError_t lost = device_error(s->device);
    if (lost != cudaSuccess)
        return answer(lost);
    counts.graph_launches++;
    if (e->nodes->nodes.empty())
        return cudaSuccess;
    const std::shared_ptr<graph_run> run = std::make_shared<graph_run>();
    run->graph = e->nodes;
    run->busy = e->busy;
    queue_item(s, { item_kind::graph, {}, nullptr, run });
    return answer(device_error(s->device));
}

cudaError_t CUDARTAPI cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    check_graph(all_execs, exec, "cudaGraphExecDestroy");
    std::lock_guard<std::mutex> hold(graphs_lock);
    all_execs.erase(exec);
    delete exec; /* launches hold what they need */
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaGraphDestroy(cudaGraph_t graph)
{
    check_graph(all_graphs, graph, "cudaGraphDestroy");
    std::lock_guard<std::mutex> hold(graphs_lock);
    all_graphs.erase(graph);
    delete graph;
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *num_nodes)
{
    if (nodes != nullptr)
        broken("cudaGraphGetNodes: the stand-in answers the number only");
    *num_nodes = check_graph(all_graphs, graph, "cudaGraphGetNodes")->nodes->nodes.size();
    return cudaSuccess;
}

} // extern "C"
