/* SPDX-License-Identifier: Apache-2.0 */
/* gnntrain predict: classes, probabilities or embeddings of every node, with the user's ids, in the input's order. */
#include "cli/cli.h"

#include <string.h>

static gnt_status run(cli_call *call)
{
    gnt_status st = GNT_OK;
    const gntx_predict_options *options = cli_options_of(call, 0);
    const cli_output *output = cli_options_of(call, 1);
    cli_machine machine = *(const cli_machine *)cli_options_of(call, 2);
    char cpu[] = "cpu";
    gnt_context *ctx = NULL;
    gntx_json *report = NULL;

    GNT_TRY(cli_require_output(output));
    if (options->devices != NULL && strcmp(options->devices, "auto") != 0)
        machine.devices = cpu; /* those that are named are opened, and no other */
    GNT_TRY(cli_context_create(&machine, NULL, true, &ctx));
    GNT_TRY(gntx_predict(ctx, call->arguments[0], options, output->output, &report));
    if (report != NULL) /* the root's */
        GNT_TRY(cli_print_facts(report));
done:
    gntx_json_free(&report);
    gnt_context_free(&ctx);
    return st;
}

const cli_verb cmd_predict = {
    .name = "predict",
    .summary = "write predictions for every node of a graph",
    .arguments = "RUN -o FILE",
    .details = "FILE is csv, npy or h5 by its suffix. Lines are in the order of the input and carry the ids "
               "of the input; "
               "nodes without a label are included. RUN may be the folder of an ensemble: its members are "
               "placed on --devices "
               "and combined, and two columns say how sure they are: entropy (nats) of the combination, and "
               "disagreement, the weight of the members that would have said something else.",
    .examples = { "gnntrain predict cora-run -o predictions.csv",
                  "gnntrain predict cora-ensemble --devices 2 --data new.h5 -o new.csv" },
    .min_arguments = 1,
    .max_arguments = 1,
    .ranks = true,
    .sections = { { gntx_predict_option_table, sizeof(gntx_predict_options) },
                  { cli_output_table, sizeof(cli_output) },
                  { cli_machine_table, sizeof(cli_machine) } },
    .run = run,
};
