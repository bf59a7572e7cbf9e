/* SPDX-License-Identifier: Apache-2.0 */
/* The last task ends as early as can be.
 *
 * Longest first to the device where it ends first (LPT: at most 4/3 - 1/(3D) of the optimum on equal
 * devices, Graham, 1969), then moves and swaps off the device that ends last where tasks are few. What LPT
 * leaves idle is used: a device without a queue borrows a task that waits for a faster one, if it gets
 * further there than its move costs, and the last to end grows over idle devices or moves to a faster one.
 * Running tasks are pinned; when that ends later than the lower bound, those that are to blame are unpinned
 * and the better plan is taken if it saves the share `gain`. Where moves are dear a gang stays what it was
 * at its start: see place_rigid.c.
 */
#include "ensemble/place_state.h"

#include "base/alloc.h"

#include <math.h>

#define SEARCH_CELLS 4096 /* queued tasks x devices that are searched */

/* One plan; tasks that leave are not pinned. */
static gnt_status plan_once(gnti_placing *s, const bool *leaves)
{
    gnt_status st = GNT_OK;
    int32_t num;
    bool whole;

    gnti_placing_reset(s);
    gnti_placing_keep_all(s, leaves);
    for (int32_t t = 0; t < s->in->num_tasks; t++)
        gnti_placing_rank(s, t, -s->best[t] * s->need[t]);
    num = gnti_placing_line(s);
    whole = num <= GNTI_PLACE_FEW;
    GNT_TRY(gnti_placing_list(s, num, whole));
    if (whole && (int64_t)num * s->num_present <= SEARCH_CELLS)
        GNT_TRY(gnti_placing_search(s, num));
    for (int32_t t = 0; whole && t < s->in->num_tasks; t++)
        if (s->width[t] == 0 && s->queued[t] >= 0)
            s->key[t] = -s->free_at[s->queued[t]]; /* those first whose queue ends last */
    GNT_TRY(gnti_placing_borrow(s));
    GNT_TRY(gnti_placing_grow(s, true));
done:
    return st;
}

/* Running tasks that end later than all work shared out would, and gangs wider than they need while others wait. */
static int32_t blame(const gnti_placing *s, double bound, bool *leaves)
{
    bool waiting = false;
    int32_t num = 0;

    for (int32_t t = 0; t < s->in->num_tasks; t++)
        waiting |= s->width[t] == 0 && s->need[t] > 0;
    for (int32_t t = 0; t < s->in->num_tasks; t++) {
        leaves[t] = s->width[t] > 0 && s->in->tasks[t].num_held > 0 && !s->in->tasks[t].foreground &&
                    (s->finish[t] > bound || (waiting && s->width[t] > s->need[t]));
        num += leaves[t];
    }
    return num;
}

/* Whose ends the plan foretells as if they waited: nobody is to blame for those. */
static bool has_guests(const gnti_placing *s)
{
    for (int32_t t = 0; t < s->in->num_tasks; t++)
        if (gnti_placing_was_guest(s, t))
            return true;
    return false;
}

gnt_status gnti_place_makespan(gnti_placing *s)
{
    gnt_status st = GNT_OK;
    bool *leaves = NULL;
    void *saved = NULL;
    double bound, finish;

    GNT_TRY(gnti_alloc_array(&leaves, s->in->num_tasks));
    GNT_TRY(plan_once(s, NULL));
    finish = gnti_placing_finish(s);
    GNT_TRY(gnti_placing_bound(s->in, &bound));
    bound *= 1.0 + s->gain;
    if (isfinite(finish) && finish > bound && !has_guests(s) && blame(s, bound, leaves) > 0) {
        GNT_TRY(gnti_placing_save(s, &saved));
        GNT_TRY(plan_once(s, leaves));
        if (gnti_placing_finish(s) > finish * (1.0 - s->gain))
            gnti_placing_restore(s, saved);
    }
    GNT_TRY(gnti_placing_rigid(s, gnti_placing_finish(s)));
done:
    gnti_free(saved);
    gnti_free(leaves);
    return st;
}
