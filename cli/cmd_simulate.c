/* SPDX-License-Identifier: Apache-2.0 */
/* gnntrain simulate: the ensemble manager over devices and tasks that are only written down. */
#include "cli/cli.h"

#include <gnntrain/experimental_ensemble.h>

static gnt_status run(cli_call *call)
{
    gnt_status st = GNT_OK;
    gntx_json *facts = NULL;

    GNT_TRY(gntx_simulate(call->arguments[0], call->arguments[1], cli_options_of(call, 0), &facts));
    GNT_TRY(cli_print_facts(facts));
done:
    gntx_json_free(&facts);
    return st;
}

const cli_verb cmd_simulate = {
    .name = "simulate",
    .summary = "run the ensemble manager over written-down devices and tasks",
    .arguments = "INVENTORY TRACE",
    .details =
        "The policies, moves and retries are those of gnntrain ensemble train; devices, members and time "
        "are simulated, so a thousand devices take seconds. Both files are YAML: docs/ensembles.md has the "
        "keys, examples/ensembles/ has examples. The same files, options and seed give the same output, "
        "byte for byte.",
    .examples = { "gnntrain simulate inventory-421.yaml trace-24.yaml --json",
                  "gnntrain simulate inventory-spot.yaml trace-24.yaml --policy shortest --events "
                  "events.jsonl" },
    .min_arguments = 2,
    .max_arguments = 2,
    .sections = { { gntx_simulate_option_table, sizeof(gntx_simulate_options) } },
    .run = run,
};
