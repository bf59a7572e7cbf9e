/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of fusion*.c: costs of programs that were planned dry, each once. */
#ifndef GNTI_ENSEMBLE_FUSION_STATE_H
#define GNTI_ENSEMBLE_FUSION_STATE_H

#include "ensemble/fusion.h"

typedef struct gnti_fusion_cost {
    int64_t shared, lasting, scratch;
    double seconds; /* of an epoch */
} gnti_fusion_cost;

typedef struct gnti_fusion_cached {
    int32_t shape, members;
    gnti_fusion_cost cost;
} gnti_fusion_cached;

typedef struct gnti_fusion_cache {
    gnti_fusion_cached *entries;
    int64_t num, capacity;
} gnti_fusion_cache;

/* Of `num` members of a shape (a number that the caller gives to equal texts of gnti_fusion_shape). */
gnt_status gnti_fusion_cost_of(gnti_fusion_cache *cache, int32_t shape, const gnti_spec_member *member,
                               int32_t num, const gnt_dataset *data, gnti_fusion_cost *out);
void gnti_fusion_cache_free(gnti_fusion_cache *cache);

#endif
