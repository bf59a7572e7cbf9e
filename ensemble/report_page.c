/* SPDX-License-Identifier: Apache-2.0 */
/* The page of an ensemble, from report.json. */
#include "ensemble/report_page.h"

#include "report/page.h"

gnt_status gnti_report_page(const gnti_json *report, char **out)
{
    gnt_status st = GNT_OK;
    gnti_page page;

    (void)report;
    gnti_page_begin(&page, "Ensemble", NULL);
    GNT_TRY(gnti_page_finish(&page, out));
done:
    return st;
}
