/* SPDX-License-Identifier: Apache-2.0 */
/* gnntrain split: adds a named split to a dataset; the file that is read may be the one that is written. */
#include "cli/cli.h"

static gnt_status run(cli_call *call)
{
    gnt_status st = GNT_OK;
    const gntx_split_options *options = cli_options_of(call, 0);
    const cli_output *output = cli_options_of(call, 1);
    gnt_context *ctx = NULL;
    gnt_dataset *data = NULL, *changed = NULL;
    gntx_json *report = NULL;

    GNT_TRY(cli_require_output(output));
    GNT_TRY(gnt_context_create("device=cpu", &ctx));
    GNT_TRY(gnt_dataset_open(ctx, call->arguments[0], &data));
    GNT_TRY(gntx_dataset_split(data, options, &changed, &report));
    GNT_TRY(gnt_dataset_save(changed, output->output));
    GNT_TRY(gntx_json_set_text(report, "file", output->output));
    GNT_TRY(cli_print_facts(report));
done:
    gntx_json_free(&report);
    gnt_dataset_free(&changed);
    gnt_dataset_free(&data);
    gnt_context_free(&ctx);
    return st;
}

const cli_verb cmd_split = {
    .name = "split",
    .summary = "divide the labelled nodes into train, valid and test",
    .arguments = "FILE -o OUT",
    .details = "The split is stored under its name beside those that the file has; OUT may be FILE. train "
               "--split NAME uses it.",
    .examples = { "gnntrain split mine.h5 --kind stratified --train 0.6 --valid 0.2 -o mine.h5",
                  "gnntrain split mine.h5 --kind per-class --seed 3 --name third -o mine.h5" },
    .min_arguments = 1,
    .max_arguments = 1,
    .sections = { { gntx_split_option_table, sizeof(gntx_split_options) },
                  { cli_output_table, sizeof(cli_output) } },
    .run = run,
};
