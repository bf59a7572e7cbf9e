/* SPDX-License-Identifier: Apache-2.0 */
/* The report of an ensemble: RUN/report.json, and RUN/report.html drawn from it and the members' metrics.
 *
 *   gnti_combine_facts(votes, num, data, config, &combined, report)     what the members predict
 *   gnti_report_add_run(report, &run)                                   where and when they were trained; not for files alone
 *   gnti_report_write(folder, report)                                   report.json, report.html
 *
 * What the JSON holds: docs/ensembles.md. Times are those of the driver's clock, the first span need not begin at 0.
 */
#ifndef GNTI_ENSEMBLE_REPORT_PAGE_H
#define GNTI_ENSEMBLE_REPORT_PAGE_H

#include "base/json.h"
#include "ensemble/manager.h"

/* A member of the spec, also one that never gave predictions. All texts are lent. */
typedef struct gnti_report_member {
    const char *name, *differs; /* as in the spec; differs NULL or "": nothing varies */
    const char *outcome;        /* "ended", "stopped early", "failed: ...": for people */
    uint64_t seed;
    int64_t epochs; /* trained */
    double seconds; /* of training, NaN: unknown */
} gnti_report_member;

/* A task of the manager: which members (indexes into members) ran as one program. */
typedef struct gnti_report_task {
    int64_t id;
    const int32_t *members;
    int32_t num_members;
    int64_t epochs; /* that its members have kept, all together */
} gnti_report_task;

/* One that trained the run. They follow each other without a gap; pause tells what was between it and the one before. */
typedef struct gnti_report_process {
    double started;    /* seconds since 1970 */
    double begin, end; /* on the axis of the spans, whose 0 is the first one's begin */
    double pause;      /* seconds of wall time, NaN: unknown */
} gnti_report_process;

typedef struct gnti_report_run {
    const char *title;           /* name of the run */
    const char *data;            /* path of the dataset, as `ensemble report` opens it again */
    const char *clock;           /* "wall clock", "virtual clock" */
    const char *policy, *method; /* their words, may be NULL */
    const gnti_report_member *members;
    int32_t num_members;
    const char *const *devices;  /* (num_devices) names, also of devices that were lost or came later */
    const double *device_speeds; /* (num_devices) 1: the slowest; NULL: unknown */
    int32_t num_devices;
    const gnti_report_task *tasks; /* all that a span names */
    int32_t num_tasks;
    const gnti_span *spans;
    int64_t num_spans;
    const gnti_report_process *processes;
    int64_t num_processes;
    const gnti_manager_facts *manager; /* NULL: unknown */
    const char *const *notes;          /* sentences for the reader, "device 1 was lost at 12.3 s" */
    int32_t num_notes;
} gnti_report_run;

/* Adds "run": {...} to the object that gnti_combine_facts filled. */
gnt_status gnti_report_add_run(gnti_json *report, const gnti_report_run *run);

/* FOLDER/report.json and FOLDER/report.html; each complete or not at all. */
gnt_status gnti_report_write(const char *folder, const gnti_json *report);

/* The page alone, as one HTML text, to be freed. Works on any report.json: what is missing is left out. folder: the run's, whose members'
 * metrics become curves; NULL: no curves. */
gnt_status gnti_report_page(const gnti_json *report, const char *folder, char **out);

#endif
