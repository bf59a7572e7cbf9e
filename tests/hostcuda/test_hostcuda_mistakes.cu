/* SPDX-License-Identifier: Apache-2.0 */
/* What the stand-in of the runtime is for: each program is run right, where no seed may complain, and with one typical mistake
 * planted, which (nearly) every one of 20 seeds must catch, by a broken rule or by a wrong answer. The rate is printed.
 * label: medium (reports of a sanitizer take their time)
 */
#include "tests/hostcuda/hostcuda_test.h"

static const int SEEDS = 20, N = 200;

static void answer_is(float got, float wanted)
{
    if (!(got == wanted))
        hostcuda::broken("wrong answer: %g, not %g", (double)got, (double)wanted);
}

static __global__ void fill(float *y, int n, float value)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n)
        y[i] = value;
}

static __global__ void add(float *y, const float *x, int n)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n)
        y[i] += x[i];
}

static void launch_fill(cudaStream_t s, float *y, float value)
{
    const cudaLaunchConfig_t c = grid_of(s, 4, 64);
    OK(cudaLaunchKernelEx(&c, fill, y, N, value));
}

static void launch_add(cudaStream_t s, float *y, const float *x)
{
    const cudaLaunchConfig_t c = grid_of(s, 4, 64);
    OK(cudaLaunchKernelEx(&c, add, y, x, N));
}

/* Step k fills x on one stream and adds it to y on another one: 1 + 2 + ... + 8. */
static void two_streams(bool read_waits, bool write_waits)
{
    cudaStream_t a = new_stream(), b = new_stream();
    cudaEvent_t filled = new_event(), added = new_event();
    float *x = new_floats(N), *y = new_floats(N);
    launch_fill(b, y, 0);
    for (int k = 1; k <= 8; k++) {
        if (write_waits)
            OK(cudaStreamWaitEvent(a, added, 0));
        launch_fill(a, x, (float)k);
        OK(cudaEventRecord(filled, a));
        if (read_waits)
            OK(cudaStreamWaitEvent(b, filled, 0));
        launch_add(b, y, x);
        OK(cudaEventRecord(added, b));
    }
    answer_is(read_float(y + N - 1, b), 36);
}

static void missing_event_wait(bool planted)
{
    two_streams(!planted, true);
}

static void missing_wait_of_the_writer(bool planted)
{
    two_streams(true, !planted);
}

/* The sum belongs on the stream that fills. */
static void wrong_stream(bool planted)
{
    cudaStream_t a = new_stream(), b = new_stream();
    float *x = new_floats(N), *y = new_floats(N);
    for (int k = 1; k <= 8; k++) {
        launch_fill(a, y, (float)k);
        launch_fill(a, x, 1);
        launch_add(planted ? b : a, y, x);
        launch_add(a, y, x);
        answer_is(read_float(y, a), (float)(k + 2));
    }
}

/* The workspace goes back to the pool of one stream while another one works with it. */
static void use_after_free(bool planted)
{
    cudaStream_t a = new_stream(), b = new_stream();
    cudaEvent_t made = new_event(), done = new_event();
    float *y = new_floats(N);
    for (int k = 0; k < 6; k++) {
        void *x;
        OK(cudaMallocAsync(&x, N * sizeof(float), a));
        launch_fill(a, (float *)x, 1);
        OK(cudaEventRecord(made, a));
        OK(cudaStreamWaitEvent(b, made, 0));
        launch_fill(b, y, 1);
        launch_add(b, y, (float *)x);
        OK(cudaEventRecord(done, b));
        if (!planted)
            OK(cudaStreamWaitEvent(a, done, 0));
        OK(cudaFreeAsync(x, a));
        OK(cudaStreamSynchronize(a));
        answer_is(read_float(y, b), 2);
    }
}

static void use_after_plain_free(bool planted)
{
    cudaStream_t a = new_stream();
    float *x = new_floats(N), *y = new_floats(N);
    launch_fill(a, y, 1);
    launch_fill(a, x, 1);
    if (planted)
        OK(cudaFree(x));
    launch_add(a, y, x);
    answer_is(read_float(y, a), 2);
}

static void host_read(bool planted)
{
    cudaStream_t a = new_stream();
    float *x = new_floats(N);
    launch_fill(a, x, 3);
    OK(cudaStreamSynchronize(a));
    answer_is(planted ? x[1] : read_float(x + 1, a), 3);
}

/* One pinned buffer feeds two uploads. */
static void buffer_reused_too_early(bool planted)
{
    cudaStream_t a = new_stream();
    float *x = new_floats(N), *y = new_floats(N);
    void *pinned;
    OK(cudaMallocHost(&pinned, N * sizeof(float)));
    for (int k = 1; k <= 4; k++) {
        for (int i = 0; i < N; i++)
            ((float *)pinned)[i] = (float)k;
        OK(cudaMemcpyAsync(x, pinned, N * sizeof(float), cudaMemcpyHostToDevice, a));
        if (!planted)
            OK(cudaStreamSynchronize(a));
        for (int i = 0; i < N; i++)
            ((float *)pinned)[i] = (float)(10 * k);
        OK(cudaMemcpyAsync(y, pinned, N * sizeof(float), cudaMemcpyHostToDevice, a));
        launch_add(a, y, x);
        answer_is(read_float(y + 7, a), (float)(11 * k));
    }
    OK(cudaFreeHost(pinned));
}

/* The host looks at what it downloads before it has waited. */
static void result_read_too_early(bool planted)
{
    cudaStream_t a = new_stream();
    float *x = new_floats(N);
    float *host = (float *)calloc(N, sizeof(float));
    for (int k = 1; k <= 4; k++) {
        launch_fill(a, x, (float)k);
        OK(cudaMemcpyAsync(host, x, N * sizeof(float), cudaMemcpyDeviceToHost, a));
        if (!planted)
            OK(cudaStreamSynchronize(a));
        answer_is(host[5], (float)k);
    }
    free(host);
}

static void kernel_out_of_bounds(bool planted)
{
    cudaStream_t a = new_stream();
    float *x = new_floats(N);
    const cudaLaunchConfig_t c = grid_of(a, 4, 64);
    OK(cudaLaunchKernelEx(&c, fill, x, planted ? N + 1 : N, 1.0F));
    answer_is(read_float(x, a), 1);
}

static __global__ void fill_in_front(float *y, int first, int n, float value)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x) + first;
    if (i < n)
        y[i] = value;
}

static void kernel_in_front(bool planted)
{
    cudaStream_t a = new_stream();
    float *x = new_floats(N);
    const cudaLaunchConfig_t c = grid_of(a, 4, 64);
    OK(cudaLaunchKernelEx(&c, fill_in_front, x, planted ? -1 : 0, N, 1.0F));
    answer_is(read_float(x, a), 1);
}

/* Elements behind the end are read: they are not there. */
static void kernel_reads_far_behind(bool planted)
{
    cudaStream_t a = new_stream();
    float *x = new_floats(N), *y = new_floats(N);
    launch_fill(a, x, 1);
    launch_fill(a, y, 1);
    launch_add(a, y, planted ? x + N : x);
    answer_is(read_float(y + N - 1, a), 2);
}

static __global__ void sum_block(float *out, const float *x, int n, bool synchronised)
{
    __shared__ float part[128];
    const int t = (int)threadIdx.x;
    float mine = 0;
    for (int i = t; i < n; i += 128)
        mine += x[i];
    part[t] = mine;
    for (int k = 64; k > 0; k /= 2) {
        if (synchronised)
            __syncthreads();
        if (t < k)
            part[t] += part[t + k];
    }
    if (t == 0)
        *out = part[0];
}

static void missing_syncthreads(bool planted)
{
    cudaStream_t a = new_stream();
    float *x = new_floats(N), *y = new_floats(1);
    launch_fill(a, x, 1);
    const cudaLaunchConfig_t c = grid_of(a, 1, 128);
    OK(cudaLaunchKernelEx(&c, sum_block, y, x, N, !planted));
    answer_is(read_float(y, a), N);
}

static __global__ void scan_step(float *x, bool synchronised)
{
    __shared__ float part[64];
    const int t = (int)threadIdx.x;
    part[t] = x[t];
    __syncthreads();
    const float left = part[(t + 63) % 64];
    if (synchronised)
        __syncthreads(); /* all have read before one writes */
    part[t] = left;
    __syncthreads();
    x[t] = part[t];
}

static void missing_second_syncthreads(bool planted)
{
    cudaStream_t a = new_stream();
    std::vector<float> host(64);
    for (int i = 0; i < 64; i++)
        host[(size_t)i] = (float)i;
    float *x = new_floats(64);
    OK(cudaMemcpyAsync(x, host.data(), 64 * sizeof(float), cudaMemcpyHostToDevice, a));
    const cudaLaunchConfig_t c = grid_of(a, 1, 64);
    OK(cudaLaunchKernelEx(&c, scan_step, x, !planted));
    OK(cudaMemcpyAsync(host.data(), x, 64 * sizeof(float), cudaMemcpyDeviceToHost, a));
    OK(cudaStreamSynchronize(a));
    for (int i = 0; i < 64; i++)
        answer_is(host[(size_t)i], (float)((i + 63) % 64));
}

static __global__ void sum_shared(float *out, const float *x)
{
    __shared__ float sum; /* nobody says that it starts at 0 */
    atomicAdd(&sum, x[threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0)
        *out = sum;
}

static __global__ void sum_shared_started(float *out, const float *x)
{
    __shared__ float sum;
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    atomicAdd(&sum, x[threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0)
        *out = sum;
}

static void shared_not_started(bool planted)
{
    cudaStream_t a = new_stream();
    float *x = new_floats(N), *y = new_floats(1);
    launch_fill(a, x, 1);
    const cudaLaunchConfig_t c = grid_of(a, 1, 64);
    OK(planted ? cudaLaunchKernelEx(&c, sum_shared, y, x) : cudaLaunchKernelEx(&c, sum_shared_started, y, x));
    answer_is(read_float(y, a), 64);
}

static __global__ void scale_by_block(float *y, const float *step_block)
{
    y[threadIdx.x] += *step_block;
}

static __global__ void scale_by_value(float *y, float step)
{
    y[threadIdx.x] += step;
}

static void capture_step(cudaStream_t s, float *y, const float *block, float step, bool planted,
                         cudaGraphExec_t *out)
{
    const cudaLaunchConfig_t c = grid_of(s, 1, 32);
    cudaGraph_t graph;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    OK(planted ? cudaLaunchKernelEx(&c, scale_by_value, y, step)
               : cudaLaunchKernelEx(&c, scale_by_block, y, block));
    OK(cudaStreamEndCapture(s, &graph));
    OK(cudaGraphInstantiate(out, graph, 0));
    OK(cudaGraphDestroy(graph));
}

/* A captured step is launched three times, with step 1, 2, 3: an argument that was passed by value stays 1. */
static void argument_outside_step_block(bool planted)
{
    cudaStream_t a = new_stream();
    float *y = new_floats(N), *block = new_floats(1);
    float step = 1;
    cudaGraphExec_t exec;
    launch_fill(a, y, 0);
    capture_step(a, y, block, step, planted, &exec);
    for (; step <= 3; step++) {
        OK(cudaMemcpyAsync(block, &step, sizeof step, cudaMemcpyHostToDevice, a));
        OK(cudaGraphLaunch(exec, a));
    }
    answer_is(read_float(y, a), 6);
    OK(cudaGraphExecDestroy(exec));
}

struct mistake {
    const char *name;
    void (*program)(bool planted);
    int least; /* seeds of 20 that catch it */
};
static const mistake MISTAKES[] = {
    { "missing event wait", missing_event_wait, 19 },
    { "missing event wait, of the next writer", missing_wait_of_the_writer, 19 },
    { "wrong stream", wrong_stream, 19 },
    { "use after free, of another stream", use_after_free, 18 },
    { "use after free", use_after_plain_free, 20 },
    { "host read of device memory", host_read, 20 },
    { "buffer reused too early", buffer_reused_too_early, 19 },
    { "result read too early", result_read_too_early, 19 },
    { "kernel writes behind", kernel_out_of_bounds, 20 },
    { "kernel writes in front", kernel_in_front, 20 },
    { "kernel reads far behind", kernel_reads_far_behind, 20 },
    { "missing __syncthreads", missing_syncthreads, 20 },
    { "missing __syncthreads before a write", missing_second_syncthreads, 20 },
    { "shared memory not started", shared_not_started, 20 },
    { "launch argument outside of the step block", argument_outside_step_block, 20 },
};

struct trial {
    const mistake *what;
    bool planted;
};

static void run_trial(void *user)
{
    const trial *t = (const trial *)user;
    t->what->program(t->planted);
}

int main(void)
{
    int failed = 0;
    for (const mistake &m : MISTAKES) {
        int caught = 0;
        std::string example = "-";
        for (int seed = 1; seed <= SEEDS; seed++) {
            trial right = { &m, false }, wrong = { &m, true };
            start((uint64_t)seed);
            const std::string complaint = hostcuda_expect(run_trial, &right);
            if (!complaint.empty()) {
                printf("seed %d: '%s' without the mistake: %s\n", seed, m.name, complaint.c_str());
                failed = 1;
            }
            const std::string text = hostcuda_expect(run_trial, &wrong);
            caught += !text.empty();
            if (!text.empty())
                example = text.substr(0, 150);
        }
        printf("%-44s %2d of %d seeds  %s\n", m.name, caught, SEEDS, example.c_str());
        failed |= caught < m.least;
    }
    return failed;
}
