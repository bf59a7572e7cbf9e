/* SPDX-License-Identifier: Apache-2.0 */
/* Charts of runs: curves of loss and metric, the confusion matrix of the test nodes, a comparison of test values. */
#include "train/plot.h"

#include "base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_COMPARED = 64 };

/* Shares are written as percent, errors and losses as they are. */
static bool is_share(const char *metric)
{
    return strcmp(metric, "mae") != 0 && strcmp(metric, "mse") != 0 && strcmp(metric, "metric") != 0;
}

static bool has_values(const double *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (isfinite(values[i]))
            return true;
    return false;
}

static int32_t add_series(const gnti_run_record *run, int curve, const char *name, gnti_series *series,
                          int32_t used)
{
    const gnti_curves *c = &run->curves;

    if (!has_values(c->value[curve], c->count))
        return used;
    series[used] = (gnti_series){ .name = name,
                                  .x = c->epoch,
                                  .y = c->value[curve],
                                  .low = c->low[curve],
                                  .high = c->high[curve],
                                  .count = c->count };
    return used + 1;
}

static void set_mark(const gnti_run_record *run, gnti_line_chart *chart, char label[48])
{
    double best = (double)NAN;

    if (run->summary == NULL || !gnti_json_to_number(gnti_json_find(run->summary, "best_epoch"), &best) ||
        !(best >= 1.0))
        return;
    snprintf(label, 48, "best epoch %.0f", best);
    chart->has_mark = true;
    chart->mark_x = best;
    chart->mark_label = label;
}

static void subtitle_of(const gnti_run_record *run, char out[160])
{
    if (run->num_seeds > 1)
        snprintf(out, 160, "%.80s: mean of %lld seeds, band of one standard deviation", run->name,
                 (long long)run->num_seeds);
    else
        snprintf(out, 160, "%.150s", run->name);
}

gnt_status gnti_plot_loss(const gnti_run_record *run, gnti_svg *out)
{
    gnti_series series[2];
    char label[48], subtitle[160];
    int32_t used = add_series(run, GNTI_CURVE_TRAIN_LOSS, "training", series, 0);
    gnti_line_chart chart = { .title = "Loss",
                              .subtitle = subtitle,
                              .x_label = "epoch",
                              .y_label = "loss",
                              .series = series,
                              .log_y = true };

    used = add_series(run, GNTI_CURVE_VALID_LOSS, "validation", series, used);
    chart.num_series = used;
    subtitle_of(run, subtitle);
    set_mark(run, &chart, label);
    return gnti_chart_lines(&chart, out);
}

gnt_status gnti_plot_metric(const gnti_run_record *runs, int32_t num_runs, gnti_svg *out)
{
    gnt_status st = GNT_OK;
    gnti_series series[MAX_COMPARED];
    char label[48], subtitle[160], title[64];
    int32_t used = 0;
    gnti_line_chart chart = { .title = title,
                              .subtitle = subtitle,
                              .x_label = "epoch",
                              .y_label = runs[0].metric,
                              .series = series,
                              .percent = is_share(runs[0].metric) };

    GNT_CHECK(num_runs <= MAX_COMPARED, GNT_ERR_LIMIT, "%d runs in one picture, the limit is %d", num_runs,
              MAX_COMPARED);
    snprintf(title, sizeof title, "%s %s", num_runs > 1 ? "Validation" : "Metric:", runs[0].metric);
    if (num_runs == 1) {
        used = add_series(&runs[0], GNTI_CURVE_TRAIN_METRIC, "training", series, 0);
        used = add_series(&runs[0], GNTI_CURVE_VALID_METRIC, "validation", series, used);
        set_mark(&runs[0], &chart, label);
        subtitle_of(&runs[0], subtitle);
    } else {
        for (int32_t i = 0; i < num_runs; i++)
            used = add_series(&runs[i], GNTI_CURVE_VALID_METRIC, runs[i].name, series, used);
        snprintf(subtitle, sizeof subtitle, "%d runs", num_runs);
    }
    chart.num_series = used;
    GNT_TRY(gnti_chart_lines(&chart, out));
done:
    return st;
}

bool gnti_plot_has_confusion(const gnti_run_record *run)
{
    return run->summary != NULL && gnti_json_length(gnti_json_find(run->summary, "confusion")) > 0;
}

/* Counts and names out of the summary; arrays that do not fit each other are refused. */
static gnt_status read_confusion(const gnti_run_record *run, int64_t *counts, const char **names,
                                 int64_t classes, int64_t *out_total)
{
    gnt_status st = GNT_OK;
    const gnti_json *rows = gnti_json_find(run->summary, "confusion");
    const gnti_json *words = gnti_json_find(run->summary, "classes");

    *out_total = 0;
    for (int64_t i = 0; i < classes; i++) {
        const gnti_json *row = gnti_json_at(rows, i);

        GNT_CHECK(gnti_json_length(row) == classes, GNT_ERR_FORMAT,
                  "'%s/summary.json': row %lld of the confusion matrix has %lld entries for %lld classes",
                  run->path, (long long)i, (long long)gnti_json_length(row), (long long)classes);
        for (int64_t k = 0; k < classes; k++) {
            GNT_CHECK(gnti_json_to_int(gnti_json_at(row, k), &counts[i * classes + k]), GNT_ERR_FORMAT,
                      "'%s/summary.json': the confusion matrix has an entry that is no count", run->path);
            *out_total += counts[i * classes + k];
        }
        names[i] = gnti_json_to_text(gnti_json_at(words, i));
    }
done:
    return st;
}

gnt_status gnti_plot_confusion(const gnti_run_record *run, gnti_svg *out)
{
    gnt_status st = GNT_OK;
    const int64_t classes =
        run->summary == NULL ? 0 : gnti_json_length(gnti_json_find(run->summary, "confusion"));
    int64_t *counts = NULL, total = 0;
    const char **names = NULL;
    char subtitle[64];
    gnti_confusion_chart chart = { .title = "Confusion matrix", .subtitle = subtitle };

    GNT_CHECK(classes > 0, GNT_ERR_USAGE,
              "run '%s' keeps no confusion matrix: it has not ended, or its labels are no classes",
              run->path);
    GNT_CHECK(classes <= 1000, GNT_ERR_LIMIT, "a confusion matrix of %lld classes, at most 1000 are drawn",
              (long long)classes);
    GNT_TRY(gnti_alloc_array(&counts, classes * classes));
    GNT_TRY(gnti_calloc_array(&names, classes));
    GNT_TRY(read_confusion(run, counts, names, classes, &total));
    snprintf(subtitle, sizeof subtitle, "%lld test nodes", (long long)total);
    chart.counts = counts;
    chart.names = names;
    chart.num_classes = (int32_t)classes;
    GNT_TRY(gnti_chart_confusion(&chart, out));
done:
    gnti_free(counts);
    gnti_free(names);
    return st;
}

gnt_status gnti_plot_compare(const gnti_run_record *runs, int32_t num_runs, gnti_svg *out)
{
    gnt_status st = GNT_OK;
    gnti_bar bars[MAX_COMPARED];
    char title[64];
    const gnti_bar_chart chart = { .title = title,
                                   .value_label = runs[0].metric,
                                   .bars = bars,
                                   .num_bars = num_runs,
                                   .percent = is_share(runs[0].metric) };

    GNT_CHECK(num_runs <= MAX_COMPARED, GNT_ERR_LIMIT, "%d runs in one picture, the limit is %d", num_runs,
              MAX_COMPARED);
    snprintf(title, sizeof title, "Test %s", runs[0].metric);
    for (int32_t i = 0; i < num_runs; i++) {
        GNT_CHECK(strcmp(runs[i].metric, runs[0].metric) == 0, GNT_ERR_USAGE,
                  "run '%s' has the metric %s, run '%s' has %s", runs[0].path, runs[0].metric, runs[i].path,
                  runs[i].metric);
        bars[i] = (gnti_bar){ .name = runs[i].name, .color = i };
        bars[i].value = gnti_run_test_value(&runs[i], &bars[i].deviation);
    }
    GNT_TRY(gnti_chart_bars(&chart, out));
done:
    return st;
}
