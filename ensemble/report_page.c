/* SPDX-License-Identifier: Apache-2.0 */
/* The page of an ensemble, from report.json: what it is worth first, then how it is calibrated, how unlike its members are,
 * where they were trained, and all of them in a table. What a report lacks is left out.
 */
#include "ensemble/report_page.h"

#include "base/alloc.h"
#include "ensemble/report_tables.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CARD_BYTES = GNTI_REPORT_NUMBER_BYTES, MAX_FACTS = 10 };

/* ---- what it is worth ---- */

typedef struct cards {
    char name[MAX_FACTS][CARD_BYTES], value[MAX_FACTS][CARD_BYTES];
    const char *names[MAX_FACTS], *values[MAX_FACTS];
    int32_t num;
} cards;

static char *next_card(cards *c, const char *name)
{
    snprintf(c->name[c->num], sizeof c->name[0], "%.60s", name);
    c->names[c->num] = c->name[c->num];
    c->values[c->num] = c->value[c->num];
    return c->value[c->num++];
}

/* "0.81 -> 0.42" */
static void add_change(const gnti_json *report, const char *key, const char *name, cards *c)
{
    const gnti_json *ensemble = gnti_json_find(report, "ensemble");
    const gnti_json *before = gnti_json_find(ensemble, "before_temperature");
    char from[GNTI_REPORT_NUMBER_BYTES], to[GNTI_REPORT_NUMBER_BYTES];

    snprintf(next_card(c, name), CARD_BYTES, "%.20s \xe2\x86\x92 %.20s",
             gnti_report_format("%.3f", gnti_report_number(before, key), from),
             gnti_report_format("%.3f", gnti_report_number(ensemble, key), to));
}

static void add_score_cards(const gnti_json *report, cards *c)
{
    const gnti_json *ensemble = gnti_json_find(report, "ensemble");
    const double std = gnti_report_number(gnti_json_find(report, "member_std"), "test_metric");
    const double mean = gnti_report_number(gnti_json_find(report, "member_mean"), "test_metric");
    const bool share = gnti_report_is_share(report);
    char name[CARD_BYTES], *out = NULL;

    snprintf(name, sizeof name, "ensemble, test %.30s", gnti_report_text(report, "metric"));
    gnti_report_metric(report, gnti_report_number(ensemble, "test_metric"), next_card(c, name));
    out = next_card(c, "mean of members \xc2\xb1 deviation");
    if (isnan(std) || isnan(mean))
        gnti_report_metric(report, mean, out);
    else
        snprintf(out, CARD_BYTES, share ? "%.2f \xc2\xb1 %.2f %%" : "%.4g \xc2\xb1 %.2g",
                 share ? 100.0 * mean : mean, share ? 100.0 * std : std);
    if (gnti_json_find(report, "best_member") != NULL)
        gnti_report_metric(report, gnti_report_number(gnti_json_find(report, "best_member"), "test_metric"),
                           next_card(c, "best member on validation"));
    if (gnti_json_find(ensemble, "bins") == NULL)
        return;
    add_change(report, "nll", "NLL before \xe2\x86\x92 after temperature", c);
    add_change(report, "ece", "ECE before \xe2\x86\x92 after temperature", c);
}

static void add_run_cards(const gnti_json *report, cards *c)
{
    const gnti_json *m = gnti_json_find(gnti_json_find(report, "run"), "manager");
    const double makespan = gnti_report_number(m, "makespan_seconds");
    const double bound = gnti_report_number(m, "lower_bound_seconds"),
                 busy = gnti_report_number(m, "utilisation");

    if (!isnan(busy))
        snprintf(next_card(c, "devices busy"), CARD_BYTES, "%.1f %%", 100.0 * busy);
    if (bound > 0.0 && bound <= makespan)
        snprintf(next_card(c, "training, times the lower bound"), CARD_BYTES, "%.4g s, %.2f\xc3\x97",
                 makespan, makespan / bound);
}

/* One sentence for each text of a list, by a format of one text. */
static void write_notes(gnti_page *page, const gnti_json *list, const char *format)
{
    char line[1024];

    for (int64_t i = 0; i < gnti_json_length(list); i++) {
        const char *text = gnti_json_to_text(gnti_json_at(list, i));

        if (text == NULL)
            continue;
        snprintf(line, sizeof line, format, text);
        gnti_page_note(page, line);
    }
}

/* One sentence, however many have failed. */
static void write_failed(gnti_page *page, const gnti_json *run)
{
    const gnti_json *members = gnti_json_find(run, "members");
    int64_t failed = 0;
    char line[512], names[360] = "";
    size_t used = 0;

    for (int64_t i = 0; i < gnti_json_length(members); i++) {
        const gnti_json *m = gnti_json_at(members, i);

        if (!gnti_report_has_failed(m))
            continue;
        if (used < sizeof names - 80)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%.40s", failed > 0 ? ", " : "",
                                     gnti_report_text(m, "name"));
        else if (names[used - 1] != '.')
            used += (size_t)snprintf(names + used, sizeof names - used, ", ...");
        failed++;
    }
    snprintf(line, sizeof line,
             "%lld of %lld members failed and are not in the ensemble: %s. The table of members says why.",
             (long long)failed, (long long)gnti_json_length(members), names);
    if (failed > 0)
        gnti_page_note(page, line);
}

static void write_head(gnti_page *page, const gnti_json *report)
{
    const gnti_json *combine = gnti_json_find(report, "combine"), *run = gnti_json_find(report, "run");
    const char *title = gnti_report_text(run, "title"), *remark = gnti_report_text(combine, "remark");
    char subtitle[512], number[3][GNTI_REPORT_NUMBER_BYTES];
    cards c = { 0 };

    gnti_report_format("%.3g", gnti_report_number(gnti_json_find(report, "ensemble"), "temperature"),
                       number[0]);
    gnti_report_format("%.0f", gnti_report_number(combine, "num_valid"), number[1]);
    gnti_report_format("%.0f", gnti_report_number(combine, "num_test"), number[2]);
    snprintf(subtitle, sizeof subtitle,
             "%lld members, combined by %.20s; temperature %s; split %.60s; %s validation and %s test nodes",
             (long long)gnti_json_length(gnti_json_find(report, "members")), gnti_report_text(combine, "how"),
             number[0], gnti_report_text(combine, "split"), number[1], number[2]);
    gnti_page_begin(page, title[0] != '\0' ? title : "Ensemble", subtitle);
    add_score_cards(report, &c);
    add_run_cards(report, &c);
    gnti_page_facts(page, c.names, c.values, c.num);
    if (remark[0] != '\0')
        gnti_page_note(page, remark);
    write_notes(page, gnti_json_find(report, "skipped"),
                "Member '%.200s' has left no predictions: it is not in the ensemble.");
    write_failed(page, run);
}

/* ---- sections ---- */

typedef gnt_status (*drawing)(const gnti_json *report, gnti_svg *out, bool *found);

static gnt_status write_chart(gnti_page *page, const gnti_json *report, drawing draw)
{
    gnt_status st = GNT_OK;
    gnti_svg svg = { 0 };
    bool found = false;

    GNT_TRY(draw(report, &svg, &found));
    if (found)
        gnti_page_chart(page, &svg);
done:
    gnti_svg_free(&svg);
    return st;
}

static gnt_status write_calibration(gnti_page *page, const gnti_json *report)
{
    gnt_status st = GNT_OK;
    gnti_svg svg[2] = { 0 };
    bool found = false;

    GNT_TRY(gnti_report_draw_reliability(report, true, &svg[0], &found));
    if (found)
        GNT_TRY(gnti_report_draw_reliability(report, false, &svg[1], &found));
    if (!found)
        goto done;
    gnti_page_heading(page, "Calibration");
    gnti_page_paragraph(page, "How often the ensemble is right when it is so sure, on test nodes. The "
                              "temperature was fitted on validation "
                              "nodes alone; accuracy does not change with it.");
    gnti_page_charts(page, svg, 2);
    GNT_TRY(gnti_report_table_calibration(page, report));
done:
    gnti_svg_free(&svg[0]);
    gnti_svg_free(&svg[1]);
    return st;
}

static void write_diversity_facts(gnti_page *page, const gnti_json *report)
{
    const gnti_json *d = gnti_json_find(report, "diversity");
    const double disagreement = gnti_report_number(d, "mean_disagreement"),
                 kl = gnti_report_number(d, "mean_kl");
    char text[1024], n[4][GNTI_REPORT_NUMBER_BYTES];

    if (d == NULL)
        return;
    gnti_page_heading(page, "Diversity");
    if (isnan(kl))
        snprintf(text, sizeof text,
                 "Members differ by %s on %.20s nodes (root of the mean square). An ensemble gains from "
                 "members that err "
                 "differently.",
                 gnti_report_format("%.4g", disagreement, n[0]), gnti_report_text(d, "rows"));
    else
        snprintf(text, sizeof text,
                 "On %.20s nodes two members disagree on %s %% on average; mean KL to their common mean %s; "
                 "Yule's Q %s (1: "
                 "they fail together). At least one member is right on %s %%. An ensemble gains from members "
                 "that err "
                 "differently.",
                 gnti_report_text(d, "rows"), gnti_report_format("%.1f", 100.0 * disagreement, n[0]),
                 gnti_report_format("%.4f", kl, n[1]),
                 gnti_report_format("%.3f", gnti_report_number(d, "mean_q"), n[2]),
                 gnti_report_format("%.1f", 100.0 * gnti_report_number(d, "oracle_accuracy"), n[3]));
    gnti_page_paragraph(page, text);
}

static void write_manager(gnti_page *page, const gnti_json *m)
{
    static const char *const keys[] = {
        "makespan_seconds", "lower_bound_seconds", "utilisation",  "num_moves", "move_seconds",
        "wait_seconds",     "num_retries",         "num_given_up", "num_lost",  "joules"
    };
    static const char *const formats[] = { "%.4g", "%.4g", "%.1f", "%.0f", "%.3g",
                                           "%.3g", "%.0f", "%.0f", "%.0f", "%.4g" };
    enum { NUM_KEYS = sizeof keys / sizeof keys[0], UTILISATION = 2, JOULES = 9 };
    const bool has_energy = gnti_report_number(m, "joules") > 0.0;
    char n[NUM_KEYS][GNTI_REPORT_NUMBER_BYTES], text[1200];

    if (m == NULL)
        return;
    for (int k = 0; k < NUM_KEYS; k++)
        gnti_report_format(formats[k], gnti_report_number(m, keys[k]) * (k == UTILISATION ? 100.0 : 1.0),
                           n[k]);
    snprintf(text, sizeof text,
             "Training took %s s; the lower bound %s %s s. Devices were busy %s %% of their "
             "time, weighted by speed. Moves: %s, which took %s s. Members waited %s s in all. Tried again: "
             "%s; given up: "
             "%s; devices lost: %s.%s%s%s",
             n[0],
             gnti_report_number(m, keys[1]) > gnti_report_number(m, keys[0])
                 ? "by rates that were only predicted was"
                 : "for these members and devices is",
             n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], has_energy ? " Energy: " : "",
             has_energy ? n[JOULES] : "", has_energy ? " joules." : "");
    gnti_page_paragraph(page, text);
}

/* Of a run that went on after an earlier process. */
static void write_processes(gnti_page *page, const gnti_json *list)
{
    const int64_t num = gnti_json_length(list);
    double pause = 0.0;
    char text[600], number[GNTI_REPORT_NUMBER_BYTES];

    for (int64_t i = 1; i < num; i++)
        pause += gnti_report_number(gnti_json_at(list, i), "pause_seconds");
    snprintf(
        text, sizeof text,
        "%lld processes trained, one after the other. The time between them, %s s, is left out at the grey "
        "lines: it counts neither as training nor as time of devices. A bar that was open when its process "
        "died ends where the journal last tells of that. Moves, waits, tries, losses and joules are those "
        "of the last process, and the bound takes what earlier ones did as given.",
        (long long)num, gnti_report_format("%.4g", pause, number));
    if (num > 1)
        gnti_page_paragraph(page, text);
}

static gnt_status write_training(gnti_page *page, const gnti_json *report)
{
    gnt_status st = GNT_OK;
    const gnti_json *run = gnti_json_find(report, "run");

    if (run == NULL)
        goto done;
    gnti_page_heading(page, "Devices");
    write_manager(page, gnti_json_find(run, "manager"));
    write_processes(page, gnti_json_find(run, "processes"));
    GNT_TRY(write_chart(page, report, gnti_report_draw_devices));
    GNT_TRY(gnti_report_table_devices(page, report));
done:
    return st;
}

static gnt_status write_curves(gnti_page *page, const gnti_json *report, const char *folder)
{
    gnt_status st = GNT_OK;
    gnti_svg svg = { 0 };
    bool found = false;

    GNT_TRY(gnti_report_draw_curves(report, folder, &svg, &found));
    if (!found)
        goto done;
    gnti_page_heading(page, "Curves");
    gnti_page_chart(page, &svg);
done:
    gnti_svg_free(&svg);
    return st;
}

gnt_status gnti_report_page(const gnti_json *report, const char *folder, char **out)
{
    gnt_status st = GNT_OK;
    gnti_page page = { 0 };

    write_head(&page, report);
    GNT_TRY(write_chart(&page, report, gnti_report_draw_members));
    GNT_TRY(write_calibration(&page, report));
    write_diversity_facts(&page, report);
    GNT_TRY(write_chart(&page, report, gnti_report_draw_diversity));
    GNT_TRY(write_training(&page, report));
    GNT_TRY(gnti_report_table_members(&page, report));
    GNT_TRY(write_curves(&page, report, folder));
    GNT_TRY(gnti_report_table_events(&page, report));
    GNT_TRY(gnti_page_finish(&page, out));
done:
    gnti_page_free(&page);
    return st;
}
