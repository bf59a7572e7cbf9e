/* SPDX-License-Identifier: Apache-2.0 */
/* What the manager wants of tasks, and where they are; all under the lock. Then how far the run is.
 */
#include "ensemble/live_task.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <math.h>
#include <string.h>

static const double SHOW_EVERY = 0.1, METER_EVERY = 10.0; /* seconds; meters overflow in minutes */

gnt_status gnti_live_take_action(gnti_live *run, const gnti_action *a)
{
    gnt_status st = GNT_OK;
    gnti_live_task *t = gnti_live_find(run, a->task);
    gnti_live_order *o = &t->order;

    if (a->kind == GNTI_ACTION_GIVE_UP)
        return gnti_live_give_up(t);
    if (a->num_devices > o->capacity) {
        GNT_TRY(gnti_realloc_array(&o->devices, a->num_devices));
        GNT_TRY(gnti_realloc_array(&o->shares, a->num_devices));
        o->capacity = a->num_devices;
    }
    o->pending = true;
    o->hold = a->kind == GNTI_ACTION_HOLD;
    o->generation = a->generation;
    o->num_devices = a->num_devices;
    for (int32_t i = 0; i < a->num_devices; i++) {
        o->devices[i] = a->devices[i];
        o->shares[i] = a->shares[i];
    }
done:
    return st;
}

gnt_status gnti_live_note_place(const gnti_live_task *t, double at)
{
    gnt_status st = GNT_OK;
    gnti_live *run = t->run;
    gnti_json *o = NULL, *names = NULL, *devices = NULL, *shares = NULL;

    GNT_TRY(gnti_json_create_object(&o));
    GNT_TRY(gnti_json_set_int(o, "task", t->id));
    GNT_TRY(gnti_json_set_int(o, "epoch", t->epoch));
    GNT_TRY(gnti_json_set_number(o, "at", at));
    if (!run->is_virtual)
        GNT_TRY(gnti_json_set_number(o, "pause_seconds", t->pause));
    GNT_TRY(gnti_json_set_array(o, "devices", &devices));
    for (int32_t i = 0; i < t->num_devices; i++)
        GNT_TRY(gnti_json_append_int(devices, t->devices[i]));
    GNT_TRY(gnti_json_set_array(o, "shares", &shares));
    for (int32_t i = 0; i < t->num_devices; i++) /* over processes without an order: whole ones */
        GNT_TRY(gnti_json_append_number(shares, i < t->order.num_devices ? t->order.shares[i] : 1.0));
    GNT_TRY(gnti_json_set_array(o, "members", &names));
    for (int32_t i = 0; i < t->num_members; i++)
        GNT_TRY(gnti_json_append_text(names, run->spec->members[t->members[i]].name));
    GNT_TRY(gnti_journal_add(run->journal, t->num_devices > 0 ? "placed" : "held", o, false));
done:
    gnti_json_free(&o);
    return st;
}

void gnti_live_task_stand(gnti_live_task *t)
{
    for (int32_t i = 0; i < t->num_devices; i++)
        gnti_lanes_part(t->run->devices[t->devices[i]].lanes, t->id);
    t->num_devices = 0;
}

void gnti_live_task_seen(gnti_live_task *t)
{
    t->seen_epoch = t->epoch;
    t->seen_live = gnti_live_task_live(t, NULL);
}

gnt_status gnti_live_task_sit(gnti_live_task *t)
{
    gnt_status st = GNT_OK;
    gnti_live *run = t->run;
    gnti_live_order *o = &t->order;
    const bool foreground = run->spec->members[t->members[0]].foreground;

    GNT_TRY(gnti_live_note_measure(t));
    gnti_live_task_stand(t);
    if (o->num_devices > t->capacity) {
        GNT_TRY(gnti_realloc_array(&t->devices, o->num_devices));
        t->capacity = o->num_devices;
    }
    for (int32_t i = 0; i < o->num_devices; i++) {
        GNT_TRY(gnti_lanes_join(run->devices[o->devices[i]].lanes, t->id, o->shares[i], foreground));
        t->devices[t->num_devices++] = o->devices[i];
    }
    t->generation = o->generation;
    t->epochs_here = 0;
    gnti_live_task_seen(t);
    o->pending = false;
    GNT_TRY(gnti_live_note_place(t, gnti_live_now(run)));
done:
    return st;
}

/* ---- progress ------------------------------------------------------------------------------------------------------------ */

static void count(const gnti_live *run, gnti_ensemble_progress *p)
{
    const gnti_spec *spec = run->spec;

    p->num_members = spec->num_members;
    for (int32_t m = 0; m < spec->num_members; m++) {
        const gnti_live_member *member = &run->members[m];
        const int64_t epochs = member->outcome == GNTI_LIVE_FAILED ? member->epochs_trained /* and no more */
                                                                   : spec->members[m].train.epochs;

        p->num_ended += member->outcome == GNTI_LIVE_ENDED;
        p->num_failed += member->outcome == GNTI_LIVE_FAILED;
        p->epochs_all += epochs;
        p->epochs_done +=
            member->outcome == GNTI_LIVE_PENDING ? (member->in_task ? 0 : member->epoch) : epochs;
    }
    for (int64_t i = 0; i < run->num_tasks; i++) {
        const gnti_live_task *t = run->tasks[i];

        if (t->over)
            continue;
        p->num_running += t->num_devices > 0 ? t->seen_live : 0;
        p->epochs_done += t->seen_live * t->seen_epoch;
    }
}

gnt_status gnti_live_show(gnti_live *run, bool last)
{
    gnti_ensemble_progress p = { 0 };
    const double now = gnti_clock_seconds();

    if (run->energy != NULL && now - run->metered_at > METER_EVERY) {
        (void)gnti_energy_joules(run->energy);
        run->metered_at = now;
    }
    if (run->watch == NULL || (!last && now - run->shown_at < SHOW_EVERY))
        return GNT_OK;
    count(run, &p);
    p.seconds = now - run->started;
    if (run->epochs_before < 0)
        run->epochs_before = p.epochs_done;
    p.seconds_left = p.epochs_done > run->epochs_before ? p.seconds * (double)(p.epochs_all - p.epochs_done) /
                                                              (double)(p.epochs_done - run->epochs_before)
                                                        : (double)NAN;
    run->shown_at = now;
    run->watch(&p, run->user);
    return GNT_OK;
}
