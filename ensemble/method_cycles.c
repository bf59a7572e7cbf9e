/* SPDX-License-Identifier: Apache-2.0 */
/* One training gives several weights.
 *
 *   snapshot   c = ceil(T / S) epochs a cycle, S cycles: lr(e) = lr0 (1 + cos(pi (e mod c) / c)) / 2; the weights at the end of each
 *              cycle are a member. The training has S c epochs, up to S - 1 more than T, so that the last cycle is a whole one.
 *   swa        after `swa-from` epochs, every `swa-cycle` epochs: mean <- (k mean + w) / (k + 1). The rate is what the spec says (constant,
 *              or cycles of the same length). Norm statistics are those of the mean weights over the training graph.
 * Weights are kept by cycle and averaged at the end, in their order: a run that repeats epochs after a kill keeps the same ones again.
 */
#include "ensemble/method_state.h"

#include <gnntrain/experimental.h>

#include "base/alloc.h"
#include "base/size.h"

#include <stdio.h>

static void cycle_name(const gnti_spec_member *m, int64_t cycle, char out[64])
{
    snprintf(out, 64, "%s-s%lld", m->name, (long long)cycle);
}

/* ---- snapshot ------------------------------------------------------------------------------------------------------------ */

static gnt_status shape_snapshot(gnti_spec *spec, const gnt_dataset *data)
{
    gnt_status st = GNT_OK;

    (void)data;
    for (int32_t i = 0; i < spec->num_members; i++) {
        gnti_spec_member *m = &spec->members[i];
        gnt_trainer_config *c = &m->train;

        GNT_TRY(gnti_method_check_length(m, "snapshot"));
        GNT_CHECK(c->schedule == GNTI_SCHEDULE_CONSTANT, GNT_ERR_USAGE,
                  "%s: method snapshot has a schedule of its own: no schedule under train", spec->path);
        GNT_CHECK(c->epochs >= spec->snapshots, GNT_ERR_USAGE,
                  "%s: %lld epochs are too few for %lld snapshots", spec->path, (long long)c->epochs,
                  (long long)spec->snapshots);
        c->schedule = GNTI_SCHEDULE_CYCLES;
        c->schedule_epochs = (c->epochs + spec->snapshots - 1) / spec->snapshots;
        c->epochs = c->schedule_epochs * spec->snapshots;
    }
done:
    return st;
}

static gnt_status list_snapshots(gnti_method_run *mr)
{
    gnt_status st = GNT_OK;
    char tag[24];

    for (int32_t m = 0; m < mr->spec->num_members; m++)
        for (int64_t k = 1; k <= mr->spec->snapshots; k++) {
            snprintf(tag, sizeof tag, "s%lld", (long long)k);
            GNT_TRY(gnti_method_add_output(mr, mr->spec->members[m].name, tag, m));
        }
done:
    return st;
}

static gnt_status keep_cycle(gnti_method_run *mr, gnt_trainer *tr, int32_t slot, int32_t member,
                             int64_t cycle)
{
    char name[64];

    cycle_name(&mr->spec->members[member], cycle, name);
    return gnti_method_keep(mr, name, tr, slot, false);
}

static gnt_status after_snapshot_epoch(gnti_method_run *mr, gnt_trainer *tr, int32_t slot, int32_t member,
                                       bool *out_ended)
{
    const int64_t cycle = mr->spec->members[member].train.schedule_epochs;
    const int64_t epoch = gntx_trainer_epochs_done(tr);

    (void)out_ended;
    return epoch % cycle == 0 ? keep_cycle(mr, tr, slot, member, epoch / cycle) : GNT_OK;
}

static gnt_status after_snapshots(gnti_method_run *mr, gnt_trainer *tr, int32_t slot, int32_t member)
{
    return keep_cycle(mr, tr, slot, member, mr->spec->snapshots);
}

static gnt_status publish_snapshots(gnti_method_run *mr, const uint8_t *skip)
{
    gnt_status st = GNT_OK;
    gnti_publisher p = { 0 };
    float *weights = NULL;
    int64_t num;

    for (int32_t m = 0; m < mr->spec->num_members; m++) {
        if (skip != NULL && skip[m])
            continue;
        GNT_TRY(gnti_publisher_open(mr, m, &p));
        for (int64_t k = 0; k < mr->spec->snapshots; k++) {
            gnti_method_output *o = &mr->outputs[m * mr->spec->snapshots + k];

            GNT_TRY(gnti_method_fetch(mr, o->name, &weights, &num));
            GNT_TRY(gnti_publisher_set(&p, weights, false));
            GNT_TRY(gnti_publisher_write(&p, o->name));
            snprintf(o->note, sizeof o->note, "end of cycle %lld of %lld", (long long)k + 1,
                     (long long)mr->spec->snapshots);
            gnti_free(weights);
            weights = NULL;
        }
        gnti_publisher_close(&p);
    }
done:
    gnti_free(weights);
    gnti_publisher_close(&p);
    return st;
}

const gnti_method_class gnti_method_snapshot = { .shape = shape_snapshot,
                                                 .list = list_snapshots,
                                                 .after_epoch = after_snapshot_epoch,
                                                 .after_member = after_snapshots,
                                                 .finish = publish_snapshots };

/* ---- swa ------------------------------------------------------------------------------------------------------------------- */

/* Epochs after which weights enter the mean: from + k cycle, k = 1, 2, ... */
static int64_t swa_from(const gnti_spec *spec, const gnti_spec_member *m)
{
    return spec->swa_from > 0 ? spec->swa_from : m->train.epochs * 3 / 4;
}

static int64_t swa_count(const gnti_spec *spec, const gnti_spec_member *m)
{
    return (m->train.epochs - swa_from(spec, m)) / spec->swa_cycle;
}

static gnt_status shape_swa(gnti_spec *spec, const gnt_dataset *data)
{
    gnt_status st = GNT_OK;

    (void)data;
    for (int32_t i = 0; i < spec->num_members; i++) {
        const gnti_spec_member *m = &spec->members[i];

        GNT_TRY(gnti_method_check_length(m, "swa"));
        GNT_CHECK(
            swa_count(spec, m) >= 1, GNT_ERR_USAGE,
            "%s: no cycle of %lld epochs ends between epoch %lld (swa-from) and %lld: nothing to average",
            spec->path, (long long)spec->swa_cycle, (long long)swa_from(spec, m), (long long)m->train.epochs);
    }
done:
    return st;
}

static gnt_status list_means(gnti_method_run *mr)
{
    gnt_status st = GNT_OK;

    for (int32_t m = 0; m < mr->spec->num_members; m++)
        GNT_TRY(gnti_method_add_output(mr, mr->spec->members[m].name, "swa", m));
done:
    return st;
}

static gnt_status keep_if_due(gnti_method_run *mr, gnt_trainer *tr, int32_t slot, int32_t member)
{
    const int64_t past = gntx_trainer_epochs_done(tr) - swa_from(mr->spec, &mr->spec->members[member]);
    const int64_t cycle = mr->spec->swa_cycle;

    return past > 0 && past % cycle == 0 ? keep_cycle(mr, tr, slot, member, past / cycle) : GNT_OK;
}

static gnt_status after_swa_epoch(gnti_method_run *mr, gnt_trainer *tr, int32_t slot, int32_t member,
                                  bool *out_ended)
{
    (void)out_ended;
    return keep_if_due(mr, tr, slot, member);
}

static gnt_status average_cycles(gnti_method_run *mr, int32_t member, gnti_method_output *o)
{
    gnt_status st = GNT_OK;
    const gnti_spec_member *m = &mr->spec->members[member];
    gnti_running_mean mean = { 0 };
    gnti_publisher p = { 0 };
    float *weights = NULL;
    int64_t num;
    char name[64];

    for (int64_t k = 1; k <= swa_count(mr->spec, m); k++) {
        cycle_name(m, k, name);
        GNT_TRY(gnti_method_fetch(mr, name, &weights, &num));
        GNT_TRY(gnti_running_mean_add(&mean, weights, num));
        gnti_free(weights);
        weights = NULL;
    }
    GNT_TRY(gnti_running_mean_get(&mean, &weights));
    GNT_TRY(gnti_publisher_open(mr, member, &p));
    GNT_TRY(gnti_publisher_set(&p, weights, true));
    GNT_TRY(gnti_publisher_write(&p, o->name));
    snprintf(o->note, sizeof o->note, "mean of %lld weights of one training", (long long)mean.count);
done:
    gnti_free(weights);
    gnti_publisher_close(&p);
    gnti_running_mean_free(&mean);
    return st;
}

static gnt_status finish_swa(gnti_method_run *mr, const uint8_t *skip)
{
    gnt_status st = GNT_OK;

    for (int32_t m = 0; m < mr->spec->num_members; m++)
        if (skip == NULL || !skip[m])
            GNT_TRY(average_cycles(mr, m, &mr->outputs[m]));
done:
    return st;
}

const gnti_method_class gnti_method_swa = { .shape = shape_swa,
                                            .list = list_means,
                                            .after_epoch = after_swa_epoch,
                                            .after_member = keep_if_due,
                                            .finish = finish_swa };
