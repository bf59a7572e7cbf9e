/* SPDX-License-Identifier: Apache-2.0 */
/* Halo exchange through the host. The shared memory holds, a block of members after the other,
 *
 *   rows that are sent, in the order of the messages | halo rows
 *
 * which to the gnti_halo inside is a part of its own: own rows 0, 1, ... go out in this order.
 */
#include "dist/device_halo.h"

#include "base/alloc.h"

struct gnti_device_halo {
    gnti_halo_plan plan; /* of the shared memory; peers and ranges are lent by the caller's */
    int64_t first_halo;  /* in the caller's rows */
    int64_t max_floats;
    gnt_stream *stream;
    gnti_halo *halo;
    int32_t *order; /* (rows that are sent or received) 0, 1, ... */
    gnt_buffer *send_rows, *receive_rows, *shared;
    void *host;        /* of shared */
    gnt_mat_view rows; /* of the exchange under way */
};

static gnt_status upload_rows(gnti_device_halo *h, const int32_t *rows, int64_t count, gnt_buffer **out)
{
    gnt_status st = GNT_OK;
    gnt_device *dev = ((const gnti_stream_head *)h->stream)->device;

    GNT_TRY(gnti_buffer_alloc(dev, (size_t)(count + 1) * sizeof *rows, out));
    if (count > 0)
        GNT_TRY(gnti_upload(h->stream, *out, 0, rows, (size_t)count * sizeof *rows));
done:
    return st;
}

static gnt_status make_shared(gnti_device_halo *h, const gnti_halo_plan *plan)
{
    gnt_status st = GNT_OK;
    gnt_device *dev = ((const gnti_stream_head *)h->stream)->device;
    const int64_t sent = h->plan.num_own, most = sent > plan->num_halo ? sent : plan->num_halo;
    size_t bytes;

    GNT_TRY(gnti_alloc_array(&h->order, most + 1));
    for (int64_t i = 0; i < most; i++)
        h->order[i] = (int32_t)i;
    h->plan.send_rows = h->order;
    GNT_TRY(upload_rows(h, plan->send_rows, sent, &h->send_rows));
    GNT_TRY(upload_rows(h, h->order, plan->num_halo, &h->receive_rows));
    GNT_TRY(gnti_mul_size((size_t)(sent + plan->num_halo + 1) * sizeof(float), (size_t)h->max_floats + 1,
                          &bytes));
    GNT_TRY(gnti_buffer_alloc_host(dev, bytes, &h->host, &h->shared));
    GNT_TRY(gnti_stream_finish(h->stream)); /* rows and order were lent for the uploads */
done:
    return st;
}

gnt_status gnti_device_halo_create(gnti_comm *comm, const gnti_halo_plan *plan, gnti_wire wire,
                                   int64_t max_floats, gnt_stream *stream, gnti_device_halo **out)
{
    gnt_status st = GNT_OK;
    gnti_device_halo *h = NULL;

    GNT_CHECK(plan != NULL && stream != NULL && out != NULL && max_floats >= 0, GNT_ERR_ARG,
              "a halo exchange on a device needs a plan, a stream and a width of at least 0");
    GNT_TRY(gnti_calloc_array(&h, 1));
    h->stream = stream;
    h->max_floats = max_floats;
    h->first_halo = plan->num_own;
    h->plan = (gnti_halo_plan){ .num_own = plan->send_ptr[plan->num_peers],
                                .num_halo = plan->num_halo,
                                .num_peers = plan->num_peers,
                                .peer = plan->peer,
                                .send_ptr = plan->send_ptr,
                                .recv_ptr = plan->recv_ptr };
    GNT_TRY(make_shared(h, plan));
    GNT_TRY(gnti_halo_create(comm, &h->plan, wire, max_floats, &h->halo));
    *out = h;
    h = NULL;
done:
    gnti_device_halo_free(&h);
    return st;
}

void gnti_device_halo_free(gnti_device_halo **halo)
{
    gnti_device_halo *h = *halo;

    if (h == NULL)
        return;
    gnti_halo_free(&h->halo);
    gnti_buffer_free(&h->shared);
    gnti_buffer_free(&h->receive_rows);
    gnti_buffer_free(&h->send_rows);
    gnti_free(h->order);
    gnti_free(h);
    *halo = NULL;
}

/* Rows [first, first + count) of the shared memory, in the caller's blocks. */
static gnt_mat_view shared_rows(const gnti_device_halo *h, int64_t first, int64_t count)
{
    gnt_mat_view v = h->rows;

    v.buf = h->shared;
    v.rows = count;
    v.member_stride = v.width;
    v.row_stride = v.width * v.block_members;
    v.block_stride = (h->plan.num_own + h->plan.num_halo) * v.row_stride;
    v.offset = (size_t)(first * v.row_stride) * sizeof(float);
    return v;
}

gnt_status gnti_device_halo_start(gnti_device_halo *h, const gnt_mat_view *rows, bool raw)
{
    gnt_status st = GNT_OK;
    const int64_t num_blocks = gnti_ceil_div(rows->members, rows->block_members);
    gnti_halo_rows packed = { .num_blocks = num_blocks };
    gnt_mat_view sent;

    GNT_CHECK(rows->rows == h->first_halo + h->plan.num_halo, GNT_ERR_ARG,
              "halo exchange over %lld rows: the plan has %lld own and %lld halo rows", (long long)rows->rows,
              (long long)h->first_halo, (long long)h->plan.num_halo);
    GNT_CHECK(num_blocks * rows->block_members * rows->width <= h->max_floats, GNT_ERR_ARG,
              "halo rows have %lld blocks of %lld floats, this exchange was made for %lld in all",
              (long long)num_blocks, (long long)(rows->block_members * rows->width),
              (long long)h->max_floats);
    h->rows = *rows;
    h->rows.dtype = GNT_F32; /* four bytes, whatever they mean: they are copied */
    sent = shared_rows(h, 0, h->plan.num_own);
    if (sent.rows > 0)
        GNT_TRY(
            gnti_gather_rows(h->stream, &(gnt_rows_args){ .x = h->rows, .y = sent, .index = h->send_rows }));
    GNT_TRY(gnti_stream_finish(h->stream));
    packed.data = h->host;
    packed.block_stride = sent.block_stride;
    packed.row_stride = packed.floats = sent.row_stride;
    GNT_TRY(gnti_halo_start(h->halo, &packed, raw));
done:
    return st;
}

gnt_status gnti_device_halo_poll(gnti_device_halo *h, bool *out_done)
{
    return gnti_halo_poll(h->halo, out_done);
}

gnt_status gnti_device_halo_finish(gnti_device_halo *h)
{
    gnt_status st = GNT_OK;
    gnt_mat_view halo = h->rows;

    GNT_TRY(gnti_halo_finish(h->halo));
    halo.rows = h->plan.num_halo;
    halo.offset += (size_t)(h->first_halo * halo.row_stride) * sizeof(float);
    if (halo.rows > 0)
        GNT_TRY(gnti_gather_rows(h->stream, &(gnt_rows_args){ .x = shared_rows(h, h->plan.num_own, halo.rows),
                                                              .y = halo,
                                                              .index = h->receive_rows }));
done:
    return st;
}

void gnti_device_halo_get_counters(const gnti_device_halo *h, gnti_halo_counters *out)
{
    gnti_halo_get_counters(h->halo, out);
}
