/* SPDX-License-Identifier: Apache-2.0 */
/* The synchronisation object and its bulk synchronous policy (Valiant, CACM 1990).
 *
 * done[r] is the newest step whose share of rank r has arrived, -1 before the first. BSP needs done[r] >=
 * step of all present ranks before step + 1 begins. With one rank that is our own share, so nobody is waited
 * for.
 */
#include "train/sync.h"

#include "base/alloc.h"

#include <string.h>

typedef struct sync_policy {
    const char *name;
    /* Whether the share of a rank that finished `done` is missing for the end of `step`. */
    bool (*is_missing)(int64_t done, int64_t step);
} sync_policy;

struct gnti_sync {
    const sync_policy *policy;
    gnti_comm *comm;
    int64_t *done;    /* (size) */
    uint8_t *present; /* (size) */
};

static bool bsp_is_missing(int64_t done, int64_t step)
{
    return done < step;
}

static const sync_policy policies[] = { { "bsp", bsp_is_missing } };

gnt_status gnti_sync_create(const char *policy, gnti_comm *comm, gnti_sync **out)
{
    gnt_status st = GNT_OK;
    gnti_sync *s = NULL;

    GNT_CHECK(policy != NULL && comm != NULL && out != NULL, GNT_ERR_ARG,
              "policy, communicator and out must not be NULL");
    GNT_CHECK(strcmp(policy, policies[0].name) == 0, GNT_ERR_USAGE,
              "no synchronisation policy '%s', there is: %s", policy, policies[0].name);
    GNT_TRY(gnti_calloc_array(&s, 1));
    s->policy = &policies[0];
    s->comm = comm;
    GNT_TRY(gnti_alloc_array(&s->done, comm->size));
    GNT_TRY(gnti_alloc_array(&s->present, comm->size));
    for (int32_t r = 0; r < comm->size; r++) {
        s->done[r] = -1;
        s->present[r] = 1;
    }
    *out = s;
    s = NULL;
done:
    gnti_sync_free(&s);
    return st;
}

void gnti_sync_free(gnti_sync **sync)
{
    if (sync == NULL || *sync == NULL)
        return;
    gnti_free((*sync)->done);
    gnti_free((*sync)->present);
    gnti_free(*sync);
    *sync = NULL;
}

int32_t gnti_sync_whom(const gnti_sync *sync, int64_t step, int32_t *ranks)
{
    int32_t count = 0;

    for (int32_t r = 0; r < sync->comm->size; r++)
        if (sync->present[r] && sync->policy->is_missing(sync->done[r], step))
            ranks[count++] = r;
    return count;
}

gnt_status gnti_sync_begin(gnti_sync *sync, int64_t step)
{
    gnt_status st = GNT_OK;

    for (int32_t r = 0; r < sync->comm->size; r++) {
        const int64_t newest = sync->done[r];

        /* the first step of a run, or of one that resumes, has no step before it */
        GNT_CHECK(!sync->present[r] || newest < 0 || !sync->policy->is_missing(newest, step - 1),
                  GNT_ERR_STATE, "step %lld begins but rank %d has finished only step %lld", (long long)step,
                  (int)r, (long long)newest);
    }
done:
    return st;
}

void gnti_sync_local_done(gnti_sync *sync, int64_t step)
{
    gnti_sync_peer_done(sync, sync->comm->rank, step);
}

void gnti_sync_peer_done(gnti_sync *sync, int32_t rank, int64_t step)
{
    GNT_ASSERT(rank >= 0 && rank < sync->comm->size);
    sync->done[rank] = step > sync->done[rank] ? step : sync->done[rank];
}

void gnti_sync_membership(gnti_sync *sync, int32_t rank, bool present)
{
    GNT_ASSERT(rank >= 0 && rank < sync->comm->size);
    sync->present[rank] = present;
    sync->done[rank] = -1;
}

gnt_status gnti_sync_merge(gnti_sync *sync, int64_t step, bool *stop)
{
    gnt_status st = GNT_OK;
    int32_t flag = *stop ? 1 : 0;
    const gnti_all_reduce_args any = { &flag, 1, GNT_I32, GNTI_COMM_MAX };

    gnti_sync_local_done(sync, step);
    GNT_TRY(gnti_comm_all_reduce(sync->comm, &any)); /* returns when every rank has come this far */
    for (int32_t r = 0; r < sync->comm->size; r++)
        gnti_sync_peer_done(sync, r, step);
    *stop = flag != 0;
done:
    return st;
}
