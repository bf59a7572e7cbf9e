/* SPDX-License-Identifier: Apache-2.0 */
/* Simulations of inventories and traces that a test has as texts. */
#ifndef GNT_SIMULATE_CASE_H
#define GNT_SIMULATE_CASE_H

#include "tests/support/gnt_test.h"

#include "ensemble/simulate.h"

/* Simulates the texts, written as inventory.yaml and trace.yaml; the facts are to be freed. */
gnt_status gnt_simulate_texts(const char *inventory, const char *trace, gnti_simulation s, gnti_json **out);

/* Policy and moves as the inventory says, all checks on. */
gnti_simulation gnt_simulate_as_written(uint64_t seed);

/* A number of the facts, or of a line of events. */
double gnt_simulated_fact(const gnti_json *facts, const char *name);

#endif
