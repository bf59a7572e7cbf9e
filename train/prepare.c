/* SPDX-License-Identifier: Apache-2.0 */
/* From a dataset to what a run binds. Row normalisation divides by the sum of the row as Kipf and Welling's
 * code does; the sum is in double, in the order of the columns. A node counts in the loss when it is in the
 * training part, has a label and its class a weight above 0; class weights are folded into the weights of the
 * rows, so the mean loss is sum w l / sum w as in PyTorch.
 */
#include "train/prepare.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/sha256.h"
#include "dist/part_load.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void normalise_dense(const gnti_features *x, float *out)
{
    for (int64_t r = 0; r < x->rows; r++) {
        const float *from = x->dense + r * x->width;
        double sum = 0.0;

        for (int64_t c = 0; c < x->width; c++)
            sum += (double)from[c];
        for (int64_t c = 0; c < x->width; c++)
            out[r * x->width + c] = sum != 0.0 ? (float)((double)from[c] / sum) : from[c];
    }
}

static void normalise_sparse(const gnti_graph *x, float *out)
{
    for (int64_t r = 0; r < x->num_rows; r++) {
        double sum = 0.0;

        for (int64_t a = x->offsets[r]; a < x->offsets[r + 1]; a++)
            sum += x->weights != NULL ? (double)x->weights[a] : 1.0;
        for (int64_t a = x->offsets[r]; a < x->offsets[r + 1]; a++) {
            const double v = x->weights != NULL ? (double)x->weights[a] : 1.0;

            out[a] = (float)(sum != 0.0 ? v / sum : v);
        }
    }
}

gnt_status gnti_model_features_make(const gnti_features *x, bool row, gnti_model_features *out)
{
    gnt_status st = GNT_OK;
    float *values = NULL;

    if (row && x->sparse != NULL) {
        GNT_TRY(gnti_alloc_array(&values, x->sparse->num_arcs));
        normalise_sparse(x->sparse, values);
    } else if (row && x->dense != NULL) {
        size_t count = 0;

        GNT_TRY(gnti_mul_size((size_t)x->rows, (size_t)x->width, &count));
        GNT_TRY(gnti_alloc_array(&values, (int64_t)count));
        normalise_dense(x, values);
    }
    out->x = *x;
    out->values = values;
    if (values != NULL && x->sparse != NULL) {
        out->sparse = *x->sparse;
        out->sparse.weights = values;
        out->x.sparse = &out->sparse;
    } else if (values != NULL) {
        out->x.dense = values;
    }
done:
    return st;
}

void gnti_model_features_free(gnti_model_features *f)
{
    gnti_free(f->values);
    memset(f, 0, sizeof *f);
}

gnt_status gnti_check_fit(const gnt_model *model, const gnt_dataset *data, bool need_labels)
{
    gnt_status st = GNT_OK;
    static const char *const kinds[] = { "no", "class", "multi-label", "regression" };
    const char *path = data->path != NULL ? data->path : "in memory";
    const bool labelled = data->y.kind != GNT_LABELS_NONE;

    GNT_CHECK(gnti_model_in_width(model) == data->x.width, GNT_ERR_FORMAT,
              "the model takes %lld features but dataset '%s' has %lld",
              (long long)gnti_model_in_width(model), path, (long long)data->x.width);
    GNT_CHECK(labelled || !need_labels, GNT_ERR_FORMAT, "dataset '%s' has no labels", path);
    if (!labelled)
        goto done;
    GNT_CHECK(gnti_model_label_kind(model) == data->y.kind, GNT_ERR_FORMAT,
              "the model is for %s labels but dataset '%s' has %s labels",
              kinds[gnti_model_label_kind(model)], path, kinds[data->y.kind]);
    GNT_CHECK(gnti_model_out_width(model) == data->y.num_classes, GNT_ERR_FORMAT,
              "the model has %lld outputs but dataset '%s' has %lld classes",
              (long long)gnti_model_out_width(model), path, (long long)data->y.num_classes);
done:
    return st;
}

bool gnti_is_labelled(const gnti_labels *y, int64_t node)
{
    if (y->kind == GNT_LABELS_CLASS)
        return y->class_of[node] >= 0;
    for (int64_t c = 0; c < y->num_classes; c++)
        if (isnan(y->rows[node * y->num_classes + c]))
            return false;
    return true;
}

/* What a split is known by in runs: its sum by the rows of the imported dataset, and whether training sees only its nodes; so a dataset stored in another order has the same. */
static gnt_status hash_split(const gnt_dataset *data, const gnti_split *split,
                             char out[GNTI_SHA256_HEX_BYTES])
{
    gnt_status st = GNT_OK;
    const int64_t *origin = NULL;
    char sum[65], text[80];

    if (data->header != NULL) {
        GNT_TRY(gnti_load_split_sum(data, split, sum));
    } else {
        GNT_TRY(gnti_dataset_get_origin(data, &origin));
        GNT_TRY(gnti_split_sum_imported(split, origin, sum));
    }
    snprintf(text, sizeof text, "%s%s", sum, split->inductive ? " inductive" : "");
    GNT_TRY(gnti_sha256_of(text, strlen(text), out));
done:
    return st;
}

/* Weights of the training nodes into p->weight (zeroed). */
static gnt_status set_weights(const gnt_dataset *data, const gnt_trainer_config *config, gnti_prepared *p)
{
    gnt_status st = GNT_OK;
    int64_t *counts = NULL;
    float *by_class = NULL;
    const gnti_labels *y = &data->y;
    const int64_t *train = p->split->nodes[GNTI_TRAIN], num = p->split->num_nodes[GNTI_TRAIN];

    GNT_TRY(gnti_calloc_array(&counts, y->num_classes + 1));
    GNT_TRY(gnti_alloc_array(&by_class, y->num_classes + 1));
    for (int64_t i = 0; i < num; i++) {
        if (!gnti_is_labelled(y, train[i]))
            continue;
        p->num_train++;
        counts[y->kind == GNT_LABELS_CLASS ? y->class_of[train[i]] : 0]++;
    }
    GNT_CHECK(
        p->num_train > 0, GNT_ERR_FORMAT,
        "the training set of split '%s' has %lld nodes, none of them with a label: nothing can be learned",
        p->split->name != NULL ? p->split->name : "", (long long)num);
    if (y->kind == GNT_LABELS_CLASS)
        GNT_TRY(gnti_class_weights(config->class_weights, counts, y->num_classes, by_class));
    for (int64_t i = 0; i < num; i++)
        if (gnti_is_labelled(y, train[i]))
            p->weight[train[i]] = y->kind == GNT_LABELS_CLASS ? by_class[y->class_of[train[i]]] : 1.0f;
done:
    gnti_free(counts);
    gnti_free(by_class);
    return st;
}

/* What check would report and a run cannot bear. */
static gnt_status check_data(const gnt_dataset *data, const gnti_split *split)
{
    gnt_status st = GNT_OK;
    static const char *const parts[] = { "train", "valid", "test" };
    int64_t row = 0, column = 0, shared = 0;
    int first = 0, second = 0;

    GNT_CHECK(!gnti_dataset_splits_graphs(data), GNT_ERR_UNSUPPORTED,
              "the dataset has labels of whole graphs, only labels of nodes can be trained on");
    row = gnti_features_find_nonfinite(&data->x, &column);
    GNT_CHECK(row < 0, GNT_ERR_FORMAT, "feature %lld of node %lld is not finite: gnntrain check tells of all",
              (long long)column, (long long)row);
    shared = gnti_split_overlap(split, &first, &second);
    if (shared >= 0)
        gnti_log(GNT_LOG_WARN, "train",
                 "split '%s': node %lld is in %s and in %s, figures will look too good",
                 split->name != NULL ? split->name : "", (long long)shared, parts[first], parts[second]);
done:
    return st;
}

gnt_status gnti_prepare(const gnt_dataset *data, const gnt_trainer_config *config, gnti_prepared *out)
{
    gnt_status st = GNT_OK;
    gnti_prepared p = { 0 };
    const bool weighted = config->class_weights != NULL && strcmp(config->class_weights, "none") != 0;

    GNT_TRY(gnti_dataset_find_split(data, config->split, &p.split));
    p.num_valid = p.split->num_nodes[GNTI_VALID];
    if (data->header == NULL)
        GNT_TRY(check_data(data, p.split));
    GNT_CHECK(!weighted || data->y.kind == GNT_LABELS_CLASS, GNT_ERR_USAGE,
              "class-weights '%s' needs class labels, the dataset has others", config->class_weights);
    GNT_CHECK(p.num_valid > 0 || config->patience == 0, GNT_ERR_USAGE,
              "patience %lld needs a validation set, split '%s' has none", (long long)config->patience,
              p.split->name != NULL ? p.split->name : "");
    GNT_CHECK(p.num_valid > 0 || config->schedule != GNTI_SCHEDULE_PLATEAU, GNT_ERR_USAGE,
              "schedule plateau needs a validation set, split '%s' has none",
              p.split->name != NULL ? p.split->name : "");
    GNT_TRY(hash_split(data, p.split, p.split_sha256));
    *out = p;
done:
    return st;
}

gnt_status gnti_prepare_whole(const gnt_dataset *data, const gnt_trainer_config *config, gnti_prepared *p)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_calloc_array(&p->weight, data->num_nodes));
    GNT_TRY(set_weights(data, config, p));
    GNT_TRY(gnti_model_features_make(&data->x, config->normalize_features == 1, &p->features));
done:
    return st;
}

void gnti_prepared_free(gnti_prepared *p)
{
    gnti_model_features_free(&p->features);
    gnti_free(p->weight);
    memset(p, 0, sizeof *p);
}

gnti_scored gnti_prepared_rows(const gnt_dataset *data, const gnti_split *split, int part,
                               const float *logits)
{
    return (gnti_scored){ .logits = logits,
                          .num_classes = data->y.num_classes,
                          .kind = data->y.kind,
                          .class_of = data->y.class_of,
                          .target = data->y.rows,
                          .rows = split->nodes[part],
                          .num_rows = split->num_nodes[part] };
}
