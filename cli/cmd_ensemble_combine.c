/* SPDX-License-Identifier: Apache-2.0 */
/* gnntrain ensemble combine: saved predictions of several models become one, calibrated on validation rows. */
#include <gnntrain/experimental_ensemble.h>

#include "cli/cli.h"
#include "cli/ensemble_table.h"

enum { HOW_WEIGHTED = 3, HOW_GREEDY = 4 }; /* of --how */

/* An option that could change nothing is a mistake. */
static gnt_status check_effect(const cli_call *call, int32_t how)
{
    static const char *const of_greedy[] = { "rounds", "start" };

    for (int i = 0; i < 2; i++)
        if (cli_is_set(call, of_greedy[i]) && how != HOW_GREEDY)
            return gntx_fail(GNT_ERR_USAGE, "--%s has an effect with --how greedy alone", of_greedy[i]);
    if (cli_is_set(call, "seed") && how != HOW_GREEDY && how != HOW_WEIGHTED)
        return gntx_fail(GNT_ERR_USAGE,
                         "--seed cuts validation rows for --how weighted or greedy, others need no folds");
    return GNT_OK;
}

static gnt_status run(cli_call *call)
{
    gnt_status st = GNT_OK;
    gntx_combine_options options = *(const gntx_combine_options *)cli_options_of(call, 0);
    const cli_output *output = cli_options_of(call, 1);
    gnt_context *ctx = NULL;
    gntx_json *report = NULL;

    GNT_TRY(check_effect(call, options.how));
    options.output = output->output;
    GNT_TRY(cli_context_create(cli_options_of(call, 2), NULL, false, &ctx));
    GNT_TRY(gntx_ensemble_combine(ctx, call->arguments[0], (const char *const *)call->arguments + 1,
                                  call->num_arguments - 1, &options, &report));
    GNT_TRY(cli_print_ensemble(report, call->common.json));
done:
    gntx_json_free(&report);
    gnt_context_free(&ctx);
    return st;
}

const cli_verb cmd_ensemble_combine = {
    .name = "ensemble combine",
    .summary = "make one predictor of saved predictions, weighed and calibrated on validation rows",
    .arguments = "DATA RUN_OR_FILE... [-o FILE]",
    .details =
        "Each RUN is the folder of an ensemble or of a single run; each FILE holds probabilities as "
        "gnntrain predict "
        "--what probabilities writes them (npy, h5, csv), or another tool: rows are joined by id. The "
        "result is never "
        "worse on validation than the best member: where it would be, it moves towards greedy selection "
        "until it is not.",
    .examples = { "gnntrain ensemble combine cora.h5 cora-ensemble --how greedy -o combined.csv",
                  "gnntrain ensemble combine cora.h5 gcn.csv gat.npy sage-run --report combined.html" },
    .min_arguments = 2,
    .max_arguments = -1,
    .sections = { { gntx_combine_option_table, sizeof(gntx_combine_options) },
                  { cli_output_table, sizeof(cli_output) },
                  { cli_device_table, sizeof(cli_machine) } },
    .run = run,
};
