/* SPDX-License-Identifier: Apache-2.0 */
/* A trainer's checkpoints: saved between epochs (or where a stop cut one), found and restored by the same command.
 *
 * Epoch, step, batch number, weights, moments, best weights and the members' states decide all that comes next; random
 * numbers are counters. So a resumed run computes the bits of an uninterrupted one.
 */
#include "train/checkpoint.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "train/run_folder.h"

#include <string.h>

static gnt_status take_arrays(gnti_checkpoint *cp, const gnt_trainer *tr)
{
    gnt_status st = GNT_OK;
    const bool sgd = tr->config.optimizer == GNTI_TRAIN_SGD;

    GNT_TRY(gnti_checkpoint_take_block(cp, tr->lead->params, -1, GNTI_BLOCK_WEIGHTS, GNTI_CP_WEIGHTS));
    GNT_TRY(gnti_checkpoint_take_block(cp, tr->lead->params, -1, GNTI_BLOCK_BEST, GNTI_CP_BEST));
    GNT_TRY(gnti_checkpoint_take_block(cp, tr->lead->params, -1, GNTI_BLOCK_MOMENT1, GNTI_CP_MOMENT1));
    if (!sgd)
        GNT_TRY(gnti_checkpoint_take_block(cp, tr->lead->params, -1, GNTI_BLOCK_MOMENT2, GNTI_CP_MOMENT2));
    GNT_TRY(gnti_alloc_array(&cp->members, (int64_t)tr->num_members * GNTI_MEMBER_FIELDS));
    memcpy(cp->members, tr->members, (size_t)tr->num_members * sizeof *tr->members);
    GNT_TRY(gnti_alloc_array(&cp->sums, 2 * (int64_t)tr->num_members));
    memcpy(cp->sums, tr->sums, (size_t)tr->num_members * sizeof *tr->sums);
done:
    return st;
}

gnt_status gnti_checkpoint_save(gnt_trainer *tr)
{
    gnt_status st = GNT_OK;
    gnti_checkpoint *cp = NULL;
    gnti_json *card = NULL;

    if (tr->run == NULL)
        return GNT_OK;
    GNT_TRY(gnti_run_sync_metrics(tr->run));
    GNT_TRY(gnti_checkpoint_shape(tr->lead->params, tr->num_members, -1, &cp));
    GNT_TRY(take_arrays(cp, tr));
    GNT_TRY(gnti_checkpoint_make_meta(tr, -1, &cp->meta));
    GNT_TRY(gnti_checkpoint_make_card(tr, -1, cp->meta, &card));
    GNT_TRY(gnti_checkpoint_write(cp, card, gnti_run_checkpoint(tr->run),
                                  tr->newest_is_damaged ? NULL : gnti_run_previous_checkpoint(tr->run)));
    tr->newest_is_damaged = false;
    tr->saved_epoch = tr->epoch;
    tr->saved_step = tr->step;
done:
    gnti_json_free(&card);
    gnti_checkpoint_free(&cp);
    return st;
}

gnt_status gnti_checkpoint_save_best(gnt_trainer *tr, int32_t member, const char *path)
{
    gnt_status st = GNT_OK;
    gnti_checkpoint *cp = NULL;
    gnti_json *card = NULL;
    const int block = tr->members[member].best_epoch > 0.0 ? GNTI_BLOCK_BEST : GNTI_BLOCK_WEIGHTS;

    GNT_TRY(gnti_checkpoint_shape(tr->lead->params, tr->num_members, member, &cp));
    GNT_TRY(gnti_checkpoint_take_block(cp, tr->lead->params, member, block, GNTI_CP_WEIGHTS));
    GNT_TRY(gnti_checkpoint_make_meta(tr, member, &cp->meta));
    GNT_TRY(gnti_checkpoint_make_card(tr, member, cp->meta, &card));
    GNT_TRY(gnti_checkpoint_write(cp, card, path, NULL));
done:
    gnti_json_free(&card);
    gnti_checkpoint_free(&cp);
    return st;
}

gnt_status gnti_checkpoint_newest(const char *path, const char *previous, gnti_checkpoint **found,
                                  bool *damaged)
{
    gnt_status st = GNT_OK;
    const bool has = gnti_file_exists(path), has_previous = gnti_file_exists(previous);

    *damaged = false;
    if (has) {
        st = gnti_checkpoint_open(path, found);
        *damaged = st == GNT_ERR_FORMAT;
        if (*damaged && has_previous) {
            gnti_log(GNT_LOG_WARN, "train", "checkpoint '%s' is damaged (%s), the previous one is taken",
                     path, gnt_last_error());
            gnt_clear_error();
        } else {
            if (*damaged)
                gnti_error_prefix("there is no previous checkpoint either, --resume never starts anew: ");
            return st;
        }
    }
    return has_previous ? gnti_checkpoint_open(previous, found) : GNT_OK;
}

gnt_status gnti_checkpoint_find(gnt_trainer *tr, gnti_checkpoint **found)
{
    gnt_status st = GNT_OK;
    gnti_checkpoint *cp = NULL;
    const char *path = gnti_run_checkpoint(tr->run);

    GNT_TRY(gnti_checkpoint_newest(path, gnti_run_previous_checkpoint(tr->run), &cp, &tr->newest_is_damaged));
    if (tr->newest_is_damaged)
        (void)gnti_run_log(tr->run, "checkpoint '%s' is damaged, the previous one is taken", path);
    if (cp != NULL)
        GNT_TRY(gnti_checkpoint_compare(cp, tr, -1));
    *found = cp;
    cp = NULL;
done:
    gnti_checkpoint_free(&cp);
    return st;
}

/* CHECKPOINT, or RUN for its newest checkpoint. */
gnt_status gnti_checkpoint_find_at(gnt_trainer *tr, const char *path, gnti_checkpoint **found)
{
    gnt_status st = GNT_OK;
    gnti_checkpoint *cp = NULL;
    char *inside = NULL;

    GNT_CHECK(gnti_file_exists(path), GNT_ERR_IO,
              "cannot resume from '%s', there is no such file: --resume takes auto, never, a checkpoint or a "
              "run folder",
              path);
    GNT_TRY(gnti_path_join(path, "checkpoint.h5", &inside));
    GNT_TRY(gnti_checkpoint_open(gnti_file_exists(inside) ? inside : path, &cp));
    GNT_TRY(gnti_checkpoint_compare(cp, tr, -1));
    *found = cp;
    cp = NULL;
done:
    gnti_checkpoint_free(&cp);
    gnti_free(inside);
    return st;
}

gnt_status gnti_checkpoint_take_choices(const gnti_checkpoint *cp, gnt_trainer *tr)
{
    const char *choices = gnti_json_to_text(gnti_json_find(cp->meta, "choices"));

    return choices != NULL ? gnti_strdup(&tr->choices, choices) : GNT_OK;
}

gnt_status gnti_checkpoint_restore(const gnti_checkpoint *cp, gnt_trainer *tr)
{
    gnt_status st = GNT_OK;
    int64_t epoch = 0, step = 0, position = 0;
    const bool sgd = tr->config.optimizer == GNTI_TRAIN_SGD;

    GNT_TRY(gnti_json_get_int(cp->meta, "epoch", &epoch));
    GNT_TRY(gnti_json_get_int(cp->meta, "step", &step));
    GNT_TRY(gnti_json_get_int(cp->meta, "position", &position));
    GNT_CHECK(epoch >= 0 && step >= 0 && position >= 0, GNT_ERR_FORMAT,
              "checkpoint '%s' stands at epoch %lld, step %lld, batch %lld", cp->path, (long long)epoch,
              (long long)step, (long long)position);
    GNT_CHECK(cp->members != NULL && cp->sums != NULL && cp->num_members == tr->num_members, GNT_ERR_FORMAT,
              "checkpoint '%s' does not hold the progress of %d members", cp->path, (int)tr->num_members);
    GNT_TRY(gnti_checkpoint_put_block(cp, GNTI_CP_WEIGHTS, -1, tr->lead->params, tr->num_members,
                                      GNTI_BLOCK_WEIGHTS));
    GNT_TRY(
        gnti_checkpoint_put_block(cp, GNTI_CP_BEST, -1, tr->lead->params, tr->num_members, GNTI_BLOCK_BEST));
    GNT_TRY(gnti_checkpoint_put_block(cp, GNTI_CP_MOMENT1, -1, tr->lead->params, tr->num_members,
                                      GNTI_BLOCK_MOMENT1));
    if (!sgd)
        GNT_TRY(gnti_checkpoint_put_block(cp, GNTI_CP_MOMENT2, -1, tr->lead->params, tr->num_members,
                                          GNTI_BLOCK_MOMENT2));
    memcpy(tr->members, cp->members, (size_t)tr->num_members * sizeof *tr->members);
    memcpy(tr->sums, cp->sums, (size_t)tr->num_members * sizeof *tr->sums);
    tr->epoch = tr->saved_epoch = epoch;
    tr->step = tr->saved_step = step;
    tr->position = position;
done:
    return st;
}
