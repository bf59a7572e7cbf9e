/* SPDX-License-Identifier: Apache-2.0 */
/* gnntrain ensemble train: many members on the devices that there are; the same line continues a run, whatever ended it. */
#include <gnntrain/experimental_ensemble.h>

#include "cli/cli.h"
#include "cli/ensemble_table.h"

#include <math.h>
#include <stdio.h>

static const char *level_of(const gntx_ensemble_options *o)
{
    static const char *const words[] = { "off", "run", "bitwise" };

    return words[o->deterministic];
}

typedef struct shown {
    double at;
    int32_t ended;
    bool on_terminal, line_open, last;
} shown;

/* On a terminal one line that is written over, in a log a line when members have ended, at most each ten seconds. */
static void show(const gntx_ensemble_progress *p, void *user)
{
    shown *s = user;
    const double now = gntx_clock_seconds();
    const bool last = p->num_ended + p->num_failed == p->num_members;
    char spent[CLI_FORMAT_BYTES], left[CLI_FORMAT_BYTES] = "-", failed[48] = "";

    if (last && s->last)
        return;
    s->last = last;
    if (!last && now - s->at < (s->on_terminal ? 0.1 : p->num_ended != s->ended ? 10.0 : 60.0))
        return;
    if (isfinite(p->seconds_left))
        cli_format_seconds(p->seconds_left, left);
    if (p->num_failed > 0)
        snprintf(failed, sizeof failed, ", %d failed", (int)p->num_failed);
    cli_format_seconds(p->seconds, spent);
    if (s->on_terminal) {
        fprintf(stderr, "\r\033[K%d of %d members ended%s, %d train  %lld/%lld epochs  %s  ETA %s",
                (int)p->num_ended, (int)p->num_members, failed, (int)p->num_running,
                (long long)p->epochs_done, (long long)p->epochs_all, spent, left);
        s->line_open = true;
    } else {
        cli_say("%d of %d members ended%s, %d train, %lld/%lld epochs, %s, ETA %s", (int)p->num_ended,
                (int)p->num_members, failed, (int)p->num_running, (long long)p->epochs_done,
                (long long)p->epochs_all, spent, left);
    }
    s->at = now;
    s->ended = p->num_ended;
}

static gnt_status run(cli_call *call)
{
    gnt_status st = GNT_OK;
    const gntx_ensemble_options *options = cli_options_of(call, CLI_ENSEMBLE_OPTIONS);
    gnt_context *ctx = NULL;
    gntx_json *summary = NULL;
    shown s = { .at = gntx_clock_seconds(), .on_terminal = cli_is_terminal() };

    GNT_TRY(cli_context_create(cli_options_of(call, CLI_ENSEMBLE_MACHINE), level_of(options), true, &ctx));
    cli_stop_begin_ensemble();
    st = gntx_ensemble_train(ctx, call->arguments[0], call->arguments[1], options,
                             call->common.quiet || gntx_context_rank(ctx) != 0 ? NULL : show, &s, &summary);
    if (s.line_open)
        fputc('\n', stderr);
    if (st == GNT_STOPPED && gntx_context_rank(ctx) == 0)
        cli_say("%s%s%s", cli_stop_reason() != NULL ? cli_stop_reason() : "",
                cli_stop_reason() != NULL ? ": " : "", gnt_last_error());
    cli_stop_end();
    GNT_TRY(st);
    if (summary == NULL) /* the root has it */
        goto done;
    GNT_TRY(cli_print_ensemble(summary, call->common.json));
    if (gntx_json_to_text(gntx_json_find(summary, "run")) != NULL)
        cli_say("page: %s/report.html\nnext: gnntrain predict %s -o predictions.csv",
                gntx_json_to_text(gntx_json_find(summary, "run")),
                gntx_json_to_text(gntx_json_find(summary, "run")));
done:
    gntx_json_free(&summary);
    gnt_context_free(&ctx);
    return st;
}

const cli_verb cmd_ensemble_train = {
    .name = "ensemble train",
    .summary = "train the members of a spec on a pool of devices and combine them",
    .arguments = "SPEC DATA",
    .details =
        "SPEC says what the members are (YAML), DATA is a dataset. Members of equal shape train as one "
        "program; "
        "groups of them are placed on the devices, moved when members end or devices come and go (gnntrain "
        "ensemble resize), and retried alone when they fail. The run folder has a journal: the same line "
        "goes on "
        "where an earlier one ended, whatever ended it. Ctrl-C, SIGTERM, SIGUSR1 and SIGUSR2 save all "
        "members and "
        "end with exit code 75. Under mpirun or srun each process is a device: groups go to crews of "
        "processes.",
    .examples = { "gnntrain ensemble train eight.yaml cora.h5 --run eight",
                  "gnntrain ensemble train eight.yaml cora.h5 --devices 'cuda:0-3;cpu:threads=8' --run "
                  "eight" },
    .min_arguments = 2,
    .max_arguments = 2,
    .ranks = true,
    .sections = { { gntx_ensemble_option_table, sizeof(gntx_ensemble_options) },
                  { cli_machine_table, sizeof(cli_machine) } },
    .run = run,
};
