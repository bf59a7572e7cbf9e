/* SPDX-License-Identifier: Apache-2.0 */
/* What the command and plug-ins need beyond the stable interface. No promise: it changes with every version.
 * Functions are called gntx_*; modules add theirs below under their heading.
 */
#ifndef GNNTRAIN_EXPERIMENTAL_H
#define GNNTRAIN_EXPERIMENTAL_H

#include <gnntrain/gnntrain.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- options (base/) ---- */

/* ---- charts and pages (report/) ---- */

/* ---- import, generate, check, info, split (datasets/) ---- */

/* ---- explain, estimate (nn/) ---- */

/* ---- training, evaluation, prediction (train/) ---- */
/* The options of gnt_trainer_config, one row a field. Texts of a config filled through the table are owned by it. */
GNT_API const gnt_option *gntx_trainer_options(void);

#ifdef __cplusplus
}
#endif
#endif
