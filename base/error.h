/* SPDX-License-Identifier: Apache-2.0 */
/* The record of the newest error, one a thread: code, text, and up to 16 trace frames. Nothing allocates. */
#ifndef GNTI_BASE_ERROR_H
#define GNTI_BASE_ERROR_H

#include <gnntrain/status.h>

enum { GNTI_ERROR_TEXT_BYTES = 1024, GNTI_ERROR_MAX_FRAMES = 16 };

typedef struct gnti_error_frame {
    const char *file;
    const char *function;
    int line;
} gnti_error_frame;

/* A plain value: a worker's record is copied to the thread that waits for it. */
typedef struct gnti_error_record {
    gnt_status code;
    int num_frames;
    char text[GNTI_ERROR_TEXT_BYTES];
    gnti_error_frame frames[GNTI_ERROR_MAX_FRAMES];
} gnti_error_record;

/* Starts a new record with formatted text; answers code, so that it can be assigned. */
gnt_status gnti_error_set(gnt_status code, const char *file, int line, const char *function,
                          const char *format, ...) GNT_PRINTF(5, 6);

/* Adds a frame to the record; silently full after GNTI_ERROR_MAX_FRAMES. */
void gnti_error_trace(const char *file, int line, const char *function);

/* Puts formatted text in front of the record's text: "while reading 'x': " + old text. Keeps code and frames. */
void gnti_error_prefix(const char *format, ...) GNT_PRINTF(1, 2);

/* The calling thread's record, to be copied; and the way back into (another) thread. */
const gnti_error_record *gnti_error_get(void);
gnt_status gnti_error_adopt(const gnti_error_record *record);

/* Around what frees things: on a device that is lost that may fail too, and the failure that is told stays the first one. */
void gnti_error_keep(gnti_error_record *kept);
void gnti_error_give_back(const gnti_error_record *kept);

/* Sets the code and the text of errno's meaning for a failed call on a path; ENOSPC and EDQUOT become
 * ERR_DISK_FULL. `output` tells a file we write (ERR_OUTPUT) from one that we read (ERR_IO). */
gnt_status gnti_error_errno(int error, int output, const char *what, const char *path);

/* Reached only by a bug: prints both sides to stderr and ends the process (debug and test builds). */
void gnti_assert_failed(const char *condition, const char *file, int line, const char *function);

#endif
