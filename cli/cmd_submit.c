/* SPDX-License-Identifier: Apache-2.0 */
/* gnntrain submit: the batch script of a training run under Slurm, printed or sent by sbatch.
 *
 * The line behind "--" is parsed as `train` (or `ensemble train`) would, here and now: a job that waits for hours must not end at a misspelt
 * option. What the two halves say about ranks and threads has to agree, and there has to be a run folder: without one
 * nothing goes on after a stop.
 */
#include "cli/submit.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_GRACE = 10, MAX_GRACE = 65535 };

static const gnt_option options[] = {
    GNT_OPTION_GROUP("Job"),
    GNT_OPTION_BOOL("dry-run", cli_submit, dry_run, false, "print the batch script, send nothing"),
    GNT_OPTION_TEXT("nodes", cli_submit, nodes, "1",
                    "nodes, or LEAST-MOST: as many as are free at the start"),
    GNT_OPTION_INT("tasks", cli_submit, tasks, 0, 0, 1000000, "ranks in all, 0: one a node"),
    GNT_OPTION_INT("tasks-per-node", cli_submit, tasks_per_node, 0, 0, 4096, "ranks a node, 0: by --tasks"),
    GNT_OPTION_INT("cpus-per-task", cli_submit, cpus_per_task, 1, 1, 4096, "cores, and threads, of a rank"),
    GNT_OPTION_TEXT("gpus", cli_submit, gpus, NULL, "GPUs a node: NUMBER or TYPE:NUMBER"),
    GNT_OPTION_TEXT("mem", cli_submit, mem, NULL, "memory a node: a number of MiB, or with K, M, G, T"),
    GNT_OPTION_TEXT("time", cli_submit, time, NULL, "time limit of one job: MINUTES, HH:MM:SS or D-HH:MM:SS"),
    GNT_OPTION_TEXT("partition", cli_submit, partition, NULL, "queue"),
    GNT_OPTION_TEXT("account", cli_submit, account, NULL, "who is charged"),
    GNT_OPTION_TEXT("job-name", cli_submit, job_name, NULL, "name (that of the run folder)"),
    GNT_OPTION_INT("grace", cli_submit, grace, 120, MIN_GRACE, MAX_GRACE,
                   "seconds before the time limit at which ranks stop and save"),
    GNT_OPTION_INT("retries", cli_submit, retries, 2, 0, 1000,
                   "starts on the same nodes after a lost rank, before the job is requeued"),
    GNT_OPTION_TEXT("setup", cli_submit, setup, NULL,
                    "shell line before the run, such as 'module load openmpi'"),
    GNT_OPTION_TEXT("command", cli_submit, command, NULL,
                    "shell words that start gnntrain on a node, a container's too (this program's path)"),
    GNT_OPTION_END,
};

static const gnt_option *option_table(void)
{
    return options;
}

/* The last part of the run folder's path, with '_' for what a job's name cannot hold. */
static void name_of_run(const char *run, char *out, size_t bytes)
{
    size_t end = strlen(run), start, n = 0;

    while (end > 1 && run[end - 1] == '/')
        end--;
    for (start = end; start > 0 && run[start - 1] != '/';)
        start--;
    for (; start < end && n + 1 < bytes; start++)
        out[n++] = (char)(isalnum((unsigned char)run[start]) || strchr("_-.", run[start]) != NULL ? run[start]
                                                                                                  : '_');
    out[n] = '\0';
    if (n == 0 || strspn(out, ".") == n)
        snprintf(out, bytes, "gnntrain");
}

static gnt_status run(cli_call *call)
{
    gnt_status st = GNT_OK;
    const cli_submit *o = cli_options_of(call, 0);
    cli_job_line line = { .call = calloc(1, sizeof *line.call) };
    char **words = calloc((size_t)call->num_arguments, sizeof *words);
    char *script = NULL, name[128];
    int64_t ranks = 0;

    if (line.call == NULL || words == NULL) {
        st = gntx_fail(GNT_ERR_NOMEM, "no memory for the options of train");
        goto done;
    }
    memcpy(words, call->arguments, (size_t)call->num_arguments * sizeof *words);
    GNT_TRY(cli_submit_check(o, &ranks));
    GNT_TRY(cli_job_line_parse(call, words, &line));
    GNT_TRY(cli_job_line_check(&line, o, ranks));
    name_of_run(line.run, name, sizeof name);
    script = cli_batch_script(o, o->job_name != NULL ? o->job_name : name, line.run, call->arguments,
                              call->num_arguments);
    if (script == NULL)
        st = gntx_fail(GNT_ERR_NOMEM, "no memory for the batch script");
    GNT_TRY(st);
    if (o->dry_run) {
        fputs(script, stdout);
        GNT_TRY(cli_flush());
    } else {
        GNT_TRY(cli_submit_send(script, &line));
    }
done:
    free(script);
    if (line.call != NULL)
        cli_call_free(line.call);
    free(line.call);
    free(words);
    return st;
}

const cli_verb cmd_submit = {
    .name = "submit",
    .summary = "train as a batch job under Slurm that requeues itself until it is done",
    .arguments = "[options] -- train FILE ... --run DIR",
    .details =
        "Sends the batch script by sbatch, from the folder it is called in, and keeps it as "
        "DIR/submit.sbatch; "
        "--dry-run prints it. Before the time limit the run is stopped with a checkpoint and the job "
        "requeued, "
        "until summary.json says complete. An ensemble is sent the same way: behind -- stands ensemble "
        "train SPEC DATA ... --run DIR, and each rank is a device.",
    .examples = { "gnntrain submit --nodes 2 --cpus-per-task 16 --time 04:00:00 -- train big.h5 --run "
                  "big-run",
                  "gnntrain submit --dry-run -- train cora.h5 --run cora-run > job.sbatch" },
    .min_arguments = 1,
    .max_arguments = -1,
    .sections = { { option_table, sizeof(cli_submit) } },
    .run = run,
};
