/* SPDX-License-Identifier: Apache-2.0 */
/* Halo exchanges over random plans against a plain copy: see comm_cases.h. */
#include "comm_cases.h"

#include "dist/device_halo.h"
#include "kernels/bf16.h"

#include <sched.h>
#include <string.h>

enum { MAX_RANKS = 8, MAX_OWN = 40, MAX_SENT = 60 };

/* Who sends which rows to whom, seen from above. */
typedef struct world {
    int32_t size, own[MAX_RANKS];
    int32_t count[MAX_RANKS][MAX_RANKS]; /* from, to */
    int32_t rows[MAX_RANKS][MAX_RANKS][MAX_SENT];
    gnti_wire wire;
    gnti_halo_rows shape; /* data NULL */
    bool raw, poll;
} world;

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static void make_world(world *w, int32_t size, uint64_t seed)
{
    uint64_t s = seed * 977 + 13;

    memset(w, 0, sizeof *w);
    w->size = size;
    for (int32_t r = 0; r < size; r++)
        w->own[r] = (int32_t)(next_random(&s) % MAX_OWN);
    for (int32_t from = 0; from < size; from++)
        for (int32_t to = 0; to < size; to++) {
            const bool sends = from != to && w->own[from] > 0 && next_random(&s) % 3 != 0;

            w->count[from][to] = sends ? (int32_t)(next_random(&s) % MAX_SENT) : 0;
            for (int32_t i = 0; i < w->count[from][to]; i++)
                w->rows[from][to][i] = (int32_t)(next_random(&s) % (uint64_t)w->own[from]);
        }
    w->wire = seed % 2 == 0 ? GNTI_WIRE_F32 : GNTI_WIRE_BF16;
    w->raw = seed % 5 == 0;
    w->poll = seed % 3 == 0;
    w->shape.floats = 1 + (int64_t)(next_random(&s) % 70);
    w->shape.row_stride = w->shape.floats + (int64_t)(next_random(&s) % 3) * 5;
    w->shape.num_blocks = 1 + (int64_t)(next_random(&s) % 3);
}

/* The plan of one rank, in arrays of the caller. */
typedef struct plan_arrays {
    gnti_halo_plan plan;
    int32_t peer[MAX_RANKS], send_rows[MAX_RANKS * MAX_SENT];
    int64_t send_ptr[MAX_RANKS + 1], recv_ptr[MAX_RANKS + 1];
} plan_arrays;

static void make_plan(const world *w, int32_t rank, plan_arrays *a)
{
    gnti_halo_plan *p = &a->plan;

    memset(a, 0, sizeof *a);
    for (int32_t r = 0; r < w->size; r++) {
        const int32_t out = w->count[rank][r], in = w->count[r][rank];

        if (out == 0 && in == 0)
            continue;
        memcpy(a->send_rows + a->send_ptr[p->num_peers], w->rows[rank][r], (size_t)out * sizeof(int32_t));
        a->peer[p->num_peers++] = r;
        a->send_ptr[p->num_peers] = a->send_ptr[p->num_peers - 1] + out;
        a->recv_ptr[p->num_peers] = a->recv_ptr[p->num_peers - 1] + in;
    }
    p->num_own = w->own[rank];
    p->num_halo = a->recv_ptr[p->num_peers];
    p->peer = a->peer;
    p->send_ptr = a->send_ptr;
    p->send_rows = a->send_rows;
    p->recv_ptr = a->recv_ptr;
}

/* Bits of a value that tells rank, row, block, column and round; raw ones are no floats. */
static float value_of(const world *w, int32_t rank, int32_t row, int64_t block, int64_t c, int round)
{
    const uint32_t mixed =
        (uint32_t)rank * 2654435761u ^ (uint32_t)row * 40503u ^ (uint32_t)(block * 131 + c) * 69069u;
    float f = (float)(mixed % 100003u) * 1e-3f - (float)round;

    if (w->raw) {
        const uint32_t id = mixed + (uint32_t)round;

        memcpy(&f, &id, sizeof f);
    }
    return f;
}

static void fill_own(const world *w, int32_t rank, const gnti_halo_rows *rows, int round)
{
    for (int64_t r = 0; r < w->own[rank]; r++)
        for (int64_t k = 0; k < rows->num_blocks * rows->floats; k++)
            rows->data[k / rows->floats * rows->block_stride + r * rows->row_stride + k % rows->floats] =
                value_of(w, rank, (int32_t)r, k / rows->floats, k % rows->floats, round);
}

static bool arrived(const world *w, int32_t rank, const gnti_halo_rows *rows, int round)
{
    int64_t row = w->own[rank];

    for (int32_t from = 0; from < w->size; from++)
        for (int32_t i = 0; i < w->count[from][rank]; i++, row++)
            for (int64_t k = 0; k < rows->num_blocks * rows->floats; k++) {
                const int64_t b = k / rows->floats, c = k % rows->floats;
                const float *got = rows->data + b * rows->block_stride + row * rows->row_stride + c;
                float want = value_of(w, from, w->rows[from][rank][i], b, c, round);

                if (w->wire == GNTI_WIRE_BF16 && !w->raw)
                    want = gnti_bf16_to_float(gnti_bf16_from_float(want));
                if (memcmp(got, &want, sizeof want) != 0)
                    return false;
            }
    return true;
}

static gnt_status check_counters(gnti_comm *comm, const world *w, gnti_halo_counters c, const plan_arrays *a,
                                 int64_t n)
{
    gnt_status st = GNT_OK;
    const int64_t value = w->wire == GNTI_WIRE_BF16 && !w->raw ? 2 : 4,
                  row = value * w->shape.num_blocks * w->shape.floats;

    GNT_RANK_CHECK(c.exchanges == n);
    GNT_RANK_CHECK(c.rows_sent == n * a->send_ptr[a->plan.num_peers]);
    GNT_RANK_CHECK(c.bytes_sent == n * row * a->send_ptr[a->plan.num_peers]);
    GNT_RANK_CHECK(c.bytes_received == n * row * a->plan.num_halo);
    GNT_RANK_CHECK(c.exposed_seconds >= 0.0 && c.transfer_seconds >= 0.0 && c.transfer_seconds < 60.0);
done:
    return st;
}

gnt_status gnt_case_halo_rounds(gnti_comm *comm, void *user)
{
    gnt_status st = GNT_OK;
    world *w = NULL;
    gnti_halo_rows rows;
    plan_arrays a;
    gnti_halo *h = NULL;
    gnti_halo_counters counters;
    float *data = NULL;
    bool finished = false;

    comm->num_threads = 2;
    GNT_TRY(gnti_calloc_array(&w, 1));
    make_world(w, comm->size, *(uint64_t *)user);
    rows = w->shape;
    make_plan(w, comm->rank, &a);
    rows.block_stride = (a.plan.num_own + a.plan.num_halo) * rows.row_stride;
    GNT_TRY(gnti_halo_create(comm, &a.plan, w->wire, rows.num_blocks * rows.floats, &h));
    GNT_TRY(gnti_calloc_array(&data, rows.num_blocks * rows.block_stride + 1));
    rows.data = data;
    for (int round = 0; round < 3; round++) {
        fill_own(w, comm->rank, &rows, round);
        GNT_TRY(gnti_halo_start(h, &rows, w->raw));
        for (int64_t r = 0; r < a.plan.num_own; r++) /* own rows were read before start returned */
            for (int64_t b = 0; b < rows.num_blocks; b++)
                memset(data + b * rows.block_stride + r * rows.row_stride, 0xff,
                       (size_t)rows.floats * sizeof(float));
        for (finished = !w->poll; !finished; sched_yield())
            GNT_TRY(gnti_halo_poll(h, &finished));
        GNT_TRY(gnti_halo_finish(h));
        GNT_RANK_CHECK(arrived(w, comm->rank, &rows, round));
    }
    gnti_halo_get_counters(h, &counters);
    GNT_TRY(check_counters(comm, w, counters, &a, 3));
done:
    gnti_halo_free(&h);
    gnti_free(data);
    gnti_free(w);
    return st;
}

/* One round over rows in a device's memory. */
static gnt_status device_round(gnti_comm *comm, const world *w, gnti_device_halo *h, gnt_stream *s,
                               gnti_group *group, const gnt_mat_view *view, const gnti_halo_rows *rows,
                               int round)
{
    gnt_status st = GNT_OK;
    const size_t bytes = (size_t)(rows->num_blocks * rows->block_stride) * sizeof(float);
    bool finished = !w->poll;

    fill_own(w, comm->rank, rows, round);
    GNT_TRY(gnti_upload(s, view->buf, 0, rows->data, bytes));
    GNT_TRY(gnti_device_halo_start(h, view, w->raw));
    for (; !finished; sched_yield())
        GNT_TRY(gnti_device_halo_poll(h, &finished));
    GNT_TRY(gnti_device_halo_finish(h));
    GNT_TRY(gnti_download(s, rows->data, view->buf, 0, bytes));
    if (group != NULL)
        GNT_TRY(gnti_group_wait(group, s, "a round"));
    else
        GNT_TRY(gnti_stream_finish(s));
    GNT_RANK_CHECK(arrived(w, comm->rank, rows, round));
done:
    return st;
}

gnt_status gnt_case_device_halo_rounds(gnti_comm *comm, void *user)
{
    gnt_status st = GNT_OK;
    const gnt_device_halo_case *c = user;
    world *w = NULL;
    gnti_halo_rows rows;
    plan_arrays a;
    gnt_device *dev = NULL;
    gnt_stream *s = NULL;
    gnt_mat_view view = { 0 };
    gnti_device_halo *h = NULL;
    gnti_group *group = NULL;
    gnt_stream *talk = NULL;
    static const int32_t all[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    gnti_halo_counters counters;
    float *data = NULL;

    GNT_TRY(gnti_calloc_array(&w, 1));
    make_world(w, comm->size, c->seed);
    rows = w->shape;
    make_plan(w, comm->rank, &a);
    rows.block_stride = (a.plan.num_own + a.plan.num_halo) * rows.row_stride + 1; /* never 0 */
    GNT_TRY(gnti_calloc_array(&data, rows.num_blocks * rows.block_stride));
    rows.data = data;
    GNT_TRY(gnti_device_open(c->backend, c->one_device ? 0 : comm->rank, NULL, &dev));
    GNT_TRY(gnti_stream_open(dev, 1, &s));
    view = (gnt_mat_view){ .rows = a.plan.num_own + a.plan.num_halo,
                           .members = rows.num_blocks,
                           .block_members = 1,
                           .width = rows.floats,
                           .row_stride = rows.row_stride,
                           .member_stride = rows.floats,
                           .block_stride = rows.block_stride };
    GNT_TRY(gnti_buffer_alloc(dev, (size_t)(rows.num_blocks * rows.block_stride) * sizeof(float), &view.buf));
    if (c->grouped) {
        GNT_TRY(gnti_stream_open(dev, 1, &talk));
        GNT_TRY(gnti_group_create(comm, dev, &group));
    }
    GNT_TRY(gnti_device_halo_create(&(gnti_device_halo_config){ .comm = comm,
                                                                .plan = &a.plan,
                                                                .wire = w->wire,
                                                                .max_floats = rows.num_blocks * rows.floats,
                                                                .stream = s,
                                                                .group = group,
                                                                .group_rank = c->grouped ? all : NULL,
                                                                .talk = talk },
                                    &h));
    GNT_RANK_CHECK(gnti_device_halo_is_queued(h) == c->grouped);
    for (int round = 0; round < 3; round++)
        GNT_TRY(device_round(comm, w, h, s, group, &view, &rows, round));
    gnti_device_halo_get_counters(h, &counters);
    GNT_TRY(check_counters(comm, w, counters, &a, 3));
done:
    gnti_device_halo_free(&h);
    gnti_group_free(&group);
    gnti_buffer_free(&view.buf);
    gnti_stream_close(&talk);
    gnti_stream_close(&s);
    gnti_device_close(&dev);
    gnti_free(data);
    gnti_free(w);
    return st;
}

/* Two ranks swap all their rows, enough for packing on several threads. */
gnt_status gnt_case_halo_swap(gnti_comm *comm, void *user)
{
    gnt_status st = GNT_OK;
    enum { ROWS = 6000, FLOATS = 100, STRIDE = 112 };
    int32_t peer = 1 - comm->rank, *all = NULL;
    int64_t ptr[2] = { 0, ROWS };
    const gnti_halo_plan plan = { .num_own = ROWS,
                                  .num_halo = ROWS,
                                  .num_peers = 1,
                                  .peer = &peer,
                                  .send_ptr = ptr,
                                  .recv_ptr = ptr,
                                  .send_rows = NULL };
    gnti_halo_plan mine = plan;
    gnti_halo *h = NULL;
    float *data = NULL;
    gnti_halo_rows rows = { .num_blocks = 1, .row_stride = STRIDE, .floats = FLOATS };
    gnti_alloc_stats before, after;

    comm->num_threads = 2;
    GNT_TRY(gnti_alloc_array(&all, ROWS));
    GNT_TRY(gnti_calloc_array(&data, 2 * (int64_t)ROWS * STRIDE));
    for (int32_t r = 0; r < ROWS; r++)
        all[r] = ROWS - 1 - r;
    mine.send_rows = all;
    rows.data = data;
    GNT_TRY(gnti_halo_create(comm, &mine, *(gnti_wire *)user, FLOATS, &h));
    for (int round = 0; round < 4; round++) {
        for (int64_t i = 0; i < (int64_t)ROWS * STRIDE; i++)
            data[i] = (float)(i % 200 + round + comm->rank);
        if (round == 1) {
            GNT_TRY(gnti_comm_barrier(comm));
            gnti_alloc_get_stats(&before);
            GNT_TRY(gnti_comm_barrier(comm));
        }
        GNT_TRY(gnti_halo_start(h, &rows, false));
        GNT_TRY(gnti_halo_finish(h));
        for (int64_t r = 0; r < ROWS; r++)
            for (int64_t c = 0; c < FLOATS; c++)
                GNT_RANK_CHECK(data[(ROWS + r) * STRIDE + c] ==
                               (float)(((ROWS - 1 - r) * STRIDE + c) % 200 + round + peer));
        for (int64_t r = ROWS; r < 2 * ROWS - 1; r++) /* the gap behind a row is not ours */
            GNT_RANK_CHECK(data[r * STRIDE + FLOATS] == 0.0f);
    }
    GNT_TRY(gnti_comm_barrier(comm));
    gnti_alloc_get_stats(&after);
    GNT_RANK_CHECK(before.num_calls == after.num_calls);
    GNT_TRY(gnti_comm_barrier(comm));
done:
    gnti_halo_free(&h);
    gnti_free(data);
    gnti_free(all);
    return st;
}
