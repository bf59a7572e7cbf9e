/* SPDX-License-Identifier: Apache-2.0 */
/* What members hand in is looked at before anything is averaged: one value that is no number would spoil a row of all. */
#include "ensemble/combine_state.h"

#include "base/alloc.h"
#include "ensemble/id_join.h"

#include <math.h>

#define SUM_TOLERANCE 1e-3 /* files with few decimals */

static gnt_status refuse(const gnti_votes *v, const gnt_dataset *data, int64_t node, int64_t c)
{
    gnt_status st = GNT_OK;
    const double value = (double)v->values[node * v->num_classes + c];
    const int64_t *origin = NULL;
    char buffer[GNTI_ID_BYTES];

    GNT_TRY(gnti_dataset_get_origin(data, &origin));
    const char *id = gnti_node_id(data, origin, node, buffer);

    GNT_CHECK(isfinite(value), GNT_ERR_FORMAT,
              "member '%s': its value for node '%.64s', class %lld is %g: such a member is never averaged, "
              "leave it out",
              v->name, id, (long long)c, value);
    GNT_FAIL(
        GNT_ERR_FORMAT,
        "member '%s': its value for node '%.64s', class %lld is %g, no probability (a file of logits has a "
        "name that ends with 'logits')",
        v->name, id, (long long)c, value);
done:
    return st;
}

static gnt_status check_row(const gnti_votes *v, const gnt_dataset *data, int64_t node)
{
    gnt_status st = GNT_OK;
    const float *row = v->values + node * v->num_classes;
    const int64_t *origin = NULL;
    char buffer[GNTI_ID_BYTES];
    double sum = 0.0;

    for (int64_t c = 0; c < v->num_classes; c++) {
        if (!isfinite(row[c]) ||
            (!v->are_logits && ((double)row[c] < -SUM_TOLERANCE || (double)row[c] > 1.0 + SUM_TOLERANCE)))
            GNT_TRY(refuse(v, data, node, c));
        sum += (double)row[c];
    }
    if (v->are_logits || data->y.kind != GNT_LABELS_CLASS || fabs(sum - 1.0) <= SUM_TOLERANCE)
        goto done;
    GNT_TRY(gnti_dataset_get_origin(data, &origin));
    GNT_FAIL(
        GNT_ERR_FORMAT,
        "member '%s': the probabilities of node '%.64s' make %g together, not 1 (a file of logits has a name "
        "that ends with 'logits')",
        v->name, gnti_node_id(data, origin, node, buffer), sum);
done:
    return st;
}

gnt_status gnti_combine_check(const gnti_votes *votes, int32_t num, const gnt_dataset *data)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(num >= 1, GNT_ERR_USAGE, "no member to combine");
    GNT_CHECK(data->header == NULL, GNT_ERR_ARG, "a header of a dataset has no labels");
    GNT_CHECK(data->y.kind != GNT_LABELS_NONE, GNT_ERR_USAGE,
              "the dataset has no labels: predictions of it cannot be combined");
    GNT_CHECK(!gnti_dataset_splits_graphs(data), GNT_ERR_UNSUPPORTED,
              "the splits of this dataset list graphs: only predictions of nodes are combined");
    for (int32_t m = 0; m < num; m++) {
        const gnti_votes *v = &votes[m];

        GNT_CHECK(v->values != NULL || data->num_nodes == 0, GNT_ERR_FORMAT, "member '%s' has no predictions",
                  v->name);
        GNT_CHECK(v->num_rows == data->num_nodes && v->num_classes == data->y.num_classes, GNT_ERR_FORMAT,
                  "member '%s' has %lld rows of %lld values, the dataset has %lld nodes and %lld classes",
                  v->name, (long long)v->num_rows, (long long)v->num_classes, (long long)data->num_nodes,
                  (long long)data->y.num_classes);
        for (int64_t i = 0; i < data->num_nodes; i++)
            GNT_TRY(check_row(v, data, i));
    }
done:
    return st;
}
