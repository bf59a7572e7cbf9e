/* SPDX-License-Identifier: Apache-2.0 */
/* The simulator as experimental_ensemble.h lends it to the command. */
#include <gnntrain/experimental_ensemble.h>

#include "ensemble/simulate.h"

#define ROW(kind, name, member, ...) GNT_OPTION_##kind(name, gntx_simulate_options, member, __VA_ARGS__)
static const gnt_option table[] = {
    GNT_OPTION_GROUP("Simulation"),
    ROW(WORD, "policy", policy, 0, "as-written|" GNTI_POLICY_WORDS, "how tasks are placed"),
    ROW(WORD, "moves", moves, 0, "as-written|resize|restart", "how tasks change devices"),
    ROW(INT, "seed", seed, 1, 0, 9007199254740991.0, "of all that is drawn: noise, arrivals, failures"),
    ROW(TEXT, "events", events, NULL, "file for a JSON line an event and an action"),
    ROW(TEXT, "chart", chart, NULL, "SVG file for the tasks on their devices over time"),
    ROW(BOOL, "check", check, false, "check all invariants after each event"),
    GNT_OPTION_END,
};
#undef ROW

const gnt_option *gntx_simulate_option_table(void)
{
    return table;
}

static const char *or_null(const char *text)
{
    return text == NULL || text[0] == '\0' ? NULL : text;
}

gnt_status gntx_simulate(const char *inventory, const char *trace, const gntx_simulate_options *options,
                         gntx_json **out)
{
    gnt_status st = GNT_OK;
    gnti_simulation s = { .inventory = inventory, .trace = trace };

    GNT_CHECK(inventory != NULL && trace != NULL && options != NULL && out != NULL, GNT_ERR_ARG,
              "inventory, trace, options and out must not be NULL");
    s.policy = options->policy - 1;
    s.moves = options->moves - 1;
    s.seed = (uint64_t)options->seed;
    s.events = or_null(options->events);
    s.chart = or_null(options->chart);
    s.check = options->check;
    GNT_TRY(gnti_simulate(&s, (gnti_json **)out));
done:
    return st;
}
