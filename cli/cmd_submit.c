/* SPDX-License-Identifier: Apache-2.0 */
/* gnntrain submit: the batch script of a training run under Slurm, printed or sent by sbatch.
 *
 * The line behind "--" is parsed as `train` (or `ensemble train`) would, here and now: a job that waits for hours must not end at a misspelt
 * option. What the two halves say about ranks and threads has to agree, and there has to be a run folder: without one
 * nothing goes on after a stop.
 */
#include <gnntrain/experimental_ensemble.h>

#include "cli/ensemble_table.h"
#include "cli/setup.h"
#include "cli/submit.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MIN_GRACE = 10,
    MAX_GRACE = 65535,
    EARLY = 60,
    MAX_NODES = 1000000
}; /* Slurm may be EARLY seconds early */

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

/* Digits from *text on, at most `most`; *text moves behind them. */
static bool read_digits(const char **text, int64_t most, int64_t *out)
{
    char *end = NULL;

    if (!isdigit((unsigned char)**text))
        return false;
    errno = 0;
    *out = strtoll(*text, &end, 10);
    *text = end;
    return errno == 0 && *out <= most;
}

/* As sbatch reads it: M, M:S, H:M:S, D-H, D-H:M, D-H:M:S. */
static bool read_time(const char *text, int64_t *seconds)
{
    enum { MOST = 100000000 };
    int64_t days = 0, part[3] = { 0 };
    const bool has_days = strchr(text, '-') != NULL;
    int count = 0;

    if (has_days && (!read_digits(&text, 100000, &days) || *text++ != '-'))
        return false;
    do {
        if (count == 3 || !read_digits(&text, MOST, &part[count++]))
            return false;
    } while (*text++ == ':');
    if (text[-1] != '\0')
        return false;
    if (has_days || count == 3)
        *seconds = days * 86400 + part[0] * 3600 + part[1] * 60 + part[2];
    else
        *seconds = part[0] * 60 + part[1];
    return true;
}

static gnt_status check_time(const cli_submit *o)
{
    int64_t seconds = 0;

    if (o->time == NULL)
        return GNT_OK;
    if (!read_time(o->time, &seconds) || seconds == 0)
        return gntx_fail(GNT_ERR_USAGE,
                         "option '--time': '%s' is no time limit: MINUTES, HH:MM:SS or D-HH:MM:SS", o->time);
    if (seconds <= o->grace + EARLY)
        return gntx_fail(
            GNT_ERR_USAGE,
            "a time limit of %lld s (--time) with the signal %lld s before it (--grace), and up to %d s "
            "earlier, leaves no time to train: raise --time or lower --grace",
            (long long)seconds, (long long)o->grace, EARLY);
    return GNT_OK;
}

/* A text that stands in a line of its own: no blanks, no line ends. */
static gnt_status check_name(const char *option, const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.,:+";

    if (text == NULL || (text[0] != '\0' && text[strspn(text, allowed)] == '\0'))
        return GNT_OK;
    return gntx_fail(GNT_ERR_USAGE, "option '--%s': '%s' may hold letters, digits and _-.,:+ only", option,
                     text);
}

static gnt_status check_amounts(const cli_submit *o)
{
    const char *at = o->mem;
    int64_t number = 0;

    if (at != NULL) {
        if (!read_digits(&at, INT64_C(1) << 40, &number) || number == 0 ||
            (*at != '\0' && (strchr("KMGT", *at) == NULL || at[1] != '\0')))
            return gntx_fail(
                GNT_ERR_USAGE,
                "option '--mem': '%s' is no amount of memory: MiB, or with K, M, G or T as in 64G", o->mem);
    }
    if (o->gpus != NULL) {
        const char *colon = strrchr(o->gpus, ':');

        at = colon == NULL ? o->gpus : colon + 1;
        if (colon == o->gpus || strchr(o->gpus, ',') != NULL || strlen(o->gpus) > 100 ||
            !read_digits(&at, 1024, &number) || *at != '\0' || number == 0)
            return gntx_fail(GNT_ERR_USAGE, "option '--gpus': '%s' is no number of GPUs a node: 2, or h100:2",
                             o->gpus);
    }
    return GNT_OK;
}

/* Ranks that the job will have; 0: that depends on the nodes it gets. */
static gnt_status count_ranks(const cli_submit *o, int64_t *out)
{
    const char *at = o->nodes != NULL ? o->nodes : "1";
    int64_t least = 0, most = 0;
    bool good = read_digits(&at, MAX_NODES, &least);

    most = least;
    if (good && *at == '-') {
        at++;
        good = read_digits(&at, MAX_NODES, &most);
    }
    if (!good || *at != '\0' || least < 1 || most < least)
        return gntx_fail(GNT_ERR_USAGE, "option '--nodes': '%s' is no number of nodes: 4, or 2-4", o->nodes);
    if (o->tasks > 0 && o->tasks_per_node > 0)
        return gntx_fail(GNT_ERR_USAGE, "--tasks %lld and --tasks-per-node %lld: give one of them",
                         (long long)o->tasks, (long long)o->tasks_per_node);
    if (o->tasks > 0 && most > least)
        return gntx_fail(GNT_ERR_USAGE,
                         "--nodes %s with --tasks %lld: ranks follow the nodes only with --tasks-per-node",
                         o->nodes, (long long)o->tasks);
    if (o->tasks > 0 && o->tasks < least)
        return gntx_fail(GNT_ERR_USAGE,
                         "--tasks %lld on --nodes %s: fewer ranks than nodes, use --nodes %lld",
                         (long long)o->tasks, o->nodes, (long long)o->tasks);
    *out = most > least   ? 0
           : o->tasks > 0 ? o->tasks
                          : least * (o->tasks_per_node > 0 ? o->tasks_per_node : 1);
    return GNT_OK;
}

static gnt_status check_job(const cli_submit *o, int64_t *ranks)
{
    gnt_status st = GNT_OK;

    GNT_TRY(check_name("partition", o->partition));
    GNT_TRY(check_name("account", o->account));
    GNT_TRY(check_name("job-name", o->job_name));
    GNT_TRY(check_name("gpus", o->gpus));
    GNT_TRY(check_amounts(o));
    GNT_TRY(check_time(o));
    GNT_TRY(count_ranks(o, ranks));
done:
    return st;
}

static int64_t count_devices(const char *text)
{
    const char *at = text;
    int64_t count = 0;

    if (read_digits(&at, INT64_MAX, &count) && *at == '\0')
        return count;
    for (count = 0; text != NULL && *text != '\0'; count++) {
        int64_t first = 0, last = 0;

        at = text + strcspn(text, ":;"); /* "cuda:0-3" is four */
        text = strchr(text, ';');
        text += text != NULL;
        if (*at++ == ':' && read_digits(&at, INT32_MAX, &first) && *at++ == '-' &&
            read_digits(&at, INT32_MAX, &last) && last > first)
            count += last - first;
    }
    return count;
}

/* What stands behind "--": a call of train or of ensemble train. */
typedef struct job_line {
    cli_call *call;
    int num_words; /* of the verb */
    const char *run, *devices;
    int64_t threads;
} job_line;

/* What the job is and what it runs have to agree, as the run itself would find hours later. */
static gnt_status check_devices(const job_line *l, const cli_submit *o, int64_t ranks)
{
    const int64_t named = l->devices != NULL ? count_devices(l->devices) : 0;
    char count[24];

    snprintf(count, sizeof count, "%lld", (long long)ranks);
    if (l->devices != NULL && ranks != 1 && named != ranks && (l->num_words == 1 || named != 1))
        return gntx_fail(GNT_ERR_USAGE,
                         "%s --devices '%s' names %lld devices, the job has %s ranks: leave --devices out, "
                         "each rank is a device",
                         l->call->verb->name, l->devices, (long long)named,
                         ranks == 0 ? "a varying number of" : count);
    if (l->threads > o->cpus_per_task)
        return gntx_fail(
            GNT_ERR_USAGE,
            "%s --threads %lld on --cpus-per-task %lld: leave --threads out or raise --cpus-per-task",
            l->call->verb->name, (long long)l->threads, (long long)o->cpus_per_task);
    return GNT_OK;
}

static gnt_status check_training(const job_line *l, const cli_submit *o, int64_t ranks)
{
    const cli_verb *verb = l->call->verb;

    if (l->call->common.help || l->call->common.print_config)
        return gntx_fail(GNT_ERR_USAGE, "--help and --print-config train nothing: leave them out of a job");
    if (l->call->num_arguments != verb->min_arguments)
        return gntx_fail(GNT_ERR_USAGE,
                         "'%s' takes %s, not %d files: gnntrain submit [options] -- %s %s --run DIR",
                         verb->name, verb->arguments, l->call->num_arguments, verb->name, verb->arguments);
    if (l->run == NULL || l->run[0] == '\0')
        return gntx_fail(
            GNT_ERR_USAGE,
            "the job has no run folder, so it could not go on after a stop: add --run DIR behind %s",
            verb->name);
    return check_devices(l, o, ranks);
}

/* The words behind "--" as the verb understands them; parsing moves them. */
static gnt_status parse_training(const cli_call *call, char **words, job_line *l)
{
    gnt_status st = GNT_OK;
    const char *const *given = (const char *const *)call->arguments;
    const bool many =
        call->num_arguments > 1 && strcmp(given[0], "ensemble") == 0 && strcmp(given[1], "train") == 0;

    if (!many && strcmp(given[0], "train") != 0)
        return gntx_fail(GNT_ERR_USAGE,
                         "a job trains: 'train' or 'ensemble train' is expected behind --, not '%s'",
                         given[0]);
    l->num_words = many ? 2 : 1;
    GNT_TRY(cli_call_begin(l->call, cli_find_verb(many ? "ensemble train" : "train")));
    GNT_TRY(cli_call_parse(l->call, call->num_arguments - l->num_words, words + l->num_words));
    if (many) {
        const gntx_ensemble_options *settings = cli_options_of(l->call, CLI_ENSEMBLE_OPTIONS);

        l->run = settings->run;
        l->devices = settings->devices;
        l->threads = ((const cli_machine *)cli_options_of(l->call, CLI_ENSEMBLE_MACHINE))->threads;
    } else {
        const gnt_trainer_config *config = cli_options_of(l->call, CLI_SETUP_TRAINER);

        l->run = config->run;
        l->devices = config->devices;
        l->threads = ((const cli_machine *)cli_options_of(l->call, CLI_SETUP_MACHINE))->threads;
    }
done:
    if (st != GNT_OK)
        gntx_error_prefix("%s: ", many ? "ensemble train" : "train");
    return st;
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

/* Asks sbatch; its own words go to stderr. */
static gnt_status call_sbatch(const char *path, char *id, size_t id_bytes)
{
    char *word = cli_shell_word(path), line[8192];
    FILE *in = NULL;
    int code;

    if (word == NULL)
        return gntx_fail(GNT_ERR_NOMEM, "no memory for the path of the script");
    snprintf(line, sizeof line, "exec sbatch --parsable %s", word);
    free(word);
    in = popen(line, "r");
    if (in == NULL)
        return gntx_fail(GNT_ERR_USAGE, "cannot start sbatch: %s; --dry-run prints the script",
                         strerror(errno));
    if (fgets(id, (int)id_bytes, in) == NULL)
        id[0] = '\0';
    code = pclose(in);
    code = WIFEXITED(code) ? WEXITSTATUS(code) : 128;
    if (code == 127)
        return gntx_fail(GNT_ERR_USAGE,
                         "there is no sbatch here: submit on a login node of the cluster, or print the "
                         "script with --dry-run and send it there");
    if (code != 0)
        return gntx_fail(GNT_ERR_USAGE,
                         "sbatch refused the job (exit code %d, its reason stands above); the script is '%s'",
                         code, path);
    id[strspn(id, "0123456789")] = '\0';
    if (id[0] == '\0')
        return gntx_fail(GNT_ERR_USAGE, "sbatch named no job: look with squeue; the script is '%s'", path);
    return GNT_OK;
}

static gnt_status send(const char *script, const job_line *l)
{
    gnt_status st = GNT_OK;
    char path[4096], id[64];
    gntx_json *facts = NULL;

    for (int i = 0; i < l->call->num_arguments; i++)
        if (access(l->call->arguments[i], R_OK) != 0)
            return gntx_fail(GNT_ERR_IO, "cannot read '%s', which the job would read: %s",
                             l->call->arguments[i], strerror(errno));
    if (snprintf(path, sizeof path, "%s/submit.sbatch", l->run) >= (int)sizeof path)
        return gntx_fail(GNT_ERR_USAGE, "the path of the run folder is too long: %zu letters",
                         strlen(l->run));
    GNT_TRY(gntx_folder_create(l->run));
    GNT_TRY(gntx_file_write(path, script));
    GNT_TRY(call_sbatch(path, id, sizeof id));
    GNT_TRY(gntx_json_create_object(&facts));
    GNT_TRY(gntx_json_set_text(facts, "job", id));
    GNT_TRY(gntx_json_set_text(facts, "script", path));
    GNT_TRY(gntx_json_set_text(facts, "run", l->run));
    GNT_TRY(cli_print_facts(facts));
    cli_say("next: squeue -j %s, gnntrain info %s", id, l->run);
done:
    gntx_json_free(&facts);
    return st;
}

static gnt_status run(cli_call *call)
{
    gnt_status st = GNT_OK;
    const cli_submit *o = cli_options_of(call, 0);
    job_line line = { .call = calloc(1, sizeof *line.call) };
    char **words = calloc((size_t)call->num_arguments, sizeof *words);
    char *script = NULL, name[128];
    int64_t ranks = 0;

    if (line.call == NULL || words == NULL) {
        st = gntx_fail(GNT_ERR_NOMEM, "no memory for the options of train");
        goto done;
    }
    memcpy(words, call->arguments, (size_t)call->num_arguments * sizeof *words);
    GNT_TRY(check_job(o, &ranks));
    GNT_TRY(parse_training(call, words, &line));
    GNT_TRY(check_training(&line, o, ranks));
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
        GNT_TRY(send(script, &line));
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
