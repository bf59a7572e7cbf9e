/* SPDX-License-Identifier: Apache-2.0 */
/* How the library's own files log: gnti_log(GNT_LOG_INFO, "train", "..."). A level that is off costs one
 * comparison. Who finds an error logs it at debug only: its text goes to the record and the program decides.
 */
#ifndef GNTI_BASE_LOG_H
#define GNTI_BASE_LOG_H

#include <gnntrain/log.h>

#include <stdbool.h>

void gnti_log(gnt_log_level level, const char *module, const char *format, ...) GNT_PRINTF(3, 4);

/* Ask before a message that is dear to make. */
bool gnti_log_is_on(gnt_log_level level, const char *module);

/* What leads the calling thread's lines ("rank 2 of 4"), NULL for nothing; copied. */
void gnti_log_set_place(const char *place);

/* No message from now on, for a forked child: another thread may have held the log's lock, which nobody opens there. */
void gnti_log_end(void);

#endif
