/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs, in the order in which a user meets them. */
#include "cli/cli.h"

extern const cli_verb cmd_import, cmd_generate, cmd_check, cmd_info, cmd_split, cmd_partition, cmd_estimate,
    cmd_train, cmd_eval, cmd_predict, cmd_export, cmd_explain, cmd_plot, cmd_devices, cmd_doctor, cmd_bench,
    cmd_submit;

const cli_verb *const cli_verbs[] = { &cmd_import,    &cmd_generate, &cmd_check,   &cmd_info,   &cmd_split,
                                      &cmd_partition, &cmd_estimate, &cmd_train,   &cmd_submit, &cmd_eval,
                                      &cmd_predict,   &cmd_export,   &cmd_explain, &cmd_plot,   &cmd_devices,
                                      &cmd_doctor,    &cmd_bench };
const int cli_num_verbs = (int)(sizeof cli_verbs / sizeof cli_verbs[0]);
