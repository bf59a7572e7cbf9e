/* SPDX-License-Identifier: Apache-2.0 */
/* Devices, memory, streams, events and captures of the CUDA back end, on the stand-in: what is counted, what is refused and with
 * which text, and that nothing stays behind when an allocation fails or a device is lost.
 */
#include "tests/hostcuda/cuda_case.h"
#include "tests/support/gnt_test.h"

#include "base/size.h"
#include "kernels/backend.h"

#include <string.h>

enum { FLOATS = 1000 };

typedef struct setup {
    gnt_device *dev;
    gnt_stream *stream[2];
} setup;

static void open_setup(setup *s, const gnti_device_config *config)
{
    gnt_assert_ok(gnti_device_open("cuda", 0, config, &s->dev));
    for (int i = 0; i < 2; i++)
        gnt_assert_ok(gnti_stream_open(s->dev, 4, &s->stream[i]));
}

static void close_setup(setup *s)
{
    hostcuda_counts c;

    for (int i = 0; i < 2; i++)
        gnti_stream_close(&s->stream[i]);
    gnti_device_close(&s->dev);
    hostcuda_get_counts(&c);
    assert_int_equal(c.live_allocations, 0);
    assert_int_equal(c.pinned_bytes, 0);
    assert_int_equal(c.handles, 0);
}

static void test_list(void **state)
{
    const gnt_backend *b = NULL;
    gnt_device *dev = NULL;
    gnt_device_info info[3];
    int32_t count = 0;

    (void)state;
    cuda_case_reset("64M,16M", 1, NULL);
    gnt_assert_ok(gnti_backend_find("auto", &b));
    assert_string_equal(b->name, "cuda");
    gnt_assert_ok(b->list(info, 3, &count));
    assert_int_equal(count, 2);
    assert_int_equal(info[0].total_bytes, 64 << 20);
    assert_int_equal(info[1].total_bytes, 16 << 20);
    assert_string_equal(info[1].kind, "gpu");
    gnt_assert_status(gnti_device_open("cuda", 2, NULL, &dev), GNT_ERR_ARG);
    gnt_assert_error_has("device 2", "there are 2");
    assert_string_equal(gnti_backend_at(2)->name, "cuda");
    assert_null(gnti_backend_at(3));
}

static void test_out_of_memory(void **state)
{
    const gnti_device_config config = { .memory_limit = 4 << 20 };
    gnt_buffer *a = NULL, *b = NULL;
    float value[4] = { 1, 2, 3, 4 };
    setup s;

    (void)state;
    cuda_case_reset("16M", 1, NULL);
    open_setup(&s, &config);
    gnt_assert_ok(gnti_buffer_alloc(s.dev, 3000000, &a));
    gnt_assert_status(gnti_buffer_alloc(s.dev, 3000000, &b), GNT_ERR_DEVICE_NOMEM);
    gnt_assert_error_has("3000000", "4194304");
    gnti_buffer_free(&a);
    gnt_assert_ok(gnti_buffer_alloc(s.dev, 3000000, &b));
    gnt_assert_ok(gnti_download(s.stream[0], value, b, 2999984, sizeof value));
    gnt_assert_ok(gnti_stream_finish(s.stream[0]));
    for (int i = 0; i < 4; i++)
        assert_true(value[i] == 0.0f);
    gnti_buffer_free(&b);
    assert_true(gnti_device_peak_bytes(s.dev) >= 3000000 && gnti_device_peak_bytes(s.dev) < 4 << 20);
    close_setup(&s);

    open_setup(&s, NULL); /* the device's own memory */
    gnt_assert_status(gnti_buffer_alloc(s.dev, 20 << 20, &a), GNT_ERR_DEVICE_NOMEM);
    gnt_assert_error_has("20971520", "cuda device 0", "16777216 are free");
    gnt_assert_ok(gnti_buffer_alloc(s.dev, 12 << 20, &a));
    gnt_assert_status(gnti_buffer_alloc(s.dev, 12 << 20, &b), GNT_ERR_DEVICE_NOMEM);
    gnti_buffer_free(&a);
    gnt_assert_ok(gnti_buffer_alloc(s.dev, 12 << 20, &b)); /* what was freed comes back */
    gnti_buffer_free(&b);
    close_setup(&s);
}

static gnt_mat_view view_of(gnt_buffer *buf)
{
    return (gnt_mat_view){ .buf = buf,
                           .rows = FLOATS,
                           .members = 1,
                           .block_members = 1,
                           .width = 1,
                           .row_stride = 1,
                           .member_stride = 1,
                           .block_stride = FLOATS };
}

static void queue_add(gnt_stream *s, gnt_buffer *a, gnt_buffer *y)
{
    gnt_assert_ok(gnti_map(s, &(gnt_map_args){ .kind = GNT_MAP_ADD,
                                               .a = view_of(a),
                                               .b = view_of(y),
                                               .y = view_of(y),
                                               .alpha = 1,
                                               .beta = 1,
                                               .dropout = { .hyper = -1 } }));
}

static void fill(gnt_stream *s, gnt_buffer *y, float value)
{
    gnt_assert_ok(
        gnti_map(s, &(gnt_map_args){
                        .kind = GNT_MAP_FILL, .y = view_of(y), .alpha = value, .dropout = { .hyper = -1 } }));
}

static float first_of(gnt_stream *s, gnt_buffer *buf)
{
    float value[FLOATS];

    gnt_assert_ok(gnti_download(s, value, buf, 0, sizeof value));
    gnt_assert_ok(gnti_stream_finish(s));
    for (int i = 1; i < FLOATS; i++)
        assert_true(value[i] == value[0]);
    return value[0];
}

/* Two streams, tied by an event: what the second reads is there. */
static void test_events(void **state)
{
    (void)state;
    for (int seed = 1; seed <= 20; seed++) {
        gnt_buffer *a = NULL, *b = NULL;
        const gnt_backend *table;
        double seconds = -1.0;
        bool is_done = false;
        setup s;

        cuda_case_reset("16M", seed, NULL);
        open_setup(&s, NULL);
        table = ((const gnti_stream_head *)(const void *)s.stream[0])->backend;
        gnt_assert_ok(gnti_buffer_alloc(s.dev, FLOATS * sizeof(float), &a));
        gnt_assert_ok(gnti_buffer_alloc(s.dev, FLOATS * sizeof(float), &b));
        gnt_assert_status(table->event_await(s.stream[1], s.stream[0], 2), GNT_ERR_STATE);
        gnt_assert_status(gnti_event_seconds(s.stream[0], 0, 1, &seconds), GNT_ERR_STATE);
        gnt_assert_ok(gnti_event_record(s.stream[0], 0));
        fill(s.stream[0], a, 3.0f);
        gnt_assert_ok(gnti_event_record(s.stream[0], 1));
        gnt_assert_ok(table->event_await(s.stream[1], s.stream[0], 1));
        fill(s.stream[1], b, 4.0f);
        queue_add(s.stream[1], a, b);
        assert_true(first_of(s.stream[1], b) == 7.0f);
        gnt_assert_ok(gnti_event_seconds(s.stream[0], 0, 1, &seconds));
        assert_true(seconds >= 0.0);
        gnt_assert_ok(table->stream_wait(s.stream[0], 0.0, &is_done));
        gnti_buffer_free(&a);
        gnti_buffer_free(&b);
        close_setup(&s);
    }
}

/* A buffer that is freed while work with it is queued goes when that is done. */
static void test_free_behind_work(void **state)
{
    (void)state;
    for (int seed = 1; seed <= 10; seed++) {
        gnt_buffer *a = NULL, *b = NULL;
        setup s;

        cuda_case_reset("16M", seed, NULL);
        open_setup(&s, NULL);
        gnt_assert_ok(gnti_buffer_alloc(s.dev, FLOATS * sizeof(float), &b));
        for (int i = 0; i < 4; i++) {
            gnt_assert_ok(gnti_buffer_alloc(s.dev, FLOATS * sizeof(float), &a));
            fill(s.stream[0], a, 1.0f + (float)i);
            queue_add(s.stream[0], a, b);
            gnti_buffer_free(&a);
        }
        assert_true(first_of(s.stream[0], b) == 10.0f);
        gnti_buffer_free(&b);
        close_setup(&s);
    }
}

static void test_capture(void **state)
{
    gnt_buffer *a = NULL, *b = NULL;
    gnt_capture *c = NULL;
    hostcuda_counts before, after;
    float one[4] = { 0 };
    setup s;

    (void)state;
    cuda_case_reset("16M", 3, NULL);
    open_setup(&s, NULL);
    assert_true(gnti_stream_captures(s.stream[0]));
    gnt_assert_ok(gnti_buffer_alloc(s.dev, FLOATS * sizeof(float), &a));
    gnt_assert_ok(gnti_buffer_alloc(s.dev, FLOATS * sizeof(float), &b));
    fill(s.stream[0], a, 2.0f);
    gnt_assert_ok(gnti_capture_begin(s.stream[0]));
    gnt_assert_status(gnti_capture_begin(s.stream[0]), GNT_ERR_STATE);
    for (int i = 0; i < 3; i++)
        queue_add(s.stream[0], a, b);
    gnt_assert_status(gnti_upload(s.stream[0], a, 0, one, sizeof one), GNT_ERR_STATE);
    gnt_assert_status(gnti_download(s.stream[0], one, a, 0, sizeof one), GNT_ERR_STATE);
    gnt_assert_status(gnti_stream_finish(s.stream[0]), GNT_ERR_STATE);
    gnt_assert_ok(gnti_capture_end(s.stream[0], &c));
    assert_true(first_of(s.stream[0], b) == 0.0f); /* nothing has run yet */
    hostcuda_get_counts(&before);
    for (int i = 0; i < 5; i++)
        gnt_assert_ok(gnti_capture_launch(s.stream[0], c));
    hostcuda_get_counts(&after);
    assert_int_equal(after.launches, before.launches);
    assert_int_equal(after.graph_launches, before.graph_launches + 5);
    assert_true(first_of(s.stream[0], b) == 30.0f);
    gnti_capture_free(s.stream[0], &c);
    gnt_assert_ok(gnti_capture_begin(s.stream[0]));
    queue_add(s.stream[0], a, b);
    gnt_assert_ok(gnti_capture_end(s.stream[0], NULL)); /* dropped */
    assert_true(first_of(s.stream[0], b) == 30.0f);
    gnti_buffer_free(&a);
    gnti_buffer_free(&b);
    close_setup(&s);
}

/* More bytes than the pinned slots hold, up and down, in one piece and in many. */
static void test_crossing(void **state)
{
    enum { COUNT = 1 << 20 };
    float *data = NULL, *back = NULL;
    gnt_buffer *a = NULL;
    setup s;

    (void)state;
    cuda_case_reset("16M", 4, NULL);
    open_setup(&s, NULL);
    gnt_assert_ok(gnti_alloc_array(&data, COUNT));
    gnt_assert_ok(gnti_calloc_array(&back, COUNT));
    gnt_test_fill(data, COUNT, 5);
    gnt_assert_ok(gnti_buffer_alloc(s.dev, COUNT * sizeof *data, &a));
    gnt_assert_ok(gnti_upload(s.stream[0], a, 0, data, COUNT * sizeof *data));
    gnt_assert_ok(gnti_download(s.stream[0], back, a, 0, COUNT * sizeof *back));
    gnt_assert_ok(gnti_stream_finish(s.stream[0]));
    assert_memory_equal(data, back, COUNT * sizeof *data);
    for (int i = 0; i < 100; i++) {
        data[i] = (float)i;
        gnt_assert_ok(gnti_upload(s.stream[0], a, (size_t)i * 64, &data[i], sizeof(float)));
        data[i] = -1.0f; /* an upload has read its source when it returns */
    }
    memset(back, 0, 100 * sizeof *back);
    for (int i = 0; i < 100; i++)
        gnt_assert_ok(gnti_download(s.stream[0], &back[i], a, (size_t)i * 64, sizeof(float)));
    gnt_assert_ok(gnti_stream_finish(s.stream[0]));
    for (int i = 0; i < 100; i++)
        assert_true(back[i] == (float)i);
    gnti_buffer_free(&a);
    gnti_free(data);
    gnti_free(back);
    close_setup(&s);
}

static gnt_status open_and_close(void)
{
    gnt_status st = GNT_OK;
    gnt_device *dev = NULL;
    gnt_stream *s = NULL;
    gnt_buffer *buf = NULL;

    GNT_TRY(gnti_device_open("cuda", 0, NULL, &dev));
    GNT_TRY(gnti_stream_open(dev, 2, &s));
    GNT_TRY(gnti_buffer_alloc(dev, 1000, &buf));
done:
    gnti_buffer_free(&buf);
    gnti_stream_close(&s);
    gnti_device_close(&dev);
    return st;
}

static void test_failing_allocations(void **state)
{
    hostcuda_counts c;

    (void)state;
    cuda_case_reset("16M", 5, NULL);
    GNT_BRUTAL(open_and_close());
    for (int n = 1; n <= 8; n++) { /* the device's */
        char failure[16];
        gnt_status st;

        snprintf(failure, sizeof failure, "alloc:%d", n);
        cuda_case_reset("16M", 5, failure);
        st = open_and_close();
        assert_true(st == GNT_OK || st == GNT_ERR_DEVICE_NOMEM);
        hostcuda_get_counts(&c);
        assert_int_equal(c.live_allocations, 0);
        assert_int_equal(c.pinned_bytes, 0);
    }
}

/* Two plans over the same arrays hold them once. */
static void test_plans_share(void **state)
{
    enum { ROWS = 3000, ARCS = 60000 };
    int64_t *offsets = NULL;
    int32_t *columns = NULL, rows[2] = { 3, 70 };
    gnt_spmm_plan *all = NULL, *some = NULL;
    hostcuda_counts none, one, two;
    gnt_buffer *probe = NULL;
    setup s;

    (void)state;
    cuda_case_reset("16M", 6, NULL);
    open_setup(&s, NULL);
    gnt_assert_ok(gnti_alloc_array(&offsets, ROWS + 1));
    gnt_assert_ok(gnti_calloc_array(&columns, ARCS));
    for (int i = 0; i <= ROWS; i++)
        offsets[i] = (int64_t)i * (ARCS / ROWS);
    gnt_spmm_plan_args p = { .num_rows = ROWS,
                             .num_cols = ROWS,
                             .num_arcs = ARCS,
                             .offsets = offsets,
                             .columns = columns,
                             .end_row = ROWS,
                             .max_width = 8 };

    hostcuda_get_counts(&none);
    gnt_assert_ok(gnti_spmm_plan_create(s.stream[0], &p, &all));
    hostcuda_get_counts(&one);
    assert_true(one.live_bytes - none.live_bytes >= ARCS * 4);
    assert_true(one.live_bytes - none.live_bytes < ARCS * 4 + ROWS * 4 + 4096); /* offsets are narrowed */
    p.rows = rows;
    p.num_listed = 2;
    gnt_assert_ok(gnti_spmm_plan_create(s.stream[0], &p, &some));
    hostcuda_get_counts(&two);
    assert_true(two.live_bytes - one.live_bytes < 4096);
    gnti_spmm_plan_free(&all);
    gnti_spmm_plan_free(&some);
    gnt_assert_ok(gnti_buffer_alloc(s.dev, 64, &probe)); /* what was freed before is back */
    hostcuda_get_counts(&two);
    assert_true(two.live_bytes <= none.live_bytes + 256);
    gnti_buffer_free(&probe);
    gnti_free(offsets);
    gnti_free(columns);
    close_setup(&s);
}

static void test_lost_device(void **state)
{
    gnt_device *dev = NULL;
    gnt_stream *s = NULL;
    gnt_buffer *y = NULL;

    (void)state;
    for (int n = 8; n < 14; n++) {
        gnt_status st = GNT_OK;
        char failure[16];

        snprintf(failure, sizeof failure, "lost:0:%d", n);
        cuda_case_reset("16M", n, failure);
        gnt_assert_ok(gnti_device_open("cuda", 0, NULL, &dev));
        gnt_assert_ok(gnti_stream_open(dev, 0, &s));
        gnt_assert_ok(gnti_buffer_alloc(dev, FLOATS * sizeof(float), &y));
        for (int i = 0; i < 12 && st == GNT_OK; i++)
            st = gnti_map(
                s, &(gnt_map_args){ .kind = GNT_MAP_FILL, .y = view_of(y), .dropout = { .hyper = -1 } });
        if (st == GNT_OK) { /* it shows when the host waits, with the op queued last */
            gnt_assert_status(gnti_stream_finish(s), GNT_ERR_DEVICE_LOST);
            gnt_assert_error_has("cuda device 0", "map");
        }
        gnti_buffer_free(&y);
        gnti_stream_close(&s);
        gnti_device_close(&dev);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list),        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_events),      cmocka_unit_test(test_free_behind_work),
        cmocka_unit_test(test_capture),     cmocka_unit_test(test_crossing),
        cmocka_unit_test(test_plans_share), cmocka_unit_test(test_failing_allocations),
        cmocka_unit_test(test_lost_device),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
