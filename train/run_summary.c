/* SPDX-License-Identifier: Apache-2.0 */
/* summary.json: how a run ended, its figures at the best validation epoch, and over several seeds mean, sample standard
 * deviation, extremes and the 95 % interval mean +- t s / sqrt(n) with Student's t.
 */
#include <gnntrain/experimental.h>

#include "train/run_internal.h"
#include "train/trained.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* 97.5 % points of Student's t for 1 to 30 degrees of freedom. */
static const double t_points[] = { 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                   2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                   2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042 };

static double t_point(int32_t freedom)
{
    const int32_t known = (int32_t)(sizeof t_points / sizeof t_points[0]);

    if (freedom < 1)
        return NAN;
    return freedom <= known ? t_points[freedom - 1] : 1.95996 + 2.46 / freedom; /* within 0.001 */
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double median_seconds(const gnt_trainer *tr)
{
    double *sorted = NULL, median = NAN;
    const int64_t n = gnti_min_i64(tr->num_seconds, GNTI_TRAIN_SECONDS_KEPT);

    if (n == 0 || gnti_alloc_array(&sorted, n) != GNT_OK)
        return NAN;
    memcpy(sorted, tr->seconds, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, compare_doubles);
    median = n % 2 == 1 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
    gnti_free(sorted);
    return median;
}

/* What every summary has, whoever it is for. */
static gnt_status put_common(const gnt_trainer *tr, const char *outcome, const char *message, gnti_json *o)
{
    gnt_status st = GNT_OK;
    gnti_alloc_stats memory;

    gnti_alloc_get_stats(&memory);
    GNT_TRY(gnti_json_set_text(o, "outcome", outcome));
    if (message != NULL)
        GNT_TRY(gnti_json_set_text(o, "message", message));
    GNT_TRY(gnti_json_set_text(o, "metric", gnti_metric_name(tr->metric)));
    GNT_TRY(gnti_json_set_int(o, "epochs", tr->epoch));
    GNT_TRY(gnti_json_set_int(o, "num_parameters", gnt_model_num_parameters(tr->model)));
    GNT_TRY(gnti_json_set_number(o, "epoch_seconds_median", median_seconds(tr)));
    GNT_TRY(gnti_json_set_int(o, "peak_bytes", (int64_t)memory.peak_bytes));
    GNT_TRY(gnti_json_set_text(o, "split", tr->prepared.split->name));
    GNT_TRY(gnti_trainer_put_ranks(tr, o));
done:
    return st;
}

static gnt_status put_member(const gnt_trainer *tr, int32_t m, gnti_json *o)
{
    gnt_status st = GNT_OK;
    const gnti_member *state = &tr->members[m];

    GNT_TRY(gnti_json_set_int(o, "seed", (int64_t)tr->seeds[m]));
    GNT_TRY(gnti_json_set_number(o, "test_metric", tr->test_metric[m]));
    GNT_TRY(gnti_json_set_number(o, "test_loss", tr->test_loss[m]));
    GNT_TRY(gnti_json_set_number(o, "valid_metric", state->best_valid_metric));
    GNT_TRY(gnti_json_set_number(o, "valid_loss", state->best_valid_loss));
    GNT_TRY(gnti_json_set_int(o, "best_epoch", (int64_t)state->best_epoch));
done:
    return st;
}

static gnt_status put_spread(const double *values, int32_t n, gnti_json *o)
{
    gnt_status st = GNT_OK;
    double sum = 0.0, squares = 0.0, low = values[0], high = values[0], mean = 0.0, std = NAN;
    gnti_json *interval = NULL;

    for (int32_t i = 0; i < n; i++) {
        sum += values[i];
        low = values[i] < low ? values[i] : low;
        high = values[i] > high ? values[i] : high;
    }
    mean = sum / n;
    for (int32_t i = 0; i < n; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    std = n > 1 ? sqrt(squares / (n - 1)) : NAN;
    GNT_TRY(gnti_json_set_number(o, "mean", mean));
    GNT_TRY(gnti_json_set_number(o, "std", std));
    GNT_TRY(gnti_json_set_number(o, "min", low));
    GNT_TRY(gnti_json_set_number(o, "max", high));
    GNT_TRY(gnti_json_set_int(o, "n", n));
    GNT_TRY(gnti_json_set_array(o, "interval_95", &interval));
    GNT_TRY(gnti_json_append_number(interval, mean - t_point(n - 1) * std / sqrt(n)));
    GNT_TRY(gnti_json_append_number(interval, mean + t_point(n - 1) * std / sqrt(n)));
    GNT_TRY(gnti_json_set_numbers(o, "runs", values, n));
done:
    return st;
}

/* Means over the members under the names of a single run, and the spread of the test metric. */
static gnt_status put_seeds(const gnt_trainer *tr, gnti_json *o)
{
    gnt_status st = GNT_OK;
    gnti_json *seeds = NULL, *epochs = NULL;
    double test = 0.0, valid = 0.0;
    const int32_t n = tr->num_members;

    for (int32_t m = 0; m < n; m++) {
        test += tr->test_metric[m] / n;
        valid += tr->members[m].best_valid_metric / n;
    }
    GNT_TRY(gnti_json_set_number(o, "test_metric", test));
    GNT_TRY(gnti_json_set_number(o, "valid_metric", valid));
    GNT_TRY(gnti_json_set_int(o, "best_epoch", (int64_t)tr->members[0].best_epoch));
    GNT_TRY(put_spread(tr->test_metric, n, o));
    GNT_TRY(gnti_json_set_array(o, "seeds", &seeds));
    GNT_TRY(gnti_json_set_array(o, "best_epochs", &epochs));
    for (int32_t m = 0; m < n; m++) {
        GNT_TRY(gnti_json_append_int(seeds, (int64_t)tr->seeds[m]));
        GNT_TRY(gnti_json_append_int(epochs, (int64_t)tr->members[m].best_epoch));
    }
done:
    return st;
}

/* Counts of the test nodes, of one member or of all, once they are known; with the names of the classes. */
static gnt_status put_confusion(const gnt_trainer *tr, int32_t member, gnti_json *o)
{
    gnt_status st = GNT_OK;
    int64_t *sum = NULL;
    gnti_json *names = NULL;
    const gnti_labels *y = &tr->data->y;
    const int64_t cells = y->num_classes * y->num_classes;
    const int32_t first = member < 0 ? 0 : member, end = member < 0 ? tr->num_members : member + 1;

    if (tr->confusion == NULL || isnan(tr->test_loss[0]))
        goto done;
    GNT_TRY(gnti_calloc_array(&sum, cells));
    for (int32_t m = first; m < end; m++)
        for (int64_t i = 0; i < cells; i++)
            sum[i] += tr->confusion[m * cells + i];
    GNT_TRY(gnti_put_confusion(sum, y->num_classes, o));
    if (y->names == NULL)
        goto done;
    GNT_TRY(gnti_json_set_array(o, "classes", &names));
    for (int64_t c = 0; c < y->num_classes; c++)
        GNT_TRY(gnti_json_append_text(names, y->names[c]));
done:
    gnti_free(sum);
    return st;
}

static gnt_status make_summary(const gnt_trainer *tr, int32_t member, const char *outcome,
                               const char *message, gnti_json **out)
{
    gnt_status st = GNT_OK;
    gnti_json *o = NULL;

    GNT_TRY(gnti_json_create_object(&o));
    GNT_TRY(put_common(tr, outcome, message, o));
    if (member >= 0)
        GNT_TRY(put_member(tr, member, o));
    else
        GNT_TRY(put_seeds(tr, o));
    GNT_TRY(put_confusion(tr, member, o));
    *out = o;
    o = NULL;
done:
    gnti_json_free(&o);
    return st;
}

gnt_status gntx_trainer_summary(const gnt_trainer *tr, gntx_json **out)
{
    gnt_status st = GNT_OK;
    gnti_json *o = NULL;

    GNT_CHECK(tr != NULL && out != NULL, GNT_ERR_ARG, "trainer and out must not be NULL");
    GNT_CHECK(tr->finished, GNT_ERR_STATE, "a summary is there after gnt_trainer_finish");
    GNT_TRY(make_summary(tr, tr->num_members == 1 ? 0 : -1, "complete", NULL, &o));
    *out = (gntx_json *)o;
done:
    return st;
}

static gnt_status write_one(const gnti_run_place *place, const gnt_trainer *tr, int32_t member,
                            const char *outcome, const char *message)
{
    gnt_status st = GNT_OK;
    gnti_json *o = NULL;

    GNT_TRY(make_summary(tr, member, outcome, message, &o));
    GNT_TRY(gnti_json_write(place->summary, o));
done:
    gnti_json_free(&o);
    return st;
}

gnt_status gnti_run_write_summary(gnti_run *run, const gnt_trainer *tr, const char *outcome,
                                  const char *message)
{
    gnt_status st = GNT_OK;

    for (int32_t m = 0; run->seeds != NULL && m < run->num_members; m++)
        GNT_TRY(write_one(&run->seeds[m], tr, m, outcome, message));
    GNT_TRY(write_one(&run->top, tr, run->seeds == NULL ? 0 : -1, outcome, message));
done:
    return st;
}

bool gnti_run_has_summary(const gnti_run *run)
{
    gnti_json *o = NULL;
    bool complete = false;
    const char *outcome = NULL;

    if (gnti_file_exists(run->top.summary) && gnti_json_read(run->top.summary, &o) == GNT_OK) {
        outcome = gnti_json_to_text(gnti_json_find(o, "outcome"));
        complete = outcome != NULL && strcmp(outcome, "complete") == 0;
    }
    gnt_clear_error();
    gnti_json_free(&o);
    return complete;
}

/* The newest epoch that the metrics have: the summary of a run that goes on was written before its first one. */
static gnt_status put_newest_epoch(const char *run, gnti_json *o)
{
    gnt_status st = GNT_OK;
    gnti_json *line = NULL;
    char *path = NULL, *text = NULL;
    size_t bytes = 0, start;
    int64_t epoch = 0;

    GNT_TRY(gnti_path_join(run, "metrics.jsonl", &path));
    if (!gnti_file_exists(path))
        goto done;
    GNT_TRY(gnti_file_read_all(path, (size_t)1 << 30, &text, &bytes));
    while (bytes > 0 && text[bytes - 1] != '\n') /* a torn last line has no end */
        bytes--;
    for (start = bytes > 0 ? bytes - 1 : 0; start > 0 && text[start - 1] != '\n';)
        start--;
    if (bytes == 0)
        goto done;
    GNT_TRY(gnti_json_parse(text + start, bytes - start, path, &line));
    GNT_TRY(gnti_json_get_int(line, "epoch", &epoch));
    GNT_TRY(gnti_json_set_int(o, "epochs", epoch));
done:
    gnti_json_free(&line);
    gnti_free(text);
    gnti_free(path);
    return st;
}

gnt_status gntx_run_facts(const char *run, gntx_json **out)
{
    gnt_status st = GNT_OK;
    gnti_json *o = NULL;
    char *path = NULL;
    const char *outcome;
    bool running;

    GNT_CHECK(run != NULL && out != NULL, GNT_ERR_ARG, "run and out must not be NULL");
    GNT_TRY(gnti_path_join(run, "summary.json", &path));
    GNT_TRY(gnti_json_read(path, &o));
    outcome = gnti_json_to_text(gnti_json_find(o, "outcome"));
    running = outcome != NULL && strcmp(outcome, "running") == 0;
    if (running && put_newest_epoch(run, o) != GNT_OK)
        gnt_clear_error(); /* damaged metrics are no reason to say nothing */
    if (running && gnti_run_is_abandoned(run)) {
        GNT_TRY(gnti_json_set_text(o, "outcome", "interrupted"));
        GNT_TRY(
            gnti_json_set_text(o, "message",
                               "its process is gone and left no word: the same command goes on from the last "
                               "checkpoint"));
    }
    *out = (gntx_json *)o;
    o = NULL; /* handed over */
done:
    gnti_json_free(&o);
    gnti_free(path);
    return st;
}
