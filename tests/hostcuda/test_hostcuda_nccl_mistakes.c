/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes of callers of NCCL, each of which its stand-in must catch. */
#include "tests/hostcuda/nccl_job.h"

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
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_mistakes_are_caught) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
