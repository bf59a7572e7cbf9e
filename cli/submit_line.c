/* SPDX-License-Identifier: Apache-2.0 */
/* The half of `gnntrain submit` behind "--": parsed as `train` or `ensemble train` would, and held against what the job is. There has to
 * be a run folder: without one nothing goes on after a stop.
 */
#include <gnntrain/experimental_ensemble.h>

#include "cli/ensemble_table.h"
#include "cli/setup.h"
#include "cli/submit.h"

#include <stdio.h>
#include <string.h>

static int64_t count_devices(const char *text)
{
    const char *at = text;
    int64_t count = 0;

    if (cli_read_digits(&at, INT64_MAX, &count) && *at == '\0')
        return count;
    for (count = 0; text != NULL && *text != '\0'; count++) {
        int64_t first = 0, last = 0;

        at = text + strcspn(text, ":;"); /* "cuda:0-3" is four */
        text = strchr(text, ';');
        text += text != NULL;
        if (*at++ == ':' && cli_read_digits(&at, INT32_MAX, &first) && *at++ == '-' &&
            cli_read_digits(&at, INT32_MAX, &last) && last > first)
            count += last - first;
    }
    return count;
}

/* What the job is and what it runs have to agree, as the run itself would find hours later. */
static gnt_status check_devices(const cli_job_line *l, const cli_submit *o, int64_t ranks)
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

gnt_status cli_job_line_check(const cli_job_line *l, const cli_submit *o, int64_t ranks)
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

gnt_status cli_job_line_parse(const cli_call *call, char **words, cli_job_line *l)
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
