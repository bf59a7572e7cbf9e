/* SPDX-License-Identifier: Apache-2.0 */
/* gnntrain generate: graphs made by rule, for trying things out. */
#include "cli/cli.h"

static gnt_status run(cli_call *call)
{
    gnt_status st = GNT_OK;
    const gntx_generate_options *options = cli_options_of(call, 0);
    const cli_output *output = cli_options_of(call, 1);
    gnt_context *ctx = NULL;
    gnt_dataset *data = NULL;
    gntx_json *report = NULL;

    GNT_TRY(cli_require_output(output));
    GNT_TRY(gnt_context_create("device=cpu", &ctx));
    GNT_TRY(gntx_generate(ctx, call->arguments[0], options, &data, &report));
    GNT_TRY(gnt_dataset_save(data, output->output));
    GNT_TRY(gntx_json_set_text(report, "file", output->output));
    GNT_TRY(cli_print_facts(report));
    cli_say(gnt_dataset_num_features(data) > 0 && gnt_dataset_num_classes(data) > 0
                ? "next: gnntrain train %s --model 'gcn:16, gcn'"
                : "next: gnntrain info %s",
            output->output);
done:
    gntx_json_free(&report);
    gnt_dataset_free(&data);
    gnt_context_free(&ctx);
    return st;
}

const cli_verb cmd_generate = {
    .name = "generate",
    .summary = "make a graph by rule: karate, csbm, rmat, grid, star, path",
    .arguments = "KIND -o FILE",
    .details = "karate: Zachary's club of 34 people. csbm, or sbm for short: a contextual stochastic block "
               "model whose best "
               "accuracy is known. rmat: a power-law graph with the parameters of Graph500. grid, star, "
               "path: as named.",
    .examples = { "gnntrain generate karate -o karate.h5",
                  "gnntrain generate sbm --nodes 10000 --seed 1 -o sbm.h5" },
    .min_arguments = 1,
    .max_arguments = 1,
    .sections = { { gntx_generate_option_table, sizeof(gntx_generate_options) },
                  { cli_output_table, sizeof(cli_output) } },
    .run = run,
};
