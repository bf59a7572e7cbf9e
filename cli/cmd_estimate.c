/* SPDX-License-Identifier: Apache-2.0 */
/* gnntrain estimate: the memory that a run would need, by what needs it, and whether it fits. The planner runs dry. Of several devices
 * also the seconds of a step. */
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
               "would not fit, and which option makes it smaller. Of several devices it tells the bytes and "
               "the seconds of each, which it measures for that, and reads the arcs once when there is a "
               "--partition; without one, graphs of up to a million arcs are cut as the run would cut them, "
               "and of larger ones a halo is assumed, which the answer then says.",
    .examples = { "gnntrain estimate reddit.h5 --model 'gcn:128, gcn' --seeds 10 --json",
                  "gnntrain estimate big.h5 --model 'gcn:64, gcn' --devices 'cpu;cpu:speed=0.5,mem=2G'" },
    .min_arguments = 1,
    .max_arguments = 1,
    .header = true,
    .sections = CLI_SETUP_SECTIONS,
    .run = run,
};
