/* SPDX-License-Identifier: Apache-2.0 */
/* What tasks on one device hold together. Each holds its weights for as long as it is there; graph and
 * features are there once for all tasks of a dataset; scratch memory is a lane's, and the steps of one lane
 * take turns in it (Salus). A lane is as large as its largest step, so a set is safe iff
 *   sum of datasets + sum of lasting + sum of lanes <= capacity.
 */
#ifndef GNTI_ENSEMBLE_PLACE_MEMORY_H
#define GNTI_ENSEMBLE_PLACE_MEMORY_H

#include "ensemble/place.h"

typedef struct gnti_tenant {
    gnti_place_need need;
    int32_t data; /* tasks of equal number have need.shared in common */
    int32_t lane; /* out */
} gnti_tenant;

/* Lanes for tenants of one device, as many as its bytes allow: each has its own but for those with the
 * largest steps, which share lane 0. Of all ways to have so many lanes this one takes fewest bytes.
 * Answers the number of lanes, 0: not even one fits; 0 bytes of a device: no limit. O(num^2). */
int32_t gnti_tenants_lanes(gnti_tenant *tenants, int32_t num, int64_t bytes);
/* What they hold in the lanes that they have. */
int64_t gnti_tenants_bytes(const gnti_tenant *tenants, int32_t num);

#endif
