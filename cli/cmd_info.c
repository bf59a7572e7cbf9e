/* SPDX-License-Identifier: Apache-2.0 */
/* gnntrain info: facts of a dataset file, the summary of a run folder, how far an ensemble is, or the model card of a checkpoint. */
#include <gnntrain/experimental_ensemble.h>

#include "cli/cli.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, TEXT_BYTES = 1024 };

static bool is_folder(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

static bool has_file(const char *folder, const char *name)
{
    char path[PATH_BYTES];

    return snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path && access(path, F_OK) == 0;
}

/* A summary; of an ensemble without one what its journal says; of a folder with neither the card of its checkpoint. */
static gnt_status run_facts(const char *run, gntx_json **out)
{
    if (has_file(run, "summary.json"))
        return gntx_run_facts(run, out);
    return has_file(run, "journal.jsonl") ? gntx_ensemble_facts(run, out) : gntx_model_card(run, out);
}

/* A file is a dataset or a checkpoint; what is neither gets the error of the dataset's reader, and a damaged checkpoint
 * that of its own. */
static gnt_status file_facts(gnt_context *ctx, const char *path, gntx_json **out)
{
    gnt_status st = GNT_OK;
    gnt_dataset *data = NULL;
    char first[TEXT_BYTES];

    st = gnt_dataset_open(ctx, path, &data);
    if (st == GNT_ERR_FORMAT) {
        snprintf(first, sizeof first, "%s", gnt_last_error());
        if (gntx_model_card(path, out) == GNT_OK)
            return GNT_OK;
        return strstr(first, "'gnntrain-checkpoint'") != NULL ? st : gntx_fail(st, "%s", first);
    }
    GNT_TRY(st);
    GNT_TRY(gntx_dataset_info(data, out));
done:
    gnt_dataset_free(&data);
    return st;
}

static gnt_status run(cli_call *call)
{
    gnt_status st = GNT_OK;
    gnt_context *ctx = NULL;
    gntx_json *facts = NULL;

    GNT_TRY(gnt_context_create("device=cpu", &ctx));
    if (is_folder(call->arguments[0]))
        GNT_TRY(run_facts(call->arguments[0], &facts));
    else
        GNT_TRY(file_facts(ctx, call->arguments[0], &facts));
    GNT_TRY(cli_print_facts(facts));
done:
    gntx_json_free(&facts);
    gnt_context_free(&ctx);
    return st;
}

const cli_verb cmd_info = {
    .name = "info",
    .summary = "print the facts of a dataset, a run folder or a checkpoint",
    .arguments = "FILE",
    .examples = { "gnntrain info cora.h5", "gnntrain info cora-run --json" },
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run,
};
