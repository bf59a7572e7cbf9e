/* SPDX-License-Identifier: Apache-2.0 */
/* The best weights of a member, asked once more on the dataset as the member sees it, on the processor: what logits.npy has, to
 * rounding where it was trained elsewhere.
 */
#include "ensemble/votes_remake.h"

#include "base/alloc.h"
#include "base/file.h"
#include "train/trained.h"

gnt_status gnti_votes_remake(gnt_context *ctx, const char *folder, const gnti_member_view *view,
                             const gnt_dataset *data, float **out)
{
    gnt_status st = GNT_OK;
    gnt_dataset *seen = NULL;

    if (view != NULL && view->seed != 0)
        GNT_TRY(gnti_spec_member_dataset(&(gnti_spec_member){ .view = *view }, data, &seen));
    GNT_TRY(gnti_trained_ask(ctx, folder, seen != NULL ? seen : data, out));
done:
    if (st != GNT_OK)
        gnti_error_prefix(
            "'%s/logits.npy' is gone and cannot be made anew, so the member has to be trained once more, in "
            "another run folder: ",
            folder);
    gnt_dataset_free(&seen);
    return st;
}

gnt_status gnti_votes_restore(gnt_context *ctx, const char *folder, const gnti_member_view *view,
                              const gnt_dataset *data)
{
    gnt_status st = GNT_OK;
    char *path = NULL;
    float *logits = NULL;

    GNT_TRY(gnti_path_join(folder, "logits.npy", &path));
    if (gnti_file_exists(path))
        goto done;
    GNT_TRY(gnti_votes_remake(ctx, folder, view, data, &logits));
    GNT_TRY(gnti_votes_write(path, data, logits, data->y.num_classes));
done:
    gnti_free(path);
    gnti_free(logits);
    return st;
}
