/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the machine (devices, threads, vector level, plug-ins) and the context made of them; and the option of
 * verbs that write one file.
 */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#define MACHINE_ROWS                                                                                         \
    GNT_OPTION_INT("threads", cli_machine, threads, 0, 0, 1024,                                              \
                   "threads, 0: GNNTRAIN_THREADS, else the cores we may use"),                               \
        GNT_OPTION_WORD("isa", cli_machine, isa, 0, "auto|portable|avx2|avx512",                             \
                        "vector level of the kernels"),                                                      \
        GNT_OPTION_LIST("plugin", cli_machine, plugin, NULL, "shared objects with layers of your own"),      \
        GNT_OPTION_END

static const gnt_option machine_options[] = { GNT_OPTION_GROUP("Machine"), MACHINE_ROWS };
static const gnt_option device_options[] = {
    GNT_OPTION_GROUP("Machine"),
    GNT_OPTION_TEXT("devices", cli_machine, devices, "auto", "auto, cpu or cuda"), MACHINE_ROWS
};

const gnt_option *cli_machine_table(void)
{
    return machine_options;
}

const gnt_option *cli_device_table(void)
{
    return device_options;
}

static gnt_status load_plugins(gnt_context *ctx, const char *list)
{
    gnt_status st = GNT_OK;
    char path[4096];

    while (list != NULL && *list != '\0') {
        const size_t length = strcspn(list, ",");

        if (length >= sizeof path)
            return gntx_fail(GNT_ERR_USAGE, "the path of a plug-in has %zu letters", length);
        memcpy(path, list, length);
        path[length] = '\0';
        if (length > 0)
            GNT_TRY(gnt_context_load_plugin(ctx, path));
        list += length + (list[length] == ',');
    }
done:
    return st;
}

gnt_status cli_context_create(const cli_machine *machine, const char *deterministic, bool ranks,
                              gnt_context **out)
{
    gnt_status st = GNT_OK;
    gnt_context *ctx = NULL;
    char settings[512], isa[64];

    for (const gnt_option *o = machine_options; !cli_is_end(o); o++)
        if (o->kind == GNT_OPTION_KIND_WORD)
            GNT_TRY(gntx_option_get(o, machine, isa, sizeof isa));
    if (snprintf(settings, sizeof settings, "device=%s;launch=%s;threads=%lld;isa=%s%s%s",
                 machine->devices != NULL ? machine->devices : "auto", ranks ? "auto" : "none",
                 (long long)machine->threads, isa, deterministic == NULL ? "" : ";deterministic=",
                 deterministic == NULL ? "" : deterministic) >= (int)sizeof settings)
        return gntx_fail(GNT_ERR_USAGE, "--devices has %zu letters", strlen(machine->devices));
    GNT_TRY(gnt_context_create(settings, &ctx));
    cli_set_silent(gntx_context_rank(ctx) != 0);
    GNT_TRY(load_plugins(ctx, machine->plugin));
    *out = ctx;
    ctx = NULL;
done:
    gnt_context_free(&ctx);
    return st;
}

static const gnt_option output_options[] = {
    GNT_OPTION_GROUP("Output"),
    GNT_OPTION_TEXT("output", cli_output, output, NULL, "-o: file to write"),
    GNT_OPTION_END,
};

const gnt_option *cli_output_table(void)
{
    return output_options;
}

gnt_status cli_require_output(const cli_output *output)
{
    if (output->output == NULL || output->output[0] == '\0')
        return gntx_fail(GNT_ERR_USAGE, "no file to write: add -o FILE");
    return GNT_OK;
}
