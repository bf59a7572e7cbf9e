/* SPDX-License-Identifier: Apache-2.0 */
/* Charts as SVG text, drawn from plain arrays: curves, a confusion matrix, bars, and several of them in one
 * picture.
 *
 * A NaN in the data leaves a gap; no data gives an empty chart that says so, never an error. Texts may hold
 * anything: they are escaped, bytes that are no UTF-8 become '?'. The same input gives the same bytes.
 */
#ifndef GNTI_REPORT_CHART_H
#define GNTI_REPORT_CHART_H

#include "base/check.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct gnti_svg {
    char *text; /* a whole document, to be freed with gnti_svg_free */
    int32_t width, height;
} gnti_svg;

void gnti_svg_free(gnti_svg *svg);

typedef struct gnti_series {
    const char *name; /* in the legend; NULL: none */
    const double *x, *y;
    const double *low, *high; /* a band around the line (mean -+ deviation), or NULL */
    int64_t count;
    bool dashed;
} gnti_series;

typedef struct gnti_line_chart {
    const char *title, *subtitle, *x_label, *y_label; /* each may be NULL */
    const gnti_series *series;
    int32_t num_series;
    bool log_y;    /* values <= 0 become gaps */
    bool percent;  /* y is a share: 0.815 is written 81.5 % */
    bool has_mark; /* a vertical line at mark_x, such as the best epoch */
    double mark_x;
    const char *mark_label;
    int32_t width, height; /* 0: 640 x 360 */
} gnti_line_chart;

gnt_status gnti_chart_lines(const gnti_line_chart *chart, gnti_svg *out);

typedef struct gnti_confusion_chart {
    const char *title, *subtitle;
    const int64_t *counts; /* (num_classes, num_classes): row is the true class, column the predicted one */
    const char *const *names; /* (num_classes), or NULL: numbers */
    int32_t num_classes;
} gnti_confusion_chart;

/* Shading is the share of the row; counts are written while they fit. The side grows with the classes. */
gnt_status gnti_chart_confusion(const gnti_confusion_chart *chart, gnti_svg *out);

typedef struct gnti_bar {
    const char *name;
    double value, deviation; /* deviation: NaN or 0 for none */
    int32_t color;           /* index of the palette */
} gnti_bar;

typedef struct gnti_bar_chart {
    const char *title, *subtitle, *value_label;
    const gnti_bar *bars;
    int32_t num_bars;
    bool percent;
    int32_t width; /* 0: 640; the height follows from the bars */
} gnti_bar_chart;

/* Horizontal bars from zero, each with its value behind it. */
gnt_status gnti_chart_bars(const gnti_bar_chart *chart, gnti_svg *out);

/* Upright columns from zero, side by side, for many values: each a number of the x axis (0, 1, ...). A line shows their
 * mean, where there is one. */
typedef struct gnti_column_chart {
    const char *title, *subtitle, *x_label;
    const double *values; /* NaN leaves a gap */
    int32_t count, color;
    int32_t width, height; /* 0: 420 x 200 */
} gnti_column_chart;

gnt_status gnti_chart_columns(const gnti_column_chart *chart, gnti_svg *out);

/* A matrix as shades, white for 0 and darkest for the largest value. More than 256 rows or columns are drawn in blocks, each
 * as dark as its sum. */
typedef struct gnti_heat_chart {
    const char *title, *subtitle, *x_label, *y_label;
    const double *values; /* (side, side) by row; NaN and negative ones count as 0 */
    int32_t side;
} gnti_heat_chart;

gnt_status gnti_chart_heat(const gnti_heat_chart *chart, gnti_svg *out);

/* Who had which row when. Bars of a row that overlap in time lie side by side in it. */
typedef struct gnti_gantt_bar {
    int32_t row, color;
    double begin, end; /* NaN: left out */
    const char *label; /* in the bar where it fits; NULL: none */
    const char *hint;  /* shown by a browser on top of the bar; NULL: none */
} gnti_gantt_bar;

/* Time that is left out: a grey line across all rows. */
typedef struct gnti_gantt_gap {
    double at;
    const char *hint; /* as of a bar */
} gnti_gantt_gap;

typedef struct gnti_gantt_chart {
    const char *title, *subtitle, *x_label;
    const char *const *rows; /* (num_rows) names */
    int32_t num_rows;
    const gnti_gantt_bar *bars;
    int64_t num_bars;
    const gnti_gantt_gap *gaps;
    int64_t num_gaps;
    double mark; /* a vertical line, NaN: none */
    const char *mark_label;
    int32_t width; /* 0: 1000; the height follows from the rows */
} gnti_gantt_chart;

gnt_status gnti_chart_gantt(const gnti_gantt_chart *chart, gnti_svg *out);

/* How often one is right who is so sure: a bar a bin, the gap to its mean confidence, and below how many rows a bin has. Bins of
 * equal width over [0, 1]. */
typedef struct gnti_reliability_chart {
    const char *title, *subtitle;
    const int64_t *count;                /* (num_bins) */
    const double *confidence, *accuracy; /* (num_bins) means; of empty bins not looked at */
    int32_t num_bins;
} gnti_reliability_chart;

gnt_status gnti_chart_reliability(const gnti_reliability_chart *chart, gnti_svg *out);

/* A matrix between things with names; cells are written while they fit. NaN: an empty cell. At most 256 rows. */
typedef struct gnti_matrix_chart {
    const char *title, *subtitle;
    const double *values;     /* (side, side) by row, at least 0 */
    const char *const *names; /* (side) */
    int32_t side;
    bool percent;
} gnti_matrix_chart;

gnt_status gnti_chart_matrix(const gnti_matrix_chart *chart, gnti_svg *out);

/* Points on a common axis that need not begin at 0, a row each, and vertical lines across all rows. */
typedef struct gnti_dot {
    const char *name;
    double value; /* NaN: the row is empty, the line left out */
    int32_t color;
    bool hollow;
} gnti_dot;

typedef struct gnti_dot_chart {
    const char *title, *subtitle, *value_label;
    const gnti_dot *dots, *lines;
    int32_t num_dots, num_lines;
    bool percent;
    int32_t width; /* 0: 640; the height follows from the dots */
} gnti_dot_chart;

gnt_status gnti_chart_dots(const gnti_dot_chart *chart, gnti_svg *out);

/* Several charts in one document, row by row in `columns` columns. */
gnt_status gnti_figure(const gnti_svg *charts, int32_t num_charts, int32_t columns, gnti_svg *out);

#endif
