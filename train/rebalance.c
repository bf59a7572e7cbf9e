/* SPDX-License-Identifier: Apache-2.0 */
/* Moves chunks between epochs when the ranks' measured seconds have drifted apart (train/drift.h decides when). The devices
 * stay, with their clocks; only what they own changes.
 */
#include "train/run_folder.h"

#include "base/alloc.h"
#include "base/log.h"

#include <string.h>

/* On the wall clock making the ranks anew must pay: this many times its cost has to be won by the end of the run. */
#define PAYBACK 1.5

gnt_status gnti_trainer_watch(gnt_trainer *tr)
{
    gnt_status st = GNT_OK;
    const int32_t size = tr->job.place.size;

    gnti_drift_free(&tr->drift);
    gnti_free(tr->rank_work);
    tr->rank_work = NULL;
    if (size == 1 || tr->config.balance != 0)
        return GNT_OK;
    GNT_TRY(gnti_alloc_array(&tr->rank_work, size));
    GNT_TRY(gnti_drift_create(size, &tr->drift));
done:
    return st;
}

/* Predicted seconds of what each rank owns. */
static void add_work(gnt_trainer *tr)
{
    const gnti_placement *place = &tr->job.place;

    memset(tr->rank_work, 0, (size_t)place->size * sizeof *tr->rank_work);
    for (int32_t k = 0; k < tr->job.partition->num_chunks; k++)
        tr->rank_work[place->owner[k]] += tr->job.cost[k];
}

/* Whether what is won until the end pays for the move. */
static bool pays(const gnt_trainer *tr)
{
    const bool virtual_clock = tr->job.place.specs[0].virtual_clock;
    const double left = (double)(tr->config.epochs - tr->epoch);
    double most = 0.0, sum = 0.0;

    for (int32_t d = 0; d < tr->job.place.size; d++) {
        most = tr->rank_seconds[d] > most ? tr->rank_seconds[d] : most;
        sum += tr->rank_seconds[d];
    }
    return virtual_clock || left * (most - sum / tr->job.place.size) > PAYBACK * tr->setup_seconds;
}

/* Devices that were never seen are taken as the slowest that was. */
static void fill_speeds(gnti_drift *b)
{
    double least = 0.0;

    for (int32_t d = 0; d < b->num_devices; d++)
        if (b->speed[d] > 0.0 && (least == 0.0 || b->speed[d] < least))
            least = b->speed[d];
    for (int32_t d = 0; d < b->num_devices; d++)
        if (b->speed[d] <= 0.0)
            b->speed[d] = least;
}

gnt_status gnti_trainer_rebalance(gnt_trainer *tr)
{
    gnt_status st = GNT_OK;
    gnti_moves moved = { 0 };
    gnti_device_spec *specs = NULL;
    const int32_t size = tr->job.place.size;
    bool move = false;

    if (tr->drift == NULL || gnti_trainer_is_complete(tr))
        return GNT_OK;
    add_work(tr);
    gnti_drift_observe(tr->drift, tr->rank_seconds, tr->rank_work, &move);
    move = move && pays(tr);
    GNT_TRY(gnti_trainer_share_flag(tr, &move)); /* setup seconds differ by process */
    if (!move)
        return GNT_OK;
    fill_speeds(tr->drift);
    GNT_TRY(gnti_alloc_array(&specs, size));
    memcpy(specs, tr->job.place.specs, (size_t)size * sizeof *specs);
    GNT_TRY(gnti_trainer_move(tr, specs, size, tr->drift->speed, &moved));
    if (moved.num_chunks == 0)
        return GNT_OK;
    gnti_log(GNT_LOG_INFO, "train", "after epoch %lld: %d chunks moved, as measured seconds had drifted",
             (long long)tr->epoch, (int)moved.num_chunks);
    if (tr->run != NULL)
        GNT_TRY(gnti_run_log(tr->run, "after epoch %lld: %d chunks moved, as measured seconds had drifted",
                             (long long)tr->epoch, (int)moved.num_chunks));
done:
    return st;
}
