/* SPDX-License-Identifier: Apache-2.0 */
/* Devices, buffers, streams, events and the argument checks of dispatch: what is refused, and with which text. */
#include "cases.h"

#include "kernels/cost.h"

#include <string.h>

static void test_backends(void **state)
{
    const gnt_backend *b = NULL;
    gnt_device_info info;
    int32_t count = 0;

    (void)state;
    gnt_assert_ok(gnti_backend_find("auto", &b));
    assert_string_equal(b->name, "cpu");
    gnt_assert_ok(b->list(&info, 1, &count));
    assert_int_equal(count, 1);
    assert_true(info.num_threads >= 1 && info.total_bytes > 0 && info.name[0] != '\0');
    gnt_assert_status(gnti_backend_find("tpu", &b), GNT_ERR_UNSUPPORTED);
    gnt_assert_error_has("'tpu'", "cpu", "ref");
}

static void test_memory_limit(void **state)
{
    const gnti_device_config config = { .memory_limit = 1 << 20 };
    gnt_device *dev = NULL;
    gnt_buffer *a = NULL, *b = NULL;

    (void)state;
    gnt_assert_status(gnti_device_open("cpu", 3, NULL, &dev), GNT_ERR_ARG);
    gnt_assert_ok(gnti_device_open("cpu", 0, &config, &dev));
    gnt_assert_ok(gnti_buffer_alloc(dev, 700000, &a));
    gnt_assert_status(gnti_buffer_alloc(dev, 700000, &b), GNT_ERR_DEVICE_NOMEM);
    gnt_assert_error_has("700000", "1048576");
    gnti_buffer_free(&a);
    gnt_assert_ok(gnti_buffer_alloc(dev, 700000, &b));
    for (size_t i = 0; i < 700000; i += 4096)
        assert_int_equal(((char *)gnt_buffer_host(b))[i], 0);
    gnti_buffer_free(&b);
    gnti_device_close(&dev);
}

static gnt_status open_and_close(void)
{
    gnt_status st = GNT_OK;
    gnt_device *dev = NULL;
    gnt_stream *s = NULL;
    gnt_buffer *buf = NULL;

    GNT_TRY(gnti_device_open("cpu", 0, NULL, &dev));
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
    (void)state;
    GNT_BRUTAL(open_and_close());
}

static void test_events_and_copies(void **state)
{
    const float data[4] = { 1, 2, 3, 4 };
    float back[4] = { 0 };
    double seconds = -1.0;
    case_env env;
    case_bytes a, b;

    (void)state;
    case_open(&env, "cpu", NULL);
    a = case_upload(&env, data, sizeof data);
    b = case_upload(&env, back, sizeof back);
    gnt_assert_status(gnti_event_seconds(env.stream[0], 0, 1, &seconds), GNT_ERR_STATE);
    gnt_assert_ok(gnti_event_record(env.stream[0], 0));
    gnt_assert_ok(gnti_copy(
        env.stream[0], &(gnt_copy_args){ .dst = b.buf[0], .dst_offset = 4, .src = a.buf[0], .bytes = 12 }));
    gnt_assert_ok(gnti_event_record(env.stream[0], 1));
    gnt_assert_ok(gnti_event_seconds(env.stream[0], 0, 1, &seconds));
    assert_true(seconds >= 0.0);
    gnt_assert_ok(gnti_download(env.stream[0], back, b.buf[0], 0, sizeof back));
    assert_true(back[0] == 0.0f && back[1] == 1.0f && back[3] == 3.0f);
    gnt_assert_status(gnti_upload(env.stream[0], a.buf[0], 8, data, 16), GNT_ERR_ARG);
    gnt_assert_error_has("24 bytes", "16");
    case_close(&env);
}

static void test_refused_arguments(void **state)
{
    case_env env;
    case_tensor a, b, c;
    gnt_gemm_args args;

    (void)state;
    case_open(&env, "cpu", NULL);
    a = case_make(&env, 27, 3, 1, 14, 0);
    b = case_make(&env, 13, 3, 1, 4, 0);
    c = case_make(&env, 27, 3, 1, 4, 0);
    args = (gnt_gemm_args){
        .a = a.view[0], .b = b.view[0], .c = c.view[0], .alpha = 1, .epilogue = GNT_EPILOGUE_NONE
    };
    gnt_assert_status(gnti_gemm(env.stream[0], &args), GNT_ERR_ARG);
    gnt_assert_error_has("27 x 14 (3 members)", "13 x 4", "14 and 13");
    args.a.width = 13;
    gnt_assert_ok(gnti_gemm(env.stream[0], &args));
    args.a.rows = args.c.rows = 100000; /* beyond the buffer */
    gnt_assert_status(gnti_gemm(env.stream[0], &args), GNT_ERR_ARG);
    gnt_assert_error_has("buffer has");
    args.a = a.view[1]; /* another device */
    args.a.width = 13;
    gnt_assert_status(gnti_gemm(env.stream[0], &args), GNT_ERR_ARG);
    gnt_assert_error_has("ref");
    case_close(&env);
}

static void test_refused_plans(void **state)
{
    const int64_t offsets[3] = { 0, 1, 2 }, backwards[3] = { 0, 2, 1 };
    const int32_t columns[2] = { 0, 5 };
    gnt_spmm_plan_args p = {
        .num_rows = 2, .num_cols = 3, .num_arcs = 2, .offsets = offsets, .columns = columns, .end_row = 2
    };
    gnt_spmm_plan *plan = NULL;
    case_env env;

    (void)state;
    case_open(&env, "cpu", NULL);
    gnt_assert_status(gnti_spmm_plan_create(env.stream[0], &p, &plan), GNT_ERR_ARG);
    gnt_assert_error_has("arc 1", "column 5 of 3");
    p.offsets = backwards;
    p.num_arcs = 1;
    gnt_assert_status(gnti_spmm_plan_create(env.stream[0], &p, &plan), GNT_ERR_ARG);
    assert_null(plan);
    case_close(&env);
}

/* A repeated op allocates nothing: scratch stays with the stream. */
static void test_no_allocation(void **state)
{
    gnti_alloc_stats before, after;
    case_env env;
    case_tensor x, w, y, dw;

    (void)state;
    case_open(&env, "cpu", NULL);
    x = case_make(&env, 3000, 2, 1, 20, 0);
    w = case_make(&env, 20, 2, 1, 8, 0);
    y = case_make(&env, 3000, 2, 1, 8, 0);
    dw = case_make(&env, 20, 2, 1, 8, 0);
    for (int call = 0; call < 3; call++) {
        gnt_gemm_args a = {
            .a = x.view[0], .b = w.view[0], .c = y.view[0], .alpha = 1, .epilogue = GNT_EPILOGUE_NONE
        };

        if (call == 1)
            gnti_alloc_get_stats(&before);
        gnt_assert_ok(gnti_gemm(env.stream[0], &a));
        a = (gnt_gemm_args){ .a = x.view[0],
                             .b = y.view[0],
                             .c = dw.view[0],
                             .trans_a = true,
                             .alpha = 1,
                             .epilogue = GNT_EPILOGUE_NONE };
        gnt_assert_ok(gnti_gemm(env.stream[0], &a));
    }
    gnti_alloc_get_stats(&after);
    assert_int_equal(before.num_calls, after.num_calls);
    case_close(&env);
}

static void test_counters_and_cost(void **state)
{
    const gnti_cost_device dev = gnti_cost_device_default(2);
    gnti_op_counter counters[GNTI_OP_NUM_KINDS];
    case_env env;
    case_tensor y;

    (void)state;
    case_open(&env, "cpu", NULL);
    y = case_make(&env, 10, 1, 1, 7, 0);
    gnt_assert_ok(
        gnti_map(env.stream[0], &(gnt_map_args){ .kind = GNT_MAP_FILL, .y = y.view[0], .alpha = 2 }));
    gnti_stream_counters(env.stream[0], counters);
    assert_int_equal(counters[GNTI_OP_MAP].calls, 1);
    assert_true(counters[GNTI_OP_MAP].flops == 70.0 && counters[GNTI_OP_GEMM].calls == 0);
    assert_string_equal(gnti_op_kind_name(GNTI_OP_MAP), "map");
    gnti_stream_counters_reset(env.stream[0]);
    gnti_stream_counters(env.stream[0], counters);
    assert_int_equal(counters[GNTI_OP_MAP].calls, 0);
    assert_true(gnti_cost_spmm(&dev, 100, 100, 1000, 16, false, 4).flops == 16000.0);
    assert_true(gnti_cost_spmm(&dev, 1000000, 1000000, 10000000, 64, false, 4).seconds >
                2.0 * gnti_cost_spmm(&dev, 1000000, 1000000, 10000000, 16, false, 4).seconds);
    assert_true(gnti_cost_gemm(&dev, 10, 20, 30, 4).flops == 12000.0);
    case_close(&env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_backends),
        cmocka_unit_test(test_memory_limit),
        cmocka_unit_test(test_failing_allocations),
        cmocka_unit_test(test_events_and_copies),
        cmocka_unit_test(test_refused_arguments),
        cmocka_unit_test(test_refused_plans),
        cmocka_unit_test(test_no_allocation),
        cmocka_unit_test(test_counters_and_cost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
