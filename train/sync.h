/* SPDX-License-Identifier: Apache-2.0 */
/* Whom a rank waits for, and how shares are merged: the loop asks, a policy answers.
 *
 *   begin(step)                 before the local work of a step
 *   local_done(step)            our share is ready
 *   peer_done(rank, step)       a peer's share has arrived
 *   membership(rank, present)   a rank joins or leaves between epochs
 *   whom(step)                  the ranks whose share of this step is still missing; none: go on
 *   merge                       one collective that ends the step, the stop request travels with it
 * Bulk synchronous ("bsp") waits for the same step of every rank that is present. Others are policies of this
 * shape.
 */
#ifndef GNTI_TRAIN_SYNC_H
#define GNTI_TRAIN_SYNC_H

#include "dist/comm.h"

typedef struct gnti_sync gnti_sync;

/* ERR_USAGE lists the policies there are. The communicator must outlive it. */
gnt_status gnti_sync_create(const char *policy, gnti_comm *comm, gnti_sync **out);
void gnti_sync_free(gnti_sync **sync);

/* ERR_STATE when the policy still waits for an earlier step. */
gnt_status gnti_sync_begin(gnti_sync *sync, int64_t step);
void gnti_sync_local_done(gnti_sync *sync, int64_t step);
void gnti_sync_peer_done(gnti_sync *sync, int32_t rank, int64_t step);
void gnti_sync_membership(gnti_sync *sync, int32_t rank, bool present);

/* Writes the missing ranks, ascending, into ranks (size) and answers how many there are. */
int32_t gnti_sync_whom(const gnti_sync *sync, int64_t step, int32_t *ranks);

/* Every rank calls this at the end of a step. stop: in, this rank wants to; out, some rank wants to. */
gnt_status gnti_sync_merge(gnti_sync *sync, int64_t step, bool *stop);

#endif
