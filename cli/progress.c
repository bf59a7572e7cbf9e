/* SPDX-License-Identifier: Apache-2.0 */
/* How far the training is: on a terminal one line with a bar that is written over, ten times a second at most; in a log
 * plain lines, at the first epoch, then after each tenth of the epochs or ten seconds, whichever is later, at the latest
 * every minute. Nothing here allocates.
 */
#include "cli/cli.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BAR_LETTERS = 24 };

void cli_progress_begin(cli_progress *p, int64_t epochs_done, int64_t num_epochs)
{
    *p = (cli_progress){ .first_epoch = epochs_done,
                         .num_epochs = num_epochs,
                         .started = gntx_clock_seconds(),
                         .last_epoch_shown = -1,
                         .on_terminal = cli_is_terminal() };
}

static bool is_due(const cli_progress *p, const gnt_epoch_stats *stats, double now)
{
    const double waited = now - p->last_shown;
    const int64_t tenth = p->num_epochs / 10 > 0 ? p->num_epochs / 10 : 1;

    if (p->last_epoch_shown < 0 || stats->epoch >= p->num_epochs)
        return true;
    if (p->on_terminal)
        return waited >= 0.1;
    return waited >= 60.0 || (waited >= 10.0 && stats->epoch - p->last_epoch_shown >= tenth);
}

/* " 0.8120" or " -" when it was not evaluated. */
static void number_text(double value, char out[24])
{
    if (isfinite(value))
        snprintf(out, 24, fabs(value) < 1e6 ? "%.4f" : "%.4g", value);
    else
        snprintf(out, 24, "-");
}

static void draw_bar(double share, char out[BAR_LETTERS + 1])
{
    const int full = (int)(share * BAR_LETTERS);

    for (int i = 0; i < BAR_LETTERS; i++)
        out[i] = i < full ? '#' : '.';
    out[BAR_LETTERS] = '\0';
}

void cli_progress_show(cli_progress *p, const gnt_epoch_stats *stats)
{
    const double now = gntx_clock_seconds();
    const int64_t here = stats->epoch - p->first_epoch, left = p->num_epochs - stats->epoch;
    char loss[24], valid[24], best[24], each[CLI_FORMAT_BYTES], rest[CLI_FORMAT_BYTES];
    char bar[BAR_LETTERS + 1], peak[CLI_FORMAT_BYTES];

    if (!is_due(p, stats, now))
        return;
    const double per_epoch = here > 0 ? (now - p->started) / (double)here : 0.0;

    number_text(stats->train_loss, loss);
    number_text(stats->valid_metric, valid);
    number_text(stats->best_valid_metric, best);
    cli_format_seconds(per_epoch, each);
    cli_format_seconds(per_epoch * (double)left, rest);
    if (p->on_terminal) {
        draw_bar(p->num_epochs > 0 ? (double)stats->epoch / (double)p->num_epochs : 1.0, bar);
        fprintf(stderr, "\r\033[K%s %lld/%lld  loss %s  valid %s  best %s @ %lld  %s/epoch  ETA %s", bar,
                (long long)stats->epoch, (long long)p->num_epochs, loss, valid, best,
                (long long)stats->best_epoch, each, rest);
        p->line_open = true;
    } else {
        cli_say("epoch %lld/%lld  loss %s  valid %s %s  best %s @ %lld  %s/epoch  ETA %s  peak %s",
                (long long)stats->epoch, (long long)p->num_epochs, loss,
                stats->metric == NULL ? "" : stats->metric, valid, best, (long long)stats->best_epoch, each,
                rest, cli_format_bytes(gntx_peak_bytes(), peak));
    }
    p->last_shown = now;
    p->last_epoch_shown = stats->epoch;
}

void cli_progress_end(cli_progress *p)
{
    if (p->line_open)
        fputc('\n', stderr);
    p->line_open = false;
}
