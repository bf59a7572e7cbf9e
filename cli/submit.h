/* SPDX-License-Identifier: Apache-2.0 */
/* What the batch script of `gnntrain submit` is made of: its options, the line that it runs, and the template filled with
 * them. */
#ifndef GNNTRAIN_CLI_SUBMIT_H
#define GNNTRAIN_CLI_SUBMIT_H

#include "cli/cli.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct cli_submit {
    bool dry_run;
    char *nodes; /* "4" or "2-4" */
    int64_t tasks, tasks_per_node, cpus_per_task;
    char *gpus, *mem, *time, *partition, *account, *job_name;
    int64_t grace;   /* seconds between the signal and the time limit */
    int64_t retries; /* starts on the same nodes after a lost rank */
    char *setup, *command;
} cli_submit;

/* The lines of slurm/train.sbatch, with names between '@' for what is filled in; NULL ends them. */
extern const char *const cli_batch_template[];

/* The script as a new text, NULL when there is no memory for it; to be freed with free. `words` stand behind the command:
 * "train" or "ensemble" "train", files, options. */
char *cli_batch_script(const cli_submit *options, const char *job_name, const char *run, char *const *words,
                       int num_words);
/* A new text that a shell reads as the word `text`, NULL when there is no memory; to be freed with free. */
char *cli_shell_word(const char *text);

/* submit_check.c: digits from *text on, at most `most`; *text moves behind them. */
bool cli_read_digits(const char **text, int64_t most, int64_t *out);
/* ERR_USAGE when the job cannot be. ranks: how many it will have; 0: that depends on the nodes it gets. */
gnt_status cli_submit_check(const cli_submit *options, int64_t *ranks);

/* What stands behind "--": a call of train or of ensemble train. */
typedef struct cli_job_line {
    cli_call *call;
    int num_words; /* of the verb */
    const char *run, *devices;
    int64_t threads;
} cli_job_line;

/* submit_line.c: the words behind "--" as the verb understands them; parsing moves them. */
gnt_status cli_job_line_parse(const cli_call *call, char **words, cli_job_line *l);
/* Whether line and job agree, as the run itself would find hours later. */
gnt_status cli_job_line_check(const cli_job_line *l, const cli_submit *options, int64_t ranks);

/* submit_send.c: writes RUN/submit.sbatch, calls sbatch, prints what it answered. */
gnt_status cli_submit_send(const char *script, const cli_job_line *l);

#endif
