/* SPDX-License-Identifier: Apache-2.0 */
/* What each rank of the job owns and how long it computed in the newest epoch: what balancing looks at and summary.json shows.
 * Every process has the whole table.
 */
#include "train/trainer_state.h"

#include "base/alloc.h"
#include "base/json.h"

#include <string.h>

enum { ROWS, ARCS, HALO_ROWS, DEVICE_BYTES, NUM_COUNTS };

gnt_status gnti_trainer_count_ranks(gnt_trainer *tr)
{
    gnt_status st = GNT_OK;
    const gnti_placement *place = &tr->job.place;
    int64_t *counts = NULL;
    double *seconds = NULL;

    if (tr->job.partition == NULL)
        return GNT_OK;
    GNT_TRY(gnti_calloc_array(&counts, (int64_t)place->size * NUM_COUNTS));
    GNT_TRY(gnti_calloc_array(&seconds, place->size));
    for (int32_t i = 0; i < place->num_local; i++) {
        const gnti_local_data *rows = gnti_ranks_at(tr->ranks, i)->rows;
        int64_t *own = counts + (int64_t)(place->first + i) * NUM_COUNTS;

        own[ROWS] = rows->num_own;
        own[ARCS] = rows->part->op->forward->offsets[rows->num_own];
        own[HALO_ROWS] = rows->part->forward->num_halo;
        own[DEVICE_BYTES] = (int64_t)gnti_device_peak_bytes(gnti_ranks_at(tr->ranks, i)->device);
    }
    GNT_TRY(gnti_comm_all_reduce(
        tr->job.processes,
        &(gnti_all_reduce_args){ counts, (int64_t)place->size * NUM_COUNTS, GNT_I64, GNTI_COMM_SUM }));
    gnti_free(tr->rank_counts);
    gnti_free(tr->rank_seconds);
    tr->rank_counts = counts;
    tr->rank_seconds = seconds;
    counts = NULL;
    seconds = NULL;
done:
    gnti_free(counts);
    gnti_free(seconds);
    return st;
}

gnt_status gnti_trainer_time_ranks(gnt_trainer *tr)
{
    gnt_status st = GNT_OK;
    const gnti_placement *place = &tr->job.place;

    if (tr->rank_seconds == NULL)
        return GNT_OK;
    memset(tr->rank_seconds, 0, (size_t)place->size * sizeof *tr->rank_seconds);
    for (int32_t i = 0; i < place->num_local; i++)
        tr->rank_seconds[place->first + i] = gnti_ranks_at(tr->ranks, i)->seconds;
    GNT_TRY(gnti_comm_all_reduce(
        tr->job.processes, &(gnti_all_reduce_args){ tr->rank_seconds, place->size, GNT_F64, GNTI_COMM_SUM }));
done:
    return st;
}

gnt_status gnti_trainer_put_ranks(const gnt_trainer *tr, gnti_json *o)
{
    gnt_status st = GNT_OK;
    const gnti_placement *place = &tr->job.place;
    gnti_json *list = NULL, *item = NULL;

    if (tr->rank_counts == NULL)
        return GNT_OK;
    GNT_TRY(gnti_json_set_array(o, "ranks", &list));
    for (int32_t r = 0; r < place->size; r++) {
        const int64_t *own = tr->rank_counts + (int64_t)r * NUM_COUNTS;
        int64_t chunks = 0;

        for (int32_t k = 0; k < tr->job.partition->num_chunks; k++)
            chunks += place->owner[k] == r;
        GNT_TRY(gnti_json_append_object(list, &item));
        GNT_TRY(gnti_json_set_int(item, "rank", r));
        GNT_TRY(gnti_json_set_int(item, "chunks", chunks));
        GNT_TRY(gnti_json_set_int(item, "rows", own[ROWS]));
        GNT_TRY(gnti_json_set_int(item, "arcs", own[ARCS]));
        GNT_TRY(gnti_json_set_int(item, "halo_rows", own[HALO_ROWS]));
        GNT_TRY(gnti_json_set_int(item, "device_bytes", own[DEVICE_BYTES]));
        GNT_TRY(gnti_json_set_number(item, "seconds", tr->rank_seconds[r]));
    }
done:
    return st;
}
