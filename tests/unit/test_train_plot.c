/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of run folders: from folders written here, with several seeds, torn lines, missing and damaged files. */
#include "tests/support/gnt_test.h"

#include <gnntrain/experimental.h>

#include "base/file.h"
#include "base/text.h"
#include "train/plot.h"

#include <math.h>
#include <string.h>

/* A metrics file of `count` epochs whose values are shifted by `shift`, with `tail` behind. */
static void write_metrics(const char *folder, int count, double shift, const char *tail)
{
    gnti_text t = { 0 };
    char *path = NULL, *text = NULL;

    gnt_assert_ok(gnti_folder_create(folder));
    for (int i = 1; i <= count; i++)
        gnti_text_printf(&t,
                         "{\"epoch\":%d,\"train_loss\":%.6f,\"valid_loss\":%s,\"metric\":\"accuracy\","
                         "\"train_metric\":%.6f,\"valid_metric\":%.6f,\"seconds\":0.001}\n",
                         i, 2.0 / i + shift, i % 2 == 0 ? "null" : "1.5", 0.5, 0.6 + shift);
    gnti_text_append(&t, tail);
    gnt_assert_ok(gnti_text_take(&t, &text));
    gnt_assert_ok(gnti_path_join(folder, "metrics.jsonl", &path));
    gnt_assert_ok(gnti_file_write_all(path, text, strlen(text)));
    gnti_free(path);
    gnti_free(text);
}

static void write_summary(const char *folder, const char *text)
{
    char *path = NULL;

    gnt_assert_ok(gnti_path_join(folder, "summary.json", &path));
    gnt_assert_ok(gnti_file_write_all(path, text, strlen(text)));
    gnti_free(path);
}

static const char summary_text[] = "{\"metric\": \"accuracy\", \"test_metric\": 0.815, \"best_epoch\": 3,"
                                   " \"classes\": [\"a<b\", \"c\"], \"confusion\": [[9, 1], [2, 8]]}";

static void a_run_is_drawn(void **state)
{
    char folder[GNT_TEST_PATH_BYTES], out[GNT_TEST_PATH_BYTES], *text;
    const char *runs[1] = { folder };

    (void)state;
    gnt_test_path(folder, "run");
    write_metrics(folder, 20, 0.0, "{\"epoch\":21,\"train_lo");
    write_summary(folder, summary_text);
    gnt_test_path(out, "run.svg");
    gnt_assert_ok(gntx_plot(runs, 1, GNTX_PLOT_ALL, out));
    text = gnt_test_read(out, NULL);
    assert_non_null(strstr(text, "best epoch 3"));
    assert_non_null(strstr(text, "Confusion matrix"));
    assert_non_null(strstr(text, "a&lt;b"));
    assert_non_null(strstr(text, ">90 %<"));
    assert_null(strstr(text, "nan"));
    gnti_free(text);
    gnt_assert_ok(gnti_run_write_report(folder));
    gnt_test_path(out, "run/report.html");
    text = gnt_test_read(out, NULL);
    assert_non_null(strstr(text, "<b>0.8150</b>"));
    assert_non_null(strstr(text, "</svg>"));
    gnti_free(text);
}

static void seeds_become_a_band(void **state)
{
    char folder[GNT_TEST_PATH_BYTES], seed[GNT_TEST_PATH_BYTES];
    gnti_run_record run;

    (void)state;
    gnt_test_path(folder, "seeds");
    write_metrics(folder, 10, 0.0, "");
    for (int s = 0; s < 3; s++) {
        gnt_test_path(seed, s == 0 ? "seeds/seed-0" : s == 1 ? "seeds/seed-1" : "seeds/seed-2");
        write_metrics(seed, s == 2 ? 5 : 10, 0.1 * (s - 1), ""); /* one stopped early */
    }
    gnt_assert_ok(gnti_run_record_read(folder, &run));
    assert_int_equal(run.num_seeds, 3);
    assert_int_equal(run.curves.count, 10);
    const double *low = run.curves.low[GNTI_CURVE_VALID_METRIC],
                 *high = run.curves.high[GNTI_CURVE_VALID_METRIC];

    assert_true(fabs(high[0] - 0.7) < 1e-6 && fabs(low[0] - 0.5) < 1e-6); /* std of -0.1, 0, 0.1 is 0.1 */
    assert_true(fabs(high[9] - low[9] - 2 * 0.1 / sqrt(2.0)) < 1e-6);     /* of -0.1, 0 */
    gnti_run_record_free(&run);
    write_summary(folder, "{\"metric\": \"accuracy\", \"mean\": 0.8, \"std\": 0.01}");
    gnt_assert_ok(gnti_run_record_read(folder, &run));
    double deviation;

    assert_true(fabs(gnti_run_test_value(&run, &deviation) - 0.8) < 1e-12 && fabs(deviation - 0.01) < 1e-12);
    gnti_run_record_free(&run);
}

static void runs_are_compared(void **state)
{
    char a[GNT_TEST_PATH_BYTES], b[GNT_TEST_PATH_BYTES], out[GNT_TEST_PATH_BYTES], *text;
    const char *runs[2] = { a, b };

    (void)state;
    write_metrics(gnt_test_path(a, "gcn"), 5, 0.0, "");
    write_metrics(gnt_test_path(b, "mlp"), 5, 0.1, "");
    write_summary(a, "{\"metric\": \"accuracy\", \"test_metric\": 0.624}");
    write_summary(b, "{\"metric\": \"accuracy\", \"test_metric\": 0.5}");
    gnt_assert_ok(gntx_plot(runs, 2, GNTX_PLOT_ALL, gnt_test_path(out, "both.svg")));
    text = gnt_test_read(out, NULL);
    assert_non_null(strstr(text, ">62.4 %<"));
    assert_non_null(strstr(text, ">mlp<"));
    gnti_free(text);
    gnt_assert_ok(gntx_plot(runs, 2, GNTX_PLOT_COMPARE, gnt_test_path(out, "both.html")));
    gnt_assert_status(gntx_plot(runs, 2, GNTX_PLOT_CONFUSION, gnt_test_path(out, "x.svg")), GNT_ERR_USAGE);
    assert_false(gnti_file_exists(out));
    write_metrics(b, 5, 0.1, "{\"epoch\":6,\"metric\":\"mae\"}\n");
    gnt_assert_status(gntx_plot(runs, 2, GNTX_PLOT_COMPARE, out), GNT_ERR_USAGE);
    gnt_assert_error_has("accuracy", "mae");
}

static void damaged_folders_are_refused(void **state)
{
    char folder[GNT_TEST_PATH_BYTES], out[GNT_TEST_PATH_BYTES];
    const char *runs[1] = { folder };

    (void)state;
    gnt_test_path(out, "damaged.svg");
    gnt_test_path(folder, "absent");
    gnt_assert_status(gntx_plot(runs, 1, GNTX_PLOT_ALL, out), GNT_ERR_IO);
    gnt_assert_error_has("absent", "no run folder");
    gnt_test_path(folder, "damaged");
    write_metrics(folder, 3, 0.0, "not json\n");
    gnt_assert_status(gntx_plot(runs, 1, GNTX_PLOT_ALL, out), GNT_ERR_FORMAT);
    gnt_assert_error_has("metrics.jsonl");
    write_metrics(folder, 3, 0.0, "");
    gnt_assert_status(gntx_plot(runs, 1, GNTX_PLOT_CONFUSION, out), GNT_ERR_USAGE);
    write_summary(folder, "{\"confusion\": [[1, 2], [3]]}");
    gnt_assert_status(gntx_plot(runs, 1, GNTX_PLOT_ALL, out), GNT_ERR_FORMAT);
    gnt_assert_error_has("row 1", "1 entries for 2 classes");
    write_summary(folder, "{\"confusion\": [[1, 2], [3, \"x\"]]}");
    gnt_assert_status(gntx_plot(runs, 1, GNTX_PLOT_ALL, out), GNT_ERR_FORMAT);
    write_summary(folder, "{\"best_epoch\": \"x\", \"test_metric\": null}");
    gnt_assert_ok(gntx_plot(runs, 1, GNTX_PLOT_ALL, out)); /* odd members are no reason to draw nothing */
    gnt_test_path(out, "damaged.pdf");
    gnt_assert_status(gntx_plot(runs, 1, GNTX_PLOT_ALL, out), GNT_ERR_USAGE);
    gnt_assert_error_has(".svg", ".html");
}

static void every_failing_allocation_is_survived(void **state)
{
    char folder[GNT_TEST_PATH_BYTES], seed[GNT_TEST_PATH_BYTES], out[GNT_TEST_PATH_BYTES];
    const char *runs[1] = { folder };

    (void)state;
    write_metrics(gnt_test_path(folder, "brutal"), 3, 0.0, "");
    write_metrics(gnt_test_path(seed, "brutal/seed-1"), 3, 0.0, "");
    write_metrics(gnt_test_path(seed, "brutal/seed-2"), 3, 0.1, "");
    write_summary(folder, summary_text);
    GNT_BRUTAL(gntx_plot(runs, 1, GNTX_PLOT_ALL, gnt_test_path(out, "brutal.svg")));
    GNT_BRUTAL(gntx_plot(runs, 1, GNTX_PLOT_ALL, gnt_test_path(out, "brutal.html")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_drawn),
        cmocka_unit_test(seeds_become_a_band),
        cmocka_unit_test(runs_are_compared),
        cmocka_unit_test(damaged_folders_are_refused),
        cmocka_unit_test(every_failing_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
