/* SPDX-License-Identifier: Apache-2.0 */
/* The chart of a simulation: a row a device, a bar for each task that was on it, a line at the lower bound. A picture of a thousand rows
 * shows nothing, so that of the first MAX_ROWS is drawn, and says so.
 */
#include "ensemble/simulate_state.h"

#include "base/alloc.h"
#include "report/chart.h"

#include <stdio.h>
#include <string.h>

enum { MAX_ROWS = 64, HINT_BYTES = GNTI_WORLD_NAME_BYTES + 80 };

typedef struct drawing {
    gnti_gantt_bar *bars;
    char (*labels)[GNTI_WORLD_NAME_BYTES]; /* (bars) */
    char (*hints)[HINT_BYTES];             /* (bars) */
    char (*names)[GNTI_WORLD_NAME_BYTES];  /* (rows) */
    const char **rows;
    int64_t num_bars;
    int32_t num_rows;
} drawing;

static gnt_status fill(const gnti_simulated *s, const gnti_span *spans, int64_t num_spans, drawing *d)
{
    gnt_status st = GNT_OK;

    d->num_rows = s->world->num_devices < MAX_ROWS ? s->world->num_devices : MAX_ROWS;
    GNT_TRY(gnti_calloc_array(&d->bars, num_spans + 1));
    GNT_TRY(gnti_calloc_array(&d->labels, num_spans + 1));
    GNT_TRY(gnti_calloc_array(&d->hints, num_spans + 1));
    GNT_TRY(gnti_calloc_array(&d->names, d->num_rows));
    GNT_TRY(gnti_calloc_array(&d->rows, d->num_rows));
    for (int32_t i = 0; i < d->num_rows; i++)
        d->rows[i] = gnti_world_device_name(s->world, i, d->names[i]);
    for (int64_t i = 0; i < num_spans; i++) {
        const gnti_span *span = &spans[i];

        if (span->device >= d->num_rows)
            continue;
        gnti_world_task_name(s->world, (int32_t)span->task, d->labels[d->num_bars]);
        snprintf(d->hints[d->num_bars], HINT_BYTES, "%s: %.4g to %.4g s%s", d->labels[d->num_bars],
                 span->begin, span->end, span->share < 0.999 ? ", beside others" : "");
        d->bars[d->num_bars] = (gnti_gantt_bar){ .row = span->device,
                                                 .color = (int32_t)span->task,
                                                 .begin = span->begin,
                                                 .end = span->end,
                                                 .label = d->labels[d->num_bars],
                                                 .hint = d->hints[d->num_bars] };
        d->num_bars++;
    }
done:
    return st;
}

gnt_status gnti_simulated_chart(gnti_simulated *s, const char *path)
{
    gnt_status st = GNT_OK;
    drawing d = { 0 };
    gnti_svg svg = { 0 };
    gnti_manager_facts f;
    const gnti_span *spans;
    const int64_t num_spans = gnti_manager_spans(s->manager, &spans);
    char subtitle[160];
    gnti_gantt_chart chart = { .title = "Tasks on devices",
                               .subtitle = subtitle,
                               .x_label = "simulated seconds" };

    GNT_TRY(gnti_simulated_facts(s, &f));
    GNT_TRY(fill(s, spans, num_spans, &d));
    snprintf(subtitle, sizeof subtitle, "%d tasks, %.4g s, %.1f %% of all devices' speed used%s",
             s->world->num_tasks, f.makespan, 100.0 * f.busy_speed_seconds / f.present_speed_seconds,
             d.num_rows < s->world->num_devices ? "; the first 64 devices" : "");
    chart.rows = d.rows;
    chart.num_rows = d.num_rows;
    chart.bars = d.bars;
    chart.num_bars = d.num_bars;
    chart.mark = f.lower_bound;
    chart.mark_label = "lower bound";
    GNT_TRY(gnti_chart_gantt(&chart, &svg));
    GNT_TRY(gnti_file_write_all(path, svg.text, strlen(svg.text)));
done:
    gnti_svg_free(&svg);
    gnti_free(d.bars);
    gnti_free(d.labels);
    gnti_free(d.hints);
    gnti_free(d.names);
    gnti_free(d.rows);
    return st;
}
