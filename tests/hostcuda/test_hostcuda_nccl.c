/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in of NCCL: results of messages, sums, broadcasts, parts of a split, captured calls, and an injected error. */
#include "tests/hostcuda/nccl_job.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages),       cmocka_unit_test(test_sums_and_broadcast),
        cmocka_unit_test(test_split),          cmocka_unit_test(test_captured),
        cmocka_unit_test(test_injected_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
