/* SPDX-License-Identifier: Apache-2.0 */
/* gnntrain plot: pictures of runs from what their folders keep; nothing is trained or evaluated again. */
#include "cli/cli.h"

#include <stdio.h>

typedef struct plot_options {
    int32_t kind;
} plot_options;

static const gnt_option options[] = {
    GNT_OPTION_GROUP("Plot"),
    GNT_OPTION_WORD("kind", plot_options, kind, 0, "all|curves|confusion|compare",
                    "what to draw; all: what there is"),
    GNT_OPTION_END,
};

static const gnt_option *table(void)
{
    return options;
}

static gnt_status run(cli_call *call)
{
    gnt_status st = GNT_OK;
    const plot_options *o = cli_options_of(call, 0);
    const cli_output *output = cli_options_of(call, 1);
    gntx_json *facts = NULL;

    GNT_TRY(cli_require_output(output));
    GNT_TRY(gntx_plot((const char *const *)call->arguments, call->num_arguments, (gntx_plot_kind)o->kind,
                      output->output));
    GNT_TRY(gntx_json_create_object(&facts));
    GNT_TRY(gntx_json_set_text(facts, "file", output->output));
    GNT_TRY(cli_print_facts(facts));
done:
    gntx_json_free(&facts);
    return st;
}

const cli_verb cmd_plot = {
    .name = "plot",
    .summary = "draw curves, a confusion matrix, or a comparison of runs",
    .arguments = "RUN... -o FILE",
    .details = "FILE ends in .svg for a picture or in .html for a page of its own. Several runs are compared "
               "by their test "
               "values.",
    .examples = { "gnntrain plot cora-run -o cora.svg", "gnntrain plot gcn-run mlp-run -o compare.svg" },
    .min_arguments = 1,
    .max_arguments = -1,
    .sections = { { table, sizeof(plot_options) }, { cli_output_table, sizeof(cli_output) } },
    .run = run,
};
