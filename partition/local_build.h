/* SPDX-License-Identifier: Apache-2.0 */
/* What makers of local data share, whether rows come from memory or from a file. */
#ifndef GNTI_PARTITION_LOCAL_BUILD_H
#define GNTI_PARTITION_LOCAL_BUILD_H

#include "partition/local_data.h"

/* train_rows of an inductive split, from member: they are the own rows of train_part. */
gnt_status gnti_local_train_rows(gnti_local_data *d);

#endif
