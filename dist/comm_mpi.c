/* SPDX-License-Identifier: Apache-2.0 */
/* The plug-in that knows MPI: non-blocking messages over a communicator of our own, tested, never waited for.
 *
 * It ends MPI when the process exits, since a job has one MPI and a program may make several communicators. MPI_Finalize
 * waits for all ranks without a limit, so a barrier that is tested under a limit comes first. It also keeps a rank that has
 * stopped on request (75) until the others have written their files: a launcher ends the rest as soon as one exits with a
 * code. A process that ends with an error, or with a broken communicator, does not finalise and waits for nobody: its launcher
 * (mpirun, srun --kill-on-bad-exit) ends the rest, and the code it exits with is what the launcher reports.
 */
#include "dist/mpi_transport.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

_Static_assert(sizeof(MPI_Request) <= sizeof(gnti_mpi_request), "a request fits");

enum { EXIT_PEER_LOST = 5, EXIT_STOPPED = 75 };

__attribute__((visibility("default"))) const gnti_mpi_transport *gnti_mpi_transport_get(void);

static struct {
    bool open, broken, broken_by_other, taken;
    double exit_seconds;
    MPI_Comm comm;
    MPI_Request duplicating;
} mpi = { .comm = MPI_COMM_NULL, .duplicating = MPI_REQUEST_NULL };

static MPI_Request to_request(gnti_mpi_request r)
{
    MPI_Request q;

    memcpy(&q, &r, sizeof q);
    return q;
}

static void from_request(MPI_Request q, gnti_mpi_request *out)
{
    *out = 0;
    memcpy(out, &q, sizeof q);
}

static void pause_for(long microseconds)
{
    const struct timespec t = { microseconds / 1000000, microseconds % 1000000 * 1000 };

    nanosleep(&t, NULL);
}

/* All ranks have come to their exit: tested until the limit, since MPI_Finalize itself knows none. */
static bool all_exit(void)
{
    MPI_Request r = MPI_REQUEST_NULL;
    int done = 0, code = MPI_Ibarrier(mpi.comm, &r);
    const double end = MPI_Wtime() + mpi.exit_seconds;

    while (code == MPI_SUCCESS && !done && MPI_Wtime() < end) {
        code = MPI_Test(&r, &done, MPI_STATUS_IGNORE);
        if (!done)
            pause_for(200);
    }
    return done != 0;
}

static void end_at_exit(int status, void *unused)
{
    int finalized = 0;

    (void)unused;
    MPI_Finalized(&finalized);
    if (!finalized && mpi.broken_by_other && status != 0)
        pause_for(1000000);
    if (finalized || (status != 0 && status != EXIT_STOPPED))
        return;
    if (mpi.broken || !all_exit())
        MPI_Abort(MPI_COMM_WORLD, EXIT_PEER_LOST);
    else
        MPI_Finalize();
}

static int start_mpi(void)
{
    int begun = 0, level = MPI_THREAD_SINGLE, code = MPI_Initialized(&begun);

    if (code != MPI_SUCCESS)
        return code;
    if (begun) {
        code = MPI_Query_thread(&level);
    } else {
        code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
        if (code == MPI_SUCCESS && on_exit(end_at_exit, NULL) != 0)
            return MPI_ERR_NO_MEM;
    }
    return code != MPI_SUCCESS             ? code
           : level < MPI_THREAD_SERIALIZED ? MPI_ERR_UNSUPPORTED_OPERATION
                                           : MPI_SUCCESS;
}

static int mpi_open(gnti_mpi_facts *out)
{
    int code = MPI_SUCCESS, rank = 0, size = 0, found = 0, length = 0;
    int *highest = NULL;
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = { 0 };

    if (!mpi.open)
        code = start_mpi();
    if (code != MPI_SUCCESS)
        return code;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (!mpi.open)
        code = MPI_Comm_idup(MPI_COMM_WORLD, &mpi.comm, &mpi.duplicating);
    mpi.open = mpi.open || code == MPI_SUCCESS;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &highest, &found);
    MPI_Get_library_version(library, &length);
    *out = (gnti_mpi_facts){ .rank = rank, .size = size, .highest_tag = found ? *highest : 32767 };
    snprintf(out->library, sizeof out->library, "%.*s", (int)strcspn(library, ",\n"), library);
    return code;
}

static void mpi_set_exit_seconds(double exit_seconds)
{
    mpi.exit_seconds = exit_seconds;
}

static int mpi_ready(bool *out)
{
    int done = 0, code = MPI_Test(&mpi.duplicating, &done, MPI_STATUS_IGNORE);

    *out = done != 0;
    return code != MPI_SUCCESS || !done ? code : MPI_Comm_set_errhandler(mpi.comm, MPI_ERRORS_RETURN);
}

static bool mpi_take(void)
{
    const bool fresh = !mpi.taken && !mpi.broken;

    mpi.taken = mpi.taken || fresh;
    return fresh;
}

static void mpi_give_back(void)
{
    mpi.taken = false;
}

static int mpi_send(const void *data, size_t bytes, int32_t rank, int32_t tag, gnti_mpi_request *out)
{
    MPI_Request r = MPI_REQUEST_NULL;
    const int code = MPI_Isend(data, (int)bytes, MPI_BYTE, rank, tag, mpi.comm, &r);

    from_request(r, out);
    return code;
}

static int mpi_receive(void *data, size_t bytes, int32_t rank, int32_t tag, gnti_mpi_request *out)
{
    MPI_Request r = MPI_REQUEST_NULL;
    const int code = MPI_Irecv(data, (int)bytes, MPI_BYTE, rank, tag, mpi.comm, &r);

    from_request(r, out);
    return code;
}

static int mpi_test(gnti_mpi_request *request, bool *out_done, size_t *out_received)
{
    MPI_Request r = to_request(*request);
    MPI_Status status;
    int done = 0, count = 0, code = MPI_Test(&r, &done, &status), class = MPI_SUCCESS;

    from_request(r, request);
    *out_done = done != 0;
    *out_received = 0;
    if (code != MPI_SUCCESS) {
        MPI_Error_class(code, &class);
        if (class != MPI_ERR_TRUNCATE)
            return code;
        *out_done = true;
        *out_received = SIZE_MAX;
        return MPI_SUCCESS;
    }
    if (done && MPI_Get_count(&status, MPI_BYTE, &count) == MPI_SUCCESS && count > 0)
        *out_received = (size_t)count;
    return MPI_SUCCESS;
}

static int mpi_probe(int32_t tag, bool *out_found, int32_t *out_rank)
{
    MPI_Status status;
    int found = 0, code = MPI_Iprobe(MPI_ANY_SOURCE, tag, mpi.comm, &found, &status);

    *out_found = found != 0;
    *out_rank = found ? status.MPI_SOURCE : -1;
    return code;
}

static void mpi_error_text(int code, char out[GNTI_MPI_ERROR_BYTES])
{
    char text[MPI_MAX_ERROR_STRING] = { 0 };
    int length = 0;

    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
        snprintf(text, sizeof text, "code %d", code);
    snprintf(out, GNTI_MPI_ERROR_BYTES, "%.*s", GNTI_MPI_ERROR_BYTES - 1, text);
}

static void mpi_set_broken(bool by_other)
{
    mpi.broken = true;
    mpi.broken_by_other = by_other;
}

const gnti_mpi_transport *gnti_mpi_transport_get(void)
{
    static const gnti_mpi_transport transport = {
        .version = GNT_VERSION,
        .open = mpi_open,
        .set_exit_seconds = mpi_set_exit_seconds,
        .ready = mpi_ready,
        .take = mpi_take,
        .give_back = mpi_give_back,
        .send = mpi_send,
        .receive = mpi_receive,
        .test = mpi_test,
        .probe = mpi_probe,
        .error_text = mpi_error_text,
        .set_broken = mpi_set_broken,
    };

    return &transport;
}
