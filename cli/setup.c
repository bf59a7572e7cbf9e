/* SPDX-License-Identifier: Apache-2.0 */
/* Context, dataset and model from the options that train, explain and estimate share. */
#include "cli/setup.h"

#include <string.h>

static const gnt_option model_options[] = {
    GNT_OPTION_GROUP("Model"),
    GNT_OPTION_TEXT("model", cli_model, model, "gcn:16, gcn",
                    "layers: name[:width]{:key=value}, joined by commas; the last one without a width has "
                    "one output a class"),
    GNT_OPTION_END,
};

const gnt_option *cli_model_table(void)
{
    return model_options;
}

/* The word of --deterministic, NULL for auto. */
static gnt_status deterministic_word(cli_call *call, char out[64])
{
    const gnt_trainer_config *config = cli_options_of(call, CLI_SETUP_TRAINER);

    for (const gnt_option *o = gntx_trainer_options(); !cli_is_end(o); o++)
        if (strcmp(o->name, "deterministic") == 0)
            return gntx_option_get(o, config, out, 64);
    return gntx_fail(GNT_ERR_INTERNAL, "the trainer has no option 'deterministic'");
}

gnt_status cli_setup_create(cli_call *call, cli_setup *out)
{
    gnt_status st = GNT_OK;
    const cli_model *model = cli_options_of(call, CLI_SETUP_MODEL);
    gnt_model_config *config = cli_options_of(call, CLI_SETUP_CONFIG);
    char word[64];

    memset(out, 0, sizeof *out);
    config->struct_size = sizeof *config;
    out->trainer = cli_options_of(call, CLI_SETUP_TRAINER);
    out->trainer->struct_size = sizeof *out->trainer;
    GNT_TRY(deterministic_word(call, word));
    GNT_TRY(cli_context_create(cli_options_of(call, CLI_SETUP_MACHINE),
                               strcmp(word, "auto") == 0 ? NULL : word, call->verb->ranks, &out->ctx));
    GNT_TRY((call->verb->header || gntx_context_num_processes(out->ctx) > 1
                 ? gntx_dataset_open_header
                 : gnt_dataset_open)(out->ctx, call->arguments[0], &out->data));
    GNT_TRY(gnt_model_create_with(out->data, model->model, config, &out->model));
done:
    if (st != GNT_OK)
        cli_setup_free(out);
    return st;
}

void cli_setup_free(cli_setup *setup)
{
    gnt_model_free(&setup->model);
    gnt_dataset_free(&setup->data);
    gnt_context_free(&setup->ctx);
}
