/* SPDX-License-Identifier: Apache-2.0 */
/* Devices, memory and copies of the stand-in, the checks of their arguments, counts, and injected failures. */
#include "tests/hostcuda/hostcuda_test.h"

#include <csignal>
#include <memory>

static const size_t N = 1000;

static hostcuda_counts counts_now()
{
    hostcuda_counts c;
    hostcuda_get_counts(&c);
    return c;
}

static void devices_are_as_set()
{
    start(1, "64M,1M,3K");
    int count = 0, device = -1, value = 0;
    size_t free_bytes = 0, total = 0;
    struct cudaDeviceProp prop;
    OK(cudaGetDeviceCount(&count));
    CHECK_EQUAL(count, 3);
    OK(cudaGetDevice(&device));
    CHECK_EQUAL(device, 0);
    OK(cudaSetDevice(1));
    void *p;
    OK(cudaMalloc(&p, 1000));
    OK(cudaMemGetInfo(&free_bytes, &total));
    CHECK_EQUAL(total, 1 << 20);
    CHECK_EQUAL(free_bytes, (1 << 20) - 1024);
    OK(cudaGetDeviceProperties(&prop, 2));
    CHECK_EQUAL(prop.totalGlobalMem, 3072);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 2));
    CHECK_EQUAL(value, 32);
    CHECK_EQUAL(cudaSetDevice(3), cudaErrorInvalidDevice);
    CHECK(strcmp(cudaGetErrorName(cudaErrorInvalidDevice), "cudaErrorInvalidDevice") == 0);
    CHECK_EQUAL(cudaPeekAtLastError(), cudaErrorInvalidDevice);
    CHECK_EQUAL(cudaGetLastError(), cudaErrorInvalidDevice);
    OK(cudaGetLastError());
    setenv("HOSTCUDA_DEVICES", "", 1);
    hostcuda_reset();
    CHECK_EQUAL(cudaGetDeviceCount(&count), cudaErrorNoDevice);
}

static void memory_runs_out()
{
    start(1, "64K,1M");
    void *p = nullptr, *q = nullptr;
    cudaStream_t s = new_stream();
    OK(cudaMalloc(&p, 40 << 10));
    CHECK_EQUAL(cudaMalloc(&q, 40 << 10), cudaErrorMemoryAllocation);
    CHECK(q == nullptr);
    CHECK_EQUAL(cudaMallocAsync(&q, 40 << 10, s), cudaErrorMemoryAllocation);
    OK(cudaFreeAsync(p, s));
    OK(cudaMallocAsync(&q, 40 << 10, s)); /* what is being freed makes room */
    CHECK_EQUAL(counts_now().live_bytes, 40 << 10);
    CHECK_EQUAL(counts_now().peak_bytes, 40 << 10);
    OK(cudaFree(q));
    CHECK_EQUAL(counts_now().live_allocations, 0);
    OK(cudaMalloc(&p, 0));
    CHECK(p == nullptr);
    OK(cudaFree(nullptr));
}

static void copies_go_everywhere()
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        start(seed, "1M,1M");
        cudaStream_t s = new_stream();
        std::vector<float> host(N), back(N, 0.0F);
        for (size_t i = 0; i < N; i++)
            host[i] = (float)i;
        float *a = new_floats(N), *b = new_floats(N);
        OK(cudaSetDevice(1));
        float *c = new_floats(N);
        OK(cudaSetDevice(0));
        OK(cudaMemcpyAsync(a, host.data(), N * sizeof(float), cudaMemcpyHostToDevice, s));
        host.assign(N, -1.0F); /* pageable memory was taken at the call */
        OK(cudaMemcpyAsync(b, a, N * sizeof(float), cudaMemcpyDefault, s));
        OK(cudaMemcpyPeerAsync(c, 1, b, 0, N * sizeof(float), s));
        OK(cudaMemsetAsync(b, 0, N * sizeof(float), s));
        OK(cudaMemcpy2DAsync(b, 10 * sizeof(float), c, 20 * sizeof(float), 5 * sizeof(float), 50,
                             cudaMemcpyDeviceToDevice, s));
        OK(cudaMemcpyAsync(back.data(), b, N * sizeof(float), cudaMemcpyDeviceToHost, s));
        OK(cudaStreamSynchronize(s));
        CHECK_EQUAL(back[10 * 7 + 3], 20 * 7 + 3);
        CHECK_EQUAL(back[10 * 7 + 5], 0);
        CHECK_EQUAL(counts_now().upload_bytes, N * sizeof(float));
        CHECK_EQUAL(counts_now().uploads, 1);
        CHECK_EQUAL(counts_now().downloads, 1);
    }
}

static void copies_at_once_wait_for_blocking_streams()
{
    int late = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        start(seed);
        cudaStream_t blocking, other = new_stream();
        OK(cudaStreamCreate(&blocking));
        float *a = new_floats(N), *b = new_floats(N), value = -1;
        OK(cudaMemset(b, 255, N * sizeof(float)));
        OK(cudaMemsetAsync(a, 0, N * sizeof(float), blocking));
        OK(cudaMemsetAsync(b, 0, N * sizeof(float), other));
        OK(cudaMemcpy(&value, a, sizeof value, cudaMemcpyDeviceToHost));
        CHECK_EQUAL(value, 0);
        OK(cudaMemcpy(&value, b, sizeof value, cudaMemcpyDeviceToHost));
        late += value != 0; /* NaN: the fill of the other stream had not come */
    }
    CHECK(late >= 5);
}

static void pools_and_pinned_memory()
{
    start(1);
    cudaMemPool_t pool;
    cudaStream_t s = new_stream();
    uint64_t threshold = 12345, got = 0;
    void *p, *pinned, *on_device;
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &got));
    CHECK_EQUAL(got, threshold);
    OK(cudaMallocFromPoolAsync(&p, 100, pool, s));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &got));
    CHECK_EQUAL(got, 512);
    OK(cudaHostAlloc(&pinned, 4096, cudaHostAllocPortable));
    CHECK_EQUAL(counts_now().pinned_bytes, 4096);
    struct cudaPointerAttributes about;
    OK(cudaPointerGetAttributes(&about, pinned));
    CHECK_EQUAL(about.type, cudaMemoryTypeHost);
    OK(cudaPointerGetAttributes(&about, p));
    CHECK_EQUAL(about.type, cudaMemoryTypeDevice);
    CHECK_EQUAL(about.device, 0);
    std::vector<char> own(8192);
    OK(cudaHostRegister(own.data(), own.size(), 0));
    CHECK_EQUAL(cudaHostRegister(own.data(), own.size(), 0), cudaErrorHostMemoryAlreadyRegistered);
    OK(cudaHostGetDevicePointer(&on_device, own.data() + 100, 0));
    CHECK(on_device == own.data() + 100);
    OK(cudaHostUnregister(own.data()));
    CHECK_EQUAL(cudaHostUnregister(own.data()), cudaErrorHostMemoryNotRegistered);
    OK(cudaFreeHost(pinned));
    CHECK_EQUAL(counts_now().pinned_bytes, 0);
    OK(cudaStreamSynchronize(s));
}

/* ---- broken rules ---- */
static void ranges_are_checked()
{
    start(1, "1M,1M");
    CHECK_BROKEN(
        [](void *) {
            float *a = new_floats(N);
            std::vector<float> host(N + 1);
            cudaMemcpyAsync(a, host.data(), (N + 1) * sizeof(float), cudaMemcpyHostToDevice, new_stream());
        },
        nullptr, "cudaMemcpyAsync: dst is 4004 bytes", "allocation 1 (4000 bytes");
    CHECK_BROKEN(
        [](void *) {
            float *a = new_floats(N);
            cudaMemcpyAsync(a, a + 1, 4, cudaMemcpyHostToDevice, new_stream());
        },
        nullptr, "src is byte 4 of allocation 1", "where host memory is needed");
    CHECK_BROKEN(
        [](void *) {
            std::vector<float> host(N);
            cudaMemcpyAsync(host.data(), host.data(), 4, cudaMemcpyDeviceToHost, new_stream());
        },
        nullptr, "src is", "not device memory");
    CHECK_BROKEN(
        [](void *) {
            float *a = new_floats(N);
            cudaSetDevice(1);
            cudaMemsetAsync(a, 0, 4, new_stream());
        },
        nullptr, "the call is for device 1");
    CHECK_BROKEN(
        [](void *) {
            float *a = new_floats(N);
            cudaFree(a);
            cudaMemsetAsync(a, 0, 4, new_stream());
        },
        nullptr, "which was freed");
    CHECK_BROKEN(
        [](void *) {
            float *a = new_floats(N);
            cudaFree(a + 1);
        },
        nullptr, "cudaFree", "not the start of an allocation");
    CHECK_BROKEN(
        [](void *) {
            float *a = new_floats(N);
            OK(cudaFree(a));
            cudaFree(a);
        },
        nullptr, "cudaFree", "freed already");
}

static void handles_are_checked()
{
    start(1, "1M,1M");
    CHECK_BROKEN(
        [](void *) {
            cudaStream_t s = new_stream();
            OK(cudaStreamDestroy(s));
            cudaStreamSynchronize(s);
        },
        nullptr, "cudaStreamSynchronize: stream 1 was destroyed");
    CHECK_BROKEN(
        [](void *) {
            cudaEvent_t e = new_event();
            OK(cudaEventDestroy(e));
            cudaEventRecord(e, new_stream());
        },
        nullptr, "cudaEventRecord: the event was destroyed");
    CHECK_BROKEN(
        [](void *) {
            cudaEvent_t e = new_event();
            OK(cudaSetDevice(1));
            cudaEventRecord(e, new_stream());
        },
        nullptr, "the event is of device 0, the stream of device 1");
    CHECK_BROKEN(
        [](void *) {
            hostcuda::count_handle(1);
            hostcuda_reset();
        },
        nullptr, "1 library handles");
    CHECK_BROKEN([](void *) { hostcuda::count_handle(-1); }, nullptr, "more library handles");
}

/* Memory in stream order is not there before its stream came to it. */
static void pool_memory_used_before_it_is_there()
{
    int caught = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        start(seed);
        const char *text = hostcuda_expect(
            [](void *) {
                cudaStream_t a = new_stream(), b = new_stream();
                float *x = new_floats(N);
                void *p;
                OK(cudaMemsetAsync(x, 0, 4, a));
                OK(cudaMallocAsync(&p, 64, a));
                OK(cudaMemsetAsync(p, 0, 64, b));
                OK(cudaStreamSynchronize(b));
            },
            nullptr);
        caught += strstr(text, "has not come to yet") != nullptr;
    }
    CHECK(caught >= 8);
}

static void pinned_memory_freed_too_early()
{
    int caught = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        start(seed);
        const char *text = hostcuda_expect(
            [](void *) {
                cudaStream_t s = new_stream();
                float *x = new_floats(N);
                void *pinned;
                OK(cudaMallocHost(&pinned, N * sizeof(float)));
                OK(cudaMemsetAsync(x, 0, 4, s));
                OK(cudaMemcpyAsync(x, pinned, N * sizeof(float), cudaMemcpyHostToDevice, s));
                OK(cudaFreeHost(pinned));
                OK(cudaStreamSynchronize(s));
            },
            nullptr);
        caught += strstr(text, "pinned host memory), which was freed") != nullptr;
    }
    CHECK(caught >= 8);
}

/* ---- injected failures ---- */
static void the_nth_allocation_fails()
{
    start(1, "1M", "alloc:3");
    void *p;
    for (int i = 1; i <= 5; i++)
        CHECK_EQUAL(i % 2 == 0 ? cudaMallocHost(&p, 64) : cudaMalloc(&p, 64),
                    i == 3 ? cudaErrorMemoryAllocation : cudaSuccess);
}

static void a_lost_device_stays_lost()
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        start(seed, "1M,1M", "lost:1:3");
        cudaStream_t zero = new_stream();
        OK(cudaSetDevice(1));
        cudaStream_t s = new_stream();
        cudaEvent_t e = new_event();
        float *x = new_floats(N);
        cudaError_t last = cudaSuccess;
        for (int i = 0; i < 5; i++)
            last = cudaMemsetAsync(x, 0, 4, s);
        if (last == cudaSuccess)
            last = cudaEventRecord(e, s);
        CHECK_EQUAL(cudaStreamSynchronize(s), cudaErrorDevicesUnavailable);
        CHECK_EQUAL(cudaStreamQuery(s), cudaErrorDevicesUnavailable);
        CHECK_EQUAL(cudaGetLastError(), cudaErrorDevicesUnavailable);
        CHECK_EQUAL(cudaGetLastError(), cudaErrorDevicesUnavailable);
        void *p;
        CHECK_EQUAL(cudaMalloc(&p, 64), cudaErrorDevicesUnavailable);
        CHECK_EQUAL(cudaMemsetAsync(x, 0, 4, s), cudaErrorDevicesUnavailable);
        CHECK_EQUAL(cudaFree(x), cudaErrorDevicesUnavailable);
        CHECK_EQUAL(counts_now().live_allocations, 0);
        OK(cudaSetDevice(0)); /* the other one goes on, and does not wait for the lost one */
        OK(cudaStreamWaitEvent(zero, e, 0));
        x = new_floats(N);
        OK(cudaMemsetAsync(x, 0, 4, zero));
        CHECK_EQUAL(read_float(x, zero), 0);
    }
}

static void collectives_fail_for_one_rank()
{
    start(1, "1M", "nccl:1:2");
    CHECK(!hostcuda::collective_fails(0) && !hostcuda::collective_fails(0));
    CHECK(!hostcuda::collective_fails(1) && hostcuda::collective_fails(1) && !hostcuda::collective_fails(1));
}

static void work_that_must_wait_is_asked_again()
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        start(seed);
        cudaStream_t a = new_stream(), b = new_stream();
        auto arrived = std::make_shared<bool>(false);
        OK(hostcuda::enqueue(
            a,
            { "wait", [=] { return *arrived ? hostcuda::result::done : hostcuda::result::again; }, true }));
        OK(hostcuda::enqueue(b, { "arrive", [=] { return *arrived = true, hostcuda::result::done; }, true }));
        OK(cudaStreamSynchronize(a));
        OK(cudaStreamSynchronize(b));
        CHECK_EQUAL(counts_now().launches, 2);
    }
}

static void expect_answers_texts()
{
    start(1);
    CHECK(strcmp(hostcuda_expect([](void *) {}, nullptr), "") == 0);
    CHECK(strcmp(hostcuda_expect([](void *) { hostcuda::broken("rule %d", 7); }, nullptr), "rule 7") == 0);
    CHECK_BROKEN([](void *) { exit(3); }, nullptr, "status 3");
    CHECK_BROKEN([](void *) { raise(SIGKILL); }, nullptr, "signal 9");
}

int main(int argc, char **argv)
{
#define TEST(name)                                                                                           \
    {                                                                                                        \
#name, name                                                                                          \
    }
    return run_tests({ TEST(devices_are_as_set), TEST(memory_runs_out), TEST(copies_go_everywhere),
                       TEST(copies_at_once_wait_for_blocking_streams), TEST(pools_and_pinned_memory),
                       TEST(ranges_are_checked), TEST(handles_are_checked),
                       TEST(pool_memory_used_before_it_is_there), TEST(pinned_memory_freed_too_early),
                       TEST(the_nth_allocation_fails), TEST(a_lost_device_stays_lost),
                       TEST(collectives_fail_for_one_rank), TEST(work_that_must_wait_is_asked_again),
                       TEST(expect_answers_texts) },
                     argc > 1 ? argv[1] : nullptr);
}
