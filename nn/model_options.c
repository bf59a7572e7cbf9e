/* SPDX-License-Identifier: Apache-2.0 */
/* The option table of gnt_model_config: what holds for all layers unless a key of the model's text says otherwise. */
#include <gnntrain/experimental.h>

static const gnt_option table[] = {
    GNT_OPTION_WORD("act", gnt_model_config, act, 1, "none|relu|elu|leaky-relu|sigmoid|tanh",
                    "activation between layers"),
    GNT_OPTION_WORD("norm", gnt_model_config, norm, 0, "none|batch|layer", "normalisation between layers"),
    GNT_OPTION_DOUBLE("dropout", gnt_model_config, dropout, 0.0, 0.0, 0.999,
                      "share of values dropped between layers"),
    GNT_OPTION_DOUBLE("input-dropout", gnt_model_config, input_dropout, 0.0, 0.0, 0.999,
                      "share of features dropped"),
    GNT_OPTION_BOOL("residual", gnt_model_config, residual, false,
                    "add a layer's input to its output where widths agree"),
    GNT_OPTION_END,
};

const gnt_option *gntx_model_option_table(void)
{
    return table;
}
