/* SPDX-License-Identifier: Apache-2.0 */
/* Files: whole small ones read at once, and writing that never leaves half a file under the final name.
 *
 * Two ways to write atomically: a gnti_file_writer for bytes, or gnti_atomic_begin for a library that wants a
 * path. Both write to a temporary name in the same folder, then fsync, rename, fsync the folder. ENOSPC and
 * EDQUOT answer ERR_DISK_FULL, other failures of an output ERR_OUTPUT.
 */
#ifndef GNTI_BASE_FILE_H
#define GNTI_BASE_FILE_H

#include "base/check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The name to write to instead of `path`: same folder, hidden, unique; the file is made, empty and readable
 * to others as usual. Then exactly one of commit (file and folder reach the disk under `path`; the temporary
 * name is gone even when it fails) and abandon; both free *temporary and clear it, abandon accepts NULL. */
gnt_status gnti_atomic_begin(const char *path, char **temporary);
gnt_status gnti_atomic_commit(char **temporary, const char *path);
void gnti_atomic_abandon(char **temporary);

/* Gives back the space of a file that will be abandoned while somebody still has it open; NULL is fine. */
void gnti_atomic_empty(const char *temporary);

/* As commit, but a file of that name is kept as `previous` (checkpoint.prev.h5). */
gnt_status gnti_atomic_commit_keep(char **temporary, const char *path, const char *previous);

typedef struct gnti_file_writer gnti_file_writer;
gnt_status gnti_file_writer_open(const char *path, gnti_file_writer **out);
gnt_status gnti_file_writer_write(gnti_file_writer *w, const void *bytes, size_t count);
gnt_status gnti_file_writer_printf(gnti_file_writer *w, const char *format, ...) GNT_PRINTF(2, 3);
gnt_status gnti_file_writer_commit(gnti_file_writer **w); /* frees the writer, whatever comes */
void gnti_file_writer_abandon(gnti_file_writer **w);      /* NULL inside is fine */

/* The whole writer in one call. */
gnt_status gnti_file_write_all(const char *path, const void *bytes, size_t count);

/* All bytes of a file of at most max_bytes, with a zero behind them that does not count. */
gnt_status gnti_file_read_all(const char *path, size_t max_bytes, char **out, size_t *out_bytes);

bool gnti_file_exists(const char *path);

/* Whether both names lead to one file, through links too. */
bool gnti_file_same(const char *a, const char *b);
gnt_status gnti_file_size(const char *path, int64_t *out);

/* The folder and those above it; fine when it is there. */
gnt_status gnti_folder_create(const char *path);

/* Removes the files directly in the folder for which `goes` (their path, their name) is true; what cannot be removed stays. */
gnt_status gnti_folder_sweep(const char *path, bool (*goes)(const char *path, const char *name));

/* The same file from any folder: links and "..", where it exists, resolved; to be freed. NULL stays NULL. */
gnt_status gnti_path_absolute(const char *path, char **out);

/* "folder/name", to be freed. */
gnt_status gnti_path_join(const char *folder, const char *name, char **out);

/* Where the user's files of things that can be made again lie: $XDG_CACHE_HOME/gnntrain/NAME, else ~/.cache/gnntrain/NAME; *out NULL:
 * neither is set. To be freed; the folder may not be there yet. */
gnt_status gnti_cache_path(const char *name, char **out);

/* Test hook: the k-th write or flush from now (0: the next) fails once as if errno were `error`; -1 switches
 * it off. */
void gnti_file_fail_at(int64_t k, int error);

/* write(2) of all bytes, with the hook; for writers that keep their own descriptor. */
gnt_status gnti_fd_write(int fd, const char *path, const void *bytes, size_t count);
gnt_status gnti_fd_sync(int fd, const char *path);

#endif
