/* SPDX-License-Identifier: Apache-2.0 */
/* How many threads a rank uses. The answer is handed to each parallel region by num_threads; nothing here
 * changes a setting of the process.
 */
#ifndef GNTI_BASE_TEAM_H
#define GNTI_BASE_TEAM_H

#include <gnntrain/status.h>

#include <stdint.h>

enum { GNTI_TEAM_MAX_THREADS = 1024 };

/* Cores this process may use: its affinity, cut by the control group's quota (rounded up); at least 1. */
int32_t gnti_team_cores(void);

/* asked > 0: that many. Else GNNTRAIN_THREADS, else max(1, cores / ranks on this host). ERR_USAGE for a
 * GNNTRAIN_THREADS that is no number from 1 to 1024. */
gnt_status gnti_team_threads(int64_t asked, int32_t ranks_here, int32_t *out);

/* The quota in a cgroup v2 cpu.max text ("200000 100000" is 2), 0 for none; split off to be tested. */
int32_t gnti_team_quota(const char *cpu_max);

#endif
