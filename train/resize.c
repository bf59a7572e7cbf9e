/* SPDX-License-Identifier: Apache-2.0 */
/* The same run on other devices: new ranks are made beside the old ones, get their weights and moments, and take over. Nothing
 * else is by rank, random numbers are counters, and chunks keep their order in every sum, so the loss curve stays.
 */
#include "train/run_folder.h"

#include "base/alloc.h"

#include <string.h>

static void swap_clocks(gnti_rank *a, gnti_rank *b)
{
    gnti_virtual *clock = a->clock;

    a->clock = b->clock;
    b->clock = clock;
}

/* Devices may serve the new ranks while the old ones are kept. */
static void rest_groups(gnti_ranks *ranks, bool resting)
{
    for (int32_t i = 0; i < gnti_ranks_local(ranks); i++)
        if (gnti_ranks_at(ranks, i)->group != NULL)
            (void)gnti_group_rest(gnti_ranks_at(ranks, i)->group, resting);
}

gnt_status gnti_trainer_remake_ranks(gnt_trainer *tr, bool same_devices, const gnti_trainer_state *state)
{
    gnt_status st = GNT_OK;
    gnti_trainer_state read = { 0 };
    gnti_ranks *old = tr->ranks;
    gnti_rank *old_lead = tr->lead;

    if (state == NULL) {
        GNT_TRY(gnti_trainer_read_state(tr, &read));
        state = &read;
    }
    rest_groups(old, true);
    tr->ranks = NULL;
    GNT_TRY(gnti_trainer_make_ranks(tr, same_devices ? old : NULL));
    GNT_TRY(gnti_trainer_write_state(tr, state));
    GNT_TRY(gnti_trainer_count_ranks(tr)); /* last: it cannot be undone */
    tr->logits_of = GNTI_LOGITS_OF_NOTHING;
    gnti_ranks_free(&old);
done:
    if (old != NULL) {
        for (int32_t i = 0; same_devices && tr->ranks != NULL && i < gnti_ranks_local(old); i++)
            if (gnti_ranks_at(tr->ranks, i)->took_clock)
                swap_clocks(gnti_ranks_at(tr->ranks, i), gnti_ranks_at(old, i));
        if (tr->ranks != old)
            gnti_ranks_free(&tr->ranks);
        rest_groups(old, false);
        tr->ranks = old;
        tr->lead = old_lead;
    }
    gnti_trainer_free_state(&read);
    return st;
}

static gnt_status check(const gnt_trainer *tr, const char *devices)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(tr != NULL && devices != NULL, GNT_ERR_ARG, "trainer and devices must not be NULL");
    GNT_CHECK(tr->status == GNT_OK && !tr->finished, GNT_ERR_STATE,
              "the run has failed, stopped or is finished");
    GNT_CHECK(tr->position == 0, GNT_ERR_STATE, "epoch %lld is cut: resize between epochs",
              (long long)tr->epoch + 1);
    GNT_CHECK(
        tr->job.processes->size == 1, GNT_ERR_UNSUPPORTED,
        "%d MPI processes cannot be resized: stop the run and start it with as many processes as wanted",
        (int)tr->job.processes->size);
    GNT_CHECK(tr->config.source == GNTI_SOURCE_WORD_FULL, GNT_ERR_UNSUPPORTED,
              "source clusters trains on one device");
    GNT_CHECK(
        tr->job.partition != NULL || gnti_context_determinism(tr->ctx) != GNTI_DET_BITWISE, GNT_ERR_USAGE,
        "the run trains on the whole graph, cutting it now would change bits: start it with --partition");
done:
    return st;
}

gnt_status gnti_trainer_move(gnt_trainer *tr, gnti_device_spec *specs, int32_t num_specs,
                             const double *speeds, gnti_moves *moved)
{
    gnt_status st = GNT_OK;
    gnti_placement old = tr->job.place;
    gnti_rates *old_rates = tr->job.rates;
    const bool had_partition = tr->job.partition != NULL, processes = tr->job.processes->size > 1;

    tr->job.place = (gnti_placement){
        .specs = specs, .size = num_specs, .first = old.first, .num_local = processes ? 1 : num_specs
    };
    if (speeds == NULL) /* other devices */
        tr->job.rates = NULL;
    GNT_TRY(gnti_job_find_partition(&tr->job, tr->data, &tr->config));
    GNT_TRY(gnti_job_foresee(&tr->job, tr->model, tr->data, &tr->config));
    GNT_TRY(gnti_job_place(&tr->job, tr->data, speeds, &old, moved));
    if (speeds != NULL && old.owner != NULL &&
        memcmp(old.owner, tr->job.place.owner, (size_t)tr->job.partition->num_chunks * sizeof *old.owner) ==
            0) {
        gnti_placement_free(&tr->job.place); /* nothing is better placed: the ranks stay */
        tr->job.place = old;
        return GNT_OK;
    }
    GNT_TRY(gnti_trainer_remake_ranks(tr, speeds != NULL, NULL));
    gnti_placement_free(&old);
    if (tr->job.rates != old_rates)
        gnti_free(old_rates);
done:
    if (st != GNT_OK) { /* everything as it was */
        if (tr->job.rates != old_rates)
            gnti_free(tr->job.rates);
        tr->job.rates = old_rates;
        gnti_placement_free(&tr->job.place);
        tr->job.place = old;
        if (!had_partition) {
            gnti_partition_free(&tr->job.partition);
            gnti_chunk_facts_free(&tr->job.facts);
            gnti_free(tr->job.cost);
            tr->job.cost = NULL;
        }
    }
    return st;
}

gnt_status gnt_trainer_resize(gnt_trainer *tr, const char *devices)
{
    gnt_status st = GNT_OK;
    gnti_moves moved = { 0 };
    gnti_device_spec *specs = NULL;
    int32_t num_specs = 0, before = 0;

    GNT_TRY(check(tr, devices));
    GNT_TRY(gnti_device_specs_parse(devices, &specs, &num_specs));
    GNT_TRY(gnti_context_take_pool(tr->ctx, specs, num_specs));
    before = tr->job.place.size;
    st = gnti_trainer_move(tr, specs, num_specs, NULL, &moved);
    specs = NULL; /* taken over */
    GNT_TRY(st);
    GNT_TRY(gnti_trainer_watch(tr));
    if (tr->run != NULL)
        GNT_TRY(gnti_run_log(tr->run, "after epoch %lld: %d devices instead of %d, %d chunks moved",
                             (long long)tr->epoch, (int)num_specs, (int)before, (int)moved.num_chunks));
done:
    gnti_free(specs);
    return st;
}
