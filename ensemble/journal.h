/* SPDX-License-Identifier: Apache-2.0 */
/* What happened in a run, so that nothing is lost with its process: RUN/journal.jsonl, append-only, one JSON object a line.
 *
 *   {"line":3,"time":"...","event":"ended","member":"m02","epoch":200,...,"crc32":"5be0f3d1"}
 * `line` counts from 1 without a gap; the CRC-32 is that of the bytes before `,"crc32"`. A process that dies while it writes leaves
 * a last line that is torn: it is cut off when the journal is opened next. Damage before the last line is nothing that a crash
 * explains: ERR_FORMAT names file and line.
 */
#ifndef GNTI_ENSEMBLE_JOURNAL_H
#define GNTI_ENSEMBLE_JOURNAL_H

#include "base/json.h"

typedef struct gnti_journal gnti_journal;

/* Reads what is there, cuts a torn last line, goes on behind it. The caller has the folder's lock. */
gnt_status gnti_journal_open(const char *path, gnti_journal **out);
void gnti_journal_close(gnti_journal **j);

/* The lines that were there when it was opened, in order; lent. */
int64_t gnti_journal_num_lines(const gnti_journal *j);
const gnti_json *gnti_journal_line(const gnti_journal *j, int64_t index);

/* Appends an event with the members of `facts` (NULL: none); any thread. sync: it has reached the disk on return. A line that
 * cannot be written whole is taken back. NULL: another process writes it, nothing is done. */
gnt_status gnti_journal_add(gnti_journal *j, const char *event, const gnti_json *facts, bool sync);

/* Reads without changing anything: for others than the run itself. */
gnt_status gnti_journal_read(const char *path, gnti_journal **out);

#endif
