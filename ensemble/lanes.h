/* SPDX-License-Identifier: Apache-2.0 */
/* Turns of the tasks that share one device: one step at a time, switched at step ends (Salus, MLSys 2020).
 *
 *   ask(task), may(task), begin(task), end(task)     with the time given: a state machine, for the virtual clock and tests
 *   enter(task), exit(task)                          the same on wall time, waiting in between
 * Whose turn: of those who ask, who has had the least time for its share (stride); first come among equals. The order policies
 * speak through shares.
 *
 * A foreground task is slowed at most 1.2x (MuxFlow, 2023): the others together earn a share b of the time in tokens and begin a step only
 * with as many tokens as their last one took; steps cost tokens, and so does what the foreground waits beyond them. Every 100 ms b halves where the foreground's steps took more than 1.2x their own time, waits included, and grows by
 * 0.05 where less than 1.05x although the others ran, within [0.05, 0.9].
 */
#ifndef GNTI_ENSEMBLE_LANES_H
#define GNTI_ENSEMBLE_LANES_H

#include "base/check.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct gnti_lanes gnti_lanes;

gnt_status gnti_lanes_create(gnti_lanes **out);
void gnti_lanes_free(gnti_lanes **lanes);

/* A task that is there already gets another share. Any thread, as all that follows. */
gnt_status gnti_lanes_join(gnti_lanes *l, int64_t task, double share, bool foreground);
void gnti_lanes_part(gnti_lanes *l, int64_t task); /* none of that number: fine */

/* Since when the task waits for its turn. */
void gnti_lanes_ask(gnti_lanes *l, int64_t task, double now);
bool gnti_lanes_may(gnti_lanes *l, int64_t task, double now);
/* When somebody who asks may begin out of tokens, if nothing else happens; INFINITY: no such wait. */
double gnti_lanes_wakes(gnti_lanes *l, double now);
void gnti_lanes_begin(gnti_lanes *l, int64_t task, double now);
void gnti_lanes_end(gnti_lanes *l, int64_t task, double now);

/* Waits for the turn, and gives it back. */
void gnti_lanes_enter(gnti_lanes *l, int64_t task);
void gnti_lanes_exit(gnti_lanes *l, int64_t task);

/* The share of the time that those in the background have now. */
double gnti_lanes_background(gnti_lanes *l);

#endif
