/* SPDX-License-Identifier: Apache-2.0 */
/* The trace of a simulation: rows of tasks, which are expanded, and what happens to devices and tasks at written times.
 *
 * A row stands for `count` tasks; where it gives two numbers, each task draws its own, evenly in the logarithm. What the manager is told of
 * seconds per epoch is the truth, the truth off by a factor (rough), or one second everywhere (unknown).
 */
#include "ensemble/simulate_world.h"

#include "base/alloc.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_TASKS = 1 << 20 };
#define LONG_TIME  1e12
#define MAX_EPOCHS 1e8 /* of all tasks: a minute or two of simulation */

#define ROW(kind, name, member, ...) GNT_OPTION_##kind(name, gnti_world_row, member, __VA_ARGS__)
static const gnt_option row_table[] = {
    ROW(TEXT, "name", name, NULL, "of the row; its tasks are NAME-0, NAME-1, ..."),
    ROW(INT, "count", count, 1, 1, MAX_TASKS, "tasks of the row"),
    ROW(DOUBLE, "arrival", arrival, 0.0, 0.0, LONG_TIME, "seconds, of the first"),
    ROW(DOUBLE, "every", every, 0.0, 0.0, LONG_TIME, "seconds from one arrival to the next"),
    ROW(WORD, "gaps", gaps, 0, "even|exponential", "how they are spread around `every`"),
    ROW(LIST, "epochs", epochs, "100", "one number, or the bounds of a draw"),
    ROW(LIST, "seconds", seconds, "1", "of an epoch at speed 1; one number, or the bounds of a draw"),
    ROW(LIST, "ends", ends, "1", "share of the epochs after which it ends, unknown to the manager"),
    ROW(WORD, "given", given, 0, "exact|rough|unknown", "what the manager is told of the seconds"),
    ROW(DOUBLE, "serial", serial, 0.05, 0.0, 1.0, "share of an epoch that several devices do not shorten"),
    ROW(DOUBLE, "overhead", overhead, 0.01, 0.0, 1.0, "that each further device adds"),
    ROW(INT, "max-devices", max_devices, 1, 1, 1000000, "that it may have at once"),
    ROW(DOUBLE, "shared", shared, 0.0, 0.0, 1e6, "GiB of data that tasks of equal `data` share"),
    ROW(INT, "data", data, 0, 0, 1000000, "number of its data"),
    ROW(DOUBLE, "lasting", lasting, 0.0, 0.0, 1e6, "GiB of weights and moments, which a move carries"),
    ROW(DOUBLE, "scratch", scratch, 0.0, 0.0, 1e6, "GiB of one step"),
    ROW(DOUBLE, "use", use, 1.0, 1e-3, 1.0, "share of a device that it keeps busy when it is alone"),
    ROW(DOUBLE, "weight", weight, 1.0, 1e-6, 1e6, "for max-min"),
    ROW(DOUBLE, "switch", switch_epochs, 0.0, 0.0, 1e6, "what planners take a move to cost, in epochs"),
    ROW(BOOL, "foreground", foreground, false, "is slowed at most 1.2x by others on its device"),
    GNT_OPTION_END,
};
#undef ROW

typedef struct happening_row {
    double at, factor, notice;
    char *lose, *add, *leave, *slow, *fail, *end, *shrink;
} happening_row;

#define ROW(kind, name, member, ...) GNT_OPTION_##kind(name, happening_row, member, __VA_ARGS__)
static const gnt_option happening_table[] = {
    ROW(DOUBLE, "at", at, 0.0, 0.0, LONG_TIME, "seconds"),
    ROW(DOUBLE, "factor", factor, 1.0, 1e-3, 1e3, "speed of a slow device; what is left of a shrinking task"),
    ROW(DOUBLE, "notice", notice, LONG_TIME, 0.0, LONG_TIME, "seconds until a device that leaves is lost"),
    ROW(TEXT, "lose", lose, NULL, "a device, at once"),
    ROW(TEXT, "add", add, NULL, "a device that was lost or has left"),
    ROW(TEXT, "leave", leave, NULL, "a device, with notice"),
    ROW(TEXT, "slow", slow, NULL, "a device, to `factor` of its type's speed"),
    ROW(TEXT, "fail", fail, NULL, "a task, which is retried"),
    ROW(TEXT, "end", end, NULL, "a task, early"),
    ROW(TEXT, "shrink", shrink, NULL, "a task, of which `factor` is left"),
    GNT_OPTION_END,
};
#undef ROW

/* ---- drawing ---- */

/* "a" or "a,b" with 0 <= a <= b; the node is asked for errors alone. */
static gnt_status read_range(const gnti_yaml_node *map, const char *key, const char *text, double least,
                             double out[2])
{
    const gnti_yaml_node *at = gnti_yaml_find(map, key);
    const char *comma = text == NULL ? NULL : strchr(text, ',');
    const size_t first = text == NULL ? 0 : comma == NULL ? strlen(text) : (size_t)(comma - text);
    const char *second = comma == NULL ? text : comma + 1;

    if (text == NULL || gnti_parse_double(text, first, &out[0]) != GNTI_PARSE_OK ||
        gnti_parse_double(second, strlen(second), &out[1]) != GNTI_PARSE_OK)
        return gnti_yaml_fail(at == NULL ? map : at, GNT_ERR_FORMAT,
                              "'%s' is neither one number nor two in a list", text == NULL ? "" : text);
    if (!(out[0] >= least && out[1] >= out[0] && out[1] <= LONG_TIME))
        return gnti_yaml_fail(at == NULL ? map : at, GNT_ERR_FORMAT,
                              "from %g to %g: at least %g, in ascending order", out[0], out[1], least);
    return GNT_OK;
}

static double draw_between(const gnti_world *w, gnti_world_draw what, int64_t of, const double range[2])
{
    if (range[0] >= range[1])
        return range[0];
    return range[0] * exp(gnti_draw_uniform(w->seed, what, of, 0) * log(range[1] / range[0]));
}

/* ---- rows ---- */

static gnt_status read_speeds(const gnti_yaml_node *map, gnti_world *w, gnti_world_row *row)
{
    gnt_status st = GNT_OK;
    const gnti_yaml_node *speeds = gnti_yaml_find(map, "speeds");
    bool runs = false;

    GNT_TRY(gnti_alloc_array(&row->speed, w->num_types));
    for (int32_t k = 0; k < w->num_types; k++)
        row->speed[k] = w->types[k].speed;
    if (speeds != NULL)
        GNT_TRY(gnti_yaml_expect(speeds, GNTI_YAML_MAP));
    for (int64_t i = 0; speeds != NULL && i < gnti_yaml_length(speeds); i++) {
        const gnti_yaml_node *entry = gnti_yaml_at(speeds, i);
        const char *key = gnti_yaml_key_at(speeds, i), *text = gnti_yaml_get_text(entry);
        int32_t k = 0;
        double value = NAN;

        while (k < w->num_types && strcmp(w->types[k].name, key) != 0)
            k++;
        if (k == w->num_types)
            GNT_TRY(gnti_yaml_fail(entry, GNT_ERR_FORMAT, "no type of devices has the name '%s'", key));
        if (text == NULL || gnti_parse_double(text, strlen(text), &value) != GNTI_PARSE_OK ||
            !(value >= 0.0) || value > 1e6)
            GNT_TRY(gnti_yaml_fail(entry, GNT_ERR_FORMAT, "'%s' is no speed: a number from 0 to 1e6",
                                   text == NULL ? "" : text));
        row->speed[k] = value;
    }
    for (int32_t k = 0; k < w->num_types; k++)
        runs = runs || row->speed[k] > 0.0;
    if (!runs)
        GNT_TRY(gnti_yaml_fail(speeds, GNT_ERR_FORMAT, "the tasks can run on no type of devices"));
done:
    return st;
}

static gnt_status expand(const gnti_yaml_node *map, gnti_world *w, int32_t r)
{
    gnt_status st = GNT_OK;
    const gnti_world_row *row = &w->rows[r];
    double epochs[2], seconds[2], ends[2], at = row->arrival;

    GNT_TRY(read_range(map, "epochs", row->epochs, 1.0, epochs));
    GNT_TRY(read_range(map, "seconds", row->seconds, 1e-9, seconds));
    GNT_TRY(read_range(map, "ends", row->ends, 1e-9, ends));
    if (ends[1] > 1.0)
        GNT_TRY(gnti_yaml_fail(map, GNT_ERR_FORMAT, "ends: %g is above 1, all epochs", ends[1]));
    if (w->num_tasks + row->count > MAX_TASKS)
        GNT_TRY(gnti_yaml_fail(map, GNT_ERR_FORMAT, "more than %d tasks", MAX_TASKS));
    GNT_TRY(gnti_grow_array(&w->tasks, &w->tasks_capacity, w->num_tasks + row->count));
    for (int32_t i = 0; i < row->count; i++) {
        const int32_t j = w->num_tasks++;
        gnti_world_task *t = &w->tasks[j];
        const double gap = row->gaps == 1 ? gnti_draw_exponential(w->seed, GNTI_WORLD_ARRIVAL, j, 0) : 1.0;

        at += i > 0 ? row->every * gap : 0.0;
        *t = (gnti_world_task){ .row = r, .number = i, .arrival = at };
        t->epochs = floor(draw_between(w, GNTI_WORLD_EPOCHS, j, epochs) + 0.5);
        t->seconds = draw_between(w, GNTI_WORLD_SECONDS, j, seconds);
        t->last_epoch = ceil(t->epochs * draw_between(w, GNTI_WORLD_ENDS, j, ends));
        t->last_epoch = t->last_epoch > 1.0 ? t->last_epoch : 1.0;
        w->num_epochs += t->epochs;
    }
    if (w->num_epochs > MAX_EPOCHS)
        GNT_TRY(gnti_yaml_fail(map, GNT_ERR_LIMIT,
                               "%g epochs are to be trained up to here, at most %g are simulated",
                               w->num_epochs, MAX_EPOCHS));
done:
    return st;
}

static gnt_status read_row(const gnti_yaml_node *map, gnti_world *w)
{
    gnt_status st = GNT_OK;
    static const char *const others[] = { "speeds", NULL };
    gnti_world_row *row = &w->rows[w->num_rows];

    GNT_TRY(gnti_yaml_expect(map, GNTI_YAML_MAP));
    GNT_TRY(gnti_options_defaults(row_table, row));
    w->num_rows++;
    GNT_TRY(gnti_yaml_options(map, row_table, others, row, NULL));
    GNT_TRY(gnti_world_name_check(map, row->name));
    for (int32_t i = 0; i + 1 < w->num_rows; i++)
        if (strcmp(w->rows[i].name, row->name) == 0)
            GNT_TRY(
                gnti_yaml_fail(map, GNT_ERR_FORMAT, "tasks of the name '%s' are there already", row->name));
    GNT_TRY(read_speeds(map, w, row));
    GNT_TRY(expand(map, w, w->num_rows - 1));
done:
    return st;
}

/* ---- happenings ---- */

/* "name-number", or the name alone where it stands for one. */
static int32_t split_name(const char *text, char name[GNTI_WORLD_NAME_BYTES])
{
    const char *dash = strrchr(text, '-');
    int64_t number = -1;

    snprintf(name, GNTI_WORLD_NAME_BYTES, "%s", text);
    if (dash != NULL && gnti_parse_int64(dash + 1, strlen(dash + 1), &number) == GNTI_PARSE_OK &&
        number >= 0 && number < MAX_TASKS && dash[1] != '+')
        snprintf(name, GNTI_WORLD_NAME_BYTES, "%.*s", (int)(dash - text), text);
    else
        number = -1;
    return (int32_t)number;
}

static int32_t find_device(const gnti_world *w, const char *text)
{
    char name[GNTI_WORLD_NAME_BYTES];
    const int32_t number = split_name(text, name);

    for (int32_t d = 0; d < w->num_devices; d++)
        if (w->devices[d].number == number && strcmp(w->types[w->devices[d].type].name, name) == 0)
            return d;
    return -1;
}

static int32_t find_task(const gnti_world *w, const char *text)
{
    char name[GNTI_WORLD_NAME_BYTES], whole[GNTI_WORLD_NAME_BYTES];
    const int32_t number = split_name(text, name);

    for (int32_t j = 0; j < w->num_tasks; j++)
        if (strcmp(gnti_world_task_name(w, j, whole), text) == 0 ||
            (w->tasks[j].number == number && strcmp(w->rows[w->tasks[j].row].name, name) == 0))
            return j;
    return -1;
}

static gnt_status add_happening(const gnti_yaml_node *map, gnti_world *w, const happening_row *row)
{
    gnt_status st = GNT_OK;
    static const char *const words[] = { "lose", "add", "leave", "slow", "fail", "end", "shrink" };
    const char *const texts[] = {
        row->lose, row->add, row->leave, row->slow, row->fail, row->end, row->shrink
    };
    int found = -1;
    int32_t index;
    gnti_happening h = { .at = row->at };

    for (int i = 0; i < (int)(sizeof texts / sizeof texts[0]); i++)
        if (texts[i] != NULL && found >= 0)
            GNT_TRY(gnti_yaml_fail(map, GNT_ERR_FORMAT, "has both '%s' and '%s': one thing an entry",
                                   words[found], words[i]));
        else if (texts[i] != NULL)
            found = i;
    if (found < 0)
        GNT_TRY(
            gnti_yaml_fail(map, GNT_ERR_FORMAT,
                           "says nothing that happens: one of lose, add, leave, slow, fail, end, shrink"));
    h.kind = (gnti_happening_kind)found;
    h.value = h.kind == GNTI_HAPPENING_LEAVE ? row->notice : row->factor;
    index = found < GNTI_HAPPENING_FAIL ? find_device(w, texts[found]) : find_task(w, texts[found]);
    if (index < 0)
        GNT_TRY(gnti_yaml_fail(gnti_yaml_find(map, words[found]), GNT_ERR_FORMAT, "there is no %s '%s'",
                               found < GNTI_HAPPENING_FAIL ? "device" : "task", texts[found]));
    if (h.kind == GNTI_HAPPENING_SHRINK && h.value > 1.0)
        GNT_TRY(gnti_yaml_fail(map, GNT_ERR_FORMAT, "a task shrinks to a factor of %g: at most 1", h.value));
    h.index = index;
    w->happenings[w->num_happenings++] = h;
done:
    return st;
}

static gnt_status read_happening(const gnti_yaml_node *map, gnti_world *w)
{
    gnt_status st = GNT_OK;
    happening_row row = { 0 };

    GNT_TRY(gnti_yaml_expect(map, GNTI_YAML_MAP));
    GNT_TRY(gnti_options_defaults(happening_table, &row));
    GNT_TRY(gnti_yaml_options(map, happening_table, NULL, &row, NULL));
    GNT_TRY(add_happening(map, w, &row));
done:
    gnti_options_free_texts(happening_table, &row);
    return st;
}

gnt_status gnti_world_trace_read(const gnti_yaml_node *root, gnti_world *w)
{
    gnt_status st = GNT_OK;
    static const char *const keys[] = { "tasks", "events", NULL };
    static const gnt_option none[] = { GNT_OPTION_END };
    const gnti_yaml_node *tasks, *events;
    int64_t num_events;

    GNT_TRY(gnti_yaml_options(root, none, keys, NULL, NULL));
    tasks = gnti_yaml_find(root, "tasks");
    events = gnti_yaml_find(root, "events");
    if (tasks == NULL)
        GNT_TRY(gnti_yaml_fail(root, GNT_ERR_FORMAT, "has no tasks: add `tasks:`, a list of rows"));
    GNT_TRY(gnti_yaml_expect(tasks, GNTI_YAML_LIST));
    if (events != NULL)
        GNT_TRY(gnti_yaml_expect(events, GNTI_YAML_LIST));
    num_events = events == NULL ? 0 : gnti_yaml_length(events);
    GNT_TRY(gnti_calloc_array(&w->rows, gnti_yaml_length(tasks) + 1));
    GNT_TRY(gnti_calloc_array(&w->happenings, num_events + 1));
    for (int64_t i = 0; i < gnti_yaml_length(tasks); i++)
        GNT_TRY(read_row(gnti_yaml_at(tasks, i), w));
    for (int64_t i = 0; i < num_events; i++)
        GNT_TRY(read_happening(gnti_yaml_at(events, i), w));
done:
    return st;
}

void gnti_world_trace_free(gnti_world *w)
{
    for (int32_t r = 0; r < w->num_rows; r++) {
        gnti_options_free_texts(row_table, &w->rows[r]);
        gnti_free(w->rows[r].speed);
    }
    gnti_free(w->rows);
    gnti_free(w->tasks);
    gnti_free(w->happenings);
}
