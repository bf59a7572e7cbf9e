/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels on the stand-in: positions, barriers, shuffles, votes, atomics; and the rules of these, broken one by one. */
#include "tests/hostcuda/hostcuda_test.h"

static const unsigned ALL = 0xffffffffU;

static std::vector<float> download(const float *p, size_t n, cudaStream_t s)
{
    std::vector<float> host(n);
    OK(cudaMemcpyAsync(host.data(), p, n * sizeof(float), cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    return host;
}

/* ---- every thread comes once, with its position ---- */
static __global__ void count_positions(float *count)
{
    const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    count[block * (blockDim.x * blockDim.y * blockDim.z) + thread] += 1.0F;
}

static void every_thread_comes_once()
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        start(seed);
        cudaStream_t s = new_stream();
        const size_t n = 3 * 2 * 5 * 7 * 3 * 2;
        float *count = new_floats(n);
        OK(cudaMemsetAsync(count, 0, n * sizeof(float), s));
        cudaLaunchConfig_t c = grid_of(s, 1, 1);
        c.gridDim = dim3(3, 2, 5);
        c.blockDim = dim3(7, 3, 2);
        OK(cudaLaunchKernelEx(&c, count_positions, count));
        for (float x : download(count, n, s))
            CHECK_EQUAL(x, 1);
    }
}

/* ---- sums with barriers and shuffles ---- */
template <int THREADS> static __global__ void sum_rows(float *out, const float *x, int n)
{
    __shared__ float part[THREADS / 32];
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    float sum = 0;
    for (int i = (int)threadIdx.x; i < n; i += THREADS)
        sum += x[(int)blockIdx.x * n + i];
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(ALL, sum, (unsigned)d);
    if (lane == 0)
        part[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        sum = lane < THREADS / 32 ? part[lane] : 0.0F;
        for (int d = 16; d > 0; d /= 2)
            sum += __shfl_xor_sync(ALL, sum, d);
        if (lane == 0)
            out[blockIdx.x] = sum;
    }
}

static void sums_are_right_in_every_order()
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        start(seed);
        cudaStream_t s = new_stream();
        const int rows = 9, n = 1000;
        std::vector<float> host((size_t)(rows * n));
        for (int i = 0; i < rows * n; i++)
            host[(size_t)i] = (float)(i / n + 1);
        float *x = new_floats(host.size()), *y = new_floats((size_t)rows);
        OK(cudaMemcpyAsync(x, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice, s));
        const cudaLaunchConfig_t c = grid_of(s, rows, 256);
        OK(cudaLaunchKernelEx(&c, sum_rows<256>, y, x, n));
        const std::vector<float> sums = download(y, (size_t)rows, s);
        for (int r = 0; r < rows; r++)
            CHECK_EQUAL(sums[(size_t)r], (r + 1) * n);
    }
}

/* ---- what each warp operation answers ---- */
static __global__ void warp_answers(float *out)
{
    const int lane = (int)threadIdx.x;
    int k = 0;
    out[32 * k++ + lane] = (float)__shfl_sync(ALL, lane, 5);
    out[32 * k++ + lane] = (float)__shfl_up_sync(ALL, lane, 1, 8);
    out[32 * k++ + lane] = (float)__shfl_down_sync(ALL, lane, 3);
    out[32 * k++ + lane] = (float)__shfl_xor_sync(ALL, lane, 9);
    out[32 * k++ + lane] = (float)__popc(__ballot_sync(ALL, lane % 3 == 0));
    out[32 * k++ + lane] = (float)__any_sync(ALL, lane == 40);
    out[32 * k++ + lane] = (float)__all_sync(ALL, lane < 32);
    out[32 * k++ + lane] =
        (float)__shfl_sync(lane < 16 ? 0xffffU : 0xffff0000U, (double)lane, lane < 16 ? 2 : 20);
    out[32 * k++ + lane] = (float)(__activemask() >> lane & 1U);
}

static void warp_operations_answer()
{
    start(3);
    cudaStream_t s = new_stream();
    float *out = new_floats(9 * 32);
    const cudaLaunchConfig_t c = grid_of(s, 1, 32);
    OK(cudaLaunchKernelEx(&c, warp_answers, out));
    const std::vector<float> got = download(out, 9 * 32, s);
    for (int lane = 0; lane < 32; lane++) {
        const int wanted[] = { 5,
                               lane % 8 == 0 ? lane : lane - 1,
                               lane + 3 < 32 ? lane + 3 : lane,
                               lane ^ 9,
                               11,
                               0,
                               1,
                               lane < 16 ? 2 : 20,
                               1 };
        for (int k = 0; k < 9; k++)
            CHECK_EQUAL(got[(size_t)(32 * k + lane)], wanted[k]);
    }
}

static __global__ void atomic_answers(int *i, unsigned long long *u, float *f)
{
    atomicAdd(&i[0], 1);
    atomicMax(&i[1], (int)threadIdx.x);
    atomicMin(&i[2], -(int)threadIdx.x);
    atomicCAS(&i[3], 0, (int)threadIdx.x + 1);
    atomicAdd(u, 1ULL << 33);
    atomicAdd(f, 0.5F);
}

static void atomics_add_up()
{
    start(1);
    cudaStream_t s = new_stream();
    void *i, *u;
    float *f = new_floats(1);
    int host[4];
    unsigned long long sum;
    OK(cudaMalloc(&i, sizeof host));
    OK(cudaMalloc(&u, sizeof sum));
    OK(cudaMemset(i, 0, sizeof host));
    OK(cudaMemset(u, 0, sizeof sum));
    OK(cudaMemset(f, 0, sizeof(float)));
    const cudaLaunchConfig_t c = grid_of(s, 4, 100);
    OK(cudaLaunchKernelEx(&c, atomic_answers, (int *)i, (unsigned long long *)u, f));
    OK(cudaMemcpyAsync(host, i, sizeof host, cudaMemcpyDeviceToHost, s));
    OK(cudaMemcpyAsync(&sum, u, sizeof sum, cudaMemcpyDeviceToHost, s));
    CHECK_EQUAL(read_float(f, s), 200);
    CHECK_EQUAL(host[0], 400);
    CHECK_EQUAL(host[1], 99);
    CHECK_EQUAL(host[2], -99);
    CHECK(host[3] >= 1 && host[3] <= 100);
    CHECK(sum == 400ULL << 33);
}

/* ---- broken rules ---- */
template <typename Kernel> static void run_one(Kernel kernel, int threads)
{
    cudaStream_t s = new_stream();
    float *x = new_floats(1024);
    const cudaLaunchConfig_t c = grid_of(s, 2, threads);
    OK(cudaLaunchKernelEx(&c, kernel, x));
    OK(cudaStreamSynchronize(s));
}

static __global__ void early_return(float *x)
{
    if (threadIdx.x >= 40)
        return;
    __syncthreads();
    x[threadIdx.x] = 1;
}
static __global__ void two_barriers(float *x)
{
    if (threadIdx.x < 7)
        __syncthreads();
    else
        __syncthreads();
    x[threadIdx.x] = 1;
}
static __global__ void barrier_and_shuffle(float *x)
{
    if (threadIdx.x != 18)
        x[threadIdx.x] = __shfl_sync(ALL, 1.0F, 0);
    else
        __syncthreads();
}
static __global__ void two_masks(float *x)
{
    x[threadIdx.x] = __shfl_sync(threadIdx.x < 16 ? 0xffffU : ALL, 1.0F, 0);
}
static __global__ void not_in_mask(float *x)
{
    x[threadIdx.x] = __shfl_sync(0xfffffffeU, 1.0F, 1);
}
static __global__ void reads_lane_that_left(float *x)
{
    if (threadIdx.x == 3)
        return;
    x[threadIdx.x] = __shfl_sync(ALL, 1.0F, 3);
}
static __global__ void index_too_far(float *x)
{
    x[threadIdx.x == 63 ? 5000 : threadIdx.x] = 1;
}
static __global__ void deep(float *x)
{
    volatile float large[80000]; /* too large with a sanitizer as well */
    for (int i = 79999; i >= 0; i--)
        large[i] = 1.0F;
    x[threadIdx.x] = large[threadIdx.x];
}
static __global__ void traps(float *x)
{
    if (x != nullptr && threadIdx.x == 5)
        __trap();
}

static void broken_rules_name_the_thread()
{
    int other_mask = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        start(seed);
        CHECK_BROKEN([](void *) { run_one(early_return, 64); }, nullptr, "'kernel'", "block (", "thread (",
                     "__syncthreads", "returned");
        CHECK_BROKEN([](void *) { run_one(two_barriers, 64); }, nullptr, "__syncthreads at line",
                     "at the one at line");
        CHECK_BROKEN([](void *) { run_one(barrier_and_shuffle, 32); }, nullptr, "__shfl_sync at line",
                     "__syncthreads");
        /* not seen where the lower half is gone before the upper one comes: what that reads is NaN then */
        other_mask += strstr(hostcuda_expect([](void *) { run_one(two_masks, 32); }, nullptr),
                             "with mask 0000ffff") != nullptr;
        CHECK_BROKEN([](void *) { run_one(not_in_mask, 32); }, nullptr, "thread (0,0,0)", "own lane 0");
        CHECK_BROKEN([](void *) { run_one(index_too_far, 64); }, nullptr, "thread (63,0,0)",
                     "behind the end of allocation 1");
        CHECK_BROKEN([](void *) { run_one(deep, 64); }, nullptr, "more stack than");
        CHECK_BROKEN([](void *) { run_one(traps, 64); }, nullptr, "thread (5,0,0)", "__trap");
    }
    CHECK(other_mask >= 10);
}

static void what_is_not_there_is_nan()
{
    start(1);
    cudaStream_t s = new_stream();
    float *x = new_floats(32);
    const cudaLaunchConfig_t c = grid_of(s, 1, 32);
    OK(cudaLaunchKernelEx(&c, reads_lane_that_left, x));
    CHECK(isnan(read_float(x + 4, s)));
    CHECK(isnan(read_float(x + 3, s))); /* fresh memory is too */
}

static void launches_that_do_not_fit_are_refused()
{
    start(1, "16M,16M");
    cudaStream_t s = new_stream();
    float *x = new_floats(1024);
    for (const auto &sizes : { std::pair<int64_t, int>{ 0, 32 }, { 1, 0 }, { 1, 1025 }, { 1LL << 31, 32 } }) {
        const cudaLaunchConfig_t c = grid_of(s, sizes.first, sizes.second);
        CHECK_EQUAL(cudaLaunchKernelEx(&c, early_return, x), cudaErrorInvalidConfiguration);
        CHECK_EQUAL(cudaGetLastError(), cudaErrorInvalidConfiguration);
    }
    CHECK_BROKEN(
        [](void *stream) {
            const cudaLaunchConfig_t c = grid_of((cudaStream_t)stream, 1, 32);
            cudaSetDevice(1);
            cudaLaunchKernelEx(&c, early_return, (float *)nullptr);
        },
        s, "kernel 'early_return'", "stream of device 0", "device is 1");
}

static void other_devices_need_peer_access()
{
    start(1, "16M,16M");
    for (int peer = 0; peer < 2; peer++) {
        const char *text = hostcuda_expect(
            [](void *enable) {
                float *there = new_floats(64);
                OK(cudaSetDevice(1));
                cudaStream_t s = new_stream();
                const cudaLaunchConfig_t c = grid_of(s, 1, 32);
                if (enable != nullptr)
                    OK(cudaDeviceEnablePeerAccess(0, 0));
                OK(cudaLaunchKernelEx(&c, early_return, there));
                OK(cudaStreamSynchronize(s));
            },
            peer != 0 ? (void *)1 : nullptr);
        CHECK((strstr(text, "peer access") != nullptr) == (peer == 0));
    }
}

int main(int argc, char **argv)
{
#define TEST(name)                                                                                           \
    {                                                                                                        \
#name, name                                                                                          \
    }
    return run_tests({ TEST(every_thread_comes_once), TEST(sums_are_right_in_every_order),
                       TEST(warp_operations_answer), TEST(atomics_add_up), TEST(broken_rules_name_the_thread),
                       TEST(what_is_not_there_is_nan), TEST(launches_that_do_not_fit_are_refused),
                       TEST(other_devices_need_peer_access) },
                     argc > 1 ? argv[1] : nullptr);
}
