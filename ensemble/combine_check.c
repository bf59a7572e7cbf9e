/* SPDX-License-Identifier: Apache-2.0 */
/* What members hand in is looked at before anything is averaged: one value that is no number would spoil a row of all. */
#include "ensemble/combine_state.h"

#include "base/alloc.h"
#include "ensemble/id_join.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- twins ---- */

typedef struct fingerprint {
    uint64_t hash;
    int32_t member;
} fingerprint;

static uint64_t hash_of(const gnti_votes *v)
{
    uint64_t hash = v->are_logits ? 0x9e3779b97f4a7c15u : 0x2545f4914f6cdd1du;

    for (int64_t i = 0; i < v->num_rows * v->num_classes; i++) {
        uint32_t bits;

        memcpy(&bits, &v->values[i], sizeof bits);
        hash = (hash ^ bits) * 0x100000001b3u;
        hash ^= hash >> 29;
    }
    return hash;
}

static int by_hash(const void *a, const void *b)
{
    const fingerprint *x = a, *y = b;

    return x->hash != y->hash ? (x->hash > y->hash) - (x->hash < y->hash) : x->member - y->member;
}

gnt_status gnti_combine_tell_twins(gnti_combining *c)
{
    gnt_status st = GNT_OK;
    fingerprint *f = NULL;
    int32_t more = 0;
    const gnti_votes *first[2] = { NULL, NULL };

    GNT_TRY(gnti_alloc_array(&f, c->num));
    for (int32_t m = 0; m < c->num; m++)
        f[m] = (fingerprint){ hash_of(&c->votes[m]), m };
    qsort(f, (size_t)c->num, sizeof *f, by_hash);
    for (int32_t i = 1; i < c->num; i++) {
        const gnti_votes *a = &c->votes[f[i - 1].member], *b = &c->votes[f[i].member];

        if (f[i - 1].hash != f[i].hash || a->are_logits != b->are_logits ||
            memcmp(a->values, b->values, (size_t)(a->num_rows * a->num_classes) * sizeof *a->values) != 0)
            continue;
        more += first[0] != NULL;
        first[0] = first[0] != NULL ? first[0] : a;
        first[1] = first[1] != NULL ? first[1] : b;
    }
    if (first[0] != NULL && more == 0)
        gnti_text_printf(&c->remark, "Members '%s' and '%s' predict the same to the bit: one counts twice. ",
                         first[0]->name, first[1]->name);
    else if (first[0] != NULL)
        gnti_text_printf(&c->remark,
                         "Members '%s' and '%s' predict the same to the bit, and %d more are copies of "
                         "others: they count more than once. ",
                         first[0]->name, first[1]->name, (int)more);
done:
    gnti_free(f);
    return st;
}
