/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers of predictions share: room for values that must be moved, and whose column is which class. */
#ifndef GNTI_ENSEMBLE_VOTES_READ_H
#define GNTI_ENSEMBLE_VOTES_READ_H

#include "ensemble/combine.h"
#include "ensemble/id_join.h"

/* Zeroed values (data's nodes, data's classes) in a file without a name, mapped; v->values shows them. */
gnt_status gnti_votes_make_room(const gnt_dataset *data, gnti_votes *v, float **values);

/* Which class each of the file's columns is: by the names of the dataset's classes, or by a number behind the last '_'
 * ("probability_2"); positions where the names are neither. ERR_FORMAT when some names fit and some do not, or one stands twice.
 * strict: other names than the dataset's are an error. column (num_classes) */
gnt_status gnti_votes_columns(const gnt_dataset *data, const char *source, char *const *names, bool strict,
                              int64_t *column);

/* Fill v->values; the name stays the caller's. */
gnt_status gnti_votes_read_csv(const char *path, const gnt_dataset *data, gnti_votes *v);
gnt_status gnti_votes_read_h5(const char *path, const gnt_dataset *data, gnti_votes *v);

#endif
