/* SPDX-License-Identifier: Apache-2.0 */
/* Signals: the first of SIGINT, SIGTERM, SIGUSR1, SIGUSR2 asks the trainer to stop, save and end; a later one ends the
 * process at once. Batch systems send their signal several times within milliseconds, so repeats within a quarter of a
 * second belong to the first. Handlers only set flags, read a clock and leave: all of it allowed there. They stay behind the
 * last epoch too: all ranks stop when the signal reaches one, and it may reach another that is just leaving.
 */
#include <gnntrain/experimental_ensemble.h>

#include "cli/cli.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const int signals[] = { SIGINT, SIGTERM, SIGUSR1, SIGUSR2 };
enum { NUM_SIGNALS = 4 };

static _Atomic(gnt_trainer *) g_trainer;
static atomic_bool g_ensemble; /* an ensemble is told to stop, not a trainer */
static atomic_int g_first_signal;
static atomic_llong g_first_at; /* milliseconds */

static long long now_ms(void)
{
    struct timespec t = { 0 };

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void on_signal(int number)
{
    int none = 0;
    gnt_trainer *tr = atomic_load(&g_trainer);

    if (!atomic_compare_exchange_strong(&g_first_signal, &none, number)) {
        if (now_ms() - atomic_load(&g_first_at) > 250)
            _exit(CLI_EXIT_SECOND_SIGNAL);
        return;
    }
    atomic_store(&g_first_at, now_ms());
    if (tr != NULL)
        gnt_trainer_request_stop(tr);
    if (atomic_load(&g_ensemble))
        gntx_ensemble_request_stop();
}

void cli_stop_begin(gnt_trainer *tr)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    atomic_store(&g_first_at, now_ms());
    atomic_store(&g_trainer, tr);
    for (int i = 0; i < NUM_SIGNALS; i++)
        sigaction(signals[i], &action, NULL);
}

void cli_stop_begin_ensemble(void)
{
    atomic_store(&g_ensemble, true);
    cli_stop_begin(NULL);
}

void cli_stop_end(void)
{
    atomic_store(&g_ensemble, false);
    atomic_store(&g_trainer, NULL);
}

const char *cli_stop_reason(void)
{
    switch (atomic_load(&g_first_signal)) {
    case SIGINT:
        return "SIGINT";
    case SIGTERM:
        return "SIGTERM";
    case SIGUSR1:
        return "SIGUSR1";
    case SIGUSR2:
        return "SIGUSR2";
    default:
        return NULL;
    }
}
