/* SPDX-License-Identifier: Apache-2.0 */
/* What the batch script of `gnntrain submit` is made of: its options, and the template filled with them. */
#ifndef GNNTRAIN_CLI_SUBMIT_H
#define GNNTRAIN_CLI_SUBMIT_H

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

#endif
