/* SPDX-License-Identifier: Apache-2.0 */
/* Bars of the report as lines of the journal, for the processes that go on with the run (live_past.h). Nothing is synced: the lines survive
 * the process, and a machine that fails may take the newest ones along, which costs bars, no training.
 */
#include "ensemble/live_past.h"

#include <time.h>

static gnt_status fill_pool(const gnti_live *run, gnti_json *o)
{
    gnt_status st = GNT_OK;
    gnti_json *names = NULL, *speeds = NULL, *present = NULL;

    GNT_TRY(gnti_json_set_array(o, "names", &names));
    GNT_TRY(gnti_json_set_array(o, "speeds", &speeds));
    GNT_TRY(gnti_json_set_array(o, "present", &present));
    for (int32_t d = 0; d < run->num_devices; d++) {
        GNT_TRY(gnti_json_append_text(names, run->devices[d].name));
        GNT_TRY(gnti_json_append_number(speeds, run->devices[d].speed));
        GNT_TRY(gnti_json_append_int(present, run->devices[d].present));
    }
done:
    return st;
}

gnt_status gnti_live_note_process(gnti_live *run)
{
    gnt_status st = GNT_OK;
    gnti_json *o = NULL;
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    run->is_process_noted = true;
    GNT_TRY(gnti_json_create_object(&o));
    GNT_TRY(gnti_json_set_number(o, "at", gnti_live_now(run)));
    GNT_TRY(gnti_json_set_number(o, "wall", (double)now.tv_sec + 1e-9 * (double)now.tv_nsec));
    GNT_TRY(fill_pool(run, o));
    GNT_TRY(gnti_journal_add(run->journal, "process", o, false));
done:
    gnti_json_free(&o);
    return st;
}

gnt_status gnti_live_note_pool(const gnti_live *run)
{
    gnt_status st = GNT_OK;
    gnti_json *o = NULL;

    GNT_TRY(gnti_json_create_object(&o));
    GNT_TRY(gnti_json_set_number(o, "at", gnti_live_now(run)));
    GNT_TRY(fill_pool(run, o));
    GNT_TRY(gnti_journal_add(run->journal, "pool", o, false));
done:
    gnti_json_free(&o);
    return st;
}

gnt_status gnti_live_note_span_line(const gnti_live *run, const gnti_span *s)
{
    gnt_status st = GNT_OK;
    gnti_json *o = NULL;

    GNT_TRY(gnti_json_create_object(&o));
    GNT_TRY(gnti_json_set_int(o, "task", s->task));
    GNT_TRY(gnti_json_set_int(o, "device", s->device));
    GNT_TRY(gnti_json_set_number(o, "begin", s->begin));
    GNT_TRY(gnti_json_set_number(o, "at", s->end));
    GNT_TRY(gnti_json_set_number(o, "share", s->share));
    GNT_TRY(gnti_journal_add(run->journal, "span", o, false));
done:
    gnti_json_free(&o);
    return st;
}

gnt_status gnti_live_note_closed(gnti_live *run)
{
    gnt_status st = GNT_OK;
    const gnti_span *spans = NULL;
    const int64_t num = gnti_manager_closed_spans(run->manager, &spans);

    while (run->num_noted < num)
        GNT_TRY(gnti_live_note_span_line(run, &spans[run->num_noted++]));
done:
    return st;
}
