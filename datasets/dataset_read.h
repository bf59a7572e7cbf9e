/* SPDX-License-Identifier: Apache-2.0 */
/* The halves of the dataset reader: dataset_read.c (what every dataset has) and dataset_read_more.c (optional
 * members). */
#ifndef GNTI_DATASETS_DATASET_READ_H
#define GNTI_DATASETS_DATASET_READ_H

#include "datasets/h5_value.h"

/* Format and version of the file; rows x columns of a csr_matrix group. */
gnt_status gnti_dataset_read_heading(const gnti_h5 *file);
gnt_status gnti_dataset_read_shape(const gnti_h5 *file, const char *group, int64_t shape[2]);

/* Carries all other arrays under /nodes, /edges, /graphs, /pairs. origin (NULL: the same) names the stored
 * arc of each arc of the dataset, of num_stored ones. */
gnt_status gnti_dataset_read_arrays(const gnti_h5 *file, const int64_t *origin, int64_t num_stored,
                                    gnt_dataset *d);
gnt_status gnti_dataset_read_splits(const gnti_h5 *file, gnt_dataset *d);
gnt_status gnti_dataset_read_provenance(const gnti_h5 *file, gnt_dataset *d);

#endif
