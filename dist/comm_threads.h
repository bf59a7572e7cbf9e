/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the threads communicator share: a group of ranks, each a thread of this process.
 *
 * One mutex guards the group. A rank sleeps on a condition variable of its own; whoever changes what it may wait for counts
 * its `events` up and wakes it. Messages between two ranks are two halves, one posted by each side, that are matched in the
 * order of posting; whichever side waits first copies, straight from the sender's buffer into the receiver's, with the mutex
 * open. A half that is being copied belongs to the copier until it is done, so a rank that gives up waits for that.
 */
#ifndef GNTI_DIST_COMM_THREADS_H
#define GNTI_DIST_COMM_THREADS_H

#include "base/alloc.h"
#include "dist/comm.h"

#include <pthread.h>

enum { THREADS_HOST_BYTES = 64, THREADS_MAX_RANKS = 1024 };

typedef enum thread_half_state {
    HALF_POSTED, /* in the queue of its pair */
    HALF_MATCHED,
    HALF_COPYING,
    HALF_DONE,
    HALF_LOST /* the other side gave up */
} thread_half_state;

typedef struct thread_half {
    struct thread_half *next, *match;
    bool is_send;
    int32_t owner, peer;
    const void *send;
    void *receive;
    size_t bytes;
    gnti_comm_shape shape; /* of receive */
    double departure;      /* the sender's virtual clock; the receiver's half learns it when they match */
    thread_half_state state;
} thread_half;

typedef struct thread_queue {
    thread_half *head, *tail;
} thread_queue;

typedef struct thread_pair { /* messages from one rank to one other; one of the queues is empty */
    thread_queue sends, receives;
} thread_pair;

typedef enum thread_call_kind { CALL_BARRIER, CALL_REDUCE, CALL_SPLIT } thread_call_kind;

typedef struct thread_call { /* what a rank brings to a collective call */
    thread_call_kind kind;
    gnti_all_reduce_args reduce;
    int32_t color, key;
    gnti_comm *part; /* split: what it gets */
    double clock;    /* virtual, 0 without one */
} thread_call;

typedef struct thread_slot {
    pthread_cond_t wake;
    atomic_uint events;
    bool arrived, left;
    thread_call call;
} thread_slot;

typedef struct thread_group {
    pthread_mutex_t mutex;
    int32_t size, num_alive; /* communicators not yet freed */
    thread_slot *slots;      /* (size) */
    thread_pair *pairs;      /* (size, size) from, to */
    /* Collective calls: entered counts those that all ranks have reached, left those that all have done their share of. */
    int32_t num_arrived, num_working;
    uint64_t entered, left;
    gnti_error_record error; /* of the newest call; code GNT_OK: none */
    double clock;            /* latest of the ranks' */
    bool aborted;
    int32_t aborted_by;
    char reason[GNTI_COMM_REASON_BYTES];
    char host[THREADS_HOST_BYTES];
} thread_group;

typedef struct thread_exchange {
    gnti_exchange head;
    struct thread_exchange *next; /* all of one communicator, used again and again */
    const char *operation;        /* for texts */
    bool busy, complete;
    int32_t num_halves;
    int64_t capacity;
    thread_half *halves;
    int64_t mail_capacity;
    gnti_comm_mail *mail; /* with a virtual clock: what has come */
} thread_exchange;

typedef struct thread_comm {
    gnti_comm head;
    thread_group *group;
    thread_exchange *exchanges;
} thread_comm;

/* ---- comm_threads_wait.c; the mutex is held at each call and return ---- */
typedef struct thread_wait {
    const char *operation;
    double began;
    bool spun;
} thread_wait;

typedef enum thread_verdict { WAIT_GO_ON, WAIT_ABORTED, WAIT_LEFT, WAIT_LATE } thread_verdict;

thread_wait thread_wait_begin(const char *operation);
void thread_wake(thread_group *g, int32_t rank);
void thread_wake_all(thread_group *g);
/* Until something has changed for this rank, which waits for rank `missing`: at most 20 us awake, then asleep. */
thread_verdict thread_pause(thread_comm *c, thread_wait *w, int32_t missing);
void thread_abort_group(thread_group *g, int32_t rank, const char *reason);
/* The error of a verdict; the mutex is *not* held. Ends the communicator for all ranks. */
gnt_status thread_give_up(thread_comm *c, const thread_wait *w, thread_verdict verdict, int32_t missing);

/* ---- comm_threads_collective.c ---- */
gnt_status thread_collective(thread_comm *c, const char *operation, thread_call *call);
gnt_status thread_all_reduce(gnti_comm *head, const gnti_all_reduce_args *a);
gnt_status thread_barrier(gnti_comm *head);

/* ---- comm_threads_exchange.c ---- */
gnt_status thread_exchange_start(gnti_comm *head, const gnti_comm_peer *peers, int32_t num_peers,
                                 gnti_exchange **out);
gnt_status thread_broadcast_start(gnti_comm *head, int32_t root, void *data, size_t bytes,
                                  gnti_exchange **out);
gnt_status thread_exchange_poll(gnti_exchange *head, bool *out_done);
gnt_status thread_exchange_finish(gnti_exchange *head);
void thread_exchange_cancel(thread_comm *c, thread_exchange *x);

/* ---- comm_threads.c ---- */
/* The communicators of a new group; the split of a call whose ranks have all come. */
gnt_status thread_split(thread_group *g);

#endif
