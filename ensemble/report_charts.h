/* SPDX-License-Identifier: Apache-2.0 */
/* The charts of an ensemble's page, each from report.json (docs/ensembles.md). found false: the report has nothing to draw, out is
 * untouched.
 */
#ifndef GNTI_ENSEMBLE_REPORT_CHARTS_H
#define GNTI_ENSEMBLE_REPORT_CHARTS_H

#include "base/json.h"
#include "report/chart.h"

gnt_status gnti_report_draw_members(const gnti_json *report, gnti_svg *out, bool *found);
gnt_status gnti_report_draw_reliability(const gnti_json *report, bool before, gnti_svg *out, bool *found);
gnt_status gnti_report_draw_diversity(const gnti_json *report, gnti_svg *out, bool *found);
gnt_status gnti_report_draw_devices(const gnti_json *report, gnti_svg *out, bool *found);
/* Validation metric over epochs, a line a member, from the metrics that FOLDER/members/NAME keeps. */
gnt_status gnti_report_draw_curves(const gnti_json *report, const char *folder, gnti_svg *out, bool *found);

/* Reading what may be missing: NaN, "". o may be NULL. */
double gnti_report_number(const gnti_json *o, const char *key);
/* By a format of one double, a dash for NaN. Answers out. */
enum { GNTI_REPORT_NUMBER_BYTES = 64 };
const char *gnti_report_format(const char *format, double value, char out[GNTI_REPORT_NUMBER_BYTES]);
const char *gnti_report_text(const gnti_json *o, const char *key);
/* Accuracies and their like are shown as percent, errors as they are. */
bool gnti_report_is_share(const gnti_json *report);

#endif
