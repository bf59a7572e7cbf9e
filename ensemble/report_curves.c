/* SPDX-License-Identifier: Apache-2.0 */
/* Curves of members, read from the folders of a run: the report itself keeps no epochs. A member without metrics, or with torn ones, has
 * no line.
 */
#include "ensemble/report_charts.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "train/run_read.h"

#include <stdio.h>
#include <string.h>

enum { MAX_CURVES = 64 };

/* A name out of a report is no path: it stays below the folder. */
static bool is_plain_name(const char *name)
{
    return name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL;
}

/* found false: the member has left none. */
static gnt_status read_member(const char *folder, const char *name, gnti_run_record *out, bool *found)
{
    gnt_status st = GNT_OK;
    gnti_text t = { 0 };
    char *path = NULL, *metrics = NULL;

    *found = false;
    if (!is_plain_name(name))
        goto done;
    gnti_text_printf(&t, "%s/members/%s", folder, name);
    GNT_TRY(gnti_text_take(&t, &path));
    GNT_TRY(gnti_path_join(path, "metrics.jsonl", &metrics));
    if (!gnti_file_exists(metrics))
        goto done;
    st = gnti_run_record_read(path, out);
    *found = st == GNT_OK;
    st = st == GNT_ERR_NOMEM ? st : GNT_OK;
done:
    gnti_free(path);
    gnti_free(metrics);
    return st;
}

gnt_status gnti_report_draw_curves(const gnti_json *report, const char *folder, gnti_svg *out, bool *found)
{
    gnt_status st = GNT_OK;
    const gnti_json *members = gnti_json_find(report, "members");
    const int64_t num = gnti_json_length(members);
    gnti_run_record records[MAX_CURVES] = { 0 };
    gnti_series series[MAX_CURVES];
    char title[96];
    int32_t used = 0;

    *found = false;
    if (folder == NULL || num > MAX_CURVES)
        goto done;
    for (int64_t i = 0; i < num; i++) {
        bool there = false;

        GNT_TRY(
            read_member(folder, gnti_report_text(gnti_json_at(members, i), "name"), &records[used], &there));
        if (there && records[used].curves.count == 0) {
            gnti_run_record_free(&records[used]);
            there = false;
        }
        if (!there)
            continue;
        series[used] = (gnti_series){ .x = records[used].curves.epoch,
                                      .y = records[used].curves.value[GNTI_CURVE_VALID_METRIC],
                                      .count = records[used].curves.count };
        used++;
    }
    *found = used > 0;
    if (!*found)
        goto done;
    snprintf(title, sizeof title, "Validation %.40s of each member", gnti_report_text(report, "metric"));
    const gnti_line_chart chart = { .title = title,
                                    .x_label = "epoch",
                                    .series = series,
                                    .num_series = used,
                                    .percent = gnti_report_is_share(report) };

    GNT_TRY(gnti_chart_lines(&chart, out));
done:
    for (int i = 0; i < MAX_CURVES; i++)
        gnti_run_record_free(&records[i]);
    return st;
}
