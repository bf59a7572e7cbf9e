/* SPDX-License-Identifier: Apache-2.0 */
/* The page of an ensemble, from report.json alone: what it is worth first, then how it is calibrated, how unlike its members are,
 * where they were trained, and all of them in a table. What a report lacks is left out.
 */
#include "ensemble/report_page.h"

#include "base/alloc.h"
#include "base/text.h"
#include "ensemble/report_charts.h"
#include "report/page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CELL_BYTES = 512, MAX_FACTS = 10, MAX_ROWS = 5000 };

/* Texts of cells, written one after the other. */
typedef struct cells {
    char (*text)[CELL_BYTES]; /* (capacity) */
    const char **cell;        /* (capacity) */
    int64_t num, capacity;
} cells;

static gnt_status begin_cells(cells *c, int64_t capacity)
{
    gnt_status st = GNT_OK;

    *c = (cells){ .capacity = capacity };
    GNT_TRY(gnti_alloc_array(&c->text, capacity));
    GNT_TRY(gnti_alloc_array(&c->cell, capacity));
done:
    return st;
}

static void free_cells(cells *c)
{
    gnti_free(c->text);
    gnti_free(c->cell);
    *c = (cells){ 0 };
}

static char *next_cell(cells *c)
{
    GNT_ASSERT(c->num < c->capacity);
    c->cell[c->num] = c->text[c->num];
    return c->text[c->num++];
}

static void put_text(cells *c, const char *text)
{
    snprintf(next_cell(c), CELL_BYTES, "%s", text);
}

static void put_number(cells *c, const char *format, double value)
{
    char *out = next_cell(c);

    if (isnan(value))
        snprintf(out, CELL_BYTES, "\xe2\x80\x93");
    else
        snprintf(out, CELL_BYTES, format, value);
}

/* "81.90 %", or the number itself for errors. */
static void metric_text(const gnti_json *report, double value, char *out, size_t bytes)
{
    if (isnan(value))
        snprintf(out, bytes, "\xe2\x80\x93");
    else if (gnti_report_is_share(report))
        snprintf(out, bytes, "%.2f %%", 100.0 * value);
    else
        snprintf(out, bytes, "%.4g", value);
}

static void put_metric(cells *c, const gnti_json *report, double value)
{
    metric_text(report, value, next_cell(c), CELL_BYTES);
}

/* ---- what it is worth ---- */

typedef struct cards {
    char name[MAX_FACTS][64], value[MAX_FACTS][64];
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

static void add_score_cards(const gnti_json *report, cards *c)
{
    const gnti_json *ensemble = gnti_json_find(report, "ensemble"),
                    *before = gnti_json_find(ensemble, "before_temperature");
    const double std = gnti_report_number(gnti_json_find(report, "member_std"), "test_metric");
    const double mean = gnti_report_number(gnti_json_find(report, "member_mean"), "test_metric");
    const double scale = gnti_report_is_share(report) ? 100.0 : 1.0;
    char name[64], *out = NULL;

    snprintf(name, sizeof name, "ensemble, test %.30s", gnti_report_text(report, "metric"));
    metric_text(report, gnti_report_number(ensemble, "test_metric"), next_card(c, name), 64);
    out = next_card(c, "mean of members \xc2\xb1 deviation");
    if (isnan(std))
        metric_text(report, mean, out, 64);
    else
        snprintf(out, 64, scale > 1.0 ? "%.2f \xc2\xb1 %.2f %%" : "%.4g \xc2\xb1 %.2g", scale * mean,
                 scale * std);
    metric_text(report, gnti_report_number(gnti_json_find(report, "best_member"), "test_metric"),
                next_card(c, "best member on validation"), 64);
    if (gnti_json_find(ensemble, "bins") == NULL)
        return;
    snprintf(next_card(c, "NLL before \xe2\x86\x92 after temperature"), 64, "%.3f \xe2\x86\x92 %.3f",
             gnti_report_number(before, "nll"), gnti_report_number(ensemble, "nll"));
    snprintf(next_card(c, "ECE before \xe2\x86\x92 after temperature"), 64, "%.3f \xe2\x86\x92 %.3f",
             gnti_report_number(before, "ece"), gnti_report_number(ensemble, "ece"));
}

static void add_run_cards(const gnti_json *report, cards *c)
{
    const gnti_json *m = gnti_json_find(gnti_json_find(report, "run"), "manager");
    const double makespan = gnti_report_number(m, "makespan_seconds"),
                 bound = gnti_report_number(m, "lower_bound_seconds");
    const double busy = gnti_report_number(m, "utilisation");

    if (!isnan(busy))
        snprintf(next_card(c, "devices busy"), 64, "%.1f %%", 100.0 * busy);
    if (!isnan(makespan) && bound > 0.0)
        snprintf(next_card(c, "training, times the lower bound"), 64, "%.4g s, %.2f\xc3\x97", makespan,
                 makespan / bound);
}

static void write_head(gnti_page *page, const gnti_json *report)
{
    const gnti_json *combine = gnti_json_find(report, "combine"), *run = gnti_json_find(report, "run");
    const gnti_json *notes = gnti_json_find(run, "notes"), *skipped = gnti_json_find(report, "skipped");
    const char *title = gnti_report_text(run, "title"), *remark = gnti_report_text(combine, "remark");
    char subtitle[512], line[256];
    cards c = { 0 };

    snprintf(
        subtitle, sizeof subtitle,
        "%lld members, combined by %s; temperature %.3g; split %.60s; %lld validation and %lld test nodes",
        (long long)gnti_json_length(gnti_json_find(report, "members")), gnti_report_text(combine, "how"),
        gnti_report_number(gnti_json_find(report, "ensemble"), "temperature"),
        gnti_report_text(combine, "split"), (long long)gnti_report_number(combine, "num_valid"),
        (long long)gnti_report_number(combine, "num_test"));
    gnti_page_begin(page, title[0] != '\0' ? title : "Ensemble", subtitle);
    add_score_cards(report, &c);
    add_run_cards(report, &c);
    gnti_page_facts(page, c.names, c.values, c.num);
    if (remark[0] != '\0')
        gnti_page_note(page, remark);
    for (int64_t i = 0; i < gnti_json_length(skipped); i++) {
        const char *name = gnti_json_to_text(gnti_json_at(skipped, i));

        snprintf(line, sizeof line, "Member '%.100s' has left no predictions: it is not in the ensemble.",
                 name != NULL ? name : "");
        gnti_page_note(page, line);
    }
    for (int64_t i = 0; i < gnti_json_length(notes); i++)
        if (gnti_json_to_text(gnti_json_at(notes, i)) != NULL)
            gnti_page_note(page, gnti_json_to_text(gnti_json_at(notes, i)));
}

/* ---- charts with a heading ---- */

typedef gnt_status (*drawing)(const gnti_json *report, gnti_svg *out, bool *found);

static gnt_status write_chart(gnti_page *page, const gnti_json *report, const char *heading,
                              const char *words, drawing draw)
{
    gnt_status st = GNT_OK;
    gnti_svg svg = { 0 };
    bool found = false;

    GNT_TRY(draw(report, &svg, &found));
    if (!found)
        goto done;
    if (heading != NULL)
        gnti_page_heading(page, heading);
    if (words != NULL)
        gnti_page_paragraph(page, words);
    gnti_page_chart(page, &svg);
done:
    gnti_svg_free(&svg);
    return st;
}

/* ---- calibration ---- */

static void put_scores(cells *c, const gnti_json *report, const char *name, const gnti_json *o,
                       const char *after)
{
    char key[32];

    put_text(c, name);
    put_metric(c, report, gnti_report_number(o, "test_metric"));
    snprintf(key, sizeof key, "nll%s", after);
    put_number(c, "%.4f", gnti_report_number(o, key));
    snprintf(key, sizeof key, "brier%s", after);
    put_number(c, "%.4f", gnti_report_number(o, key));
    snprintf(key, sizeof key, "ece%s", after);
    put_number(c, "%.4f", gnti_report_number(o, key));
}

static gnt_status write_calibration_table(gnti_page *page, const gnti_json *report)
{
    gnt_status st = GNT_OK;
    static const char *const heads[] = { "", "test", "NLL", "Brier", "ECE" };
    const gnti_json *mean = gnti_json_find(report, "member_mean"),
                    *best = gnti_json_find(report, "best_member");
    const gnti_json *ensemble = gnti_json_find(report, "ensemble");
    char name[128];
    cells c;

    GNT_TRY(begin_cells(&c, 30));
    put_scores(&c, report, "members, mean", mean, "");
    put_scores(&c, report, "members, mean, each with a temperature of its own", mean, "_after");
    snprintf(name, sizeof name, "best member %.80s", gnti_report_text(best, "name"));
    put_scores(&c, report, name, best, "");
    put_scores(&c, report, "best member with a temperature of its own", best, "_after");
    put_scores(&c, report, "ensemble before its temperature", gnti_json_find(ensemble, "before_temperature"),
               "");
    put_scores(&c, report, "ensemble", ensemble, "");
    gnti_page_table(page, heads, c.cell, (int32_t)(c.num / 5), 5);
done:
    free_cells(&c);
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
    GNT_TRY(write_calibration_table(page, report));
done:
    gnti_svg_free(&svg[0]);
    gnti_svg_free(&svg[1]);
    return st;
}

/* ---- diversity ---- */

static void write_diversity_facts(gnti_page *page, const gnti_json *report)
{
    const gnti_json *d = gnti_json_find(report, "diversity");
    const double disagreement = gnti_report_number(d, "mean_disagreement"),
                 kl = gnti_report_number(d, "mean_kl");
    const double q = gnti_report_number(d, "mean_q"), oracle = gnti_report_number(d, "oracle_accuracy");
    char text[512], q_text[32];

    if (d == NULL)
        return;
    gnti_page_heading(page, "Diversity");
    snprintf(q_text, sizeof q_text, isnan(q) ? "undefined" : "%.3f", q);
    if (isnan(kl))
        snprintf(text, sizeof text,
                 "Members differ by %.4g on %s nodes (root of the mean square). An ensemble gains from "
                 "members that err differently.",
                 disagreement, gnti_report_text(d, "rows"));
    else
        snprintf(text, sizeof text,
                 "On %s nodes two members disagree on %.1f %% on average; mean KL to their common mean %.4f; "
                 "Yule's Q %s (1: they fail "
                 "together). At least one member is right on %.1f %%. An ensemble gains from members that "
                 "err differently.",
                 gnti_report_text(d, "rows"), 100.0 * disagreement, kl, q_text, 100.0 * oracle);
    gnti_page_paragraph(page, text);
}

/* ---- devices ---- */

static gnt_status write_devices_table(gnti_page *page, const gnti_json *run)
{
    gnt_status st = GNT_OK;
    static const char *const heads[] = { "device", "speed", "seconds at work", "of the training", "bars" };
    const gnti_json *devices = gnti_json_find(run, "devices"), *spans = gnti_json_find(run, "spans");
    const double makespan = gnti_report_number(gnti_json_find(run, "manager"), "makespan_seconds");
    const int64_t num = gnti_json_length(devices);
    double *busy = NULL;
    int64_t *count = NULL, device = 0;
    cells c = { 0 };

    if (num == 0 || num > MAX_ROWS)
        goto done;
    GNT_TRY(gnti_calloc_array(&busy, num));
    GNT_TRY(gnti_calloc_array(&count, num));
    GNT_TRY(begin_cells(&c, 5 * num));
    for (int64_t i = 0; i < gnti_json_length(spans); i++) {
        const gnti_json *s = gnti_json_at(spans, i);
        double begin = 0.0, end = 0.0, share = 0.0;

        if (!gnti_json_to_int(gnti_json_at(s, 1), &device) || device < 0 || device >= num ||
            !gnti_json_to_number(gnti_json_at(s, 2), &begin) ||
            !gnti_json_to_number(gnti_json_at(s, 3), &end) ||
            !gnti_json_to_number(gnti_json_at(s, 4), &share))
            continue;
        busy[device] += (end - begin) * share;
        count[device]++;
    }
    for (int64_t i = 0; i < num; i++) {
        put_text(&c, gnti_report_text(gnti_json_at(devices, i), "name"));
        put_number(&c, "%.3g", gnti_report_number(gnti_json_at(devices, i), "speed"));
        put_number(&c, "%.3f", busy[i]);
        put_number(&c, "%.1f %%", makespan > 0.0 ? 100.0 * busy[i] / makespan : (double)NAN);
        put_number(&c, "%.0f", (double)count[i]);
    }
    gnti_page_table(page, heads, c.cell, (int32_t)num, 5);
done:
    gnti_free(busy);
    gnti_free(count);
    free_cells(&c);
    return st;
}

static void write_manager(gnti_page *page, const gnti_json *m)
{
    char text[640], joules[64] = "";
    const double used = gnti_report_number(m, "joules");

    if (m == NULL)
        return;
    if (used > 0.0)
        snprintf(joules, sizeof joules, "; %.4g joules", used);
    snprintf(text, sizeof text,
             "Training took %.4g s, and could not have taken less than %.4g s on these devices. They were "
             "busy %.1f %% of their time, weighted by "
             "speed. Moves: %.0f, which took %.3g s. Members waited %.3g s in all. Tried again: %.0f; given "
             "up: %.0f; "
             "devices lost: %.0f%s.",
             gnti_report_number(m, "makespan_seconds"), gnti_report_number(m, "lower_bound_seconds"),
             100.0 * gnti_report_number(m, "utilisation"), gnti_report_number(m, "num_moves"),
             gnti_report_number(m, "move_seconds"), gnti_report_number(m, "wait_seconds"),
             gnti_report_number(m, "num_retries"), gnti_report_number(m, "num_given_up"),
             gnti_report_number(m, "num_lost"), joules);
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
    GNT_TRY(write_chart(page, report, NULL, NULL, gnti_report_draw_devices));
    GNT_TRY(write_devices_table(page, run));
done:
    return st;
}

/* ---- all members ---- */

enum { NUM_COLUMNS = 13 };
static const char *const heads[NUM_COLUMNS] = { "member",
                                                "differs in",
                                                "weight",
                                                "valid",
                                                "test",
                                                "NLL",
                                                "ECE",
                                                "temperature",
                                                "seed",
                                                "epochs",
                                                "seconds",
                                                "outcome",
                                                "why its weight is 0" };

static const gnti_json *find_named(const gnti_json *list, const char *name)
{
    for (int64_t i = 0; i < gnti_json_length(list); i++)
        if (strcmp(gnti_report_text(gnti_json_at(list, i), "name"), name) == 0)
            return gnti_json_at(list, i);
    return NULL;
}

/* trained: what the run says of it, or NULL; scores: NULL where it left no predictions. */
static void put_member(cells *c, const gnti_json *report, const char *name, const gnti_json *trained,
                       const gnti_json *scores)
{
    put_text(c, name);
    put_text(c, gnti_report_text(trained, "differs"));
    put_number(c, "%.3f", gnti_report_number(scores, "weight"));
    put_metric(c, report, gnti_report_number(scores, "valid_metric"));
    put_metric(c, report, gnti_report_number(scores, "test_metric"));
    put_number(c, "%.4f", gnti_report_number(scores, "nll"));
    put_number(c, "%.4f", gnti_report_number(scores, "ece"));
    put_number(c, "%.3g", gnti_report_number(scores, "temperature"));
    put_number(c, "%.0f", gnti_report_number(trained, "seed"));
    put_number(c, "%.0f", gnti_report_number(trained, "epochs"));
    put_number(c, "%.3g", gnti_report_number(trained, "seconds"));
    put_text(c, scores == NULL && trained == NULL ? "no predictions" : gnti_report_text(trained, "outcome"));
    put_text(c, scores != NULL ? gnti_report_text(scores, "why") : "it left no predictions");
}

/* Without columns that say nothing. */
static gnt_status write_table(gnti_page *page, const cells *c, int64_t num_rows)
{
    gnt_status st = GNT_OK;
    const char **kept = NULL, *names[NUM_COLUMNS];
    int32_t columns[NUM_COLUMNS], num = 0;

    GNT_TRY(gnti_alloc_array(&kept, num_rows * NUM_COLUMNS));
    for (int32_t k = 0; k < NUM_COLUMNS; k++) {
        bool says = false;

        for (int64_t i = 0; i < num_rows && !says; i++)
            says = c->cell[i * NUM_COLUMNS + k][0] != '\0' &&
                   strcmp(c->cell[i * NUM_COLUMNS + k], "\xe2\x80\x93") != 0;
        if (says) {
            names[num] = heads[k];
            columns[num++] = k;
        }
    }
    for (int64_t i = 0; i < num_rows; i++)
        for (int32_t k = 0; k < num; k++)
            kept[i * num + k] = c->cell[i * NUM_COLUMNS + columns[k]];
    gnti_page_table(page, names, kept, (int32_t)num_rows, num);
done:
    gnti_free(kept);
    return st;
}

static gnt_status write_members(gnti_page *page, const gnti_json *report)
{
    gnt_status st = GNT_OK;
    const gnti_json *scores = gnti_json_find(report, "members");
    const gnti_json *trained = gnti_json_find(gnti_json_find(report, "run"), "members");
    const gnti_json *list = gnti_json_length(trained) > 0 ? trained : scores;
    const int64_t num = gnti_json_length(list) < MAX_ROWS ? gnti_json_length(list) : MAX_ROWS;
    cells c = { 0 };

    if (num == 0)
        goto done;
    GNT_TRY(begin_cells(&c, num * NUM_COLUMNS));
    for (int64_t i = 0; i < num; i++) {
        const char *name = gnti_report_text(gnti_json_at(list, i), "name");

        put_member(&c, report, name, find_named(trained, name), find_named(scores, name));
    }
    gnti_page_heading(page, "Members");
    GNT_TRY(write_table(page, &c, num));
done:
    free_cells(&c);
    return st;
}

gnt_status gnti_report_page(const gnti_json *report, char **out)
{
    gnt_status st = GNT_OK;
    gnti_page page = { 0 };

    write_head(&page, report);
    GNT_TRY(write_chart(&page, report, NULL, NULL, gnti_report_draw_members));
    GNT_TRY(write_calibration(&page, report));
    write_diversity_facts(&page, report);
    GNT_TRY(write_chart(&page, report, NULL, NULL, gnti_report_draw_diversity));
    GNT_TRY(write_training(&page, report));
    GNT_TRY(write_members(&page, report));
    GNT_TRY(gnti_page_finish(&page, out));
done:
    gnti_page_free(&page);
    return st;
}
