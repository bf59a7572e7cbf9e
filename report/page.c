/* SPDX-License-Identifier: Apache-2.0 */
/* The page: one style sheet, everything escaped, charts embedded as they are. */
#include "report/page.h"

#include "report/svg.h"

#include <string.h>

enum { LONG_CELL_BYTES = 48, WIDE = 500 };
#define LEAST_SHARE 0.8 /* of its width, below which a wide chart cannot be read: it scrolls instead */

/* Dark where the reader's system is: charts are turned over as they are, which keeps their hues. */
static const char style[] =
    ":root{--ink:#1f2933;--soft:#616e7c;--line:#e4e7eb;--page:#f5f7fa;--card:#fff;--head:#f0f3f7;--note:#"
    "fff8e6;--edge:#e69f00}\n"
    "body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 'DejaVu "
    "Sans',Verdana,Helvetica,Arial,sans-serif}\n"
    "main{max-width:1060px;margin:0 auto;padding:28px 20px 60px}\n"
    "h1{font-size:26px;line-height:1.25;margin:0 0 2px;overflow-wrap:anywhere}h2{font-size:18px;margin:34px "
    "0 10px}\n"
    "p{max-width:75ch}.sub{color:var(--soft);margin:0 0 18px}\n"
    ".facts{display:flex;flex-wrap:wrap;gap:12px;margin:16px 0}\n"
    ".fact{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:10px "
    "16px;min-width:110px}\n"
    ".fact b{display:block;font-size:21px}.fact span{color:var(--soft);font-size:12px}\n"
    ".charts{display:flex;flex-wrap:wrap;gap:14px;align-items:flex-start;margin:0 0 14px}.charts "
    ".chart{margin:0}\n"
    ".chart{background:var(--card);border:1px solid "
    "var(--line);border-radius:8px;padding:6px;overflow-x:auto;margin:0 "
    "0 14px;box-sizing:border-box;width:fit-content;max-width:100%}\n"
    ".chart svg{display:block;max-width:100%;min-width:var(--least,0);height:auto}\n"
    "table{border-collapse:collapse;background:var(--card);font-size:13px}\n"
    "th,td{padding:6px 12px;border-bottom:1px solid "
    "var(--line);text-align:left;vertical-align:top}th{background:var(--head);white-space:nowrap}\n"
    "td{max-width:24em;overflow-wrap:break-word}.t{min-width:20em}.n{text-align:right}td.n{white-space:"
    "nowrap}tr:last-child "
    "td{border-bottom:0}\n"
    ".note{background:var(--note);border-left:4px solid var(--edge);border-radius:4px;padding:10px "
    "14px;margin:12px 0}\n"
    "pre{background:#1f2933;color:#e4e7eb;border-radius:8px;padding:10px "
    "14px;overflow-x:auto;font-size:13px}\n"
    "@media(max-width:600px){main{padding:16px 10px 40px}h1{font-size:21px}.fact{flex:1 1 38%}.fact "
    "b{font-size:17px}}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e4e7eb;--soft:#9aa5b1;--line:#36404a;--page:#12161a;--"
    "card:#1a1a1a;"
    "--head:#242a31;--note:#332a12}\n"
    ".chart svg{filter:invert(.9) hue-rotate(180deg)}pre{background:#242a31}}\n"
    "@media print{body{background:#fff}.chart{break-inside:avoid}}\n";

void gnti_page_begin(gnti_page *page, const char *title, const char *subtitle)
{
    gnti_text *t = &page->text;

    *page = (gnti_page){ 0 };
    gnti_text_append(t, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                        "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>");
    gnti_append_escaped(t, title);
    gnti_text_printf(t, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n<h1>", style);
    gnti_append_escaped(t, title);
    gnti_text_append(t, "</h1>\n");
    if (subtitle != NULL) {
        gnti_text_append(t, "<p class=\"sub\">");
        gnti_append_escaped(t, subtitle);
        gnti_text_append(t, "</p>\n");
    }
}

static void element(gnti_page *page, const char *tag, const char *text)
{
    gnti_text_printf(&page->text, "<%s>", tag);
    gnti_append_escaped(&page->text, text);
    gnti_text_printf(&page->text, "</%s>\n", tag);
}

void gnti_page_heading(gnti_page *page, const char *text)
{
    element(page, "h2", text);
}

void gnti_page_paragraph(gnti_page *page, const char *text)
{
    element(page, "p", text);
}

void gnti_page_code(gnti_page *page, const char *text)
{
    element(page, "pre", text);
}

void gnti_page_note(gnti_page *page, const char *text)
{
    gnti_text_append(&page->text, "<div class=\"note\">");
    gnti_append_escaped(&page->text, text);
    gnti_text_append(&page->text, "</div>\n");
}

void gnti_page_charts(gnti_page *page, const gnti_svg *charts, int32_t num_charts)
{
    gnti_text_append(&page->text, "<div class=\"charts\">\n");
    for (int32_t i = 0; i < num_charts; i++)
        gnti_page_chart(page, &charts[i]);
    gnti_text_append(&page->text, "</div>\n");
}

void gnti_page_chart(gnti_page *page, const gnti_svg *chart)
{
    if (chart->width > WIDE)
        gnti_text_printf(&page->text, "<div class=\"chart\" style=\"--least:%dpx\">\n",
                         (int)(LEAST_SHARE * chart->width));
    else
        gnti_text_append(&page->text, "<div class=\"chart\">\n");
    gnti_text_append(&page->text, chart->text == NULL ? "" : chart->text);
    gnti_text_append(&page->text, "</div>\n");
}

void gnti_page_facts(gnti_page *page, const char *const *names, const char *const *values, int32_t num_facts)
{
    gnti_text *t = &page->text;

    gnti_text_append(t, "<div class=\"facts\">\n");
    for (int32_t i = 0; i < num_facts; i++) {
        gnti_text_append(t, "<div class=\"fact\"><b>");
        gnti_append_escaped(t, values[i] == NULL ? "" : values[i]);
        gnti_text_append(t, "</b><span>");
        gnti_append_escaped(t, names[i] == NULL ? "" : names[i]);
        gnti_text_append(t, "</span></div>\n");
    }
    gnti_text_append(t, "</div>\n");
}

/* A number, perhaps with a unit; a dash stands for a missing one. */
static bool is_number(const char *cell)
{
    const size_t length = strcspn(cell, " %");
    double value;

    return strcmp(cell, "\xe2\x80\x93") == 0 ||
           (length > 0 && gnti_parse_double(cell, length, &value) == GNTI_PARSE_OK);
}

/* Whether a column's head stands over numbers. */
static bool is_of_numbers(const char *const *cells, int32_t num_rows, int32_t num_columns, int32_t column)
{
    for (int64_t i = 0; i < num_rows; i++)
        if (cells[i * num_columns + column] == NULL || !is_number(cells[i * num_columns + column]))
            return false;
    return num_rows > 0;
}

void gnti_page_table(gnti_page *page, const char *const *heads, const char *const *cells, int32_t num_rows,
                     int32_t num_columns)
{
    gnti_text *t = &page->text;

    gnti_text_append(t, "<div class=\"chart\"><table>\n<tr>");
    for (int32_t k = 0; k < num_columns; k++) {
        gnti_text_append(t, is_of_numbers(cells, num_rows, num_columns, k) ? "<th class=\"n\">" : "<th>");
        gnti_append_escaped(t, heads[k] == NULL ? "" : heads[k]);
        gnti_text_append(t, "</th>");
    }
    gnti_text_append(t, "</tr>\n");
    for (int64_t i = 0; i < num_rows; i++) {
        gnti_text_append(t, "<tr>");
        for (int32_t k = 0; k < num_columns; k++) {
            const char *cell = cells[i * num_columns + k];

            gnti_text_append(t, cell != NULL && is_number(cell)                  ? "<td class=\"n\">"
                                : cell != NULL && strlen(cell) > LONG_CELL_BYTES ? "<td class=\"t\">"
                                                                                 : "<td>");
            gnti_append_escaped(t, cell == NULL ? "" : cell);
            gnti_text_append(t, "</td>");
        }
        gnti_text_append(t, "</tr>\n");
    }
    gnti_text_append(t, "</table></div>\n");
}

gnt_status gnti_page_finish(gnti_page *page, char **out)
{
    gnti_text_append(&page->text, "</main>\n</body>\n</html>\n");
    return gnti_text_take(&page->text, out);
}

void gnti_page_free(gnti_page *page)
{
    gnti_text_free(&page->text);
}
