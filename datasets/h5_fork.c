/* SPDX-License-Identifier: Apache-2.0 */
/* fork() beside a library with a lock of its own. Our calls are kept out by our lock; the caller's program may use HDF5 too, so
 * the fork takes place inside a callback, where the library's lock is this thread's. What guards that lock's own counters is
 * still held for a moment by any thread that asks for it: a child forked in that moment hangs on its way out of the callback,
 * at once or never. So the child says when it is out, and one that does not is ended and replaced.
 */
#include "datasets/h5_library.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_FORKS = 6 }; /* a minute of waiting in all */

static herr_t fork_inside(hid_t list, const char *name, void *child)
{
    (void)list;
    (void)name;
    *(pid_t *)child = fork();
    return 1; /* no further property */
}

/* The child tells that it is out of the library, the parent waits for that. False: it is not after `seconds`. */
static bool child_is_out(int told, double seconds)
{
    struct pollfd asked = { .fd = told, .events = POLLIN };
    const double end = gnti_clock_seconds() + seconds;
    char byte;

    for (;;) {
        const double left = end - gnti_clock_seconds();
        const int got = left > 0.0 ? poll(&asked, 1, (int)(left * 1000.0) + 1) : 0;

        if (got >
            0) /* a byte, or the end of a child that died of something else: that is for its parent to see */
            return read(told, &byte, 1) >= 0;
        if (got == 0 || errno != EINTR)
            return got != 0;
    }
}

/* From a callback of the library, so that its own lock is this thread's too, should the caller's program use HDF5. */
static pid_t fork_once(const int told[2])
{
    pid_t child = -1;
    ssize_t done = 0;

    gnti_h5_enter();
    H5Piterate(H5P_FILE_ACCESS, NULL, fork_inside, &child);
    gnti_h5_leave(); /* parent and child: to each its own lock */
    if (child == 0 && told[1] >= 0)
        done = write(told[1], "", 1);
    (void)done;
    return child;
}

pid_t gnti_h5_fork(void)
{
    double seconds = 1.0;
    pid_t child = -1;
    int told[2] = { -1, -1 };

    for (int i = 0; i < MOST_FORKS; i++, seconds *= 2.0) {
        if (pipe2(told, O_CLOEXEC) != 0)
            told[0] = told[1] = -1;
        child = fork_once(told);
        if (told[1] >= 0)
            close(told[1]);
        if (child > 0 && told[0] >= 0 && !child_is_out(told[0], seconds)) {
            kill(child, SIGKILL);
            waitpid(child, NULL, 0);
            child = -1;
        }
        if (told[0] >= 0)
            close(told[0]);
        if (child >= 0 || told[0] < 0)
            break;
    }
    return child;
}
