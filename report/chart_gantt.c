/* SPDX-License-Identifier: Apache-2.0 */
/* A Gantt chart. Bars are taken in the order of (row, begin, given order); each goes to the first lane of its row that is free by
 * then, so a row is as high as the most bars at one time. Lanes get thinner as they become many.
 */
#include "base/alloc.h"
#include "report/axis.h"
#include "report/svg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { RIGHT = 24, BOTTOM = 44, MAX_BARS = 100000, MAX_ROWS = 4096, MAX_HEIGHT = 1400, NAME_LETTERS = 26 };

static const double GAP_WIDTH = 3.0; /* pixels */

typedef struct placed {
    const gnti_gantt_bar *bar;
    int64_t given;
    int32_t lane;
} placed;

typedef struct layout {
    placed *bars; /* (num) those that are drawn */
    int64_t num;
    int32_t *lanes;   /* (num_rows) of each row, at least 1 */
    double *top;      /* (num_rows + 1) pixels */
    double lane_high; /* pixels */
    double from, to;  /* pixels of the time axis */
} layout;

static int compare_bars(const void *a, const void *b)
{
    const placed *x = a, *y = b;

    if (x->bar->row != y->bar->row)
        return x->bar->row < y->bar->row ? -1 : 1;
    if (x->bar->begin < y->bar->begin || x->bar->begin > y->bar->begin)
        return x->bar->begin < y->bar->begin ? -1 : 1;
    return (x->given > y->given) - (x->given < y->given);
}

/* Lanes of the bars of one row, in order of begin. ends: room for as many. */
static int32_t place_row(placed *bars, int64_t count, double *ends)
{
    int32_t lanes = 0;

    for (int64_t i = 0; i < count; i++) {
        int32_t lane = 0;

        while (lane < lanes && ends[lane] > bars[i].bar->begin + 1e-9 * fabs(bars[i].bar->begin))
            lane++;
        lanes = lane == lanes ? lanes + 1 : lanes;
        ends[lane] = bars[i].bar->end;
        bars[i].lane = lane;
    }
    return lanes > 0 ? lanes : 1;
}

static gnt_status place_bars(const gnti_gantt_chart *c, layout *l)
{
    gnt_status st = GNT_OK;
    double *ends = NULL;
    int64_t first = 0;

    GNT_TRY(gnti_alloc_array(&l->bars, c->num_bars));
    GNT_TRY(gnti_alloc_array(&ends, c->num_bars));
    GNT_TRY(gnti_calloc_array(&l->lanes, c->num_rows));
    GNT_TRY(gnti_alloc_array(&l->top, c->num_rows + 1));
    for (int64_t i = 0; i < c->num_bars; i++) {
        const gnti_gantt_bar *bar = &c->bars[i];

        GNT_CHECK(bar->row >= 0 && bar->row < c->num_rows, GNT_ERR_ARG, "bar %lld is on row %d of %d",
                  (long long)i, bar->row, c->num_rows);
        if (isfinite(bar->begin) && isfinite(bar->end) && bar->end >= bar->begin)
            l->bars[l->num++] = (placed){ .bar = bar, .given = i };
    }
    if (l->num > 0)
        qsort(l->bars, (size_t)l->num, sizeof *l->bars, compare_bars);
    for (int32_t r = 0; r < c->num_rows; r++) {
        int64_t end = first;

        while (end < l->num && l->bars[end].bar->row == r)
            end++;
        l->lanes[r] = place_row(l->bars + first, end - first, ends);
        first = end;
    }
done:
    gnti_free(ends);
    return st;
}

static int32_t title_height(const gnti_gantt_chart *c)
{
    return 14 + (c->title != NULL ? 22 : 0) + (c->subtitle != NULL ? 18 : 0) +
           (c->mark_label != NULL ? 18 : 8);
}

/* Heights: a row has a lane's height for each lane, and a little room. Answers the bottom of the last row. */
static double place_rows(const gnti_gantt_chart *c, layout *l, double top)
{
    int64_t lanes = 0;
    double room = 6.0;

    for (int32_t r = 0; r < c->num_rows; r++)
        lanes += l->lanes[r];
    l->lane_high = lanes <= 12   ? 22.0
                   : lanes <= 40 ? 16.0
                                 : fmax((double)MAX_HEIGHT / (double)lanes - 2.0, 1.0);
    room = l->lane_high >= 10.0 ? 6.0 : 1.0;
    for (int32_t r = 0; r < c->num_rows; r++) {
        l->top[r] = top;
        top += l->lane_high * l->lanes[r] + room;
    }
    l->top[c->num_rows] = top;
    return top;
}

static double names_width(const gnti_gantt_chart *c)
{
    double width = 24.0;
    char name[GNTI_SHORT_BYTES];

    for (int32_t r = 0; r < c->num_rows; r++) {
        gnti_shorten(c->rows[r] == NULL ? "" : c->rows[r], NAME_LETTERS, name);
        width = fmax(width, gnti_text_width(name, 12));
    }
    return width;
}

static void draw_rows(gnti_text *t, const gnti_gantt_chart *c, const layout *l)
{
    char name[GNTI_SHORT_BYTES];
    double last = -100.0;

    for (int32_t r = 0; r < c->num_rows; r++) {
        const double high = l->top[r + 1] - l->top[r], middle = l->top[r] + 0.5 * high - 1.0;

        if (r % 2 == 0)
            gnti_svg_rect(t, l->from, l->top[r] - 2.0, l->to - l->from, high, 0.0, "#f7f9fb");
        if (middle - last < 12.0)
            continue; /* no room for its name */
        last = middle;
        gnti_shorten(c->rows[r] == NULL ? "" : c->rows[r], NAME_LETTERS, name);
        gnti_svg_text(t, l->from - 10.0, middle + 4.0, 12, GNTI_INK, GNTI_ANCHOR_END, name);
    }
}

static void draw_axis(gnti_text *t, const gnti_gantt_chart *c, const layout *l, const gnti_axis *x)
{
    const double top = l->top[0] - 2.0, bottom = l->top[c->num_rows];
    char label[GNTI_AXIS_LABEL_BYTES];

    for (int32_t i = 0; i < x->num_ticks; i++) {
        const double at = gnti_axis_pixel(x, x->ticks[i]);

        gnti_svg_line(t, at, top, at, bottom, GNTI_INK_GRID, 1.0);
        gnti_axis_label(x, x->ticks[i], label);
        gnti_svg_text(t, at, bottom + 16.0, 11, GNTI_INK_SOFT, GNTI_ANCHOR_MIDDLE, label);
    }
    if (c->x_label != NULL)
        gnti_svg_text(t, 0.5 * (l->from + l->to), bottom + 34.0, 12, GNTI_INK_SOFT, GNTI_ANCHOR_MIDDLE,
                      c->x_label);
}

static void end_rect(gnti_text *t, const char *hint)
{
    if (hint != NULL) {
        gnti_text_append(t, "<title>");
        gnti_append_escaped(t, hint);
        gnti_text_append(t, "</title>");
    }
    gnti_text_append(t, "</rect>\n");
}

static void draw_gaps(gnti_text *t, const gnti_gantt_chart *c, const layout *l, const gnti_axis *x)
{
    for (int64_t i = 0; i < c->num_gaps; i++) {
        if (!gnti_axis_shows(x, c->gaps[i].at))
            continue;
        gnti_text_append(t, "<rect");
        gnti_append_attribute(t, "x", gnti_axis_pixel(x, c->gaps[i].at) - 0.5 * GAP_WIDTH);
        gnti_append_attribute(t, "y", l->top[0] - 2.0);
        gnti_append_attribute(t, "width", GAP_WIDTH);
        gnti_append_attribute(t, "height", l->top[c->num_rows] - l->top[0]);
        gnti_text_printf(t, " fill=\"%s\">", GNTI_INK_SOFT);
        end_rect(t, c->gaps[i].hint);
    }
}

static void draw_bar(gnti_text *t, const layout *l, const gnti_axis *x, const placed *p)
{
    const double from = gnti_axis_pixel(x, p->bar->begin), to = gnti_axis_pixel(x, p->bar->end);
    const double y = l->top[p->bar->row] + l->lane_high * p->lane;
    const double gap = l->lane_high >= 10.0 ? 2.0 : 0.0,
                 wide = fmax(to - from - (to - from > 4.0 ? 1.0 : 0.0), 0.6);
    const int32_t letters = (int32_t)((wide - 8.0) / gnti_text_width("m", 11));
    char label[GNTI_SHORT_BYTES];

    gnti_text_append(t, "<rect");
    gnti_append_attribute(t, "x", from);
    gnti_append_attribute(t, "y", y);
    gnti_append_attribute(t, "width", wide);
    gnti_append_attribute(t, "height", l->lane_high - gap);
    gnti_text_printf(t, "%s fill=\"%s\">", gap > 0.0 && wide > 6.0 ? " rx=\"2\"" : "",
                     gnti_palette(p->bar->color));
    end_rect(t, p->bar->hint);
    if (p->bar->label == NULL || l->lane_high < 14.0 || letters < 3)
        return;
    gnti_shorten(p->bar->label, letters, label);
    gnti_text_append(t, "<g pointer-events=\"none\">");
    gnti_svg_text(t, from + 0.5 * wide, y + 0.5 * (l->lane_high - gap) + 4.0, 11, "#ffffff",
                  GNTI_ANCHOR_MIDDLE, label);
    gnti_text_append(t, "</g>\n");
}

static void draw_mark(gnti_text *t, const gnti_gantt_chart *c, const layout *l, const gnti_axis *x)
{
    const double at = gnti_axis_pixel(x, c->mark);
    const double half = c->mark_label != NULL ? 0.5 * gnti_text_width(c->mark_label, 11) : 0.0;

    if (!isfinite(c->mark) || !gnti_axis_shows(x, c->mark))
        return;
    gnti_svg_line(t, at, l->top[0] - 6.0, at, l->top[c->num_rows], GNTI_INK, 1.5);
    if (c->mark_label != NULL)
        gnti_svg_text(t, fmin(at, l->to - half), l->top[0] - 10.0, 11, GNTI_INK, GNTI_ANCHOR_MIDDLE,
                      c->mark_label);
}

gnt_status gnti_chart_gantt(const gnti_gantt_chart *c, gnti_svg *out)
{
    gnt_status st = GNT_OK;
    gnti_text t = { 0 };
    layout l = { 0 };
    gnti_axis x = gnti_axis_begin(false, false);
    const int32_t width = c->width > 0 ? c->width : 1000;

    GNT_CHECK(c->num_rows >= 0 && c->num_rows <= MAX_ROWS && c->num_bars >= 0 && c->num_bars <= MAX_BARS,
              GNT_ERR_LIMIT, "%lld bars on %d rows, at most %d on %d are drawn", (long long)c->num_bars,
              c->num_rows, MAX_BARS, MAX_ROWS);
    GNT_TRY(place_bars(c, &l));
    for (int64_t i = 0; i < l.num; i++) {
        gnti_axis_add(&x, l.bars[i].bar->begin);
        gnti_axis_add(&x, l.bars[i].bar->end);
    }
    if (isfinite(c->mark) && l.num > 0)
        gnti_axis_add(&x, c->mark);
    gnti_axis_finish(&x, 10, true);
    l.from = x.from = 28.0 + names_width(c);
    l.to = x.to = (double)width - RIGHT;
    const double bottom = place_rows(c, &l, (double)title_height(c));
    const int32_t height = (int32_t)bottom + (l.num > 0 ? BOTTOM : 30);

    gnti_svg_begin(&t, width, height, c->title, c->subtitle);
    draw_rows(&t, c, &l);
    draw_axis(&t, c, &l, &x);
    for (int64_t i = 0; i < l.num; i++)
        draw_bar(&t, &l, &x, &l.bars[i]);
    draw_gaps(&t, c, &l, &x);
    if (l.num > 0)
        draw_mark(&t, c, &l, &x);
    else
        gnti_svg_text(&t, 0.5 * width, bottom + 12.0, 13, GNTI_INK_SOFT, GNTI_ANCHOR_MIDDLE, "no values");
    GNT_TRY(gnti_svg_end(&t, width, height, out));
done:
    gnti_free(l.bars);
    gnti_free(l.lanes);
    gnti_free(l.top);
    gnti_text_free(&t);
    return st;
}
