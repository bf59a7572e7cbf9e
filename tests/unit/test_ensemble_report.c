/* SPDX-License-Identifier: Apache-2.0 */
/* report.json and the page drawn from it: complete, escaped, and never broken by a report that lacks or twists something. */
#include "tests/support/svg_case.h"
#include "tests/support/votes_case.h"

#include "base/file.h"
#include "base/text.h"
#include "ensemble/report_page.h"

#include <math.h>
#include <string.h>

static const double three[] = { 1.0, 1.2, 0.8 };

/* Facts of three members of which the second has an awkward name; with a run of two devices, or without. */
static gnti_json *make_report(votes_case *c, bool with_run)
{
    static const gnti_report_member members[] = {
        { .name = "m00",
          .differs = "dropout=0.3",
          .outcome = "ended",
          .seed = 11,
          .epochs = 40,
          .seconds = 1.5 },
        { .name = "<m01> & co",
          .differs = "dropout=0.5",
          .outcome = "stopped early",
          .seed = 12,
          .epochs = 30,
          .seconds = 1.25 },
        { .name = "m02", .outcome = "ended", .seed = 13, .epochs = 40, .seconds = (double)NAN },
        { .name = "m03",
          .outcome = "failed: loss was not finite in epoch 3",
          .seed = 14,
          .epochs = 2,
          .seconds = 0.5 },
    };
    static const int32_t all[] = { 0, 1, 2 }, last[] = { 3 };
    static const gnti_report_task tasks[] = { { .id = 7, .members = all, .num_members = 3 },
                                              { .id = 9, .members = last, .num_members = 1 } };
    static const gnti_span spans[] = { { 7, 0, 100.0, 101.0, 1.0 },
                                       { 7, 0, 101.0, 103.0, 1.0 },
                                       { 9, 1, 100.5, 101.0, 0.5 },
                                       { 7, 1, 101.0, 102.0, 1.0 } };
    static const char *const devices[] = { "cpu:0", "cuda:0" }, *const notes[] = {
        "device cuda:0 was lost at 2 s"
    };
    static const double speeds[] = { 1.0, 4.0 };
    static const gnti_manager_facts facts = { .makespan = 3.0,
                                              .lower_bound = 2.5,
                                              .busy_speed_seconds = 9.0,
                                              .present_speed_seconds = 10.0,
                                              .num_moves = 1 };
    const gnti_report_run run = { .title = "a run",
                                  .data = "x.h5",
                                  .clock = "virtual clock",
                                  .policy = "makespan",
                                  .method = "independent",
                                  .members = members,
                                  .num_members = 4,
                                  .devices = devices,
                                  .device_speeds = speeds,
                                  .num_devices = 2,
                                  .tasks = tasks,
                                  .num_tasks = 2,
                                  .spans = spans,
                                  .num_spans = 4,
                                  .manager = &facts,
                                  .notes = notes,
                                  .num_notes = 1 };
    gnti_combined made = { 0 };
    gnti_json *report = NULL;

    votes_case_make(c, GNT_LABELS_CLASS, 300, 3, 100, three, 3, 5);
    gnti_free(c->votes[1].name);
    gnt_assert_ok(gnti_strdup(&c->votes[1].name, "<m01> & co"));
    c->config.how = GNTI_COMBINE_GREEDY;
    c->config.rounds = 3;
    gnt_assert_ok(gnti_combine_members(c->votes, 3, c->data, &c->config, &made));
    gnt_assert_ok(gnti_json_create_object(&report));
    gnt_assert_ok(gnti_combine_facts(c->votes, 3, c->data, &c->config, &made, report));
    if (with_run)
        gnt_assert_ok(gnti_report_add_run(report, &run));
    gnti_combined_free(&made, 3);
    return report;
}

/* Sound markup behind the doctype and the head's style. */
static void assert_page_sound(const char *html)
{
    const char *body = strstr(html, "<main>");
    const char *bad = NULL;
    char *copy = NULL, *end = NULL;

    assert_non_null(body);
    gnt_assert_ok(gnti_strdup(&copy, body));
    end = strstr(copy, "</main>");
    assert_non_null(end);
    end[strlen("</main>")] = '\0';
    bad = svg_case_malformed(copy);
    if (bad != NULL)
        fail_msg("malformed at: %.80s", bad);
    assert_int_equal(svg_case_count(copy, "nan"), 0);
    assert_int_equal(svg_case_count(copy, "inf"), 0);
    assert_null(strstr(html, "<script"));
    assert_null(strstr(html, "src="));
    assert_null(strstr(html, "url("));
    gnti_free(copy);
}

static void pages_show_all_of_a_run(void **state)
{
    (void)state;
    votes_case c;
    gnti_json *report = make_report(&c, true);
    char *html = NULL;

    GNT_BRUTAL(gnti_report_page(report, NULL, &html));
    assert_page_sound(html);
    for (const char *const *words =
             (const char *const[]){
                 "a run", "&lt;m01&gt; &amp; co", "Before the temperature", "After the temperature",
                 "Disagreement of two members", "Members on devices", "lower bound 2.5 s",
                 "m00\xe2\x80\x93m02", "cuda:0 (speed 4)", "device cuda:0 was lost",
                 "failed: loss was not finite", "it left no predictions", "90.0 %", "1.20\xc3\x97", NULL };
         *words != NULL; words++)
        if (strstr(html, *words) == NULL)
            fail_msg("the page lacks '%s'", *words);
    /* two spans of a task that follow each other are one bar, from 0 on */
    assert_non_null(strstr(html, ": 0 to 3 s"));
    assert_non_null(strstr(html, "m03: 0.5 to 1 s, sharing the device"));
    gnti_free(html);
    gnti_json_free(&report);
    votes_case_free(&c);
}

static void pages_of_files_alone_have_no_devices(void **state)
{
    (void)state;
    votes_case c;
    gnti_json *report = make_report(&c, false);
    char *html = NULL;

    gnt_assert_ok(gnti_report_page(report, NULL, &html));
    assert_page_sound(html);
    assert_null(strstr(html, "Members on devices"));
    assert_non_null(strstr(html, "Disagreement of two members"));
    gnti_free(html);
    gnti_json_free(&report);
    votes_case_free(&c);
}

static void both_files_are_written(void **state)
{
    (void)state;
    votes_case c;
    gnti_json *report = make_report(&c, true), *again = NULL;
    char path[GNT_TEST_PATH_BYTES], *html = NULL, *text = NULL, *first = NULL;

    gnt_assert_ok(gnti_report_write(gnt_test_folder(), report));
    gnt_assert_ok(gnti_json_read(gnt_test_path(path, "report.json"), &again));
    text = gnt_test_read(gnt_test_path(path, "report.html"), NULL);
    gnt_assert_ok(gnti_report_page(report, NULL, &first));
    gnt_assert_ok(gnti_report_page(again, NULL, &html)); /* what was read back draws the same page */
    assert_string_equal(first, html);
    assert_string_equal(first, text);
    gnti_free(first);
    gnti_free(html);
    gnti_free(text);
    gnti_json_free(&again);
    gnti_json_free(&report);
    votes_case_free(&c);
}

/* Members of the run's folder that keep metrics have a line each; a torn or missing file has none. */
static void curves_come_from_the_folder(void **state)
{
    (void)state;
    votes_case c;
    gnti_json *report = make_report(&c, true);
    char path[GNT_TEST_PATH_BYTES], *html = NULL;

    gnt_assert_ok(gnti_folder_create(gnt_test_path(path, "curves/members/m00")));
    gnt_assert_ok(gnti_folder_create(gnt_test_path(path, "curves/members/m02")));
    gnt_test_path(path, "curves");
    gnt_assert_ok(gnti_report_page(report, path, &html));
    assert_null(strstr(html, "Curves"));
    gnti_free(html);
    gnt_test_write(path, "curves/members/m00/metrics.jsonl",
                   "{\"epoch\": 1, \"metric\": \"accuracy\", \"valid_metric\": 0.5}\n"
                   "{\"epoch\": 2, \"metric\": \"accuracy\", \"valid_metric\": 0.75}\n",
                   -1);
    gnt_test_write(path, "curves/members/m02/metrics.jsonl", "no json\n", -1);
    gnt_test_path(path, "curves");
    GNT_BRUTAL(gnti_report_page(report, path, &html));
    assert_page_sound(html);
    assert_non_null(strstr(html, "Validation accuracy of each member"));
    gnti_free(html);
    gnti_json_free(&report);
    votes_case_free(&c);
}

/* Every value of the report, one after the other, becomes null, a text, a number, an empty list: no page is broken by it. */
static void twisted_reports_draw_pages(void **state)
{
    (void)state;
    static const char *const twists[] = { "null", "\"<x>\"", "-3.5", "[]", "{}", "[[1]]", "1e300" };
    votes_case c;
    gnti_json *report = make_report(&c, true), *twisted = NULL;
    char *text = NULL, *html = NULL;
    int pages = 0;

    gnt_assert_ok(gnti_json_print(report, false, &text));
    for (const char *colon = strchr(text, ':'); colon != NULL; colon = strchr(colon + 1, ':')) {
        const char *begin = colon + 1, *end = begin;
        int depth = 0;

        if (colon[-1] != '"')
            continue;
        for (; depth > 0 || (*end != ',' && *end != '}' && *end != ']'); end++) {
            depth += *end == '[' || *end == '{';
            depth -= *end == ']' || *end == '}';
            if (*end == '"')
                end += 1 + strcspn(end + 1, "\"");
        }
        for (size_t k = 0; k < sizeof twists / sizeof twists[0]; k++) {
            gnti_text t = { 0 };

            gnti_text_append_bytes(&t, text, (size_t)(begin - text));
            gnti_text_append(&t, twists[k]);
            gnti_text_append(&t, end);
            gnt_assert_ok(gnti_json_parse(t.data, (size_t)t.length, "twisted", &twisted));
            gnt_assert_ok(gnti_report_page(twisted, NULL, &html));
            assert_page_sound(html);
            pages++;
            gnti_free(html);
            gnti_json_free(&twisted);
            gnti_text_free(&t);
        }
    }
    assert_true(pages > 500);
    gnt_assert_ok(gnti_json_create_object(&twisted));
    gnt_assert_ok(gnti_report_page(twisted, NULL, &html));
    assert_page_sound(html);
    gnti_free(html);
    gnti_free(text);
    gnti_json_free(&twisted);
    gnti_json_free(&report);
    votes_case_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_show_all_of_a_run),    cmocka_unit_test(pages_of_files_alone_have_no_devices),
        cmocka_unit_test(both_files_are_written),     cmocka_unit_test(curves_come_from_the_folder),
        cmocka_unit_test(twisted_reports_draw_pages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
