/* SPDX-License-Identifier: Apache-2.0 */
/* gnntrain ensemble plan: what an ensemble would be and where its members would be trained; nothing is. */
#include <gnntrain/experimental_ensemble.h>

#include "cli/plan_table.h"

static const gnt_option options[] = {
    GNT_OPTION_GROUP("Plan"),
    GNT_OPTION_TEXT("devices", gntx_plan_options, devices, NULL,
                    "how many, or kind:key=value;..., or cuda:0-3;cpu:threads=8 (gnntrain devices --help)"),
    GNT_OPTION_TEXT("partition", gntx_plan_options, partition, NULL,
                    "file of gnntrain partition: groups may then be spread over several devices"),
    GNT_OPTION_BOOL("measure", gntx_plan_options, measure, false,
                    "train four epochs of each kind of group on each type of device; what they took is kept"),
    GNT_OPTION_END,
};

static const gnt_option *table(void)
{
    return options;
}

static gnt_status run(cli_call *call)
{
    gnt_status st = GNT_OK;
    gnt_context *ctx = NULL;
    gntx_json *facts = NULL;

    GNT_TRY(cli_context_create(cli_options_of(call, 1), NULL, false, &ctx));
    GNT_TRY(gntx_ensemble_plan(ctx, call->arguments[0], call->arguments[1], cli_options_of(call, 0), &facts));
    if (call->common.json)
        GNT_TRY(cli_print_facts(facts));
    else
        GNT_TRY(cli_print_plan(facts));
done:
    gntx_json_free(&facts);
    gnt_context_free(&ctx);
    return st;
}

const cli_verb cmd_ensemble_plan = {
    .name = "ensemble plan",
    .summary = "show members, groups, memory, seconds, and where they would be trained",
    .arguments = "SPEC FILE",
    .details = "Reads the header of the dataset, plans the programs of all groups dry, measures the devices "
               "for some "
               "milliseconds and drives the manager of gnntrain ensemble train through predicted time. "
               "Nothing is trained "
               "and nothing is written. docs/ensembles.md has the keys of a SPEC.",
    .examples = { "gnntrain ensemble plan ensemble.yaml cora.h5",
                  "gnntrain ensemble plan ensemble.yaml cora.h5 --devices 'cpu:speed=4;cpu:speed=2;cpu' "
                  "--json" },
    .min_arguments = 2,
    .max_arguments = 2,
    .header = true,
    .sections = { { table, sizeof(gntx_plan_options) }, { cli_machine_table, sizeof(cli_machine) } },
    .run = run,
};
