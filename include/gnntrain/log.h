/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the library. The default sink writes warnings and errors to stderr; a program may take them
 * over.
 *
 * Levels are per module ("train", "datasets", ...): the environment variable GNNTRAIN_LOG=info,dist=debug is
 * read at the first message, gnt_log_set_levels takes the same text.
 */
#ifndef GNNTRAIN_LOG_H
#define GNNTRAIN_LOG_H

#include <gnntrain/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum gnt_log_level {
    GNT_LOG_ERROR,
    GNT_LOG_WARN,
    GNT_LOG_INFO,
    GNT_LOG_DEBUG,
    GNT_LOG_TRACE
} gnt_log_level;

/* `text` is one line without a newline, led by rank, member or device when there are several. Called by one
 * thread at a time; it must not call the library. */
typedef void (*gnt_log_callback)(void *user, gnt_log_level level, const char *module, const char *text);

/* Takes the messages; NULL brings back stderr. Set it before other threads use the library. */
GNT_API void gnt_log_set(gnt_log_callback callback, void *user);

/* "warn", "info,dist=debug": a level for all modules, then exceptions. ERR_USAGE names the part that is none.
 */
GNT_API gnt_status gnt_log_set_levels(const char *text);

/* "error", "warn", ...; never NULL. */
GNT_API const char *gnt_log_level_name(gnt_log_level level);

#ifdef __cplusplus
}
#endif
#endif
