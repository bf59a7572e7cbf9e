/* SPDX-License-Identifier: Apache-2.0 */
/* Local data: its end, and the training rows among the own rows. Positions in the induced graph keep the order of those in the
 * whole one, so the training rows in the order of part are the rows of train_part. */
#include "partition/local_build.h"

#include "base/alloc.h"

gnt_status gnti_local_train_rows(gnti_local_data *d)
{
    gnt_status st = GNT_OK;
    int64_t num = 0;

    GNT_TRY(gnti_alloc_array(&d->train_rows, d->train_part->num_own));
    for (int64_t i = 0; i < d->num_own; i++) {
        if ((d->member[i] >> GNTI_TRAIN & 1) == 0)
            continue;
        GNT_ASSERT(num < d->train_part->num_own && d->train_part->ids[num] == d->part->ids[i]);
        d->train_rows[num++] = (int32_t)i;
    }
done:
    return st;
}

void gnti_local_data_free(gnti_local_data **data)
{
    gnti_local_data *d;

    if (data == NULL || *data == NULL)
        return;
    d = *data;
    gnti_part_free(&d->part);
    gnti_part_free(&d->train_part);
    gnti_free(d->train_rows);
    gnti_features_free(&d->x);
    gnti_labels_free(&d->y);
    gnti_free(d->member);
    gnti_free(d->split_name);
    gnti_free(d);
    *data = NULL;
}
