/* SPDX-License-Identifier: Apache-2.0 */
/* In-arcs by exchange: the rank that holds arc u -> v tells it to the rank of v.
 *
 * Two passes over the own out-arcs, each in rounds of at most ROUND_ARCS arcs over all ranks, so that buffers stay small
 * whatever the graph: the first counts the arcs of each row, the second puts them in their places; rows are sorted at the end.
 * All ranks take part in as many rounds as the rank with the most arcs needs.
 */
#include "dist/load.h"

#include "base/alloc.h"

#include <string.h>

enum { ROUND_ARCS = 1 << 20 };

/* An arc on its way: positions of both ends. */
typedef struct sent_arc {
    int32_t source, target;
    float weight;
} sent_arc;

typedef struct reversal {
    const gnti_part_layout *layout;
    gnti_comm *comm;
    const gnti_graph *out;
    int64_t *own_start; /* (K) */
    int64_t row, arc;   /* what is sent next */
    int64_t chunk;      /* own chunk of row */
    int64_t round_arcs;
    sent_arc *send, *receive; /* by peer, one after the other */
    int64_t receive_capacity;
    int64_t *send_ptr, *receive_ptr; /* (ranks + 1) arcs */
    gnti_comm_peer *peers;           /* (ranks) */
    int64_t *counts;                 /* (2 ranks) sent and received */
    gnti_graph *in;
    int64_t *next; /* (num_own) counts, then the next place of each row */
} reversal;

static int64_t position_of_row(reversal *v, int64_t row)
{
    const gnti_part_layout *l = v->layout;

    for (;; v->chunk++) {
        const int64_t start = v->own_start[v->chunk], c = v->chunk;

        if (start >= 0 && row < start + l->first[c + 1] - l->first[c])
            return l->first[c] + row - start;
    }
}

static int32_t owner_of(const reversal *v, int32_t position)
{
    return v->layout->owner[gnti_part_layout_chunk(v->layout, position)];
}

/* Sorts the next arcs by the rank of their target: count, then place. */
static void pack_round(reversal *v)
{
    const int64_t end = gnti_min_i64(v->out->num_arcs, v->arc + v->round_arcs);
    int64_t *next = v->counts; /* free again until counts are exchanged */

    memset(v->send_ptr, 0, (size_t)(v->comm->size + 1) * sizeof *v->send_ptr);
    for (int64_t a = v->arc; a < end; a++)
        v->send_ptr[owner_of(v, v->out->columns[a]) + 1]++;
    for (int32_t q = 0; q < v->comm->size; q++) {
        v->send_ptr[q + 1] += v->send_ptr[q];
        next[q] = v->send_ptr[q];
    }
    for (; v->arc < end; v->arc++) {
        const int32_t target = v->out->columns[v->arc];

        while (v->arc >= v->out->offsets[v->row + 1])
            v->row++;
        v->send[next[owner_of(v, target)]++] =
            (sent_arc){ (int32_t)position_of_row(v, v->row), target,
                        v->out->weights != NULL ? v->out->weights[v->arc] : 1.0f };
    }
}

static gnt_status exchange(reversal *v)
{
    gnt_status st = GNT_OK;
    gnti_exchange *x = NULL;

    GNT_TRY(gnti_comm_exchange_start(v->comm, v->peers, v->comm->size, &x));
    GNT_TRY(gnti_comm_exchange_finish(&x));
done:
    gnti_comm_exchange_finish(&x);
    return st;
}

static gnt_status exchange_round(reversal *v)
{
    gnt_status st = GNT_OK;
    const int32_t size = v->comm->size;

    for (int32_t q = 0; q < size; q++) {
        v->counts[q] = v->send_ptr[q + 1] - v->send_ptr[q];
        v->peers[q] = (gnti_comm_peer){ .rank = q,
                                        .send = &v->counts[q],
                                        .send_bytes = sizeof *v->counts,
                                        .receive = &v->counts[size + q],
                                        .receive_bytes = sizeof *v->counts };
    }
    GNT_TRY(exchange(v));
    v->receive_ptr[0] = 0;
    for (int32_t q = 0; q < size; q++)
        v->receive_ptr[q + 1] = v->receive_ptr[q] + v->counts[size + q];
    if (v->receive_ptr[size] > v->receive_capacity) {
        v->receive_capacity = v->receive_ptr[size];
        GNT_TRY(gnti_realloc_array(&v->receive, v->receive_capacity));
    }
    for (int32_t q = 0; q < size; q++)
        v->peers[q] = (gnti_comm_peer){ .rank = q,
                                        .send = v->send + v->send_ptr[q],
                                        .send_bytes = (size_t)v->counts[q] * sizeof *v->send,
                                        .receive = v->receive + v->receive_ptr[q],
                                        .receive_bytes = (size_t)v->counts[size + q] * sizeof *v->receive };
    GNT_TRY(exchange(v));
done:
    return st;
}

/* -1: not a row of this rank, so the ranks disagree about chunks. */
static int64_t row_of(const reversal *v, int64_t i)
{
    const int32_t target = v->receive[i].target;

    if (target < 0 || target >= v->layout->num_nodes)
        return -1;
    return gnti_load_own_row(v->layout, v->own_start, target);
}

static bool count_round(const reversal *v)
{
    for (int64_t i = 0; i < v->receive_ptr[v->comm->size]; i++) {
        const int64_t row = row_of(v, i);

        if (row < 0)
            return false;
        v->next[row]++;
    }
    return true;
}

static bool place_round(const reversal *v)
{
    for (int64_t i = 0; i < v->receive_ptr[v->comm->size]; i++) {
        const int64_t row = row_of(v, i), to = row >= 0 ? v->next[row]++ : 0;

        if (row < 0 || to >= v->in->offsets[row + 1])
            return false;
        v->in->columns[to] = v->receive[i].source;
        if (v->in->weights != NULL)
            v->in->weights[to] = v->receive[i].weight;
    }
    return true;
}

static gnt_status run_rounds(reversal *v, int64_t num_rounds, bool (*take)(const reversal *v))
{
    gnt_status st = GNT_OK;

    v->row = v->arc = v->chunk = 0;
    for (int64_t i = 0; i < num_rounds; i++) {
        pack_round(v);
        GNT_TRY(exchange_round(v));
        GNT_CHECK(take(v), GNT_ERR_STATE,
                  "rank %d got arcs of nodes that are not its own: ranks were given different chunk maps",
                  (int)v->comm->rank);
    }
done:
    return st;
}

static gnt_status open_reversal(reversal *v, int64_t *num_rounds)
{
    gnt_status st = GNT_OK;
    const int64_t size = v->comm->size;
    gnti_all_reduce_args most = { .data = num_rounds, .count = 1, .dtype = GNT_I64, .op = GNTI_COMM_MAX };

    v->round_arcs = gnti_max_i64(1, ROUND_ARCS / size);
    *num_rounds = gnti_ceil_div(v->out->num_arcs, v->round_arcs);
    GNT_TRY(gnti_comm_all_reduce(v->comm, &most));
    GNT_TRY(gnti_load_own_start(v->layout, v->comm->rank, &v->own_start));
    GNT_TRY(gnti_alloc_array(&v->send, gnti_min_i64(v->round_arcs, v->out->num_arcs)));
    GNT_TRY(gnti_alloc_array(&v->receive, 0));
    GNT_TRY(gnti_alloc_array(&v->send_ptr, size + 1));
    GNT_TRY(gnti_alloc_array(&v->receive_ptr, size + 1));
    GNT_TRY(gnti_calloc_array(&v->peers, size));
    GNT_TRY(gnti_calloc_array(&v->counts, 2 * size));
    GNT_TRY(gnti_calloc_array(&v->next, v->out->num_rows));
done:
    return st;
}

static void close_reversal(reversal *v)
{
    gnti_free(v->own_start);
    gnti_free(v->send);
    gnti_free(v->receive);
    gnti_free(v->send_ptr);
    gnti_free(v->receive_ptr);
    gnti_free(v->peers);
    gnti_free(v->counts);
    gnti_free(v->next);
    gnti_graph_free(&v->in);
}

gnt_status gnti_load_reverse(const gnti_part_layout *layout, gnti_comm *comm, const gnti_graph *out_arcs,
                             gnti_graph **in_arcs)
{
    gnt_status st = GNT_OK;
    reversal v = { .layout = layout, .comm = comm, .out = out_arcs };
    int64_t num_rounds = 0, num = 0;

    GNT_TRY(open_reversal(&v, &num_rounds));
    GNT_TRY(run_rounds(&v, num_rounds, count_round));
    for (int64_t r = 0; r < out_arcs->num_rows; r++)
        num += v.next[r];
    GNT_TRY(gnti_graph_alloc(out_arcs->num_rows, out_arcs->num_cols, num, out_arcs->weights != NULL, &v.in));
    for (int64_t r = 0; r < out_arcs->num_rows; r++) {
        v.in->offsets[r + 1] = v.in->offsets[r] + v.next[r];
        v.next[r] = v.in->offsets[r];
    }
    GNT_TRY(run_rounds(&v, num_rounds, place_round));
    GNT_TRY(gnti_load_sort_rows(v.in));
    *in_arcs = v.in;
    v.in = NULL;
done:
    close_reversal(&v);
    return st;
}
