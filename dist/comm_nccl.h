/* SPDX-License-Identifier: Apache-2.0 */
/* What the two files of NVIDIA's groups share: one rank's end of an NCCL communicator.
 *
 * Calls never block: the communicator is made so, and after each call its state is asked until it is settled, under the time
 * limit. The first thread that finds it broken aborts it; `lock` keeps that apart from calls that use it.
 */
#ifndef GNTI_DIST_COMM_NCCL_H
#define GNTI_DIST_COMM_NCCL_H

#include "dist/group.h"
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/cuda_plugin.h"

#include <nccl.h>

enum { NCCL_TEXT_BYTES = 512, NCCL_MAX_PEERS_NAMED = 6 };

/* Where a rank is; what ranks tell each other when they meet. */
typedef struct nccl_place {
    int32_t status; /* of the rank's own preparations */
    int32_t index, version;
    char host[GNTI_GROUP_HOST_BYTES], device[GNTI_GROUP_DEVICE_BYTES]; /* name; bus number */
    char boot[40];  /* of the host's system: containers of two hosts may have one name; "" unknown */
    char text[192]; /* of the error */
} nccl_place;

typedef struct nccl_group {
    gnti_group head;
    pthread_mutex_t lock;
    ncclComm_t comm;          /* NULL: none yet, aborted, or gone */
    atomic_bool ended;        /* aborted; set under the lock */
    nccl_place *places;       /* (size) */
    struct nccl_group *whole; /* what it was split from */
    int32_t num_parts;        /* it rests while there are any */
    bool resting;             /* or while it is told to */
    bool registered;          /* as the device's one group of several */
    int64_t num_calls;
    const char *operation; /* the newest that was queued */
    int32_t num_peers, peers[NCCL_MAX_PEERS_NAMED];
    double waiting_since; /* of polls that found the stream busy; 0: none */
    double looked;        /* at the other ranks */
} nccl_group;

/* ---- comm_nccl.c ---- */
/* Aborts the communicator, once; others may call. */
void nccl_abort(gnti_group *head);
/* Ends the group for all ranks: aborts, tells the others, sets the error. text says what happened to this rank. */
gnt_status nccl_lose(nccl_group *g, gnt_status code, const char *what, const char *text);
/* Until the calls so far have taken effect, or the time limit. */
gnt_status nccl_settle(nccl_group *g, const char *what);
/* An answer of the library: OK, or the end of the group. */
gnt_status nccl_answer(nccl_group *g, ncclResult_t r, const char *what);

/* ---- comm_nccl_make.c ---- */
gnt_status nccl_create(const gnti_group_meeting *m, gnt_device *dev, gnti_group **out);
gnt_status nccl_split(gnti_group *head, int32_t color, int32_t key, const gnti_group_meeting *part,
                      gnti_group **out);
gnt_status nccl_rest(gnti_group *head, bool resting);
void nccl_free(gnti_group *head);

#endif
