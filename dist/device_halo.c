/* SPDX-License-Identifier: Apache-2.0 */
/* Halo exchange of a device's rows in two ways at once: peers of the group, and peers that are reached through the host. Each way
 * has the rows of its peers packed, a block of members after the other,
 *
 *   rows that are sent, in the order of the messages | rows that are received
 *
 * in device memory for the group (two bytes a value on a bf16 wire: packing rounds, unpacking widens, both on the device), in
 * memory shared with the host for the others; to the gnti_halo inside, the latter is a part of
 * its own, whose rows 0, 1, ... go out in this order. Received rows go on to their places in runs: peers that follow one
 * another in the plan and come the same way.
 */
#include "dist/device_halo.h"

#include "base/alloc.h"
#include "kernels/view.h"

#include <string.h>

/* Rows [first, first + count) of what a way receives are halo rows [halo, halo + count). */
typedef struct run {
    int64_t first, count, halo;
} run;

typedef struct way {
    gnti_halo_plan plan; /* num_own: rows sent; send_rows: 0, 1, ...; its arrays are ours but send_rows */
    int32_t *own_rows;   /* (num_own) what they are in the caller's rows */
    gnt_buffer *send_rows, *memory;
    run *runs;
    int32_t num_runs;
} way;

struct gnti_device_halo {
    gnti_device_halo_config c;
    way grouped, bridged;
    gnti_halo *halo; /* over bridged; NULL: all ranks are in the group */
    void *host;      /* of bridged.memory */
    int32_t *order;  /* 0, 1, ... */
    gnt_buffer *device_order;
    gnti_group_peer *messages; /* (grouped peers x blocks) */
    int64_t messages_capacity;
    gnt_mat_view rows; /* of the exchange under way */
    bool raw;
    gnti_halo_counters counters;
};

/* ---- making ---------------------------------------------------------------------------------------------------------- */

static bool is_grouped(const gnti_device_halo_config *c, int32_t rank)
{
    return c->group != NULL && c->group_rank[rank] >= 0;
}

static bool all_grouped(const gnti_device_halo_config *c)
{
    for (int32_t r = 0; r < c->comm->size; r++)
        if (!is_grouped(c, r))
            return false;
    return true;
}

static gnt_status alloc_way(way *w, const gnti_halo_plan *plan)
{
    gnt_status st = GNT_OK;
    const int32_t n = plan->num_peers;

    GNT_TRY(gnti_calloc_array(&w->plan.peer, n + 1));
    GNT_TRY(gnti_calloc_array(&w->plan.send_ptr, n + 1));
    GNT_TRY(gnti_calloc_array(&w->plan.recv_ptr, n + 1));
    GNT_TRY(gnti_alloc_array(&w->own_rows, plan->send_ptr[n] + 1));
    GNT_TRY(gnti_calloc_array(&w->runs, n + 1));
done:
    return st;
}

static void add_peer(way *w, const gnti_halo_plan *plan, int32_t p, bool follows)
{
    gnti_halo_plan *own = &w->plan;
    const int64_t sent = plan->send_ptr[p + 1] - plan->send_ptr[p],
                  received = plan->recv_ptr[p + 1] - plan->recv_ptr[p];

    memcpy(w->own_rows + own->num_own, plan->send_rows + plan->send_ptr[p], (size_t)sent * sizeof(int32_t));
    if (follows)
        w->runs[w->num_runs - 1].count += received;
    else
        w->runs[w->num_runs++] = (run){ own->num_halo, received, plan->recv_ptr[p] };
    own->peer[own->num_peers++] = plan->peer[p];
    own->num_own += sent;
    own->num_halo += received;
    own->send_ptr[own->num_peers] = own->num_own;
    own->recv_ptr[own->num_peers] = own->num_halo;
}

static gnt_status divide_peers(gnti_device_halo *h)
{
    gnt_status st = GNT_OK;
    const gnti_halo_plan *plan = h->c.plan;

    GNT_TRY(alloc_way(&h->grouped, plan));
    GNT_TRY(alloc_way(&h->bridged, plan));
    for (int32_t p = 0; p < plan->num_peers; p++) {
        const bool grouped = is_grouped(&h->c, plan->peer[p]),
                   follows = p > 0 && is_grouped(&h->c, plan->peer[p - 1]) == grouped;

        add_peer(grouped ? &h->grouped : &h->bridged, plan, p, follows);
    }
done:
    return st;
}

static gnt_status upload_rows(const gnti_device_halo *h, const int32_t *rows, int64_t count, gnt_buffer **out)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_buffer_alloc(((const gnti_stream_head *)h->c.stream)->device,
                              (size_t)(count + 1) * sizeof *rows, out));
    if (count > 0)
        GNT_TRY(gnti_upload(h->c.stream, *out, 0, rows, (size_t)count * sizeof *rows));
done:
    return st;
}

static gnt_status alloc_rows(gnti_device_halo *h, way *w, void **host)
{
    gnt_status st = GNT_OK;
    gnt_device *dev = ((const gnti_stream_head *)h->c.stream)->device;
    size_t bytes;

    w->plan.send_rows = h->order;
    if (w->plan.num_peers == 0)
        return GNT_OK;
    GNT_TRY(upload_rows(h, w->own_rows, w->plan.num_own, &w->send_rows));
    GNT_TRY(gnti_mul_size((size_t)(w->plan.num_own + w->plan.num_halo + 1) * sizeof(float),
                          (size_t)h->c.max_floats + 1, &bytes));
    if (host != NULL)
        GNT_TRY(gnti_buffer_alloc_host(dev, bytes, host, &w->memory));
    else
        GNT_TRY(gnti_buffer_alloc(dev, bytes, &w->memory));
done:
    return st;
}

static gnt_status make_memory(gnti_device_halo *h)
{
    gnt_status st = GNT_OK;
    const int64_t sent = h->c.plan->send_ptr[h->c.plan->num_peers], halo = h->c.plan->num_halo,
                  most = sent > halo ? sent : halo;

    GNT_TRY(gnti_alloc_array(&h->order, most + 1));
    for (int64_t i = 0; i < most; i++)
        h->order[i] = (int32_t)i;
    GNT_TRY(upload_rows(h, h->order, most, &h->device_order));
    GNT_TRY(alloc_rows(h, &h->grouped, NULL));
    GNT_TRY(alloc_rows(h, &h->bridged, &h->host));
    GNT_TRY(gnti_stream_finish(h->c.stream)); /* arrays were lent for the uploads */
done:
    return st;
}

gnt_status gnti_device_halo_create(const gnti_device_halo_config *config, gnti_device_halo **out)
{
    gnt_status st = GNT_OK;
    gnti_device_halo *h = NULL;

    GNT_CHECK(config->comm != NULL && config->plan != NULL && config->stream != NULL && out != NULL &&
                  config->max_floats >= 0 &&
                  (config->group == NULL || (config->group_rank != NULL && config->talk != NULL)),
              GNT_ERR_ARG,
              "a halo exchange on a device needs a communicator, a plan, a stream, a width of at least 0, "
              "and ranks and a stream with a group");
    GNT_TRY(gnti_calloc_array(&h, 1));
    h->c = *config;
    GNT_TRY(divide_peers(h));
    GNT_TRY(make_memory(h));
    if (!all_grouped(&h->c)) /* exchanges of a communicator are calls of all its ranks */
        GNT_TRY(gnti_halo_create(h->c.comm, &h->bridged.plan, h->c.wire, h->c.max_floats, &h->halo));
    h->messages_capacity = h->grouped.plan.num_peers * (h->c.max_floats + 1);
    if (h->messages_capacity > 4096) /* blocks are few: one holds some 64 floats of all members */
        h->messages_capacity = 4096;
    GNT_TRY(gnti_alloc_array(&h->messages, h->messages_capacity + 1));
    *out = h;
    h = NULL;
done:
    gnti_device_halo_free(&h);
    return st;
}

static void free_way(way *w)
{
    gnti_buffer_free(&w->memory);
    gnti_buffer_free(&w->send_rows);
    gnti_free(w->plan.peer);
    gnti_free(w->plan.send_ptr);
    gnti_free(w->plan.recv_ptr);
    gnti_free(w->own_rows);
    gnti_free(w->runs);
}

void gnti_device_halo_free(gnti_device_halo **halo)
{
    gnti_device_halo *h = *halo;

    if (h == NULL)
        return;
    gnti_halo_free(&h->halo);
    free_way(&h->grouped);
    free_way(&h->bridged);
    gnti_buffer_free(&h->device_order);
    gnti_free(h->messages);
    gnti_free(h->order);
    gnti_free(h);
    *halo = NULL;
}

/* ---- an exchange ------------------------------------------------------------------------------------------------------ */

/* Values of the group's messages are rounded where they are packed; what goes through the host is rounded there. */
static gnt_dtype packed_type(const gnti_device_halo *h, const way *w)
{
    return w == &h->grouped && h->c.wire == GNTI_WIRE_BF16 && !h->raw ? GNT_BF16 : GNT_F32;
}

/* Rows [first, first + count) of a way's memory, in the caller's blocks. */
static gnt_mat_view packed_rows(const gnti_device_halo *h, const way *w, int64_t first, int64_t count)
{
    gnt_mat_view v = h->rows;

    v.buf = w->memory;
    v.dtype = packed_type(h, w);
    v.rows = count;
    v.member_stride = v.width;
    v.row_stride = v.width * v.block_members;
    v.block_stride = (w->plan.num_own + w->plan.num_halo) * v.row_stride;
    v.offset = (size_t)(first * v.row_stride) * gnti_dtype_bytes(v.dtype);
    return v;
}

static gnt_status pack(gnti_device_halo *h, const way *w)
{
    const gnt_mat_view sent = packed_rows(h, w, 0, w->plan.num_own);

    if (w->plan.num_own == 0)
        return GNT_OK;
    return gnti_gather_rows(h->c.stream, &(gnt_rows_args){ .x = h->rows, .y = sent, .index = w->send_rows });
}

static gnt_status unpack(gnti_device_halo *h, const way *w)
{
    gnt_status st = GNT_OK;

    for (int32_t i = 0; i < w->num_runs; i++) {
        const run *r = &w->runs[i];
        gnt_mat_view halo = h->rows;

        if (r->count == 0)
            continue;
        halo.rows = r->count;
        halo.offset += (size_t)((h->c.plan->num_own + r->halo) * halo.row_stride) * sizeof(float);
        GNT_TRY(gnti_gather_rows(
            h->c.stream, &(gnt_rows_args){ .x = packed_rows(h, w, w->plan.num_own + r->first, r->count),
                                           .y = halo,
                                           .index = h->device_order }));
    }
done:
    return st;
}

/* One message a peer and block. */
static gnt_status start_group(gnti_device_halo *h, int64_t num_blocks)
{
    gnt_status st = GNT_OK;
    const gnti_halo_plan *plan = &h->grouped.plan;
    const gnt_mat_view v = packed_rows(h, &h->grouped, 0, 0);
    const size_t value = gnti_dtype_bytes(v.dtype), row = (size_t)v.row_stride * value,
                 block = (size_t)v.block_stride * value;
    int64_t n = 0;

    GNT_CHECK(num_blocks * plan->num_peers <= h->messages_capacity, GNT_ERR_LIMIT,
              "%lld blocks of members for %d peers are more than %lld messages", (long long)num_blocks,
              plan->num_peers, (long long)h->messages_capacity);
    for (int64_t b = 0; b < num_blocks; b++)
        for (int32_t p = 0; p < plan->num_peers; p++)
            h->messages[n++] = (gnti_group_peer){
                .rank = h->c.group_rank[plan->peer[p]],
                .send = v.buf,
                .send_offset = (size_t)b * block + (size_t)plan->send_ptr[p] * row,
                .send_bytes = (size_t)(plan->send_ptr[p + 1] - plan->send_ptr[p]) * row,
                .receive = v.buf,
                .receive_offset = (size_t)b * block + (size_t)(plan->num_own + plan->recv_ptr[p]) * row,
                .receive_bytes = (size_t)(plan->recv_ptr[p + 1] - plan->recv_ptr[p]) * row
            };
    GNT_TRY(gnti_event_record(h->c.stream, h->c.event));
    GNT_TRY(gnti_event_await(h->c.talk, h->c.stream, h->c.event));
    GNT_TRY(gnti_group_exchange(h->c.group, h->c.talk, h->messages, (int32_t)n));
    GNT_TRY(gnti_event_record(h->c.talk, h->c.landed));
done:
    return st;
}

static gnt_status start_bridge(gnti_device_halo *h, int64_t num_blocks, bool raw)
{
    gnt_status st = GNT_OK;
    const gnt_mat_view v = packed_rows(h, &h->bridged, 0, 0);
    const gnti_halo_rows packed = { .data = h->host,
                                    .num_blocks = num_blocks,
                                    .block_stride = v.block_stride,
                                    .row_stride = v.row_stride,
                                    .floats = v.row_stride };

    if (h->c.group != NULL)
        GNT_TRY(gnti_group_wait(h->c.group, h->c.stream, "rows that go through the host"));
    else
        GNT_TRY(gnti_stream_finish(h->c.stream));
    GNT_TRY(gnti_halo_start(h->halo, &packed, raw));
done:
    return st;
}

static void count_group(gnti_device_halo *h, int64_t floats)
{
    const gnti_halo_plan *plan = &h->grouped.plan;
    const int64_t value = (int64_t)gnti_dtype_bytes(packed_type(h, &h->grouped));

    h->counters.rows_sent += plan->num_own;
    h->counters.bytes_sent += plan->num_own * floats * value;
    h->counters.bytes_received += plan->num_halo * floats * value;
}

gnt_status gnti_device_halo_start(gnti_device_halo *h, const gnt_mat_view *rows, bool raw)
{
    gnt_status st = GNT_OK;
    const int64_t num_blocks = gnti_ceil_div(rows->members, rows->block_members),
                  floats = num_blocks * rows->block_members * rows->width;

    GNT_CHECK(rows->rows == h->c.plan->num_own + h->c.plan->num_halo, GNT_ERR_ARG,
              "halo exchange over %lld rows: the plan has %lld own and %lld halo rows", (long long)rows->rows,
              (long long)h->c.plan->num_own, (long long)h->c.plan->num_halo);
    GNT_CHECK(floats <= h->c.max_floats, GNT_ERR_ARG,
              "halo rows have %lld blocks, %lld floats in all, this exchange was made for %lld",
              (long long)num_blocks, (long long)floats, (long long)h->c.max_floats);
    h->rows = *rows;
    h->raw = raw;
    h->rows.dtype = GNT_F32; /* four bytes, whatever they mean: they are copied */
    h->counters.exchanges++;
    count_group(h, floats);
    GNT_TRY(pack(h, &h->grouped));
    GNT_TRY(pack(h, &h->bridged));
    if (h->grouped.plan.num_peers > 0)
        GNT_TRY(start_group(h, num_blocks));
    if (h->halo != NULL)
        GNT_TRY(start_bridge(h, num_blocks, raw));
done:
    return st;
}

gnt_status gnti_device_halo_poll(gnti_device_halo *h, bool *out_done)
{
    *out_done = true;
    return h->halo != NULL ? gnti_halo_poll(h->halo, out_done) : GNT_OK;
}

gnt_status gnti_device_halo_finish(gnti_device_halo *h)
{
    gnt_status st = GNT_OK;

    if (h->halo != NULL) {
        GNT_TRY(gnti_halo_finish(h->halo));
        GNT_TRY(unpack(h, &h->bridged));
    }
    if (h->grouped.plan.num_peers > 0) {
        GNT_TRY(gnti_event_await(h->c.stream, h->c.talk, h->c.landed));
        GNT_TRY(unpack(h, &h->grouped));
    }
done:
    return st;
}

bool gnti_device_halo_is_queued(const gnti_device_halo *h)
{
    return h->halo == NULL;
}

void gnti_device_halo_get_counters(const gnti_device_halo *h, gnti_halo_counters *out)
{
    gnti_halo_counters bridged = { 0 };

    *out = h->counters;
    if (h->halo != NULL)
        gnti_halo_get_counters(h->halo, &bridged);
    out->rows_sent += bridged.rows_sent;
    out->bytes_sent += bridged.bytes_sent;
    out->bytes_received += bridged.bytes_received;
    out->exposed_seconds += bridged.exposed_seconds;
    out->transfer_seconds += bridged.transfer_seconds;
}
