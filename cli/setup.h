/* SPDX-License-Identifier: Apache-2.0 */
/* What train, explain and estimate have in common: their options, and context, dataset and model made of them. */
#ifndef GNNTRAIN_CLI_SETUP_H
#define GNNTRAIN_CLI_SETUP_H

#include "cli/cli.h"

typedef struct cli_model {
    char *model;
} cli_model;
const gnt_option *cli_model_table(void);

/* The sections of such a verb, in this order. */
enum { CLI_SETUP_MODEL, CLI_SETUP_CONFIG, CLI_SETUP_TRAINER, CLI_SETUP_MACHINE };
#define CLI_SETUP_SECTIONS                                                                                   \
    {                                                                                                        \
        { cli_model_table, sizeof(cli_model) }, { gntx_model_option_table, sizeof(gnt_model_config) },       \
            { gntx_trainer_options, sizeof(gnt_trainer_config) },                                            \
            { cli_machine_table, sizeof(cli_machine) },                                                      \
    }

/* Freed in the reverse order by cli_setup_free, which accepts one that was never filled but zeroed. */
typedef struct cli_setup {
    gnt_context *ctx;
    gnt_dataset *data;
    gnt_model *model;
    gnt_trainer_config *trainer; /* lent by the call */
} cli_setup;

gnt_status cli_setup_create(cli_call *call, cli_setup *out);
void cli_setup_free(cli_setup *setup);

#endif
