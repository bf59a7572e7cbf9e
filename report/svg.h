/* SPDX-License-Identifier: Apache-2.0 */
/* The few SVG pieces that all charts share: escaped text, numbers without the program's locale, colours, the
 * frame. */
#ifndef GNTI_REPORT_SVG_H
#define GNTI_REPORT_SVG_H

#include "base/text.h"
#include "report/chart.h"

/* Ink of titles, of secondary text, of axes, of grid lines. */
#define GNTI_INK      "#1f2933"
#define GNTI_INK_SOFT "#616e7c"
#define GNTI_INK_AXIS "#9aa5b1"
#define GNTI_INK_GRID "#e4e7eb"

typedef enum gnti_anchor { GNTI_ANCHOR_START, GNTI_ANCHOR_MIDDLE, GNTI_ANCHOR_END } gnti_anchor;

/* Text for markup: & < > " ' escaped, control characters left out, invalid UTF-8 as '?'. */
void gnti_append_escaped(gnti_text *t, const char *text);

/* A coordinate with one decimal. */
void gnti_append_coordinate(gnti_text *t, double value);

/* ` name="12.5"` */
void gnti_append_attribute(gnti_text *t, const char *name, double value);

/* Head of a document with background, title and subtitle. Answers the height that they took. */
double gnti_svg_begin(gnti_text *t, int32_t width, int32_t height, const char *title, const char *subtitle);
gnt_status gnti_svg_end(gnti_text *t, int32_t width, int32_t height, gnti_svg *out);

void gnti_svg_text(gnti_text *t, double x, double y, int32_t size, const char *color, gnti_anchor anchor,
                   const char *text);
void gnti_svg_line(gnti_text *t, double x1, double y1, double x2, double y2, const char *color, double width);
void gnti_svg_rect(gnti_text *t, double x, double y, double width, double height, double radius,
                   const char *color);

/* Colours that stay apart for colour-blind eyes (Okabe, Ito 2008); the index wraps. */
const char *gnti_palette(int32_t index);

/* White (0) to dark blue (1), as "#f7f9fc". */
void gnti_shade(double strength, char out[8]);

/* Letters of a UTF-8 text, and about how wide they are at a font size. */
int32_t gnti_text_letters(const char *text);
double gnti_text_width(const char *text, int32_t size);

/* At most max_letters of text, an ellipsis at the end when it was cut. */
enum { GNTI_SHORT_BYTES = 256 };
void gnti_shorten(const char *text, int32_t max_letters, char out[GNTI_SHORT_BYTES]);

#endif
