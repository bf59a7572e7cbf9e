/* SPDX-License-Identifier: Apache-2.0 */
/* gnntrain eval: scores of a run's best weights on each split. */
#include "cli/cli.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct eval_options {
    char *data, *devices;
} eval_options;

static const gnt_option options[] = {
    GNT_OPTION_GROUP("Evaluation"),
    GNT_OPTION_TEXT("data", eval_options, data, NULL, "another dataset with the same features and classes"),
    GNT_OPTION_TEXT("devices", eval_options, devices, "auto",
                    "one, as of train; of an ensemble several, members are placed on them"),
    GNT_OPTION_END,
};

static const gnt_option *table(void)
{
    return options;
}

static bool has_column(const gntx_json *splits, const char *column)
{
    for (int64_t i = 0; i < gntx_json_length(splits); i++)
        if (gntx_json_find(gntx_json_find(splits, gntx_json_key_at(splits, i)), column) != NULL)
            return true;
    return false;
}

static void print_cell(const gntx_json *value, bool whole)
{
    double number = 0.0;

    if (value == NULL || !gntx_json_to_number(value, &number) || isnan(number))
        printf(" %9s", "-");
    else
        printf(whole ? " %9.0f" : " %9.4f", number);
}

/* A line a split, a column a score. */
static void print_table(const gntx_json *facts)
{
    static const char *const columns[] = { "rows", "loss", "accuracy", "micro_f1", "macro_f1", "roc_auc",
                                           "ap",   "mae",  "mse",      "nll",      "ece",      "brier" };
    enum { NUM_COLUMNS = sizeof columns / sizeof columns[0] };
    const gntx_json *splits = gntx_json_find(facts, "splits");

    printf("%-8s", "");
    for (int c = 0; c < NUM_COLUMNS; c++)
        if (has_column(splits, columns[c]))
            printf(" %9s", columns[c]);
    printf("\n");
    for (int64_t i = 0; i < gntx_json_length(splits); i++) {
        const gntx_json *split = gntx_json_find(splits, gntx_json_key_at(splits, i));

        printf("%-8s", gntx_json_key_at(splits, i));
        for (int c = 0; c < NUM_COLUMNS; c++)
            if (has_column(splits, columns[c]))
                print_cell(gntx_json_find(split, columns[c]), strcmp(columns[c], "rows") == 0);
        printf("\n");
    }
}

static gnt_status run(cli_call *call)
{
    gnt_status st = GNT_OK;
    const eval_options *o = cli_options_of(call, 0);
    cli_machine machine = *(const cli_machine *)cli_options_of(call, 1);
    char cpu[] = "cpu";
    gnt_context *ctx = NULL;
    gntx_json *facts = NULL;

    if (o->devices != NULL && strcmp(o->devices, "auto") != 0)
        machine.devices = cpu; /* those that are named are opened, and no other */
    GNT_TRY(cli_context_create(&machine, NULL, true, &ctx));
    GNT_TRY(gntx_eval(ctx, call->arguments[0], o->data, o->devices, &facts));
    if (facts == NULL) /* the root has them */
        goto done;
    if (call->common.json) {
        GNT_TRY(cli_print_facts(facts));
    } else {
        print_table(facts);
        GNT_TRY(cli_flush());
    }
done:
    gntx_json_free(&facts);
    gnt_context_free(&ctx);
    return st;
}

const cli_verb cmd_eval = {
    .name = "eval",
    .summary = "score the best weights of a run, or an ensemble's combination, on train, valid and test",
    .arguments = "RUN",
    .examples = { "gnntrain eval cora-run", "gnntrain eval cora-run --data new.h5 --json" },
    .min_arguments = 1,
    .max_arguments = 1,
    .ranks = true,
    .sections = { { table, sizeof(eval_options) }, { cli_machine_table, sizeof(cli_machine) } },
    .run = run,
};
