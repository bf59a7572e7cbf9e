/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs, in the order in which a user meets them: one line each, cmd_NAME of a file of that name. */
#include "cli/cli.h"

/* clang-format off */
#define VERBS(X)     \
    X(import)        \
    X(generate)      \
    X(check)         \
    X(info)          \
    X(split)         \
    X(partition)     \
    X(estimate)      \
    X(train)         \
    X(submit)        \
    X(eval)          \
    X(predict)       \
    X(export)        \
    X(explain)       \
    X(plot)          \
    X(ensemble_plan) \
    X(ensemble_train) \
    X(ensemble_resize) \
    X(ensemble_combine) \
    X(ensemble_report) \
    X(simulate)      \
    X(devices)       \
    X(doctor)        \
    X(bench)
/* clang-format on */

#define DECLARE(name) extern const cli_verb cmd_##name;
#define ADDRESS(name) &cmd_##name,

VERBS(DECLARE)
const cli_verb *const cli_verbs[] = { VERBS(ADDRESS) };
const int cli_num_verbs = (int)(sizeof cli_verbs / sizeof cli_verbs[0]);
