/* SPDX-License-Identifier: Apache-2.0 */
/* What both estimates share: that of one device on the whole graph (estimate.c) and that of ranks (estimate_ranks.c). */
#ifndef GNTI_TRAIN_ESTIMATE_H
#define GNTI_TRAIN_ESTIMATE_H

#include "base/json.h"
#include "train/config.h"

/* What this process holds, and the arrays of a dataset of which it has the header alone. */
int64_t gnti_estimate_process(const gnt_dataset *data);
int64_t gnti_estimate_available(void); /* of the machine, now; 0: unknown */

/* {"devices": [{"device", "rows", "arcs", "halo_rows", "device_bytes", "host_bytes", "total_bytes", "limit_bytes", "seconds"}],
 * "step_seconds", "total_bytes", "available_bytes", "fits", "assumed", "knobs"}. */
gnt_status gnti_estimate_ranks(const gnt_model *model, const gnt_dataset *data,
                               const gnt_trainer_config *config, gnti_json **out);

#endif
