/* SPDX-License-Identifier: Apache-2.0 */
/* gnntrain import: files of other programs into one dataset file, and a report of what was kept, dropped, and by which
 * rule.
 */
#include "cli/cli.h"

static gnt_status run(cli_call *call)
{
    gnt_status st = GNT_OK;
    const gntx_import_options *options = cli_options_of(call, 0);
    const cli_output *output = cli_options_of(call, 1);
    gnt_context *ctx = NULL;
    gnt_dataset *data = NULL;
    gntx_json *report = NULL;

    GNT_TRY(cli_require_output(output));
    GNT_TRY(gntx_check_output(output->output, (const char *const *)call->arguments, call->num_arguments));
    GNT_TRY(
        gntx_check_output(output->output, (const char *const[]){ options->features, options->labels }, 2));
    GNT_TRY(gnt_context_create("device=cpu", &ctx));
    GNT_TRY(
        gntx_import(ctx, (const char *const *)call->arguments, call->num_arguments, options, &data, &report));
    GNT_TRY(gnt_dataset_save(data, output->output));
    GNT_TRY(gntx_json_set_text(report, "file", output->output));
    GNT_TRY(cli_print_facts(report));
    cli_say("next: gnntrain check %s", output->output);
done:
    gntx_json_free(&report);
    gnt_dataset_free(&data);
    gnt_context_free(&ctx);
    return st;
}

const cli_verb cmd_import = {
    .name = "import",
    .summary = "turn files of other programs into a dataset",
    .arguments = "PATH... -o FILE",
    .details = "PATH is a file, a folder, - for the standard input, or the word debian for this machine's "
               "package index. The "
               "format is told by content: edge lists (text, also compressed), LINQS content and cites, "
               "geom-gcn text, npz with "
               "CSR arrays, Matrix Market, METIS, OGB folders. Planetoid pickles and PyTorch Geometric data "
               "are converted by "
               "python3 -m gnntrain_io.",
    .examples = { "gnntrain import graph.txt --features x.csv --labels y.csv -o mine.h5",
                  "gnntrain import debian -o debian.h5" },
    .min_arguments = 1,
    .max_arguments = -1,
    .sections = { { gntx_import_option_table, sizeof(gntx_import_options) },
                  { cli_output_table, sizeof(cli_output) } },
    .run = run,
};
