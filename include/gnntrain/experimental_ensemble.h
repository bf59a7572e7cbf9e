/* SPDX-License-Identifier: Apache-2.0 */
/* Ensembles, for the command: the part of experimental.h that is about many members. No promise: it changes with every version.
 */
#ifndef GNNTRAIN_EXPERIMENTAL_ENSEMBLE_H
#define GNNTRAIN_EXPERIMENTAL_ENSEMBLE_H

#include <gnntrain/experimental.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How an ensemble runs; the spec says what it is (docs/ensembles.md). Texts are owned when filled through the table. */
typedef struct gntx_ensemble_options {
    char *run;       /* folder, NULL or "": NAME-ensemble beside the spec */
    char *devices;   /* as of gnntrain train */
    char *partition; /* file, for groups over several devices */
    int64_t checkpoint_every;
    double time_limit, wait_limit;
    int32_t deterministic; /* off|run|bitwise: of the context, which the caller makes */
} gntx_ensemble_options;
GNT_API const gnt_option *gntx_ensemble_option_table(void);

/* Members, groups, predicted bytes and seconds, placement, the device x member matrix; nothing is trained: {"members": [{"name",
 * "seed", "model", "differs", "group"}], "groups": [{"members", "bytes", "epoch_seconds", "devices"}], "devices": [...], "matrix":
 * [[...]], "makespan_seconds", "lower_bound_seconds"}. */
typedef struct gntx_plan_options {
    char *devices, *partition; /* as of gntx_ensemble_options */
    bool measure; /* short runs of what was not measured yet: four epochs of a group on each type of device */
} gntx_plan_options;
GNT_API gnt_status gntx_ensemble_plan(gnt_context *ctx, const char *spec, const char *data,
                                      const gntx_plan_options *options, gntx_json **out);

typedef struct gntx_ensemble_progress {
    int32_t num_members, num_ended, num_failed, num_running;
    int64_t epochs_done, epochs_all;
    double seconds, seconds_left; /* left: predicted, NaN: not known yet */
} gntx_ensemble_progress;
typedef void (*gntx_ensemble_watch)(const gntx_ensemble_progress *p, void *user);

/* Trains, combines, reports; the same call goes on where an earlier one ended. out: what summary.json holds. STOPPED after
 * gntx_ensemble_request_stop, which a signal handler may call. */
GNT_API gnt_status gntx_ensemble_train(gnt_context *ctx, const char *spec, const char *data,
                                       const gntx_ensemble_options *options, gntx_ensemble_watch watch,
                                       void *user, gntx_json **out);
GNT_API void gntx_ensemble_request_stop(void);

/* Asks a run that is going on, here or in another process, to use these devices from its next epoch boundaries on; waits for its answer.
 * ERR_USAGE when the run refuses (its text), or when nobody runs it. */
GNT_API gnt_status gntx_ensemble_resize(const char *run, const char *devices, double wait_limit,
                                        gntx_json **out);

/* Combines saved predictions, of members of a run or of any tools, joined by id. paths: folders of ensembles or of single runs, or
 * npy, h5, csv of probabilities (docs/ensembles.md). */
typedef struct gntx_combine_options {
    int32_t how;    /* mean|logits|vote|weighted|greedy */
    int64_t rounds; /* of greedy */
    int64_t start;  /* of greedy: the best members that it starts from */
    bool temperature;
    int32_t metric; /* as of the trainer */
    int64_t seed;   /* of the folds of validation rows */
    char *split;
    char *report;       /* html, NULL or "": none */
    const char *output; /* predictions, NULL or "": none; no row of the table */
} gntx_combine_options;
GNT_API const gnt_option *gntx_combine_option_table(void);
/* out: what report.json holds, and "skipped": members of runs that left no predictions. */
GNT_API gnt_status gntx_ensemble_combine(gnt_context *ctx, const char *data, const char *const *paths,
                                         int num_paths, const gntx_combine_options *options, gntx_json **out);
/* How far a run is that has no summary yet: {"kind": "ensemble", "num_members", "num_ended", "num_failed", "outcome":
 * "running|stopped|interrupted|failed", "message", "data", "last_event", "last_time", "members": {NAME:
 * "ended|given-up|set-aside|saved after epoch E"}}. */
GNT_API gnt_status gntx_ensemble_facts(const char *run, gntx_json **out);
/* report.json and report.html of a run, made anew from its members' predictions. data NULL: the dataset that the run names. out: what
 * report.json holds; "unwritten" tells why the files could not be written (a read-only folder), which is no failure. */
GNT_API gnt_status gntx_ensemble_report(gnt_context *ctx, const char *run, const char *data, gntx_json **out);

/* The manager over devices that do not exist: what ensemble/simulate.h says. */
typedef struct gntx_simulate_options {
    int32_t policy, moves; /* 0: as written, then the words */
    int64_t seed;
    char *events, *chart; /* JSONL, SVG; NULL or "": none */
    bool check;           /* invariants after each event */
} gntx_simulate_options;
GNT_API const gnt_option *gntx_simulate_option_table(void);
GNT_API gnt_status gntx_simulate(const char *inventory, const char *trace,
                                 const gntx_simulate_options *options, gntx_json **out);

#ifdef __cplusplus
}
#endif
#endif
