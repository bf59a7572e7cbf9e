/* SPDX-License-Identifier: Apache-2.0 */
/* The world of the simulator as a whole: both files read, names, and what of a task is told to the manager. */
#include "ensemble/simulate_world.h"

#include "base/alloc.h"

#include <math.h>
#include <stdio.h>

#define GIB   1073741824.0
#define ROUGH 0.5 /* standard deviation of the logarithm of what is told roughly */

gnt_status gnti_world_make(const gnti_yaml *inventory, const gnti_yaml *trace, uint64_t seed,
                           gnti_world **out)
{
    gnt_status st = GNT_OK;
    gnti_world *w = NULL;

    GNT_TRY(gnti_calloc_bytes((void **)&w, sizeof *w));
    w->seed = seed;
    GNT_TRY(gnti_world_inventory_read(gnti_yaml_root(inventory), w));
    GNT_TRY(gnti_world_trace_read(gnti_yaml_root(trace), w));
    *out = w;
    w = NULL; /* handed over */
done:
    gnti_world_free(&w);
    return st;
}

gnt_status gnti_world_read(const char *inventory, const char *trace, uint64_t seed, gnti_world **out)
{
    gnt_status st = GNT_OK;
    gnti_yaml *devices = NULL, *tasks = NULL;

    GNT_TRY(gnti_yaml_read(inventory, &devices));
    GNT_TRY(gnti_yaml_read(trace, &tasks));
    GNT_TRY(gnti_world_make(devices, tasks, seed, out));
done:
    gnti_yaml_free(&devices);
    gnti_yaml_free(&tasks);
    return st;
}

void gnti_world_free(gnti_world **w)
{
    if (*w == NULL)
        return;
    gnti_world_inventory_free(*w);
    gnti_world_trace_free(*w);
    gnti_free(*w);
    *w = NULL;
}

const char *gnti_world_task_name(const gnti_world *w, int32_t task, char out[GNTI_WORLD_NAME_BYTES])
{
    const gnti_world_row *row = &w->rows[w->tasks[task].row];

    if (row->count == 1)
        snprintf(out, GNTI_WORLD_NAME_BYTES, "%s", row->name);
    else
        snprintf(out, GNTI_WORLD_NAME_BYTES, "%s-%d", row->name, w->tasks[task].number);
    return out;
}

double gnti_world_speed(const gnti_world *w, int32_t task, int32_t type)
{
    return w->rows[w->tasks[task].row].speed[type];
}

/* What is told roughly is off by a factor of the task's own and one of each type's. */
static double told_seconds(const gnti_world *w, int32_t task, int32_t type)
{
    const gnti_world_row *row = &w->rows[w->tasks[task].row];
    double z;

    if (row->speed[type] <= 0.0)
        return INFINITY;
    if (row->given == 2)
        return 1.0;
    if (row->given == 0)
        return w->tasks[task].seconds / row->speed[type];
    z = gnti_draw_normal(w->seed, GNTI_WORLD_GIVEN, task, 0) +
        gnti_draw_normal(w->seed, GNTI_WORLD_GIVEN, type, 1);
    return w->tasks[task].seconds / row->speed[type] * exp(ROUGH * z);
}

void gnti_world_terms(const gnti_world *w, int32_t task, double *seconds, gnti_place_task *out)
{
    const gnti_world_row *row = &w->rows[w->tasks[task].row];

    for (int32_t k = 0; k < w->num_types; k++)
        seconds[k] = told_seconds(w, task, k);
    *out = (gnti_place_task){ .id = task,
                              .weight = row->weight,
                              .epochs_left = w->tasks[task].epochs,
                              .seconds = seconds,
                              .serial = row->serial,
                              .overhead = row->overhead,
                              .max_devices = (int32_t)row->max_devices,
                              .shared_bytes = (int64_t)(row->shared * GIB),
                              .lasting_bytes = (int64_t)(row->lasting * GIB),
                              .scratch_bytes = (int64_t)(row->scratch * GIB),
                              .data = (int32_t)row->data,
                              .use = row->use,
                              .switch_epochs = row->switch_epochs,
                              .foreground = row->foreground };
}
