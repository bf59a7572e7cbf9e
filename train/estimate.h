/* SPDX-License-Identifier: Apache-2.0 */
/* What both estimates share: that of one device on the whole graph (estimate.c) and that of ranks (estimate_ranks.c). */
#ifndef GNTI_TRAIN_ESTIMATE_H
#define GNTI_TRAIN_ESTIMATE_H

#include "base/json.h"
#include "train/config.h"

/* What this process holds, and the arrays of a dataset of which it has the header alone. */
int64_t gnti_estimate_process(const gnt_dataset *data);
int64_t gnti_estimate_available(void); /* of the machine, now; 0: unknown */
/* Whether a device holds what it computes in memory of its own, beside the process'; free_bytes (may be NULL): how much of it is
 * free, 0: not known. number: as of gnti_device_open_spec. */
bool gnti_estimate_own_memory(const gnti_device_spec *spec, int32_t number, int64_t *free_bytes);

/* {"devices": [{"device", "rows", "arcs", "halo_rows", "device_bytes", "host_bytes", "total_bytes", "limit_bytes", "seconds"}],
 * "step_seconds", "total_bytes", "available_bytes", "fits", "assumed", "knobs"}. */
gnt_status gnti_estimate_ranks(const gnt_model *model, const gnt_dataset *data,
                               const gnt_trainer_config *config, gnti_json **out);

#endif
