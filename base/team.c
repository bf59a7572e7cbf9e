/* SPDX-License-Identifier: Apache-2.0 */
/* Cores we may use: sched_getaffinity with a mask that grows until the kernel's fits, and the tightest
 * cpu.max on the way from our control group to the root. The number of cores in the machine is never asked
 * for: in containers and batch jobs it is the wrong one.
 */
#include "base/team.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int32_t affinity_cores(void)
{
    int32_t cores = 1;

    for (int size = 1024; size <= 1 << 20; size *= 4) {
        cpu_set_t *set = CPU_ALLOC((size_t)size);
        const size_t bytes = CPU_ALLOC_SIZE((size_t)size);
        const bool known = set != NULL && sched_getaffinity(0, bytes, set) == 0;
        const bool too_small = !known && set != NULL && errno == EINVAL;

        if (known)
            cores = CPU_COUNT_S(bytes, set);
        CPU_FREE(set);
        if (!too_small)
            break;
    }
    return cores < 1 ? 1 : cores;
}

int32_t gnti_team_quota(const char *cpu_max)
{
    long long quota = 0, period = 0;

    if (sscanf(cpu_max, "%lld %lld", &quota, &period) != 2 || quota <= 0 || period <= 0)
        return 0; /* "max 100000": no limit */
    const long long cores = (quota + period - 1) / period;

    return cores > GNTI_TEAM_MAX_THREADS ? GNTI_TEAM_MAX_THREADS : (int32_t)cores;
}

/* Text of a small system file into out, "" when there is none; leaves the error record alone. */
static void read_system_file(const char *path, char *out, size_t out_bytes)
{
    FILE *f = fopen(path, "re");
    size_t n = 0;

    if (f != NULL) {
        n = fread(out, 1, out_bytes - 1, f);
        fclose(f);
    }
    out[n] = '\0';
}

static int32_t cgroup_cores(void)
{
    char text[4096], path[4096 + 64], value[64];
    char *group, *slash;
    int32_t tightest = 0;

    read_system_file("/proc/self/cgroup", text, sizeof text);
    group = strstr(text, "0::/");
    if (group == NULL)
        return 0;
    group += 3;
    group[strcspn(group, "\n")] = '\0';
    do {
        snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group);
        read_system_file(path, value, sizeof value);
        const int32_t quota = gnti_team_quota(value);

        if (quota > 0 && (tightest == 0 || quota < tightest))
            tightest = quota;
        slash = strrchr(group, '/');
        if (slash != NULL)
            *slash = '\0';
    } while (slash != NULL);
    return tightest;
}

int32_t gnti_team_cores(void)
{
    const int32_t cores = affinity_cores(), quota = cgroup_cores();

    return quota > 0 && quota < cores ? quota : cores;
}

gnt_status gnti_team_threads(int64_t asked, int32_t ranks_here, int32_t *out)
{
    gnt_status st = GNT_OK;
    const char *text = getenv("GNNTRAIN_THREADS");
    int64_t value = asked;

    GNT_CHECK(asked >= 0 && asked <= GNTI_TEAM_MAX_THREADS, GNT_ERR_USAGE,
              "%lld threads: use 1 to %d, or 0 for all cores", (long long)asked, GNTI_TEAM_MAX_THREADS);
    if (asked == 0 && text != NULL && text[0] != '\0')
        GNT_CHECK(gnti_parse_int64(text, strlen(text), &value) == GNTI_PARSE_OK && value >= 0 &&
                      value <= GNTI_TEAM_MAX_THREADS,
                  GNT_ERR_USAGE, "environment variable GNNTRAIN_THREADS: '%s' is not a number from 0 to %d",
                  text, GNTI_TEAM_MAX_THREADS);
    if (value == 0)
        value = gnti_max_i64(1, gnti_team_cores() / (ranks_here < 1 ? 1 : ranks_here));
    *out = (int32_t)value;
done:
    return st;
}
