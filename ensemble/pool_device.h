/* SPDX-License-Identifier: Apache-2.0 */
/* Devices as an ensemble sees them: which are of one type, and what they are called. */
#ifndef GNTI_ENSEMBLE_POOL_DEVICE_H
#define GNTI_ENSEMBLE_POOL_DEVICE_H

#include "kernels/virtual.h"

enum { GNTI_POOL_NAME_BYTES = 64 };

/* Equal devices are of one type: the same back end, threads, factors and clock. Their memory may differ. */
bool gnti_pool_is_alike(const gnti_device_spec *a, const gnti_device_spec *b);

/* "cpu 2 (x0.5)", "cuda:0"; number: its place in the list of devices. */
gnt_status gnti_pool_name(const gnti_device_spec *spec, int32_t number, char out[GNTI_POOL_NAME_BYTES]);

/* What planners may fill of a device: its text's mem, else what is free where it has memory of its own, 0: no limit is known. `number`
 * of those without one in their text. A device that is not there is ERR_USAGE. */
gnt_status gnti_pool_bytes(const gnti_device_spec *spec, int32_t number, int64_t *out);

/* Watts when idle and when busy: as its text says, else the stated model. A processor: 3 and 12 W a thread, from a server package of
 * 16 cores at about 50 W idle and 200 W busy. Any other device: 60 and 300 W, of a large GPU. Figures of that size, not measured. */
void gnti_pool_power(const gnti_device_spec *spec, double *idle, double *busy);

#endif
