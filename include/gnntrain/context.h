/* SPDX-License-Identifier: Apache-2.0 */
/* The context: devices, registered layers and ops, plug-ins. It ends with the last object made from it. */
#ifndef GNNTRAIN_CONTEXT_H
#define GNNTRAIN_CONTEXT_H

#include <gnntrain/status.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gnt_context gnt_context;

/* Makes a context. `settings` is "key=value" pairs joined by ';' or NULL: device=auto|cpu, threads=N (0: the cores we
 * may use), isa=auto|portable|avx2|avx512, deterministic=off|run|bitwise, launch=none|auto. auto: the processes that
 * mpirun or srun started are the ranks of every trainer made here (every process calls this, docs/distributed.md).
 * ERR_USAGE names an unknown key and the nearest. */
GNT_API gnt_status gnt_context_create(const char *settings, gnt_context **out);

/* Frees it; NULL is fine, the pointer is cleared. Datasets, models and trainers that are still alive are logged as a warning, by
 * kind, and keep what they use until they are freed, in any order. */
GNT_API void gnt_context_free(gnt_context **ctx);

/* Opens a shared object that exports `gnt_status gnt_plugin_init(gnt_context *)` and calls it; it stays open as long
 * as the context lives. */
GNT_API gnt_status gnt_context_load_plugin(gnt_context *ctx, const char *path);

/* "0.1.0". */
GNT_API const char *gnt_version(void);

#ifdef __cplusplus
}
#endif
#endif
