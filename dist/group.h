/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that exchange among themselves: what is queued on streams, and legal inside a captured step.
 *
 * A gnti_comm moves host memory while its caller waits; a group moves device memory as work of a stream, next to kernels. Ranks
 * of one kind of device form a group (NCCL: dist/comm_nccl.c, in the plug-in). Group calls go through group.c, which checks
 * arguments, to the table that kernels/device_plugin.h hands over.
 *
 * How a halo exchange runs on devices (plan: partition/part.h)
 *   own rows [0, n), halo rows [n, n + h) behind them in the same block, sorted by owner; `compute` and `talk` are two streams
 *   1. gather_rows on compute: the rows that go out, for all peers one behind the other, into a buffer of their own
 *   2. event_record(compute, PACKED), event_await(talk, compute, PACKED)
 *   3. gnti_group_exchange(group, talk, peers): send from the packed buffer, receive straight behind the own rows, for the
 *      receive range of a peer is contiguous; with several blocks of members, one entry per peer and block
 *   4. event_record(talk, LANDED); interior rows are computed on compute meanwhile
 *   5. event_await(compute, talk, LANDED), boundary rows
 *   6. before the packed buffer is written again (the next exchange), compute must be behind LANDED, which 5 has done
 * After backward, one gnti_group_all_reduce over the packed gradients and statistics, on talk between two events likewise.
 * Captured: begin the capture on compute; the first event_await pulls talk in, the last one brings it back before the end. All
 * ranks capture and launch the same steps.
 *
 * Rules
 * - Calls are collective and in the same order on all ranks. All calls of a group go to one stream, or are ordered by events.
 * - Buffers belong to the call until its work is done: wait for the stream before they are freed.
 * - Never wait with gnti_stream_finish for work that talks: it knows no other ranks. gnti_group_wait looks at the stream, at the
 *   devices' own errors and at the ranks' bootstrap communicator, and ends at the time limit, when a roll call of the ranks tells
 *   which one is missing. A rank that is lost ends the group and the job for all (ERR_PEER_LOST, ERR_TIMEOUT, exit code 5);
 *   afterwards free captures first, then the group, then streams.
 * - A device belongs to one group of several devices at a time. A group that is split rests until its part is freed.
 * - Every rank has a device of its own: two on one are refused (ERR_USAGE) before the library is asked.
 * - After a resize: free the group on all ranks, create it anew over the new communicator.
 * - Sums are the same in each run on the same devices, but not those of rank order: where bits must not depend on the number of
 *   ranks, exchange the shares and add them over the tree (dist/halo.h).
 */
#ifndef GNTI_DIST_GROUP_H
#define GNTI_DIST_GROUP_H

#include "dist/comm.h"
#include "kernels/backend.h"

enum { GNTI_GROUP_HOST_BYTES = 64, GNTI_GROUP_DEVICE_BYTES = 32 };

typedef struct gnti_group gnti_group;

/* What goes to and comes from one rank. A rank may occur several times: messages between two ranks match in order. 0 bytes: none
 * in this direction. Both sides name the same sizes. */
typedef struct gnti_group_peer {
    int32_t rank;
    const gnt_buffer *send;
    size_t send_offset, send_bytes;
    gnt_buffer *receive;
    size_t receive_offset, receive_bytes;
} gnti_group_peer;

/* In place. F32, F64, I32, I64, U8. */
typedef struct gnti_group_sum {
    gnt_buffer *buffer;
    size_t offset; /* bytes */
    int64_t count;
    gnt_dtype dtype;
    gnti_comm_op op;
} gnti_group_sum;

/* How ranks find each other before their devices can, and learn of each other's end. Calls from the thread that uses the group. */
typedef struct gnti_group_meeting {
    int32_t rank, size;
    double time_limit; /* seconds, of every wait of the group */
    void *user;
    gnt_status (*all_gather)(void *user, const void *mine, size_t bytes, void *all); /* all (size, bytes) */
    gnt_status (*check)(void *user); /* ERR_PEER_LOST when another rank has ended the job; never waits */
    void (*give_up)(void *user, const char *reason); /* this rank ends the job for all */
    /* ERR_PEER_LOST names a rank that does not answer; not collective. NULL: they cannot be asked. */
    gnt_status (*ask)(void *user, double seconds);
    /* All ranks whose waits have run into their limits meet; ERR_TIMEOUT names one that does not come. NULL: they cannot. */
    gnt_status (*roll_call)(void *user, double seconds);
} gnti_group_meeting;

typedef struct gnti_group_table {
    const char *name; /* "nccl" */
    gnt_status (*create)(const gnti_group_meeting *m, gnt_device *dev, gnti_group **out);
    gnt_status (*exchange)(gnti_group *g, gnt_stream *s, const gnti_group_peer *peers, int32_t num_peers);
    gnt_status (*all_reduce)(gnti_group *g, gnt_stream *s, const gnti_group_sum *a);
    gnt_status (*broadcast)(gnti_group *g, gnt_stream *s, int32_t root, gnt_buffer *buffer, size_t offset,
                            size_t bytes);
    gnt_status (*wait)(gnti_group *g, gnt_stream *s, double seconds, const char *what, bool *out_done);
    gnt_status (*split)(gnti_group *g, int32_t color, int32_t key, const gnti_group_meeting *part,
                        gnti_group **out);
    gnt_status (*rest)(gnti_group *g, bool resting);
    void (*abort)(gnti_group *g); /* any thread */
    void (*free)(gnti_group *g);
} gnti_group_table;

/* Each group starts with this. */
struct gnti_group {
    const gnti_group_table *table;
    gnt_device *device;
    gnti_group_meeting meeting; /* rank, size, time limit */
};

/* Collective over comm (threads or MPI), which must outlive the group and lends its time limit: each rank brings its device. The
 * table comes from the plug-in of the devices' back end; ERR_UNSUPPORTED when it has none. A group of one rank is allowed. */
gnt_status gnti_group_create(gnti_comm *comm, gnt_device *dev, gnti_group **out);
/* The same without a communicator: ranks meet through small files path.ROUND.RANK on a file system that all see, and remove them.
 * Each job needs a path of its own: a file that is already there is ERR_USAGE. The end of another rank shows at the time limit. */
gnt_status gnti_group_create_by_file(const char *path, int32_t rank, int32_t size, double time_limit,
                                     gnt_device *dev, gnti_group **out);

/* Queued; return early. */
gnt_status gnti_group_exchange(gnti_group *g, gnt_stream *s, const gnti_group_peer *peers, int32_t num_peers);
gnt_status gnti_group_all_reduce(gnti_group *g, gnt_stream *s, const gnti_group_sum *a);
gnt_status gnti_group_broadcast(gnti_group *g, gnt_stream *s, int32_t root, gnt_buffer *buffer, size_t offset,
                                size_t bytes);

/* Until the stream is done; `what` names the wait in errors ("step 12"). Not while the stream captures. */
gnt_status gnti_group_wait(gnti_group *g, gnt_stream *s, const char *what);
/* One look. */
gnt_status gnti_group_poll(gnti_group *g, gnt_stream *s, const char *what, bool *out_done);

/* Collective over the group. part: the caller's rank in a communicator split by the same color and key; NULL with color < 0, *out
 * becomes NULL then. The group rests until the part is freed: its calls answer ERR_STATE. */
gnt_status gnti_group_split(gnti_group *g, int32_t color, int32_t key, gnti_comm *part, gnti_group **out);

/* A resting group is not used, so that its device may belong to another one meanwhile (a resize makes new ranks beside the old
 * ones); its calls answer ERR_STATE, it may be freed. No rank waits for another. Streams must be done. */
gnt_status gnti_group_rest(gnti_group *g, bool resting);

/* Ends it for this device: queued work of it stops, all ranks of the bootstrap learn the reason. Any thread, more than once. */
void gnti_group_abort(gnti_group *g, const char *reason);
/* Collective unless the job has ended: ranks leave together, within the time limit. Streams must be done, captures freed. */
void gnti_group_free(gnti_group **g);

#endif
