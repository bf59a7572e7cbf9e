/* SPDX-License-Identifier: Apache-2.0 */
/* Gantt charts, reliability diagrams, matrices and points: nothing overlaps that must not, what is empty says so, values that are no
 * numbers are left out.
 */
#include "tests/support/svg_case.h"

#include "report/chart.h"
#include "report/page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double nan_ = (double)NAN;

/* The y of the k-th <rect> with a hint. */
static double y_of_bar(const char *svg, const char *hint)
{
    const char *title = strstr(svg, hint), *y = NULL;
    double value = -1.0;

    assert_non_null(title);
    for (const char *p = svg; (p = strstr(p, " y=\"")) != NULL && p < title; p++)
        y = p;
    assert_int_equal(sscanf(y, " y=\"%lf\"", &value), 1);
    return value;
}

static void bars_that_overlap_lie_side_by_side(void **state)
{
    (void)state;
    static const char *const rows[] = { "cpu:0", "a device with a name that is far too long for a chart" };
    const gnti_gantt_bar bars[] = {
        { .row = 0, .begin = 0.0, .end = 4.0, .label = "m00-m03", .hint = "first" },
        { .row = 0, .begin = 2.0, .end = 3.0, .color = 1, .hint = "inside" },
        { .row = 0, .begin = 4.0, .end = 6.0, .color = 2, .hint = "behind" },
        { .row = 1, .begin = 1.0, .end = nan_, .hint = "never" },
        { .row = 1, .begin = 1.0, .end = 2.0, .color = -1, .hint = "<other> & more" },
    };
    const gnti_gantt_chart chart = { .title = "t",
                                     .subtitle = "s",
                                     .x_label = "x",
                                     .rows = rows,
                                     .num_rows = 2,
                                     .bars = bars,
                                     .num_bars = 5,
                                     .mark = 5.0,
                                     .mark_label = "bound" };
    gnti_svg svg = { 0 };

    GNT_BRUTAL(gnti_chart_gantt(&chart, &svg));
    svg_case_sound(&svg);
    assert_true(y_of_bar(svg.text, ">first<") < y_of_bar(svg.text, ">inside<"));
    assert_true(fabs(y_of_bar(svg.text, ">first<") - y_of_bar(svg.text, ">behind<")) < 1e-9);
    assert_true(y_of_bar(svg.text, "&lt;other&gt; &amp; more") > y_of_bar(svg.text, ">inside<"));
    assert_null(strstr(svg.text, "never"));
    assert_non_null(strstr(svg.text, ">bound<"));
    assert_non_null(strstr(svg.text, ">m00-m03<"));
    gnti_svg_free(&svg);
}

static void rows_of_any_number_are_drawn(void **state)
{
    (void)state;
    enum { ROWS = 1000, BARS = 3000 };
    static const char *rows[ROWS];
    static gnti_gantt_bar bars[BARS];
    gnti_gantt_chart chart = { .rows = rows, .bars = bars, .mark = nan_ };
    gnti_svg svg = { 0 };

    gnt_assert_ok(gnti_chart_gantt(&chart, &svg));
    svg_case_sound(&svg);
    assert_non_null(strstr(svg.text, "no values"));
    gnti_svg_free(&svg);
    for (int i = 0; i < BARS; i++) {
        rows[i % ROWS] = "d";
        bars[i] = (gnti_gantt_bar){ .row = i % ROWS, .begin = i, .end = i + 2000.0, .label = "x" };
    }
    chart.num_rows = ROWS;
    chart.num_bars = BARS;
    gnt_assert_ok(gnti_chart_gantt(&chart, &svg));
    svg_case_sound(&svg);
    assert_true(svg.height < 8000);
    gnti_svg_free(&svg);
    bars[7].row = ROWS;
    gnt_assert_status(gnti_chart_gantt(&chart, &svg), GNT_ERR_ARG);
    bars[7].row = -1;
    gnt_assert_status(gnti_chart_gantt(&chart, &svg), GNT_ERR_ARG);
}

static void gaps_show_on_which_side_they_are(void **state)
{
    (void)state;
    const int64_t count[] = { 10, 5, 0, 20 }, none[4] = { 0 };
    const double sure[] = { 0.1, 0.4, nan_, 0.9 }, right[] = { 0.2, 0.2, nan_, 0.9 };
    gnti_reliability_chart chart = {
        .title = "Before", .count = count, .confidence = sure, .accuracy = right, .num_bins = 4
    };
    gnti_svg svg = { 0 };

    GNT_BRUTAL(gnti_chart_reliability(&chart, &svg));
    svg_case_sound(&svg);
    assert_int_equal(svg_case_count(svg.text, "#8cc4ea"), 2); /* one bin and the legend */
    assert_int_equal(svg_case_count(svg.text, "#e08a4a"), 3); /* a bin without a gap has a bar of no height */
    gnti_svg_free(&svg);
    chart.count = none;
    gnt_assert_ok(gnti_chart_reliability(&chart, &svg));
    svg_case_sound(&svg);
    assert_non_null(strstr(svg.text, "no values"));
    gnti_svg_free(&svg);
    chart.num_bins = 0;
    gnt_assert_status(gnti_chart_reliability(&chart, &svg), GNT_ERR_LIMIT);
}

static void matrices_have_names_on_both_sides(void **state)
{
    (void)state;
    static double values[200 * 200];
    static const char *names[200];
    const double small[] = { nan_, 0.5, 0.25, nan_ };
    const char *const two[] = { "<a>", "b" };
    gnti_matrix_chart chart = { .title = "m", .values = small, .names = two, .side = 2, .percent = true };
    gnti_svg svg = { 0 };

    GNT_BRUTAL(gnti_chart_matrix(&chart, &svg));
    svg_case_sound(&svg);
    assert_int_equal(svg_case_count(svg.text, "&lt;a&gt;"), 2);
    assert_non_null(strstr(svg.text, ">50.0<"));
    assert_non_null(strstr(svg.text, ">25.0<"));
    gnti_svg_free(&svg);
    for (int i = 0; i < 200; i++) {
        names[i] = "member";
        values[i] = 1.0;
    }
    chart = (gnti_matrix_chart){ .values = values, .names = names, .side = 200 };
    gnt_assert_ok(gnti_chart_matrix(&chart, &svg));
    svg_case_sound(&svg);
    gnti_svg_free(&svg);
    chart.side = 257;
    gnt_assert_status(gnti_chart_matrix(&chart, &svg), GNT_ERR_LIMIT);
    chart.side = 0;
    gnt_assert_ok(gnti_chart_matrix(&chart, &svg));
    svg_case_sound(&svg);
    gnti_svg_free(&svg);
}

static void points_need_no_zero(void **state)
{
    (void)state;
    const gnti_dot dots[] = { { .name = "a & b", .value = 0.811 },
                              { .name = "c", .value = nan_ },
                              { .name = "d", .value = 0.819, .hollow = true } };
    const gnti_dot lines[] = { { .name = "mean", .value = 0.815 }, { .name = "none", .value = nan_ } };
    gnti_dot_chart chart = { .title = "t",
                             .value_label = "v",
                             .dots = dots,
                             .lines = lines,
                             .num_dots = 3,
                             .num_lines = 2,
                             .percent = true };
    gnti_svg svg = { 0 };

    GNT_BRUTAL(gnti_chart_dots(&chart, &svg));
    svg_case_sound(&svg);
    assert_int_equal(svg_case_count(svg.text, "<circle"), 2);
    assert_non_null(strstr(svg.text, "a &amp; b 81.10 %"));
    assert_non_null(strstr(svg.text, "mean 81.50 %"));
    assert_null(strstr(svg.text, "none"));
    assert_null(strstr(svg.text, ">0 %<"));
    gnti_svg_free(&svg);
    chart.num_dots = chart.num_lines = 0;
    gnt_assert_ok(gnti_chart_dots(&chart, &svg));
    svg_case_sound(&svg);
    assert_non_null(strstr(svg.text, "no values"));
    gnti_svg_free(&svg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bars_that_overlap_lie_side_by_side),
        cmocka_unit_test(rows_of_any_number_are_drawn),
        cmocka_unit_test(gaps_show_on_which_side_they_are),
        cmocka_unit_test(matrices_have_names_on_both_sides),
        cmocka_unit_test(points_need_no_zero),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
