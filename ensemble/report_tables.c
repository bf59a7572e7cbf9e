/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of the page. Cells are texts of bounded length, written one after the other; columns without a value are left out, so that a
 * report of files alone has no columns of training.
 */
#include "ensemble/report_tables.h"

#include "base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CELL_BYTES = 512, MAX_ROWS = 10000 };

/* Texts of cells, written one after the other. */
enum { MOST_EVENTS = 200 };

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
    char number[GNTI_REPORT_NUMBER_BYTES];

    put_text(c, gnti_report_format(format, value, number));
}

void gnti_report_metric(const gnti_json *report, double value, char out[GNTI_REPORT_NUMBER_BYTES])
{
    const bool share = gnti_report_is_share(report);

    gnti_report_format(share ? "%.2f %%" : "%.4g", share ? 100.0 * value : value, out);
}

static void put_metric(cells *c, const gnti_json *report, double value)
{
    char number[GNTI_REPORT_NUMBER_BYTES];

    gnti_report_metric(report, value, number);
    put_text(c, number);
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

gnt_status gnti_report_table_calibration(gnti_page *page, const gnti_json *report)
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
    if (best != NULL) {
        put_scores(&c, report, name, best, "");
        put_scores(&c, report, "best member with a temperature of its own", best, "_after");
    }
    put_scores(&c, report, "ensemble before its temperature", gnti_json_find(ensemble, "before_temperature"),
               "");
    put_scores(&c, report, "ensemble", ensemble, "");
    gnti_page_table(page, heads, c.cell, (int32_t)(c.num / 5), 5);
done:
    free_cells(&c);
    return st;
}

/* ---- devices ---- */

gnt_status gnti_report_table_devices(gnti_page *page, const gnti_json *report)
{
    gnt_status st = GNT_OK;
    static const char *const heads[] = { "device", "speed", "seconds at work", "of the training", "bars" };
    const gnti_json *run = gnti_json_find(report, "run"), *devices = gnti_json_find(run, "devices"),
                    *spans = gnti_json_find(run, "spans");
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

/* ---- all members ---- */

enum { NUM_COLUMNS = 13 };
static const char *const heads[NUM_COLUMNS] = { "member",     "weight", "valid",      "test",
                                                "NLL",        "ECE",    "differs in", "why its weight is 0",
                                                "outcome",    "epochs", "seconds",    "seed",
                                                "temperature" };

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
    put_number(c, "%.3f", gnti_report_number(scores, "weight"));
    put_metric(c, report, gnti_report_number(scores, "valid_metric"));
    put_metric(c, report, gnti_report_number(scores, "test_metric"));
    put_number(c, "%.4f", gnti_report_number(scores, "nll"));
    put_number(c, "%.4f", gnti_report_number(scores, "ece"));
    put_text(c, gnti_report_text(trained, "differs"));
    put_text(c, scores != NULL ? gnti_report_text(scores, "why")
                : strncmp(gnti_report_text(trained, "outcome"), "failed", 6) == 0 ? "it left no predictions"
                                                                                  : "");
    put_text(c, gnti_report_text(trained, "outcome"));
    put_number(c, "%.0f", gnti_report_number(trained, "epochs"));
    put_number(c, "%.3g", gnti_report_number(trained, "seconds"));
    put_number(c, "%.0f", gnti_report_number(trained, "seed"));
    put_number(c, "%.3g", gnti_report_number(scores, "temperature"));
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

gnt_status gnti_report_table_members(gnti_page *page, const gnti_json *report)
{
    gnt_status st = GNT_OK;
    const gnti_json *scores = gnti_json_find(report, "members");
    const gnti_json *trained = gnti_json_find(gnti_json_find(report, "run"), "members");
    const int64_t most = gnti_json_length(scores) + gnti_json_length(trained);
    int64_t num = 0;
    cells c = { 0 };

    if (most == 0 || most > MAX_ROWS)
        goto done;
    GNT_TRY(begin_cells(&c, most * NUM_COLUMNS));
    for (int64_t i = 0; i < gnti_json_length(trained); i++, num++) {
        const gnti_json *m = gnti_json_at(trained, i);
        const char *name = gnti_report_text(m, "name");

        put_member(&c, report, name, m, find_named(scores, name));
    }
    for (int64_t i = 0; i < gnti_json_length(scores);
         i++) { /* of files, and what a method made of several members */
        const gnti_json *m = gnti_json_at(scores, i);
        const char *name = gnti_report_text(m, "name");

        if (find_named(trained, name) != NULL)
            continue;
        put_member(&c, report, name, NULL, m);
        num++;
    }
    gnti_page_heading(page, "Members");
    GNT_TRY(write_table(page, &c, num));
done:
    free_cells(&c);
    return st;
}

bool gnti_report_has_failed(const gnti_json *trained)
{
    static const char *const fine[] = { "ended", "stopped early", "pending", "" };
    const char *outcome = gnti_report_text(trained, "outcome");

    for (size_t i = 0; i < sizeof fine / sizeof fine[0]; i++)
        if (strcmp(outcome, fine[i]) == 0)
            return false;
    return true;
}

/* ---- events ---- */

gnt_status gnti_report_table_events(gnti_page *page, const gnti_json *report)
{
    gnt_status st = GNT_OK;
    static const char *const names[] = { "what happened" };
    const gnti_json *notes = gnti_json_find(gnti_json_find(report, "run"), "notes");
    const int64_t all = gnti_json_length(notes), num = all < MOST_EVENTS ? all : MOST_EVENTS;
    const char **cell = NULL;
    char more[80];

    if (num == 0)
        goto done;
    GNT_TRY(gnti_alloc_array(&cell, num));
    for (int64_t i = 0; i < num; i++) {
        cell[i] = gnti_json_to_text(gnti_json_at(notes, i));
        cell[i] = cell[i] != NULL ? cell[i] : "";
    }
    gnti_page_heading(page, "Events");
    gnti_page_table(page, names, cell, (int32_t)num, 1);
    snprintf(more, sizeof more, "%lld more are in log.txt of the run.", (long long)(all - num));
    if (all > num)
        gnti_page_paragraph(page, more);
done:
    gnti_free(cell);
    return st;
}
