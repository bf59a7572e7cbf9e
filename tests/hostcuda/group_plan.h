/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank with a device does in tests of groups, whether it is a thread or a process: a random plan of messages, sums and
 * broadcasts, queued one by one or captured, compared with the same over the communicator; parts of a split; a meeting by files;
 * groups made anew. */
#ifndef GNT_GROUP_PLAN_H
#define GNT_GROUP_PLAN_H

#include "tests/hostcuda/group_case.h"

#include <dirent.h>

enum {
    MAX_SIZE = 4,
    MAX_ROWS = 12,
    WIDTH = 3,
    OWN = 40,
    STEPS = 6,
    FLOATS = OWN + MAX_SIZE * MAX_ROWS * WIDTH
};

static inline uint32_t draw(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    uint32_t h = a * 0x9e3779b1u ^ b * 0x85ebca6bu ^ c * 0xc2b2ae35u ^ d * 0x27d4eb2fu;

    h ^= h >> 15;
    h *= 0x2c1b3c6du;
    return h ^ (h >> 13);
}

typedef struct plan {
    uint32_t seed;
    int32_t size;
} plan;

/* Bytes from one rank to another in a step, and where they start among the sender's own values. */
static inline size_t message_bytes(const plan *p, uint32_t step, int32_t from, int32_t to)
{
    if (from == to || draw(p->seed, step, (uint32_t)from, 100 + (uint32_t)to) % 4 == 0)
        return 0;
    return draw(p->seed, step, (uint32_t)from, (uint32_t)to) % MAX_ROWS * WIDTH * sizeof(float);
}

static inline size_t message_start(const plan *p, uint32_t step, int32_t from, int32_t to)
{
    return draw(p->seed, step, (uint32_t)to, 200 + (uint32_t)from) % 4 * sizeof(float);
}

enum { STEP_EXCHANGE, STEP_SUM, STEP_BROADCAST };
static inline int step_kind(const plan *p, uint32_t step)
{
    const uint32_t d = draw(p->seed, step, 1, 2) % 4;

    return d < 2 ? STEP_EXCHANGE : d == 2 ? STEP_SUM : STEP_BROADCAST;
}

static inline int32_t step_root(const plan *p, uint32_t step)
{
    return (int32_t)(draw(p->seed, step, 3, 4) % (uint32_t)p->size);
}

/* The halo of each peer lies behind the own values, MAX_ROWS rows apart. */
static inline size_t landing(int32_t from)
{
    return (OWN + (size_t)from * MAX_ROWS * WIDTH) * sizeof(float);
}

static inline gnti_comm_op step_op(const plan *p, uint32_t step)
{
    return (gnti_comm_op)(draw(p->seed, step, 5, 6) % 3);
}

/* One step on the host: what is right. */
static inline gnt_status step_on_host(const plan *p, uint32_t step, gnti_comm *comm, float *data)
{
    gnt_status st = GNT_OK;
    gnti_comm_peer peers[MAX_SIZE] = { 0 };
    gnti_exchange *x = NULL;
    char *bytes = (char *)data;

    if (step_kind(p, step) == STEP_SUM)
        return gnti_comm_all_reduce(comm, &(gnti_all_reduce_args){ data, OWN, GNT_F32, step_op(p, step) });
    if (step_kind(p, step) == STEP_BROADCAST)
        return gnti_comm_broadcast(comm, step_root(p, step), data, OWN * sizeof(float));
    for (int32_t r = 0; r < p->size; r++)
        peers[r] = (gnti_comm_peer){ r,
                                     bytes + message_start(p, step, comm->rank, r),
                                     message_bytes(p, step, comm->rank, r),
                                     bytes + landing(r),
                                     message_bytes(p, step, r, comm->rank),
                                     { 0 } };
    GNT_TRY(gnti_comm_exchange_start(comm, peers, p->size, &x));
    GNT_TRY(gnti_comm_exchange_finish(&x));
done:
    return st;
}

/* The same, queued on the stream that talks. */
static inline gnt_status step_on_device(const plan *p, uint32_t step, const group_rank *r)
{
    gnt_status st = GNT_OK;
    const int32_t me = r->group->meeting.rank;
    gnti_group_peer peers[MAX_SIZE] = { 0 };

    GNT_TRY(group_rank_to_talk(r));
    if (step_kind(p, step) == STEP_SUM)
        GNT_TRY(gnti_group_all_reduce(r->group, r->talk,
                                      &(gnti_group_sum){ r->data, 0, OWN, GNT_F32, step_op(p, step) }));
    if (step_kind(p, step) == STEP_BROADCAST)
        GNT_TRY(gnti_group_broadcast(r->group, r->talk, step_root(p, step), r->data, 0, OWN * sizeof(float)));
    for (int32_t i = 0; i < p->size; i++) {
        const int32_t peer = (i + me) % p->size; /* any order will do */

        peers[i] = (gnti_group_peer){
            peer,    r->data,       message_start(p, step, me, peer), message_bytes(p, step, me, peer),
            r->data, landing(peer), message_bytes(p, step, peer, me)
        };
    }
    if (step_kind(p, step) == STEP_EXCHANGE)
        GNT_TRY(gnti_group_exchange(r->group, r->talk, peers, p->size));
    GNT_TRY(group_rank_from_talk(r));
done:
    return st;
}

static inline void fill(const plan *p, int32_t rank, float *data)
{
    for (uint32_t i = 0; i < FLOATS; i++)
        data[i] = (float)((int)(draw(p->seed, 50, (uint32_t)rank, i) % 15) - 7);
}

/* Own values after sums grow, so they stay exact only for few steps; all are. */
static inline gnt_status run_plan(gnti_comm *comm, void *user)
{
    gnt_status st = GNT_OK;
    const plan *p = user;
    group_rank r = { 0 };
    float want[FLOATS], got[FLOATS];

    GNT_TRY(group_rank_open(&r, comm->rank, sizeof got));
    GNT_TRY(gnti_group_create(comm, r.dev, &r.group));
    fill(p, comm->rank, want);
    GNT_TRY(gnti_upload(r.compute, r.data, 0, want, sizeof want));
    for (uint32_t step = 0; step < STEPS; step++) {
        GNT_TRY(step_on_host(p, step, comm, want));
        GNT_TRY(step_on_device(p, step, &r));
    }
    GNT_TRY(gnti_download(r.compute, got, r.data, 0, sizeof got));
    GNT_TRY(gnti_group_wait(r.group, r.compute, "the plan"));
    for (int i = 0; i < FLOATS; i++)
        GNT_CHECK(got[i] == want[i], GNT_ERR_INTERNAL, "value %d of rank %d is %g instead of %g", i,
                  (int)comm->rank, (double)got[i], (double)want[i]);
done:
    group_rank_close(&r);
    return st;
}

/* ---- captured -------------------------------------------------------------------------------------------------------- */

static inline gnt_status capture(const plan *p, const group_rank *r, gnt_capture **out)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_capture_begin(r->compute));
    for (uint32_t step = 0; step < 3; step++)
        GNT_TRY(step_on_device(p, step, r));
    GNT_TRY(gnti_capture_end(r->compute, out));
done:
    return st;
}

static inline gnt_status run_captured(gnti_comm *comm, void *user)
{
    gnt_status st = GNT_OK;
    const plan *p = user;
    group_rank r = { 0 };
    gnt_capture *step = NULL;
    float want[FLOATS], got[FLOATS];
    bool done = false;

    GNT_TRY(group_rank_open(&r, comm->rank, sizeof got));
    GNT_TRY(gnti_group_create(comm, r.dev, &r.group));
    fill(p, comm->rank, want);
    GNT_TRY(gnti_upload(r.compute, r.data, 0, want, sizeof want));
    GNT_TRY(gnti_group_wait(r.group, r.compute, "upload"));
    GNT_TRY(capture(p, &r, &step));
    for (int i = 0; i < 3; i++) {
        GNT_TRY(gnti_capture_launch(r.compute, step));
        for (uint32_t s = 0; s < 3; s++)
            GNT_TRY(step_on_host(p, s, comm, want));
        while (i == 1 && !done) /* a look now and then, instead of a wait */
            GNT_TRY(gnti_group_poll(r.group, r.compute, "step", &done));
    }
    GNT_TRY(gnti_download(r.compute, got, r.data, 0, sizeof got));
    GNT_TRY(gnti_group_wait(r.group, r.compute, "the last step"));
    for (int i = 0; i < FLOATS; i++)
        GNT_CHECK(got[i] == want[i], GNT_ERR_INTERNAL, "value %d of rank %d is %g instead of %g", i,
                  (int)comm->rank, (double)got[i], (double)want[i]);
done:
    gnti_capture_free(r.compute, &step);
    group_rank_close(&r);
    return st;
}

/* ---- parts ----------------------------------------------------------------------------------------------------------- */

static inline gnt_status sum_of_ranks(const group_rank *r, gnti_group *g, gnt_dtype dtype, double *out)
{
    gnt_status st = GNT_OK;
    double value = *out;

    GNT_TRY(gnti_upload(r->compute, r->data, 0, &value, sizeof value));
    GNT_TRY(gnti_group_all_reduce(g, r->compute, &(gnti_group_sum){ r->data, 0, 1, dtype, GNTI_COMM_SUM }));
    GNT_TRY(gnti_download(r->compute, out, r->data, 0, sizeof value));
    GNT_TRY(gnti_group_wait(g, r->compute, "a sum"));
done:
    return st;
}

/* Even ranks and odd ones, the last rank in none. */
static inline gnt_status run_split(gnti_comm *comm, void *user)
{
    gnt_status st = GNT_OK;
    const bool in_none = comm->rank == comm->size - 1;
    const int32_t color = in_none ? -1 : comm->rank % 2;
    group_rank r = { 0 };
    gnti_group *part = NULL;
    gnti_comm *part_comm = NULL;
    double value = comm->rank + 1;

    (void)user;
    GNT_TRY(group_rank_open(&r, comm->rank, 64));
    GNT_TRY(gnti_group_create(comm, r.dev, &r.group));
    GNT_TRY(gnti_comm_split(comm, color, -comm->rank, &part_comm));
    GNT_TRY(gnti_group_split(r.group, color, -comm->rank, part_comm, &part));
    GNT_RANK_CHECK((part == NULL) == in_none);
    if (part != NULL) {
        GNT_RANK_CHECK(part->meeting.rank == (comm->rank < 2 && comm->size > 3 ? part->meeting.size - 1 : 0));
        GNT_TRY(sum_of_ranks(&r, part, GNT_F64, &value));
        GNT_RANK_CHECK(value == (color == 0 && comm->size > 3 ? 4.0 : (double)(comm->rank + 1)));
        GNT_RANK_CHECK(sum_of_ranks(&r, r.group, GNT_F64, &value) == GNT_ERR_STATE);
    }
    gnti_group_free(&part);
    gnti_comm_free(&part_comm);
    GNT_TRY(gnti_comm_barrier(comm));
    value = comm->rank + 1;
    GNT_TRY(sum_of_ranks(&r, r.group, GNT_F64, &value));
    GNT_RANK_CHECK(value == comm->size * (comm->size + 1) / 2);
done:
    gnti_group_free(&part);
    gnti_comm_free(&part_comm);
    group_rank_close(&r);
    return st;
}

/* ---- other ways to meet ---------------------------------------------------------------------------------------------- */

typedef struct meeting_place {
    char path[512];
    double time_limit;
} meeting_place;

static inline gnt_status run_by_file(gnti_comm *comm, void *user)
{
    gnt_status st = GNT_OK;
    const meeting_place *place = user;
    group_rank r = { 0 };
    double value = comm->rank + 1;

    GNT_TRY(group_rank_open(&r, comm->rank, 64));
    GNT_TRY(
        gnti_group_create_by_file(place->path, comm->rank, comm->size, place->time_limit, r.dev, &r.group));
    GNT_TRY(sum_of_ranks(&r, r.group, GNT_F64, &value));
    GNT_RANK_CHECK(value == 6.0);
done:
    group_rank_close(&r);
    return st;
}

/* Handles of libraries, allocations and open files, which rounds of a resize must not add to. */
typedef struct group_left {
    int64_t handles, allocations, files;
} group_left;

static inline group_left group_count_left(void)
{
    hostcuda_counts c;
    group_left left = { 0 };
    DIR *d = opendir("/proc/self/fd");

    hostcuda_get_counts(&c);
    left.handles = c.handles;
    left.allocations = c.live_allocations;
    while (d != NULL && readdir(d) != NULL)
        left.files++;
    if (d != NULL)
        closedir(d);
    return left;
}

/* As after resizes: the devices of two ranks of three, then all of them again, so many times. */
static inline gnt_status run_anew(gnti_comm *comm, void *user)
{
    gnt_status st = GNT_OK;
    group_rank r = { 0 };
    gnti_comm *fewer = NULL;
    group_left first = { 0 };

    GNT_TRY(group_rank_open(&r, comm->rank, 64));
    for (int round = 0; round < *(const int *)user; round++) {
        const bool all = round % 2 == 0;
        double value = 1.0;

        if (!all)
            GNT_TRY(gnti_comm_split(comm, comm->rank < 2 ? 0 : -1, comm->rank, &fewer));
        if (all || fewer != NULL) {
            GNT_TRY(gnti_group_create(all ? comm : fewer, r.dev, &r.group));
            GNT_TRY(sum_of_ranks(&r, r.group, GNT_F64, &value));
            GNT_RANK_CHECK(value == (all ? 3.0 : 2.0));
            gnti_group_free(&r.group);
        }
        gnti_comm_free(&fewer);
        GNT_TRY(gnti_comm_barrier(comm));
        const group_left now = group_count_left();
        first = round < 2 ? now : first;
        GNT_CHECK(now.handles <= first.handles && now.allocations <= first.allocations &&
                      now.files <= first.files + 2, /* one that is about to be closed */
                  GNT_ERR_INTERNAL,
                  "round %d leaves %lld handles, %lld allocations, %lld files; %lld, %lld, %lld before",
                  round, (long long)now.handles, (long long)now.allocations, (long long)now.files,
                  (long long)first.handles, (long long)first.allocations, (long long)first.files);
        GNT_TRY(gnti_comm_barrier(comm));
    }
done:
    group_rank_close(&r);
    return st;
}

#endif
