/* SPDX-License-Identifier: Apache-2.0 */
/* The bars of all processes, read from the journal when the run is over, and what those before the last one add to its facts.
 *
 * On the axis of the report process k begins where process k - 1 is last heard of. Devices are one where their names are; speeds count
 * relative to the fastest device of their process, which is how the manager weighs types.
 */
#include "ensemble/live_past.h"

#include "base/alloc.h"
#include "base/file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct past_device {
    char name[GNTI_POOL_NAME_BYTES];
    double speed;   /* relative to the slowest of its pool */
    double weight;  /* relative to the fastest */
    double present; /* 1, or 0 */
} past_device;

/* A bar that is open: which of the past's tasks, since when. */
typedef struct open_bar {
    gnti_span bar;
    int32_t index; /* of its device, as its process counts */
} open_bar;

struct gnti_live_past {
    gnti_report_process *processes;
    int64_t num_processes, processes_capacity;
    gnti_span *spans; /* on the axis; task: of the tasks here, device: of the devices here */
    int64_t num_spans, spans_capacity;
    gnti_report_task *tasks; /* ids as their process counts, until they are lent */
    int64_t num_tasks, tasks_capacity;
    past_device *devices;
    int64_t num_devices, devices_capacity;
    double busy, present; /* seconds of devices, by weight */

    /* of the process that is read */
    int64_t first_task;
    int32_t *device_of; /* (num_pool) */
    int64_t num_pool, pool_capacity;
    open_bar *open;
    int64_t num_open, open_capacity;
    double began, wall, last, since; /* its clock; since: presence is counted up to here */

    double busy_before, present_before; /* of those before it */
    int64_t *owner, *start; /* (members) task that has it, -1: none; its epoch when it came there */

    const char **names; /* (num_devices) what a report borrows */
    double *speeds;
};

static double number(const gnti_json *o, const char *key)
{
    double value = (double)NAN;

    return gnti_json_to_number(gnti_json_find(o, key), &value) ? value : (double)NAN;
}

static int64_t whole(const gnti_json *value)
{
    int64_t n = -1;

    return gnti_json_to_int(value, &n) ? n : -1;
}

/* A time of the process that is read, on the axis. */
static double on_axis(const gnti_live_past *p, double at)
{
    return p->processes[p->num_processes - 1].begin + fmax(at - p->began, 0.0);
}

/* ---- processes and devices ------------------------------------------------------------------------------------------------ */

static void count_presence(gnti_live_past *p, double at)
{
    for (int64_t d = 0; d < p->num_pool && at > p->since; d++)
        p->present +=
            (at - p->since) * p->devices[p->device_of[d]].weight * p->devices[p->device_of[d]].present;
    p->since = fmax(at, p->since);
}

static gnt_status find_device(gnti_live_past *p, const char *name, int32_t *out)
{
    gnt_status st = GNT_OK;

    for (*out = 0; *out < p->num_devices; ++*out)
        if (strcmp(p->devices[*out].name, name) == 0)
            return GNT_OK;
    GNT_TRY(gnti_grow_array(&p->devices, &p->devices_capacity, p->num_devices + 1));
    p->devices[p->num_devices] = (past_device){ .weight = 1.0 };
    snprintf(p->devices[p->num_devices++].name, GNTI_POOL_NAME_BYTES, "%s", name);
done:
    return st;
}

static gnt_status read_pool(gnti_live_past *p, const gnti_json *line)
{
    gnt_status st = GNT_OK;
    const gnti_json *names = gnti_json_find(line, "names"), *speeds = gnti_json_find(line, "speeds");
    const gnti_json *present = gnti_json_find(line, "present");
    double fastest = 0.0, slowest = INFINITY;

    p->num_pool = 0;
    for (int64_t d = 0; d < gnti_json_length(names); d++) {
        const char *name = gnti_json_to_text(gnti_json_at(names, d));
        past_device *device;
        double speed = 1.0;

        GNT_TRY(gnti_grow_array(&p->device_of, &p->pool_capacity, d + 1));
        GNT_TRY(find_device(p, name != NULL ? name : "", &p->device_of[d]));
        device = &p->devices[p->device_of[p->num_pool++]];
        device->speed = gnti_json_to_number(gnti_json_at(speeds, d), &speed) && speed > 0.0 ? speed : 1.0;
        device->present = whole(gnti_json_at(present, d)) > 0 ? 1.0 : 0.0;
        fastest = fmax(fastest, device->speed);
        slowest = fmin(slowest, device->speed);
    }
    for (int64_t d = 0; d < p->num_pool; d++) {
        past_device *device = &p->devices[p->device_of[d]];

        device->weight = device->speed / fastest;
        device->speed /= slowest;
    }
done:
    return st;
}

static gnt_status add_span(gnti_live_past *p, const gnti_span *s)
{
    gnt_status st = GNT_OK;
    const double begin = on_axis(p, s->begin), end = on_axis(p, s->end);

    if (!(end > begin))
        return GNT_OK;
    GNT_TRY(gnti_grow_array(&p->spans, &p->spans_capacity, p->num_spans + 1));
    p->spans[p->num_spans++] = (gnti_span){ s->task, s->device, begin, end, s->share };
    p->busy += (end - begin) * s->share * p->devices[s->device].weight;
done:
    return st;
}

static gnt_status end_process(gnti_live_past *p)
{
    gnt_status st = GNT_OK;

    if (p->num_processes == 0)
        return GNT_OK;
    for (int64_t i = 0; i < p->num_open; i++) {
        p->open[i].bar.end = p->last;
        GNT_TRY(add_span(p, &p->open[i].bar));
    }
    count_presence(p, p->last);
    p->num_open = 0;
    p->processes[p->num_processes - 1].end = on_axis(p, p->last);
done:
    return st;
}

static gnt_status begin_process(gnti_live_past *p, double at, double wall)
{
    gnt_status st = GNT_OK;
    const gnti_report_process *before = p->num_processes > 0 ? &p->processes[p->num_processes - 1] : NULL;
    gnti_report_process next = { .started = wall };

    if (before != NULL) {
        next.begin = before->end;
        next.pause = fmax(wall - (p->wall + before->end - before->begin), 0.0);
    }
    next.end = next.begin;
    GNT_TRY(gnti_grow_array(&p->processes, &p->processes_capacity, p->num_processes + 1));
    p->processes[p->num_processes++] = next;
    p->began = p->last = p->since = at;
    p->busy_before = p->busy;
    p->present_before = p->present;
    p->wall = wall;
    p->first_task = p->num_tasks;
done:
    return st;
}

/* ---- bars ------------------------------------------------------------------------------------------------------------------- */

static int64_t find_task(const gnti_live_past *p, int64_t id)
{
    for (int64_t t = p->first_task; t < p->num_tasks; t++)
        if (p->tasks[t].id == id)
            return t;
    return -1;
}

static int32_t find_member(const gnti_live *run, const gnti_json *name)
{
    const char *text = gnti_json_to_text(name);

    for (int32_t m = 0; text != NULL && m < run->spec->num_members; m++)
        if (strcmp(run->spec->members[m].name, text) == 0)
            return m;
    return -1;
}

static gnt_status add_task(gnti_live_past *p, const gnti_live *run, const gnti_json *line, int64_t id)
{
    gnt_status st = GNT_OK;
    const gnti_json *names = gnti_json_find(line, "members");
    int32_t *members = NULL, num = 0;

    GNT_TRY(gnti_alloc_array(&members, gnti_json_length(names) + 1));
    for (int64_t i = 0; i < gnti_json_length(names); i++) {
        members[num] = find_member(run, gnti_json_at(names, i));
        num += members[num] >= 0;
    }
    GNT_TRY(gnti_grow_array(&p->tasks, &p->tasks_capacity, p->num_tasks + 1));
    p->tasks[p->num_tasks++] = (gnti_report_task){ .id = id, .members = members, .num_members = num };
    members = NULL;
done:
    gnti_free(members);
    return st;
}

static gnt_status open_bars(gnti_live_past *p, const gnti_live *run, const gnti_json *line)
{
    gnt_status st = GNT_OK;
    const gnti_json *devices = gnti_json_find(line, "devices"), *shares = gnti_json_find(line, "shares");
    const int64_t id = whole(gnti_json_find(line, "task"));

    if (find_task(p, id) < 0)
        GNT_TRY(add_task(p, run, line, id));
    for (int64_t i = 0; i < gnti_json_length(devices); i++) {
        const int64_t d = whole(gnti_json_at(devices, i));
        double share = 1.0;

        if (d < 0 || d >= p->num_pool)
            continue;
        if (!gnti_json_to_number(gnti_json_at(shares, i), &share))
            share = 1.0;
        GNT_TRY(gnti_grow_array(&p->open, &p->open_capacity, p->num_open + 1));
        p->open[p->num_open++] =
            (open_bar){ .bar = { find_task(p, id), p->device_of[d], number(line, "at"), 0.0, share },
                        .index = (int32_t)d };
    }
done:
    return st;
}

/* The line that opened it came earlier, and the one of where its task goes next may have, too. */
static gnt_status close_bar(gnti_live_past *p, const gnti_json *line)
{
    gnt_status st = GNT_OK;
    const int64_t d = whole(gnti_json_find(line, "device")),
                  task = find_task(p, whole(gnti_json_find(line, "task")));
    gnti_span s = { task, 0, number(line, "begin"), number(line, "at"), number(line, "share") };
    int64_t left = 0;

    if (task < 0 || d < 0 || d >= p->num_pool)
        return GNT_OK;
    s.device = p->device_of[d];
    for (int64_t i = 0; i < p->num_open; i++) {
        open_bar *o = &p->open[i];
        const bool is_same = o->bar.task == task && o->index == d;

        if (is_same && o->bar.begin <= s.begin)
            continue;
        if (is_same)
            o->bar.begin = fmax(o->bar.begin, s.end);
        p->open[left++] = *o;
    }
    p->num_open = left;
    GNT_TRY(add_span(p, &s));
done:
    return st;
}

/* Members leave another task, of this process or an earlier one, at the epoch where they go on here. */
static void take_members(gnti_live_past *p, const gnti_live *run, const gnti_json *line)
{
    const gnti_json *names = gnti_json_find(line, "members");
    const int64_t task = find_task(p, whole(gnti_json_find(line, "task")));
    const int64_t epoch = whole(gnti_json_find(line, "epoch"));

    for (int64_t i = 0; i < gnti_json_length(names); i++) {
        const int32_t m = find_member(run, gnti_json_at(names, i));

        if (m < 0 || p->owner[m] == task)
            continue;
        if (p->owner[m] >= 0)
            p->tasks[p->owner[m]].epochs += epoch - p->start[m];
        p->owner[m] = task;
        p->start[m] = epoch;
    }
}

static void end_member(gnti_live_past *p, const gnti_live *run, const gnti_json *line)
{
    const int32_t m = find_member(run, gnti_json_find(line, "member"));

    if (m < 0 || p->owner[m] < 0)
        return;
    p->tasks[p->owner[m]].epochs += whole(gnti_json_find(line, "epochs")) - p->start[m];
    p->owner[m] = -1;
}

/* ---- the journal -------------------------------------------------------------------------------------------------------------- */

static gnt_status read_line(gnti_live_past *p, const gnti_live *run, const gnti_json *line)
{
    gnt_status st = GNT_OK;
    const char *event = gnti_json_to_text(gnti_json_find(line, "event"));
    const double at = number(line, "at");

    if (event == NULL || (p->num_processes == 0 && strcmp(event, "process") != 0))
        return GNT_OK; /* by a version that told less */
    if (strcmp(event, "process") == 0) {
        GNT_TRY(end_process(p));
        GNT_TRY(begin_process(p, isfinite(at) ? at : 0.0, number(line, "wall")));
        GNT_TRY(read_pool(p, line));
    } else if (strcmp(event, "pool") == 0) {
        count_presence(p, at);
        GNT_TRY(read_pool(p, line));
    } else if (strcmp(event, "placed") == 0) {
        GNT_TRY(open_bars(p, run, line));
        take_members(p, run, line);
    } else if (strcmp(event, "span") == 0) {
        GNT_TRY(close_bar(p, line));
    } else if (strcmp(event, "ended") == 0) {
        end_member(p, run, line);
    }
    p->last = fmax(p->last, at); /* fmax passes NaN over */
done:
    return st;
}

gnt_status gnti_live_past_read(const gnti_live *run, gnti_live_past **out)
{
    gnt_status st = GNT_OK;
    gnti_live_past *p = NULL;
    gnti_journal *journal = NULL;
    char *path = NULL;

    GNT_TRY(gnti_calloc_array(&p, 1));
    GNT_TRY(gnti_calloc_array(&p->start, run->spec->num_members + 1));
    GNT_TRY(gnti_alloc_array(&p->owner, run->spec->num_members + 1));
    for (int32_t m = 0; m < run->spec->num_members; m++)
        p->owner[m] = -1;
    GNT_TRY(gnti_path_join(run->config->run, "journal.jsonl", &path));
    GNT_TRY(gnti_journal_read(path, &journal));
    for (int64_t i = 0; i < gnti_journal_num_lines(journal); i++)
        GNT_TRY(read_line(p, run, gnti_journal_line(journal, i)));
    GNT_TRY(end_process(p));
    for (int64_t k = 0; run->is_virtual && k < p->num_processes; k++)
        p->processes[k].pause = (double)NAN;
    *out = p;
    p = NULL;
done:
    gnti_free(path);
    gnti_journal_close(&journal);
    gnti_live_past_free(&p);
    return st;
}

void gnti_live_past_free(gnti_live_past **past)
{
    gnti_live_past *p = *past;

    if (p == NULL)
        return;
    *past = NULL;
    for (int64_t t = 0; t < p->num_tasks; t++)
        gnti_free((int32_t *)p->tasks[t].members);
    gnti_free(p->tasks);
    gnti_free(p->owner);
    gnti_free(p->start);
    gnti_free(p->processes);
    gnti_free(p->spans);
    gnti_free(p->devices);
    gnti_free(p->device_of);
    gnti_free(p->open);
    gnti_free(p->names);
    gnti_free(p->speeds);
    gnti_free(p);
}

/* ---- the report ------------------------------------------------------------------------------------------------------------------ */

void gnti_live_past_count(const gnti_live *run, const gnti_live_past *p, gnti_manager_facts *facts)
{
    const int64_t before = p->num_processes - (run->is_process_noted ? 1 : 0);
    const double seconds = before > 0 ? p->processes[before - 1].end : 0.0;

    facts->makespan += seconds;
    facts->lower_bound += seconds; /* what was left then does not end earlier */
    facts->busy_speed_seconds += run->is_process_noted ? p->busy_before : p->busy;
    facts->present_speed_seconds += run->is_process_noted ? p->present_before : p->present;
}

gnt_status gnti_live_past_lend(gnti_live_past *p, gnti_report_run *r)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_alloc_array(&p->names, p->num_devices + 1));
    GNT_TRY(gnti_alloc_array(&p->speeds, p->num_devices + 1));
    for (int64_t d = 0; d < p->num_devices; d++) {
        p->names[d] = p->devices[d].name;
        p->speeds[d] = p->devices[d].speed;
    }
    for (int64_t t = 0; t < p->num_tasks; t++)
        p->tasks[t].id = t;
    r->devices = p->names;
    r->device_speeds = p->speeds;
    r->num_devices = (int32_t)p->num_devices;
    r->tasks = p->tasks;
    r->num_tasks = (int32_t)p->num_tasks;
    r->spans = p->spans;
    r->num_spans = p->num_spans;
    r->processes = p->processes;
    r->num_processes = p->num_processes;
done:
    return st;
}
