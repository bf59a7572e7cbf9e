/* SPDX-License-Identifier: Apache-2.0 */
/* Predictions of a run: classes, probabilities or embeddings of every node of a graph, computed layer by layer over the whole
 * graph. Rows come in the order of the file that the user imported: after a rewrite in chunk order, /nodes/origin leads
 * back to it.
 */
#include "train/predict_table.h"

#include "base/alloc.h"

#include <string.h>

static const gnt_option predict_table[] = {
    GNT_OPTION_WORD("what", gntx_predict_options, what, 0, "classes|probabilities|embeddings",
                    "classes, their probabilities, or the input of the last layer"),
    GNT_OPTION_INT("seed", gntx_predict_options, seed, -1, -1, 9007199254740992.0,
                   "which of several seeds or members, -1: all of them"),
    GNT_OPTION_TEXT("data", gntx_predict_options, data, NULL,
                    "dataset; the one of the training when not given"),
    GNT_OPTION_TEXT("devices", gntx_predict_options, devices, "auto",
                    "one, as of gnntrain train; of an ensemble several, members are placed on them"),
    GNT_OPTION_END,
};

const gnt_option *gntx_predict_option_table(void)
{
    return predict_table;
}

gnt_status gnti_predict_order(const gnt_dataset *data, int64_t **out)
{
    gnt_status st = GNT_OK;
    const gnti_array *origin = gnti_dataset_find_array(data, "/nodes/origin");
    int64_t *order = NULL;

    if (origin == NULL || origin->dtype != GNTI_FILE_I64 || origin->rows != data->num_nodes)
        goto done;
    GNT_TRY(gnti_alloc_array(&order, data->num_nodes));
    for (int64_t i = 0; i < data->num_nodes; i++)
        order[i] = -1;
    for (int64_t i = 0; i < data->num_nodes; i++) {
        const int64_t row = ((const int64_t *)origin->data)[i];

        if (row < 0 || row >= data->num_nodes || order[row] >= 0)
            goto done; /* a subgraph, not a renaming: the file's own order */
        order[row] = i;
    }
    *out = order;
    order = NULL;
done:
    gnti_free(order);
    return st;
}

/* Scores of members first .. end - 1 in the mean: probabilities, or outputs of a regression. (N, num_classes) */
static gnt_status mean_scores(const gnti_trained *t, int32_t first, int32_t end, double **out)
{
    gnt_status st = GNT_OK;
    const int64_t n = t->data->num_nodes, width = t->num_classes;
    double *sum = NULL, *row = NULL;
    float *logits = NULL;
    size_t cells = 0;

    GNT_TRY(gnti_mul_size((size_t)n, (size_t)width, &cells));
    GNT_TRY(gnti_calloc_array(&sum, (int64_t)cells));
    GNT_TRY(gnti_alloc_array(&row, width));
    for (int32_t m = first; m < end; m++) {
        gnti_free(logits);
        logits = NULL;
        GNT_TRY(gnti_trained_logits(t, m, &logits));
        for (int64_t i = 0; i < n; i++) {
            if (t->label_kind != GNT_LABELS_REGRESSION)
                gnti_probabilities(logits + i * width, width, t->label_kind, row);
            for (int64_t c = 0; c < width; c++)
                sum[i * width + c] +=
                    (t->label_kind == GNT_LABELS_REGRESSION ? (double)logits[i * width + c] : row[c]) /
                    (double)(end - first);
        }
    }
    *out = sum;
    sum = NULL;
done:
    gnti_free(sum);
    gnti_free(row);
    gnti_free(logits);
    return st;
}

/* From scores to what is written: the likeliest class (the first on ties), 0 and 1 of labels, or the scores. */
static gnt_status fill_values(const gnti_predict_scores *s, bool probabilities, int32_t **classes,
                              float **values)
{
    gnt_status st = GNT_OK;
    const int64_t n = s->data->num_nodes, width = s->num_classes;
    const double *scores = s->scores;

    if (s->kind == GNT_LABELS_CLASS && !probabilities) {
        GNT_TRY(gnti_alloc_array(classes, n));
        for (int64_t i = 0; i < n; i++) {
            int32_t best = 0;

            for (int64_t c = 1; c < width; c++)
                best = scores[i * width + c] > scores[i * width + best] ? (int32_t)c : best;
            (*classes)[i] = best;
        }
        goto done;
    }
    GNT_TRY(gnti_alloc_array(values, n * width));
    for (int64_t i = 0; i < n * width; i++)
        (*values)[i] = s->kind == GNT_LABELS_MULTI && !probabilities ? (scores[i] > 0.5 ? 1.0f : 0.0f)
                                                                     : (float)scores[i];
done:
    return st;
}

static gnt_status fill_hidden(const gnti_trained *t, int32_t member, float **values)
{
    gnt_status st = GNT_OK;
    size_t cells = 0;

    GNT_TRY(
        gnti_mul_size((size_t)t->data->num_nodes, (size_t)gnti_evaluator_hidden_width(t->evaluator), &cells));
    GNT_TRY(gnti_alloc_array(values, (int64_t)cells));
    GNT_TRY(gnti_evaluator_read_hidden(t->evaluator, member, *values));
done:
    return st;
}

static gnt_status fill_report(const gnti_predict_table *table, const gnti_predict_output *to, int32_t members,
                              gnti_json *o)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_json_set_text(o, "data", table->data->path));
    if (to->path != NULL)
        GNT_TRY(gnti_json_set_text(o, "output", to->path));
    GNT_TRY(gnti_json_set_text(o, "what", table->column));
    GNT_TRY(gnti_json_set_int(o, "rows", to->path != NULL ? table->num_rows : to->rows->num_rows));
    GNT_TRY(gnti_json_set_int(o, "columns", table->classes != NULL ? 1 : table->width));
    GNT_TRY(gnti_json_set_int(o, "members", members));
done:
    return st;
}

gnt_status gnti_predict_check(const gntx_predict_options *options, const gnti_predict_output *to)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(options->what >= GNTI_PREDICT_CLASSES && options->what <= GNTI_PREDICT_EMBEDDINGS, GNT_ERR_ARG,
              "kind %d of predictions is unknown", (int)options->what);
    if (to->path != NULL)
        GNT_TRY(gnti_predict_check_name(to->path));
done:
    return st;
}

static gnt_status put(const gnti_predict_table *table, const gnti_predict_output *to)
{
    return to->path != NULL ? gnti_predict_write(table, to->path) : gnti_predict_copy(table, to->rows);
}

gnt_status gnti_predict_save_scores(const gnti_predict_scores *s, bool probabilities,
                                    const gnti_predict_output *to, gnti_json *report)
{
    gnt_status st = GNT_OK;
    int32_t *classes = NULL;
    int64_t *order = NULL;
    float *values = NULL;
    gnti_predict_table table;

    GNT_CHECK(!probabilities || s->kind != GNT_LABELS_REGRESSION, GNT_ERR_USAGE,
              "the model predicts numbers, not classes: it has no probabilities");
    GNT_TRY(gnti_predict_order(s->data, &order));
    GNT_TRY(fill_values(s, probabilities, &classes, &values));
    table = (gnti_predict_table){ .data = s->data,
                                  .order = order,
                                  .num_rows = s->data->num_nodes,
                                  .width = s->num_classes,
                                  .classes = classes,
                                  .values = values,
                                  .class_names = s->class_names,
                                  .column = probabilities ? "probability" : "prediction",
                                  .entropy = s->entropy,
                                  .disagreement = s->disagreement };
    GNT_TRY(fill_report(&table, to, s->num_members, report));
    GNT_TRY(put(&table, to));
done:
    gnti_free(classes);
    gnti_free(values);
    gnti_free(order);
    return st;
}

static gnt_status save_hidden(const gnti_trained *t, int32_t member, const gnti_predict_output *to,
                              gnti_json *report)
{
    gnt_status st = GNT_OK;
    int64_t *order = NULL;
    float *values = NULL;
    gnti_predict_table table;

    GNT_TRY(gnti_predict_order(t->data, &order));
    GNT_TRY(fill_hidden(t, member, &values));
    table = (gnti_predict_table){ .data = t->data,
                                  .order = order,
                                  .num_rows = t->data->num_nodes,
                                  .width = gnti_evaluator_hidden_width(t->evaluator),
                                  .values = values,
                                  .column = "embedding" };
    GNT_TRY(fill_report(&table, to, 1, report));
    GNT_TRY(put(&table, to));
done:
    gnti_free(values);
    gnti_free(order);
    return st;
}

/* Everything behind the opened run: values, table, file, report. */
static gnt_status predict(const gnti_trained *t, const gntx_predict_options *options,
                          const gnti_predict_output *to, gnti_json *report)
{
    gnt_status st = GNT_OK;
    const bool hidden = options->what == GNTI_PREDICT_EMBEDDINGS;
    int32_t first = 0, end = t->num_members;
    double *scores = NULL;

    if (options->seed >= 0) {
        GNT_TRY(gnti_trained_find_seed(t, options->seed, &first));
        end = first + 1;
    }
    GNT_CHECK(!hidden || end - first == 1, GNT_ERR_USAGE,
              "embeddings of %d seeds cannot be averaged: choose one with seed", (int)(end - first));
    GNT_TRY(gnti_json_set_text(report, "checkpoint", t->cp->path));
    if (hidden) {
        GNT_TRY(save_hidden(t, first, to, report));
        goto done;
    }
    GNT_TRY(mean_scores(t, first, end, &scores));
    GNT_TRY(gnti_predict_save_scores(&(gnti_predict_scores){ .data = t->data,
                                                             .kind = t->label_kind,
                                                             .num_classes = t->num_classes,
                                                             .class_names = t->class_names,
                                                             .num_members = end - first,
                                                             .scores = scores },
                                     options->what == GNTI_PREDICT_PROBABILITIES, to, report));
done:
    gnti_free(scores);
    return st;
}

gnt_status gnti_predict_run(gnt_context *ctx, const char *run, const gntx_predict_options *options,
                            const gnti_predict_output *to, gnti_json **report)
{
    gnt_status st = GNT_OK;
    gnti_trained t = { 0 };
    gnti_json *o = NULL;

    GNT_TRY(gnti_trained_open(ctx, run, options->data, options->devices,
                              options->what == GNTI_PREDICT_EMBEDDINGS, &t));
    if (to->path != NULL)
        GNT_TRY(gntx_check_output(to->path, (const char *const[]){ t.cp->path, t.data->path }, 2));
    GNT_TRY(gnti_json_create_object(&o));
    GNT_TRY(predict(&t, options, to, o));
    *report = o;
    o = NULL;
done:
    gnti_json_free(&o);
    gnti_trained_free(&t);
    return st;
}
