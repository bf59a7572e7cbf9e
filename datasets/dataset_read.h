/* SPDX-License-Identifier: Apache-2.0 */
/* The halves of the dataset reader: dataset_read.c (what every dataset has) and dataset_read_more.c (optional
 * members). */
#ifndef GNTI_DATASETS_DATASET_READ_H
#define GNTI_DATASETS_DATASET_READ_H

#include "datasets/h5_value.h"

/* Format and version of the file; rows x columns of a csr_matrix group. */
gnt_status gnti_dataset_read_heading(const gnti_h5 *file);
gnt_status gnti_dataset_read_shape(const gnti_h5 *file, const char *group, int64_t shape[2]);

/* A count that the file states as well must be the one we found. */
gnt_status gnti_dataset_check_count(const gnti_h5 *file, const char *attribute, int64_t found);
/* One row a node: what has a third dimension is flattened by nobody who knows what it means. */
gnt_status gnti_dataset_check_rank(const gnti_h5 *file, const char *path, const gnti_h5_info *info,
                                   int64_t num_nodes);
gnt_label_kind gnti_dataset_kind_of_labels(const gnti_h5_info *info);
gnt_status gnti_dataset_read_names(const gnti_h5 *file, gnt_dataset *d); /* of classes */
gnt_status gnti_dataset_read_marks(const gnti_h5 *file, gnt_dataset *d); /* uuid and sums */

/* Carries all other arrays under /nodes, /edges, /graphs, /pairs. origin (NULL: the same) names the stored
 * arc of each arc of the dataset, of num_stored ones. */
gnt_status gnti_dataset_read_arrays(const gnti_h5 *file, const int64_t *origin, int64_t num_stored,
                                    gnt_dataset *d);
/* lists false: counts alone (of masks too), nodes stay NULL. */
gnt_status gnti_dataset_read_splits(const gnti_h5 *file, bool lists, gnt_dataset *d);
/* Whether a part of a split is a mask over all nodes (or graphs). */
bool gnti_dataset_is_mask(const gnti_h5_info *info, int64_t num_nodes);
gnt_status gnti_dataset_read_provenance(const gnti_h5 *file, gnt_dataset *d);

#endif
