/* SPDX-License-Identifier: Apache-2.0 */
/* Logits of a member, by node of the dataset: evaluated as validation is, gathered at rank 0.
 *
 * One evaluation serves all members: their logits stay where they are until the weights change or the training program, which
 * shares the memory, runs, or another trainer's where these share it too. Over parts each rank sends the ids and logits of its own rows.
 */
#include "train/member.h"
#include "train/trainer_state.h"

#include "base/alloc.h"

#include <string.h>

typedef struct logits_call {
    gnt_trainer *tr;
    int32_t member;
    bool best;
    float *out; /* (N, C), of rank 0 alone */
} logits_call;

/* With the best weights in the place of the others, which come back whatever happens. */
static gnt_status run_evaluator(const logits_call *call, gnti_rank *rank)
{
    gnt_status st = GNT_OK, back = GNT_OK;

    if (call->best)
        GNT_TRY(gnti_params_use_best(rank->params, true));
    st = gnti_evaluator_run(rank->evaluator);
    if (call->best)
        back = gnti_params_use_best(rank->params, false);
done:
    return st != GNT_OK ? st : back;
}

/* ---- rows to rank 0 ------------------------------------------------------------------------------------------------ */

/* A message: ids of the rows, then their logits. */
static size_t message_bytes(int64_t rows, int64_t width)
{
    return (size_t)rows * (sizeof(int64_t) + (size_t)width * sizeof(float));
}

static void lay_out(const char *message, int64_t rows, int64_t width, const int64_t *row_of, float *out)
{
    const char *logits = message + (size_t)rows * sizeof(int64_t);

    for (int64_t i = 0; i < rows; i++) {
        int64_t id;

        memcpy(&id, message + (size_t)i * sizeof id, sizeof id);
        memcpy(out + (row_of != NULL ? row_of[id] : id) * width, logits + (size_t)(i * width) * sizeof(float),
               (size_t)width * sizeof(float));
    }
}

static gnt_status pack(const gnti_rank *rank, int64_t width, char **out)
{
    gnt_status st = GNT_OK;
    const int64_t rows = rank->rows->num_own;

    GNT_TRY(gnti_alloc_array(out, (int64_t)message_bytes(rows, width) + 1));
    memcpy(*out, rank->rows->part->ids, (size_t)rows * sizeof(int64_t));
    memcpy(*out + (size_t)rows * sizeof(int64_t), rank->logits, (size_t)(rows * width) * sizeof(float));
done:
    return st;
}

static gnt_status send_rows(const gnti_rank *rank, char *message, size_t bytes)
{
    gnt_status st = GNT_OK;
    gnti_exchange *x = NULL;
    const gnti_comm_peer root = { .rank = 0, .send = message, .send_bytes = bytes };

    GNT_TRY(gnti_comm_exchange_start(rank->comm, &root, 1, &x));
    GNT_TRY(gnti_comm_exchange_finish(&x));
done:
    return st;
}

static gnt_status receive_rows(const gnti_rank *rank, const int64_t *counts, int64_t width,
                               const int64_t *row_of, float *out)
{
    gnt_status st = GNT_OK;
    const int32_t size = rank->comm->size;
    gnti_comm_peer *peers = NULL;
    char **message = NULL;
    gnti_exchange *x = NULL;

    GNT_TRY(gnti_calloc_array(&peers, size));
    GNT_TRY(gnti_calloc_array(&message, size));
    for (int32_t r = 1; r < size; r++) {
        const size_t bytes = message_bytes(counts[r], width);

        GNT_TRY(gnti_alloc_array(&message[r], (int64_t)bytes + 1));
        peers[r - 1] = (gnti_comm_peer){ .rank = r, .receive = message[r], .receive_bytes = bytes };
    }
    GNT_TRY(gnti_comm_exchange_start(rank->comm, peers, size - 1, &x));
    GNT_TRY(gnti_comm_exchange_finish(&x));
    for (int32_t r = 1; r < size; r++)
        lay_out(message[r], counts[r], width, row_of, out);
done:
    for (int32_t r = 0; message != NULL && r < size; r++)
        gnti_free(message[r]);
    gnti_free(message);
    gnti_free(peers);
    return st;
}

static gnt_status gather(const logits_call *call, gnti_rank *rank)
{
    gnt_status st = GNT_OK;
    const gnt_dataset *data = call->tr->data;
    const int64_t width = data->y.num_classes, rows = rank->rows->num_own;
    const int64_t *origin = NULL;
    int64_t *counts = NULL, *row_of = NULL;
    char *message = NULL;

    GNT_TRY(gnti_calloc_array(&counts, rank->comm->size));
    counts[rank->comm->rank] = rows;
    GNT_TRY(gnti_comm_all_reduce(
        rank->comm, &(gnti_all_reduce_args){ counts, rank->comm->size, GNT_I64, GNTI_COMM_SUM }));
    GNT_TRY(pack(rank, width, &message));
    if (rank->comm->rank != 0) {
        GNT_TRY(send_rows(rank, message, message_bytes(rows, width)));
        goto done;
    }
    GNT_TRY(gnti_dataset_get_origin(data, &origin));
    if (origin != NULL)
        GNT_TRY(gnti_graph_invert(origin, data->num_nodes, &row_of));
    lay_out(message, rows, width, row_of, call->out);
    GNT_TRY(receive_rows(rank, counts, width, row_of, call->out));
done:
    gnti_free(counts);
    gnti_free(row_of);
    gnti_free(message);
    return st;
}

static gnt_status rank_logits(gnti_rank *rank, void *user)
{
    gnt_status st = GNT_OK;
    const logits_call *call = user;
    const gnti_logits_of wanted = call->best ? GNTI_LOGITS_OF_BEST : GNTI_LOGITS_OF_PRESENT;

    /* what other trainers left is not ours; the ranks of a gang, which must agree, take no chance */
    const bool ours = gnti_rank_take_turn(call->tr, rank) &&
                      (rank->comm->size == 1 || gnti_program_scratch_bytes(rank->program) == 0);

    if (call->tr->logits_of != wanted || !ours)
        GNT_TRY(run_evaluator(call, rank));
    if (rank->rows == NULL) {
        GNT_TRY(gnti_evaluator_read(rank->evaluator, call->member, call->out));
    } else {
        GNT_TRY(gnti_evaluator_read(rank->evaluator, call->member, rank->logits));
        GNT_TRY(gather(call, rank));
    }
done:
    gnti_rank_give_turn(call->tr, rank);
    return st;
}

gnt_status gnti_trainer_member_logits(gnt_trainer *tr, int32_t member, bool best, float *logits)
{
    gnt_status st = GNT_OK;
    logits_call call = { .tr = tr, .member = member, .best = best, .out = logits };

    GNT_CHECK(tr != NULL && member >= 0 && member < tr->num_members, GNT_ERR_ARG,
              "member %d is outside of 0 to %d", (int)member, tr != NULL ? (int)tr->num_members - 1 : -1);
    GNT_CHECK(logits != NULL || !gnti_trainer_is_root(tr), GNT_ERR_ARG, "logits must not be NULL");
    GNT_CHECK((tr->status == GNT_OK || tr->status == GNT_STOPPED) && tr->position == 0, GNT_ERR_STATE,
              "the run has failed or was stopped in epoch %lld", (long long)tr->epoch + 1);
    call.best = best && tr->members[member].best_epoch > 0.0; /* never evaluated: the present weights */
    GNT_TRY(gnti_ranks_each(tr->ranks, rank_logits, &call));
    tr->logits_of = call.best ? GNTI_LOGITS_OF_BEST : GNTI_LOGITS_OF_PRESENT;
done:
    if (tr != NULL && st != GNT_OK)
        tr->logits_of = GNTI_LOGITS_OF_NOTHING;
    return st;
}
