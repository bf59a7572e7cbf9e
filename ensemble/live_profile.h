/* SPDX-License-Identifier: Apache-2.0 */
/* What groups took, measured while they trained: seconds of an epoch and bytes on a device, by shape of the members' program, number
 * of members and type of device. Kept in RUN/profile.json, so that a run that goes on plans with what an earlier process has seen.
 *
 * Nothing is run to be measured: the first epoch on a device is a warm-up that does not count, the mean of the newest ones (each
 * counts half of what was before) is what planners see. A group that was never seen has the forecast of its shape.
 */
#ifndef GNTI_ENSEMBLE_LIVE_PROFILE_H
#define GNTI_ENSEMBLE_LIVE_PROFILE_H

#include "base/check.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct gnti_live_profile gnti_live_profile;

/* What path holds; a file that is not there, or cannot be read, is an empty one. */
gnt_status gnti_live_profile_open(const char *path, gnti_live_profile **out);
void gnti_live_profile_free(gnti_live_profile **p);
gnt_status gnti_live_profile_save(const gnti_live_profile *p, const char *path);

/* One epoch of num members of a shape on one device of a type; bytes 0: not known. */
gnt_status gnti_live_profile_add(gnti_live_profile *p, const char *shape, int32_t num, const char *type,
                                 double seconds, int64_t bytes);
/* Measured with as many members, or in proportion with the number that is nearest. False: never seen on that type. */
bool gnti_live_profile_find(const gnti_live_profile *p, const char *shape, int32_t num, const char *type,
                            double *seconds, int64_t *bytes);

#endif
