/* SPDX-License-Identifier: Apache-2.0 */
/* What groups take on devices, measured by short runs and kept from one run to the next.
 *
 *   a class     shape of the program, number of members, dataset, device, level of determinism, version of the library
 *   of each     seconds of an epoch, bytes that its device's allocator had out
 * The file is a cache ($XDG_CACHE_HOME/gnntrain/groups.json, else ~/.cache): whatever cannot be read of it counts as not measured, and
 * what cannot be written is measured again. Results never depend on it: it says where members train, not what they compute.
 */
#ifndef GNTI_ENSEMBLE_GROUP_PROFILE_H
#define GNTI_ENSEMBLE_GROUP_PROFILE_H

#include "ensemble/fusion.h"
#include "kernels/virtual.h"

typedef struct gnti_group_measure {
    double seconds; /* of an epoch: on the virtual clock a step, else with its evaluation */
    int64_t bytes;  /* the most that was allocated on the device */
} gnti_group_measure;

enum { GNTI_GROUP_KEY_BYTES = 65 };

/* The class of a group: `num` members like this one. data may be a header. */
gnt_status gnti_group_key(const gnti_spec_member *member, int32_t num, const gnt_dataset *data,
                          const gnti_device_spec *spec, char out[GNTI_GROUP_KEY_BYTES]);

typedef struct gnti_group_profile gnti_group_profile;
/* path NULL: the user's cache; where there is no folder for it nothing is kept. */
gnt_status gnti_group_profile_open(const char *path, gnti_group_profile **out);
void gnti_group_profile_free(gnti_group_profile **p);
bool gnti_group_profile_find(const gnti_group_profile *p, const char *key, gnti_group_measure *out);
gnt_status gnti_group_profile_set(gnti_group_profile *p, const char *key, const gnti_group_measure *measure);
/* Writes what was set since it was opened, beside what others have written meanwhile. A failure is logged, not answered. */
void gnti_group_profile_save(gnti_group_profile *p);

/* A warm-up epoch and three more of the group on one device, which has no other work: the least of the three. The weights are thrown
 * away. ERR_DEVICE_NOMEM where it does not fit. data: all of it. */
gnt_status gnti_group_measure_run(gnt_context *ctx, const gnti_spec *spec, const gnti_fused_group *group,
                                  const gnt_dataset *data, const gnti_device_spec *device,
                                  gnti_group_measure *out);

#endif
