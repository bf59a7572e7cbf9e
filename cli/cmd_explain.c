/* SPDX-License-Identifier: Apache-2.0 */
/* gnntrain explain: the compiled step of a run: ops, shapes, passes that fired and why others did not, bytes, seconds. */
#include "cli/setup.h"

#include <stdio.h>

static gnt_status run(cli_call *call)
{
    gnt_status st = GNT_OK;
    cli_setup s = { 0 };
    gnt_trainer *tr = NULL;
    char *text = NULL;

    GNT_TRY(cli_setup_create(call, &s));
    s.trainer->run = NULL; /* nothing is written */
    GNT_TRY(gnt_trainer_create(s.model, s.data, s.trainer, &tr));
    GNT_TRY(gntx_trainer_explain(tr, call->common.json, &text));
    printf("%s\n", text);
    GNT_TRY(cli_flush());
done:
    gntx_free(text);
    gnt_trainer_free(&tr);
    cli_setup_free(&s);
    return st;
}

const cli_verb cmd_explain = {
    .name = "explain",
    .summary = "print the compiled program of a training step",
    .arguments = "FILE",
    .details = "Takes the options of train. Nothing is trained and nothing is written.",
    .examples = { "gnntrain explain cora.h5 --model 'gcn:16, gcn' --dropout 0.5",
                  "gnntrain explain cora.h5 --model 'gcn:16, gcn' --no-pass hoist --json" },
    .min_arguments = 1,
    .max_arguments = 1,
    .sections = CLI_SETUP_SECTIONS,
    .run = run,
};
