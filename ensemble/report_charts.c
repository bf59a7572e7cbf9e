/* SPDX-License-Identifier: Apache-2.0 */
/* From report.json to charts: members as points beside the ensemble, reliability before and after the temperature, how often two
 * members disagree, members on devices. A report is a file that anybody may have changed: what does not fit is left out.
 */
#include "ensemble/report_charts.h"

#include "base/alloc.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    MAX_GAPS = 1000,
    MAX_BINS = 200,
    MAX_SIDE = 128,
    MAX_BARS = 100000,
    MAX_DEVICES = 4096,
    MAX_DOTS = 2000,
    LABEL_BYTES = 160
};
enum { COLOR_MEMBER = 0, COLOR_ENSEMBLE = 1, COLOR_MEAN = 6 };

double gnti_report_number(const gnti_json *o, const char *key)
{
    double value = (double)NAN;

    return o != NULL && gnti_json_to_number(gnti_json_find(o, key), &value) ? value : (double)NAN;
}

const char *gnti_report_format(const char *format, double value, char out[GNTI_REPORT_NUMBER_BYTES])
{
    if (isnan(value))
        snprintf(out, GNTI_REPORT_NUMBER_BYTES, "\xe2\x80\x93");
    else
        snprintf(out, GNTI_REPORT_NUMBER_BYTES, format, value);
    return out;
}

const char *gnti_report_text(const gnti_json *o, const char *key)
{
    const char *text = o != NULL ? gnti_json_to_text(gnti_json_find(o, key)) : NULL;

    return text != NULL ? text : "";
}

bool gnti_report_is_share(const gnti_json *report)
{
    const char *metric = gnti_report_text(report, "metric");

    return strcmp(metric, "mae") != 0 && strcmp(metric, "mse") != 0;
}

static double item(const gnti_json *list, int64_t i)
{
    double value = (double)NAN;

    return gnti_json_to_number(gnti_json_at(list, i), &value) ? value : (double)NAN;
}

/* ---- members beside the ensemble ---- */

gnt_status gnti_report_draw_members(const gnti_json *report, gnti_svg *out, bool *found)
{
    gnt_status st = GNT_OK;
    const gnti_json *members = gnti_json_find(report, "members");
    const int64_t num = gnti_json_length(members);
    gnti_dot *dots = NULL;
    char label[64];
    const gnti_dot lines[] = {
        { .name = "mean of members",
          .value = gnti_report_number(gnti_json_find(report, "member_mean"), "test_metric"),
          .color = COLOR_MEAN },
        { .name = "ensemble",
          .value = gnti_report_number(gnti_json_find(report, "ensemble"), "test_metric"),
          .color = COLOR_ENSEMBLE },
    };

    *found = num > 0 && num <= MAX_DOTS;
    if (!*found)
        goto done;
    GNT_TRY(gnti_calloc_array(&dots, num));
    for (int64_t i = 0; i < num; i++) {
        const gnti_json *m = gnti_json_at(members, i);

        dots[i] = (gnti_dot){ .name = gnti_report_text(m, "name"),
                              .value = gnti_report_number(m, "test_metric"),
                              .color = COLOR_MEMBER,
                              .hollow = !(gnti_report_number(m, "weight") > 0.0) };
    }
    snprintf(label, sizeof label, "test %.40s", gnti_report_text(report, "metric"));
    const gnti_dot_chart chart = { .title = "Members and ensemble",
                                   .subtitle = "hollow: a member of weight 0",
                                   .value_label = label,
                                   .dots = dots,
                                   .num_dots = (int32_t)num,
                                   .lines = lines,
                                   .num_lines = 2,
                                   .percent = gnti_report_is_share(report) };

    GNT_TRY(gnti_chart_dots(&chart, out));
done:
    gnti_free(dots);
    return st;
}

/* ---- reliability ---- */

gnt_status gnti_report_draw_reliability(const gnti_json *report, bool before, gnti_svg *out, bool *found)
{
    gnt_status st = GNT_OK;
    const gnti_json *scores = gnti_json_find(report, "ensemble");
    double confidence[MAX_BINS], accuracy[MAX_BINS];
    int64_t count[MAX_BINS];
    char subtitle[256], number[3][GNTI_REPORT_NUMBER_BYTES];

    if (before)
        scores = gnti_json_find(scores, "before_temperature");
    const gnti_json *bins = gnti_json_find(scores, "bins"), *counts = gnti_json_find(bins, "count");
    const int64_t num = gnti_json_length(counts);

    *found = num >= 1 && num <= MAX_BINS;
    if (!*found)
        goto done;
    for (int64_t b = 0; b < num; b++) {
        confidence[b] = item(gnti_json_find(bins, "confidence"), b);
        accuracy[b] = item(gnti_json_find(bins, "accuracy"), b);
        if (!gnti_json_to_int(gnti_json_at(counts, b), &count[b]))
            count[b] = 0;
    }
    snprintf(subtitle, sizeof subtitle, "ECE %s (95 %%: %s to %s), %lld bins",
             gnti_report_format("%.4f", gnti_report_number(scores, "ece"), number[0]),
             gnti_report_format("%.4f", item(gnti_json_find(scores, "ece_interval"), 0), number[1]),
             gnti_report_format("%.4f", item(gnti_json_find(scores, "ece_interval"), 1), number[2]),
             (long long)num);
    const gnti_reliability_chart chart = { .title =
                                               before ? "Before the temperature" : "After the temperature",
                                           .subtitle = subtitle,
                                           .count = count,
                                           .confidence = confidence,
                                           .accuracy = accuracy,
                                           .num_bins = (int32_t)num };

    GNT_TRY(gnti_chart_reliability(&chart, out));
done:
    return st;
}

/* ---- diversity ---- */

gnt_status gnti_report_draw_diversity(const gnti_json *report, gnti_svg *out, bool *found)
{
    gnt_status st = GNT_OK;
    const gnti_json *d = gnti_json_find(report, "diversity"), *rows = gnti_json_find(d, "disagreement");
    const gnti_json *members = gnti_json_find(report, "members");
    const int64_t side = gnti_json_length(rows);
    const bool share = gnti_report_is_share(report);
    const char **names = NULL;
    double *values = NULL;

    *found = side >= 2 && side <= MAX_SIDE && gnti_json_length(members) == side;
    if (!*found)
        goto done;
    GNT_TRY(gnti_calloc_array(&names, side));
    GNT_TRY(gnti_alloc_array(&values, side * side));
    for (int64_t r = 0; r < side; r++) {
        names[r] = gnti_report_text(gnti_json_at(members, r), "name");
        for (int64_t k = 0; k < side; k++)
            values[r * side + k] = r == k ? (double)NAN : item(gnti_json_at(rows, r), k);
    }
    const gnti_matrix_chart chart = {
        .title = share ? "Disagreement of two members" : "Difference of two members",
        .subtitle = share ? "percent of nodes with different answers" : "root of the mean squared difference",
        .values = values,
        .names = names,
        .side = (int32_t)side,
        .percent = share
    };

    GNT_TRY(gnti_chart_matrix(&chart, out));
done:
    gnti_free(names);
    gnti_free(values);
    return st;
}

/* ---- members on devices ---- */

typedef struct gantt {
    const gnti_json *run, *tasks, *spans, *devices;
    gnti_gantt_bar *bars;
    int64_t num_bars, num_tasks;
    int64_t *ids;                /* (num_tasks) */
    char (*labels)[LABEL_BYTES]; /* (tasks) */
    char (*hints)[LABEL_BYTES];  /* (bars) */
    char (*rows)[LABEL_BYTES];   /* (devices) */
    const char **row_names;
    gnti_gantt_gap *gaps;
    char (*gap_hints)[LABEL_BYTES]; /* (gaps) */
    int64_t num_gaps;
    double start;
} gantt;

/* Where a member stands in the run's list; -1: nowhere. */
static int64_t find_member(const gnti_json *run, const char *name)
{
    const gnti_json *members = gnti_json_find(run, "members");

    for (int64_t i = 0; i < gnti_json_length(members); i++)
        if (strcmp(gnti_report_text(gnti_json_at(members, i), "name"), name) == 0)
            return i;
    return -1;
}

static const char *name_at(const gnti_json *names, int64_t i)
{
    const char *name = gnti_json_to_text(gnti_json_at(names, i));

    return name != NULL ? name : "";
}

/* "m00-m07", "m03", "m00, m03, m05". */
static void label_task(const gnti_json *run, const gnti_json *names, char out[LABEL_BYTES])
{
    const int64_t num = gnti_json_length(names), first = find_member(run, name_at(names, 0));
    bool in_a_row = num >= 3 && first >= 0;
    size_t used = 0;

    for (int64_t i = 1; i < num && in_a_row; i++)
        in_a_row = find_member(run, name_at(names, i)) == first + i;
    out[0] = '\0';
    if (in_a_row) {
        snprintf(out, LABEL_BYTES, "%.70s\xe2\x80\x93%.70s", name_at(names, 0), name_at(names, num - 1));
        return;
    }
    for (int64_t i = 0; i < num && used < LABEL_BYTES - 4; i++)
        used +=
            (size_t)snprintf(out + used, LABEL_BYTES - used, "%s%s", i > 0 ? ", " : "", name_at(names, i));
}

static int64_t find_task(const gantt *g, int64_t id)
{
    for (int64_t i = 0; i < g->num_tasks; i++)
        if (g->ids[i] == id)
            return i;
    return -1;
}

/* One span as a bar; a span that goes on where the one before ended, by the same task on the same row, makes that one longer. */
static void add_span(gantt *g, const gnti_json *span)
{
    int64_t id = 0, device = 0, task;
    const double begin = item(span, 2) - g->start, end = item(span, 3) - g->start, share = item(span, 4);
    gnti_gantt_bar *last = g->num_bars > 0 ? &g->bars[g->num_bars - 1] : NULL;

    if (!gnti_json_to_int(gnti_json_at(span, 0), &id) || !gnti_json_to_int(gnti_json_at(span, 1), &device) ||
        device < 0 || device >= gnti_json_length(g->devices) || !(end >= begin))
        return;
    task = find_task(g, id);
    if (last != NULL && last->row == device && last->color == (int32_t)task &&
        fabs(last->end - begin) < 1e-9) {
        last->end = end;
    } else {
        g->bars[g->num_bars] = (gnti_gantt_bar){ .row = (int32_t)device,
                                                 .color = (int32_t)task,
                                                 .begin = begin,
                                                 .end = end,
                                                 .label = task >= 0 ? g->labels[task] : NULL,
                                                 .hint = g->hints[g->num_bars] };
        last = &g->bars[g->num_bars++];
    }
    snprintf(g->hints[last - g->bars], LABEL_BYTES, "%.90s: %.4g to %.4g s%s",
             task >= 0 ? g->labels[task] : "?", last->begin, last->end,
             share < 0.999 ? ", sharing the device" : "");
}

/* Before each process but the first. */
static gnt_status fill_gaps(gantt *g)
{
    gnt_status st = GNT_OK;
    const gnti_json *processes = gnti_json_find(g->run, "processes");
    const int64_t num = gnti_json_length(processes);
    char number[GNTI_REPORT_NUMBER_BYTES];

    GNT_TRY(gnti_calloc_array(&g->gaps, num + 1));
    GNT_TRY(gnti_calloc_array(&g->gap_hints, num + 1));
    for (int64_t i = 1; i < num && i < MAX_GAPS; i++) {
        const gnti_json *p = gnti_json_at(processes, i);
        char *hint = g->gap_hints[g->num_gaps];

        gnti_report_format("%.4g", gnti_report_number(p, "pause_seconds"), number);
        snprintf(hint, LABEL_BYTES, "between two processes, not counted: %s s", number);
        g->gaps[g->num_gaps++] = (gnti_gantt_gap){ gnti_report_number(p, "begin") - g->start, hint };
    }
done:
    return st;
}

static gnt_status fill_gantt(gantt *g)
{
    gnt_status st = GNT_OK;
    const int64_t num_devices = gnti_json_length(g->devices), num_spans = gnti_json_length(g->spans);

    GNT_TRY(gnti_calloc_array(&g->bars, num_spans));
    GNT_TRY(gnti_calloc_array(&g->hints, num_spans));
    GNT_TRY(gnti_calloc_array(&g->labels, g->num_tasks));
    GNT_TRY(gnti_alloc_array(&g->ids, g->num_tasks));
    GNT_TRY(gnti_calloc_array(&g->rows, num_devices));
    GNT_TRY(gnti_calloc_array(&g->row_names, num_devices));
    for (int64_t i = 0; i < g->num_tasks; i++) {
        const gnti_json *task = gnti_json_at(g->tasks, i);

        label_task(g->run, gnti_json_find(task, "members"), g->labels[i]);
        if (!gnti_json_to_int(gnti_json_find(task, "id"), &g->ids[i]))
            g->ids[i] = INT64_MIN;
    }
    for (int64_t i = 0; i < num_devices; i++) {
        const gnti_json *d = gnti_json_at(g->devices, i);
        const double speed = gnti_report_number(d, "speed");
        const char *name = gnti_report_text(d, "name");

        snprintf(g->rows[i], LABEL_BYTES, isfinite(speed) ? "%.100s (speed %.3g)" : "%.100s", name, speed);
        g->row_names[i] = g->rows[i];
    }
    g->start = (double)INFINITY;
    for (int64_t i = 0; i < num_spans; i++)
        g->start = fmin(g->start, item(gnti_json_at(g->spans, i), 2)); /* fmin passes NaN over */
    for (int64_t i = 0; i < num_spans; i++)
        add_span(g, gnti_json_at(g->spans, i));
    GNT_TRY(fill_gaps(g));
done:
    return st;
}

static void free_gantt(gantt *g)
{
    gnti_free(g->bars);
    gnti_free(g->hints);
    gnti_free(g->labels);
    gnti_free(g->ids);
    gnti_free(g->rows);
    gnti_free(g->row_names);
    gnti_free(g->gaps);
    gnti_free(g->gap_hints);
}

gnt_status gnti_report_draw_devices(const gnti_json *report, gnti_svg *out, bool *found)
{
    gnt_status st = GNT_OK;
    const gnti_json *run = gnti_json_find(report, "run");
    const double known = gnti_report_number(gnti_json_find(run, "manager"), "lower_bound_seconds");
    const double makespan = gnti_report_number(gnti_json_find(run, "manager"), "makespan_seconds");
    const double bound =
        known <= makespan ? known : (double)NAN; /* else it stood on rates that were only predicted */
    char mark[64], x_label[64];
    gantt g = { .run = run,
                .tasks = gnti_json_find(run, "tasks"),
                .spans = gnti_json_find(run, "spans"),
                .devices = gnti_json_find(run, "devices"),
                .num_tasks = gnti_json_length(gnti_json_find(run, "tasks")) };

    *found = gnti_json_length(g.spans) > 0 && gnti_json_length(g.spans) <= MAX_BARS &&
             gnti_json_length(g.devices) <= MAX_DEVICES;
    if (!*found)
        goto done;
    GNT_TRY(fill_gantt(&g));
    snprintf(mark, sizeof mark, "lower bound %.4g s", bound);
    snprintf(x_label, sizeof x_label, "seconds, %.40s", gnti_report_text(run, "clock"));
    const gnti_gantt_chart chart = { .title = "Members on devices",
                                     .subtitle =
                                         g.num_gaps > 0
                                             ? "a bar is a group of members that trains as one program; at a "
                                               "grey line another process goes on"
                                             : "a bar is a group of members that trains as one program",
                                     .x_label = x_label,
                                     .rows = g.row_names,
                                     .num_rows = (int32_t)gnti_json_length(g.devices),
                                     .bars = g.bars,
                                     .num_bars = g.num_bars,
                                     .gaps = g.gaps,
                                     .num_gaps = g.num_gaps,
                                     .mark = bound > 0.0 ? bound : (double)NAN,
                                     .mark_label = bound > 0.0 ? mark : NULL };

    GNT_TRY(gnti_chart_gantt(&chart, out));
done:
    free_gantt(&g);
    return st;
}
