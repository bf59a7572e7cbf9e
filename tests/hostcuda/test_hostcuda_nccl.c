/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in of NCCL: results of groups, messages and sums between devices, and mistakes of its callers, each of which must be
 * caught. One thread holds all ranks, which calls that do not block allow. */
#include "tests/hostcuda/hostcuda_case.h"

#include <nccl.h>

enum { MAX_RANKS = 4, COUNT = 23, MANY_LOOKS = 20000 };

typedef struct job {
    int size;
    cudaStream_t stream[MAX_RANKS];
    ncclComm_t comm[MAX_RANKS];
    float *data[MAX_RANKS], *more[MAX_RANKS];
} job;

static void accept(ncclResult_t r)
{
    CASE_OK(r == ncclSuccess || r == ncclInProgress ? 0 : r);
}

/* Until no rank has a call in progress. */
static void settle(const job *j)
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

static void begin(job *j, int size)
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
static bool finish(const job *j)
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

static void end(job *j)
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

static void put(job *j, int r, const float *values, int count)
{
    CASE_OK(cudaSetDevice(r));
    CASE_OK(cudaMemcpy(j->data[r], values, (size_t)count * sizeof *values, cudaMemcpyHostToDevice));
}

/* Rank r sends COUNT + r values to each other rank, all in one group. */
static void exchange_all(job *j)
{
    for (int r = 0; r < j->size; r++) {
        CASE_OK(ncclGroupStart());
        for (int p = 0; p < j->size; p++) {
            if (p == r)
                continue;
            accept(ncclRecv(j->more[r] + p * COUNT, (size_t)(COUNT - p), ncclFloat32, p, j->comm[r],
                            j->stream[r]));
            accept(ncclSend(j->data[r] + r, (size_t)(COUNT - r), ncclFloat32, p, j->comm[r], j->stream[r]));
        }
        accept(ncclGroupEnd());
    }
    settle(j);
}

static void test_messages(void **state)
{
    (void)state;
    for (int size = 2; size <= MAX_RANKS; size++) {
        job j;
        float values[MAX_RANKS][COUNT], got[COUNT];

        case_reset("1M,1M,1M,1M", size);
        begin(&j, size);
        for (int r = 0; r < size; r++) {
            unsigned draw = (unsigned)r;

            case_fill(values[r], COUNT, &draw);
            put(&j, r, values[r], COUNT);
        }
        exchange_all(&j);
        assert_true(finish(&j));
        for (int r = 0; r < size; r++)
            for (int p = 0; p < size; p++) {
                if (p == r)
                    continue;
                CASE_OK(cudaSetDevice(r));
                case_fetch(got, j.more[r] + p * COUNT, (size_t)(COUNT - p) * sizeof *got);
                assert_memory_equal(got, values[p] + p, (size_t)(COUNT - p) * sizeof *got);
            }
        end(&j);
    }
}

static void test_sums_and_broadcast(void **state)
{
    (void)state;
    enum { SIZE = 3 };
    const ncclRedOp_t ops[] = { ncclSum, ncclMin, ncclMax };
    job j;
    float values[SIZE][COUNT], got[COUNT];
    int64_t whole[COUNT];

    case_reset("1M,1M,1M", 1);
    begin(&j, SIZE);
    for (int i = 0; i < 3; i++) {
        for (int r = 0; r < SIZE; r++) {
            unsigned draw = (unsigned)(r + i);

            case_fill(values[r], COUNT, &draw);
            put(&j, r, values[r], COUNT);
            accept(ncclAllReduce(j.data[r], j.data[r], COUNT, ncclFloat32, ops[i], j.comm[r], j.stream[r]));
        }
        settle(&j);
        assert_true(finish(&j));
        for (int r = 0; r < SIZE; r++) {
            CASE_OK(cudaSetDevice(r));
            case_fetch(got, j.data[r], sizeof got);
            for (int c = 0; c < COUNT; c++) {
                float want = values[0][c];

                for (int p = 1; p < SIZE; p++)
                    want = ops[i] == ncclSum                              ? want + values[p][c]
                           : (ops[i] == ncclMin) == (values[p][c] < want) ? values[p][c]
                                                                          : want;
                assert_true(got[c] == want);
            }
        }
    }
    for (int r = 0; r < SIZE; r++) {
        for (int c = 0; c < COUNT; c++)
            whole[c] = (INT64_C(1) << 40) + r * 1000 + c;
        CASE_OK(cudaSetDevice(r));
        CASE_OK(cudaMemcpy(j.data[r], whole, sizeof whole, cudaMemcpyHostToDevice));
        accept(ncclBroadcast(j.data[r], j.data[r], COUNT, ncclInt64, 1, j.comm[r], j.stream[r]));
    }
    settle(&j);
    assert_true(finish(&j));
    for (int r = 0; r < SIZE; r++) {
        CASE_OK(cudaSetDevice(r));
        case_fetch(whole, j.data[r], sizeof whole);
        assert_int_equal(whole[3], (INT64_C(1) << 40) + 1003);
    }
    end(&j);
}

/* Ranks 0 and 2, and 1 alone, in the order of keys. */
static void test_split(void **state)
{
    (void)state;
    enum { SIZE = 3 };
    job j, part = { .size = SIZE };
    const float one[COUNT] = { 1 };
    float got = 0;
    int rank = -1, size = -1;

    case_reset("1M,1M,1M", 1);
    begin(&j, SIZE);
    for (int r = 0; r < SIZE; r++)
        accept(ncclCommSplit(j.comm[r], r % 2, -r, &part.comm[r], NULL));
    settle(&j);
    settle(&part);
    for (int r = 0; r < SIZE; r++) {
        CASE_OK(ncclCommUserRank(part.comm[r], &rank));
        CASE_OK(ncclCommCount(part.comm[r], &size));
        assert_int_equal(rank, r == 0 ? 1 : 0);
        assert_int_equal(size, r == 1 ? 1 : 2);
        put(&j, r, one, COUNT);
        accept(ncclAllReduce(j.data[r], j.data[r], 1, ncclFloat32, ncclSum, part.comm[r], j.stream[r]));
    }
    settle(&part);
    assert_true(finish(&j));
    for (int r = 0; r < SIZE; r++) {
        CASE_OK(cudaSetDevice(r));
        case_fetch(&got, j.data[r], sizeof got);
        assert_true(got == (r == 1 ? 1.0f : 2.0f));
        CASE_OK(ncclCommDestroy(part.comm[r]));
    }
    end(&j);
}

/* A captured exchange is done again by each launch. */
static void test_captured(void **state)
{
    (void)state;
    enum { SIZE = 2, LAUNCHES = 5 };
    job j;
    cudaGraphExec_t exec[SIZE];
    float got = 0;

    case_reset("1M,1M", 1);
    begin(&j, SIZE);
    for (int r = 0; r < SIZE; r++) {
        cudaGraph_t graph = NULL;
        const float start = (float)(r + 1);

        put(&j, r, &start, 1);
        CASE_OK(cudaStreamBeginCapture(j.stream[r], cudaStreamCaptureModeThreadLocal));
        accept(ncclAllReduce(j.data[r], j.data[r], 1, ncclFloat32, ncclSum, j.comm[r], j.stream[r]));
        settle(&j);
        CASE_OK(cudaStreamEndCapture(j.stream[r], &graph));
        CASE_OK(cudaGraphInstantiate(&exec[r], graph, 0));
        CASE_OK(cudaGraphDestroy(graph));
    }
    for (int i = 0; i < LAUNCHES; i++)
        for (int r = 0; r < SIZE; r++) {
            CASE_OK(cudaSetDevice(r));
            CASE_OK(cudaGraphLaunch(exec[r], j.stream[r]));
        }
    assert_true(finish(&j));
    for (int r = 0; r < SIZE; r++) {
        CASE_OK(cudaSetDevice(r));
        case_fetch(&got, j.data[r], sizeof got);
        assert_true(got == 48.0f); /* 3, 6, 12, 24, 48 */
        CASE_OK(cudaGraphExecDestroy(exec[r]));
    }
    end(&j);
}

/* The N-th call of a rank fails: its state says so, the others wait, and an abort ends all. */
static void test_injected_error(void **state)
{
    (void)state;
    job j;
    ncclResult_t answer = ncclSuccess;

    setenv("HOSTCUDA_FAIL", "nccl:1:2", 1);
    case_reset("1M,1M", 1);
    begin(&j, 2);
    exchange_all(&j);
    assert_true(finish(&j));
    for (int r = 0; r < 2; r++)
        accept(ncclAllReduce(j.data[r], j.data[r], 1, ncclFloat32, ncclSum, j.comm[r], j.stream[r]));
    for (int i = 0; i < 1000 && (answer == ncclSuccess || answer == ncclInProgress); i++) {
        (void)cudaStreamQuery(j.stream[1]);
        CASE_OK(ncclCommGetAsyncError(j.comm[1], &answer));
    }
    assert_int_equal(answer, ncclRemoteError);
    assert_int_equal(cudaStreamQuery(j.stream[0]), cudaErrorNotReady);
    for (int r = 0; r < 2; r++)
        CASE_OK(ncclCommAbort(j.comm[r]));
    assert_true(finish(&j));
    for (int r = 0; r < 2; r++)
        CASE_OK(cudaStreamDestroy(j.stream[r]));
    unsetenv("HOSTCUDA_FAIL");
}

/* ---- planted mistakes ------------------------------------------------------------------------------------------------ */

enum {
    MISTAKE_NONE,
    OTHER_COUNT,
    OTHER_TYPE,
    NO_RECEIVE,
    NO_RECEIVE_THEN_END,
    NO_GROUP,
    OTHER_ORDER,
    OTHER_OPERATION,
    TWO_ON_ONE_DEVICE,
    RANK_TWICE,
    AFTER_ABORT,
    IMPATIENT,
    END_WITHOUT_START,
    END_UNDER_WORK,
    END_UNDER_GRAPH,
    RECEIVES_OVERLAP,
    RECEIVE_OVER_SEND,
    WRONG_STREAM,
    TWO_STREAMS,
    SHORT_BUFFER,
    HOST_BUFFER,
    NO_SUCH_RANK,
    NOTHING_TO_SEND
};

/* What rank r does wrong at the start; true: the case is over. */
static bool plant_setup(int mistake)
{
    ncclUniqueId id;
    ncclComm_t comm[2];
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;

    if (mistake != TWO_ON_ONE_DEVICE && mistake != RANK_TWICE && mistake != IMPATIENT &&
        mistake != END_WITHOUT_START)
        return false;
    config.blocking = 0;
    CASE_OK(ncclGetUniqueId(&id));
    cudaStream_t s = case_stream(0);
    void *data = case_device(NULL, 64);
    accept(ncclCommInitRankConfig(&comm[0], 2, id, 0, &config));
    if (mistake == IMPATIENT)
        accept(ncclAllReduce(data, data, 1, ncclFloat32, ncclSum, comm[0], s));
    if (mistake == END_WITHOUT_START)
        accept(ncclGroupEnd());
    if (mistake == RANK_TWICE)
        CASE_OK(cudaSetDevice(1));
    accept(ncclCommInitRankConfig(&comm[1], 2, id, mistake == RANK_TWICE ? 0 : 1, &config));
    return true;
}

static void one_reduce(job *j, int r, ncclRedOp_t op)
{
    accept(ncclAllReduce(j->data[r], j->data[r], 4, ncclFloat32, op, j->comm[r], j->stream[r]));
}

/* Messages of rank r to and from the other, with rank 1 doing it wrong. */
static void one_exchange(job *j, int r, int mistake)
{
    const bool wrong = r == 1;
    const size_t count = wrong && mistake == OTHER_COUNT ? 5 : wrong && mistake == SHORT_BUFFER ? 4000 : 4;
    const ncclDataType_t type = wrong && mistake == OTHER_TYPE ? ncclInt32 : ncclFloat32;
    float on_host[8] = { 0 }, *to = wrong && mistake == HOST_BUFFER ? on_host : j->more[r];
    const int peer = wrong && mistake == NO_SUCH_RANK ? 2 : 1 - r;
    cudaStream_t s = wrong && mistake == WRONG_STREAM ? j->stream[0] : j->stream[r];

    if (wrong && mistake == RECEIVE_OVER_SEND)
        to = j->data[r];
    if (mistake != NO_GROUP)
        CASE_OK(ncclGroupStart());
    accept(
        ncclSend(j->data[r], wrong && mistake == NOTHING_TO_SEND ? 0 : 4, ncclFloat32, peer, j->comm[r], s));
    if (wrong && mistake == TWO_STREAMS)
        s = case_stream(1);
    if (mistake == NO_GROUP)
        settle(j);
    if (!wrong || (mistake != NO_RECEIVE && mistake != NO_RECEIVE_THEN_END))
        accept(ncclRecv(to, count, type, peer, j->comm[r], s));
    if (wrong && mistake == RECEIVES_OVERLAP)
        accept(ncclRecv(to + 2, count, type, peer, j->comm[r], s));
    if (mistake != NO_GROUP)
        accept(ncclGroupEnd());
}

static void capture_reduce(job *j, int r, cudaGraphExec_t *out)
{
    cudaGraph_t graph = NULL;

    CASE_OK(cudaSetDevice(r));
    CASE_OK(cudaStreamBeginCapture(j->stream[r], cudaStreamCaptureModeThreadLocal));
    one_reduce(j, r, ncclSum);
    settle(j);
    CASE_OK(cudaStreamEndCapture(j->stream[r], &graph));
    CASE_OK(cudaGraphInstantiate(out, graph, 0));
    CASE_OK(cudaGraphDestroy(graph));
}

static void plant(void *user)
{
    const int mistake = *(int *)user;
    job j;
    cudaGraphExec_t exec = NULL;

    case_reset("1M,1M", 3);
    if (plant_setup(mistake))
        return;
    begin(&j, 2);
    if (mistake == AFTER_ABORT)
        CASE_OK(ncclCommAbort(j.comm[1]));
    for (int r = 0; r < 2; r++) {
        const bool swap = r == 1 && mistake == OTHER_ORDER;

        CASE_OK(cudaSetDevice(r));
        for (int i = 0; i < 2; i++) {
            if ((i == 0) != swap)
                one_exchange(&j, r, mistake);
            else if (mistake != NO_RECEIVE_THEN_END)
                one_reduce(&j, r, r == 1 && mistake == OTHER_OPERATION ? ncclMax : ncclSum);
            settle(&j);
        }
    }
    if (mistake == END_UNDER_WORK)
        CASE_OK(ncclCommDestroy(j.comm[0]));
    if (mistake == END_UNDER_GRAPH)
        capture_reduce(&j, 0, &exec);
    (void)finish(&j);
    for (int r = 1; r >= 0; r--)
        CASE_OK(ncclCommDestroy(j.comm[r]));
}

static void test_mistakes_are_caught(void **state)
{
    (void)state;
    static const case_mistake list[] = {
        { OTHER_COUNT,
          "NCCL group mismatch: rank 0 calls ncclSend(4 of type 7, peer 1), rank 1 calls ncclRecv(5" },
        { OTHER_TYPE, "NCCL group mismatch" },
        { NO_RECEIVE, "NCCL group mismatch: ranks wait for each other" },
        { NO_RECEIVE_THEN_END, "never receives" },
        { NO_GROUP, "NCCL group mismatch: ranks wait for each other" },
        { OTHER_ORDER, "NCCL group mismatch: ranks wait for each other" },
        { OTHER_OPERATION, "NCCL group mismatch: collective call 0" },
        { TWO_ON_ONE_DEVICE, "ranks 0 and 1 of one communicator are both on device 0" },
        { RANK_TWICE, "rank 0 comes twice" },
        { AFTER_ABORT, "destroyed or aborted" },
        { IMPATIENT, "in progress" },
        { END_WITHOUT_START, "no group was started" },
        { END_UNDER_WORK, "queued and not done" },
        { END_UNDER_GRAPH, "captured graph" },
        { RECEIVES_OVERLAP, "overlap" },
        { RECEIVE_OVER_SEND, "where another message of the group lies" },
        { WRONG_STREAM, "wrong stream" },
        { TWO_STREAMS, "two streams of one communicator" },
        { SHORT_BUFFER, "recvbuff" },
        { HOST_BUFFER, "recvbuff" },
        { NO_SUCH_RANK, "rank 2 of 2 ranks" },
        { NOTHING_TO_SEND, "count of 0" },
    };

    case_check_mistakes(plant, list, sizeof list / sizeof *list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages),       cmocka_unit_test(test_sums_and_broadcast),
        cmocka_unit_test(test_split),          cmocka_unit_test(test_captured),
        cmocka_unit_test(test_injected_error), cmocka_unit_test(test_mistakes_are_caught),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
