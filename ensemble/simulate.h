/* SPDX-License-Identifier: Apache-2.0 */
/* The manager over devices that do not exist: an inventory and a trace of arrivals, ends, failures and slowdowns, in one thread, in
 * simulated time. Same input, same bytes out.
 *
 * Inventory and trace are YAML (docs/ensembles.md). Hidden are true speeds, noise and what happens next; the manager sees events alone.
 */
#ifndef GNTI_ENSEMBLE_SIMULATE_H
#define GNTI_ENSEMBLE_SIMULATE_H

#include "base/json.h"
#include "ensemble/manager.h"

typedef struct gnti_simulation {
    const char *inventory, *trace; /* files */
    int32_t policy;                /* -1: what the inventory says */
    int32_t moves;                 /* -1: what the inventory says, 0: resize, 1: restart */
    uint64_t seed;
    const char *events; /* a JSONL file of all events and actions, NULL: none */
    const char *chart;  /* an SVG file: tasks on devices over time, NULL: none */
    bool check;         /* invariants after each event, rules of each plan */
} gnti_simulation;

/* The facts: docs/ensembles.md lists them. */
gnt_status gnti_simulate(const gnti_simulation *s, gnti_json **out);

#endif
