/* SPDX-License-Identifier: Apache-2.0 */
/* What a device does in a second, measured the way its ranks are: a short sparse and a short dense product through its clock
 * (kernels/virtual.h), so a paced or virtual device shows the speed that a run would see. Planners use ratios alone.
 */
#ifndef GNTI_KERNELS_PROFILE_H
#define GNTI_KERNELS_PROFILE_H

#include "kernels/virtual.h"

typedef struct gnti_profile {
    double spmm_seconds, gemm_seconds; /* of one layer of the probe: 16 arcs a row, 64 columns in and out */
    double speed;                      /* 1 / their sum */
} gnti_profile;

/* Opens the device, measures for some tens of milliseconds (paced ones longer), closes it. */
gnt_status gnti_device_profile(const gnti_device_spec *spec, const gnti_device_config *config, uint64_t seed,
                               gnti_profile *out);

/* Whether devices may differ in speed: backends, factors, rates or threads of two of them do. */
bool gnti_device_specs_differ(const gnti_device_spec *specs, int32_t count);

#endif
