/* SPDX-License-Identifier: Apache-2.0 */
/* What all processes of a run trained, one after the other, so that its report shows all of it. live_spans.c writes it to the journal:
 *
 *   process   begins to train: `wall` (seconds since 1970 at `at`), and its devices (`names`, `speeds`, `present`)
 *   pool      other devices from now on
 *   placed    a bar opens (live_orders.c)
 *   span      a bar is closed
 * `at` of any line is the clock of its process. live_past.c reads it. A bar that no `span` closes ends at the newest `at` of its process.
 * Processes follow each other without a gap on the axis of the report: the time between them is told, and counts for nothing.
 */
#ifndef GNTI_ENSEMBLE_LIVE_PAST_H
#define GNTI_ENSEMBLE_LIVE_PAST_H

#include "ensemble/live.h"
#include "ensemble/report_page.h"

/* ---- live_spans.c: under the lock, or before anybody else works ---- */
gnt_status gnti_live_note_process(gnti_live *run);
gnt_status gnti_live_note_pool(const gnti_live *run);
gnt_status gnti_live_note_span_line(const gnti_live *run, const gnti_span *s);
/* Bars that the manager has closed since the last call. */
gnt_status gnti_live_note_closed(gnti_live *run);

/* ---- live_past.c: when all is over ---- */
typedef struct gnti_live_past gnti_live_past;
/* What does not fit in a line is left out: bars are for people, no run fails for them. */
gnt_status gnti_live_past_read(const gnti_live *run, gnti_live_past **out);
void gnti_live_past_free(gnti_live_past **past);
/* Facts of this process become those of the run. */
void gnti_live_past_count(const gnti_live *run, const gnti_live_past *past, gnti_manager_facts *facts);
/* Devices, tasks, spans and processes of the report, lent. */
gnt_status gnti_live_past_lend(gnti_live_past *past, gnti_report_run *r);

#endif
