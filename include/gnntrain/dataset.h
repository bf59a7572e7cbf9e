/* SPDX-License-Identifier: Apache-2.0 */
/* Datasets: one graph (or several) with features, labels and splits; the HDF5 file is described in docs/file-format.md.
 * A dataset is read-only once made and may be shared by threads.
 */
#ifndef GNNTRAIN_DATASET_H
#define GNNTRAIN_DATASET_H

#include <gnntrain/context.h>

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gnt_dataset gnt_dataset;

typedef enum gnt_label_kind {
    GNT_LABELS_NONE,
    GNT_LABELS_CLASS,     /* one class a node, -1: unlabelled */
    GNT_LABELS_MULTI,     /* a 0/1 row of num_classes a node */
    GNT_LABELS_REGRESSION /* a float32 row of num_classes targets a node, NaN: unlabelled */
} gnt_label_kind;

/* A caller's memory. Pointers are borrowed: they must live as long as the dataset and the
 * trainers on it. CSR rows are sources. */
typedef struct gnt_dataset_arrays {
    size_t struct_size;
    int64_t num_nodes, num_features, num_classes;
    const int64_t *indptr;  /* (num_nodes + 1) */
    const int32_t *indices; /* (indptr[num_nodes]) */
    const float *weights;   /* (indptr[num_nodes]), NULL: all 1 */
    bool directed;          /* false: the arcs must be symmetric, which is checked */
    const float *x;         /* (num_nodes, num_features) by row */
    gnt_label_kind label_kind;
    const int64_t *y_class;              /* (num_nodes) for CLASS */
    const float *y_row;                  /* (num_nodes, num_classes) for MULTI (0 or 1) and REGRESSION */
    const int64_t *train, *valid, *test; /* node indices, any order */
    int64_t num_train, num_valid, num_test;
} gnt_dataset_arrays;

/* No nodes, no labels, weights of 1; sets struct_size. */
GNT_API void gnt_dataset_arrays_init(gnt_dataset_arrays *arrays);

/* Opens a dataset file. ERR_FORMAT names file, HDF5 path and both values; ERR_IO when it cannot be read. */
GNT_API gnt_status gnt_dataset_open(gnt_context *ctx, const char *path, gnt_dataset **out);

/* Wraps a caller's arrays after checking them (ranges, symmetry, overlap of splits). Nothing big is copied. */
GNT_API gnt_status gnt_dataset_from_arrays(gnt_context *ctx, const gnt_dataset_arrays *arrays,
                                           gnt_dataset **out);

/* Writes a dataset file atomically. ERR_DISK_FULL, ERR_OUTPUT: nothing is left under the name. */
GNT_API gnt_status gnt_dataset_save(const gnt_dataset *data, const char *path);

/* NULL is fine, the pointer is cleared; a trainer that uses the dataset keeps it until it is freed itself. */
GNT_API void gnt_dataset_free(gnt_dataset **data);

/* Arcs are stored entries: an undirected edge counts twice. Classes: columns of y for labels of several per node and for regression. */
GNT_API int64_t gnt_dataset_num_nodes(const gnt_dataset *data);
GNT_API int64_t gnt_dataset_num_arcs(const gnt_dataset *data);
GNT_API int64_t gnt_dataset_num_features(const gnt_dataset *data);
GNT_API int64_t gnt_dataset_num_classes(const gnt_dataset *data);
GNT_API gnt_label_kind gnt_dataset_label_kind(const gnt_dataset *data);

#ifdef __cplusplus
}
#endif
#endif
