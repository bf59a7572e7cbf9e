/* SPDX-License-Identifier: Apache-2.0 */
/* What report.json says of the training: members, devices, spans, the manager's figures. The page is drawn from this text and
 * the members' metrics, so that it can be made anew long after the run.
 */
#include "ensemble/report_page.h"

#include "base/alloc.h"
#include "base/file.h"

#include <math.h>
#include <string.h>

static gnt_status put_members(const gnti_report_run *run, gnti_json *o)
{
    gnt_status st = GNT_OK;
    gnti_json *list = NULL, *m = NULL;

    GNT_TRY(gnti_json_set_array(o, "members", &list));
    for (int32_t i = 0; i < run->num_members; i++) {
        const gnti_report_member *from = &run->members[i];

        GNT_TRY(gnti_json_append_object(list, &m));
        GNT_TRY(gnti_json_set_text(m, "name", from->name));
        GNT_TRY(gnti_json_set_text(m, "differs", from->differs != NULL ? from->differs : ""));
        GNT_TRY(gnti_json_set_text(m, "outcome", from->outcome != NULL ? from->outcome : ""));
        GNT_TRY(gnti_json_set_int(m, "seed", (int64_t)from->seed));
        GNT_TRY(gnti_json_set_int(m, "epochs", from->epochs));
        GNT_TRY(gnti_json_set_number(m, "seconds", from->seconds));
    }
done:
    return st;
}

static gnt_status put_devices(const gnti_report_run *run, gnti_json *o)
{
    gnt_status st = GNT_OK;
    gnti_json *list = NULL, *d = NULL;

    GNT_TRY(gnti_json_set_array(o, "devices", &list));
    for (int32_t i = 0; i < run->num_devices; i++) {
        GNT_TRY(gnti_json_append_object(list, &d));
        GNT_TRY(gnti_json_set_text(d, "name", run->devices[i]));
        if (run->device_speeds != NULL)
            GNT_TRY(gnti_json_set_number(d, "speed", run->device_speeds[i]));
    }
done:
    return st;
}

static gnt_status put_tasks(const gnti_report_run *run, gnti_json *o)
{
    gnt_status st = GNT_OK;
    gnti_json *list = NULL, *t = NULL, *names = NULL;

    GNT_TRY(gnti_json_set_array(o, "tasks", &list));
    for (int32_t i = 0; i < run->num_tasks; i++) {
        const gnti_report_task *from = &run->tasks[i];

        GNT_TRY(gnti_json_append_object(list, &t));
        GNT_TRY(gnti_json_set_int(t, "id", from->id));
        GNT_TRY(gnti_json_set_int(t, "epochs", from->epochs));
        GNT_TRY(gnti_json_set_array(t, "members", &names));
        for (int32_t k = 0; k < from->num_members; k++) {
            GNT_CHECK(from->members[k] >= 0 && from->members[k] < run->num_members, GNT_ERR_ARG,
                      "task %lld has member %d of %d", (long long)from->id, from->members[k],
                      run->num_members);
            GNT_TRY(gnti_json_append_text(names, run->members[from->members[k]].name));
        }
    }
done:
    return st;
}

/* One array a span: [task, device, begin, end, share]. */
static gnt_status put_spans(const gnti_report_run *run, gnti_json *o)
{
    gnt_status st = GNT_OK;
    gnti_json *list = NULL, *s = NULL;

    GNT_TRY(gnti_json_set_array(o, "spans", &list));
    for (int64_t i = 0; i < run->num_spans; i++) {
        const gnti_span *from = &run->spans[i];

        GNT_TRY(gnti_json_append_array(list, &s));
        GNT_TRY(gnti_json_append_int(s, from->task));
        GNT_TRY(gnti_json_append_int(s, from->device));
        GNT_TRY(gnti_json_append_number(s, from->begin));
        GNT_TRY(gnti_json_append_number(s, from->end));
        GNT_TRY(gnti_json_append_number(s, from->share));
    }
done:
    return st;
}

static gnt_status put_processes(const gnti_report_run *run, gnti_json *o)
{
    gnt_status st = GNT_OK;
    gnti_json *list = NULL, *p = NULL;

    GNT_TRY(gnti_json_set_array(o, "processes", &list));
    for (int64_t i = 0; i < run->num_processes; i++) {
        GNT_TRY(gnti_json_append_object(list, &p));
        GNT_TRY(gnti_json_set_number(p, "started", run->processes[i].started));
        GNT_TRY(gnti_json_set_number(p, "begin", run->processes[i].begin));
        GNT_TRY(gnti_json_set_number(p, "end", run->processes[i].end));
        GNT_TRY(gnti_json_set_number(p, "pause_seconds", run->processes[i].pause));
    }
done:
    return st;
}

static gnt_status put_manager(const gnti_manager_facts *f, gnti_json *o)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_json_set_number(o, "makespan_seconds", f->makespan));
    GNT_TRY(gnti_json_set_number(o, "lower_bound_seconds", f->lower_bound));
    GNT_TRY(gnti_json_set_number(
        o, "utilisation",
        f->present_speed_seconds > 0.0 ? f->busy_speed_seconds / f->present_speed_seconds : (double)NAN));
    GNT_TRY(gnti_json_set_number(o, "mean_completion_seconds", f->mean_completion));
    GNT_TRY(gnti_json_set_number(o, "wait_seconds", f->wait_seconds));
    GNT_TRY(gnti_json_set_number(o, "move_seconds", f->move_seconds));
    GNT_TRY(gnti_json_set_number(o, "joules", f->joules));
    GNT_TRY(gnti_json_set_int(o, "num_moves", f->num_moves));
    GNT_TRY(gnti_json_set_int(o, "num_retries", f->num_retries));
    GNT_TRY(gnti_json_set_int(o, "num_lost", f->num_lost));
    GNT_TRY(gnti_json_set_int(o, "num_given_up", f->num_given_up));
done:
    return st;
}

gnt_status gnti_report_add_run(gnti_json *report, const gnti_report_run *run)
{
    gnt_status st = GNT_OK;
    gnti_json *o = NULL, *part = NULL;

    GNT_TRY(gnti_json_set_object(report, "run", &o));
    GNT_TRY(gnti_json_set_text(o, "title", run->title));
    GNT_TRY(gnti_json_set_text(o, "data", run->data));
    GNT_TRY(gnti_json_set_text(o, "clock", run->clock));
    GNT_TRY(gnti_json_set_text(o, "policy", run->policy));
    GNT_TRY(gnti_json_set_text(o, "method", run->method));
    GNT_TRY(put_members(run, o));
    GNT_TRY(put_devices(run, o));
    GNT_TRY(put_tasks(run, o));
    GNT_TRY(put_spans(run, o));
    GNT_TRY(put_processes(run, o));
    if (run->manager != NULL) {
        GNT_TRY(gnti_json_set_object(o, "manager", &part));
        GNT_TRY(put_manager(run->manager, part));
    }
    GNT_TRY(gnti_json_set_array(o, "notes", &part));
    for (int32_t i = 0; i < run->num_notes; i++)
        GNT_TRY(gnti_json_append_text(part, run->notes[i]));
done:
    return st;
}

gnt_status gnti_report_write(const char *folder, const gnti_json *report)
{
    gnt_status st = GNT_OK;
    char *path = NULL, *html = NULL;

    GNT_TRY(gnti_report_page(report, folder, &html));
    GNT_TRY(gnti_path_join(folder, "report.json", &path));
    GNT_TRY(gnti_json_write(path, report));
    gnti_free(path);
    path = NULL;
    GNT_TRY(gnti_path_join(folder, "report.html", &path));
    GNT_TRY(gnti_file_write_all(path, html, strlen(html)));
done:
    gnti_free(path);
    gnti_free(html);
    return st;
}
