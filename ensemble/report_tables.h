/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of an ensemble's page, each from report.json; one that has nothing to say is left out. */
#ifndef GNTI_ENSEMBLE_REPORT_TABLES_H
#define GNTI_ENSEMBLE_REPORT_TABLES_H

#include "ensemble/report_charts.h"
#include "report/page.h"

/* NLL, Brier and ECE of members, the best one and the ensemble, as they are and with temperatures. */
gnt_status gnti_report_table_calibration(gnti_page *page, const gnti_json *report);
gnt_status gnti_report_table_devices(gnti_page *page, const gnti_json *report);
/* Every member of the run, also one that failed, or of the files, under a heading. */
gnt_status gnti_report_table_members(gnti_page *page, const gnti_json *report);

/* What happened to members and devices while they trained, a line each, under a heading. */
gnt_status gnti_report_table_events(gnti_page *page, const gnti_json *report);
/* Whether a member of the run has failed, by its outcome. */
bool gnti_report_has_failed(const gnti_json *trained);

/* "81.90 %", or the number itself for errors; a dash for NaN. */
void gnti_report_metric(const gnti_json *report, double value, char out[GNTI_REPORT_NUMBER_BYTES]);

#endif
