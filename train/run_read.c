/* SPDX-License-Identifier: Apache-2.0 */
/* Reading run folders. RUN/metrics.jsonl holds the means over the seeds; each RUN/seed-S/metrics.jsonl adds to the
 * deviation at its epochs: std = sqrt((sum of squares - n mean^2) / (n - 1)), with the mean of the seeds that have the
 * epoch (a seed that stopped early has no more).
 */
#include "train/run_read.h"

#include "base/alloc.h"
#include "base/file.h"

#include <dirent.h>
#include <math.h>
#include <string.h>

static const char *const curve_keys[GNTI_NUM_CURVES] = { "train_loss", "valid_loss", "train_metric",
                                                         "valid_metric" };
enum { MAX_METRICS_BYTES = 1 << 28 };

static void curves_free(gnti_curves *c)
{
    gnti_free(c->epoch);
    for (int k = 0; k < GNTI_NUM_CURVES; k++) {
        gnti_free(c->value[k]);
        gnti_free(c->low[k]);
        gnti_free(c->high[k]);
    }
    *c = (gnti_curves){ 0 };
}

static gnt_status curves_reserve(gnti_curves *c)
{
    gnt_status st = GNT_OK;
    const int64_t need = c->count + 1;
    int64_t capacity = c->capacity;

    if (need <= c->capacity)
        return GNT_OK;
    GNT_TRY(gnti_grow_array(&c->epoch, &capacity, need));
    for (int k = 0; k < GNTI_NUM_CURVES; k++)
        GNT_TRY(gnti_realloc_array(&c->value[k], capacity));
    c->capacity = capacity;
done:
    return st;
}

/* A value that is missing or null is NaN, a gap. */
static double number_of(const gnti_json *line, const char *key)
{
    double value = (double)NAN;

    (void)gnti_json_to_number(gnti_json_find(line, key), &value);
    return value;
}

static gnt_status add_line(const gnti_json *line, gnti_curves *c, char metric[32])
{
    gnt_status st = GNT_OK;
    const char *name = gnti_json_to_text(gnti_json_find(line, "metric"));

    GNT_TRY(curves_reserve(c));
    c->epoch[c->count] = number_of(line, "epoch");
    for (int k = 0; k < GNTI_NUM_CURVES; k++)
        c->value[k][c->count] = number_of(line, curve_keys[k]);
    c->count++;
    if (name != NULL) {
        strncpy(metric, name, 31);
        metric[31] = '\0';
    }
done:
    return st;
}

static gnt_status read_metrics(const char *path, gnti_curves *c, char metric[32])
{
    gnt_status st = GNT_OK;
    gnti_json *line = NULL;
    char *text = NULL;
    size_t length = 0;

    GNT_TRY(gnti_file_read_all(path, MAX_METRICS_BYTES, &text, &length));
    for (const char *p = text; *p != '\0';) {
        const char *end = strchr(p, '\n');

        if (end == NULL)
            break; /* torn: the run is being written or was killed */
        if (end > p) {
            GNT_TRY(gnti_json_parse(p, (size_t)(end - p), path, &line));
            GNT_TRY(add_line(line, c, metric));
            gnti_json_free(&line);
        }
        p = end + 1;
    }
done:
    gnti_json_free(&line);
    gnti_free(text);
    return st;
}

/* Sums of one seed's values at the epochs of the means: low collects the sum, high the squares. */
static void add_seed(gnti_curves *mean, double *counts, const gnti_curves *seed)
{
    int64_t at = 0;

    for (int64_t i = 0; i < seed->count; i++) {
        while (at < mean->count && mean->epoch[at] < seed->epoch[i])
            at++;
        if (at == mean->count || mean->epoch[at] > seed->epoch[i])
            continue;
        counts[at] += 1.0;
        for (int k = 0; k < GNTI_NUM_CURVES; k++) {
            mean->low[k][at] += seed->value[k][i];
            mean->high[k][at] += seed->value[k][i] * seed->value[k][i];
        }
    }
}

static void sums_to_band(gnti_curves *c, const double *counts)
{
    for (int k = 0; k < GNTI_NUM_CURVES; k++) {
        for (int64_t i = 0; i < c->count; i++) {
            const double n = counts[i], mean = c->low[k][i] / n;
            const double variance = n > 1.0 ? (c->high[k][i] - n * mean * mean) / (n - 1.0) : 0.0;
            const double deviation = sqrt(fmax(variance, 0.0));

            c->low[k][i] = c->value[k][i] - deviation;
            c->high[k][i] = c->value[k][i] + deviation;
        }
    }
}

static gnt_status add_seed_folder(gnti_run_record *run, const char *name, double *counts)
{
    gnt_status st = GNT_OK;
    gnti_curves seed = { 0 };
    char *folder = NULL, *path = NULL;
    char metric[32];

    GNT_TRY(gnti_path_join(run->path, name, &folder));
    GNT_TRY(gnti_path_join(folder, "metrics.jsonl", &path));
    if (gnti_file_exists(path)) {
        GNT_TRY(read_metrics(path, &seed, metric));
        add_seed(&run->curves, counts, &seed);
        run->num_seeds++;
    }
done:
    curves_free(&seed);
    gnti_free(folder);
    gnti_free(path);
    return st;
}

static gnt_status read_bands(gnti_run_record *run)
{
    gnt_status st = GNT_OK;
    double *counts = NULL;
    DIR *folder = opendir(run->path);

    if (folder == NULL || run->curves.count == 0)
        goto done;
    GNT_TRY(gnti_calloc_array(&counts, run->curves.count));
    for (int k = 0; k < GNTI_NUM_CURVES; k++) {
        GNT_TRY(gnti_calloc_array(&run->curves.low[k], run->curves.count));
        GNT_TRY(gnti_calloc_array(&run->curves.high[k], run->curves.count));
    }
    for (const struct dirent *e = readdir(folder); e != NULL; e = readdir(folder))
        if (strncmp(e->d_name, "seed-", 5) == 0)
            GNT_TRY(add_seed_folder(run, e->d_name, counts));
    if (run->num_seeds > 1)
        sums_to_band(&run->curves, counts);
    for (int k = 0; k < GNTI_NUM_CURVES && run->num_seeds < 2; k++) {
        gnti_free(run->curves.low[k]);
        gnti_free(run->curves.high[k]);
        run->curves.low[k] = run->curves.high[k] = NULL;
    }
done:
    if (folder != NULL)
        closedir(folder);
    gnti_free(counts);
    return st;
}

/* The path without slashes at its end, and its last part. */
static gnt_status set_names(gnti_run_record *run, const char *path)
{
    gnt_status st = GNT_OK;
    const char *slash;
    size_t length;

    GNT_TRY(gnti_strdup(&run->path, path));
    length = strlen(run->path);
    while (length > 1 && run->path[length - 1] == '/')
        run->path[--length] = '\0';
    slash = strrchr(run->path, '/');
    GNT_TRY(gnti_strdup(&run->name, slash == NULL || slash[1] == '\0' ? run->path : slash + 1));
done:
    return st;
}

gnt_status gnti_run_record_read(const char *path, gnti_run_record *out)
{
    gnt_status st = GNT_OK;
    gnti_run_record run = { .metric = "metric" };
    char *metrics = NULL, *summary = NULL;

    GNT_TRY(set_names(&run, path));
    GNT_TRY(gnti_path_join(run.path, "metrics.jsonl", &metrics));
    GNT_TRY(gnti_path_join(run.path, "summary.json", &summary));
    GNT_CHECK(gnti_file_exists(metrics) || gnti_file_exists(summary), GNT_ERR_IO,
              "'%s' is no run folder: it has neither metrics.jsonl nor summary.json", path);
    if (gnti_file_exists(metrics))
        GNT_TRY(read_metrics(metrics, &run.curves, run.metric));
    if (gnti_file_exists(summary))
        GNT_TRY(gnti_json_read(summary, &run.summary));
    GNT_TRY(read_bands(&run));
    *out = run;
    run = (gnti_run_record){ 0 };
done:
    gnti_free(metrics);
    gnti_free(summary);
    gnti_run_record_free(&run);
    return st;
}

void gnti_run_record_free(gnti_run_record *run)
{
    gnti_free(run->path);
    gnti_free(run->name);
    gnti_json_free(&run->summary);
    curves_free(&run->curves);
    *run = (gnti_run_record){ 0 };
}

double gnti_run_test_value(const gnti_run_record *run, double *out_deviation)
{
    double value = (double)NAN;

    *out_deviation = (double)NAN;
    if (run->summary == NULL)
        return value;
    if (gnti_json_to_number(gnti_json_find(run->summary, "mean"), &value))
        (void)gnti_json_to_number(gnti_json_find(run->summary, "std"), out_deviation);
    else
        (void)gnti_json_to_number(gnti_json_find(run->summary, "test_metric"), &value);
    return value;
}
