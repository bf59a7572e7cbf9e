/* SPDX-License-Identifier: Apache-2.0 */
/* What fails, and what happens then.
 *
 *   a member among others (its loss or gradient is no number)   the others go on; it is tried again from its newest checkpoint, alone
 *   a group, by status or out of memory                         its members are tried again from their newest checkpoints, in halves
 *   a member alone                                              tried again `retries` times, as the manager counts; then given up
 *   a group or a member, out of memory of a device              besides: its devices hold less than was planned, so it goes elsewhere,
 *                                                               which is no retry; where nothing holds it, given up at once
 *   a device                                                    its groups are tried again elsewhere; the device is gone
 * Whoever is not named here is not touched. Failures to write files are the run's own and end it.
 */
#include "ensemble/live_past.h"
#include "ensemble/live_task.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

static const double KEEP = 0.5; /* of measured seconds */
enum { PLACE_BYTES = 200 };

gnt_status gnti_live_event(gnti_live *run, gnti_event e)
{
    gnt_status st = GNT_OK;

    e.time = gnti_live_now(run);
    GNT_TRY(gnti_manager_event(run->manager, &e));
    GNT_TRY(gnti_live_note_closed(run));
done:
    return st;
}

/* ---- journal and log ---------------------------------------------------------------------------------------------------- */

static gnt_status note_member(gnti_live *run, const char *event, int32_t m, const char *text, int64_t epoch)
{
    gnt_status st = GNT_OK;
    gnti_json *o = NULL;

    GNT_TRY(gnti_json_create_object(&o));
    GNT_TRY(gnti_json_set_text(o, "member", run->spec->members[m].name));
    GNT_TRY(gnti_json_set_text(o, "status", gnt_status_name(run->members[m].status)));
    GNT_TRY(gnti_json_set_text(o, "message", text));
    GNT_TRY(gnti_json_set_int(o, "epochs", epoch));
    GNT_TRY(gnti_json_set_number(o, "seconds", run->members[m].seconds));
    GNT_TRY(gnti_journal_add(run->journal, event, o, true));
done:
    gnti_json_free(&o);
    return st;
}

/* " on cpu 0, cpu 1": where it was, "" where that is not known. */
static const char *place_of(const gnti_live_task *t, char out[PLACE_BYTES])
{
    size_t used = 0;

    out[0] = '\0';
    for (int32_t i = 0; t != NULL && i < t->num_devices && used < PLACE_BYTES; i++)
        used += (size_t)snprintf(out + used, PLACE_BYTES - used, "%s%s", i == 0 ? " on " : ", ",
                                 t->run->devices[t->devices[i]].name);
    return out;
}

static gnt_status note_failure(gnti_live *run, const gnti_live_task *t, int32_t m, gnt_status status,
                               const char *text)
{
    gnt_status st = GNT_OK;
    gnti_live_member *member = &run->members[m];
    char place[PLACE_BYTES], kept[80] = "";

    member->status = status;
    if (text != member->failure)
        snprintf(member->failure, sizeof member->failure, "%s", text);
    GNT_TRY(note_member(run, "failed", m, member->failure, member->epoch));
    if (member->epoch > 0)
        snprintf(kept, sizeof kept, ", its checkpoint of epoch %lld is sound", (long long)member->epoch);
    GNT_TRY(gnti_live_note(run, "member %s failed%s%s: %s", run->spec->members[m].name, place_of(t, place),
                           kept, member->failure));
done:
    return st;
}

gnt_status gnti_live_note_failure(gnti_live *run, int32_t m, gnt_status status, const char *text)
{
    return note_failure(run, NULL, m, status, text);
}

gnt_status gnti_live_member_give_up(gnti_live *run, int32_t m, gnt_status status, const char *why)
{
    gnt_status st = GNT_OK;
    gnti_live_member *member = &run->members[m];
    bool for_good;

    if (member->failure[0] == '\0') {
        member->status = status;
        snprintf(member->failure, sizeof member->failure, "%s", why);
    }
    for_good = member->status == GNT_ERR_NUMERIC;
    member->outcome = GNTI_LIVE_FAILED;
    member->how = "failed";
    member->epochs_trained = member->epoch;
    GNT_TRY(note_member(run, for_good ? "given-up" : "set-aside", m, member->failure, member->epoch));
    GNT_TRY(gnti_live_note(
        run, "member %s is %s%s: %s", run->spec->members[m].name, for_good ? "given up" : "set aside",
        member->status == GNT_ERR_DEVICE_NOMEM ? ", no device that is there holds it" : "", member->failure));
done:
    return st;
}

/* ---- tasks ----------------------------------------------------------------------------------------------------------------- */

gnt_status gnti_live_give_up(gnti_live_task *t)
{
    gnt_status st = GNT_OK;

    gnti_live_dissolve(t);
    for (int32_t i = 0; i < t->num_members; i++)
        if (!t->done[i])
            GNT_TRY(gnti_live_member_give_up(t->run, t->members[i], GNT_ERR_DEVICE_LOST,
                                             "no device that is left has room for it"));
    GNT_TRY(gnti_live_arrive(t->run, NULL, 0)); /* those that build on them have failed too */
done:
    return st;
}

/* Epochs that the manager counts: since the task arrived. */
static double epochs_since(const gnti_live_task *t)
{
    return t->epoch > t->first_epoch ? (double)(t->epoch - t->first_epoch) : 0.0;
}

/* The task is over for the manager, its members come back as others. */
static gnt_status regroup(gnti_live_task *t, int32_t most)
{
    gnt_status st = GNT_OK;
    uint8_t *only = NULL;

    GNT_TRY(gnti_calloc_array(&only, t->run->spec->num_members + 1));
    for (int32_t i = 0; i < t->num_members; i++)
        only[t->members[i]] = !t->done[i];
    gnti_live_dissolve(t);
    GNT_TRY(gnti_live_event(t->run, (gnti_event){ .kind = GNTI_EVENT_TASK_ENDED, .task = t->id }));
    GNT_TRY(gnti_live_arrive(t->run, only, most));
done:
    gnti_free(only);
    return st;
}

gnt_status gnti_live_task_uneven(gnti_live_task *t)
{
    return regroup(t, 0);
}

/* ---- devices ---------------------------------------------------------------------------------------------------------------- */

/* Whether a device still answers: one that is asked to be lost does not, one that is there gives memory. */
static bool answers(const gnti_live *run, int32_t d, int64_t step)
{
    const gnti_device_spec *spec = &run->specs[d];
    gnti_device_config config = *gnti_context_device_config(run->ctx);
    gnt_device *device = NULL;
    gnt_buffer *buffer = NULL;
    gnt_stream *stream = NULL;
    bool fine;

    if (spec->lost_step >= 0)
        return step < spec->lost_step;
    config.num_threads = 1;
    fine = gnti_device_open_spec(spec, 0, &config, &device) == GNT_OK &&
           gnti_buffer_alloc(device, 64, &buffer) == GNT_OK &&
           gnti_stream_open(device, 0, &stream) == GNT_OK && gnti_stream_finish(stream) == GNT_OK;
    gnti_stream_close(&stream);
    gnti_buffer_free(&buffer);
    gnti_device_close(&device);
    return fine;
}

static bool is_on(const int32_t *devices, int32_t num, int32_t d)
{
    for (int32_t i = 0; i < num; i++)
        if (devices[i] == d)
            return true;
    return false;
}

/* The device is gone: what was on it goes back to its checkpoints, what was on its way there stays. */
gnt_status gnti_live_lose_device(gnti_live *run, int32_t d, const char *text)
{
    gnt_status st = GNT_OK;
    gnti_json *o = NULL;

    if (!run->devices[d].present)
        return GNT_OK;
    run->devices[d].present = false;
    GNT_TRY(gnti_json_create_object(&o));
    GNT_TRY(gnti_json_set_int(o, "device", d));
    GNT_TRY(gnti_json_set_text(o, "name", run->devices[d].name));
    GNT_TRY(gnti_json_set_text(o, "message", text));
    GNT_TRY(gnti_journal_add(run->journal, "device-lost", o, true));
    GNT_TRY(gnti_live_note_pool(run));
    GNT_TRY(gnti_live_note(run, "device %d (%s) was lost at %.3g s: %s", (int)d, run->devices[d].name,
                           gnti_live_now(run), text));
    for (int64_t i = 0; i < run->num_tasks; i++) {
        gnti_live_task *t = run->tasks[i];

        if (t->over)
            continue;
        t->lost = t->lost || is_on(t->devices, t->num_devices, d);
        if (t->order.pending && is_on(t->order.devices, t->order.num_devices, d))
            t->order.pending = false;
    }
    GNT_TRY(gnti_live_event(run, (gnti_event){ .kind = GNTI_EVENT_DEVICE_LOST, .device = d }));
    pthread_cond_broadcast(&run->wake);
done:
    gnti_json_free(&o);
    return st;
}

/* Of the task's devices those that no longer answer; the first one when all seem to. */
static gnt_status lose_devices(gnti_live_task *t, const char *text)
{
    gnt_status st = GNT_OK;
    int32_t num_lost = 0;

    for (int32_t i = 0; i < t->num_devices; i++)
        if (!answers(t->run, t->devices[i], t->epoch)) {
            GNT_TRY(gnti_live_lose_device(t->run, t->devices[i], text));
            num_lost++;
        }
    if (num_lost == 0 && t->num_devices > 0)
        GNT_TRY(gnti_live_lose_device(t->run, t->devices[0], text));
done:
    return st;
}

/* ---- failures ------------------------------------------------------------------------------------------------------------- */

/* What planners may fill of its devices is less than was thought. */
static gnt_status tell_shortage(gnti_live_task *t)
{
    gnt_status st = GNT_OK;
    gnti_live *run = t->run;

    GNT_TRY(gnti_live_event(run, (gnti_event){ .kind = GNTI_EVENT_TASK_SHORT,
                                               .task = t->id,
                                               .epochs_done = epochs_since(t),
                                               .generation = t->generation }));
    for (int32_t i = 0; i < t->num_devices; i++)
        run->devices[t->devices[i]].bytes = gnti_manager_device_bytes(run->manager, t->devices[i]);
    gnti_live_task_stand(t);
done:
    return st;
}

gnt_status gnti_live_task_failed(gnti_live_task *t, gnt_status status, const char *text)
{
    gnt_status st = GNT_OK;
    gnti_live *run = t->run;
    const int32_t live = gnti_live_task_live(t, NULL);

    if (t->over)
        return GNT_OK;
    if (status == GNT_ERR_DEVICE_LOST)
        return lose_devices(t, text);
    for (int32_t i = 0; i < t->num_members; i++)
        if (!t->done[i])
            GNT_TRY(note_failure(run, t, t->members[i], status, text));
    t->epoch = t->first_epoch; /* if it is not alone, nobody will ask any more */
    for (int32_t i = 0; i < t->num_members && live == 1; i++)
        if (!t->done[i]) {
            run->members[t->members[i]].alone = true;
            t->epoch = run->members[t->members[i]].epoch;
        }
    if (status == GNT_ERR_DEVICE_NOMEM)
        GNT_TRY(tell_shortage(t));
    if (live > 1)
        return regroup(t, (live + 1) / 2);
    if (status == GNT_ERR_DEVICE_NOMEM)
        return GNT_OK;
    GNT_TRY(gnti_live_event(run, (gnti_event){ .kind = GNTI_EVENT_TASK_FAILED,
                                               .task = t->id,
                                               .epochs_done = epochs_since(t),
                                               .generation = t->generation }));
done:
    return st;
}

/* Members that failed among others train alone from now on. */
static gnt_status part_with(gnti_live_task *t, const gnti_live_report *report)
{
    gnt_status st = GNT_OK;
    gnti_live *run = t->run;

    for (int32_t i = 0; i < report->num_failed; i++) {
        gnti_live_member *member = &run->members[report->failed[i]];

        GNT_TRY(note_failure(run, t, report->failed[i], GNT_ERR_NUMERIC, member->failure));
        member->alone = true;
        member->in_task = false;
    }
    if (report->num_failed > 0)
        GNT_TRY(gnti_live_arrive(run, NULL, 0));
done:
    return st;
}

/* The first epoch on a device is a warm-up, which tells nothing. Answers what the manager may learn from, 0: nothing. */
static gnt_status measure(gnti_live_task *t, const gnti_live_report *report, double *seconds)
{
    gnt_status st = GNT_OK;
    gnti_group_measure *m = &t->measured;

    *seconds = t->epochs_here++ > 0 || t->run->is_virtual ? report->seconds : 0.0;
    if (!(*seconds > 0.0) || t->num_devices != 1 || report->shared)
        return GNT_OK;
    if (t->measured_num != report->num_members) {
        GNT_TRY(gnti_live_note_measure(t));
        *m = (gnti_group_measure){ .seconds = *seconds };
        t->measured_num = report->num_members;
    }
    m->seconds = KEEP * m->seconds + (1.0 - KEEP) * *seconds;
    m->bytes = gnti_max_i64(m->bytes, report->bytes);
done:
    return st;
}

gnt_status gnti_live_take_report(gnti_live_task *t, const gnti_live_report *report)
{
    gnt_status st = GNT_OK;
    gnti_live *run = t->run;
    gnti_event e = { .task = t->id, .generation = t->generation, .epochs_done = epochs_since(t) };

    gnti_live_task_seen(t);
    if (report->status != GNT_OK) /* of a lost device that is known */
        return t->lost ? GNT_OK : gnti_live_task_failed(t, report->status, report->error.text);
    e.kind = GNTI_EVENT_EPOCH_DONE;
    GNT_TRY(measure(t, report, &e.seconds));
    GNT_TRY(gnti_live_event(run, e));
    if (report->over) {
        GNT_TRY(gnti_live_note_measure(t));
        gnti_live_dissolve(t);
        GNT_TRY(part_with(t, report));
        e.kind = GNTI_EVENT_TASK_ENDED;
        GNT_TRY(gnti_live_event(run, e));
        GNT_TRY(gnti_live_write_profile(run));
        return gnti_live_arrive(run, NULL, 0); /* those that waited for these members */
    }
    GNT_TRY(part_with(t, report));
    if (report->scale < 1.0) {
        e.kind = GNTI_EVENT_TASK_CHANGED;
        e.scale = report->scale;
        GNT_TRY(gnti_live_event(run, e));
    }
done:
    return st;
}
