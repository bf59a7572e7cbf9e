/* SPDX-License-Identifier: Apache-2.0 */
/* For the tests of the stand-in itself, .cu files with a main of their own: checks, a list of tests, a launch, seeds.
 *
 * The back end's tests do not need this: they are C, and know nothing of the stand-in but its settings.
 */
#ifndef GNT_HOSTCUDA_TEST_H
#define GNT_HOSTCUDA_TEST_H

#include "tests/hostcuda/hostcuda.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                          \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)
#define CHECK_EQUAL(a, b)                                                                                    \
    do {                                                                                                     \
        const double a_ = (double)(a), b_ = (double)(b);                                                     \
        if (!(a_ == b_)) {                                                                                   \
            fprintf(stderr, "%s:%d: %s is %.9g, not %s, which is %.9g\n", __FILE__, __LINE__, #a, a_, #b,    \
                    b_);                                                                                     \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)
#define OK(call) CHECK_EQUAL(call, cudaSuccess)
/* The body breaks a rule, and the text names each of the words. */
#define CHECK_BROKEN(body, user, ...) check_broken(__LINE__, hostcuda_expect(body, user), { __VA_ARGS__ })

static inline void check_broken(int line, const char *text, std::initializer_list<const char *> words)
{
    for (const char *w : words)
        if (strstr(text, w) == nullptr) {
            fprintf(stderr, "line %d: '%s' does not name '%s'\n", line, text, w);
            exit(1);
        }
}

static inline cudaLaunchConfig_t grid_of(cudaStream_t stream, int64_t blocks, int threads)
{
    cudaLaunchConfig_t c = {};
    c.gridDim = dim3((unsigned)blocks);
    c.blockDim = dim3((unsigned)threads);
    c.stream = stream;
    return c;
}

static inline void start(uint64_t seed, const char *devices = "64M", const char *fail = "")
{
    setenv("HOSTCUDA_SEED", std::to_string(seed).c_str(), 1);
    setenv("HOSTCUDA_DEVICES", devices, 1);
    setenv("HOSTCUDA_FAIL", fail, 1);
    hostcuda_reset();
}

static inline cudaStream_t new_stream()
{
    cudaStream_t s;
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    return s;
}

static inline float *new_floats(size_t n)
{
    void *p;
    OK(cudaMalloc(&p, n * sizeof(float)));
    return (float *)p;
}

static inline cudaEvent_t new_event()
{
    cudaEvent_t e;
    OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    return e;
}

static inline float read_float(const float *p, cudaStream_t s)
{
    float value = -777;
    OK(cudaMemcpyAsync(&value, p, sizeof value, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    return value;
}

struct named_test {
    const char *name;
    void (*run)();
};
static inline int run_tests(const std::vector<named_test> &tests, const char *only)
{
    for (const named_test &t : tests)
        if (only == nullptr || strcmp(only, t.name) == 0) {
            t.run();
            printf("ok %s\n", t.name);
        }
    return 0;
}

#endif
