/* SPDX-License-Identifier: Apache-2.0 */
/* Predictions in the caller's memory: rows of a table instead of a file, and those of a trainer that is still there. Every rank takes part
 * in what is computed before the first one looks at what is asked: a mistake of the caller's must not leave others waiting.
 */
#include "base/alloc.h"
#include "train/member.h"
#include "train/predict_table.h"
#include "train/trainer_state.h"

#include <string.h>

gnt_status gnti_predict_copy(const gnti_predict_table *t, const gntx_rows *out)
{
    gnt_status st = GNT_OK;
    const int64_t width = t->classes != NULL ? 1 : t->width;

    GNT_CHECK(out->num_rows >= 0 && (out->values != NULL || out->num_rows == 0), GNT_ERR_ARG,
              "%lld rows asked for, values %s", (long long)out->num_rows,
              out->values != NULL ? "given" : "NULL");
    GNT_CHECK(out->num_columns == width, GNT_ERR_ARG, "values have %lld columns, a row has %lld",
              (long long)out->num_columns, (long long)width);
    GNT_CHECK(out->row != NULL || out->num_rows <= t->num_rows, GNT_ERR_ARG,
              "%lld rows asked for, there are %lld", (long long)out->num_rows, (long long)t->num_rows);
    for (int64_t i = 0; out->row != NULL && i < out->num_rows; i++)
        GNT_CHECK(out->row[i] >= 0 && out->row[i] < t->num_rows, GNT_ERR_ARG,
                  "row %lld is outside of 0 to %lld", (long long)out->row[i], (long long)t->num_rows - 1);
    for (int64_t i = 0; i < out->num_rows; i++) {
        const int64_t row = out->row != NULL ? out->row[i] : i;
        const int64_t node = t->order != NULL ? t->order[row] : row;

        if (t->classes != NULL)
            out->values[i] = (float)t->classes[node];
        else
            memcpy(out->values + i * width, t->values + node * width, (size_t)width * sizeof(float));
    }
done:
    return st;
}

/* In place. */
static gnt_status make_probabilities(const gnt_dataset *data, float *logits)
{
    gnt_status st = GNT_OK;
    const int64_t width = data->y.num_classes;
    double *p = NULL;

    if (data->y.kind == GNT_LABELS_REGRESSION)
        goto done;
    GNT_TRY(gnti_alloc_array(&p, width));
    for (int64_t i = 0; i < data->num_nodes; i++) {
        gnti_probabilities(logits + i * width, width, data->y.kind, p);
        for (int64_t c = 0; c < width; c++)
            logits[i * width + c] = (float)p[c];
    }
done:
    gnti_free(p);
    return st;
}

gnt_status gntx_trainer_predict(gnt_trainer *tr, int32_t member, bool probabilities, const gntx_rows *out)
{
    gnt_status st = GNT_OK;
    float *logits = NULL;
    int64_t *order = NULL;
    size_t cells = 0;

    GNT_CHECK(tr != NULL, GNT_ERR_ARG, "the trainer must not be NULL");
    GNT_CHECK(out != NULL || !gnti_trainer_is_root(tr), GNT_ERR_ARG, "out must not be NULL");
    if (gnti_trainer_is_root(tr)) {
        GNT_TRY(gnti_mul_size((size_t)tr->data->num_nodes, (size_t)tr->data->y.num_classes, &cells));
        GNT_TRY(gnti_alloc_array(&logits, (int64_t)cells));
    }
    GNT_TRY(gnti_trainer_member_logits(tr, member, true, logits));
    if (!gnti_trainer_is_root(tr))
        goto done;
    if (probabilities)
        GNT_TRY(make_probabilities(tr->data, logits));
    GNT_TRY(gnti_predict_order(tr->data, &order));
    GNT_TRY(gnti_predict_copy(&(gnti_predict_table){ .order = order,
                                                     .num_rows = tr->data->num_nodes,
                                                     .width = tr->data->y.num_classes,
                                                     .values = logits },
                              out));
done:
    gnti_free(logits);
    gnti_free(order);
    return st;
}
