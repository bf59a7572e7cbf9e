/* SPDX-License-Identifier: Apache-2.0 */
/* Scores: every metric that fits the labels, for each part of the split that a run was trained with, at the best
 * weights. With several seeds each value is the mean over them, with "KEY_std" (sample) beside it; the confusion matrix
 * of the test nodes then counts all seeds.
 */
#include "train/eval_run.h"

#include "base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_VALUES = 12, MAX_CONFUSION_CLASSES = 1000, KEY_BYTES = 24 };

/* The scalars of one part, of one or all members. */
typedef struct part_values {
    int32_t num;
    const char *key[MAX_VALUES];
    double sum[MAX_VALUES], squares[MAX_VALUES];
    int32_t members;
} part_values;

/* "micro-f1" becomes "micro_f1" in reports. */
static const char *const report_keys[] = { "",        "accuracy", "micro_f1", "macro_f1",
                                           "roc_auc", "ap",       "mae",      "mse" };

static void add_value(part_values *v, int32_t at, const char *key, double value)
{
    v->key[at] = key;
    v->sum[at] += value;
    v->squares[at] += value * value;
    v->num = at + 1 > v->num ? at + 1 : v->num;
}

static void add_member(part_values *v, const gnti_scored *rows, gnti_metric_scratch *scratch)
{
    const bool regression = rows->kind == GNT_LABELS_REGRESSION;
    int32_t at = 0;

    add_value(v, at++, "loss", gnti_metric_loss(rows));
    for (int m = GNTI_METRIC_ACCURACY; m <= GNTI_METRIC_MSE; m++)
        if (regression != gnti_metric_higher_is_better((gnti_metric)m))
            add_value(v, at++, report_keys[m], gnti_metric_compute((gnti_metric)m, rows, scratch));
    if (!regression) {
        gnti_calibration c;

        gnti_calibration_compute(rows, &c);
        add_value(v, at++, "nll", c.nll);
        add_value(v, at++, "ece", c.ece);
        add_value(v, at++, "brier", c.brier);
    }
    v->members++;
}

static gnt_status put_values(const part_values *v, int64_t num_rows, gnti_json *o)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_json_set_int(o, "rows", num_rows));
    for (int32_t i = 0; i < v->num; i++) {
        const double n = v->members, mean = v->sum[i] / n;
        char key[KEY_BYTES];

        GNT_TRY(gnti_json_set_number(o, v->key[i], mean));
        snprintf(key, sizeof key, "%s_std", v->key[i]);
        if (v->members > 1)
            GNT_TRY(
                gnti_json_set_number(o, key, sqrt(fmax(v->squares[i] - n * mean * mean, 0.0) / (n - 1.0))));
    }
done:
    return st;
}

static gnt_status put_reliability(const gnti_scored *rows, gnti_json *o)
{
    gnt_status st = GNT_OK;
    gnti_calibration c;
    gnti_json *bins = NULL;

    gnti_calibration_compute(rows, &c);
    GNT_TRY(gnti_json_set_object(o, "reliability", &bins));
    GNT_TRY(gnti_json_set_text(bins, "bins", "15 of equal width"));
    GNT_TRY(gnti_json_set_ints(bins, "count", c.bin_count, GNTI_ECE_BINS));
    GNT_TRY(gnti_json_set_numbers(bins, "confidence", c.bin_confidence, GNTI_ECE_BINS));
    GNT_TRY(gnti_json_set_numbers(bins, "accuracy", c.bin_accuracy, GNTI_ECE_BINS));
done:
    return st;
}

/* All parts over all members. */
static gnt_status put_splits(const gnti_eval_subject *t, const gnti_split *split, gnti_json *report,
                             int64_t *confusion)
{
    gnt_status st = GNT_OK;
    static const char *const names[] = { "train", "valid", "test" };
    part_values values[3] = { 0 };
    gnti_metric_scratch *scratch = NULL;
    gnti_json *all = NULL, *parts[3] = { NULL };
    float *logits = NULL;
    int64_t *counts = NULL;
    const int64_t cells = t->num_classes * t->num_classes;

    GNT_TRY(gnti_metric_scratch_create(t->data->num_nodes, t->num_classes, &scratch));
    GNT_TRY(gnti_json_set_object(report, "splits", &all));
    for (int p = 0; p < 3; p++)
        GNT_TRY(gnti_json_set_object(all, names[p], &parts[p]));
    if (confusion != NULL)
        GNT_TRY(gnti_alloc_array(&counts, cells));
    for (int32_t m = 0; m < t->num_members; m++) {
        gnti_scored rows;

        gnti_free(logits);
        logits = NULL;
        GNT_TRY(t->logits(t->user, m, &logits));
        for (int p = 0; p < 3; p++) {
            rows = gnti_prepared_rows(t->data, split, p, logits);
            add_member(&values[p], &rows, scratch);
            if (t->num_members == 1 && rows.kind != GNT_LABELS_REGRESSION)
                GNT_TRY(put_reliability(&rows, parts[p]));
        }
        if (confusion == NULL)
            continue;
        gnti_confusion(&rows, counts); /* the last part: test */
        for (int64_t i = 0; i < cells; i++)
            confusion[i] += counts[i];
    }
    for (int p = 0; p < 3; p++)
        GNT_TRY(put_values(&values[p], split->num_nodes[p], parts[p]));
done:
    gnti_free(logits);
    gnti_free(counts);
    gnti_metric_scratch_free(&scratch);
    return st;
}

gnt_status gnti_put_confusion(const int64_t *counts, int64_t num_classes, gnti_json *o)
{
    gnt_status st = GNT_OK;
    gnti_json *matrix = NULL, *line = NULL;

    GNT_TRY(gnti_json_set_array(o, "confusion", &matrix));
    for (int64_t r = 0; r < num_classes; r++) {
        GNT_TRY(gnti_json_append_array(matrix, &line));
        for (int64_t c = 0; c < num_classes; c++)
            GNT_TRY(gnti_json_append_int(line, counts[r * num_classes + c]));
    }
done:
    return st;
}

gnt_status gnti_eval_scores(const gnti_eval_subject *t, const char *split_name, gnti_json *report)
{
    gnt_status st = GNT_OK;
    const gnti_split *split = NULL;
    gnti_json *list = NULL;
    int64_t *confusion = NULL;

    GNT_CHECK(t->data->y.kind != GNT_LABELS_NONE, GNT_ERR_FORMAT,
              "dataset '%s' has no labels: predict needs none", t->data->path);
    GNT_TRY(gnti_dataset_find_split(t->data, split_name, &split));
    GNT_TRY(gnti_json_set_text(report, "data", t->data->path));
    GNT_TRY(gnti_json_set_text(report, "split", split->name));
    if (t->class_names != NULL) {
        GNT_TRY(gnti_json_set_array(report, "classes", &list));
        for (int64_t c = 0; c < t->num_classes; c++)
            GNT_TRY(gnti_json_append_text(list, t->class_names[c]));
    }
    if (t->data->y.kind == GNT_LABELS_CLASS && t->num_classes <= MAX_CONFUSION_CLASSES)
        GNT_TRY(gnti_calloc_array(&confusion, t->num_classes * t->num_classes));
    GNT_TRY(put_splits(t, split, report, confusion));
    if (confusion != NULL)
        GNT_TRY(gnti_put_confusion(confusion, t->num_classes, report));
done:
    gnti_free(confusion);
    return st;
}

static gnt_status logits_of(const void *user, int32_t member, float **out)
{
    return gnti_trained_logits(user, member, out);
}

static gnt_status put_head(const gnti_trained *t, gnti_json *report)
{
    gnt_status st = GNT_OK;
    gnti_json *list = NULL;

    GNT_TRY(gnti_json_set_text(report, "checkpoint", t->cp->path));
    GNT_TRY(gnti_json_set_text(report, "model", gnti_model_text(t->model)));
    GNT_TRY(gnti_json_set_array(report, "seeds", &list));
    for (int32_t m = 0; m < t->num_members; m++)
        GNT_TRY(gnti_json_append_int(list, gnti_trained_seed(t, m)));
done:
    return st;
}

const char *gnti_trained_split(const gnti_trained *t)
{
    return gnti_json_to_text(gnti_json_find(gnti_json_find(t->cp->meta, "split"), "name"));
}

gnt_status gnti_eval_run(gnt_context *ctx, const char *run, const char *data_path, const char *devices,
                         gnti_json **out)
{
    gnt_status st = GNT_OK;
    gnti_trained t = { 0 };
    gnti_json *o = NULL;

    GNT_TRY(gnti_trained_open(ctx, run, data_path, devices, false, &t));
    GNT_TRY(gnti_json_create_object(&o));
    GNT_TRY(put_head(&t, o));
    GNT_TRY(gnti_eval_scores(&(gnti_eval_subject){ .data = t.data,
                                                   .num_classes = t.num_classes,
                                                   .class_names = t.class_names,
                                                   .num_members = t.num_members,
                                                   .logits = logits_of,
                                                   .user = &t },
                             gnti_trained_split(&t), o));
    *out = o;
    o = NULL;
done:
    gnti_json_free(&o);
    gnti_trained_free(&t);
    return st;
}

gnt_status gntx_model_card(const char *run, gntx_json **card)
{
    gnt_status st = GNT_OK;
    gnti_checkpoint *cp = NULL;
    gnti_json *value = NULL;

    GNT_CHECK(card != NULL, GNT_ERR_ARG, "card must not be NULL");
    GNT_TRY(gnti_trained_checkpoint(run, &cp));
    GNT_TRY(gnti_checkpoint_read_card(cp->path, &value));
    *card = (gntx_json *)value;
done:
    gnti_checkpoint_free(&cp);
    return st;
}
