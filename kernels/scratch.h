/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a device that holds nothing between steps, so that programs which never run at the same time have it in common: the step
 * and the evaluation of one trainer, and those of all trainers that take turns on a device. It is as large as the largest of its
 * users needs, and shrinks when that one leaves.
 *
 *   join(s, user), fit(s, user, bytes), part(s, user)     as long as a program lives; fit: before it is bound to larger things
 *   hold(s, who) ... run, read ... release(s)             around each step of a shared one
 * Whoever runs reads `version` first: another one than before means another address.
 */
#ifndef GNTI_KERNELS_SCRATCH_H
#define GNTI_KERNELS_SCRATCH_H

#include "kernels/virtual.h"

/* A program, as the memory sees it: a part of the program's own struct. */
typedef struct gnti_scratch_user {
    size_t bytes;
    struct gnti_scratch_user *next;
} gnti_scratch_user;

/* Of one trainer, on its device; goes with its last user. */
gnt_status gnti_scratch_create(gnt_device *dev, gnti_scratch **out);
/* Of whoever shares a device of a pool, which is opened for it when memory is first taken; its quota counts it. number: as
 * gnti_device_open_spec has it. */
gnt_status gnti_scratch_create_shared(const gnti_device_spec *spec, int32_t number,
                                      const gnti_device_config *config, gnti_scratch **out);
/* A shared one, when it has no user left. */
void gnti_scratch_free(gnti_scratch **s);
bool gnti_scratch_is_shared(const gnti_scratch *s);

/* Any thread, all that follows; join and part wait for whoever holds it. */
void gnti_scratch_join(gnti_scratch *s, gnti_scratch_user *user);
void gnti_scratch_part(gnti_scratch **s, gnti_scratch_user *user);
/* At least so many bytes. ERR_DEVICE_NOMEM leaves the others without memory until they fit again. */
gnt_status gnti_scratch_fit(gnti_scratch *s, gnti_scratch_user *user, size_t bytes);

/* Nobody else holds it until release; the thread that does may hold it again. False: somebody else has had it since `who` did, so
 * what `who` left there is gone. */
bool gnti_scratch_hold(gnti_scratch *s, const void *who);
void gnti_scratch_release(gnti_scratch *s);

/* By its holder: NULL before it is needed. */
gnt_buffer *gnti_scratch_buffer(const gnti_scratch *s);
int64_t gnti_scratch_version(const gnti_scratch *s);

#endif
