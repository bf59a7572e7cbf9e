/* SPDX-License-Identifier: Apache-2.0 */
/* Charts and pages: well-formed, escaped, no NaN in the file, gaps where data is missing, the same bytes each
 * time. */
#include "tests/support/gnt_test.h"
#include "tests/support/svg_case.h"

#include "report/axis.h"
#include "report/chart.h"
#include "report/page.h"
#include "report/svg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double nan_ = (double)NAN;

static void the_checker_finds_faults(void **state)
{
    (void)state;
    assert_null(svg_case_malformed("<a b=\"c\"><d/>x &amp; y</a>"));
    assert_non_null(svg_case_malformed("<a><b></a></b>"));
    assert_non_null(svg_case_malformed("<a>x & y</a>"));
    assert_non_null(svg_case_malformed("<a b=\"c></a>"));
    assert_non_null(svg_case_malformed("<a>"));
}

static void draw(const double *x, const double *y, int64_t count, bool log_y, gnti_svg *out)
{
    const gnti_series series = { .name = "loss", .x = x, .y = y, .count = count };
    const gnti_line_chart chart = {
        .title = "Loss", .x_label = "epoch", .series = &series, .num_series = 1, .log_y = log_y
    };

    gnt_assert_ok(gnti_chart_lines(&chart, out));
    svg_case_sound(out);
}

static void curves_leave_gaps_where_values_miss(void **state)
{
    const double x[] = { 1, 2, 3, 4, 5, 6, 7 }, y[] = { 3, 2, nan_, 1.5, 1.2, (double)INFINITY, 1 };
    const double negative[] = { 3, 2, 0, -1, 1.2, 1.1, 1 };
    gnti_svg svg = { 0 };

    (void)state;
    draw(x, y, 7, false, &svg);
    assert_int_equal(svg_case_count(svg.text, "M"), 2); /* two runs of two, then a lone point */
    assert_int_equal(svg_case_count(svg.text, "<circle"), 1);
    gnti_svg_free(&svg);
    draw(x, negative, 7, true, &svg);
    assert_int_equal(svg_case_count(svg.text, "M"), 2); /* zero and less have no logarithm */
    gnti_svg_free(&svg);
}

static void empty_and_single_data_are_drawn(void **state)
{
    const double x[] = { 1, 2 }, y[] = { 0.5, 0.5 }, none[] = { nan_, nan_ }, huge[] = { 9e299, -9e299 };
    const gnti_line_chart nothing = { .title = "Nothing" };
    gnti_svg svg = { 0 };

    (void)state;
    gnt_assert_ok(gnti_chart_lines(&nothing, &svg));
    svg_case_sound(&svg);
    assert_non_null(strstr(svg.text, "no values"));
    gnti_svg_free(&svg);
    draw(x, none, 2, false, &svg);
    assert_non_null(strstr(svg.text, "no values"));
    gnti_svg_free(&svg);
    draw(x, y, 1, false, &svg);
    assert_int_equal(svg_case_count(svg.text, "<circle"), 1);
    gnti_svg_free(&svg);
    draw(x, y, 2, false, &svg);
    gnti_svg_free(&svg);
    draw(x, y, 2, true, &svg);
    gnti_svg_free(&svg);
    draw(x, huge, 2, false, &svg);
    gnti_svg_free(&svg);
    draw(x, none, 0, true, &svg);
    gnti_svg_free(&svg);
}

static void long_curves_stay_small_and_keep_spikes(void **state)
{
    enum { COUNT = 100000 };
    double *x = NULL, *y = NULL;
    gnti_svg svg = { 0 }, flat = { 0 };

    (void)state;
    gnt_assert_ok(gnti_alloc_array(&x, COUNT));
    gnt_assert_ok(gnti_alloc_array(&y, COUNT));
    for (int i = 0; i < COUNT; i++) {
        x[i] = i;
        y[i] = 1.0 + 1e-3 * (i % 7);
    }
    draw(x, y, COUNT, false, &flat);
    assert_true(strlen(flat.text) < 60000);
    y[54321] = 9.0;
    draw(x, y, COUNT, false, &svg);
    double top = 1e9, bottom = 0.0;

    for (const char *p = strchr(svg.text, 'L'); p != NULL; p = strchr(p + 1, 'L')) {
        double px, py;

        if (sscanf(p, "L%lf %lf", &px, &py) == 2) {
            top = py < top ? py : top;
            bottom = py > bottom ? py : bottom;
        }
    }
    assert_true(bottom - top > 180.0); /* the spike reaches over most of the 360 pixels */
    assert_true(svg_case_count(svg.text, "L") > 1000);
    gnti_svg_free(&svg);
    gnti_svg_free(&flat);
    gnti_free(x);
    gnti_free(y);
}

static void texts_are_escaped(void **state)
{
    const double x[] = { 1, 2 }, y[] = { 1, 2 };
    const gnti_series series = {
        .name = "<script>alert('x')</script> & \"more\"", .x = x, .y = y, .count = 2
    };
    const gnti_line_chart chart = { .title = "a<b>&c\xff\xc0\xaf\x01", .series = &series, .num_series = 1 };
    gnti_svg svg = { 0 };

    (void)state;
    gnt_assert_ok(gnti_chart_lines(&chart, &svg));
    svg_case_sound(&svg);
    assert_null(strstr(svg.text, "<script"));
    assert_non_null(strstr(svg.text, "a&lt;b&gt;&amp;c??"
                                     "?<"));
    gnti_svg_free(&svg);
}

static void the_same_input_gives_the_same_bytes(void **state)
{
    const double x[] = { 1, 2, 3 }, y[] = { 0.9, 0.5, 0.1 }, low[] = { 0.8, 0.4, nan_ },
                 high[] = { 1, 0.6, 0.2 };
    const gnti_series series = { .name = "s", .x = x, .y = y, .low = low, .high = high, .count = 3 };
    const gnti_line_chart chart = { .series = &series,
                                    .num_series = 1,
                                    .percent = true,
                                    .has_mark = true,
                                    .mark_x = 2,
                                    .mark_label = "best" };
    gnti_svg a = { 0 }, b = { 0 }, both[2], figure = { 0 };

    (void)state;
    gnt_assert_ok(gnti_chart_lines(&chart, &a));
    gnt_assert_ok(gnti_chart_lines(&chart, &b));
    svg_case_sound(&a);
    assert_string_equal(a.text, b.text);
    assert_non_null(strstr(a.text, "100 %"));
    assert_non_null(strstr(a.text, "best"));
    both[0] = a;
    both[1] = b;
    gnt_assert_ok(gnti_figure(both, 2, 2, &figure));
    svg_case_sound(&figure);
    assert_int_equal(figure.width, 1280);
    assert_int_equal(figure.height, 360);
    gnti_svg_free(&figure);
    gnt_assert_ok(gnti_figure(both, 2, 1, &figure));
    assert_int_equal(figure.height, 720);
    gnti_svg_free(&figure);
    gnti_svg_free(&a);
    gnti_svg_free(&b);
}

static void confusion_shades_by_row(void **state)
{
    const int64_t counts[] = { 90, 10, 0, 0, 5, 5, 0, 0, 0 };
    const char *const names[] = { "A & B", NULL, "a name that is far too long to be written out" };
    const gnti_confusion_chart chart = {
        .title = "Confusion", .counts = counts, .names = names, .num_classes = 3
    };
    const gnti_confusion_chart empty = { .title = "Confusion" }, large = { .num_classes = 1001 };
    gnti_svg svg = { 0 };

    (void)state;
    gnt_assert_ok(gnti_chart_confusion(&chart, &svg));
    svg_case_sound(&svg);
    assert_non_null(strstr(svg.text, "A &amp; B"));
    assert_non_null(strstr(svg.text, ">90 %<"));
    assert_non_null(strstr(svg.text, ">50 %<"));
    assert_int_equal(svg_case_count(svg.text, " %<"), 2); /* an empty row has no recall */
    assert_non_null(strstr(svg.text, "\xe2\x80\xa6"));
    gnti_svg_free(&svg);
    gnt_assert_ok(gnti_chart_confusion(&empty, &svg));
    svg_case_sound(&svg);
    gnti_svg_free(&svg);
    gnt_assert_status(gnti_chart_confusion(&large, &svg), GNT_ERR_LIMIT);
}

static void bars_show_value_and_deviation(void **state)
{
    const gnti_bar bars[] = {
        { "GCN", 0.624, 0.004, 0 }, { "MLP", 0.5, nan_, 1 }, { NULL, nan_, nan_, -3 }, { "loss", -0.2, 0, 2 }
    };
    const gnti_bar_chart chart = {
        .title = "Accuracy", .bars = bars, .num_bars = 4, .percent = true, .value_label = "x"
    };
    const gnti_bar_chart empty = { .title = "Accuracy" };
    gnti_svg svg = { 0 };

    (void)state;
    gnt_assert_ok(gnti_chart_bars(&chart, &svg));
    svg_case_sound(&svg);
    assert_non_null(strstr(svg.text, "62.4 \xc2\xb1 0.4 %"));
    assert_non_null(strstr(svg.text, ">50.0 %<"));
    assert_non_null(strstr(svg.text, "no value"));
    gnti_svg_free(&svg);
    gnt_assert_ok(gnti_chart_bars(&empty, &svg));
    svg_case_sound(&svg);
    gnti_svg_free(&svg);
}

static void columns_and_shades_take_any_values(void **state)
{
    const double values[] = { 3.0, nan_, 0.0, 5.0, 1e308 };
    const double odd[] = { -1.0, nan_, 4.0, 0.0 };
    gnti_column_chart columns = {
        .title = "<a>", .subtitle = "b", .x_label = "chunk", .values = values, .count = 4
    };
    gnti_heat_chart heat = {
        .title = "rows & sent", .x_label = "to", .y_label = "from", .values = odd, .side = 2
    };
    gnti_svg svg = { 0 };
    double *large = NULL;

    (void)state;
    for (int32_t count = 0; count <= 5; count++) {
        columns.count = count;
        gnt_assert_ok(gnti_chart_columns(&columns, &svg));
        svg_case_sound(&svg);
        assert_true((strstr(svg.text, "no values") != NULL) == (count == 0));
        gnti_svg_free(&svg);
    }
    gnt_assert_ok(gnti_chart_heat(&heat, &svg));
    svg_case_sound(&svg);
    assert_non_null(strstr(svg.text, "#005c9e")); /* the largest value, darkest */
    gnti_svg_free(&svg);
    heat.side = 0;
    gnt_assert_ok(gnti_chart_heat(&heat, &svg));
    svg_case_sound(&svg);
    gnti_svg_free(&svg);
    gnt_assert_ok(gnti_calloc_array(&large, 600 * 600));
    large[599 * 600 + 599] = 1.0;
    heat.values = large;
    heat.side = 600;
    GNT_BRUTAL(gnti_chart_heat(&heat, &svg));
    svg_case_sound(&svg);
    assert_non_null(strstr(svg.text, "#005c9e"));
    gnti_svg_free(&svg);
    gnti_free(large);
}

static void ticks_are_round(void **state)
{
    gnti_axis a = gnti_axis_begin(false, false);
    char label[GNTI_AXIS_LABEL_BYTES];

    (void)state;
    gnti_axis_add(&a, 0.13);
    gnti_axis_add(&a, 0.97);
    gnti_axis_finish(&a, 6, false);
    assert_true(a.low == 0.0 && a.high == 1.0);
    assert_int_equal(a.num_ticks, 6);
    gnti_axis_label(&a, a.ticks[1], label);
    assert_string_equal(label, "0.2");
    a.from = 100.0;
    a.to = 0.0;
    assert_true(fabs(gnti_axis_pixel(&a, 0.25) - 75.0) < 1e-9);
    a = gnti_axis_begin(true, false);
    gnti_axis_add(&a, 0.003);
    gnti_axis_add(&a, 4000.0);
    gnti_axis_add(&a, -1.0);
    gnti_axis_finish(&a, 6, false);
    assert_true(a.low <= 0.003 && a.high >= 4000.0);
    for (int32_t i = 0; i < a.num_ticks; i++)
        assert_true(fabs(log10(a.ticks[i]) - round(log10(a.ticks[i]))) < 1e-9);
    a = gnti_axis_begin(false, false);
    gnti_axis_add(&a, 0.0);
    gnti_axis_add(&a, 2500000.0);
    gnti_axis_finish(&a, 5, false);
    gnti_axis_label(&a, 1500000.0, label);
    assert_string_equal(label, "1.5M");
}

static gnt_status whole_page(void)
{
    gnt_status st = GNT_OK;
    const double x[] = { 1, 2 }, y[] = { 1, 2 };
    const gnti_series series = { .name = "s", .x = x, .y = y, .count = 2 };
    const gnti_line_chart chart = { .series = &series, .num_series = 1 };
    const char *const names[] = { "accuracy" }, *const values[] = { "81.5 %" };
    const char *const heads[] = { "class", "nodes" }, *const cells[] = { "<a>", "12", "b", NULL };
    gnti_page page = { 0 };
    gnti_svg svg = { 0 };
    char *html = NULL;

    gnti_page_begin(&page, "Run <1>", "sub");
    GNT_TRY(gnti_chart_lines(&chart, &svg));
    gnti_page_heading(&page, "Curves & more");
    gnti_page_chart(&page, &svg);
    gnti_page_facts(&page, names, values, 1);
    gnti_page_table(&page, heads, cells, 2, 2);
    gnti_page_paragraph(&page, "words");
    gnti_page_code(&page, "gnntrain predict RUN -o 'x.csv'");
    GNT_TRY(gnti_page_finish(&page, &html));
    const char *body = strstr(html, "<main>");

    assert_non_null(body);
    assert_non_null(strstr(body, "<td>&lt;a&gt;</td><td class=\"n\">12</td>"));
    assert_non_null(strstr(html, "Run &lt;1&gt;</title>"));
    assert_null(strstr(html, "http://fonts"));
    assert_null(strstr(html, "src="));
done:
    gnti_svg_free(&svg);
    gnti_page_free(&page);
    gnti_free(html);
    return st;
}

static void pages_survive_every_failing_allocation(void **state)
{
    (void)state;
    GNT_BRUTAL(whole_page());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_checker_finds_faults),
        cmocka_unit_test(curves_leave_gaps_where_values_miss),
        cmocka_unit_test(empty_and_single_data_are_drawn),
        cmocka_unit_test(long_curves_stay_small_and_keep_spikes),
        cmocka_unit_test(texts_are_escaped),
        cmocka_unit_test(the_same_input_gives_the_same_bytes),
        cmocka_unit_test(confusion_shades_by_row),
        cmocka_unit_test(bars_show_value_and_deviation),
        cmocka_unit_test(columns_and_shades_take_any_values),
        cmocka_unit_test(ticks_are_round),
        cmocka_unit_test(pages_survive_every_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
