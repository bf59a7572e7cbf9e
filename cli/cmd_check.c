/* SPDX-License-Identifier: Apache-2.0 */
/* gnntrain check: numbered findings about a dataset (error, warning, note), each with what mends it. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

typedef struct check_options {
    bool strict;
} check_options;

static const gnt_option options[] = {
    GNT_OPTION_GROUP("Check"),
    GNT_OPTION_BOOL("strict", check_options, strict, false, "a warning fails as well (exit code 3)"),
    GNT_OPTION_END,
};

static const gnt_option *table(void)
{
    return options;
}

static const char *text_of(const gntx_json *object, const char *key)
{
    const char *text = gntx_json_to_text(gntx_json_find(object, key));

    return text == NULL ? "" : text;
}

static void print_findings(const gntx_json *findings)
{
    const int64_t count = gntx_json_length(findings);

    for (int64_t i = 0; i < count; i++) {
        const gntx_json *f = gntx_json_at(findings, i);

        printf("%2lld %-8s %s\n", (long long)i + 1, text_of(f, "level"), text_of(f, "text"));
        if (text_of(f, "fix")[0] != '\0')
            printf("            %s\n", text_of(f, "fix"));
    }
    if (count == 0)
        printf("nothing found\n");
}

static gnt_status print_report(const cli_call *call, const gntx_json *report)
{
    gnt_status st = GNT_OK;

    if (call->common.json)
        return cli_print_facts(report);
    if (gntx_json_find(report, "facts") != NULL) {
        GNT_TRY(cli_print_facts(gntx_json_find(report, "facts")));
        printf("\n");
    }
    print_findings(gntx_json_find(report, "findings"));
    GNT_TRY(cli_flush());
done:
    return st;
}

static gnt_status run(cli_call *call)
{
    gnt_status st = GNT_OK;
    const check_options *o = cli_options_of(call, 0);
    gnt_context *ctx = NULL;
    gnt_dataset *data = NULL;
    gntx_json *report = NULL;
    int64_t errors = 0, warnings = 0;

    GNT_TRY(gnt_context_create("device=cpu", &ctx));
    GNT_TRY(gnt_dataset_open(ctx, call->arguments[0], &data));
    GNT_TRY(gntx_dataset_check(data, &report));
    GNT_TRY(print_report(call, report));
    (void)gntx_json_to_int(gntx_json_find(report, "num_errors"), &errors);
    (void)gntx_json_to_int(gntx_json_find(report, "num_warnings"), &warnings);
    if (errors > 0 || (o->strict && warnings > 0))
        st = gntx_fail(GNT_ERR_FORMAT, "'%s' has %lld %s and %lld %s", call->arguments[0], (long long)errors,
                       errors == 1 ? "error" : "errors", (long long)warnings,
                       warnings == 1 ? "warning" : "warnings");
done:
    gntx_json_free(&report);
    gnt_dataset_free(&data);
    gnt_context_free(&ctx);
    return st;
}

const cli_verb cmd_check = {
    .name = "check",
    .summary = "look for what is wrong or strange in a dataset",
    .arguments = "FILE",
    .examples = { "gnntrain check mine.h5", "gnntrain check mine.h5 --strict --json" },
    .min_arguments = 1,
    .max_arguments = 1,
    .sections = { { table, sizeof(check_options) } },
    .run = run,
};
