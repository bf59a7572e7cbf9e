/* SPDX-License-Identifier: Apache-2.0 */
/* gnntrain eval: scores of a run's best weights on each split. */
#include "cli/cli.h"

typedef struct eval_options {
    char *data;
} eval_options;

static const gnt_option options[] = {
    GNT_OPTION_GROUP("Evaluation"),
    GNT_OPTION_TEXT("data", eval_options, data, NULL, "another dataset with the same features and classes"),
    GNT_OPTION_END,
};

static const gnt_option *table(void)
{
    return options;
}

static gnt_status run(cli_call *call)
{
    gnt_status st = GNT_OK;
    const eval_options *o = cli_options_of(call, 0);
    gnt_context *ctx = NULL;
    gntx_json *facts = NULL;

    GNT_TRY(cli_context_create(cli_options_of(call, 1), NULL, &ctx));
    GNT_TRY(gntx_eval(ctx, call->arguments[0], o->data, &facts));
    GNT_TRY(cli_print_facts(facts));
done:
    gntx_json_free(&facts);
    gnt_context_free(&ctx);
    return st;
}

const cli_verb cmd_eval = {
    .name = "eval",
    .summary = "score the best weights of a run on train, valid and test",
    .arguments = "RUN",
    .examples = { "gnntrain eval cora-run", "gnntrain eval cora-run --data new.h5 --json" },
    .min_arguments = 1,
    .max_arguments = 1,
    .sections = { { table, sizeof(eval_options) }, { cli_machine_table, sizeof(cli_machine) } },
    .run = run,
};
