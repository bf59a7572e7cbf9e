/* SPDX-License-Identifier: Apache-2.0 */
/* The communicator table: how the ranks of a job talk. comm_self.c is the job of one rank; ranks as threads,
 * MPI and NCCL are further tables of the same shape.
 *
 * Every call but rank, size and abort is collective: every rank of the communicator calls it, in the same
 * order. Buffers are host memory unless a table says else. A wait ends after time_limit seconds with
 * ERR_TIMEOUT that names the operation; a rank that fails alone calls gnti_comm_abort before it returns, and
 * then all others get ERR_PEER_LOST.
 */
#ifndef GNTI_DIST_COMM_H
#define GNTI_DIST_COMM_H

#include <gnntrain/op.h>

#include "base/check.h"

#include <stdatomic.h>

typedef struct gnti_comm gnti_comm;
typedef struct gnti_exchange gnti_exchange;

enum { GNTI_COMM_REASON_BYTES = 160 };
#define GNTI_COMM_TIME_LIMIT 60.0 /* seconds, the default of every wait */

typedef enum gnti_comm_op { GNTI_COMM_SUM, GNTI_COMM_MIN, GNTI_COMM_MAX } gnti_comm_op;

/* in place: data is the rank's share before and the result after. F32, F64, I32, I64, U8. */
typedef struct gnti_all_reduce_args {
    void *data;
    int64_t count;
    gnt_dtype dtype;
    gnti_comm_op op;
} gnti_all_reduce_args;

/* Where the bytes of a message land: in rows of row_bytes, row_stride apart, block_rows of them in a block, blocks
 * block_stride apart. All 0: one after the other. */
typedef struct gnti_comm_shape {
    size_t row_bytes, row_stride, block_rows, block_stride;
} gnti_comm_shape;

/* What goes to and comes from one neighbour. Both sides name the same sizes; the rank itself is a neighbour
 * too. */
typedef struct gnti_comm_peer {
    int32_t rank;
    const void *send;
    size_t send_bytes;
    void *receive;
    size_t receive_bytes;
    gnti_comm_shape shape; /* of receive */
} gnti_comm_peer;

typedef struct gnti_comm_table {
    const char *name; /* "self" */
    gnt_status (*all_reduce)(gnti_comm *c, const gnti_all_reduce_args *a);
    gnt_status (*broadcast_start)(gnti_comm *c, int32_t root, void *data, size_t bytes, gnti_exchange **out);
    gnt_status (*exchange_start)(gnti_comm *c, const gnti_comm_peer *peers, int32_t num_peers,
                                 gnti_exchange **out);
    gnt_status (*exchange_poll)(gnti_exchange *x, bool *out_done); /* never waits */
    gnt_status (*exchange_finish)(gnti_exchange *x);               /* waits, then frees x whatever comes */
    gnt_status (*barrier)(gnti_comm *c);
    gnt_status (*split)(gnti_comm *c, int32_t color, int32_t key, gnti_comm **out);
    gnt_status (*check)(gnti_comm *c);               /* never waits */
    gnt_status (*ask)(gnti_comm *c, double seconds); /* NULL: no rank is lost alone */
    void (*abort)(gnti_comm *c);
    void (*free)(gnti_comm *c);
} gnti_comm_table;

/* What a message costs on a virtual clock; 0 bandwidth: nothing. */
typedef struct gnti_link {
    double latency, bytes_per_second;
} gnti_link;

/* What lies between two ranks. */
typedef enum gnti_link_class { GNTI_LINK_HOST, GNTI_LINK_NETWORK, GNTI_LINK_NUM_CLASSES } gnti_link_class;

/* Each communicator starts with this; so does each exchange with its communicator. */
struct gnti_comm {
    const gnti_comm_table *table;
    int32_t rank, size;
    double time_limit;   /* seconds */
    int32_t num_threads; /* that packing may use; 1 until the owner of the device sets it */
    atomic_int aborted;  /* gnti_comm_is_aborted; 1 while the reason is written, then 2 */
    /* A virtual clock of this rank's device (kernels/virtual.h), or NULL: wall time. A wait sets it to the arrival of what was
     * waited for: the sender's clock at start + latency + bytes / bandwidth. A rank receives one message after the
     * other, at its bandwidth. */
    double *virtual_seconds;
    gnti_link link;
    gnti_link
        measured[GNTI_LINK_NUM_CLASSES]; /* dist/link_cost.h; bandwidth 0: not measured, or no such link */
    const int32_t *host;                 /* (size) number of each rank's host; NULL: all on one */
    double link_free_seconds; /* virtual clock: when the last message of the exchanges so far was in */
    double arrived_seconds;   /* on the clock in use: when the newest exchange was found complete */
    char reason[GNTI_COMM_REASON_BYTES];
};
struct gnti_exchange {
    gnti_comm *comm;
};

/* The job of one rank. */
gnt_status gnti_comm_self_create(gnti_comm **out);

/* comm_threads.c: ranks as threads of one process; out (size) receives one communicator a rank, each used by one thread at a
 * time. Sums are in rank order. Messages are copied once, from the sender's buffer into the receiver's. */
gnt_status gnti_comm_threads_create(int32_t size, gnti_comm **out);

/* comm_mpi (plug-in libgnntrain-mpi.so, opened on demand): MPI processes. launched: this process was started by an MPI
 * launcher or srun with more than one task. Initialises MPI (thread level SERIALIZED or better) unless the caller has. */
typedef struct gnti_launch {
    int32_t rank, size, local_rank, local_size;
    char host[64];
    const char *by; /* "mpirun", "srun", "none" */
} gnti_launch;
/* From the environment alone, nothing is opened. ERR_USAGE for a launch that contradicts itself (users.md 5, 11). */
gnt_status gnti_launch_detect(gnti_launch *out);
/* ERR_USAGE when --devices names another number of devices than there are ranks (1: each rank has its own). */
gnt_status gnti_launch_check_devices(const gnti_launch *l, int32_t num_devices);
gnt_status gnti_comm_mpi_create(gnti_comm **out);

/* Before the first collective: every rank compares its facts (version, model, data, every option) with those of rank 0, a line
 * each: "NAME TAB VALUE", or "NAME TAB VALUE TAB NOTE" with a note that is shown but may differ. ERR_PEER_LOST (exit 5) that
 * names the first one that differs with both values. */
gnt_status gnti_comm_check_launch(gnti_comm *c, const char *facts);

/* comm.c: the calls that everybody uses; arguments and the state of the communicator are checked here, once.
 */
gnt_status gnti_comm_all_reduce(gnti_comm *c, const gnti_all_reduce_args *a);
gnt_status gnti_comm_broadcast(gnti_comm *c, int32_t root, void *data, size_t bytes);
/* The same, begun: poll and finish it as an exchange. Several may be under way (double buffering). */
gnt_status gnti_comm_broadcast_start(gnti_comm *c, int32_t root, void *data, size_t bytes,
                                     gnti_exchange **out);
/* peers and buffers must live until finish; a rank occurs once. */
gnt_status gnti_comm_exchange_start(gnti_comm *c, const gnti_comm_peer *peers, int32_t num_peers,
                                    gnti_exchange **out);
gnt_status gnti_comm_exchange_poll(gnti_exchange *x, bool *out_done);
gnt_status gnti_comm_exchange_finish(gnti_exchange **x); /* clears the pointer; NULL inside is fine */
gnt_status gnti_comm_barrier(gnti_comm *c);
/* Ranks with the same color form a communicator, ordered by key, then rank. color < 0: none, *out becomes
 * NULL. */
gnt_status gnti_comm_split(gnti_comm *c, int32_t color, int32_t key, gnti_comm **out);
/* ERR_PEER_LOST when another rank has ended the job, for who waits elsewhere (for a device). Not collective, never waits. */
gnt_status gnti_comm_check(gnti_comm *c);
/* Asks all ranks whether they are there, which they answer from any wait or check; not collective. ERR_PEER_LOST that names the first
 * one that does not answer within seconds, or when another rank has ended the job. */
gnt_status gnti_comm_ask(gnti_comm *c, double seconds);
/* Marks it broken for all ranks; the text tells why. Any thread, any time, more than once. NULL is fine. */
void gnti_comm_abort(gnti_comm *c, const char *reason);
/* On a virtual clock: when the last of an exchange's messages to this rank has arrived, behind those of earlier exchanges. */
typedef struct gnti_comm_mail {
    double departure;
    size_t bytes;
} gnti_comm_mail;
double gnti_comm_last_arrival(const gnti_comm *c, const gnti_comm_mail *mail, int32_t count);
/* An exchange is found complete: now, or on a virtual clock with the arrival of its last message. */
void gnti_comm_note_arrival(gnti_comm *c, double last);
/* Copies a whole message to where it belongs. */
void gnti_comm_lay_down(void *receive, const gnti_comm_shape *shape, const void *message, size_t bytes);
bool gnti_comm_is_aborted(const gnti_comm *c);
double gnti_comm_clock(const gnti_comm *c); /* the virtual clock, else wall time */
void gnti_comm_free(gnti_comm **c);

#endif
