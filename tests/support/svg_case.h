/* SPDX-License-Identifier: Apache-2.0 */
/* What every chart must be: well-formed markup without a NaN in it. */
#ifndef GNT_SVG_CASE_H
#define GNT_SVG_CASE_H

#include "gnt_test.h"

#include "report/chart.h"

/* Where a reader of markup stops: tags that do not close in order, bare & or <, open quotes; NULL: it is sound. */
const char *svg_case_malformed(const char *text);
int svg_case_count(const char *text, const char *piece);
/* Fails the test unless the chart is sound and has a size. */
void svg_case_sound(const gnti_svg *svg);

#endif
