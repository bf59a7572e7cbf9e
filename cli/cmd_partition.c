/* SPDX-License-Identifier: Apache-2.0 */
/* gnntrain partition: cuts a graph into chunks, tells what the cut costs, and stores it beside the dataset. */
#include "cli/cli.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_LINES = 64 };

static const char *text_of(const gntx_json *object, const char *key)
{
    const char *text = gntx_json_to_text(gntx_json_find(object, key));

    return text == NULL ? "" : text;
}

/* -1: there is no such number. */
static int64_t int_of(const gntx_json *object, const char *key)
{
    const gntx_json *value = gntx_json_find(object, key);
    int64_t out = -1;

    return value != NULL && gntx_json_to_int(value, &out) ? out : -1;
}

static double number_of(const gntx_json *object, const char *key)
{
    const gntx_json *value = gntx_json_find(object, key);
    double out = NAN;

    return value != NULL && gntx_json_to_number(value, &out) ? out : NAN;
}

static void print_count(const gntx_json *object, const char *key)
{
    char text[CLI_FORMAT_BYTES];

    printf("%12s", cli_format_count(int_of(object, key), text));
}

static void print_chunks(const gntx_json *chunks)
{
    static const char *const keys[] = { "nodes", "arcs", "train_nodes", "halo_in", "halo_out" };
    const int64_t count = gntx_json_length(chunks);

    printf("%8s%12s%12s%12s%12s%12s\n", "chunk", "nodes", "arcs", "train", "halo in", "halo out");
    for (int64_t i = 0; i < count && i < MAX_LINES; i++) {
        printf("%8lld", (long long)i);
        for (int k = 0; k < 5; k++)
            print_count(gntx_json_at(chunks, i), keys[k]);
        printf("\n");
    }
    if (count > MAX_LINES)
        printf("         and %lld more, all of them with --json\n", (long long)(count - MAX_LINES));
}

/* "metis 5.1.0 (32-bit indices)", "ldg (METIS' program was killed)". */
static void print_method(const gntx_json *r)
{
    const gntx_json *made = gntx_json_find(r, "made");

    printf("method       %s", text_of(r, "method"));
    if (made != NULL && text_of(made, "metis_version")[0] != '\0')
        printf(", METIS %s with %lld-bit indices", text_of(made, "metis_version"),
               (long long)int_of(made, "metis_index_bits"));
    if (made != NULL && text_of(made, "fallback")[0] != '\0')
        printf(" (METIS' program %s)", text_of(made, "fallback"));
    if (made != NULL && int_of(made, "passes") > 0)
        printf(", %lld passes", (long long)int_of(made, "passes"));
    printf("\n");
}

static void print_costs(const gntx_json *r)
{
    const gntx_json *made = gntx_json_find(r, "made");
    const int64_t before = made != NULL ? int_of(made, "volume_before_refinement") : -1;
    const int64_t after = made != NULL ? int_of(made, "volume_after_refinement") : -1;
    char text[CLI_FORMAT_BYTES];

    printf("cut          %s edges\n", cli_format_count(int_of(r, "cut"), text));
    printf("volume       %s rows", cli_format_count(int_of(r, "volume"), text));
    if (before >= 0 && after >= 0) {
        printf(" (refinement: %s", cli_format_count(before, text));
        printf(" to %s)", cli_format_count(after, text));
    }
    printf("\nreplication  %.3f\n", number_of(r, "replication"));
    printf("balance      %.3f nodes, %.3f arcs, %.3f halo, %.3f train (largest over mean)\n",
           number_of(r, "balance_nodes"), number_of(r, "balance_arcs"), number_of(r, "balance_halo"),
           number_of(r, "balance_train_nodes"));
    printf("empty: %lld\n", (long long)int_of(r, "empty"));
}

static gnt_status print_report(const cli_call *call, const gntx_json *r)
{
    gnt_status st = GNT_OK;
    const gntx_json *made = gntx_json_find(r, "made");
    char a[CLI_FORMAT_BYTES], b[CLI_FORMAT_BYTES];

    if (call->common.json)
        return cli_print_facts(r);
    print_chunks(gntx_json_find(r, "chunks"));
    printf("\n%s nodes, %s arcs, %lld %s\n", cli_format_count(int_of(r, "num_nodes"), a),
           cli_format_count(int_of(r, "num_arcs"), b), (long long)int_of(r, "num_chunks"),
           int_of(r, "num_chunks") == 1 ? "chunk" : "chunks");
    print_method(r);
    print_costs(r);
    if (made != NULL && !isnan(number_of(made, "seconds")))
        printf("time         %s\n", cli_format_seconds(number_of(made, "seconds"), a));
    printf("sum          %s\n", text_of(r, "sha256"));
    printf("file         %s\n", text_of(r, "file"));
    if (text_of(r, "picture")[0] != '\0')
        printf("picture      %s\n", text_of(r, "picture"));
    if (text_of(r, "rewritten")[0] != '\0')
        printf("rewritten    %s\n", text_of(r, "rewritten"));
    GNT_TRY(cli_flush());
done:
    return st;
}

static gnt_status run(cli_call *call)
{
    gnt_status st = GNT_OK;
    const gntx_partition_options *options = cli_options_of(call, 0);
    const cli_output *output = cli_options_of(call, 1);
    const char *rewritten;
    gntx_json *report = NULL;

    GNT_TRY(gntx_partition(call->arguments[0], options, output->output, &report));
    GNT_TRY(print_report(call, report));
    rewritten = text_of(report, "rewritten");
    if (int_of(report, "num_chunks") > 1)
        cli_say("next: gnntrain train %s --partition %s --devices 2",
                rewritten[0] != '\0' ? rewritten : call->arguments[0], text_of(report, "file"));
    else
        cli_say("one chunk is for one device: --chunks 2 cuts the graph for two");
done:
    gntx_json_free(&report);
    return st;
}

const cli_verb cmd_partition = {
    .name = "partition",
    .summary = "cut a graph into chunks for several devices",
    .arguments = "FILE",
    .details =
        "Writes NAME.kK.part.h5 beside FILE, or what -o names. The number of chunks does not depend on the "
        "number of devices of a run: devices own sets of chunks, more chunks balance better. Methods that "
        "stream (ldg, fennel, range, random, file) never hold the arcs in memory.",
    .examples = { "gnntrain partition cora.h5",
                  "gnntrain partition big.h5 --method ldg --chunks 128 --shares 4:2:1" },
    .min_arguments = 1,
    .max_arguments = 1,
    .sections = { { gntx_partition_option_table, sizeof(gntx_partition_options) },
                  { cli_output_table, sizeof(cli_output) } },
    .run = run,
};
