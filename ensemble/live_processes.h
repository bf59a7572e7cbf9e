/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds of crews of MPI processes: live_round.c plans them, live_processes.c shares them, live_crew.c is a process in one of them, and
 * live_marks.c is what crews tell each other meanwhile. */
#ifndef GNTI_ENSEMBLE_LIVE_PROCESSES_H
#define GNTI_ENSEMBLE_LIVE_PROCESSES_H

#include "ensemble/live_task.h"

typedef enum gnti_live_fate {
    GNTI_LIVE_FATE_LEFT, /* not mine, or stopped on the way */
    GNTI_LIVE_FATE_ENDED,
    GNTI_LIVE_FATE_EARLY,
    GNTI_LIVE_FATE_FAILED
} gnti_live_fate;

typedef struct gnti_live_round {
    int64_t first_task; /* task of group 0; others follow */
    int32_t num_groups;
    int32_t *crew_of;  /* (processes) -1: idle */
    int32_t *group_of; /* (members) -1: not in this round */
    bool divides;      /* a round after this one would give idle processes something to do */
    bool over;         /* as far as this process knows */
    double looked_at, began_at;
    /* filled by crews, then shared: the largest of all processes; 0 where a process has no part in it */
    int32_t *fate;          /* (members) gnti_live_fate */
    int64_t *epoch;         /* (members) of the newest checkpoint */
    double *seconds;        /* (members) of training in this round */
    int32_t *status;        /* (members) of a failure, its sign turned */
    char *failure;          /* (members, GNTI_LIVE_TEXT_BYTES) */
    int32_t *crew_of_group; /* (groups) 1 + crew that took it; 0: nobody did */
    double *begin, *end;    /* (groups) seconds since the run began */
} gnti_live_round;

/* ---- live_round.c ---- */
gnt_status gnti_live_round_make(const gnti_live *run, gnti_live_round *r);
void gnti_live_round_free(gnti_live_round *r);
/* By the root: groups, in the order in which they are taken, and crews. */
gnt_status gnti_live_round_plan(gnti_live *run, gnti_live_round *r);

/* ---- live_marks.c ---- */
/* taken: this crew has it. By the first process of a crew. */
gnt_status gnti_live_take_group(const gnti_live *run, const gnti_live_round *r, int32_t group, bool *taken);
gnt_status gnti_live_crew_is_done(const gnti_live *run, const gnti_live_round *r, int32_t crew);
bool gnti_live_crews_are_done(const gnti_live *run, const gnti_live_round *r);
/* All leave it at the end of the epoch under way. */
gnt_status gnti_live_end_round(const gnti_live *run, gnti_live_round *r);
bool gnti_live_round_is_over(const gnti_live *run, gnti_live_round *r);
gnt_status gnti_live_clear_marks(const gnti_live *run);

/* ---- live_crew.c ---- */
/* After an epoch, or while waiting: the root takes requests and ends the round where it has to; progress. */
gnt_status gnti_live_round_look(gnti_live *run, gnti_live_round *r);
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
