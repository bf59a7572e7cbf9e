/* SPDX-License-Identifier: Apache-2.0 */
/* A self-contained HTML page: headings, sentences, tables and charts in the order they are added. No script,
 * no font and no picture comes from elsewhere. Appends cannot fail visibly; gnti_page_finish tells of the
 * first failure.
 */
#ifndef GNTI_REPORT_PAGE_H
#define GNTI_REPORT_PAGE_H

#include "base/text.h"
#include "report/chart.h"

typedef struct gnti_page {
    gnti_text text;
} gnti_page;

void gnti_page_begin(gnti_page *page, const char *title, const char *subtitle);
void gnti_page_heading(gnti_page *page, const char *text);
void gnti_page_paragraph(gnti_page *page, const char *text);
void gnti_page_code(gnti_page *page, const char *text); /* a command to copy */
void gnti_page_chart(gnti_page *page, const gnti_svg *chart);
void gnti_page_charts(gnti_page *page, const gnti_svg *charts,
                      int32_t num_charts);              /* side by side where there is room */
void gnti_page_note(gnti_page *page, const char *text); /* a sentence that must be seen */

/* A row of cards: num_facts names with their values. */
void gnti_page_facts(gnti_page *page, const char *const *names, const char *const *values, int32_t num_facts);

/* cells: (num_rows, num_columns) by row; a cell that reads as a number is set to the right. */
void gnti_page_table(gnti_page *page, const char *const *heads, const char *const *cells, int32_t num_rows,
                     int32_t num_columns);

gnt_status gnti_page_finish(gnti_page *page, char **out); /* on failure nothing is left to free */
void gnti_page_free(gnti_page *page);

#endif
