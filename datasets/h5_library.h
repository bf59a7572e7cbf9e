/* SPDX-License-Identifier: Apache-2.0 */
/* The only file that includes hdf5.h, for the two files that call that library: h5_file.c (files, groups, names) and
 * h5_data.c (types, values, texts). Nobody else includes this.
 *
 * Every call of the library goes through GNT_TRY_H5, which walks the error stack right after a failure (any
 * other call would clear it) and keeps the deepest description: that is the cause, what lies above only
 * repeats who called whom. Identifiers live inside one function and are closed at its end; a failed close is
 * no error but for the file's. The 2-suffixed functions are named: Debian builds with the 1.8 mapping.
 */
#ifndef GNTI_DATASETS_H5_LIBRARY_H
#define GNTI_DATASETS_H5_LIBRARY_H

#include "datasets/h5_file.h"
#include "datasets/h5_text.h"

#include <hdf5.h>

struct gnti_h5 {
    hid_t id;
    char *path, *temporary; /* temporary: NULL when reading */
    int64_t *bytes_read;    /* counts in a const file too */
};

/* Needs the locals `file` and `path` (NULL: the file itself) besides those of GNT_TRY. */
#define GNT_TRY_H5(call, what)                                                                               \
    do {                                                                                                     \
        if ((call) < 0) {                                                                                    \
            st = gnti_h5_fail(file, path, (what));                                                           \
            gnti_error_trace(__FILE__, __LINE__, __func__);                                                  \
            goto done;                                                                                       \
        }                                                                                                    \
    } while (0)

/* The error of the newest failed call, "cannot WHAT 'path' of file ...: cause". */
gnt_status gnti_h5_fail(const gnti_h5 *file, const char *path, const char *what);

/* Around all that an entry calls of the library; they may nest. The lock is ours, so that no thread is inside of the library
 * while another one forks: the library's own lock would stay closed in the child. */
void gnti_h5_enter(void);
void gnti_h5_leave(void);

/* Closes an identifier of whatever kind; H5S_ALL (0) and invalid ones are left alone. */
void gnti_h5_drop(hid_t id);

/* Whether every link of the path exists and leads to an object. */
bool gnti_h5_exists(const gnti_h5 *file, const char *path);

/* Link creation with the groups above and UTF-8 names; to be dropped. */
gnt_status gnti_h5_link_list(const gnti_h5 *file, const char *path, hid_t *out);

#endif
