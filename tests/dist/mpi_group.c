/* SPDX-License-Identifier: Apache-2.0 */
/* One rank of an MPI job whose ranks have a device of the stand-in each, for the scripts beside it: mpirun -n N mpi_group MODE.
 *
 *   cases SEEDS      random plans, queued and captured; parts of a split; groups made anew
 *   file PATH        ranks meet by files
 *   steps N LIMIT    captured steps until something is wrong, under a time limit; "ready" after the first
 *   mistake NAME     the last rank does that wrong: count, type, operation, order, alone (it sends and nobody receives)
 * Exits as mpi_rank does; 99: the stand-in found a broken rule.
 */
#include "tests/hostcuda/group_plan.h"

static gnt_status run_cases(gnti_comm *comm, int seeds)
{
    gnt_status st = GNT_OK;
    int rounds = 12;

    for (int seed = 1; seed <= seeds; seed++) {
        plan p = { (uint32_t)seed, comm->size };

        group_case_reset("4M,4M,4M,4M", seed, NULL);
        GNT_TRY(run_plan(comm, &p));
        group_case_check_clean();
        group_case_reset("4M,4M,4M,4M", seed, NULL);
        GNT_TRY(run_captured(comm, &p));
        group_case_check_clean();
        group_case_reset("4M,4M,4M,4M", seed, NULL);
        if (comm->size > 2)
            GNT_TRY(run_split(comm, NULL));
        group_case_check_clean();
    }
    group_case_reset("4M,4M,4M,4M", 1, NULL);
    if (comm->size == 3)
        GNT_TRY(run_anew(comm, &rounds));
    group_case_check_clean();
done:
    return st;
}

static gnt_status run_file(gnti_comm *comm, const char *path)
{
    gnt_status st = GNT_OK;
    meeting_place place = { .time_limit = 30.0 };

    snprintf(place.path, sizeof place.path, "%s", path);
    group_case_reset("4M,4M,4M", 1, NULL);
    GNT_TRY(run_by_file(comm, &place));
    group_case_check_clean();
done:
    return st;
}

enum { VALUES = 64 };

static gnt_status queue_sum(const group_rank *r, int64_t count, gnt_dtype dtype, gnti_comm_op op)
{
    return gnti_group_all_reduce(r->group, r->talk, &(gnti_group_sum){ r->data, 0, count, dtype, op });
}

static gnt_status queue_ring(const group_rank *r, size_t bytes)
{
    const int32_t size = r->group->meeting.size, me = r->group->meeting.rank;
    const gnti_group_peer peers[] = {
        { (me + 1) % size, r->data, 0, bytes, NULL, 0, 0 },
        { (me + size - 1) % size, NULL, 0, 0, r->data, (size_t)4 * VALUES, (size_t)4 * VALUES },
    };

    return gnti_group_exchange(r->group, r->talk, peers, 2);
}

static gnt_status queue_step(const group_rank *r, const char *mistake)
{
    gnt_status st = GNT_OK;
    const bool order = strcmp(mistake, "order") == 0;
    const gnti_group_peer alone = {
        (r->group->meeting.rank + 1) % r->group->meeting.size, r->data, 0, 4, NULL, 0, 0
    };

    GNT_TRY(group_rank_to_talk(r));
    if (order)
        GNT_TRY(queue_ring(r, (size_t)4 * VALUES));
    GNT_TRY(queue_sum(r, VALUES, strcmp(mistake, "type") == 0 ? GNT_I32 : GNT_F32,
                      strcmp(mistake, "operation") == 0 ? GNTI_COMM_MAX : GNTI_COMM_SUM));
    if (!order)
        GNT_TRY(queue_ring(r, (size_t)4 * VALUES - (strcmp(mistake, "count") == 0 ? 4 : 0)));
    if (strcmp(mistake, "alone") == 0)
        GNT_TRY(gnti_group_exchange(r->group, r->talk, &alone, 1));
    GNT_TRY(group_rank_from_talk(r));
done:
    return st;
}

static gnt_status run_steps(gnti_comm *comm, int64_t steps, double limit, const char *mistake)
{
    gnt_status st = GNT_OK;
    group_rank r = { 0 };
    gnt_capture *step = NULL;

    hostcuda_reset(); /* settings are the caller's */
    gnti_device_plugin_set(&gnti_cuda_plugin);
    GNT_TRY(group_rank_open(&r, comm->rank, (size_t)8 * VALUES));
    comm->time_limit = limit;
    GNT_TRY(gnti_group_create(comm, r.dev, &r.group));
    GNT_TRY(gnti_capture_begin(r.compute));
    GNT_TRY(queue_step(&r, comm->rank == comm->size - 1 ? mistake : ""));
    GNT_TRY(gnti_capture_end(r.compute, &step));
    for (int64_t i = 0; i < steps; i++) {
        GNT_TRY(gnti_capture_launch(r.compute, step));
        GNT_TRY(gnti_group_wait(r.group, r.compute, "a step"));
        if (i == 0 && comm->rank == 0) {
            printf("ready\n");
            fflush(stdout);
        }
    }
done:
    gnti_capture_free(r.compute, &step);
    group_rank_close(&r);
    if (st != GNT_OK)
        gnti_comm_abort(comm, gnt_last_error());
    return st;
}

static gnt_status run_mode(gnti_comm *c, int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "", *first = argc > 2 ? argv[2] : "1";

    if (strcmp(mode, "cases") == 0)
        return run_cases(c, atoi(first));
    if (strcmp(mode, "file") == 0)
        return run_file(c, first);
    if (strcmp(mode, "steps") == 0)
        return run_steps(c, strtoll(first, NULL, 10), argc > 3 ? strtod(argv[3], NULL) : 30.0, "");
    return run_steps(c, 4, 30.0, first);
}

int main(int argc, char **argv)
{
    gnt_status st = GNT_OK;
    gnti_comm *c = NULL;
    int32_t rank = -1;

    GNT_TRY(gnti_comm_mpi_create(&c));
    rank = c->rank;
    GNT_TRY(run_mode(c, argc, argv));
done:
    if (st != GNT_OK)
        fprintf(stderr, "mpi_group: rank %d: %s: %s\n", (int)rank, gnt_status_name(st), gnt_last_error());
    gnti_comm_free(&c);
    return st == GNT_OK ? 0 : st == GNT_ERR_PEER_LOST || st == GNT_ERR_TIMEOUT ? 5 : 1;
}
