/* SPDX-License-Identifier: Apache-2.0 */
/* Energy that the machine's own meters have counted: processors by RAPL (Linux powercap files), GPUs by NVML, the driver's library.
 *
 *   RAPL   <root>/intel-rapl:N/energy_uj, one counter a package in microjoules; it starts anew behind max_energy_range_uj, so
 *          it must be read at least once in that many (minutes at full power). Parts of a package are not added to it.
 *   NVML   nvmlDeviceGetTotalEnergyConsumption, millijoules since the driver was loaded (Volta and later)
 * Meters count the whole device, whoever uses it. Where neither can be read (virtual machines mostly, or without rights), callers
 * state a model instead and say so.
 */
#ifndef GNTI_BASE_ENERGY_H
#define GNTI_BASE_ENERGY_H

#include "base/check.h"

typedef struct gnti_energy gnti_energy;

/* root NULL: /sys/class/powercap; library NULL: the driver's. Never fails for want of meters, which sources then tells. */
gnt_status gnti_energy_open(const char *root, const char *library, gnti_energy **out);
void gnti_energy_free(gnti_energy **e);

/* "rapl", "nvml", "rapl+nvml", or "none". */
const char *gnti_energy_sources(const gnti_energy *e);
/* Joules since it was opened, of all meters; 0 where there is none. Allocates nothing. One thread at a time. */
double gnti_energy_joules(gnti_energy *e);

#endif
