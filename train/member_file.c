/* SPDX-License-Identifier: Apache-2.0 */
/* The files of one member, as a lone run of it would have written them: FOLDER/checkpoint.h5, the one before it, best.h5.
 *
 * A file knows nothing of the company in which the member trained. It goes on in any trainer whose model, data, split and
 * settings of that member are the same (hashes and words of checkpoint_meta.c).
 */
#include "train/member.h"
#include "train/checkpoint.h"

#include "base/alloc.h"
#include "base/file.h"

#include <string.h>

typedef struct member_paths {
    char *newest, *previous, *best;
} member_paths;

static void free_paths(member_paths *p)
{
    gnti_free(p->newest);
    gnti_free(p->previous);
    gnti_free(p->best);
}

static gnt_status make_paths(const char *folder, member_paths *p)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(folder != NULL && folder[0] != 0, GNT_ERR_ARG, "the folder of a member must be given");
    GNT_TRY(gnti_path_join(folder, "checkpoint.h5", &p->newest));
    GNT_TRY(gnti_path_join(folder, "checkpoint.prev.h5", &p->previous));
    GNT_TRY(gnti_path_join(folder, "best.h5", &p->best));
done:
    return st;
}

/* ---- save ---------------------------------------------------------------------------------------------------------- */

/* Blocks of a checkpoint's file and of parameters, in the order of gnti_member_state. */
static const int file_blocks[GNTI_STATE_BLOCKS] = { GNTI_CP_WEIGHTS, GNTI_CP_BEST, GNTI_CP_MOMENT1,
                                                    GNTI_CP_MOMENT2 };

static gnt_status fill_checkpoint(const gnt_trainer *tr, int32_t member, gnti_checkpoint *cp)
{
    gnt_status st = GNT_OK;

    for (int i = 0; i < gnti_trainer_num_blocks(tr); i++)
        GNT_TRY(
            gnti_checkpoint_take_block(cp, tr->lead->params, member, gnti_state_blocks[i], file_blocks[i]));
    GNT_TRY(gnti_alloc_array(&cp->members, GNTI_MEMBER_FIELDS));
    memcpy(cp->members, &tr->members[member], sizeof tr->members[member]);
    GNT_TRY(gnti_calloc_array(&cp->sums, 2));
done:
    return st;
}

/* A damaged file must not take the place of the sound one before it. */
static bool is_sound(const char *path)
{
    const bool sound = gnti_checkpoint_check_seal(path) == GNT_OK;

    if (!sound)
        gnt_clear_error();
    return sound;
}

static gnt_status save_newest(const gnt_trainer *tr, int32_t member, const member_paths *paths)
{
    gnt_status st = GNT_OK;
    gnti_checkpoint *cp = NULL;
    gnti_json *card = NULL;
    const bool keep = gnti_file_exists(paths->newest) && is_sound(paths->newest);

    GNT_TRY(gnti_checkpoint_shape(tr->lead->params, tr->num_members, member, &cp));
    GNT_TRY(fill_checkpoint(tr, member, cp));
    GNT_TRY(gnti_checkpoint_make_meta(tr, member, &cp->meta));
    GNT_TRY(gnti_checkpoint_make_card(tr, member, cp->meta, &card));
    GNT_TRY(gnti_checkpoint_write(cp, card, paths->newest, keep ? paths->previous : NULL));
done:
    gnti_json_free(&card);
    gnti_checkpoint_free(&cp);
    return st;
}

static gnt_status save_files(gnt_trainer *tr, int32_t member, const char *folder, bool best)
{
    gnt_status st = GNT_OK;
    member_paths paths = { 0 };

    GNT_TRY(make_paths(folder, &paths));
    GNT_TRY(gnti_folder_create(folder));
    GNT_TRY(save_newest(tr, member, &paths));
    if (best)
        GNT_TRY(gnti_checkpoint_save_best(tr, member, paths.best));
done:
    free_paths(&paths);
    return st;
}

gnt_status gnti_trainer_save_member(gnt_trainer *tr, int32_t member, const char *folder, bool best)
{
    gnt_status st = GNT_OK;
    bool failed = false;

    GNT_CHECK(tr != NULL && member >= 0 && member < tr->num_members, GNT_ERR_ARG,
              "member %d is outside of 0 to %d", (int)member, tr != NULL ? (int)tr->num_members - 1 : -1);
    GNT_CHECK(tr->own[member].failure == NULL, GNT_ERR_STATE, "member %d has failed: %s", (int)member,
              tr->own[member].failure);
    GNT_CHECK((tr->status == GNT_OK || tr->status == GNT_STOPPED) && tr->position == 0, GNT_ERR_STATE,
              "member %d cannot be saved: the run has failed or was stopped in epoch %lld", (int)member,
              (long long)tr->epoch + 1);
    if (gnti_trainer_is_root(tr))
        st = save_files(tr, member, folder, best);
    failed = st != GNT_OK;
    if (tr->job.processes->size > 1 && gnti_trainer_share_flag(tr, &failed) == GNT_OK)
        GNT_CHECK(!failed || st != GNT_OK, GNT_ERR_PEER_LOST, "rank 0 could not save member %d", (int)member);
done:
    return st;
}

/* ---- load ---------------------------------------------------------------------------------------------------------- */

static gnt_status take_state(const gnti_checkpoint *cp, const gnt_trainer *tr, int32_t member,
                             gnti_member_state *out)
{
    gnt_status st = GNT_OK;
    gnti_member_state s = { .seed = tr->seeds[member], .num_floats = cp->num_floats };
    float **to[GNTI_STATE_BLOCKS] = { &s.weights, &s.best, &s.moment1, &s.moment2 };
    int64_t position = 0;

    GNT_TRY(gnti_json_get_int(cp->meta, "epoch", &s.epoch));
    GNT_TRY(gnti_json_get_int(cp->meta, "step", &s.step));
    GNT_TRY(gnti_json_get_int(cp->meta, "position", &position));
    GNT_CHECK(s.epoch >= 0 && s.step >= 0 && position == 0, GNT_ERR_FORMAT,
              "checkpoint '%s' stands at epoch %lld, step %lld, batch %lld", cp->path, (long long)s.epoch,
              (long long)s.step, (long long)position);
    GNT_CHECK(cp->num_members == 1 && cp->members != NULL, GNT_ERR_FORMAT,
              "checkpoint '%s' holds %d members with%s their progress, needed is one", cp->path,
              (int)cp->num_members, cp->members != NULL ? "" : "out");
    GNT_TRY(gnti_checkpoint_check_params(cp, tr->lead->params));
    memcpy(&s.progress, cp->members, sizeof s.progress);
    for (int i = 0; i < gnti_trainer_num_blocks(tr); i++) {
        const float *from = cp->block[file_blocks[i]];

        GNT_CHECK(from != NULL, GNT_ERR_FORMAT, "checkpoint '%s' lacks a part that this needs", cp->path);
        GNT_TRY(gnti_alloc_array(to[i], s.num_floats + 1));
        memcpy(*to[i], from, (size_t)s.num_floats * sizeof *from);
    }
    *out = s;
    memset(&s, 0, sizeof s);
done:
    gnti_member_state_free(&s);
    return st;
}

gnt_status gnti_trainer_load_member(const gnt_trainer *tr, int32_t member, const char *folder,
                                    gnti_member_state *out, bool *found)
{
    gnt_status st = GNT_OK;
    gnti_checkpoint *cp = NULL;
    member_paths paths = { 0 };
    bool damaged = false;

    *found = false;
    GNT_CHECK(tr != NULL && member >= 0 && member < tr->num_members, GNT_ERR_ARG,
              "member %d is outside of 0 to %d", (int)member, tr != NULL ? (int)tr->num_members - 1 : -1);
    GNT_TRY(make_paths(folder, &paths));
    GNT_TRY(gnti_checkpoint_newest(paths.newest, paths.previous, &cp, &damaged));
    if (cp == NULL)
        goto done;
    GNT_TRY(gnti_checkpoint_compare(cp, tr, member));
    GNT_TRY(take_state(cp, tr, member, out));
    *found = true;
done:
    gnti_checkpoint_free(&cp);
    free_paths(&paths);
    return st;
}

int64_t gnti_member_file_epoch(const char *folder)
{
    gnti_checkpoint *cp = NULL;
    member_paths paths = { 0 };
    int64_t epoch = -1;
    bool damaged = false;

    if (make_paths(folder, &paths) != GNT_OK ||
        gnti_checkpoint_newest(paths.newest, paths.previous, &cp, &damaged) != GNT_OK ||
        (cp != NULL && gnti_json_get_int(cp->meta, "epoch", &epoch) != GNT_OK))
        gnt_clear_error();
    gnti_checkpoint_free(&cp);
    free_paths(&paths);
    return epoch;
}
