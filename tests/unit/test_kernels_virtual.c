/* SPDX-License-Identifier: Apache-2.0 */
/* labels: short
 * Texts of devices, and what their clocks show: seconds by kind of work, noise around 1, a slow-down at a step.
 */
#include "tests/support/gnt_test.h"

#include "base/alloc.h"
#include "kernels/dispatch_count.h"
#include "kernels/virtual.h"

#include <math.h>
#include <string.h>

static void numbers_and_lists(void **state)
{
    gnti_device_spec *specs = NULL;
    int32_t count = 0;

    (void)state;
    assert_int_equal(gnti_device_specs_parse(NULL, &specs, &count), GNT_OK);
    assert_int_equal(count, 1);
    gnti_free(specs);
    assert_int_equal(gnti_device_specs_parse("4", &specs, &count), GNT_OK);
    assert_int_equal(count, 4);
    assert_string_equal(specs[3].backend, "auto");
    gnti_free(specs);
    assert_int_equal(gnti_device_specs_parse("cpu:speed=2;cpu:speed=0.5,mem=512M,threads=2", &specs, &count),
                     GNT_OK);
    assert_int_equal(count, 2);
    assert_true(specs[0].speed == 1.0 &&
                specs[1].speed == 0.25); /* relative to the fastest on the wall clock */
    assert_int_equal(specs[1].memory, 512u << 20);
    assert_int_equal(specs[1].threads, 2);
    gnti_free(specs);
    assert_int_equal(gnti_device_specs_parse("cpu:clock=virtual,speed=3,gemm=2,slow=4@20", &specs, &count),
                     GNT_OK);
    assert_true(specs[0].virtual_clock && specs[0].speed == 3.0 && specs[0].gemm == 2.0);
    assert_true(specs[0].slow_factor == 4.0 && specs[0].slow_step == 20);
    gnti_free(specs);
    assert_int_equal(gnti_device_specs_parse("cpu:clock=virtual,latency=2e-5,bandwidth=1e9", &specs, &count),
                     GNT_OK);
    assert_true(specs[0].latency == 2e-5 && specs[0].bandwidth == 1e9 && specs[0].bytes == 8e9);
    gnti_free(specs);
}

static void bad_texts(void **state)
{
    static const struct {
        const char *text, *part;
    } bad[] = { { "0", "1 to" },
                { "-3", "1 to" },
                { "cpu:spede=1", "did you mean speed" },
                { "cpu:speed=0", "above 0" },
                { "cpu:speed=nan", "above 0" },
                { "cpu:speed", "key=value" },
                { "cpu:mem=12Q", "bytes" },
                { "cpu:slow=4", "FACTOR@STEP" },
                { "cpu:clock=sand", "virtual" },
                { "cpu:latency=1e-5", "clock=virtual" },
                { "cpu:bandwidth=1e9", "clock=virtual" },
                { "cpu:clock=virtual,bandwidth=0", "no rate" },
                { "cpu:clock=virtual,noise=0.5", "from 0 to" },
                { "cpu:", "expected" },
                { ";", "expected" },
                { "cpu:clock=virtual;cpu", "different clocks" } };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        gnti_device_spec *specs = NULL;
        int32_t count = 0;

        assert_int_equal(gnti_device_specs_parse(bad[i].text, &specs, &count), GNT_ERR_USAGE);
        assert_non_null(strstr(gnt_last_error(), bad[i].part));
        assert_null(specs);
    }
}

/* Seconds that a device shows for `bytes` of one kind, mean of many charges. */
static double mean_seconds(const char *text, gnti_op_kind kind, double bytes, int64_t step)
{
    gnti_device_spec *specs = NULL;
    gnti_virtual *v = NULL;
    gnti_stream_head stream = { 0 };
    int32_t count = 0;
    double sum = 0.0;
    enum { TIMES = 400 };

    assert_int_equal(gnti_device_specs_parse(text, &specs, &count), GNT_OK);
    assert_int_equal(gnti_virtual_create(&specs[0], 7, &v), GNT_OK);
    for (int i = 0; i < TIMES; i++) {
        gnti_virtual_begin(v, (gnt_stream *)(void *)&stream, step);
        gnti_count((gnt_stream *)(void *)&stream, kind, 0.0, 0.0, bytes);
        gnti_virtual_end(v, (gnt_stream *)(void *)&stream);
        sum += gnti_virtual_take_seconds(v);
    }
    assert_true(fabs(*gnti_virtual_clock(v) - sum) < 1e-9 * sum);
    gnti_virtual_free(&v);
    gnti_free(specs);
    return sum / TIMES;
}

static void virtual_clock_charges_work(void **state)
{
    const double unit = mean_seconds("cpu:clock=virtual,bytes=1e9", GNTI_OP_MAP, 1e9, 0);

    (void)state;
    assert_true(fabs(unit - 1.0) < 0.01); /* 5 % noise, 400 draws: 4 deviations of the mean */
    assert_true(fabs(mean_seconds("cpu:clock=virtual,bytes=1e9,speed=4", GNTI_OP_MAP, 1e9, 0) - 0.25) <
                0.0025);
    assert_true(fabs(mean_seconds("cpu:clock=virtual,bytes=1e9,spmm=0.5", GNTI_OP_SPMM, 1e9, 0) - 2.0) <
                0.02);
    assert_true(fabs(mean_seconds("cpu:clock=virtual,bytes=1e9,spmm=0.5", GNTI_OP_GEMM, 1e9, 0) - 1.0) <
                0.01);
    assert_true(fabs(mean_seconds("cpu:clock=virtual,bytes=1e9,slow=4@20", GNTI_OP_MAP, 1e9, 19) - 1.0) <
                0.01);
    assert_true(fabs(mean_seconds("cpu:clock=virtual,bytes=1e9,slow=4@20", GNTI_OP_MAP, 1e9, 20) - 4.0) <
                0.04);
}

/* Each op has a noise of its own: a stretch of 16 shows a quarter of it. Without noise seconds are those of the rates. */
static void noise_is_that_of_ops(void **state)
{
    static const struct {
        const char *text;
        int64_t calls;
        double least, most;
    } cases[] = { { "cpu:clock=virtual,bytes=1e9", 1, 0.040, 0.060 },
                  { "cpu:clock=virtual,bytes=1e9", 16, 0.010, 0.015 },
                  { "cpu:clock=virtual,bytes=1e9,noise=0.2", 1, 0.16, 0.24 },
                  { "cpu:clock=virtual,bytes=1e9,noise=0", 1, 0.0, 1e-15 } };
    enum { TIMES = 400 };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gnti_device_spec *specs = NULL;
        gnti_virtual *v = NULL;
        gnti_stream_head stream = { 0 };
        int32_t count = 0;
        double squares = 0.0;

        gnt_assert_ok(gnti_device_specs_parse(cases[i].text, &specs, &count));
        gnt_assert_ok(gnti_virtual_create(&specs[0], 11, &v));
        for (int t = 0; t < TIMES; t++) {
            double seconds;

            gnti_virtual_begin(v, (gnt_stream *)(void *)&stream, 0);
            for (int64_t c = 0; c < cases[i].calls; c++)
                gnti_count((gnt_stream *)(void *)&stream, GNTI_OP_MAP, 0.0, 0.0,
                           1e9 / (double)cases[i].calls);
            gnti_virtual_end(v, (gnt_stream *)(void *)&stream);
            seconds = gnti_virtual_take_seconds(v);
            squares += (seconds - 1.0) * (seconds - 1.0) / TIMES;
        }
        assert_true(sqrt(squares) >= cases[i].least && sqrt(squares) <= cases[i].most);
        gnti_virtual_free(&v);
        gnti_free(specs);
    }
}

/* Each op is limited by what limits it: one by operations and one by bytes take longer than their sums would. */
static void ops_are_charged_one_by_one(void **state)
{
    gnti_device_spec *specs = NULL;
    gnti_virtual *v = NULL;
    gnti_stream_head stream = { 0 };
    gnt_stream *s = (gnt_stream *)(void *)&stream;
    int32_t count = 0;

    (void)state;
    gnt_assert_ok(gnti_device_specs_parse("cpu:clock=virtual,bytes=1e9,flops=1e9,noise=0", &specs, &count));
    gnt_assert_ok(gnti_virtual_create(&specs[0], 7, &v));
    gnti_virtual_begin(v, s, 0);
    gnti_count(s, GNTI_OP_GEMM, 0.0, 2e9, 1e9);
    gnti_count(s, GNTI_OP_GEMM, 0.0, 1e9, 3e9);
    gnti_virtual_end(v, s);
    assert_true(fabs(gnti_virtual_take_seconds(v) - 5.0) < 1e-9);
    gnti_count(s, GNTI_OP_GEMM, 0.0, 1e9, 3e9); /* outside of a stretch */
    assert_true(gnti_virtual_take_seconds(v) == 0.0);
    gnti_virtual_free(&v);
    gnti_free(specs);
}

static void paced_device_takes_longer(void **state)
{
    gnti_device_spec *specs = NULL;
    gnti_virtual *v = NULL;
    gnti_stream_head stream = { 0 };
    int32_t count = 0;

    (void)state;
    assert_int_equal(gnti_device_specs_parse("cpu;cpu:speed=0.25", &specs, &count), GNT_OK);
    assert_int_equal(gnti_virtual_create(&specs[1], 7, &v), GNT_OK);
    assert_null(gnti_virtual_clock(v));
    gnti_virtual_begin(v, (gnt_stream *)(void *)&stream, 0);
    stream.counters[GNTI_OP_SPMM].seconds += 0.02; /* as if an op had taken so long */
    gnti_virtual_end(v, (gnt_stream *)(void *)&stream);
    assert_true(gnti_virtual_take_seconds(v) >= 0.06);
    gnti_virtual_free(&v);
    gnti_free(specs);
}

/* Devices that are there have numbers; ranges are so many devices, kinds mix. */
static void numbers_of_devices(void **state)
{
    static const char *const wrong[] = { "gpu:3-1",       "gpu:0-",       "gpu:0x",
                                         "gpu:0,speed=2", "gpu:0:mem=1M", "gpu:0-4096" };
    gnti_device_spec *specs = NULL;
    int32_t count = 0;

    (void)state;
    gnt_assert_ok(gnti_device_specs_parse("gpu:1-3,mem=1M;cpu:threads=2;gpu;gpu:7;gpu", &specs, &count));
    assert_int_equal(count, 7);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(specs[i].backend, "gpu");
        assert_int_equal(specs[i].index, 1 + i);
        assert_int_equal(specs[i].memory, 1 << 20);
    }
    assert_int_equal(specs[3].index, -1);
    assert_int_equal(specs[3].threads, 2);
    assert_int_equal(specs[5].index, 7);
    assert_int_equal(gnti_device_number(specs, 4), 0);
    assert_int_equal(gnti_device_number(specs, 6), 1); /* the second without a number */
    gnti_free(specs);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        gnt_assert_status(gnti_device_specs_parse(wrong[i], &specs, &count), GNT_ERR_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(numbers_of_devices),
                                        cmocka_unit_test(numbers_and_lists),
                                        cmocka_unit_test(bad_texts),
                                        cmocka_unit_test(virtual_clock_charges_work),
                                        cmocka_unit_test(noise_is_that_of_ops),
                                        cmocka_unit_test(ops_are_charged_one_by_one),
                                        cmocka_unit_test(paced_device_takes_longer) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
