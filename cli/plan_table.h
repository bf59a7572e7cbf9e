/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of an ensemble as tables for people. */
#ifndef GNNTRAIN_CLI_PLAN_TABLE_H
#define GNNTRAIN_CLI_PLAN_TABLE_H

#include "cli/cli.h"

/* What gntx_ensemble_plan answers: members, groups, devices, the matrix of devices and members. */
gnt_status cli_print_plan(const gntx_json *plan);

#endif
