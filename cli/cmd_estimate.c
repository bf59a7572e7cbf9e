/* SPDX-License-Identifier: Apache-2.0 */
/* gnntrain estimate: the memory that a run would need, by what needs it, and whether it fits. The planner runs dry. */
#include "cli/setup.h"

static gnt_status run(cli_call *call)
{
    gnt_status st = GNT_OK;
    cli_setup s = { 0 };
    gntx_json *facts = NULL;

    GNT_TRY(cli_setup_create(call, &s));
    GNT_TRY(gntx_estimate(s.model, s.data, s.trainer, &facts));
    GNT_TRY(cli_print_facts(facts));
done:
    gntx_json_free(&facts);
    cli_setup_free(&s);
    return st;
}

const cli_verb cmd_estimate = {
    .name = "estimate",
    .summary = "tell the memory that a run would need, without running it",
    .arguments = "FILE",
    .details = "Takes the options of train and reads the header of the file alone. It tells when the run "
               "would not fit, and which option makes it smaller.",
    .examples = { "gnntrain estimate reddit.h5 --model 'gcn:128, gcn'",
                  "gnntrain estimate reddit.h5 --model 'gcn:128, gcn' --seeds 10 --json" },
    .min_arguments = 1,
    .max_arguments = 1,
    .header = true,
    .sections = CLI_SETUP_SECTIONS,
    .run = run,
};
