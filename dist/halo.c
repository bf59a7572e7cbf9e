/* SPDX-License-Identifier: Apache-2.0 */
/* Halo exchange: own rows are packed into one message a neighbour, halo rows land where they belong.
 *
 * A message is (blocks, rows, floats) without gaps, in float or bfloat16. Rows of the receiver's matrix have gaps (padded
 * strides, blocks of members); float messages are laid down across them by the communicator itself, so that nothing is
 * unpacked here, and only bfloat16 waits in a buffer of ours until finish makes floats of it. Buffers grow to the first
 * exchange's size and stay.
 */
#include "dist/halo.h"

#include "base/alloc.h"
#include "kernels/bf16.h"

#include <math.h>
#include <string.h>

enum { PARALLEL_BYTES = 1 << 20 }; /* smaller messages are packed by one thread: waking others takes longer */

struct gnti_halo {
    gnti_comm *comm;
    const gnti_halo_plan *plan;
    gnti_wire wire;
    int64_t max_floats;
    gnti_comm_peer *peers;
    char *send, *receive;
    size_t send_bytes, receive_bytes; /* what the buffers hold */
    bool under_way;
    gnti_exchange *exchange;
    gnti_halo_rows rows; /* of the exchange under way */
    size_t value_bytes;
    double started;
    gnti_halo_counters counters;
};

static size_t rows_bytes(int64_t rows, int64_t floats, size_t value_bytes)
{
    return (size_t)rows * (size_t)floats * value_bytes;
}

gnt_status gnti_halo_create(gnti_comm *comm, const gnti_halo_plan *plan, gnti_wire wire, int64_t max_floats,
                            gnti_halo **out)
{
    gnt_status st = GNT_OK;
    gnti_halo *h = NULL;
    const size_t value = wire == GNTI_WIRE_BF16 ? sizeof(uint16_t) : sizeof(float);

    GNT_CHECK(comm != NULL && plan != NULL && out != NULL && max_floats >= 0, GNT_ERR_ARG,
              "a halo exchange needs a communicator, a plan and a width of at least 0");
    GNT_TRY(gnti_calloc_array(&h, 1));
    h->comm = comm;
    h->plan = plan;
    h->wire = wire;
    h->max_floats = max_floats;
    GNT_TRY(gnti_calloc_array(&h->peers, plan->num_peers));
    GNT_TRY(gnti_reserve_bytes(&h->send, &h->send_bytes,
                               rows_bytes(plan->send_ptr[plan->num_peers], max_floats, value)));
    if (wire == GNTI_WIRE_BF16)
        GNT_TRY(gnti_reserve_bytes(&h->receive, &h->receive_bytes,
                                   rows_bytes(plan->num_halo, max_floats, value)));
    *out = h;
    h = NULL;
done:
    gnti_halo_free(&h);
    return st;
}

void gnti_halo_free(gnti_halo **halo)
{
    gnti_halo *h = *halo;

    if (h == NULL)
        return;
    if (h->exchange != NULL) { /* the error that led here is what the caller reports */
        const gnti_error_record error = *gnti_error_get();

        (void)gnti_comm_exchange_finish(&h->exchange);
        (void)gnti_error_adopt(&error);
    }
    gnti_free(h->peers);
    gnti_free(h->send);
    gnti_free(h->receive);
    gnti_free(h);
    *halo = NULL;
}

static void to_bf16(void *to, const float *from, int64_t count)
{
    uint16_t *out = to;

#pragma omp simd
    for (int64_t i = 0; i < count; i++)
        out[i] = gnti_bf16_from_float(from[i]);
}

static void from_bf16(float *to, const void *from, int64_t count)
{
    const uint16_t *in = from;

#pragma omp simd
    for (int64_t i = 0; i < count; i++)
        to[i] = gnti_bf16_to_float(in[i]);
}

/* How many threads a loop over so many bytes is worth. */
static int team(const gnti_halo *h, size_t bytes)
{
    return bytes >= PARALLEL_BYTES && h->comm->num_threads > 1 ? (int)h->comm->num_threads : 1;
}

/* One peer's message: (blocks, rows, floats). */
static void pack(const gnti_halo *h, int32_t p, char *message, int threads)
{
    const gnti_halo_rows *r = &h->rows;
    const int64_t first = h->plan->send_ptr[p], count = h->plan->send_ptr[p + 1] - first;
    const int32_t *own = h->plan->send_rows + first;
    const size_t row_bytes = (size_t)r->floats * h->value_bytes;
    const bool rounds = h->value_bytes == sizeof(uint16_t);

#pragma omp parallel for collapse(2) schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t b = 0; b < r->num_blocks; b++)
        for (int64_t i = 0; i < count; i++) {
            const float *from = r->data + b * r->block_stride + own[i] * r->row_stride;
            char *to = message + (size_t)(b * count + i) * row_bytes;

            if (rounds)
                to_bf16(to, from, r->floats);
            else
                memcpy(to, from, row_bytes);
        }
}

/* Halo rows of one peer out of its bfloat16 message. */
static void unpack(const gnti_halo *h, int32_t p, const char *message, int threads)
{
    const gnti_halo_rows *r = &h->rows;
    const int64_t first = h->plan->recv_ptr[p], count = h->plan->recv_ptr[p + 1] - first;
    float *data = r->data + (h->plan->num_own + first) * r->row_stride;

#pragma omp parallel for collapse(2) schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t b = 0; b < r->num_blocks; b++)
        for (int64_t i = 0; i < count; i++)
            from_bf16(data + b * r->block_stride + i * r->row_stride,
                      message + (size_t)((b * count + i) * r->floats) * sizeof(uint16_t), r->floats);
}

/* Where a float message lands in the matrix. */
static gnti_comm_shape landing(const gnti_halo_rows *r, int64_t rows)
{
    gnti_comm_shape s = { 0 };

    if (r->row_stride == r->floats && r->num_blocks == 1)
        return s;
    s.row_bytes = (size_t)r->floats * sizeof(float);
    s.row_stride = (size_t)r->row_stride * sizeof(float);
    s.block_rows = (size_t)rows;
    s.block_stride = (size_t)r->block_stride * sizeof(float);
    return s;
}

static void describe_peers(gnti_halo *h)
{
    const gnti_halo_plan *plan = h->plan;
    const gnti_halo_rows *r = &h->rows;
    const int64_t floats = r->num_blocks * r->floats;
    const int threads = team(h, rows_bytes(plan->send_ptr[plan->num_peers], floats, h->value_bytes));

    for (int32_t p = 0; p < plan->num_peers; p++) {
        gnti_comm_peer *peer = &h->peers[p];
        const int64_t from = plan->recv_ptr[p], rows = plan->recv_ptr[p + 1] - from;
        char *message = h->send + rows_bytes(plan->send_ptr[p], floats, h->value_bytes);

        *peer = (gnti_comm_peer){ .rank = plan->peer[p], .send = message };
        peer->send_bytes = rows_bytes(plan->send_ptr[p + 1] - plan->send_ptr[p], floats, h->value_bytes);
        peer->receive_bytes = rows_bytes(rows, floats, h->value_bytes);
        if (h->value_bytes == sizeof(uint16_t)) {
            peer->receive = h->receive + rows_bytes(from, floats, h->value_bytes);
        } else if (rows > 0 && floats > 0) {
            peer->receive = r->data + (plan->num_own + from) * r->row_stride;
            peer->shape = landing(r, rows);
        }
        pack(h, p, message, threads);
    }
}

gnt_status gnti_halo_start(gnti_halo *h, const gnti_halo_rows *rows, bool raw)
{
    gnt_status st = GNT_OK;
    const int64_t floats = rows->num_blocks * rows->floats, num_sent = h->plan->send_ptr[h->plan->num_peers];

    GNT_CHECK(!h->under_way, GNT_ERR_STATE, "halo exchange started while one is under way");
    GNT_CHECK(floats >= 0 && floats <= h->max_floats, GNT_ERR_ARG,
              "halo rows have %lld blocks of %lld floats, this exchange was made for %lld in all",
              (long long)rows->num_blocks, (long long)rows->floats, (long long)h->max_floats);
    GNT_CHECK(rows->row_stride >= rows->floats, GNT_ERR_ARG, "halo rows of %lld floats lie %lld apart",
              (long long)rows->floats, (long long)rows->row_stride);
    h->rows = *rows;
    h->value_bytes = h->wire == GNTI_WIRE_BF16 && !raw ? sizeof(uint16_t) : sizeof(float);
    GNT_TRY(gnti_reserve_bytes(&h->send, &h->send_bytes, rows_bytes(num_sent, floats, h->value_bytes)));
    h->started = gnti_comm_clock(h->comm);
    describe_peers(h);
    GNT_TRY(gnti_comm_exchange_start(h->comm, h->peers, h->plan->num_peers, &h->exchange));
    h->under_way = true;
    h->counters.exchanges++;
    h->counters.rows_sent += num_sent;
    h->counters.bytes_sent += (int64_t)rows_bytes(num_sent, floats, h->value_bytes);
    h->counters.bytes_received += (int64_t)rows_bytes(h->plan->num_halo, floats, h->value_bytes);
done:
    return st;
}

gnt_status gnti_halo_poll(gnti_halo *h, bool *out_done)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(h->under_way, GNT_ERR_STATE, "halo exchange polled while none is under way");
    GNT_TRY(gnti_comm_exchange_poll(h->exchange, out_done));
done:
    return st;
}

gnt_status gnti_halo_finish(gnti_halo *h)
{
    gnt_status st = GNT_OK;
    const gnti_halo_plan *plan = h->plan;
    const double before = gnti_comm_clock(h->comm);

    GNT_CHECK(h->under_way, GNT_ERR_STATE, "halo exchange finished while none is under way");
    h->under_way = false;
    GNT_TRY(gnti_comm_exchange_finish(&h->exchange));
    h->counters.exposed_seconds += gnti_comm_clock(h->comm) - before;
    if (plan->num_peers > 0)
        h->counters.transfer_seconds += fmax(0.0, h->comm->arrived_seconds - h->started);
    for (int32_t p = 0; h->value_bytes == sizeof(uint16_t) && p < plan->num_peers; p++)
        unpack(h, p, h->peers[p].receive, team(h, h->peers[p].receive_bytes));
done:
    return st;
}

void gnti_halo_get_counters(const gnti_halo *h, gnti_halo_counters *out)
{
    *out = h->counters;
}
