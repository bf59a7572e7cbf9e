/* SPDX-License-Identifier: Apache-2.0 */
/* Status codes and the text of the newest error.
 *
 * Every call that can fail returns a gnt_status. Codes come in scopes that tell who recovers: -1..-39 the call
 * failed and every object is still usable; -40..-59 the communicator is broken and whoever launched the process
 * resumes it; -60..-79 a device is broken. The text of the newest error is kept per thread.
 */
#ifndef GNNTRAIN_STATUS_H
#define GNNTRAIN_STATUS_H

#if defined(__GNUC__)
#define GNT_API                __attribute__((visibility("default")))
#define GNT_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#else
#define GNT_API
#define GNT_PRINTF(fmt, first)
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define GNT_STATUS_MAP(X)                                                                                    \
    X(OK, 0, "success")                                                                                      \
    X(ERR_ARG, -1, "invalid argument")                                                                       \
    X(ERR_NOMEM, -2, "out of host memory")                                                                   \
    X(ERR_DEVICE_NOMEM, -3, "out of device memory")                                                          \
    X(ERR_UNSUPPORTED, -4, "not supported by this build or device")                                          \
    X(ERR_IO, -5, "input or output failed")                                                                  \
    X(ERR_FORMAT, -6, "malformed or inconsistent data")                                                      \
    X(ERR_LIMIT, -7, "value exceeds a supported limit")                                                      \
    X(ERR_STATE, -8, "call not allowed in this state")                                                       \
    X(ERR_NUMERIC, -9, "infinity or NaN where none is allowed")                                              \
    X(ERR_USAGE, -10, "options that contradict or do not fit")                                               \
    X(ERR_DISK_FULL, -11, "no space left or quota reached")                                                  \
    X(ERR_OUTPUT, -12, "output cannot be written")                                                           \
    X(STOPPED, -20, "stopped on request, checkpoint written")                                                \
    X(ERR_PEER_LOST, -40, "a rank left the job")                                                             \
    X(ERR_TIMEOUT, -41, "a rank did not answer in time")                                                     \
    X(ERR_DEVICE_LOST, -60, "the device stopped working")                                                    \
    X(ERR_INTERNAL, -99, "internal error, please report")

typedef enum gnt_status {
#define GNT_STATUS_ENUM(name, value, text) GNT_##name = (value),
    GNT_STATUS_MAP(GNT_STATUS_ENUM)
#undef GNT_STATUS_ENUM
} gnt_status;

/* Name ("ERR_ARG") and one-line meaning of a code; never NULL, "unknown" for a value outside the list. */
GNT_API const char *gnt_status_name(gnt_status st);
GNT_API const char *gnt_status_text(gnt_status st);

/* Text of the newest error of the calling thread, "" when there was none. Valid until this thread's next failing call. */
GNT_API const char *gnt_last_error(void);

/* "file:line function" lines of the newest error, innermost first, one a line; "" when there is none. */
GNT_API const char *gnt_last_error_trace(void);

/* Forgets the newest error of the calling thread. */
GNT_API void gnt_clear_error(void);

#ifdef __cplusplus
}
#endif
#endif
