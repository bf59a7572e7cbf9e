/* SPDX-License-Identifier: Apache-2.0 */
/* The half of `gnntrain submit` in front of "--": nodes, ranks, memory, time. What sbatch would refuse, and what would leave no time to
 * train, is refused here with its remedy.
 */
#include "cli/submit.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NODES = 1000000, EARLY = 60 }; /* Slurm may be EARLY seconds early */

bool cli_read_digits(const char **text, int64_t most, int64_t *out)
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

    if (has_days && (!cli_read_digits(&text, 100000, &days) || *text++ != '-'))
        return false;
    do {
        if (count == 3 || !cli_read_digits(&text, MOST, &part[count++]))
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
        if (!cli_read_digits(&at, INT64_C(1) << 40, &number) || number == 0 ||
            (*at != '\0' && (strchr("KMGT", *at) == NULL || at[1] != '\0')))
            return gntx_fail(
                GNT_ERR_USAGE,
                "option '--mem': '%s' is no amount of memory: MiB, or with K, M, G or T as in 64G", o->mem);
    }
    if (o->gpus != NULL) {
        const char *colon = strrchr(o->gpus, ':');

        at = colon == NULL ? o->gpus : colon + 1;
        if (colon == o->gpus || strchr(o->gpus, ',') != NULL || strlen(o->gpus) > 100 ||
            !cli_read_digits(&at, 1024, &number) || *at != '\0' || number == 0)
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
    bool good = cli_read_digits(&at, MAX_NODES, &least);

    most = least;
    if (good && *at == '-') {
        at++;
        good = cli_read_digits(&at, MAX_NODES, &most);
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

gnt_status cli_submit_check(const cli_submit *o, int64_t *ranks)
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
