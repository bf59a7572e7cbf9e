/* SPDX-License-Identifier: Apache-2.0 */
/* How this process was started, from the environment alone: Open MPI's mpirun sets OMPI_COMM_WORLD_*, Slurm's srun sets
 * SLURM_STEP_* and, with --mpi=pmix, PMIX_RANK. What cannot work is refused here, before any library is opened: a launcher
 * of another MPI would start as many jobs of one rank as there are processes, all writing the same run folder.
 */
#include "dist/comm.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A number from 0 on in the environment; missing is -1. ERR_USAGE for anything else. */
static gnt_status read_number(const char *name, int32_t *out)
{
    gnt_status st = GNT_OK;
    const char *text = getenv(name);
    char *end = NULL;
    long value = -1;

    *out = -1;
    if (text == NULL || text[0] == '\0')
        return GNT_OK;
    errno = 0;
    value = strtol(text, &end, 10);
    GNT_CHECK(*end == '\0' && errno == 0 && value >= 0 && value <= INT32_MAX, GNT_ERR_USAGE,
              "environment variable %s is '%s', which is no number of ranks: unset it, or start with mpirun "
              "or srun",
              name, text);
    *out = (int32_t)value;
done:
    return st;
}

/* Slurm's "2(x3),1": tasks of each node; the number of node `node`, or 1. */
static int32_t tasks_of_node(const char *text, int32_t node)
{
    while (text != NULL && *text != '\0') {
        char *end = NULL;
        const long tasks = strtol(text, &end, 10);
        long repeats = 1;

        if (end == text || tasks < 1 || tasks > INT32_MAX)
            return 1;
        if (strncmp(end, "(x", 2) == 0)
            repeats = strtol(end + 2, &end, 10);
        if (*end == ')')
            end++;
        if (node < repeats)
            return (int32_t)tasks;
        node -= (int32_t)repeats;
        text = *end == ',' ? end + 1 : NULL;
    }
    return 1;
}

static gnt_status read_mpirun(gnti_launch *l)
{
    gnt_status st = GNT_OK;

    l->by = "mpirun";
    GNT_TRY(read_number("OMPI_COMM_WORLD_SIZE", &l->size));
    GNT_TRY(read_number("OMPI_COMM_WORLD_RANK", &l->rank));
    GNT_TRY(read_number("OMPI_COMM_WORLD_LOCAL_SIZE", &l->local_size));
    GNT_TRY(read_number("OMPI_COMM_WORLD_LOCAL_RANK", &l->local_rank));
done:
    return st;
}

static gnt_status read_srun(gnti_launch *l)
{
    gnt_status st = GNT_OK;
    int32_t node = 0;

    l->by = "srun";
    GNT_TRY(read_number("SLURM_STEP_NUM_TASKS", &l->size));
    if (l->size < 0)
        GNT_TRY(read_number("SLURM_NTASKS", &l->size));
    GNT_TRY(read_number("SLURM_PROCID", &l->rank));
    GNT_TRY(read_number("SLURM_LOCALID", &l->local_rank));
    GNT_TRY(read_number("SLURM_NODEID", &node));
    l->local_size = tasks_of_node(getenv("SLURM_STEP_TASKS_PER_NODE"), node < 0 ? 0 : node);
    GNT_CHECK(l->size <= 1 || getenv("PMIX_RANK") != NULL, GNT_ERR_USAGE,
              "srun started %d tasks without PMIx, so they cannot find each other: use srun --mpi=pmix",
              (int)l->size);
done:
    return st;
}

/* What sbatch was asked for may contradict itself (--ntasks=1 --ntasks-per-node=2). */
static gnt_status check_slurm(void)
{
    gnt_status st = GNT_OK;
    int32_t tasks = 0, per_node = 0;

    if (getenv("SLURM_JOB_ID") == NULL)
        return GNT_OK;
    GNT_TRY(read_number("SLURM_NTASKS", &tasks));
    GNT_TRY(read_number("SLURM_NTASKS_PER_NODE", &per_node));
    GNT_CHECK(tasks < 0 || per_node < 0 || per_node <= tasks, GNT_ERR_USAGE,
              "Slurm was asked for %d tasks in all (SLURM_NTASKS) but %d a node (SLURM_NTASKS_PER_NODE): "
              "use --ntasks=%d, or --ntasks-per-node=%d",
              (int)tasks, (int)per_node, (int)per_node, (int)tasks);
done:
    return st;
}

static gnt_status check_other_mpi(void)
{
    gnt_status st = GNT_OK;
    int32_t size = 0;

    GNT_TRY(read_number("PMI_SIZE", &size));
    GNT_CHECK(
        size <= 1, GNT_ERR_USAGE,
        "this process is one of %d started by the launcher of another MPI (PMI_SIZE): use Open MPI's mpirun, "
        "or srun --mpi=pmix",
        (int)size);
done:
    return st;
}

gnt_status gnti_launch_detect(gnti_launch *out)
{
    gnt_status st = GNT_OK;
    gnti_launch l = { .rank = 0, .size = 1, .local_rank = 0, .local_size = 1, .by = "none" };

    GNT_CHECK(out != NULL, GNT_ERR_ARG, "out must not be NULL");
    if (gethostname(l.host, sizeof l.host - 1) != 0)
        snprintf(l.host, sizeof l.host, "unknown");
    if (getenv("OMPI_COMM_WORLD_SIZE") != NULL) {
        GNT_TRY(read_mpirun(&l));
    } else {
        GNT_TRY(check_slurm());
        if (getenv("SLURM_STEP_ID") != NULL)
            GNT_TRY(read_srun(&l));
        else
            GNT_TRY(check_other_mpi());
    }
    GNT_CHECK(l.size >= 1 && l.rank >= 0 && l.rank < l.size, GNT_ERR_USAGE,
              "%s says that this is rank %d of %d: start all ranks with one mpirun or srun", l.by,
              (int)l.rank, (int)l.size);
    if (l.local_rank < 0)
        l.local_rank = 0;
    GNT_CHECK(l.local_size < 0 || l.local_rank < l.local_size, GNT_ERR_USAGE,
              "%s says that this is rank %d of the %d on host '%s'", l.by, (int)l.local_rank,
              (int)l.local_size, l.host);
    if (l.local_size < 1)
        l.local_size = 1;
    *out = l;
done:
    return st;
}

gnt_status gnti_launch_check_devices(const gnti_launch *l, int32_t num_devices)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(
        l->size == 1 || num_devices <= 1 || num_devices == l->size, GNT_ERR_USAGE,
        "--devices names %d devices but %s started %d ranks, one device each: use --devices %d, or %s -n %d",
        (int)num_devices, l->by, (int)l->size, (int)l->size, l->by, (int)num_devices);
done:
    return st;
}
