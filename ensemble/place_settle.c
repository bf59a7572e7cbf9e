/* SPDX-License-Identifier: Apache-2.0 */
/* From classes to devices: policies choose how many devices of which class a task has, and here it gets
 * them. Devices of a class are alike, so whoever has some of its class keeps them; the others take the
 * lowest idle ones.
 */
#include "ensemble/place_state.h"

#include "base/alloc.h"

/* Of its class what it holds already. */
static void settle_held(gnti_placing *s, int32_t task, gnti_class_choice c)
{
    const gnti_place_task *t = &s->in->tasks[task];

    for (int32_t i = 0; i < t->num_held && s->width[task] < c.width && !gnti_placing_was_guest(s, task); i++)
        if (s->class_of[t->held[i]] == c.cls && s->owner[t->held[i]] < 0)
            gnti_placing_give(s, task, t->held[i]);
}

/* And the lowest idle ones from at[cls] on. */
static void settle_rest(gnti_placing *s, int32_t task, gnti_class_choice c, int32_t *at)
{
    const gnti_place_class *cls = &s->classes[c.cls];

    for (; s->width[task] < c.width && at[c.cls] < cls->num; at[c.cls]++)
        if (s->owner[s->by_class[cls->first + at[c.cls]]] < 0)
            gnti_placing_give(s, task, s->by_class[cls->first + at[c.cls]]);
    if (s->width[task] < c.width)
        gnti_placing_drop(s, task);
}

gnt_status gnti_placing_settle(gnti_placing *s, int32_t from, int32_t num, const gnti_class_choice *choice)
{
    gnt_status st = GNT_OK;
    int32_t *at = NULL;

    GNT_TRY(gnti_calloc_array(&at, s->num_classes));
    for (int32_t i = num - 1; i >= from; i--)
        if (choice[i].width > 0 && choice[i].cls < 0)
            gnti_placing_keep(s, s->order[i]);
    for (int32_t i = num - 1; i >= from; i--)
        if (choice[i].width > 0 && choice[i].cls >= 0)
            settle_held(s, s->order[i], choice[i]);
    for (int32_t i = num - 1; i >= from; i--)
        if (choice[i].width > 0 && choice[i].cls >= 0)
            settle_rest(s, s->order[i], choice[i], at);
done:
    gnti_free(at);
    return st;
}
