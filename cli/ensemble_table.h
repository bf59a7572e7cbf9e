/* SPDX-License-Identifier: Apache-2.0 */
/* The sections of ensemble train; the report of an ensemble as a table for people. */
#ifndef GNNTRAIN_CLI_ENSEMBLE_TABLE_H
#define GNNTRAIN_CLI_ENSEMBLE_TABLE_H

#include "cli/cli.h"

enum { CLI_ENSEMBLE_OPTIONS, CLI_ENSEMBLE_MACHINE };

/* What report.json holds (docs/ensembles.md): a line a member, then their mean, the best one, the ensemble; with json as it is. */
gnt_status cli_print_ensemble(const gntx_json *report, bool json);

#endif
