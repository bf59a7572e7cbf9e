/* SPDX-License-Identifier: Apache-2.0 */
/* Halo exchange of rows that lie in a device's memory, through the host: own rows that travel are gathered into memory that
 * both see, a gnti_halo exchanges them there, and halo rows are copied to their places behind the own rows. The bridge between
 * devices that cannot reach each other, and the plain way where no faster one is.
 *
 * Collective as gnti_halo is. Work is queued on the stream that the rows are computed on: start waits until the rows are
 * gathered, finish waits for the other ranks and returns with the copies queued. Nothing is allocated after create.
 */
#ifndef GNTI_DIST_DEVICE_HALO_H
#define GNTI_DIST_DEVICE_HALO_H

#include "dist/halo.h"
#include "kernels/backend.h"

typedef struct gnti_device_halo gnti_device_halo;

/* max_floats: the widest row (members x width) of any exchange. Plan, communicator and stream must outlive it. */
gnt_status gnti_device_halo_create(gnti_comm *comm, const gnti_halo_plan *plan, gnti_wire wire,
                                   int64_t max_floats, gnt_stream *stream, gnti_device_halo **out);
void gnti_device_halo_free(gnti_device_halo **h);

/* rows: num_own + num_halo of them, 4 bytes a value; raw values (ids) are never rounded. */
gnt_status gnti_device_halo_start(gnti_device_halo *h, const gnt_mat_view *rows, bool raw);
gnt_status gnti_device_halo_poll(gnti_device_halo *h, bool *out_done);
gnt_status gnti_device_halo_finish(gnti_device_halo *h);
void gnti_device_halo_get_counters(const gnti_device_halo *h, gnti_halo_counters *out);

#endif
