/* SPDX-License-Identifier: Apache-2.0 */
/* The one table from status to exit code. Scripts rely on it: 0 done, 1 our bug, 2 usage, 3 bad data, 4 does not fit or
 * cannot be written, 5 device or ranks, 6 diverged, 75 stopped with a checkpoint (EX_TEMPFAIL: run the same line again).
 */
#include "cli/cli.h"

static const struct {
    gnt_status status;
    int code;
} codes[] = {
    { GNT_OK, 0 },
    { GNT_ERR_INTERNAL, 1 },
    { GNT_ERR_STATE, 1 },
    { GNT_ERR_USAGE, CLI_EXIT_USAGE },
    { GNT_ERR_ARG, CLI_EXIT_USAGE },
    { GNT_ERR_UNSUPPORTED, CLI_EXIT_USAGE },
    { GNT_ERR_FORMAT, 3 },
    { GNT_ERR_IO, 3 },
    { GNT_ERR_NOMEM, 4 },
    { GNT_ERR_DEVICE_NOMEM, 4 },
    { GNT_ERR_LIMIT, 4 },
    { GNT_ERR_DISK_FULL, 4 },
    { GNT_ERR_OUTPUT, 4 },
    { GNT_ERR_PEER_LOST, 5 },
    { GNT_ERR_TIMEOUT, 5 },
    { GNT_ERR_DEVICE_LOST, 5 },
    { GNT_ERR_NUMERIC, 6 },
    { GNT_STOPPED, 75 },
};

int cli_exit_code(gnt_status st)
{
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (codes[i].status == st)
            return codes[i].code;
    return 1;
}
