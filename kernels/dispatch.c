/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that everybody uses: arguments are checked once, here; then one call through the table, timed.
 *
 * Counters lie in the stream's head: calls, host seconds, and flops and bytes by cost.h, so that explain and
 * bench can print rates. On a device that queues work the seconds are those of queueing; events time the work
 * itself. An op on nothing (no rows or columns) is answered here, so that backends need not think of it.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/size.h"
#include "kernels/backend.h"
#include "kernels/cost.h"
#include "kernels/dispatch_check.h"
#include "kernels/dispatch_count.h"
#include "kernels/view.h"

#include <string.h>

#define BACKEND(object) (((const gnti_backend_head *)(const void *)(object))->backend)

const char *gnti_op_kind_name(gnti_op_kind kind)
{
    static const char *const names[GNTI_OP_NUM_KINDS] = { "gemm",   "spmm", "norm",      "map",   "reduce",
                                                          "gather", "loss", "optimizer", "chain", "attend" };

    return names[kind];
}

void gnti_stream_counters(const gnt_stream *s, gnti_op_counter out[GNTI_OP_NUM_KINDS])
{
    memcpy(out, ((const gnti_stream_head *)s)->counters, GNTI_OP_NUM_KINDS * sizeof *out);
}

void gnti_stream_counters_reset(gnt_stream *s)
{
    memset(((gnti_stream_head *)s)->counters, 0, sizeof((gnti_stream_head *)s)->counters);
}

/* The entry, or ERR_UNSUPPORTED with op and backend. */
static gnt_status need(const gnt_stream *s, bool present, const char *op)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(present, GNT_ERR_UNSUPPORTED, "%s is not supported by the %s backend", op, BACKEND(s)->name);
done:
    return st;
}

/* A device keeps what it was told. */
gnt_status gnti_device_open(const char *backend, int32_t index, const gnti_device_config *config,
                            gnt_device **out)
{
    gnt_status st = GNT_OK;
    const gnt_backend *table = NULL;

    GNT_TRY(gnti_backend_find(backend, &table));
    GNT_TRY(table->open(index, config, out));
done:
    return st;
}

void gnti_device_close(gnt_device **dev)
{
    gnti_error_record kept;

    if (dev == NULL || *dev == NULL)
        return;
    gnti_error_keep(&kept);
    BACKEND(*dev)->close(*dev);
    gnti_error_give_back(&kept);
    *dev = NULL;
}

bool gnti_device_in_host_memory(const gnt_device *dev)
{
    return BACKEND(dev)->in_host_memory;
}

size_t gnti_device_peak_bytes(const gnt_device *dev)
{
    return BACKEND(dev)->peak_bytes != NULL ? BACKEND(dev)->peak_bytes(dev) : 0;
}

gnt_status gnti_buffer_alloc(gnt_device *dev, size_t bytes, gnt_buffer **out)
{
    return BACKEND(dev)->alloc(dev, bytes, out);
}

gnt_status gnti_buffer_wrap(gnt_device *dev, const void *host, size_t bytes, gnt_buffer **out)
{
    gnt_status st = GNT_OK;

    void *memory = (void *)(uintptr_t)host; /* the backend only reads it */

    GNT_CHECK(host != NULL, GNT_ERR_ARG, "a buffer over no memory");
    GNT_CHECK(BACKEND(dev)->host_buffer != NULL, GNT_ERR_UNSUPPORTED,
              "backend '%s' does not read host memory", BACKEND(dev)->name);
    GNT_TRY(BACKEND(dev)->host_buffer(dev, bytes, &memory, out));
done:
    return st;
}

gnt_status gnti_buffer_alloc_host(gnt_device *dev, size_t bytes, void **host, gnt_buffer **out)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(BACKEND(dev)->host_buffer != NULL, GNT_ERR_UNSUPPORTED,
              "backend '%s' shares no memory with the host", BACKEND(dev)->name);
    *host = NULL;
    GNT_TRY(BACKEND(dev)->host_buffer(dev, bytes, host, out));
done:
    return st;
}

void gnti_buffer_free(gnt_buffer **buf)
{
    gnti_error_record kept;

    if (buf == NULL || *buf == NULL)
        return;
    gnti_error_keep(&kept);
    BACKEND(*buf)->free(*buf);
    gnti_error_give_back(&kept);
    *buf = NULL;
}

void *gnt_buffer_host(const gnt_buffer *buf)
{
    return ((const gnti_buffer_head *)buf)->host;
}

void *gnt_buffer_address(const gnt_buffer *buf)
{
    return ((const gnti_buffer_head *)buf)->address;
}

void *gnt_stream_handle(const gnt_stream *stream)
{
    return ((const gnti_stream_head *)stream)->handle;
}

gnt_status gnti_stream_open(gnt_device *dev, int32_t num_events, gnt_stream **out)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(num_events >= 0, GNT_ERR_ARG, "a stream with %d events", num_events);
    GNT_TRY(BACKEND(dev)->stream_open(dev, num_events, out));
done:
    return st;
}

void gnti_stream_close(gnt_stream **s)
{
    gnti_error_record kept;

    if (s == NULL || *s == NULL)
        return;
    gnti_error_keep(&kept);
    BACKEND(*s)->stream_close(*s);
    gnti_error_give_back(&kept);
    *s = NULL;
}

gnt_status gnti_stream_finish(gnt_stream *s)
{
    gnt_status st = GNT_OK;
    bool is_done = false;

    while (!is_done)
        GNT_TRY(BACKEND(s)->stream_wait(s, 1.0, &is_done));
done:
    return st;
}

bool gnti_stream_captures(const gnt_stream *s)
{
    return BACKEND(s)->capture_begin != NULL;
}

gnt_status gnti_capture_begin(gnt_stream *s)
{
    gnt_status st = GNT_OK;

    GNT_TRY(need(s, gnti_stream_captures(s), "capture"));
    GNT_TRY(BACKEND(s)->capture_begin(s));
done:
    return st;
}

gnt_status gnti_capture_end(gnt_stream *s, gnt_capture **out)
{
    return BACKEND(s)->capture_end(s, out);
}

gnt_status gnti_capture_launch(gnt_stream *s, const gnt_capture *c)
{
    return BACKEND(s)->capture_launch(s, c);
}

void gnti_capture_free(const gnt_stream *s, gnt_capture **c)
{
    gnti_error_record kept;

    if (*c == NULL)
        return;
    gnti_error_keep(&kept);
    BACKEND(s)->capture_free(*c);
    gnti_error_give_back(&kept);
    *c = NULL;
}

gnt_status gnti_event_record(gnt_stream *s, int32_t event)
{
    return BACKEND(s)->event_record(s, event);
}

gnt_status gnti_event_await(gnt_stream *s, const gnt_stream *of, int32_t event)
{
    return BACKEND(s)->event_await(s, of, event);
}

gnt_status gnti_event_seconds(gnt_stream *s, int32_t from, int32_t to, double *out)
{
    return BACKEND(s)->event_seconds(s, from, to, out);
}

static gnt_status check_range(const gnt_stream *s, const char *op, const gnt_buffer *buf, size_t offset,
                              size_t bytes)
{
    gnt_status st = GNT_OK;
    size_t end;

    GNT_TRY(gnti_add_size(offset, bytes, &end));
    GNT_TRY(gnti_buffer_check(s, op, "the buffer", buf, end));
done:
    return st;
}

gnt_status gnti_upload(gnt_stream *s, gnt_buffer *dst, size_t offset, const void *src, size_t bytes)
{
    gnt_status st = GNT_OK;

    GNT_TRY(check_range(s, "upload", dst, offset, bytes));
    GNT_TRY(BACKEND(s)->upload(s, dst, offset, src, bytes));
done:
    return st;
}

gnt_status gnti_download(gnt_stream *s, void *dst, const gnt_buffer *src, size_t offset, size_t bytes)
{
    gnt_status st = GNT_OK;

    GNT_TRY(check_range(s, "download", src, offset, bytes));
    GNT_TRY(BACKEND(s)->download(s, dst, src, offset, bytes));
done:
    return st;
}

gnt_status gnti_copy(gnt_stream *s, const gnt_copy_args *a)
{
    gnt_status st = GNT_OK;

    GNT_TRY(check_range(s, "copy", a->dst, a->dst_offset, a->bytes));
    GNT_TRY(check_range(s, "copy", a->src, a->src_offset, a->bytes));
    GNT_TRY(BACKEND(s)->copy(s, a));
done:
    return st;
}

gnt_status gnti_gemm(gnt_stream *s, const gnt_gemm_args *a)
{
    gnt_status st = GNT_OK;
    const double start = gnti_clock_seconds();

    GNT_TRY(need(s, BACKEND(s)->gemm != NULL, "gemm"));
    GNT_TRY(gnti_check_gemm(s, a));
    if (a->c.rows == 0 || a->c.width == 0)
        return GNT_OK;
    GNT_TRY(BACKEND(s)->gemm(s, a));
    gnti_count_gemm(s, a, gnti_clock_seconds() - start);
done:
    return st;
}

/* Columns not seen before in row r; seen: a bit a column. */
static int64_t count_new(const gnt_spmm_plan_args *a, int64_t r, uint8_t *seen)
{
    int64_t count = 0;

    for (int64_t e = a->offsets[r]; e < a->offsets[r + 1]; e++) {
        const uint8_t bit = (uint8_t)(1u << (a->columns[e] & 7));

        count += (seen[a->columns[e] >> 3] & bit) == 0;
        seen[a->columns[e] >> 3] |= bit;
    }
    return count;
}

/* Rows of blocks that a list has whole, and of those that it touches. */
static void count_blocks(gnti_plan_head *p)
{
    const gnt_spmm_plan_args *a = &p->args;

    p->whole_rows = p->touched_rows = 0;
    for (int64_t i = 0, n; i < a->num_listed && a->rows != NULL; i += n) {
        const int64_t block = a->rows[i] / GNTI_TREE_ROWS, first = block * GNTI_TREE_ROWS;
        const int64_t rows = gnti_min_i64(GNTI_TREE_ROWS, a->num_rows - first);

        for (n = 1; i + n < a->num_listed && a->rows[i + n] < first + rows; n++)
            continue;
        p->whole_rows += n == rows ? rows : 0;
        p->touched_rows += rows;
    }
}

/* Rows that a plan writes, their arcs and the columns that these read: of all rows, as good as all columns. */
static gnt_status count_work(gnti_plan_head *p)
{
    gnt_status st = GNT_OK;
    const gnt_spmm_plan_args *a = &p->args;
    uint8_t *seen = NULL;

    count_blocks(p);
    p->work_rows = a->rows != NULL ? a->num_listed : a->end_row - a->first_row;
    p->work_arcs = a->rows != NULL ? 0 : a->offsets[a->end_row] - a->offsets[a->first_row];
    for (int64_t i = 0; i < a->num_listed && a->rows != NULL; i++)
        p->work_arcs += a->offsets[a->rows[i] + 1] - a->offsets[a->rows[i]];
    p->work_cols = gnti_min_i64(a->num_cols, p->work_arcs);
    if (p->work_rows == a->num_rows || p->work_cols == 0)
        return GNT_OK;
    GNT_TRY(gnti_calloc_array(&seen, a->num_cols / 8 + 1));
    p->work_cols = 0;
    for (int64_t i = 0; i < p->work_rows; i++)
        p->work_cols += count_new(a, a->rows != NULL ? a->rows[i] : a->first_row + i, seen);
done:
    gnti_free(seen);
    return st;
}

gnt_status gnti_spmm_plan_create(gnt_stream *s, const gnt_spmm_plan_args *a, gnt_spmm_plan **out)
{
    gnt_status st = GNT_OK;

    GNT_TRY(need(s, BACKEND(s)->spmm_plan != NULL, "spmm"));
    GNT_TRY(gnti_check_spmm_plan(a));
    GNT_TRY(BACKEND(s)->spmm_plan(s, a, out));
    st = count_work((gnti_plan_head *)(void *)*out);
    if (st != GNT_OK)
        gnti_spmm_plan_free(out);
done:
    return st;
}

void gnti_spmm_plan_free(gnt_spmm_plan **plan)
{
    gnti_error_record kept;

    if (plan == NULL || *plan == NULL)
        return;
    gnti_error_keep(&kept);
    BACKEND(*plan)->spmm_plan_free(*plan);
    gnti_error_give_back(&kept);
    *plan = NULL;
}

gnt_status gnti_spmm(gnt_stream *s, const gnt_spmm_plan *p, const gnt_spmm_args *a)
{
    gnt_status st = GNT_OK;
    const double start = gnti_clock_seconds();
    const gnti_plan_head *head = (const gnti_plan_head *)(const void *)p;

    GNT_TRY(gnti_check_spmm(s, head, a));
    if (head->work_rows == 0 || a->y.width == 0)
        return GNT_OK;
    GNT_TRY(BACKEND(s)->spmm(s, p, a));
    gnti_count_spmm(s, head, a, gnti_clock_seconds() - start);
done:
    return st;
}

gnt_status gnti_norm(gnt_stream *s, const gnt_norm_args *a)
{
    gnt_status st = GNT_OK;
    const double start = gnti_clock_seconds();

    GNT_TRY(need(s, BACKEND(s)->norm != NULL, "norm"));
    GNT_TRY(gnti_check_norm(s, a));
    GNT_TRY(BACKEND(s)->norm(s, a));
    gnti_count_each(s, GNTI_OP_NORM, gnti_view_values(&a->x), gnti_clock_seconds() - start);
done:
    return st;
}

gnt_status gnti_map(gnt_stream *s, const gnt_map_args *a)
{
    gnt_status st = GNT_OK;
    const double start = gnti_clock_seconds();

    GNT_TRY(need(s, BACKEND(s)->map != NULL, "map"));
    GNT_TRY(gnti_check_map(s, a));
    if (a->y.rows == 0 || a->y.width == 0)
        return GNT_OK;
    GNT_TRY(BACKEND(s)->map(s, a));
    gnti_count_map(s, a, gnti_clock_seconds() - start);
done:
    return st;
}

gnt_status gnti_reduce(gnt_stream *s, const gnt_reduce_args *a)
{
    gnt_status st = GNT_OK;
    const double start = gnti_clock_seconds();

    GNT_TRY(need(s, BACKEND(s)->reduce != NULL, "reduce"));
    GNT_TRY(gnti_check_reduce(s, a));
    GNT_TRY(BACKEND(s)->reduce(s, a));
    gnti_count_reduce(s, a, gnti_clock_seconds() - start);
done:
    return st;
}

gnt_status gnti_gather_rows(gnt_stream *s, const gnt_rows_args *a)
{
    gnt_status st = GNT_OK;
    const double start = gnti_clock_seconds();

    GNT_TRY(need(s, BACKEND(s)->gather_rows != NULL, "gather"));
    GNT_TRY(gnti_check_rows(s, a));
    if (a->y.rows == 0 || a->y.width == 0)
        return GNT_OK;
    GNT_TRY(BACKEND(s)->gather_rows(s, a));
    gnti_count_each(s, GNTI_OP_GATHER, gnti_view_values(&a->y), gnti_clock_seconds() - start);
done:
    return st;
}

gnt_status gnti_loss(gnt_stream *s, const gnt_loss_args *a)
{
    gnt_status st = GNT_OK;
    const double start = gnti_clock_seconds();

    GNT_TRY(need(s, BACKEND(s)->loss != NULL, "loss"));
    GNT_TRY(gnti_check_loss(s, a));
    GNT_TRY(BACKEND(s)->loss(s, a));
    gnti_count_each(s, GNTI_OP_LOSS, gnti_view_values(&a->logits), gnti_clock_seconds() - start);
done:
    return st;
}

gnt_status gnti_optimizer_step(gnt_stream *s, const gnt_optimizer_args *a)
{
    gnt_status st = GNT_OK;
    const double start = gnti_clock_seconds();
    double values = 0.0;

    GNT_TRY(need(s, BACKEND(s)->optimizer_step != NULL, "optimizer"));
    GNT_TRY(gnti_check_optimizer(s, a));
    GNT_TRY(BACKEND(s)->optimizer_step(s, a));
    for (int32_t i = 0; i < a->num_segments; i++)
        values += (double)a->segments[i].count * a->num_members;
    gnti_count_each(s, GNTI_OP_OPTIMIZER, values, gnti_clock_seconds() - start);
done:
    return st;
}
