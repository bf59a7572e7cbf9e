/* SPDX-License-Identifier: Apache-2.0 */
/* gnntrain ensemble report: report.json and report.html of a run, made anew. */
#include <gnntrain/experimental_ensemble.h>

#include "cli/cli.h"
#include "cli/ensemble_table.h"

typedef struct report_options {
    char *data;
} report_options;

static const gnt_option options[] = {
    GNT_OPTION_GROUP("Report"),
    GNT_OPTION_TEXT("data", report_options, data, NULL, "dataset; the one that the run names when not given"),
    GNT_OPTION_END,
};

static const gnt_option *table(void)
{
    return options;
}

static gnt_status run(cli_call *call)
{
    gnt_status st = GNT_OK;
    const report_options *o = cli_options_of(call, 0);
    const char *folder = call->arguments[0];
    gnt_context *ctx = NULL;
    gntx_json *report = NULL;
    const char *unwritten = NULL;

    GNT_TRY(cli_context_create(cli_options_of(call, 1), NULL, false, &ctx));
    GNT_TRY(gntx_ensemble_report(ctx, folder, o->data, &report));
    GNT_TRY(cli_print_ensemble(report, call->common.json));
    unwritten = gntx_json_to_text(gntx_json_find(report, "unwritten"));
    if (unwritten != NULL)
        cli_warn("report.json and report.html of '%s' were not written anew: %s", folder, unwritten);
    else
        cli_say("page: %s/report.html", folder);
done:
    gntx_json_free(&report);
    gnt_context_free(&ctx);
    return st;
}

const cli_verb cmd_ensemble_report = {
    .name = "ensemble report",
    .summary = "show members, ensemble, calibration and devices of a run; write its page anew",
    .arguments = "RUN",
    .details = "Members are scored again from their predictions, and combined as the run did. "
               "RUN/report.html is one file without "
               "scripts or anything from elsewhere.",
    .examples = { "gnntrain ensemble report cora-ensemble", "gnntrain ensemble report cora-ensemble --json" },
    .min_arguments = 1,
    .max_arguments = 1,
    .sections = { { table, sizeof(report_options) }, { cli_device_table, sizeof(cli_machine) } },
    .run = run,
};
