/* SPDX-License-Identifier: Apache-2.0 */
/* gnntrain ensemble resize: a run that is going on in another process gets other devices. */
#include <gnntrain/experimental_ensemble.h>

#include "cli/cli.h"

typedef struct resize_options {
    char *devices;
    double wait_limit;
} resize_options;

static const gnt_option table[] = {
    GNT_OPTION_GROUP("Resize"),
    GNT_OPTION_TEXT("devices", resize_options, devices, NULL,
                    "all devices from now on, as of ensemble train"),
    GNT_OPTION_DOUBLE("wait-limit", resize_options, wait_limit, 60.0, 0.1, 1e6,
                      "seconds to wait for the answer"),
    GNT_OPTION_END,
};

static const gnt_option *options(void)
{
    return table;
}

static gnt_status run(cli_call *call)
{
    gnt_status st = GNT_OK;
    const resize_options *o = cli_options_of(call, 0);
    gntx_json *answer = NULL;

    if (o->devices == NULL || o->devices[0] == '\0')
        return gntx_fail(GNT_ERR_USAGE, "no devices: add --devices, all that the run shall have from now on");
    GNT_TRY(gntx_ensemble_resize(call->arguments[0], o->devices, o->wait_limit, &answer));
    GNT_TRY(cli_print_facts(answer));
done:
    gntx_json_free(&answer);
    return st;
}

const cli_verb cmd_ensemble_resize = {
    .name = "ensemble resize",
    .summary = "give a running ensemble other devices",
    .arguments = "RUN --devices TEXT",
    .details =
        "RUN is the folder of a run that is going on, on this machine or on its file system. Devices of the "
        "new list that it "
        "has stay; groups leave the others at their next epoch and take the new ones; what they compute does "
        "not "
        "change. Without a running process there is nothing to resize: start the run with other --devices.",
    .examples = { "gnntrain ensemble resize eight --devices cuda:0-1",
                  "gnntrain ensemble resize eight --devices 4" },
    .min_arguments = 1,
    .max_arguments = 1,
    .sections = { { options, sizeof(resize_options) } },
    .run = run,
};
