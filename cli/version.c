/* SPDX-License-Identifier: Apache-2.0 */
/* --version: the version, how it was built, and what is built in. */
#include "cli/cli.h"

#include <stdio.h>

void cli_print_version(void)
{
    gntx_json *facts = NULL;

    printf("gnntrain %s\n", gnt_version());
    if (gntx_build_info(&facts) == GNT_OK)
        (void)cli_print_facts(facts);
    gntx_json_free(&facts);
}
