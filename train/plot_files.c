/* SPDX-License-Identifier: Apache-2.0 */
/* From run folders to a file: one SVG with the charts that fit, or a page that embeds them and shows the facts. */
#include <gnntrain/experimental.h>

#include "base/alloc.h"
#include "base/file.h"
#include "report/page.h"
#include "train/plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_CHARTS = 4, MAX_RUNS = 64 };

/* Which charts a kind asks of these runs, in the order in which they are shown. */
static gnt_status draw_charts(const gnti_run_record *runs, int32_t num_runs, gntx_plot_kind kind,
                              gnti_svg *charts, int32_t *num_charts)
{
    gnt_status st = GNT_OK;
    const bool all = kind == GNTX_PLOT_ALL;
    int32_t n = 0;

    GNT_CHECK(kind != GNTX_PLOT_CONFUSION || num_runs == 1, GNT_ERR_USAGE,
              "a confusion matrix is drawn of one run, not of %d", num_runs);
    if (kind == GNTX_PLOT_COMPARE || (all && num_runs > 1)) {
        GNT_TRY(gnti_plot_compare(runs, num_runs, &charts[n]));
        n++;
    }
    if ((kind == GNTX_PLOT_CURVES || all) && num_runs == 1) {
        GNT_TRY(gnti_plot_loss(&runs[0], &charts[n]));
        n++;
    }
    if (kind == GNTX_PLOT_CURVES || all) {
        GNT_TRY(gnti_plot_metric(runs, num_runs, &charts[n]));
        n++;
    }
    if (kind == GNTX_PLOT_CONFUSION || (all && num_runs == 1 && gnti_plot_has_confusion(&runs[0]))) {
        GNT_TRY(gnti_plot_confusion(&runs[0], &charts[n]));
        n++;
    }
    *num_charts = n;
done:
    for (int32_t i = 0; st != GNT_OK && i < n; i++)
        gnti_svg_free(&charts[i]);
    return st;
}

static void value_text(double value, double deviation, char out[64])
{
    if (!isfinite(value))
        snprintf(out, 64, "-");
    else if (isfinite(deviation))
        snprintf(out, 64, "%.4f \xc2\xb1 %.4f", value, deviation);
    else
        snprintf(out, 64, "%.4f", value);
}

static void add_facts(gnti_page *page, const gnti_run_record *run)
{
    static const char *const keys[] = { "best_epoch", "epoch_seconds_median", "peak_bytes" };
    static const char *const labels[] = { "best epoch", "ms an epoch (median)", "MiB at the peak" };
    static const double scales[] = { 1.0, 1e3, 1.0 / 1048576.0 };
    const char *names[4], *values[4];
    char text[4][64], title[64];
    double deviation, value = gnti_run_test_value(run, &deviation), number = (double)NAN;
    int32_t count = 1;

    value_text(value, deviation, text[0]);
    snprintf(title, sizeof title, "test %s", run->metric);
    names[0] = title;
    values[0] = text[0];
    for (int i = 0; i < 3; i++) {
        if (!gnti_json_to_number(gnti_json_find(run->summary, keys[i]), &number) || !isfinite(number))
            continue;
        snprintf(text[count], 64, "%.4g", number * scales[i]);
        names[count] = labels[i];
        values[count] = text[count];
        count++;
    }
    gnti_page_facts(page, names, values, count);
}

static void add_table(gnti_page *page, const gnti_run_record *runs, int32_t num_runs)
{
    const char *const heads[] = { "run", "metric", "test value", "deviation" };
    const char *cells[4 * MAX_RUNS];
    char text[2 * MAX_RUNS][64];

    for (int32_t i = 0; i < num_runs; i++) {
        double deviation, value = gnti_run_test_value(&runs[i], &deviation);

        value_text(value, (double)NAN, text[2 * i]);
        value_text(deviation, (double)NAN, text[2 * i + 1]);
        cells[4 * i] = runs[i].name;
        cells[4 * i + 1] = runs[i].metric;
        cells[4 * i + 2] = text[2 * i];
        cells[4 * i + 3] = text[2 * i + 1];
    }
    gnti_page_table(page, heads, cells, num_runs, 4);
}

static gnt_status make_page(const gnti_run_record *runs, int32_t num_runs, const gnti_svg *charts,
                            int32_t num_charts, char **out)
{
    gnt_status st = GNT_OK;
    gnti_page page;
    char title[160], *summary = NULL;

    snprintf(title, sizeof title, num_runs == 1 ? "Run %.100s" : "Comparison of runs", runs[0].name);
    gnti_page_begin(&page, title, "gnntrain " GNT_VERSION);
    if (num_runs == 1 && runs[0].summary != NULL)
        add_facts(&page, &runs[0]);
    else if (num_runs > 1)
        add_table(&page, runs, num_runs);
    gnti_page_heading(&page, "Charts");
    for (int32_t i = 0; i < num_charts; i++)
        gnti_page_chart(&page, &charts[i]);
    if (num_runs == 1 && runs[0].summary != NULL) {
        GNT_TRY(gnti_json_print(runs[0].summary, true, &summary));
        gnti_page_heading(&page, "Summary");
        gnti_page_code(&page, summary);
    }
    GNT_TRY(gnti_page_finish(&page, out));
done:
    gnti_page_free(&page);
    gnti_free(summary);
    return st;
}

static bool ends_with(const char *path, const char *suffix)
{
    const size_t n = strlen(path), m = strlen(suffix);

    return n > m && strcmp(path + n - m, suffix) == 0;
}

static gnt_status write_file(const gnti_run_record *runs, int32_t num_runs, gntx_plot_kind kind,
                             const char *out_path)
{
    gnt_status st = GNT_OK;
    gnti_svg charts[MAX_CHARTS] = { { 0 } }, figure = { 0 };
    int32_t num_charts = 0;
    char *html = NULL;

    GNT_CHECK(ends_with(out_path, ".svg") || ends_with(out_path, ".html"), GNT_ERR_USAGE,
              "'%s': the name of a picture ends in .svg, of a page in .html", out_path);
    GNT_TRY(draw_charts(runs, num_runs, kind, charts, &num_charts));
    if (ends_with(out_path, ".html")) {
        GNT_TRY(make_page(runs, num_runs, charts, num_charts, &html));
        GNT_TRY(gnti_file_write_all(out_path, html, strlen(html)));
    } else {
        GNT_TRY(gnti_figure(charts, num_charts, num_charts > 1 ? 2 : 1, &figure));
        GNT_TRY(gnti_file_write_all(out_path, figure.text, strlen(figure.text)));
    }
done:
    for (int32_t i = 0; i < MAX_CHARTS; i++)
        gnti_svg_free(&charts[i]);
    gnti_svg_free(&figure);
    gnti_free(html);
    return st;
}

gnt_status gntx_plot(const char *const *runs, int num_runs, gntx_plot_kind kind, const char *out_path)
{
    gnt_status st = GNT_OK;
    gnti_run_record *records = NULL;

    GNT_CHECK(num_runs >= 1 && num_runs <= MAX_RUNS, GNT_ERR_USAGE,
              "%d runs in one picture: 1 to %d can be drawn", num_runs, MAX_RUNS);
    GNT_TRY(gnti_calloc_array(&records, num_runs));
    for (int i = 0; i < num_runs; i++)
        GNT_TRY(gnti_run_record_read(runs[i], &records[i]));
    GNT_TRY(write_file(records, num_runs, kind, out_path));
done:
    for (int i = 0; records != NULL && i < num_runs; i++)
        gnti_run_record_free(&records[i]);
    gnti_free(records);
    return st;
}

gnt_status gnti_run_write_report(const char *run_path)
{
    gnt_status st = GNT_OK;
    char *path = NULL;

    GNT_TRY(gnti_path_join(run_path, "report.html", &path));
    GNT_TRY(gntx_plot(&run_path, 1, GNTX_PLOT_ALL, path));
done:
    gnti_free(path);
    return st;
}
