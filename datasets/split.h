/* SPDX-License-Identifier: Apache-2.0 */
/* Making splits. The draws are counters keyed by seed and node, so a split is the same on every machine. */
#ifndef GNTI_DATASETS_SPLIT_H
#define GNTI_DATASETS_SPLIT_H

#include <gnntrain/experimental.h>

#include "datasets/dataset.h"

/* One split of data's nodes (or graphs) named `name`, by the options but for their name and repeats; *short_classes
 * counts classes with fewer than per_class nodes. ERR_USAGE when a part would be empty. */
gnt_status gnti_split_make(const gnt_dataset *data, const gntx_split_options *options, uint64_t seed,
                           const char *name, gnti_split *out, int64_t *short_classes);

#endif
