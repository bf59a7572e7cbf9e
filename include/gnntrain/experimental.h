/* SPDX-License-Identifier: Apache-2.0 */
/* What the command and plug-ins need beyond the stable interface. No promise: it changes with every version.
 * Functions are called gntx_*; modules add theirs below under their heading.
 */
#ifndef GNNTRAIN_EXPERIMENTAL_H
#define GNNTRAIN_EXPERIMENTAL_H

#include <gnntrain/gnntrain.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- options, facts, files, threads (base/) ---- */
/* Where a value came from, in ascending rank. */
typedef enum gntx_origin {
    GNTX_ORIGIN_DEFAULT,
    GNTX_ORIGIN_USER_FILE,
    GNTX_ORIGIN_CONFIG_FILE,
    GNTX_ORIGIN_ENVIRONMENT,
    GNTX_ORIGIN_FLAG
} gntx_origin;

/* See base/option.h; texts in the struct are owned by it, gntx_options_free_texts releases them. */
GNT_API gnt_status gntx_options_defaults(const gnt_option *table, void *object);
GNT_API void gntx_options_free_texts(const gnt_option *table, void *object);
GNT_API gnt_status gntx_option_set(const gnt_option *option, void *object, const char *text);
GNT_API gnt_status gntx_option_get(const gnt_option *option, const void *object, char *out, size_t out_bytes);
GNT_API gnt_status gntx_options_from_yaml(const gnt_option *table, void *object, const char *path,
                                          gntx_origin *origin, gntx_origin from);
GNT_API gnt_status gntx_options_to_yaml(const gnt_option *table, const void *object,
                                        const gntx_origin *origin, char **out);
/* The nearest of some names to an unknown one, or NULL. */
GNT_API const char *gntx_name_nearest(const char *const *names, size_t num_names, const char *name);

/* Starts an error record of the command's own, as the library does; answers code. prefix puts text in front. */
GNT_API gnt_status gntx_fail(gnt_status code, const char *format, ...) GNT_PRINTF(2, 3);
GNT_API void gntx_error_prefix(const char *format, ...) GNT_PRINTF(1, 2);

/* ERR_USAGE when `output` is one of the files that are read; names of no file and NULL are none. */
GNT_API gnt_status gntx_check_output(const char *output, const char *const *inputs, int num_inputs);

/* Facts as JSON; see base/json.h. A root is freed with gntx_json_free, children are lent. */
typedef struct gntx_json gntx_json;
GNT_API gnt_status gntx_json_create_object(gntx_json **out);
GNT_API void gntx_json_free(gntx_json **root);
GNT_API gnt_status gntx_json_set_int(gntx_json *object, const char *key, int64_t value);
GNT_API gnt_status gntx_json_set_number(gntx_json *object, const char *key, double value);
GNT_API gnt_status gntx_json_set_bool(gntx_json *object, const char *key, bool value);
GNT_API gnt_status gntx_json_set_text(gntx_json *object, const char *key, const char *value);
GNT_API gnt_status gntx_json_set_object(gntx_json *object, const char *key, gntx_json **out_child);
GNT_API gnt_status gntx_json_set_array(gntx_json *object, const char *key, gntx_json **out_child);
GNT_API gnt_status gntx_json_append_object(gntx_json *array, gntx_json **out_child);
GNT_API gnt_status gntx_json_append_text(gntx_json *array, const char *value);
GNT_API const gntx_json *gntx_json_find(const gntx_json *object, const char *key);
GNT_API int64_t gntx_json_length(const gntx_json *array_or_object);
GNT_API const gntx_json *gntx_json_at(const gntx_json *array, int64_t index);
GNT_API const char *gntx_json_key_at(const gntx_json *object, int64_t index);
GNT_API bool gntx_json_is_object(const gntx_json *value);
GNT_API bool gntx_json_is_array(const gntx_json *value);
GNT_API bool gntx_json_to_int(const gntx_json *value, int64_t *out);
GNT_API bool gntx_json_to_number(const gntx_json *value, double *out);
GNT_API const char *gntx_json_to_text(const gntx_json *value);
GNT_API gnt_status gntx_json_print(const gntx_json *root, bool pretty, char **out);
GNT_API gnt_status gntx_json_read(const char *path, gntx_json **out);

/* Texts and arrays that this header hands out are freed here. */
GNT_API void gntx_free(void *block);

/* A file in one step that shows complete or not at all; a folder with those above it. */
GNT_API gnt_status gntx_file_write(const char *path, const char *text);
GNT_API gnt_status gntx_folder_create(const char *path);

GNT_API double gntx_clock_seconds(void); /* never backwards */
GNT_API int32_t gntx_num_cores(void);    /* that this process may use */
GNT_API int64_t gntx_peak_bytes(void);   /* of the library's host memory so far */

/* ---- charts and pages (report/, train/plot.c) ---- */
/* Draws runs from what their folders keep: curves from metrics.jsonl, the confusion matrix and class names from
 * summary.json, a comparison of test values. `out_path` ends in .svg or .html. ERR_IO names a file that is missing. */
typedef enum gntx_plot_kind {
    GNTX_PLOT_ALL,
    GNTX_PLOT_CURVES,
    GNTX_PLOT_CONFUSION,
    GNTX_PLOT_COMPARE
} gntx_plot_kind;
GNT_API gnt_status gntx_plot(const char *const *runs, int num_runs, gntx_plot_kind kind,
                             const char *out_path);

/* ---- import, generate, check, info, split (datasets/) ---- */
/* What the command asks of a dataset. Answers are JSON objects, freed with gntx_json_free: the command prints them with
 * --json and lays the same object out as text otherwise. */

/* {"num_nodes", "num_arcs", "num_features", "num_classes", "num_self_loops", "directed", "graph_sha256",
 * "content_sha256", "splits": {NAME: {"train", "valid", "test"}}, ...} */
GNT_API gnt_status gntx_dataset_info(const gnt_dataset *data, gntx_json **out);

/* {"num_errors", "num_warnings", "findings": [{"level": "error|warning|note", "text", "fix"}], "facts": {...}} */
GNT_API gnt_status gntx_dataset_check(const gnt_dataset *data, gntx_json **out);

/* How the ids of the input number nodes; AUTO looks at them (docs/file-format.md). */
typedef enum gntx_import_ids {
    GNTX_IDS_AUTO,
    GNTX_IDS_DENSE,     /* 0, 1, ...: N = largest + 1, gaps are isolated nodes */
    GNTX_IDS_ONE_BASED, /* the same from 1 */
    GNTX_IDS_SPARSE,    /* any integers, in ascending order */
    GNTX_IDS_TEXT       /* any strings, in order of appearance */
} gntx_import_ids;

typedef struct gntx_import_options {
    char *format;    /* NULL or "": tell it by content; gntx_import_formats lists the names */
    char *name;      /* which set of a folder, NULL: the only one */
    bool directed;   /* keep the direction of formats that do not state one */
    bool undirected; /* make even a format that states direction undirected */
    bool drop_loops;
    int32_t ids;             /* gntx_import_ids */
    int64_t num_nodes;       /* -1: from the data */
    int32_t duplicates;      /* of weighted arcs: 0 sum, 1 first, 2 error */
    char *features, *labels; /* extra files of an edge list, a Matrix Market or a METIS file */
} gntx_import_options;
GNT_API const gnt_option *gntx_import_option_table(void);

/* "debian: ...\nedgelist: ...\n": a format and what it is, one a line. */
GNT_API const char *gntx_import_formats(void);

/* Reads files or a folder ("-": standard input; "debian": this machine's package index) into a dataset. NULL options are
 * the defaults, report may be NULL: {"format", "ids", "records", "dropped", "repeated", "loops", "reversed_added",
 * "num_nodes", "num_arcs", "num_features", "num_classes", "isolated_from_gaps", "without_features", "unlabelled",
 * "directed", "direction_stated", "seconds", "peak_bytes", "notes": [text]}. ERR_FORMAT and ERR_IO name file and line, ERR_USAGE options that do not fit. */
GNT_API gnt_status gntx_import(gnt_context *ctx, const char *const *paths, int num_paths,
                               const gntx_import_options *options, gnt_dataset **out, gntx_json **report);

/* Generators: "karate\n..." as "name: what it is" lines; options of all kinds in one table (gntx_generate_options). An
 * option that a kind does not use and that is not at its default is ERR_USAGE. report may be NULL. */
typedef struct gntx_generate_options {
    int64_t nodes; /* 0: the kind's default */
    int64_t seed, classes, features, scale, edge_factor, rows, columns;
    double degree, homophily, feature_signal;
} gntx_generate_options;
GNT_API const gnt_option *gntx_generate_option_table(void);
GNT_API const char *gntx_generate_kinds(void);
GNT_API gnt_status gntx_generate(gnt_context *ctx, const char *kind, const gntx_generate_options *options,
                                 gnt_dataset **out, gntx_json **report);

/* A copy of the dataset with one more split (or, when `replace`, a changed one). report: {"splits": [{"name", "kind",
 * "seed", "sha256", "train", "valid", "test", "classes": {"train": [a count a class], ...}}], "notes": [text]}. */
typedef struct gntx_split_options {
    int32_t kind;              /* random|stratified|per-class */
    char *name;                /* NULL: the kind's name */
    double train, valid, test; /* shares; test 0: the rest */
    int64_t per_class, valid_count, test_count,
        seed; /* per-class: 20 a class, 500, 1000; test_count 0: the rest */
    bool inductive, replace;
    int64_t repeats; /* above 1: NAME-0, NAME-1, ... with seed, seed + 1, ... */
} gntx_split_options;
GNT_API const gnt_option *gntx_split_option_table(void);
GNT_API gnt_status gntx_dataset_split(const gnt_dataset *data, const gntx_split_options *options,
                                      gnt_dataset **out, gntx_json **report);

/* ---- partition (partition/) ---- */
/* Cuts the graph of a dataset file into chunks and writes the partition (docs/distributed.md). out_path NULL or "": beside the
 * dataset, NAME.kK.part.h5. report: {"file", "num_nodes", "num_arcs", "num_chunks", "method", "sha256", "graph_sha256", "cut",
 * "volume", "replication", "empty", "balance_nodes", ..., "made": {...}, "chunks": [{"chunk", "nodes", "arcs", "train_nodes",
 * "halo_in", "halo_out"}], "picture", "rewritten"}. */
typedef struct gntx_partition_options {
    int32_t method; /* metis|ldg|fennel|range|random|file */
    int64_t chunks, seed;
    char *shares; /* "4:2:1" */
    char *from;   /* text of the method file */
    char *split;
    double tolerance;
    bool balance_train, metis_volume;
    char *picture; /* an SVG, when not empty */
    char *rewrite; /* the dataset in chunk order, when not empty */
} gntx_partition_options;
GNT_API const gnt_option *gntx_partition_option_table(void);
GNT_API gnt_status gntx_partition(const char *dataset_path, const gntx_partition_options *options,
                                  const char *out_path, gntx_json **report);

/* ---- explain, estimate (nn/, train/) ---- */
/* The rows of gnt_model_config: act, norm, dropout, input-dropout, residual. */
GNT_API const gnt_option *gntx_model_option_table(void);

/* The compiled step of a trainer as text for a person, or as JSON; to be freed with gntx_free. */
GNT_API gnt_status gntx_trainer_explain(gnt_trainer *tr, bool json, char **out);

/* The planner run dry: {"total_bytes", "available_bytes", "fits", "parts": {"graph", "features", "parameters",
 * "workspace", ...}, "knobs": [text]}. No weight is made and nothing is written. */
GNT_API gnt_status gntx_dataset_open_header(gnt_context *ctx, const char *path,
                                            gnt_dataset **out); /* for this */
GNT_API gnt_status gntx_estimate(gnt_model *model, const gnt_dataset *data, const gnt_trainer_config *config,
                                 gntx_json **out);

/* The number of this process among those that a launcher started (0, the one that speaks, when it is alone), and how many. */
GNT_API int32_t gntx_context_rank(const gnt_context *ctx);
GNT_API int32_t gntx_context_num_processes(const gnt_context *ctx);
GNT_API gnt_status gntx_check_single(void); /* ERR_USAGE in one of several processes of a launcher */
/* Backends and devices: {"devices": [{"name", "kind", "total_bytes", "free_bytes", "threads", "isa"}]}. */
GNT_API gnt_status gntx_devices(gntx_json **out);
/* Measures the devices of a text (gnt_trainer_config.devices; NULL: one), one after the other: {"devices": [{"device", "backend",
 * "spmm_seconds", "gemm_seconds", "speed" (1: the slowest), "gemm_rates": {"flops", "bytes"}, "spmm_rates", "attend_rates",
 * "other_rates", "memory_bytes" (when limited)}], "shares": "4:2:1"}. */
GNT_API gnt_status gntx_devices_profile(const char *devices, gntx_json **out);

/* ---- training, evaluation, prediction (train/) ---- */
/* The options of gnt_trainer_config, one row a field. Texts of a config filled through the table are owned by it. */
GNT_API const gnt_option *gntx_trainer_options(void);

/* {"compiler", "features": [text], "libraries": {"HDF5": "1.10.8", ...}}. */
GNT_API gnt_status gntx_build_info(gntx_json **out);
/* The model card of a checkpoint or run. */
GNT_API gnt_status gntx_model_card(const char *run, gntx_json **card);
/* What the run folder's summary.json holds after gnt_trainer_finish, without a run folder too. */
GNT_API gnt_status gntx_trainer_summary(const gnt_trainer *tr, gntx_json **out);
/* summary.json of a run folder or of RUN/seed-S; "outcome" is "interrupted" where it says "running" and nobody runs it. */
GNT_API gnt_status gntx_run_facts(const char *run, gntx_json **out);

/* The effective options as config.yaml text, with the origin of each; the trainer keeps it in its run folder. Call it
 * after create, before the first epoch; without it the trainer writes its own options. */
GNT_API gnt_status gntx_trainer_set_config_text(gnt_trainer *tr, const char *yaml);
GNT_API int64_t gntx_trainer_epochs_done(const gnt_trainer *tr); /* that a resumed run starts with */

/* Scores of a run's best weights, or of an ensemble's combination, per split (several seeds: mean and std): {"splits": {"test": {...}},
 * "classes", "confusion": [[...]]}. data_path and devices as below. */
GNT_API gnt_status gntx_eval(gnt_context *ctx, const char *run, const char *data_path, const char *devices,
                             gntx_json **out);

/* Predictions for every node of a graph, in the user's ids and order, as csv, npy or h5 by suffix (in memory: experimental_predict.h). */
typedef struct gntx_predict_options {
    int32_t what;  /* classes|probabilities|embeddings */
    int64_t seed;  /* which member of a run with several seeds, or of an ensemble; -1: all of them */
    char *data;    /* NULL: the file that the run names */
    char *devices; /* one, as of gnt_trainer_config; of an ensemble several; NULL: the context's */
} gntx_predict_options;
GNT_API const gnt_option *gntx_predict_option_table(void);
GNT_API gnt_status gntx_predict(gnt_context *ctx, const char *run, const gntx_predict_options *options,
                                const char *out_path, gntx_json **report);

/* Best weights for other tools (safetensors). report: what was written; may be NULL. */
typedef struct gntx_export_options {
    int32_t format; /* safetensors */
    int64_t seed;   /* of a run with several seeds, -1: all of them */
} gntx_export_options;
GNT_API const gnt_option *gntx_export_option_table(void);
GNT_API gnt_status gntx_export(const char *run, const gntx_export_options *options, const char *out_path,
                               gntx_json **report);
#ifdef __cplusplus
}
#endif
#endif
