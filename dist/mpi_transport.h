/* SPDX-License-Identifier: Apache-2.0 */
/* What the plug-in libgnntrain-mpi.so hands over: messages between the processes of an MPI job, and nothing else.
 *
 * The plug-in (comm_mpi.c) knows MPI and none of our types; comm_process*.c make a communicator of it: sums, time limits,
 * texts. So a process that is not started by MPI never opens an MPI library. Every int answered is an MPI error code, 0 for
 * success. No call waits for another process but open, inside MPI_Init.
 */
#ifndef GNTI_DIST_MPI_TRANSPORT_H
#define GNTI_DIST_MPI_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GNTI_MPI_TRANSPORT_SYMBOL "gnti_mpi_transport_get"
enum { GNTI_MPI_ERROR_BYTES = 256 };

typedef uint64_t gnti_mpi_request; /* holds an MPI_Request of whatever kind */

typedef struct gnti_mpi_facts {
    int32_t rank, size, highest_tag;
    char library[64];
} gnti_mpi_facts;

typedef struct gnti_mpi_transport {
    const char *version; /* exactly ours */
    /* Initialises MPI unless the caller has; then it also ends it at exit: orderly when all ranks come to their exit within
     * exit_seconds, with MPI_Abort(5) when not. ready: poll until true, others may not be there yet. */
    int (*open)(gnti_mpi_facts *out);
    void (*set_exit_seconds)(double exit_seconds);
    int (*ready)(bool *out);
    bool (*take)(
        void); /* the messages are used by one communicator (and its parts) at a time; false: they are in use */
    void (*give_back)(void);
    int (*send)(const void *data, size_t bytes, int32_t rank, int32_t tag, gnti_mpi_request *out);
    int (*receive)(void *data, size_t bytes, int32_t rank, int32_t tag, gnti_mpi_request *out);
    int (*test)(gnti_mpi_request *r, bool *out_done, size_t *out_received); /* received: SIZE_MAX, too long */
    int (*probe)(int32_t tag, bool *out_found, int32_t *out_rank);          /* a message of any rank */
    void (*error_text)(int code, char out[GNTI_MPI_ERROR_BYTES]);
    /* From now on the processes end without a word to each other: MPI_Finalize would hang. A rank that another one told of it
     * leaves a second later, so that the launcher reports the exit code of the cause. */
    void (*set_broken)(bool by_other);
} gnti_mpi_transport;

typedef const gnti_mpi_transport *(*gnti_mpi_transport_fn)(void);

#endif
