/* SPDX-License-Identifier: Apache-2.0 */
/* All ranks of an NCCL communicator held by one thread, which calls that do not block allow: a device, a stream and two arrays of
 * each. Used by the tests of NCCL's stand-in. */
#ifndef GNT_NCCL_JOB_H
#define GNT_NCCL_JOB_H

#include "tests/hostcuda/hostcuda_case.h"

#include <nccl.h>

enum { MAX_RANKS = 4, COUNT = 23, MANY_LOOKS = 20000 };

typedef struct job {
    int size;
    cudaStream_t stream[MAX_RANKS];
    ncclComm_t comm[MAX_RANKS];
    float *data[MAX_RANKS], *more[MAX_RANKS];
} job;

static inline void accept(ncclResult_t r)
{
    CASE_OK(r == ncclSuccess || r == ncclInProgress ? 0 : r);
}

/* Until no rank has a call in progress. */
static inline void settle(const job *j)
{
    bool busy = true;

    while (busy) {
        busy = false;
        for (int r = 0; r < j->size; r++) {
            ncclResult_t state = ncclSuccess;

            if (j->comm[r] == NULL)
                continue;
            CASE_OK(ncclCommGetAsyncError(j->comm[r], &state));
            busy = busy || state == ncclInProgress;
            accept(state);
        }
    }
}

static inline void begin(job *j, int size)
{
    ncclUniqueId id;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;

    *j = (job){ .size = size };
    config.blocking = 0;
    CASE_OK(ncclGetUniqueId(&id));
    for (int r = 0; r < size; r++) {
        j->stream[r] = case_stream(r);
        accept(ncclCommInitRankConfig(&j->comm[r], size, id, r, &config));
        j->data[r] = case_device(NULL, COUNT * sizeof(float) * MAX_RANKS);
        j->more[r] = case_device(NULL, COUNT * sizeof(float) * MAX_RANKS);
    }
    settle(j);
}

/* All streams, in turn; false: some do not end. */
static inline bool finish(const job *j)
{
    for (int look = 0; look < MANY_LOOKS; look++) {
        int done = 0;

        for (int r = 0; r < j->size; r++) {
            const cudaError_t e = cudaStreamQuery(j->stream[r]);

            done += e == cudaSuccess;
            CASE_OK(e == cudaErrorNotReady ? 0 : e);
        }
        if (done == j->size)
            return true;
    }
    return false;
}

static inline void end(job *j)
{
    assert_true(finish(j));
    for (int r = 0; r < j->size; r++)
        accept(ncclCommFinalize(j->comm[r]));
    settle(j);
    for (int r = 0; r < j->size; r++) {
        CASE_OK(ncclCommDestroy(j->comm[r]));
        CASE_OK(cudaStreamDestroy(j->stream[r]));
    }
}

#endif
