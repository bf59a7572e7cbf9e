/* SPDX-License-Identifier: Apache-2.0 */
/* gnntrain export: the best weights of a run in a form that other tools load. */
#include "cli/cli.h"

static gnt_status run(cli_call *call)
{
    gnt_status st = GNT_OK;
    const gntx_export_options *options = cli_options_of(call, 0);
    const cli_output *output = cli_options_of(call, 1);
    gntx_json *report = NULL;

    GNT_TRY(cli_require_output(output));
    GNT_TRY(gntx_export(call->arguments[0], options, output->output, &report));
    GNT_TRY(cli_print_facts(report));
done:
    gntx_json_free(&report);
    return st;
}

const cli_verb cmd_export = {
    .name = "export",
    .summary = "write the best weights of a run for other tools",
    .arguments = "RUN -o FILE",
    .details = "RUN is a run folder, RUN/seed-S or a checkpoint. The file is safetensors: each parameter by "
               "its name as "
               "(in, out), and once a seed, as seed-S.NAME, where the run has several.",
    .examples = { "gnntrain export cora-run --format safetensors -o cora.safetensors",
                  "gnntrain export cora-run --seed 3 -o seed3.safetensors" },
    .min_arguments = 1,
    .max_arguments = 1,
    .sections = { { gntx_export_option_table, sizeof(gntx_export_options) },
                  { cli_output_table, sizeof(cli_output) } },
    .run = run,
};
