/* SPDX-License-Identifier: Apache-2.0 */
/* In the order of arrival. Nobody who runs is stopped; a gang that has grown over what it needs gives
 * devices back to those who wait; a gang that has to wait reserves, and later ones fill the time until then
 * (conservative backfill, Mu'alem and Feitelson, 2001). Idle devices that nobody waits for go to running
 * tasks, first come first.
 */
#include "ensemble/place_state.h"

gnt_status gnti_place_first_come(gnti_placing *s)
{
    gnt_status st = GNT_OK;

    gnti_placing_keep_all(s, NULL);
    gnti_placing_shrink(s);
    for (int32_t t = 0; t < s->in->num_tasks; t++)
        gnti_placing_rank(s, t, s->in->tasks[t].arrival);
    GNT_TRY(gnti_placing_list(s, gnti_placing_line(s), s->in->num_tasks <= GNTI_PLACE_FEW));
    GNT_TRY(gnti_placing_grow(s, false));
done:
    return st;
}
