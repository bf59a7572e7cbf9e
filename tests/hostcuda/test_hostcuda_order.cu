/* SPDX-License-Identifier: Apache-2.0 */
/* Streams, events and graphs of the stand-in: programs whose order is right give the answer of the plain order for every seed,
 * and what the vendor's rules forbid while a stream captures is answered by its error.
 */
#include "tests/hostcuda/hostcuda_test.h"

#include <memory>
#include <random>
#include <thread>

enum { STREAMS = 4, BUFFERS = 6, N = 100, OPS = 60 };

/* y = 2 y + x + 1, so that order matters. */
static __global__ void mingle(float *y, const float *x)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < N) {
        const float sum = 2.0F * y[i] + x[i] + 1.0F;
        y[i] = sum - 97.0F * floorf(sum / 97.0F);
    }
}

struct op {
    int stream, to, from;
};

static std::vector<op> draw_ops(uint64_t seed)
{
    std::mt19937 rng((unsigned)seed);
    std::vector<op> ops;
    for (int i = 0; i < OPS; i++)
        ops.push_back({ (int)(rng() % STREAMS), (int)(rng() % BUFFERS), (int)(rng() % BUFFERS) });
    return ops;
}

static std::vector<float> plain_order(const std::vector<op> &ops, int rounds)
{
    std::vector<float> values(BUFFERS, 0.0F);
    for (int r = 0; r < rounds; r++)
        for (const op &o : ops) {
            const float sum = 2.0F * values[(size_t)o.to] + values[(size_t)o.from] + 1.0F;
            values[(size_t)o.to] = sum - 97.0F * floorf(sum / 97.0F);
        }
    return values;
}

/* Streams wait for the newest writer of what they read, and for all users of what they write. */
struct ordered_program {
    std::vector<cudaStream_t> streams;
    std::vector<float *> buffers;
    std::vector<cudaEvent_t> written;
    std::vector<std::vector<cudaEvent_t>> read;
    std::vector<cudaEvent_t> all;
};

static void make_program(ordered_program *p)
{
    for (int i = 0; i < STREAMS; i++)
        p->streams.push_back(new_stream());
    for (int i = 0; i < BUFFERS; i++) {
        p->buffers.push_back(new_floats(N));
        OK(cudaMemset(p->buffers.back(), 0, N * sizeof(float)));
    }
    p->written.resize(BUFFERS, nullptr);
    p->read.resize(BUFFERS);
}

static void queue_op(ordered_program *p, const op &o)
{
    const cudaStream_t s = p->streams[(size_t)o.stream];
    const cudaLaunchConfig_t c = grid_of(s, 4, 32);
    for (int b : { o.to, o.from })
        if (p->written[(size_t)b] != nullptr)
            OK(cudaStreamWaitEvent(s, p->written[(size_t)b], 0));
    for (cudaEvent_t e : p->read[(size_t)o.to])
        OK(cudaStreamWaitEvent(s, e, 0));
    OK(cudaLaunchKernelEx(&c, mingle, p->buffers[(size_t)o.to], p->buffers[(size_t)o.from]));
    const cudaEvent_t done = new_event();
    OK(cudaEventRecord(done, s));
    p->written[(size_t)o.to] = done;
    p->read[(size_t)o.to].clear();
    p->read[(size_t)o.from].push_back(done);
    p->all.push_back(done);
}

static void check_values(ordered_program *p, const std::vector<float> &wanted)
{
    for (int i = 0; i < BUFFERS; i++)
        CHECK_EQUAL(read_float(p->buffers[(size_t)i] + N - 1, p->streams[0]), wanted[(size_t)i]);
}

static void any_order_gives_the_plain_answer()
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        start(seed);
        ordered_program p;
        make_program(&p);
        const std::vector<op> ops = draw_ops(seed);
        for (const op &o : ops)
            queue_op(&p, o);
        for (cudaStream_t s : p.streams)
            OK(cudaStreamSynchronize(s));
        check_values(&p, plain_order(ops, 1));
    }
}

static void captured_it_gives_the_same()
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        start(seed);
        ordered_program p;
        cudaGraph_t graph;
        cudaGraphExec_t exec;
        make_program(&p);
        const std::vector<op> ops = draw_ops(seed);
        OK(cudaStreamBeginCapture(p.streams[0], cudaStreamCaptureModeThreadLocal));
        const cudaEvent_t fork = new_event();
        OK(cudaEventRecord(fork, p.streams[0]));
        for (cudaStream_t s : p.streams)
            OK(cudaStreamWaitEvent(s, fork, 0));
        for (const op &o : ops)
            queue_op(&p, o);
        for (cudaEvent_t e : p.all)
            OK(cudaStreamWaitEvent(p.streams[0], e, 0));
        OK(cudaStreamEndCapture(p.streams[0], &graph));
        OK(cudaGraphInstantiate(&exec, graph, 0));
        for (int round = 0; round < 3; round++)
            OK(cudaGraphLaunch(exec, p.streams[0]));
        check_values(&p, plain_order(ops, 3));
        hostcuda_counts counts;
        hostcuda_get_counts(&counts);
        CHECK_EQUAL(counts.graph_launches, 3);
        CHECK_EQUAL(counts.launches, 0);
        OK(cudaGraphExecDestroy(exec));
        OK(cudaGraphDestroy(graph));
    }
}

/* Two launches of one graph on two streams never overlap: here each adds 1 in two steps. */
static __global__ void load(float *old, const float *x)
{
    *old = *x;
}
static __global__ void store(float *x, const float *old)
{
    *x = *old + 1.0F;
}

static void launches_of_a_graph_do_not_overlap()
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        start(seed);
        cudaStream_t a = new_stream(), b = new_stream();
        float *x = new_floats(1), *old = new_floats(1);
        cudaGraph_t graph;
        cudaGraphExec_t exec;
        OK(cudaMemset(x, 0, sizeof(float)));
        OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
        const cudaLaunchConfig_t c = grid_of(a, 1, 1);
        OK(cudaLaunchKernelEx(&c, load, old, x));
        OK(cudaLaunchKernelEx(&c, store, x, old));
        OK(cudaStreamEndCapture(a, &graph));
        OK(cudaGraphInstantiate(&exec, graph, 0));
        for (int i = 0; i < 5; i++)
            OK(cudaGraphLaunch(exec, i % 2 == 0 ? a : b));
        OK(cudaDeviceSynchronize());
        CHECK_EQUAL(read_float(x, a), 5);
    }
}

/* ---- what a capture forbids ---- */
static void forbidden_calls_end_a_capture()
{
    start(1);
    cudaStream_t a = new_stream();
    cudaGraph_t graph = nullptr;
    void *p;
    enum cudaStreamCaptureStatus status;
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    CHECK_EQUAL(cudaStreamSynchronize(a), cudaErrorStreamCaptureUnsupported);
    OK(cudaStreamIsCapturing(a, &status));
    CHECK_EQUAL(status, cudaStreamCaptureStatusInvalidated);
    CHECK_EQUAL(cudaStreamEndCapture(a, &graph), cudaErrorStreamCaptureInvalidated);
    CHECK(graph == nullptr);

    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    CHECK_EQUAL(cudaStreamQuery(a), cudaErrorStreamCaptureUnsupported);
    CHECK_EQUAL(cudaStreamEndCapture(a, &graph), cudaErrorStreamCaptureInvalidated);

    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    CHECK_EQUAL(cudaMalloc(&p, 64), cudaErrorStreamCaptureUnsupported);
    CHECK_EQUAL(cudaStreamEndCapture(a, &graph), cudaErrorStreamCaptureInvalidated);

    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    CHECK_EQUAL(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
    CHECK_EQUAL(cudaStreamEndCapture(a, &graph), cudaErrorStreamCaptureInvalidated);

    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed));
    OK(cudaMalloc(&p, 64));
    OK(cudaStreamEndCapture(a, &graph));
    OK(cudaGraphDestroy(graph));
    CHECK_EQUAL(cudaGetLastError(), cudaErrorStreamCaptureInvalidated);
    OK(cudaGetLastError());
}

static void forks_must_join()
{
    start(1);
    cudaStream_t a = new_stream(), b = new_stream();
    cudaEvent_t fork = new_event(), outside = new_event();
    float *x = new_floats(1);
    cudaGraph_t graph = nullptr;
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    OK(cudaEventRecord(fork, a));
    OK(cudaStreamWaitEvent(b, fork, 0));
    OK(cudaMemsetAsync(x, 0, sizeof(float), b));
    CHECK_EQUAL(cudaEventQuery(fork), cudaErrorCapturedEvent);
    CHECK_EQUAL(cudaStreamEndCapture(a, &graph), cudaErrorStreamCaptureUnjoined);

    OK(cudaMemsetAsync(x, 0, sizeof(float), b)); /* b is free again */
    OK(cudaEventRecord(outside, b));
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    CHECK_EQUAL(cudaStreamWaitEvent(a, outside, 0), cudaErrorStreamCaptureIsolation);
    CHECK_EQUAL(cudaStreamEndCapture(a, &graph), cudaErrorStreamCaptureInvalidated);
    CHECK_EQUAL(cudaStreamEndCapture(a, &graph), cudaErrorStreamCaptureUnmatched);
    OK(cudaStreamSynchronize(b));
}

static void another_thread_may_not_end_it()
{
    start(1);
    cudaStream_t a = new_stream();
    cudaGraph_t graph = nullptr;
    cudaError_t e = cudaSuccess;
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    std::thread other([&] {
        void *p;
        OK(cudaMalloc(&p, 64)); /* only the thread that captures is restricted */
        e = cudaStreamEndCapture(a, &graph);
    });
    other.join();
    CHECK_EQUAL(e, cudaErrorStreamCaptureWrongThread);
}

/* ---- queries, events ---- */
static void queries_come_to_an_end()
{
    int not_ready = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        start(seed);
        cudaStream_t a = new_stream();
        cudaEvent_t e = new_event();
        float *x = new_floats(N);
        for (int i = 0; i < 10; i++)
            OK(cudaMemsetAsync(x, 0, sizeof(float), a));
        OK(cudaEventRecord(e, a));
        while (cudaStreamQuery(a) == cudaErrorNotReady)
            not_ready++;
        while (cudaEventQuery(e) == cudaErrorNotReady)
            not_ready++;
        OK(cudaGetLastError());
    }
    CHECK(not_ready >= 5);
}

static void events_measure_time()
{
    start(1);
    cudaStream_t a = new_stream();
    cudaEvent_t from, to;
    float ms = -1, *x = new_floats(N);
    OK(cudaEventCreate(&from));
    OK(cudaEventCreate(&to));
    OK(cudaEventRecord(from, a));
    OK(cudaMemsetAsync(x, 0, sizeof(float), a));
    OK(cudaEventRecord(to, a));
    OK(cudaEventSynchronize(to));
    OK(cudaEventElapsedTime(&ms, from, to));
    CHECK(ms >= 0);
    CHECK_EQUAL(cudaEventElapsedTime(&ms, from, new_event()), cudaErrorInvalidResourceHandle);
    OK(cudaEventSynchronize(new_event())); /* never recorded: nothing to wait for */
}

/* ---- seeds ---- */
static std::string order_of_work(uint64_t seed)
{
    start(seed);
    auto order = std::make_shared<std::string>();
    std::vector<cudaStream_t> streams;
    for (int i = 0; i < STREAMS; i++)
        streams.push_back(new_stream());
    for (int i = 0; i < 20; i++)
        OK(hostcuda::enqueue(
            streams[(size_t)(i % STREAMS)],
            { "note", [=] { return *order += (char)('a' + i), hostcuda::result::done; }, false }));
    OK(cudaDeviceSynchronize());
    return *order;
}

static void a_seed_repeats_its_order()
{
    int others = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        const std::string first = order_of_work(seed);
        CHECK_EQUAL(first.size(), 20);
        CHECK(order_of_work(seed) == first);
        others += order_of_work(seed + 100) != first;
    }
    CHECK_EQUAL(others, 20);
    setenv("HOSTCUDA_EAGER", "1", 1);
    CHECK(order_of_work(7) == "abcdefghijklmnopqrst");
    unsetenv("HOSTCUDA_EAGER");
}

static void default_streams_are_refused()
{
    start(1);
    CHECK_BROKEN(
        [](void *) {
            float *x = new_floats(N);
            cudaMemsetAsync(x, 0, 4, nullptr);
        },
        nullptr, "cudaMemsetAsync", "default stream");
}

/* Two devices, a thread each: ones go round in a ring of peer copies. */
static void pass_on(int device, float *mine, float *other, std::vector<cudaEvent_t> *events, cudaStream_t s)
{
    OK(cudaSetDevice(device));
    OK(cudaMemcpyPeerAsync(other, 1 - device, mine, device, N * sizeof(float), s));
    OK(cudaEventRecord((*events)[(size_t)device], s));
    OK(cudaStreamSynchronize(s));
}

static void threads_have_devices_of_their_own()
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        start(seed, "16M,8M");
        float *from[2], *to[2];
        cudaStream_t streams[2];
        std::vector<cudaEvent_t> events(2);
        for (int d = 0; d < 2; d++) {
            OK(cudaSetDevice(d));
            streams[d] = new_stream();
            events[(size_t)d] = new_event();
            from[d] = new_floats(N);
            to[d] = new_floats(N);
            const cudaLaunchConfig_t c = grid_of(streams[d], 4, 32);
            OK(cudaMemset(from[d], 0, N * sizeof(float)));
            OK(cudaMemset(to[d], 0, N * sizeof(float)));
            OK(cudaLaunchKernelEx(&c, mingle, from[d], from[d]));
        }
        std::thread zero(pass_on, 0, from[0], to[1], &events, streams[0]);
        std::thread one(pass_on, 1, from[1], to[0], &events, streams[1]);
        zero.join();
        one.join();
        for (int d = 0; d < 2; d++) {
            OK(cudaSetDevice(d));
            CHECK_EQUAL(read_float(to[d], streams[d]), 1);
        }
    }
}

/* A stream waits for another device's event, whose thread never waits itself. */
static void waiting_helps_other_devices()
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        start(seed, "16M,8M");
        OK(cudaSetDevice(1));
        cudaStream_t b = new_stream();
        cudaEvent_t done = new_event();
        float *x = new_floats(N);
        OK(cudaMemsetAsync(x, 0, N * sizeof(float), b));
        OK(cudaEventRecord(done, b));
        OK(cudaSetDevice(0));
        cudaStream_t a = new_stream();
        float *y = new_floats(N);
        OK(cudaStreamWaitEvent(a, done, 0));
        OK(cudaMemcpyPeerAsync(y, 0, x, 1, N * sizeof(float), a));
        CHECK_EQUAL(read_float(y, a), 0);
    }
}

int main(int argc, char **argv)
{
#define TEST(name)                                                                                           \
    {                                                                                                        \
#name, name                                                                                          \
    }
    return run_tests({ TEST(any_order_gives_the_plain_answer), TEST(captured_it_gives_the_same),
                       TEST(launches_of_a_graph_do_not_overlap), TEST(forbidden_calls_end_a_capture),
                       TEST(forks_must_join), TEST(another_thread_may_not_end_it),
                       TEST(queries_come_to_an_end), TEST(events_measure_time),
                       TEST(a_seed_repeats_its_order), TEST(default_streams_are_refused),
                       TEST(threads_have_devices_of_their_own), TEST(waiting_helps_other_devices) },
                     argc > 1 ? argv[1] : nullptr);
}
