/* SPDX-License-Identifier: Apache-2.0 */
/* gnntrain devices: what this machine offers to compute on. */
#include "cli/cli.h"

static gnt_status run(cli_call *call)
{
    gnt_status st = GNT_OK;
    gntx_json *facts = NULL;

    (void)call;
    GNT_TRY(gntx_devices(&facts));
    GNT_TRY(cli_print_facts(facts));
done:
    gntx_json_free(&facts);
    return st;
}

const cli_verb cmd_devices = {
    .name = "devices",
    .summary = "list devices with name, memory, threads and vector level",
    .arguments = "",
    .examples = { "gnntrain devices", "gnntrain devices --json" },
    .min_arguments = 0,
    .max_arguments = 0,
    .run = run,
};
