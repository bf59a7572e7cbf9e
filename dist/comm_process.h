/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the MPI communicator share: ranks that are processes, over the plug-in's messages (mpi_transport.h).
 *
 * Everything is made of non-blocking messages that are tested under the time limit: exchanges directly, sums of exchanges.
 * Every communicator has tags of its own, so that a split needs no call of MPI. A rank that gives up sends all others a
 * notice with its reason, which every wait looks for; after that the job is broken for good and no message is touched again. The
 * same way a rank asks who is still there, when devices report a loss that names nobody.
 */
#ifndef GNTI_DIST_COMM_PROCESS_H
#define GNTI_DIST_COMM_PROCESS_H

#include "base/alloc.h"
#include "dist/comm.h"
#include "dist/mpi_transport.h"

#include <pthread.h>

enum { PROCESS_HOST_BYTES = 64, PROCESS_NOTICE_TAG = 0 };
#define PROCESS_CHUNK_BYTES ((size_t)1 << 30) /* of one MPI message; its counts are int */

typedef enum process_notice_kind { PROCESS_ENDS_JOB, PROCESS_ASKS, PROCESS_ANSWERS } process_notice_kind;
typedef struct process_notice {
    int32_t kind, rank;
    char reason[GNTI_COMM_REASON_BYTES];
} process_notice;

typedef struct process_job { /* shared by a communicator and its parts */
    pthread_mutex_t mutex;   /* around calls of the plug-in: an abort may come from another thread */
    const gnti_mpi_transport *mpi;
    gnti_mpi_facts facts;
    int32_t num_comms, next_id;
    char (*hosts)[PROCESS_HOST_BYTES]; /* (job's ranks) */
    bool broken;
    process_notice notice;              /* who broke it and why */
    gnti_mpi_request *notices;          /* (job's ranks) sent ones */
    process_notice asks, answers;       /* and those of roll calls */
    gnti_mpi_request *asked, *answered; /* (job's ranks) */
    bool *asks_open, *answers_open;     /* such a message is under way */
    bool *is_there;                     /* (job's ranks) has answered our newest roll call */
} process_job;

typedef struct process_message {
    bool is_send, done;
    int32_t peer;
    const char *send;
    char *receive; /* what MPI writes to: the caller's buffer, or staging */
    char *rows;    /* the caller's buffer when rows of it have gaps */
    size_t bytes;
    gnti_comm_shape shape;
    char *staging; /* kept */
    size_t staging_bytes;
    int32_t first, count, next; /* its requests; next: the first that is not done */
    double departure;           /* the sender's virtual clock; travels as a last request when there is one */
} process_message;

typedef struct process_exchange {
    gnti_exchange head;
    struct process_exchange *next; /* all of one communicator, used again and again */
    const char *operation;         /* for texts */
    bool busy, complete;
    int32_t num_messages;
    int64_t capacity, request_capacity;
    process_message *messages;
    gnti_mpi_request *requests;
    int64_t mail_capacity;
    gnti_comm_mail *mail; /* with a virtual clock: what has come */
} process_exchange;

typedef struct process_comm {
    gnti_comm head;
    process_job *job;
    int32_t *world; /* (size) the job's rank of each of ours */
    int32_t *host;  /* (size) the lowest of our ranks on its host */
    int32_t id;     /* tags 1 + 2 id (exchanges), 2 + 2 id (sums) */
    size_t chunk_bytes;
    process_exchange *exchanges;
    gnti_comm_peer *peers; /* (size) of a sum */
    char *scratch;
    size_t scratch_bytes;
} process_comm;

/* ---- comm_process_exchange.c ---- */
gnt_status process_exchange_start(gnti_comm *head, const gnti_comm_peer *peers, int32_t num_peers,
                                  gnti_exchange **out);
gnt_status process_broadcast_start(gnti_comm *head, int32_t root, void *data, size_t bytes,
                                   gnti_exchange **out);
gnt_status process_exchange_poll(gnti_exchange *head, bool *out_done);
gnt_status process_exchange_finish(gnti_exchange *head);
/* Start and finish at once, with the tag of sums. */
gnt_status process_exchange_run(process_comm *c, const char *operation, const gnti_comm_peer *peers,
                                int32_t num_peers);
void process_exchanges_free(process_comm *c);

/* ---- comm_process_wait.c ---- */
typedef struct process_wait {
    const char *operation;
    double began, looked; /* looked: for notices */
} process_wait;
process_wait process_wait_begin(const char *operation);
/* Called after each look that found nothing: spins 20 us, gives the core away, then sleeps. Not OK when the job is broken or
 * rank `missing` is late; then the job is ended for all. */
gnt_status process_wait_pause(process_comm *c, process_wait *w, int32_t missing);
/* Not OK when a rank has ended the job. */
gnt_status process_check_broken(process_comm *c, const process_wait *w);
/* An error of MPI itself in a message from or to a rank. */
gnt_status process_mpi_error(process_comm *c, const char *operation, int32_t peer, int code);
/* Tells all ranks, once, that the job has ended. */
void process_job_break(process_job *job, const char *reason);

/* ---- comm_process_roll.c ---- */
/* A notice that ends nothing. The mutex is held. */
void process_take_roll_notice(process_job *job, const process_notice *n);
gnt_status process_ask(gnti_comm *head, double seconds);

/* ---- comm_process_sum.c ---- */
gnt_status process_all_reduce(gnti_comm *head, const gnti_all_reduce_args *a);
gnt_status process_barrier(gnti_comm *head);

/* ---- comm_process.c ---- */
/* For tests: messages of an MPI communicator are cut into pieces of so many bytes. */
void gnti_comm_mpi_set_chunk(gnti_comm *c, size_t bytes);

#endif
