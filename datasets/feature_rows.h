/* SPDX-License-Identifier: Apache-2.0 */
/* Feature rows while a file is read: only what is not zero, row by row; finished into the dataset's features,
 * sparse when mostly zero, else dense.
 */
#ifndef GNTI_DATASETS_FEATURE_ROWS_H
#define GNTI_DATASETS_FEATURE_ROWS_H

#include "datasets/dataset.h"

typedef struct gnti_feature_rows {
    int64_t width; /* columns: at least the largest seen + 1 */
    int64_t num_rows, row_capacity;
    int64_t *row_end; /* (num_rows) values before the end of row r */
    int64_t num_values, value_capacity, column_capacity;
    int32_t *columns;
    float *values;
} gnti_feature_rows;

/* Adds a value to the row that is open; zeros are not kept but count for the width. */
gnt_status gnti_feature_rows_add(gnti_feature_rows *rows, int64_t column, float value);

/* Closes the open row, which may be empty. */
gnt_status gnti_feature_rows_end(gnti_feature_rows *rows);

/* Into features of num_nodes rows: row_of[n] is the row of node n, -1: none (zeros); NULL: row n. Values of a
 * column that stands twice in a row are added, *num_repeated counts them. */
gnt_status gnti_feature_rows_finish(const gnti_feature_rows *rows, const int64_t *row_of, int64_t num_nodes,
                                    int64_t *num_repeated, gnti_features *out);

void gnti_feature_rows_clear(gnti_feature_rows *rows);

#endif
