/* SPDX-License-Identifier: Apache-2.0 */
/* Collective calls of ranks that are processes, made of exchanges with all: every rank hears from every other, so that a
 * late one is named by each that waits for it, and every sum is made in rank order.
 *
 * Few bytes: every rank sends its share to all and adds them up itself. Many: rank s gets slice s of all shares, adds, and
 * sends the sum to all, so a value travels about twice. MPI's own reductions promise no order of additions. The number of
 * messages grows with the square of the ranks; that is right for tens of them.
 */
#include "dist/comm_process.h"

#include "dist/reduce.h"

#include <string.h>

enum { SMALL_BYTES = 8 * 1024 };

static int64_t slice_first(const process_comm *c, int64_t count, int32_t rank)
{
    return count / c->head.size * rank + gnti_min_i64(rank, count % c->head.size);
}

static gnt_status reserve(process_comm *c, size_t bytes)
{
    gnt_status st = GNT_OK;
    char *fresh = NULL;

    if (bytes <= c->scratch_bytes)
        return GNT_OK;
    GNT_TRY(gnti_alloc_array(&fresh, (int64_t)bytes));
    gnti_free(c->scratch);
    c->scratch = fresh;
    c->scratch_bytes = bytes;
done:
    return st;
}

/* data[first, first + count) = the ranks' shares of it in rank order. Share r lies at share(r) in scratch, one's own in data. */
static void add_up(process_comm *c, const gnti_all_reduce_args *a, char *mine, int64_t count)
{
    const size_t bytes = (size_t)count * gnti_reduce_value_bytes(a->dtype);
    char *sum = c->scratch + (size_t)c->head.rank * bytes; /* the place of the share that never travels */

    if (c->head.rank > 0) { /* its own share comes in its turn */
        char *first = c->scratch;

        for (int32_t r = 1; r < c->head.rank; r++)
            gnti_reduce_into(first, c->scratch + (size_t)r * bytes, count, a->dtype, a->op);
        gnti_reduce_into(first, mine, count, a->dtype, a->op);
        sum = first;
    } else {
        memcpy(sum, mine, bytes);
    }
    for (int32_t r = c->head.rank + 1; r < c->head.size; r++)
        gnti_reduce_into(sum, c->scratch + (size_t)r * bytes, count, a->dtype, a->op);
    memcpy(mine, sum, bytes);
}

static gnt_status run_with_all(process_comm *c, const char *operation)
{
    int32_t num_peers = 0;

    for (int32_t r = 0; r < c->head.size; r++)
        if (r != c->head.rank)
            c->peers[num_peers++] = c->peers[r];
    return process_exchange_run(c, operation, c->peers, num_peers);
}

gnt_status process_all_reduce(gnti_comm *head, const gnti_all_reduce_args *a)
{
    gnt_status st = GNT_OK;
    process_comm *c = (process_comm *)head;
    const size_t value = gnti_reduce_value_bytes(a->dtype);
    const bool sliced = (double)a->count * (double)value > SMALL_BYTES;
    const int64_t first = sliced ? slice_first(c, a->count, head->rank) : 0;
    const int64_t count = sliced ? slice_first(c, a->count, head->rank + 1) - first : a->count;
    const size_t mine = (size_t)count * value;
    char *data = a->data;

    if (head->size == 1)
        return GNT_OK;
    GNT_TRY(reserve(c, (size_t)head->size * mine));
    for (int32_t r = 0; r < head->size; r++) {
        const int64_t from = sliced ? slice_first(c, a->count, r) : 0;
        const int64_t end = sliced ? slice_first(c, a->count, r + 1) : a->count;

        c->peers[r] = (gnti_comm_peer){ .rank = r,
                                        .send = data + (size_t)from * value,
                                        .send_bytes = (size_t)(end - from) * value,
                                        .receive = c->scratch + (size_t)r * mine,
                                        .receive_bytes = mine };
    }
    GNT_TRY(run_with_all(c, "all-reduce"));
    add_up(c, a, data + (size_t)first * value, count);
    if (!sliced)
        goto done;
    for (int32_t r = 0; r < head->size; r++) {
        const int64_t from = slice_first(c, a->count, r), end = slice_first(c, a->count, r + 1);

        c->peers[r] = (gnti_comm_peer){ .rank = r,
                                        .send = data + (size_t)first * value,
                                        .send_bytes = mine,
                                        .receive = data + (size_t)from * value,
                                        .receive_bytes = (size_t)(end - from) * value };
    }
    GNT_TRY(run_with_all(c, "all-reduce"));
done:
    return st;
}

gnt_status process_barrier(gnti_comm *head)
{
    gnt_status st = GNT_OK;
    process_comm *c = (process_comm *)head;

    for (int32_t r = 0; r < head->size; r++)
        c->peers[r] = (gnti_comm_peer){ .rank = r };
    GNT_TRY(run_with_all(c, "barrier"));
done:
    return st;
}
