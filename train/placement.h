/* SPDX-License-Identifier: Apache-2.0 */
/* Which device gets which chunk by predicted seconds and bytes: the forecast of a step (train/forecast.h) for what each would own,
 * the chunk map (partition/chunk_map.h) that balances it.
 *
 *   1. chunks are weighed by the forecast's slopes at the rates of the first device, devices by the seconds of an even load
 *      A row that several chunks of a device read travels once: the price of a halo row is less than the sums over chunks say, by
 *      as much as even ranges show
 *   2. the map balances sums of weights; the forecast of each device's real load corrects its speed, two or three times, since
 *      one number a device does not tell sparse from dense work
 *   3. the map is also held against one device alone, which has no messages
 *   4. where a device has a memory limit, the program is laid out for its real load: one over the limit gets a smaller
 *      share, and what never fits is refused with device, bytes needed and bytes there
 */
#ifndef GNTI_TRAIN_PLACEMENT_H
#define GNTI_TRAIN_PLACEMENT_H

#include "train/forecast.h"

typedef struct gnti_placing {
    gnti_forecast *forecast;
    const gnt_dataset *data; /* for exact halos; its header may do */
    const gnti_partition *partition;
    gnti_chunk_facts *facts; /* weighed here */
    const gnti_device_spec *specs;
    int32_t num_devices;
    const gnti_rates *rates; /* (devices) */
    const double *speeds;    /* (devices) measured in a run, which then count alone; or NULL */
    gnti_link link;
    bool apart;
    double tolerance;
    bool may_leave_out; /* devices without chunks are fine; not where nothing is known of devices and links */
    double halo_share;  /* of sums of halos over chunks that really travels, found here; 0: all */
    /* a placement to come from, or NULL: the first one */
    const int32_t *old_owner, *new_of_old;
    int32_t num_old;
} gnti_placing;

/* owner (K). ERR_DEVICE_NOMEM names the device. moved may be NULL. */
gnt_status gnti_place_chunks(gnti_placing *p, int32_t *owner, gnti_moves *moved);

/* What each device then owns. exact: halo rows are counted over the arcs, else summed over chunks. */
gnt_status gnti_placing_loads(const gnti_placing *p, const int32_t *owner, bool exact, gnti_load *loads);

#endif
