/* SPDX-License-Identifier: Apache-2.0 */
/* gnntrain devices: what this machine offers to compute on, and how fast the devices of a run are beside each other. */
#include "cli/cli.h"

typedef struct devices_options {
    bool profile;
    char *devices;
} devices_options;

static const gnt_option options[] = {
    GNT_OPTION_GROUP("Speeds"),
    GNT_OPTION_BOOL("profile", devices_options, profile, false,
                    "measure a sparse and a dense product on each device"),
    GNT_OPTION_TEXT("devices", devices_options, devices, NULL, "what to profile, as train takes it"),
    GNT_OPTION_END,
};

static const gnt_option *table(void)
{
    return options;
}

static gnt_status run(cli_call *call)
{
    gnt_status st = GNT_OK;
    const devices_options *o = cli_options_of(call, 0);
    gntx_json *facts = NULL;

    if (o->devices != NULL && !o->profile)
        return gntx_fail(GNT_ERR_USAGE, "--devices names what to profile: add --profile");
    GNT_TRY(o->profile ? gntx_devices_profile(o->devices, &facts) : gntx_devices(&facts));
    GNT_TRY(cli_print_facts(facts));
    if (o->profile && gntx_json_length(gntx_json_find(facts, "devices")) > 1)
        cli_say("next: gnntrain partition FILE --shares %s",
                gntx_json_to_text(gntx_json_find(facts, "shares")));
done:
    gntx_json_free(&facts);
    return st;
}

const cli_verb cmd_devices = {
    .name = "devices",
    .summary = "list devices with name, memory, threads and vector level, or measure their speeds",
    .arguments = "",
    .details =
        "--profile measures the devices one after the other, the way a run sees them. The line of "
        "shares is what "
        "partition --shares takes; a run on devices that differ measures them itself before it places "
        "chunks. "
        "A device is a kind with a number, a range of numbers or keys: cuda:0, cuda:0-3, cuda:1,mem=8G, "
        "cpu:threads=8; kinds mix, separated by ';'. Plug-ins of devices are looked for in the folder that "
        "GNNTRAIN_PLUGIN_DIR names, then beside the library; without a driver they are not opened.",
    .examples = { "gnntrain devices", "gnntrain devices --profile --devices 'cpu;cpu:speed=0.5' --json" },
    .min_arguments = 0,
    .max_arguments = 0,
    .sections = { { table, sizeof(devices_options) } },
    .run = run,
};
