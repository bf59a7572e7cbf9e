/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures and the page of runs, from what their folders keep. */
#ifndef GNTI_TRAIN_PLOT_H
#define GNTI_TRAIN_PLOT_H

#include "report/chart.h"
#include "train/run_read.h"

gnt_status gnti_plot_loss(const gnti_run_record *run, gnti_svg *out);
gnt_status gnti_plot_metric(const gnti_run_record *runs, int32_t num_runs,
                            gnti_svg *out); /* several: validation only */
bool gnti_plot_has_confusion(const gnti_run_record *run);
gnt_status gnti_plot_confusion(const gnti_run_record *run, gnti_svg *out); /* of the test nodes */
gnt_status gnti_plot_compare(const gnti_run_record *runs, int32_t num_runs, gnti_svg *out);

/* RUN/report.html: facts, curves, confusion matrix, summary. Call it when metrics and summary are written. */
gnt_status gnti_run_write_report(const char *run_path);

#endif
