/* SPDX-License-Identifier: Apache-2.0 */
/* SWAP (Gupta, Serrano, DeCoste, ICLR 2020): one training on large batches, here the whole graph, until its training metric reaches
 * `swap-target`; then each worker alone, from those weights, its rate falling to 0 along a cosine over `swap-share` of the epochs; then the
 * mean of the workers' last weights with norm statistics made anew.
 *
 * What makes workers differ is, in the paper, the sampling of batches. Dropout draws as well, and masks of one's own on the whole graph
 * leave no arcs out, and fuse: so workers train on clusters where `train` says so, or where nothing else would make them differ.
 *
 * The spec's members are the workers; "first" is put in front of them. Workers stay members of the ensemble beside the mean.
 */
#include "ensemble/method_state.h"

#include <gnntrain/experimental.h>

#include "base/alloc.h"
#include "base/size.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DEFAULT_CLUSTERS = 8, DEFAULT_PER_BATCH = 4 };

static void set_first(gnti_spec_member *m)
{
    m->train.source = GNTI_SOURCE_WORD_FULL;
    m->train.clusters = m->train.order_seed = 0;
    m->train.clusters_per_batch = 1;
}

static void set_worker(gnti_spec_member *m, double share)
{
    gnt_trainer_config *c = &m->train;

    c->epochs = gnti_max_i64(1, (int64_t)llround(share * (double)c->epochs));
    c->eval_every = c->epochs; /* the last weights are the ones that are wanted */
    c->schedule = GNTI_SCHEDULE_COSINE;
    c->schedule_epochs = c->epochs;
    if (c->source != GNTI_SOURCE_WORD_CLUSTERS && !(m->net.dropout > 0.0) && !(m->net.input_dropout > 0.0)) {
        c->source = GNTI_SOURCE_WORD_CLUSTERS;
        c->clusters = DEFAULT_CLUSTERS;
        c->clusters_per_batch = DEFAULT_PER_BATCH;
    }
    if (c->source == GNTI_SOURCE_WORD_CLUSTERS)
        c->order_seed = (int64_t)m->seed;
}

static gnt_status shape_swap(gnti_spec *spec, const gnt_dataset *data)
{
    gnt_status st = GNT_OK;
    gnti_spec_member first;
    uint64_t seed;

    (void)data;

    GNT_CHECK(spec->num_members >= 2, GNT_ERR_USAGE, "%s: method swap needs count: 2 or more workers",
              spec->path);
    GNT_TRY(gnti_method_check_alike(spec, "swap"));
    for (int32_t i = 0; i < spec->num_members; i++) {
        GNT_TRY(gnti_method_check_length(&spec->members[i], "swap"));
        GNT_CHECK(spec->members[i].train.schedule == GNTI_SCHEDULE_CONSTANT, GNT_ERR_USAGE,
                  "%s: method swap has a schedule of its own: no schedule under train", spec->path);
    }
    seed = gnti_method_free_seed(spec->members, spec->num_members, spec->members[0].seed);
    GNT_TRY(gnti_method_copy_member(&spec->members[0], "first", seed, &first));
    st = gnti_method_put_in_front(spec, &first, 1);
    if (st != GNT_OK)
        gnti_method_free_copy(&first);
    GNT_TRY(st);
    set_first(&spec->members[0]);
    for (int32_t i = 1; i < spec->num_members; i++)
        set_worker(&spec->members[i], spec->swap_share);
done:
    return st;
}

static gnti_member_range waits_for_first(const gnti_spec *spec, int32_t member)
{
    (void)spec;
    return (gnti_member_range){ .first = 0, .num = member > 0 ? 1 : 0 };
}

static gnt_status list_workers(gnti_method_run *mr)
{
    gnt_status st = GNT_OK;

    for (int32_t m = 1; m < mr->spec->num_members; m++)
        GNT_TRY(gnti_method_add_output(mr, mr->spec->members[m].name, "", m));
    GNT_TRY(gnti_method_add_output(mr, "swap", "", -1));
done:
    return st;
}

static gnt_status start_worker(gnti_method_run *mr, gnt_trainer *tr, int32_t slot, int32_t member)
{
    gnt_status st = GNT_OK;
    float *weights = NULL;
    int64_t num;

    if (member == 0)
        return GNT_OK;
    GNT_TRY(gnti_method_fetch(mr, mr->spec->members[0].name, &weights, &num));
    GNT_TRY(gnti_method_set_weights(tr, slot, weights, num));
done:
    gnti_free(weights);
    return st;
}

/* The first phase ends where the training metric is as good as wanted, when that was measured after this very epoch. */
static gnt_status after_epoch(gnti_method_run *mr, gnt_trainer *tr, int32_t slot, int32_t member,
                              bool *out_ended)
{
    const gnti_member *p = gnti_trainer_member_progress(tr, slot);

    if (member == 0 && p->last_epoch == (double)gntx_trainer_epochs_done(tr) &&
        p->train_metric >= mr->spec->swap_target)
        *out_ended = true;
    return GNT_OK;
}

static gnt_status after_member(gnti_method_run *mr, gnt_trainer *tr, int32_t slot, int32_t member)
{
    return gnti_method_keep(mr, mr->spec->members[member].name, tr, slot, false);
}

static gnt_status average_workers(gnti_method_run *mr, const uint8_t *skip)
{
    gnt_status st = GNT_OK;
    gnti_method_output *o = &mr->outputs[mr->num_outputs - 1];
    gnti_running_mean mean = { 0 };
    gnti_publisher p = { 0 };
    float *weights = NULL;
    int64_t num;

    for (int32_t m = 1; m < mr->spec->num_members; m++) {
        if (skip != NULL && skip[m])
            continue;
        GNT_TRY(gnti_method_fetch(mr, mr->spec->members[m].name, &weights, &num));
        GNT_TRY(gnti_running_mean_add(&mean, weights, num));
        gnti_free(weights);
        weights = NULL;
    }
    if (mean.count == 0)
        goto done;
    GNT_TRY(gnti_running_mean_get(&mean, &weights));
    GNT_TRY(gnti_publisher_open(mr, 0, &p));
    GNT_TRY(gnti_publisher_set(&p, weights, true));
    GNT_TRY(gnti_publisher_write(&p, o->name));
    o->present = true;
    snprintf(o->note, sizeof o->note, "mean of the weights of %lld of %d workers", (long long)mean.count,
             (int)mr->spec->num_members - 1);
done:
    gnti_free(weights);
    gnti_publisher_close(&p);
    gnti_running_mean_free(&mean);
    return st;
}

const gnti_method_class gnti_method_swap = { .shape = shape_swap,
                                             .waits_for = waits_for_first,
                                             .list = list_workers,
                                             .start = start_worker,
                                             .after_epoch = after_epoch,
                                             .after_member = after_member,
                                             .finish = average_workers };
