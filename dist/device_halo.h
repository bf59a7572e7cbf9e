/* SPDX-License-Identifier: Apache-2.0 */
/* Halo exchange of rows that lie in a device's memory. Rows from and to ranks of the same group travel between the devices (by
 * dist/group.h), all others through the host: rows that go out are gathered into memory that device and host share, a gnti_halo
 * exchanges them there, and halo rows are copied to their places behind the own rows. Ranks on a processor exchange with a plain
 * gnti_halo of the same plan.
 *
 * Collective as gnti_halo is. Work is queued on the stream that the rows are computed on. Where all travel by the group, nothing
 * here waits, and a step may be captured; through the host, start waits until the rows are gathered and finish for the other
 * ranks. Nothing is allocated after create.
 */
#ifndef GNTI_DIST_DEVICE_HALO_H
#define GNTI_DIST_DEVICE_HALO_H

#include "dist/group.h"
#include "dist/halo.h"

typedef struct gnti_device_halo gnti_device_halo;

/* All lent, and must outlive the exchange. */
typedef struct gnti_device_halo_config {
    gnti_comm *comm;
    const gnti_halo_plan *plan;
    gnti_wire wire; /* BF16: rounded on the device for the group, on the host for the others: the same bits */
    int64_t max_floats; /* the widest row (members x width) of any exchange */
    gnt_stream *stream; /* rows are computed on it; `event` of it is ours */
    int32_t event;
    gnti_group *group;         /* NULL: none */
    const int32_t *group_rank; /* (comm size) ranks in the group, -1: not in it; NULL with no group */
    gnt_stream *talk;          /* all that the group does is queued on it; NULL with no group */
    int32_t landed;            /* event of talk, ours */
} gnti_device_halo_config;

gnt_status gnti_device_halo_create(const gnti_device_halo_config *config, gnti_device_halo **out);
void gnti_device_halo_free(gnti_device_halo **h);

/* rows: num_own + num_halo of them, 4 bytes a value; raw values (ids) are never rounded. */
gnt_status gnti_device_halo_start(gnti_device_halo *h, const gnt_mat_view *rows, bool raw);
/* Moves what goes through the host; done when that is (the rest is ordered on the stream by finish). */
gnt_status gnti_device_halo_poll(gnti_device_halo *h, bool *out_done);
gnt_status gnti_device_halo_finish(gnti_device_halo *h);
/* Whether nothing waits for the host. */
bool gnti_device_halo_is_queued(const gnti_device_halo *h);
/* Bytes and rows of both ways; seconds of what went through the host. */
void gnti_device_halo_get_counters(const gnti_device_halo *h, gnti_halo_counters *out);

#endif
