/* SPDX-License-Identifier: Apache-2.0 */
/* A dataset around a caller's arrays. CSR, features and row labels are borrowed; what is small or must be
 * narrowed (class labels, split lists) is copied. Rows must be canonical already, since sorting them would
 * mean a copy.
 */
#include "datasets/dataset.h"

#include <stdlib.h>
#include <string.h>

void gnt_dataset_arrays_init(gnt_dataset_arrays *arrays)
{
    memset(arrays, 0, sizeof *arrays);
    arrays->struct_size = sizeof *arrays;
}

static gnt_status borrow_graph(const gnt_dataset_arrays *a, gnt_dataset *d)
{
    gnt_status st = GNT_OK;
    bool ones = true;

    GNT_CHECK(a->indptr != NULL, GNT_ERR_ARG, "indptr must not be NULL");
    GNT_CHECK(a->indptr[0] == 0 && a->indptr[a->num_nodes] >= 0, GNT_ERR_FORMAT,
              "indptr goes from %lld to %lld", (long long)a->indptr[0], (long long)a->indptr[a->num_nodes]);
    GNT_CHECK(a->indices != NULL || a->indptr[a->num_nodes] == 0, GNT_ERR_ARG,
              "indices must not be NULL for %lld arcs", (long long)a->indptr[a->num_nodes]);
    GNT_TRY(gnti_calloc_array(&d->graph, 1));
    for (int64_t i = 0; a->weights != NULL && i < a->indptr[a->num_nodes] && ones; i++)
        ones = a->weights[i] == 1.0f;
    *d->graph = (gnti_graph){
        .num_rows = a->num_nodes,
        .num_cols = a->num_nodes,
        .num_arcs = a->indptr[a->num_nodes],
        .offsets = (int64_t *)a->indptr, /* borrowed arrays are never written */
        .columns = (int32_t *)a->indices,
        .weights = ones ? NULL : (float *)a->weights,
        .borrowed = true,
    };
    d->directed = a->directed;
done:
    return st;
}

static gnt_status copy_classes(const gnt_dataset_arrays *a, gnti_labels *y)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(a->y_class != NULL || a->num_nodes == 0, GNT_ERR_ARG,
              "y_class must not be NULL for class labels");
    GNT_TRY(gnti_alloc_array(&y->class_of, a->num_nodes));
    for (int64_t i = 0; i < a->num_nodes; i++) {
        GNT_CHECK(a->y_class[i] >= -1 && a->y_class[i] < a->num_classes, GNT_ERR_FORMAT,
                  "node %lld has the label %lld, labels are 0 .. %lld, or -1 for unlabelled", (long long)i,
                  (long long)a->y_class[i], (long long)a->num_classes - 1);
        y->class_of[i] = (int32_t)a->y_class[i];
    }
done:
    return st;
}

static gnt_status set_labels(const gnt_dataset_arrays *a, gnt_dataset *d)
{
    gnt_status st = GNT_OK;
    gnti_labels *y = &d->y;

    if (a->label_kind == GNT_LABELS_NONE)
        return GNT_OK;
    GNT_CHECK(a->label_kind >= GNT_LABELS_CLASS && a->label_kind <= GNT_LABELS_REGRESSION, GNT_ERR_ARG,
              "label_kind %d is unknown", (int)a->label_kind);
    GNT_CHECK(a->num_classes > 0 && a->num_classes <= INT32_MAX, GNT_ERR_ARG,
              "%lld classes for labelled nodes", (long long)a->num_classes);
    y->kind = a->label_kind;
    if (a->label_kind == GNT_LABELS_CLASS)
        GNT_TRY(copy_classes(a, y));
    GNT_CHECK(a->label_kind == GNT_LABELS_CLASS || a->y_row != NULL || a->num_nodes == 0, GNT_ERR_ARG,
              "y_row must not be NULL for labels by row");
    y->num_classes = a->num_classes;
    y->rows = a->label_kind == GNT_LABELS_CLASS ? NULL : (float *)a->y_row;
    y->borrowed = true;
done:
    return st;
}

static int compare_i64(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static gnt_status copy_split(const gnt_dataset_arrays *a, gnti_split *s)
{
    static const char *const parts[] = { "train", "valid", "test" };
    gnt_status st = GNT_OK;
    const int64_t *from[] = { a->train, a->valid, a->test },
                  num[] = { a->num_train, a->num_valid, a->num_test };
    int first, second;
    int64_t twice;

    GNT_TRY(gnti_strdup(&s->name, "public"));
    GNT_TRY(gnti_strdup(&s->kind, "given"));
    for (int part = 0; part < 3; part++) {
        GNT_CHECK(num[part] >= 0 && (from[part] != NULL || num[part] == 0), GNT_ERR_ARG,
                  "%s has %lld nodes at NULL", parts[part], (long long)num[part]);
        GNT_TRY(gnti_alloc_array(&s->nodes[part], num[part]));
        if (num[part] > 0)
            memcpy(s->nodes[part], from[part], (size_t)num[part] * sizeof *from[part]);
        qsort(s->nodes[part], (size_t)num[part], sizeof *from[part], compare_i64);
        s->num_nodes[part] = num[part];
    }
    twice = gnti_split_overlap(s, &first, &second);
    GNT_CHECK(twice < 0, GNT_ERR_FORMAT, "node %lld is in %s and in %s", (long long)twice, parts[first],
              parts[second]);
done:
    return st;
}

static gnt_status fill(const gnt_dataset_arrays *a, gnt_dataset *d)
{
    gnt_status st = GNT_OK;
    gnti_split split = { .name = NULL };

    GNT_TRY(borrow_graph(a, d));
    GNT_CHECK(a->num_features >= 0 && (a->num_features == 0 || a->x != NULL || a->num_nodes == 0),
              GNT_ERR_ARG, "%lld features at NULL", (long long)a->num_features);
    d->x = (gnti_features){
        .rows = a->num_nodes, .width = a->num_features, .dense = (float *)a->x, .borrowed = true
    };
    GNT_TRY(set_labels(a, d));
    if (a->num_train > 0 || a->num_valid > 0 || a->num_test > 0) {
        GNT_TRY(copy_split(a, &split));
        GNT_TRY(gnti_dataset_take_split(d, &split));
    }
    GNT_TRY(gnti_dataset_validate(d));
    GNT_TRY(gnti_dataset_hash(d));
done:
    gnti_split_free(&split);
    return st;
}

gnt_status gnt_dataset_from_arrays(gnt_context *ctx, const gnt_dataset_arrays *arrays, gnt_dataset **out)
{
    gnt_status st = GNT_OK;
    gnt_dataset *d = NULL;
    gnt_dataset_arrays a;

    GNT_CHECK(arrays != NULL && out != NULL, GNT_ERR_ARG, "arrays and out must not be NULL");
    GNT_CHECK(arrays->struct_size >= offsetof(gnt_dataset_arrays, num_test) + sizeof arrays->num_test &&
                  arrays->struct_size <= sizeof a,
              GNT_ERR_ARG, "struct_size is %zu, expected %zu: call gnt_dataset_arrays_init first",
              arrays->struct_size, sizeof a);
    gnt_dataset_arrays_init(&a);
    memcpy(&a, arrays, arrays->struct_size);
    GNT_TRY(gnti_dataset_create(ctx, a.num_nodes, &d));
    GNT_TRY(fill(&a, d));
    *out = d;
    d = NULL;
done:
    gnt_dataset_free(&d);
    return st;
}
