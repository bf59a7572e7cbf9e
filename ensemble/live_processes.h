/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds of crews of MPI processes: live_processes.c plans and shares them, live_crew.c is a process in one of them. */
#ifndef GNTI_ENSEMBLE_LIVE_PROCESSES_H
#define GNTI_ENSEMBLE_LIVE_PROCESSES_H

#include "ensemble/live.h"

typedef enum gnti_live_fate {
    GNTI_LIVE_FATE_LEFT, /* not mine, or stopped on the way */
    GNTI_LIVE_FATE_ENDED,
    GNTI_LIVE_FATE_EARLY,
    GNTI_LIVE_FATE_FAILED
} gnti_live_fate;

typedef struct gnti_live_round {
    int64_t first_task; /* task of group 0; others follow */
    int32_t num_groups;
    int32_t *crew_of;       /* (processes) -1: idle */
    int32_t *group_of;      /* (members) -1: not in this round */
    int32_t *crew_of_group; /* (groups) */
    /* filled by crews, then shared: the largest of all processes; 0 where a process has no part in it */
    int32_t *fate;       /* (members) gnti_live_fate */
    int64_t *epoch;      /* (members) of the newest checkpoint */
    double *seconds;     /* (members) of training in this round */
    int32_t *status;     /* (members) of a failure, its sign turned */
    char *failure;       /* (members, GNTI_LIVE_TEXT_BYTES) */
    double *begin, *end; /* (groups) seconds since the run began */
} gnti_live_round;

/* Every process calls it: splits the processes into crews and trains the groups of this one's. */
gnt_status gnti_live_crew_round(gnti_live *run, gnti_live_round *r);
void gnti_live_round_clear(gnti_live_round *r); /* what crews filled */

/* After sharing: member m's state, on every process; the root's journal has it. */
gnt_status gnti_live_settle(gnti_live *run, const gnti_live_round *r, int32_t m);
/* The bars and counts of a group for the report. */
gnt_status gnti_live_note_span(gnti_live *run, const gnti_live_round *r, int32_t group);
/* Names and speeds of devices for the report. */
gnt_status gnti_live_devices_are_processes(gnti_live *run);

#endif
