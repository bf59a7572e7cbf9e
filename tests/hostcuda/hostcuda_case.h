/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of the stand-in's libraries: a device with a stream, arrays on it, and mistakes that must be caught.
 *
 * A planted mistake is a number: the case runs with 0, nothing wrong, and with each other number, and the rule it breaks must be
 * the one of the table. Bodies run in a process of their own (hostcuda_expect), so they make everything anew.
 */
#ifndef GNT_HOSTCUDA_CASE_H
#define GNT_HOSTCUDA_CASE_H

#include "tests/hostcuda/hostcuda.h"
#include "tests/support/gnt_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* For all libraries: success is 0. Ends the process, for cmocka's jump would leave a body's own process for the test's code. */
#define CASE_OK(call) case_ok((int)(call), #call, __FILE__, __LINE__)
static inline void case_ok(int answer, const char *call, const char *file, int line)
{
    if (answer == 0)
        return;
    fprintf(stderr, "%s:%d: %s answers %d\n", file, line, call, answer);
    _exit(97);
}

typedef struct case_mistake {
    int number;
    const char *rule; /* a piece of the text */
} case_mistake;

/* Starts anew with these devices ("4M,4M") and a seed. */
static inline void case_reset(const char *devices, int seed)
{
    char text[16];

    snprintf(text, sizeof text, "%d", seed);
    setenv("HOSTCUDA_DEVICES", devices, 1);
    setenv("HOSTCUDA_SEED", text, 1);
    hostcuda_reset();
}

/* body reads the number of its mistake; 0 must be right, every other one must break its rule. */
static inline void case_check_mistakes(void (*body)(void *user), const case_mistake *list, int count)
{
    int none = 0;
    const char *text = hostcuda_expect(body, &none);

    if (text[0] != '\0')
        fail_msg("nothing is wrong, but: %s", text);
    for (int i = 0; i < count; i++) {
        int number = list[i].number;

        text = hostcuda_expect(body, &number);
        if (strstr(text, list[i].rule) == NULL)
            fail_msg("mistake %d must be caught by '%s', the answer is '%s'", number, list[i].rule, text);
    }
}

static inline cudaStream_t case_stream(int device)
{
    cudaStream_t s = NULL;

    CASE_OK(cudaSetDevice(device));
    CASE_OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    return s;
}

/* An array on the current device; NULL from: not written. */
static inline void *case_device(const void *from, size_t bytes)
{
    void *data = NULL;

    CASE_OK(cudaMalloc(&data, bytes));
    if (from != NULL)
        CASE_OK(cudaMemcpy(data, from, bytes, cudaMemcpyHostToDevice));
    return data;
}

static inline void case_fetch(void *to, const void *from, size_t bytes)
{
    CASE_OK(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
}

/* Small whole numbers, exact in every order of sums. */
static inline void case_fill(float *data, int64_t count, unsigned *state)
{
    for (int64_t i = 0; i < count; i++) {
        *state = *state * 1664525u + 1013904223u;
        data[i] = (float)((int)(*state >> 24) % 9 - 4);
    }
}

#endif
