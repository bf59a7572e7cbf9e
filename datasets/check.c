/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the page together: { num_errors, num_warnings, findings: [{number, level, text, fix}], facts: {...} }. */
#include "datasets/check_page.h"

#include <gnntrain/experimental.h>

#include <stdarg.h>
#include <stdio.h>

gnt_status gnti_check_add(gnti_check *c, gnti_finding_level level, const char *fix, const char *format, ...)
{
    static const char *const levels[] = { "error", "warning", "note" };
    gnt_status st = GNT_OK;
    gnti_json *finding;
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    c->num_errors += level == GNTI_FINDING_ERROR;
    c->num_warnings += level == GNTI_FINDING_WARNING;
    GNT_TRY(gnti_json_append_object(c->findings, &finding));
    GNT_TRY(gnti_json_set_int(finding, "number", gnti_json_length(c->findings)));
    GNT_TRY(gnti_json_set_text(finding, "level", levels[level]));
    GNT_TRY(gnti_json_set_text(finding, "text", text));
    GNT_TRY(gnti_json_set_text(finding, "fix", fix));
done:
    return st;
}

gnt_status gntx_dataset_check(const gnt_dataset *data, gntx_json **out)
{
    gnt_status st = GNT_OK;
    gnti_json *page = NULL;
    gnti_check c = { .data = data };

    GNT_CHECK(data != NULL && out != NULL, GNT_ERR_ARG, "data and out must not be NULL");
    GNT_TRY(gnti_json_create_object(&page));
    GNT_TRY(gnti_json_set_int(page, "num_errors", 0)); /* first in the page, counted at the end */
    GNT_TRY(gnti_json_set_int(page, "num_warnings", 0));
    GNT_TRY(gnti_json_set_array(page, "findings", &c.findings));
    GNT_TRY(gnti_json_set_object(page, "facts", &c.facts));
    GNT_TRY(gnti_check_structure(&c));
    GNT_TRY(gnti_check_features(&c));
    GNT_TRY(gnti_check_labels(&c));
    GNT_TRY(gnti_check_splits(&c));
    GNT_TRY(gnti_json_set_int(page, "num_errors", c.num_errors));
    GNT_TRY(gnti_json_set_int(page, "num_warnings", c.num_warnings));
    *out = (gntx_json *)page;
    page = NULL;
done:
    gnti_json_free(&page);
    return st;
}
